//! Anthropic's Messages API: answers and streams.
//!
//! Invariant: the whole answer and the stream say the same. Called through `Api`.

use serde_json::{Value, json};

use super::{PIECE, Reply, named, pieces};

/// A whole answer.
pub(crate) fn whole(reply: &Reply) -> Value {
    let mut content = Vec::new();
    if let Some(thought) = &reply.thinking {
        content.push(json!({"type": "thinking", "thinking": thought.text,
            "signature": thought.signature}));
    }
    content.push(json!({"type": "text", "text": reply.text}));
    content.extend(reply.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.name,
            "input": call.input})
    }));
    let mut message = json!({"id": format!("msg_{:06}", reply.number), "type": "message", "role": "assistant",
        "model": reply.model, "content": content, "stop_reason": stop_reason(reply),
        "stop_sequence": null, "usage": usage(reply)});
    if !reply.transformed.is_null() {
        message["input_transformations"] = reply.transformed.clone();
    }
    message
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn usage(reply: &Reply) -> Value {
    let usage = reply.usage;
    json!({"input_tokens": usage.uncached, "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.read, "output_tokens": usage.output})
}

/// The events of a stream.
pub(crate) fn events(reply: &Reply) -> Vec<String> {
    let mut message = whole(reply);
    let content = message["content"].take();
    (message["content"], message["stop_reason"]) = (json!([]), Value::Null);
    message["usage"]["output_tokens"] = json!(1);
    let mut events =
        vec![named("message_start", &json!({"type": "message_start", "message": message}))];
    for (index, block) in content.as_array().into_iter().flatten().enumerate() {
        let mut start = block.clone();
        let deltas: Vec<Value> = match block["type"].as_str() {
            Some("thinking") => {
                (start["thinking"], start["signature"]) = (json!(""), json!(""));
                let thought = deltas("thinking_delta", "thinking", &block["thinking"]);
                let signed = json!({"type": "signature_delta", "signature": block["signature"]});
                thought.into_iter().chain([signed]).collect()
            }
            Some("tool_use") => {
                start["input"] = json!({});
                let input = json!(block["input"].to_string());
                deltas("input_json_delta", "partial_json", &input)
            }
            _ => {
                start["text"] = json!("");
                deltas("text_delta", "text", &block["text"])
            }
        };
        let kind = "content_block_start";
        events.push(named(kind, &json!({"type": kind, "index": index, "content_block": start})));
        let kind = "content_block_delta";
        events.extend(
            deltas
                .into_iter()
                .map(|delta| named(kind, &json!({"type": kind, "index": index, "delta": delta}))),
        );
        let kind = "content_block_stop";
        events.push(named(kind, &json!({"type": kind, "index": index})));
    }
    let delta = json!({"stop_reason": stop_reason(reply), "stop_sequence": null});
    let kind = "message_delta";
    events.push(named(kind, &json!({"type": kind, "delta": delta, "usage": usage(reply)})));
    events.push(named("message_stop", &json!({"type": "message_stop"})));
    events
}

fn deltas(kind: &str, member: &str, whole: &Value) -> Vec<Value> {
    let whole = whole.as_str().unwrap_or_default();
    pieces(whole, PIECE).iter().map(|piece| json!({"type": kind, member: piece})).collect()
}
