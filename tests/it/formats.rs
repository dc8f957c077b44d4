//! `epitome compress` on formats in which a message is not what it is elsewhere: items of the
//! Responses API, Ollama's calls without ids.

use serde_json::{Value, json};

use crate::conversation::{LAST, SYSTEM, turns};
use crate::program::Place;

/// A request to the Responses API: reasoning, two calls side by side, their outputs.
fn responses(count: usize) -> Value {
    let message = |role: &str, kind: &str, text: &str| {
        json!({"type": "message", "id": "msg_1", "role": role,
            "content": [{"type": kind, "text": text, "x": 2.50}]})
    };
    let mut input = vec![message("developer", "input_text", "Mind the tone.")];
    for (at, turn) in turns(count).enumerate() {
        let call = |call: &str| {
            json!({"type": "function_call", "name": "read_file", "status": "completed",
                "call_id": format!("{call}_{at}"), "arguments": turn.call.to_string()})
        };
        let output = |call: &str, output: Value| {
            json!({"type": "function_call_output", "call_id": format!("{call}_{at}"),
                "output": output})
        };
        input.extend([
            message("user", "input_text", &turn.ask),
            json!({"type": "reasoning", "id": format!("rs_{at}"), "summary": [],
                "encrypted_content": format!("sealed{at}")}),
            call("a"),
            call("b"),
            output("a", json!(turn.result)),
            output("b", json!([{"type": "input_text", "text": turn.result}])),
            message("assistant", "output_text", &turn.answer),
        ]);
    }
    input.push(message("user", "input_text", LAST));
    json!({"model": "gpt-5", "instructions": SYSTEM, "input": input, "store": false,
        "include": ["reasoning.encrypted_content"], "parallel_tool_calls": true,
        "prompt_cache_key": "k", "tools": [{"type": "function", "name": "read_file"}]})
}

/// A request to Ollama's chat.
fn ollama(count: usize) -> Value {
    let mut messages = vec![json!({"role": "system", "content": SYSTEM})];
    for turn in turns(count) {
        let call = json!({"function": {"name": "read_file", "arguments": turn.call}});
        messages.extend([
            json!({"role": "user", "content": turn.ask, "images": ["iVBORw0KGgo="]}),
            json!({"role": "assistant", "content": "", "tool_calls": [call, call]}),
            json!({"role": "tool", "tool_name": "read_file", "content": turn.result}),
            json!({"role": "tool", "tool_name": "read_file", "content": "nothing else"}),
            json!({"role": "assistant", "content": turn.answer}),
        ]);
    }
    messages.push(json!({"role": "user", "content": LAST}));
    json!({"model": "qwen3", "messages": messages, "stream": false,
        "options": {"num_ctx": 8192, "temperature": 0.50}, "keep_alive": "5m"})
}

/// Compresses to a quarter, with the format named and without.
#[track_caller]
fn compressed(format: &str, body: &Value) -> Value {
    let input = body.to_string();
    let run = |more: &[&str]| {
        let args = [&["compress", "--ratio", "4"], more].concat();
        Place::new().feed(args, input.as_bytes()).silent()
    };
    let out = run(&["--format", format]);
    assert_eq!(run(&[]), out, "{format} is recognised");
    assert!(out.len() * 3 < input.len() * 2, "{} of {} bytes", out.len(), input.len());
    let out: Value = serde_json::from_slice(&out).unwrap();
    let list = |body: &Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(list(&out), list(body));
    out
}

#[test]
fn a_request_to_the_responses_api_is_compressed() {
    let before = responses(24);
    let after = compressed("responses", &before);
    for key in ["model", "instructions", "include", "tools", "prompt_cache_key"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let [items, old] = [&after, &before].map(|body| body["input"].as_array().unwrap());
    assert_eq!(items[0], old[0], "what the developer says is pinned");
    let last = items.last().unwrap()["content"].as_array().unwrap();
    assert_eq!(last.last().unwrap()["text"], LAST);
    // Calls have their outputs, outputs their calls, and reasoning what it led to.
    let ids = |kind: &str| {
        let of_kind = items.iter().filter(|item| item["type"] == kind);
        of_kind.map(|item| item["call_id"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids("function_call"), ids("function_call_output"));
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning") {
        assert_eq!(items[at + 1]["type"], "function_call", "{item}");
    }
    let reasonings = items.iter().filter(|item| item["type"] == "reasoning").count();
    assert_eq!(ids("function_call").len(), 2 * reasonings);
    let mut texts = items.iter().filter_map(|item| item["content"][0]["text"].as_str());
    let summary = texts.find(|text| text.contains("stage_3.py"));
    assert!(
        summary.is_some_and(|text| text.starts_with('[')),
        "what left is summed up: {summary:?}"
    );
}

#[test]
fn what_the_provider_keeps_is_left_alone() {
    let mut body = responses(24);
    body["previous_response_id"] = json!("resp_1");
    let input = body.to_string();
    let ran = Place::new().feed(["compress", "--ratio", "4"], input.as_bytes());
    assert_eq!((ran.code, ran.out.as_slice()), (0, input.as_bytes()));
    assert!(ran.err.contains("the provider keeps"));
}

#[test]
fn a_request_to_ollama_is_compressed() {
    let before = ollama(24);
    let after = compressed("ollama", &before);
    assert_eq!(after["options"], before["options"]);
    let messages = after["messages"].as_array().unwrap();
    assert_eq!(messages[0]["content"], SYSTEM);
    let last = messages.last().unwrap()["content"].as_str().unwrap();
    assert!(last.ends_with(LAST), "{last}");
    let mut open = 0;
    for message in messages {
        match message["role"].as_str().unwrap() {
            "tool" => open -= 1,
            _ => assert_eq!(open, 0, "{message}"),
        }
        open += message["tool_calls"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(open, 0);
}

#[test]
fn recordings_become_requests_of_either() {
    let recording = crate::conversation::claude_code(6);
    for (format, key) in [("responses", "input"), ("ollama", "messages")] {
        let args = ["compress", "--to", format, "--max-tokens", "100000"];
        let out = Place::new().feed(args, recording.as_bytes()).silent();
        let again =
            Place::new().feed(["compress", "--format", format, "--max-tokens", "100000"], &out);
        assert_eq!(again.silent(), out);
        let body: Value = serde_json::from_slice(&out).unwrap();
        assert!(body[key].as_array().unwrap().len() >= 6 * 4, "{body}");
    }
}
