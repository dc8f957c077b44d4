//! Recordings of what was asked of a model, and what it said.
//!
//! Invariant: a test plays its cassette through the real program, which refuses any request that is
//! not the recorded one. `RECORD=1` asks the model at [`MODEL`] in its place and writes the cassette
//! anew (`cassettes/record.sh` starts one).

use serde_json::{Value, json};

use crate::chat::cassette;
use crate::measure::{faults, messages, readable};
use crate::playing::{events, played};
use crate::program::{Place, write_file};

/// The model: one that runs here where it is recorded, and nobody where it is played.
pub(super) const MODEL: &str = "openai:qwen@http://127.0.0.1:18555/v1";

/// A conversation that was played with a model.
pub(super) struct Written {
    place: Place,
    pub(super) turns: Vec<Value>,
    /// What the model was asked, in order.
    pub(super) asked: Vec<Asked>,
}

/// A question and its answer.
pub(super) struct Asked {
    /// The request.
    pub(super) body: Value,
    pub(super) answer: String,
}

impl Asked {
    /// The messages of the request.
    pub(super) fn messages(&self) -> &[Value] {
        messages(&self.body)
    }

    /// The last message.
    pub(super) fn question(&self) -> String {
        readable(&json!([self.messages().last()]))
    }

    /// What the model is told before it: its system prompt.
    pub(super) fn told(&self) -> String {
        readable(&json!([self.messages().first()]))
    }
}

/// Agent and person at work on a small program, in so many messages: its system prompt and tools
/// are the beginning of every request.
pub(super) fn tideline(messages: usize) -> Value {
    let mut body: Value = serde_json::from_str(&cassette("written/tideline.json")).unwrap();
    body["messages"].as_array_mut().unwrap().truncate(messages);
    body
}

/// Plays a conversation by a profile, turn by turn. Whatever the model did, each prompt is valid and
/// within its limit, and what was asked of the model is what was recorded.
#[track_caller]
pub(super) fn play(name: &str, profile: &str, talk: &Value, config: &str, args: &str) -> Written {
    let (place, file) = (Place::new(), format!("written/{name}.jsonl"));
    let records = std::env::var_os("RECORD").is_some();
    place.write("talk.json", talk.to_string());
    // A machine that is slow has its time, and cassettes have an order.
    let terms = "timeout_seconds = 1800\nmax_concurrent = 1\n";
    let terms = format!("[profile.{profile}.options.default.summaries]\n{terms}");
    // The server is one's own and is paid nothing: what a profile wants is not weighed against it.
    // `default` itself goes by what prompts cost.
    let unpaid = match profile {
        "default" => String::new(),
        _ => format!("[profile.{profile}.options.default.cache]\nread = 0\nwrite = 0\n"),
    };
    let terms = format!("{terms}{unpaid}{config}");
    place.write("options.toml", terms);
    let tape = if records { "--record" } else { "--cassette" };
    if !records {
        place.write("tape.jsonl", cassette(&file));
    }
    let all = ["replay", "talk.json", "--config", "options.toml", "--profile", profile];
    let out = [
        "--summarizer",
        MODEL,
        "--dump",
        "prompts",
        "--json",
        "--store",
        "s.db",
        tape,
        "tape.jsonl",
    ];
    let ran = place.run(all.into_iter().chain(args.split_whitespace()).chain(out));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.err.contains("less is asked than was recorded"), "{}", ran.err);
    let tape = String::from_utf8(place.read("tape.jsonl")).unwrap();
    let tape: Vec<Value> = tape.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    if records {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/cassettes/");
        write_file(format!("{path}{file}"), joined(&tape)).unwrap();
    }
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    let written = Written { place, turns, asked: tape.iter().filter_map(asked).collect() };
    for turn in &written.turns {
        assert!(!turn.to_string().contains("was recorded"), "asked otherwise: {turn}");
        assert!(!turn.to_string().contains("cassette is at its end"), "asked more: {turn}");
        assert_eq!(faults(&written.prompt(turn)), Vec::<String>::new(), "{turn}");
        assert!(!events(turn).contains(&"policy-error"), "{turn}");
    }
    written
}

impl Written {
    /// What is sent in a turn.
    pub(super) fn prompt(&self, turn: &Value) -> Value {
        self.place.read_json(&format!("prompts/{:04}.json", turn["turn"].as_u64().unwrap()))
    }

    /// The same as a text.
    pub(super) fn said(&self, turn: &Value) -> String {
        readable(&self.prompt(turn))
    }

    /// The events of this name, each with the turn that it is of.
    pub(super) fn told(&self, name: &str) -> Vec<(&Value, &Value)> {
        let of = |turn: &'_ Value| turn["events"].as_array().unwrap().len();
        let all = self.turns.iter().flat_map(|turn| (0..of(turn)).map(move |at| (turn, at)));
        let all = all.map(|(turn, at)| (turn, &turn["events"][at]));
        all.filter(|(_, event)| event["event"] == name).collect()
    }
}

/// A question among the requests. Behind a conversation that wants no stream it has none either.
fn asked(exchange: &Value) -> Option<Asked> {
    let body = Some(&exchange["request"]["body"]).filter(|body| body.is_object())?.clone();
    let text = text(exchange);
    let whole: Value = serde_json::from_str(&text).unwrap_or_default();
    let whole = whole["choices"][0]["message"]["content"].as_str();
    let pieces = pieces(&text);
    let said = pieces.iter().filter_map(|piece| delta(piece)["content"].as_str());
    let answer: String = said.chain(whole).collect();
    Some(Asked { body, answer: answer.trim().to_owned() })
}

fn text(exchange: &Value) -> String {
    let chunks = exchange["response"]["chunks"].as_array().unwrap();
    chunks.iter().filter_map(Value::as_str).collect()
}

/// The events of a streamed answer.
fn pieces(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn delta(piece: &Value) -> &Value {
    &piece["choices"][0]["delta"]
}

/// A cassette in which each answer is in one piece: a token is a piece of three hundred bytes.
fn joined(tape: &[Value]) -> String {
    let line = |exchange: &Value| {
        let mut exchange = exchange.clone();
        let mut pieces = pieces(&text(&exchange));
        if let (Some(Asked { answer, .. }), false) = (asked(&exchange), pieces.is_empty()) {
            pieces.retain(|piece| delta(piece)["content"].is_null());
            pieces.insert(0, json!({"choices": [{"index": 0, "delta": {"content": answer}}]}));
            let events = pieces.iter().map(|piece| format!("data: {piece}\n\n"));
            let events: String = events.chain(["data: [DONE]\n\n".into()]).collect();
            exchange["response"]["chunks"] = json!([events]);
        }
        exchange.to_string() + "\n"
    };
    tape.iter().map(line).collect()
}
