//! The levers over MCP: as a program on pipes, and behind the proxy.

mod http;
mod pipes;
mod run;

use serde_json::{Value, json};

use crate::program::Place;

/// All tools.
const TOOLS: [&str; 9] = [
    "compress_to_checkpoint",
    "activate_augments",
    "deactivate_augments",
    "list_augments",
    "context_status",
    "recall",
    "snapshot",
    "goal",
    "pin",
];

/// What a client says first.
pub(crate) fn hello(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "it", "version": "1"}}})
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// What a tool answered.
#[track_caller]
fn result(answer: &Value) -> &Value {
    let result = &answer["result"];
    assert_eq!(result["isError"], false, "{answer}");
    let words = result["content"][0]["text"].as_str();
    assert!(words.is_some_and(|words| !words.is_empty()), "{answer}");
    &result["structuredContent"]
}

/// What a tool said was wrong.
#[track_caller]
fn refused(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

/// A project with two augments.
fn augments(place: &Place) {
    std::fs::create_dir_all(place.path("augments/refactoring")).unwrap();
    let small = "---\ntitle: Small steps\nrequires: [refactoring/tests]\n---\nOne by one.\n";
    place.write("augments/refactoring/small.md", small);
    place.write("augments/refactoring/tests.md", "# Tests first\n\nThen the change.\n");
}
