//! Sizes and rules of a conversation, worked out from its JSON alone.

use serde_json::Value;
use tiktoken_rs::o200k_base_singleton;

/// The messages of a request or of a bare array.
pub(crate) fn messages(body: &Value) -> &[Value] {
    body.as_array().or_else(|| body["messages"].as_array()).unwrap()
}

/// The texts of a message that a person or model reads.
pub(crate) fn texts(message: &Value) -> Vec<String> {
    fn of(content: &Value, out: &mut Vec<String>) {
        match content {
            Value::String(text) => out.push(text.clone()),
            Value::Array(blocks) => {
                for block in blocks {
                    of(
                        if block["type"] == "text" { &block["text"] } else { &block["content"] },
                        out,
                    );
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    of(&message["content"], &mut out);
    out
}

/// The arguments of a message's calls.
fn arguments(message: &Value) -> Vec<String> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.filter_map(|call| call["function"]["arguments"].as_str().map(str::to_owned));
    let blocks = message["content"].as_array().into_iter().flatten();
    let blocks = blocks.filter(|block| block["type"] == "tool_use");
    calls.chain(blocks.map(|block| block["input"].to_string())).collect()
}

/// Tokens of a text, by the reference.
pub(crate) fn count(text: &str) -> u64 {
    o200k_base_singleton().encode_ordinary(text).len() as u64
}

/// Tokens as `--max-tokens` counts them: text, call arguments and 4 a message.
pub(crate) fn tokens(body: &Value) -> u64 {
    let system = Value::from(body.get("system").and_then(Value::as_str).unwrap_or_default());
    let system = if system == "" { 0 } else { count(system.as_str().unwrap()) + 4 };
    let sizes = messages(body).iter().map(|message| {
        let texts = texts(message).into_iter().chain(arguments(message));
        4 + texts.map(|text| count(&text)).sum::<u64>()
    });
    system + sizes.sum::<u64>()
}

/// Characters as `--max-chars` counts them.
pub(crate) fn chars(body: &Value) -> u64 {
    let all: Vec<_> = messages(body).iter().map(|message| texts(message).join("\n")).collect();
    all.join("\n").chars().count() as u64
}

/// What is wrong with a request by the rules that all providers share: known roles, the user
/// first, every call answered at once and every answer called for.
pub(crate) fn faults(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages(body).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !["system", "developer", "user", "assistant", "tool"].contains(&role) {
            faults.push(format!("{at}: role {role:?}"));
        }
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let ids = |kind: &'static str, key: &'static str| {
            let blocks = blocks.iter().filter(move |block| block["type"] == kind);
            blocks.filter_map(move |block| block[key].as_str())
        };
        let answers = ids("tool_result", "tool_use_id").chain(message["tool_call_id"].as_str());
        for id in answers {
            match open.iter().position(|call| *call == id) {
                Some(call) => drop(open.remove(call)),
                None => faults.push(format!("{at}: {id} answers nothing")),
            }
        }
        if role != "tool" && !open.is_empty() {
            faults.push(format!("{at}: {open:?} had no answer"));
            open.clear();
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
        open.extend(ids("tool_use", "id"));
    }
    if !open.is_empty() {
        faults.push(format!("at the end: {open:?} had no answer"));
    }
    let first = messages(body).iter().find(|message| message["role"] != "system");
    if first.is_some_and(|message| message["role"] != "user") {
        faults.push("the user does not begin".to_owned());
    }
    faults
}

/// Everything readable of a request, one text a line.
pub(crate) fn readable(body: &Value) -> String {
    messages(body).iter().flat_map(texts).collect::<Vec<_>>().join("\n")
}
