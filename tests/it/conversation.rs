//! Conversations of an agent at work, in the formats that clients send.

use serde_json::{Value, json};

/// What the system says, in every conversation here.
pub(crate) const SYSTEM: &str = "You keep the billing service running. Answer in one paragraph.";
/// What the person typed last, in every conversation here.
pub(crate) const LAST: &str = "Now write the release note for all of this.";

/// What the person forbids and demands, one in each of the first turns.
pub(crate) const RULES: [&str; 6] = [
    "Never touch the production database.",
    "Do not log card numbers, not even masked ones.",
    "All timeouts must stay below five seconds.",
    "Always write times in UTC.",
    "You must not push to main without a review.",
    "Keep the public API of the ledger module as it is.",
];

/// One turn of an agent: a question, a call, its result, an answer.
pub(crate) struct Turn {
    pub(crate) ask: String,
    pub(crate) call: Value,
    pub(crate) result: String,
    pub(crate) answer: String,
}

/// Turns in which every one is about another file, ticket and error.
pub(crate) fn turns(count: usize) -> impl Iterator<Item = Turn> {
    (0..count).map(|turn| {
        let (file, ticket) = (format!("services/billing/stage_{turn}.py"), 4100 + turn * 7);
        let lines = (0..14).map(|line| {
            format!(
                "{line:>3}  invoice_{turn}_{line} = post(ledger, amount={}, retries={line})",
                turn * 31 + line
            )
        });
        Turn {
            ask: RULES.get(turn).map_or_else(
                || format!("Ticket {ticket}: the run of {file} fails at night."),
                ToString::to_string,
            ),
            call: json!({"path": file, "start": turn}),
            result: format!(
                "{}\nERR_STAGE_{turn}: timeout after {} ms",
                lines.collect::<Vec<_>>().join("\n"),
                turn * 13 + 200
            ),
            answer: format!(
                "The timeout of stage {turn} is too short; I raised it to {} ms in {file}.",
                turn * 50 + 900
            ),
        }
    })
}

/// A bare array of messages.
pub(crate) fn bare(count: usize) -> Value {
    let mut messages = vec![json!({"role": "system", "content": SYSTEM})];
    for (at, turn) in turns(count).enumerate() {
        let id = format!("call_{at}");
        let function = json!({"name": "read_file", "arguments": turn.call.to_string()});
        messages.extend([
            json!({"role": "user", "content": turn.ask}),
            json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": id, "type": "function", "function": function}]}),
            json!({"role": "tool", "tool_call_id": id, "content": turn.result}),
            json!({"role": "assistant", "content": turn.answer}),
        ]);
    }
    messages.push(json!({"role": "user", "content": LAST}));
    Value::Array(messages)
}

/// A request to an OpenAI-compatible API.
pub(crate) fn openai(count: usize) -> Value {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let function = json!({"name": "read_file", "parameters": parameters});
    json!({"model": "gpt-4o", "temperature": 0.2, "messages": bare(count),
        "tools": [{"type": "function", "function": function}]})
}

/// A request to Anthropic's API.
pub(crate) fn anthropic(count: usize) -> Value {
    let mut messages = Vec::new();
    for (at, turn) in turns(count).enumerate() {
        let id = format!("toolu_{at}");
        messages.extend([
            json!({"role": "user", "content": turn.ask}),
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "I look at the file."},
                {"type": "tool_use", "id": id, "name": "read_file", "input": turn.call}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": turn.result}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": turn.answer}]}),
        ]);
    }
    messages.push(json!({"role": "user", "content": LAST}));
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    json!({"model": "claude-sonnet-4", "max_tokens": 1024, "system": SYSTEM, "messages": messages,
        "tools": [{"name": "read_file", "description": "Reads a file", "input_schema": schema}]})
}

/// A session file of Claude Code.
pub(crate) fn claude_code(count: usize) -> String {
    let body = anthropic(count);
    let lines = body["messages"].as_array().unwrap().iter().enumerate().map(|(at, message)| {
        json!({"type": message["role"], "message": message, "uuid": format!("u{at}"),
            "timestamp": format!("2025-03-01T10:{:02}:00.000Z", at % 60)})
        .to_string()
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// All of them, by name.
pub(crate) fn all(count: usize) -> [(&'static str, Value); 3] {
    [("bare", bare(count)), ("openai", openai(count)), ("anthropic", anthropic(count))]
}
