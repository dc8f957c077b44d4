//! Ollama's chat API: answers and streams of JSON lines.
//!
//! Invariant: the last line alone has figures. Called through `Api`.

use serde_json::{Value, json};

use super::{PIECE, Reply, pieces};

/// When every answer was made; nothing here reads a clock.
const CREATED: &str = "2026-01-01T00:00:00.000000Z";

/// A whole answer.
pub(crate) fn whole(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if let Some(thought) = &reply.thinking {
        message["thinking"] = json!(thought.text);
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(reply);
    }
    ended(line(reply, message), reply)
}

fn line(reply: &Reply, message: Value) -> Value {
    json!({"model": reply.model, "created_at": CREATED, "message": message, "done": false})
}

fn calls(reply: &Reply) -> Value {
    let one = |call: &super::Called| {
        json!({"id": format!("call_{}", call.id),
            "function": {"name": call.name, "arguments": call.input}})
    };
    reply.calls.iter().map(one).collect()
}

fn ended(mut line: Value, reply: &Reply) -> Value {
    let figures = json!({"done": true, "done_reason": "stop", "total_duration": 9, "load_duration": 1,
        "prompt_eval_count": reply.usage.prompt(), "prompt_eval_duration": 4,
        "eval_count": reply.usage.output, "eval_duration": 4});
    for (key, value) in figures.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    line
}

/// The lines of a stream.
pub(crate) fn events(reply: &Reply) -> Vec<String> {
    let say = |member: &str, text: &str| -> Vec<Value> {
        let mut said = Vec::new();
        for piece in pieces(text, PIECE) {
            let mut message = json!({"role": "assistant", "content": ""});
            message[member] = json!(piece);
            said.push(line(reply, message));
        }
        said
    };
    let mut lines = Vec::new();
    if let Some(thought) = &reply.thinking {
        lines.extend(say("thinking", &thought.text));
    }
    lines.extend(say("content", &reply.text));
    if !reply.calls.is_empty() {
        let message = json!({"role": "assistant", "content": "", "tool_calls": calls(reply)});
        lines.push(line(reply, message));
    }
    lines.push(ended(line(reply, json!({"role": "assistant", "content": ""})), reply));
    lines.iter().map(|line| format!("{line}\n")).collect()
}
