//! Calls of tools in a conversation that has none to run: a model may call one all the same, and a session of
//! an agent may end in calls.
//!
//! Invariant: no provider takes a message behind a call without a result, so each call has one before the next
//! message is said. Called by [`super::ChatSession`].

use epitome_wire::Format;
use serde_json::{Value, json};

/// What every such call returns.
const NOT_RUN: &str = "Not run: there are no tools in this conversation. Answer without them.";

/// The messages that give each call a result.
pub(super) fn results(format: Format, calls: &[String]) -> Vec<Value> {
    match format {
        Format::Anthropic if calls.is_empty() => Vec::new(),
        // All results of a message stand in one.
        Format::Anthropic => {
            let result = |call| json!({"type": "tool_result", "tool_use_id": call, "is_error": true, "content": NOT_RUN});
            let results: Vec<_> = calls.iter().map(result).collect();
            vec![json!({"role": "user", "content": results})]
        }
        Format::Ollama => {
            let result = |call| json!({"role": "tool", "tool_name": call, "content": NOT_RUN});
            calls.iter().map(result).collect()
        }
        _ => {
            let result = |call| json!({"role": "tool", "tool_call_id": call, "content": NOT_RUN});
            calls.iter().map(result).collect()
        }
    }
}
