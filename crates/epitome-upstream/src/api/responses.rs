//! OpenAI's Responses API: answers and streams.
//!
//! Invariant: every event has its number, and every item is added before it is done. Called
//! through `Api`.

use serde_json::{Value, json};

use super::{Called, PIECE, Reply, named, pieces};

/// When every answer was made; nothing here reads a clock.
const CREATED: u64 = 1_790_000_000;

/// A whole answer.
pub(crate) fn whole(reply: &Reply) -> Value {
    let usage = reply.usage;
    let mut response = json!({"id": format!("resp_{:06}", reply.number), "object": "response",
        "created_at": CREATED, "status": "completed", "error": null, "incomplete_details": null,
        "model": reply.model, "output": output(reply), "parallel_tool_calls": true,
        "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": usage.prompt(),
            "input_tokens_details": {"cached_tokens": usage.read}, "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.prompt() + usage.output}});
    if !reply.transformed.is_null() {
        response["input_transformations"] = reply.transformed.clone();
    }
    response
}

/// The id of an item, from the kind and the id of what it holds.
pub(crate) fn item_id(call: &Called) -> String {
    format!("{}_{}", if call.takes.custom { "ctc" } else { "fc" }, call.id)
}

/// The id of the reasoning in a reply.
pub(crate) fn reasoning_id(reply: &Reply) -> String {
    format!("rs_{:06}", reply.number)
}

/// The id of the message in a reply.
pub(crate) fn message_id(reply: &Reply) -> String {
    format!("msg_{:06}", reply.number)
}

fn output(reply: &Reply) -> Vec<Value> {
    let mut output = Vec::new();
    if let Some(thought) = &reply.thinking {
        output.push(json!({"type": "reasoning", "id": reasoning_id(reply),
            "summary": [{"type": "summary_text", "text": thought.text}],
            "encrypted_content": thought.signature}));
    }
    output.push(json!({"type": "message", "id": message_id(reply), "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}));
    output.extend(reply.calls.iter().map(|call| {
        let call_id = format!("call_{}", call.id);
        if call.takes.custom {
            json!({"type": "custom_tool_call", "id": item_id(call), "call_id": call_id,
                "name": call.name, "input": call.arguments(), "status": "completed"})
        } else {
            let mut item = json!({"type": "function_call", "id": item_id(call),
                "call_id": call_id, "name": call.name, "arguments": call.arguments(),
                "status": "completed"});
            if let Some(space) = &call.takes.namespace {
                item["namespace"] = json!(space);
            }
            item
        }
    }));
    output
}

/// The events of a stream.
pub(crate) fn events(reply: &Reply) -> Vec<String> {
    let done = whole(reply);
    let mut begun = done.clone();
    (begun["status"], begun["output"]) = (json!("in_progress"), json!([]));
    begun["usage"] = Value::Null;
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (at, item) in output(reply).iter().enumerate() {
        let place = json!({"item_id": item["id"], "output_index": at});
        let with = |kind: &str, more: Value| {
            let mut event = json!({"type": kind});
            for members in [&place, &more] {
                for (key, value) in members.as_object().into_iter().flatten() {
                    event[key] = value.clone();
                }
            }
            event
        };
        let mut added = item.clone();
        let deltas = |kind: &str, whole: &Value| -> Vec<Value> {
            let whole = whole.as_str().unwrap_or_default();
            let one = |piece: &String| with(kind, json!({"content_index": 0, "delta": piece}));
            pieces(whole, PIECE).iter().map(one).collect()
        };
        let inner = match item["type"].as_str() {
            Some("message") => {
                (added["content"], added["status"]) = (json!([]), json!("in_progress"));
                let part = &item["content"][0];
                let empty = json!({"type": "output_text", "text": "", "annotations": []});
                let start = json!({"content_index": 0, "part": empty});
                let mut inner = vec![with("response.content_part.added", start)];
                inner.extend(deltas("response.output_text.delta", &part["text"]));
                let text = json!({"content_index": 0, "text": part["text"]});
                inner.push(with("response.output_text.done", text));
                let end = json!({"content_index": 0, "part": part});
                inner.push(with("response.content_part.done", end));
                inner
            }
            Some("function_call") => {
                (added["arguments"], added["status"]) = (json!(""), json!("in_progress"));
                let kind = "response.function_call_arguments.delta";
                let mut inner = deltas(kind, &item["arguments"]);
                let whole = json!({"arguments": item["arguments"]});
                inner.push(with("response.function_call_arguments.done", whole));
                inner
            }
            Some("custom_tool_call") => {
                (added["input"], added["status"]) = (json!(""), json!("in_progress"));
                let mut inner = deltas("response.custom_tool_call_input.delta", &item["input"]);
                let whole = json!({"input": item["input"]});
                inner.push(with("response.custom_tool_call_input.done", whole));
                inner
            }
            _ => Vec::new(),
        };
        let kind = "response.output_item.added";
        events.push(json!({"type": kind, "output_index": at, "item": added}));
        events.extend(inner);
        let kind = "response.output_item.done";
        events.push(json!({"type": kind, "output_index": at, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": done}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(|event| named(event["type"].as_str().unwrap_or_default(), event)).collect()
}
