//! The mode of a session that a proxy serves: another process sets it, and the next request goes by it.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::conversation::bare;
use crate::program::Place;
use crate::proxy::Serving;

const STAGED: &str = "[profile.staged.options.default.summaries]\nbackground = false\n";

/// A conversation that goes on behind a proxy, whose summaries a model writes.
struct Talk {
    serving: Serving,
    model: Upstream,
    turn: usize,
    _config: Place,
}

impl Talk {
    fn new() -> Self {
        let turn = Turn { text: "All was looked at.".to_owned(), ..Turn::default() };
        let script = Script { turns: vec![turn], repeat: 999, plain: true, ..Script::default() };
        let (model, place) = (Upstream::start(script).unwrap(), Place::new());
        place.write("own.toml", STAGED);
        let (config, named) = (place.path("own.toml"), format!("openai:m@{}/v1", model.url()));
        let args = ["--profile", "staged", "--prompt-limit", "6000", "--summarizer", &named];
        let args = [&args[..], &["--config", config.to_str().unwrap()]].concat();
        Self { serving: Serving::start(Script::default(), &args), model, turn: 0, _config: place }
    }

    /// What the model is asked for next, as a summary of a new part.
    fn asked_next(&mut self) -> String {
        let before = self.model.prompts().len();
        for _ in 0..60 {
            let mut messages = bare(self.turn + 1);
            messages.as_array_mut().unwrap().truncate(1 + self.turn * 4 + 1);
            let request = json!({"model": "gpt-4o", "messages": messages});
            self.serving.post("/v1/chat/completions", &request);
            self.turn += 1;
            if let Some(asked) = self.model.prompts().get(before) {
                return asked.body.to_string();
            }
        }
        panic!("no model was asked: {}", self.serving.said());
    }

    fn set(&self, mode: &str) -> Value {
        let all = ["session", "mode", mode, "--store", "s.db", "--profile", "staged", "--json"];
        let ran = self.serving.place.run(all.into_iter().filter(|arg| !arg.is_empty()));
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.json()
    }
}

const USUAL: &str = "the flow of the conversation";
const PLANNING: &str = "what spoke for and against each choice";

#[test]
fn a_mode_that_is_set_beside_a_proxy_acts_with_its_next_request() {
    let mut talk = Talk::new();
    let asked = talk.asked_next();
    assert!(asked.contains(USUAL) && !asked.contains(PLANNING), "{asked}");
    let (before, sessions) = (talk.serving.compressions(), talk.serving.sessions().len());
    assert_eq!(talk.set("planning")["mode"], "planning");
    let asked = talk.asked_next();
    assert!(asked.contains(PLANNING) && !asked.contains(USUAL), "{asked}");
    // It is the same session, and goes on.
    assert_eq!(talk.serving.sessions().len(), sessions);
    assert!(talk.serving.compressions() > before, "{before}");
    // So does another process that serves it.
    talk.serving.kill();
    talk.serving.go_on();
    assert!(talk.asked_next().contains(PLANNING));
    assert_eq!(talk.set("")["mode"], "planning");
    assert_eq!(talk.set("--clear")["mode"], Value::Null);
    assert!(talk.asked_next().contains(USUAL));
}
