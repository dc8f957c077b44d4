//! What Ollama's chat API refuses: little.
//!
//! Invariant: only what its own decoder cannot read is refused; a prompt that is too long is cut
//! by it in silence, which `server` notes. Called by `server`.

use serde_json::Value;

use super::{items, text};
use crate::refusal::Refusal;

/// Checks a request.
pub(crate) fn check(body: &Value) -> Result<(), Refusal> {
    if text(body, "model").is_empty() {
        return Err(Refusal::new("model is required"));
    }
    for message in items(body, "messages") {
        if !message["content"].is_string() && !message["content"].is_null() {
            return Err(unreadable("messages.content", "string"));
        }
        if !["system", "user", "assistant", "tool"].contains(&text(message, "role")) {
            return Err(Refusal::new("invalid role: must be one of [system user assistant tool]"));
        }
        for call in items(message, "tool_calls") {
            if !call["function"]["arguments"].is_object() {
                let place = "messages.tool_calls.function.arguments";
                return Err(unreadable(place, "api.ToolCallFunctionArguments"));
            }
        }
    }
    Ok(())
}

fn unreadable(place: &str, kind: &str) -> Refusal {
    Refusal::new(format!(
        "json: cannot unmarshal value into Go struct field .{place} of type {kind}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_cannot_be_read_is_refused() {
        let with = |message: Value| check(&json!({"model": "m", "messages": [message]}));
        assert!(with(json!({"role": "tool", "content": "r"})).is_ok());
        assert!(with(json!({"role": "user", "content": [{}]})).is_err());
        assert!(with(json!({"role": "bot", "content": "x"})).is_err());
        let calls = json!([{"function": {"name": "t", "arguments": "{}"}}]);
        let message = json!({"role": "assistant", "content": "", "tool_calls": calls});
        assert!(with(message).unwrap_err().message.contains("unmarshal"));
    }
}
