//! A conversation to try policies on where nobody names one: a coding session of made-up turns.
//!
//! Invariant: the same every time. Large results, prose and a demand stand where sessions have
//! them, so that every hook has something to decide.

use serde_json::{Value, json};

/// Messages of a round: what a person types, a call, its result, an answer.
const ROUND: usize = 4;

/// A conversation of about so many messages, as the `openai` format has it.
pub(super) fn talk(messages: usize) -> Vec<u8> {
    let rules = "You are a careful engineer. Never push to main.";
    let mut talk = vec![json!({ "role": "system", "content": rules })];
    for round in 0..messages.div_ceil(ROUND) {
        talk.extend(messages_of(round));
    }
    talk.push(user("Go on with what is left, and keep the tests green."));
    Value::Array(talk).to_string().into_bytes()
}

fn messages_of(round: usize) -> [Value; ROUND] {
    let (id, path) = (format!("call_{round}"), format!("src/part{round}/mod.rs"));
    let call = json!({ "id": id, "type": "function", "function": {
        "name": "read_file", "arguments": json!({ "path": path }).to_string(),
    }});
    // Every fifth result is long.
    let lines = if round % 5 == 4 { 150 } else { 12 };
    let result: String = (0..lines)
        .map(|line| format!("{line:4}  let value_{round}_{line} = load(\"{path}\", {line})?;\n"))
        .collect();
    [
        user(&format!(
            "Look into {path}: part {round} fails with error E{:04}.",
            round * 37 % 9999
        )),
        json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
        json!({ "role": "tool", "tool_call_id": id, "content": result }),
        json!({ "role": "assistant", "content": format!(
            "Part {round} reads line {} twice. I decided to keep one reader in {path} and to drop \
             the other; its test stays as it is.",
            round * 3 % 12
        )}),
    ]
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}
