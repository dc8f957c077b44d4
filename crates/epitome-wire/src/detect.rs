//! Recognises a format by what the bytes say, never by a file's name.
//!
//! Invariant: an answer rests on keys that only one format has; where a request could be either
//! provider's, the plainer format (openai) is chosen.

use crate::error::quoted;
use crate::json::{self, Cursor, JsonValue, JsonValueKind, Object};
use crate::{Format, WireError};

/// The format of a conversation.
///
/// # Errors
///
/// When the bytes are not UTF-8 or JSON (with the byte, or the line of a recording), or look like
/// no format known here (with what was found).
pub fn detect(bytes: &[u8]) -> Result<Format, WireError> {
    let text = json::text(bytes)?;
    let mut cursor = Cursor::new(text, 0);
    let first = cursor.value()?;
    if first.kind() == JsonValueKind::Array {
        cursor.end()?;
        return Ok(Format::OpenAi);
    }
    let object = first.object()?;
    if let Some(format) = of_request(&object)? {
        cursor.end()?;
        return Ok(format);
    }
    if cursor.end().is_err() {
        return of_lines(text);
    }
    of_line(&object).ok_or_else(|| WireError::Unrecognised { found: account(&object) })
}

/// The format of a file that is one JSON object, where its keys tell.
fn of_request(body: &Object<'_>) -> Result<Option<Format>, WireError> {
    if body.has("history") {
        return Ok(Some(Format::SweAgent));
    }
    match body.some("messages") {
        None if is_responses(body) => Ok(Some(Format::Responses)),
        None => Ok(None),
        Some(_) if body.has("sessionId") && (body.has("lastActivity") || body.has("toolCalls")) => {
            Ok(Some(Format::Ollm))
        }
        Some(messages) if is_ollama(body, messages) => Ok(Some(Format::Ollama)),
        Some(messages) if is_anthropic(body, messages)? => Ok(Some(Format::Anthropic)),
        Some(_) => Ok(Some(Format::OpenAi)),
    }
}

/// Embeddings have an `input` too: a text, or a list of texts or numbers.
fn is_responses(body: &Object<'_>) -> bool {
    const OWN_KEYS: [&str; 8] = [
        "instructions",
        "previous_response_id",
        "conversation",
        "max_output_tokens",
        "store",
        "text",
        "reasoning",
        "include",
    ];
    body.some("input").is_some_and(|input| match input.kind() {
        JsonValueKind::String => {
            OWN_KEYS.iter().any(|key| body.has(key)) || !body.has("encoding_format")
        }
        JsonValueKind::Array => {
            let items = input.items().unwrap_or_default();
            items.iter().all(|item| item.kind() == JsonValueKind::Object)
        }
        _ => false,
    })
}

/// What only Ollama's chat has: its own members, images beside the content, arguments that are no
/// text.
fn is_ollama(body: &Object<'_>, messages: JsonValue<'_>) -> bool {
    if body.has("options") || body.has("keep_alive") {
        return true;
    }
    let messages = messages.items().unwrap_or_default();
    messages.into_iter().filter_map(JsonValue::as_object).any(|message| {
        let calls = message.some("tool_calls").and_then(|calls| calls.items().ok());
        let mut calls = calls.into_iter().flatten().filter_map(JsonValue::as_object);
        message.has("images")
            || message.has("tool_name")
            || calls.any(|call| {
                let function = call.get("function").and_then(JsonValue::as_object);
                let arguments = function.and_then(|function| function.get("arguments"));
                arguments.is_some_and(|arguments| arguments.kind() == JsonValueKind::Object)
            })
    })
}

fn is_anthropic(body: &Object<'_>, messages: JsonValue<'_>) -> Result<bool, WireError> {
    const OWN_KEYS: [&str; 5] =
        ["system", "anthropic_version", "stop_sequences", "thinking", "context_management"];
    const OWN_BLOCKS: [&str; 7] = [
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "server_tool_use",
    ];
    if OWN_KEYS.iter().any(|key| body.has(key)) {
        return Ok(true);
    }
    if let Some(tools) = body.some("tools")
        && let Some(tool) = tools.items()?.first()
    {
        let tool = tool.object()?;
        if tool.has("input_schema") || tool.has("function") {
            return Ok(tool.has("input_schema"));
        }
    }
    for message in messages.items()? {
        let message = message.object()?;
        if message.has("tool_calls") || message.has("tool_call_id") {
            return Ok(false);
        }
        let Some(content) =
            message.get("content").filter(|content| content.kind() == JsonValueKind::Array)
        else {
            continue;
        };
        for block in content.items()? {
            let kind = block.object()?.text("type").unwrap_or_default();
            if OWN_BLOCKS.contains(&kind.as_ref()) {
                return Ok(true);
            }
        }
    }
    Ok(body.text("model").is_some_and(|model| model.starts_with("claude"))
        && body.has("max_tokens"))
}

