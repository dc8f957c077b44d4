//! The levers over MCP: as a program on pipes, and behind the proxy.

mod http;
mod pipes;
mod run;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

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

/// What an agent's `recall` gives: it starts the server, and asks it this.
pub(crate) fn recalled(place: &Place, asked: &Value) -> Value {
    let mut serving = place.command(["mcp", "--store", "s.db"]);
    let mut serving = serving.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut input = serving.stdin.take().unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for line in [hello(1), initialized, call(2, "recall", asked)] {
        writeln!(input, "{line}").unwrap();
    }
    let answers = std::iter::from_fn(|| lines.next());
    let answers = answers.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let answer = { answers }.find(|answer| answer["id"] == 2).unwrap();
    drop(input);
    serving.wait().unwrap();
    answer["result"].clone()
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
