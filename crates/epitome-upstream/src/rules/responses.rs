//! What OpenAI's Responses API refuses.
//!
//! Invariant: calls and outputs need each other, and so do a reasoning item and what followed it
//! (RULES 105). Called by `server`.

use std::collections::HashSet;

use serde_json::Value;

use super::{Memory, items, text};
use crate::refusal::Refusal;

/// Checks a request.
pub(crate) fn check(body: &Value, memory: &Memory) -> Result<(), Refusal> {
    if text(body, "model").is_empty() {
        return Err(Refusal::new("Missing required parameter: 'model'.").at("model"));
    }
    match &body["input"] {
        Value::String(_) => return Ok(()),
        Value::Array(items) if !items.is_empty() => {}
        _ => return Err(Refusal::new("Missing required parameter: 'input'.").at("input")),
    }
    let input = items(body, "input");
    named(input)?;
    if body["previous_response_id"].is_null() {
        pairs(input)?;
    }
    reasoning(input, memory)
}

/// Items that are known by their id alone, or that the API writes itself, have one.
fn named(input: &[Value]) -> Result<(), Refusal> {
    const NAMED: [&str; 10] = [
        "item_reference",
        "web_search_call",
        "file_search_call",
        "computer_call",
        "code_interpreter_call",
        "image_generation_call",
        "local_shell_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
    ];
    let nameless =
        |item: &&Value| NAMED.contains(&text(item, "type")) && text(item, "id").is_empty();
    match input.iter().position(|item| nameless(&item)) {
        None => Ok(()),
        Some(at) => {
            let place = format!("input[{at}].id");
            Err(Refusal::new(format!("Missing required parameter: '{place}'.")).at(place))
        }
    }
}

fn pairs(input: &[Value]) -> Result<(), Refusal> {
    let mut called = HashSet::new();
    let mut answered = HashSet::new();
    for item in input {
        let kind = text(item, "type");
        let id = text(item, "call_id");
        if kind.ends_with("_call_output") {
            let what =
                if kind.starts_with("custom") { "custom tool call" } else { "function call" };
            if !called.contains(id) {
                let what = format!("No tool call found for {what} output with call_id {id}.");
                return Err(Refusal::new(what).at("input"));
            }
            if !answered.insert(id) {
                let what = format!("Duplicate output for call_id {id}.");
                return Err(Refusal::new(what).at("input"));
            }
        } else if kind.ends_with("_call") && !id.is_empty() && !called.insert(id) {
            return Err(Refusal::new(format!("Duplicate call_id {id}.")).at("input"));
        }
    }
    match input
        .iter()
        .map(|item| text(item, "call_id"))
        .find(|id| called.contains(id) && !answered.contains(id))
    {
        None => Ok(()),
        Some(id) => {
            let what = format!("No tool output found for function call {id}.");
            Err(Refusal::new(what).at("input"))
        }
    }
}

fn reasoning(input: &[Value], memory: &Memory) -> Result<(), Refusal> {
    let mut given: HashSet<&str> = HashSet::new();
    for (at, item) in input.iter().enumerate() {
        let id = text(item, "id");
        if text(item, "type") == "reasoning" {
            given.insert(id);
            if !input.get(at + 1).is_some_and(follows) {
                return Err(Refusal::new(format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following \
                     item."
                ))
                .at("input"));
            }
        } else if let Some(partner) = memory.partners.get(id)
            && !given.contains(partner.as_str())
        {
            return Err(Refusal::new(format!(
                "Item '{id}' of type '{}' was provided without its required 'reasoning' item: \
                 '{partner}'.",
                text(item, "type")
            ))
            .at("input"));
        }
    }
    Ok(())
}

/// Whether an item can be what a model made of its reasoning.
fn follows(item: &Value) -> bool {
    let kind = text(item, "type");
    text(item, "role") == "assistant" || kind == "reasoning" || kind.ends_with("_call")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "t",
            "arguments": "{}"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": "r"})
    }

    fn reasoning(id: &str) -> Value {
        json!({"type": "reasoning", "id": id, "summary": []})
    }

    fn said() -> Value {
        json!({"role": "user", "content": "x"})
    }

    #[track_caller]
    fn input(input: &[Value], expected: &str) {
        let mut memory = Memory::default();
        memory.partners.insert("fc_r".to_owned(), "rs_1".to_owned());
        match check(&json!({"model": "m", "input": input}), &memory) {
            Ok(()) => assert_eq!(expected, "", "was not refused"),
            Err(refusal) => {
                assert!(!expected.is_empty(), "refused: {}", refusal.message);
                assert!(refusal.message.contains(expected), "{}", refusal.message);
            }
        }
    }

    #[test]
    fn calls_and_outputs_need_each_other() {
        input(&[said(), call("a"), call("b"), output("b"), output("a"), said()], "");
        input(&[said(), output("a")], "No tool call found for function call output with call_id a");
        input(&[said(), output("a"), call("a")], "No tool call found");
        input(&[said(), call("a"), said()], "No tool output found for function call a.");
        input(&[said(), call("a"), output("a"), output("a")], "Duplicate output");
        let chained =
            json!({"model": "m", "input": [output("a")], "previous_response_id": "resp_1"});
        assert_eq!(check(&chained, &Memory::default()), Ok(()));
    }

    #[test]
    fn what_the_api_made_itself_has_its_id() {
        let search = |id: &str| json!({"type": "web_search_call", "id": id, "status": "completed"});
        input(&[said(), search("ws_1")], "");
        input(&[said(), search("")], "Missing required parameter: 'input[1].id'.");
        input(&[json!({"type": "item_reference"})], "'input[0].id'");
    }

    #[test]
    fn reasoning_keeps_its_partner() {
        input(&[said(), reasoning("rs_1"), call("r"), output("r")], "");
        input(&[said(), reasoning("rs_1"), said()], "without its required following item");
        input(&[said(), reasoning("rs_1")], "without its required following item");
        input(&[said(), call("r"), output("r")], "without its required 'reasoning' item: 'rs_1'");
    }
}
