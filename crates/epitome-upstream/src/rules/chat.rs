//! What OpenAI's Chat Completions API refuses.
//!
//! Invariant: a call is answered directly and once (RULES 104). Called by `server`.

use std::collections::HashSet;

use serde_json::Value;

use super::{items, text};
use crate::refusal::Refusal;

/// Checks a request.
pub(crate) fn check(body: &Value) -> Result<(), Refusal> {
    if text(body, "model").is_empty() {
        return Err(Refusal::new("you must provide a model parameter"));
    }
    let messages = items(body, "messages");
    if messages.is_empty() {
        let what = "Invalid 'messages': empty array. Expected an array with minimum length 1";
        return Err(Refusal::new(what).at("messages").coded("empty_array"));
    }
    // The calls that still want an answer, and the message that made them.
    let mut open: HashSet<&str> = HashSet::new();
    let mut caller = None;
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if !["system", "developer", "user", "assistant", "tool", "function"].contains(&role) {
            let what = format!("Invalid value: '{role}'");
            return Err(Refusal::new(what).at(format!("messages[{at}].role")));
        }
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if caller.is_none() || !open.remove(id) {
                return Err(stray(at));
            }
        } else {
            answered(caller, &open)?;
            (caller, open) = (None, calls(at, message)?);
            if !open.is_empty() {
                caller = Some(at);
            }
        }
        filled(at, message)?;
    }
    answered(caller, &open)
}

fn stray(at: usize) -> Refusal {
    Refusal::new(
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message \
         with 'tool_calls'.",
    )
    .at(format!("messages.[{at}].role"))
}

fn answered(caller: Option<usize>, open: &HashSet<&str>) -> Result<(), Refusal> {
    let Some(at) = caller.filter(|_| !open.is_empty()) else { return Ok(()) };
    let ids: Vec<&str> = open.iter().copied().collect();
    Err(Refusal::new(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        ids.join(", ")
    ))
    .at(format!("messages.[{at}].role")))
}

fn calls(at: usize, message: &Value) -> Result<HashSet<&str>, Refusal> {
    let Some(calls) = message["tool_calls"].as_array() else { return Ok(HashSet::new()) };
    let place = format!("messages[{at}].tool_calls");
    if calls.is_empty() {
        let what = format!("Invalid '{place}': empty array. Expected an array with minimum length");
        return Err(Refusal::new(what).at(place).coded("empty_array"));
    }
    if !calls.iter().all(|call| call["function"]["arguments"].is_string()) {
        let what = format!("Invalid type for '{place}[0].function.arguments': expected a string");
        return Err(Refusal::new(what).at(place).coded("invalid_type"));
    }
    let ids: HashSet<&str> = calls.iter().map(|call| text(call, "id")).collect();
    if ids.len() < calls.len() {
        return Err(Refusal::new(format!("Duplicate value for 'id' in '{place}'")).at(place));
    }
    Ok(ids)
}

/// Only a message that calls may have nothing to say.
fn filled(at: usize, message: &Value) -> Result<(), Refusal> {
    let calls = !items(message, "tool_calls").is_empty() || !message["function_call"].is_null();
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => Ok(()),
        Value::Null if calls => Ok(()),
        _ => {
            let what = format!("Invalid value for 'content': messages.[{at}].content is missing");
            Err(Refusal::new(what).at(format!("messages.[{at}].content")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(ids: &[&str]) -> Value {
        let function = json!({"name": "t", "arguments": "{}"});
        let calls =
            ids.iter().map(|id| json!({"id": id, "type": "function", "function": function}));
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
    }

    fn answer(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "r"})
    }

    #[track_caller]
    fn messages(messages: &[Value], expected: &str) {
        match check(&json!({"model": "m", "messages": messages})) {
            Ok(()) => assert_eq!(expected, "", "was not refused"),
            Err(refusal) => {
                assert!(!expected.is_empty(), "refused: {}", refusal.message);
                assert!(refusal.message.contains(expected), "{}", refusal.message);
            }
        }
    }

    #[test]
    fn calls_are_answered_directly_and_once() {
        let said = |role: &str| json!({"role": role, "content": "x"});
        messages(&[said("user"), call(&["a", "b"]), answer("b"), answer("a"), said("user")], "");
        messages(&[answer("a")], "must be a response to a preceding message");
        messages(&[said("user"), answer("a")], "must be a response to a preceding message");
        messages(&[said("user"), call(&["a"])], "did not have response messages: a");
        let parted = [said("user"), call(&["a", "b"]), answer("a"), said("user"), answer("b")];
        messages(&parted, "did not have response messages: b");
        messages(&[said("user"), call(&["a"]), answer("a"), answer("a")], "must be a response");
        messages(&[said("user"), call(&[])], "empty array");
    }

    #[test]
    fn contents_and_roles_are_looked_at() {
        messages(&[], "empty array");
        messages(&[json!({"role": "user"})], "content is missing");
        messages(&[json!({"role": "assistant", "content": null})], "content is missing");
        messages(&[json!({"role": "bot", "content": "x"})], "Invalid value: 'bot'");
    }
}