/// The format of a recording in JSON lines: the first line that tells decides.
fn of_lines(text: &str) -> Result<Format, WireError> {
    let mut found = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at_line = |source| WireError::Line { line: number + 1, source: Box::new(source) };
        let object = json::parse(line).and_then(JsonValue::object).map_err(at_line)?;
        if let Some(format) = of_line(&object) {
            return Ok(format);
        }
        found.get_or_insert_with(|| account(&object));
    }
    Err(WireError::Unrecognised { found: found.unwrap_or_default() })
}

/// The recording that has such a line.
fn of_line(line: &Object<'_>) -> Option<Format> {
    let has = |key: &str| line.has(key);
    match line.text("type")?.as_ref() {
        "user" | "assistant" if has("message") => Some(Format::ClaudeCode),
        "session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted"
            if has("payload") =>
        {
            Some(Format::Codex)
        }
        // Older files hold the items bare.
        "message" if has("role") && has("content") => Some(Format::Codex),
        "function_call" | "function_call_output" if has("call_id") => Some(Format::Codex),
        "session" | "message" | "model_change" | "thinking_level_change" => Some(Format::Pi),
        _ => None,
    }
}

/// What an object that tells nothing looks like.
fn account(object: &Object<'_>) -> String {
    match object.text("type") {
        Some(kind) => format!("a line of type `{}`", quoted(&kind)),
        None => format!("an object with the keys {}", keys(object)),
    }
}

/// The first few keys of an object, as they stand there.
fn keys(object: &Object<'_>) -> String {
    let keys = object.members.iter().take(6).map(|(key, _)| quoted(key.raw().trim_matches('"')));
    format!("`{}`", keys.collect::<Vec<_>>().join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, format: Format) {
        assert_eq!(detect(text.as_bytes()), Ok(format), "{text}");
    }

    #[test]
    fn knows_each_format_by_its_content() {
        check("[]", Format::OpenAi);
        check(r#" [{"role":"user","content":"x"}]"#, Format::OpenAi);
        check(r#"{"messages":[{"role":"user","content":"x"}]}"#, Format::OpenAi);
        check(r#"{"system":"x","messages":[]}"#, Format::Anthropic);
        check(r#"{"messages":[{"role":"user","content":[{"type":"image"}]}]}"#, Format::Anthropic);
        check(r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#, Format::OpenAi);
        check(r#"{"messages":[],"tools":[{"name":"t","input_schema":{}}]}"#, Format::Anthropic);
        check(r#"{"model":"claude-x","max_tokens":9,"messages":[]}"#, Format::Anthropic);
        check(
            r#"{"model":"claude-x","max_tokens":9,"messages":[],"tools":[{"type":"function","function":{}}]}"#,
            Format::OpenAi,
        );
        check(r#"{"model":"m","input":"hi"}"#, Format::Responses);
        check(r#"{"input":[{"role":"user","content":"hi"}],"store":false}"#, Format::Responses);
        check(r#"{"messages":[],"options":{"num_ctx":4096}}"#, Format::Ollama);
        check(r#"{"messages":[],"keep_alive":-1}"#, Format::Ollama);
        check(r#"{"messages":[{"role":"user","content":"x","images":["AA=="]}]}"#, Format::Ollama);
        let call = |arguments: &str| {
            format!(
                r#"{{"messages":[{{"role":"assistant","content":"","tool_calls":[{{"function":{{"name":"t","arguments":{arguments}}}}}]}}]}}"#
            )
        };
        check(&call("{}"), Format::Ollama);
        check(&call("\"{}\""), Format::OpenAi);
        check(r#"{"history":[],"trajectory":[]}"#, Format::SweAgent);
        check("{\"type\":\"session\",\"id\":\"x\"}\n", Format::Pi);
        check("{\"type\":\"message\",\"message\":{\"role\":\"user\"}}\n", Format::Pi);
        check("{\"type\":\"session_meta\",\"payload\":{}}", Format::Codex);
        check(
            "{\"id\":\"x\"}\n{\"type\":\"message\",\"role\":\"user\",\"content\":[]}\n",
            Format::Codex,
        );
        check(r#"{"sessionId":"s","lastActivity":"t","messages":[]}"#, Format::Ollm);
        check("{\"type\":\"summary\"}\n\n{\"type\":\"user\",\"message\":{}}\n", Format::ClaudeCode);
    }

    #[test]
    fn says_what_it_found_instead() {
        let check = |text: &str, expected: &str| {
            let error = detect(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(
            r#"{"model":"m","input":["text"]}"#,
            "format not recognised: an object with the keys `model`, `input`; expected `anthropic`",
        );
        check(
            "{\"type\":\"session_start\"}\n{\"type\":\"x\"}",
            "format not recognised: a line of type `session_start`",
        );
        check("{\"type\":\"x\"}\n{\"type\":", "line 2: byte 8: expected a value");
        check(
            "{\n\"contents\":[]\n}",
            "format not recognised: an object with the keys `contents`;",
        );
        check("3", "byte 0: expected an object, found 3");
        check("", "byte 0: expected a value");
        check("{\"messages\":[{\"role\":\"user\"", "byte 27: expected `,` or `}` in `messages[0]`");
    }
}
