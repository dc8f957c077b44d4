//! OpenAI's Chat Completions API: answers and streams.
//!
//! Invariant: usage stands in a stream only where the request asked for it. Called through `Api`.

use serde_json::{Value, json};

use super::{Called, PIECE, Reply, pieces};

/// When every answer was made; nothing here reads a clock.
const CREATED: u64 = 1_790_000_000;

/// A whole answer.
pub(crate) fn whole(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text, "refusal": null});
    if !reply.calls.is_empty() {
        message["tool_calls"] = reply.calls.iter().map(|call| called(call, true)).collect();
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null,
        "finish_reason": finish(reply)});
    json!({"id": id(reply), "object": "chat.completion", "created": CREATED,
        "model": reply.model, "choices": [choice], "usage": usage(reply)})
}

fn id(reply: &Reply) -> String {
    format!("chatcmpl-{:06}", reply.number)
}

fn finish(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn called(call: &Called, with_arguments: bool) -> Value {
    let arguments = if with_arguments { call.arguments() } else { String::new() };
    json!({"id": format!("call_{}", call.id), "type": "function",
        "function": {"name": call.name, "arguments": arguments}})
}

fn usage(reply: &Reply) -> Value {
    let usage = reply.usage;
    json!({"prompt_tokens": usage.prompt(), "completion_tokens": usage.output,
        "total_tokens": usage.prompt() + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.read}})
}

/// The events of a stream.
pub(crate) fn events(reply: &Reply, body: &Value) -> Vec<String> {
    let chunk = |choices: Value| {
        json!({"id": id(reply), "object": "chat.completion.chunk", "created": CREATED,
            "model": reply.model, "choices": choices})
    };
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]))
    };
    let mut chunks = vec![delta(json!({"role": "assistant", "content": ""}), None)];
    let said = pieces(&reply.text, PIECE);
    chunks.extend(said.iter().map(|piece| delta(json!({"content": piece}), None)));
    for (index, call) in reply.calls.iter().enumerate() {
        let mut start = called(call, false);
        start["index"] = json!(index);
        chunks.push(delta(json!({"tool_calls": [start]}), None));
        chunks.extend(pieces(&call.arguments(), PIECE).iter().map(|piece| {
            let next = json!({"index": index, "function": {"arguments": piece}});
            delta(json!({"tool_calls": [next]}), None)
        }));
    }
    chunks.push(delta(json!({}), Some(finish(reply))));
    if body["stream_options"]["include_usage"] == true {
        let mut last = chunk(json!([]));
        last["usage"] = usage(reply);
        chunks.push(last);
    }
    let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}
