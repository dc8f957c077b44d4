//! The mode of a session that a proxy serves: another process sets it, and the next request goes by it.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::conversation::bare;
use crate::program::{Place, Ran};
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

#[test]
fn a_mode_that_changes_nothing_is_said_to() {
    let place = Place::new();
    place.write("long.json", bare(3).to_string());
    place.write("dwell.md", "what was said of money");
    place.write("own.toml", "[profile.ollm.prompts]\nmoney = \"dwell.md\"\n");
    let said = |line: &str| {
        let ran = place.run(line.split_whitespace());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let replay = "replay long.json --store s.db --session talk -q --prompt-limit 90000";
    let none = "the profile `default` has no modes, so the mode `planning` changes nothing";
    let ran = said("compress long.json --ratio 2 --mode planning");
    assert!(ran.contains(none), "{ran}");
    let meant = "the profile `staged` has no mode `plannning`; did you mean `planning`?";
    assert!(said(&format!("{replay} --profile staged")).is_empty());
    let ran = said("session mode plannning --session talk --store s.db --profile staged");
    assert!(ran.contains(meant), "{ran}");
    let ran = said("session mode --clear --session talk --store s.db --profile staged");
    assert!(!ran.contains("mode `"), "{ran}");
    for known in
        ["--profile staged --mode planning", "--profile ollm --config own.toml --mode money"]
    {
        let ran = said(&format!("compress long.json --ratio 2 {known}"));
        assert!(!ran.contains("mode `"), "{ran}");
    }
    let ran = said("compress long.json --ratio 2 --profile ollm --config own.toml --mode monney");
    assert!(ran.contains("no mode `monney`; did you mean `money`?"), "{ran}");
    // Wherever it was set: in a file, and by a variable.
    let slip = "[profile.staged]\nmode = \"plannning\"\n";
    place.write("slip.toml", slip);
    for line in [
        "compress long.json --ratio 2 --profile staged --config slip.toml",
        "replay long.json --prompt-limit 90000 --profile staged --config slip.toml",
    ] {
        let ran = said(line);
        assert!(ran.contains(meant), "{ran}");
    }
    let line = "compress long.json --ratio 2 --profile staged";
    let mut command = place.command(line.split_whitespace());
    command.env("EPITOME_PROFILE__STAGED__MODE", "plannning");
    let ran = Ran::of(command, b"");
    assert!(ran.err.contains(meant), "{}", ran.err);
}
