//! A conversation as the quality score reads it: who said what, in plain text.
//!
//! Invariant: results of tools are messages of their own in every format, so that a text in the
//! user's role is one that was typed there. Called by the score and where questions are made.

use epitome::types::{Entry, PartBody, Role};
use epitome::{RequestDocument, TokenCounter};
use serde_json::Value;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlainMessage {
    pub(crate) role: Role,
    /// Its text.
    pub(crate) content: String,
    /// The arguments of its calls.
    pub(crate) arguments: String,
}

impl PlainMessage {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        match self.arguments.is_empty() {
            true => self.content.clone(),
            false => format!("{}\n{}", self.content, self.arguments),
        }
    }

    /// Its tokens: text, arguments and the constant of a message.
    fn tokens(&self, counter: &dyn TokenCounter) -> u64 {
        counter.count(&self.text()) + counter.message()
    }
}

/// The messages of a request.
pub(crate) fn said(document: &RequestDocument<'_>) -> Vec<PlainMessage> {
    document.entries().iter().flat_map(messages).collect()
}

/// One message, or the results in it and then the rest.
fn messages(entry: &Entry) -> Vec<PlainMessage> {
    let (mut own, mut results, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &entry.parts {
        match &part.body {
            PartBody::Text(text) if part.within.is_none() => own.push(text.as_str()),
            PartBody::Text(text) => results.push(text.as_str()),
            PartBody::Result(result) if !result.text.is_empty() => results.push(&result.text),
            PartBody::Call(call) => calls.push(flat_text(&call.arguments)),
            _ => {}
        }
    }
    let message = |role, texts: &[&str], arguments: String| PlainMessage {
        role,
        content: texts.join("\n"),
        arguments,
    };
    if entry.role == Role::Tool {
        own.append(&mut results);
    }
    let rest = message(entry.role, &own, calls.join("\n"));
    match results.is_empty() {
        true => vec![rest],
        false if own.is_empty() => vec![message(Role::Tool, &results, String::new())],
        false => vec![message(Role::Tool, &results, String::new()), rest],
    }
}

/// The text of a JSON value with real line ends; what is no JSON stays as it is.
fn flat_text(json: &str) -> String {
    serde_json::from_str(json).map_or_else(|_| json.to_owned(), |value: Value| flat(&value))
}

fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let lines = members.iter().map(|(key, value)| format!("{key}: {}", flat(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The last text in the user's role.
pub(crate) fn last_typed(said: &[PlainMessage]) -> Option<&PlainMessage> {
    said.iter().rfind(|one| one.role == Role::User)
}

/// Tokens of all messages, and of those that nothing may cut: what the system says, and the last
/// text in the user's role.
pub(crate) fn tokens(said: &[PlainMessage], counter: &dyn TokenCounter) -> [u64; 2] {
    let last = said.iter().rposition(|one| one.role == Role::User);
    let (mut all, mut pinned) = (0, 0);
    for (place, one) in said.iter().enumerate() {
        let tokens = one.tokens(counter);
        all += tokens;
        if one.role == Role::System || Some(place) == last {
            pinned += tokens;
        }
    }
    [all, pinned]
}

#[cfg(test)]
mod tests {
    use epitome::Format;

    use super::*;

    fn check(format: Format, json: &str, expected: &[(Role, &str, &str)]) {
        let document = RequestDocument::parse(json.as_bytes(), format).unwrap();
        let found = said(&document);
        let found: Vec<_> =
            found.iter().map(|one| (one.role, &*one.content, &*one.arguments)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn results_are_messages_of_their_own() {
        check(
            Format::OpenAi,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[
            {"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":\"x\\ny\",\"b\":[1,null]}"}}]},
            {"role":"tool","tool_call_id":"1","content":"done"}]"#,
            &[
                (Role::User, "go", ""),
                (Role::Assistant, "", "a: x\ny\nb: 1\n"),
                (Role::Tool, "done", ""),
            ],
        );
        check(
            Format::Anthropic,
            r#"{"system":"be brief","messages":[{"role":"user","content":"go"},
            {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"done"},
            {"type":"text","text":"and now?"}]}]}"#,
            &[
                (Role::System, "be brief", ""),
                (Role::User, "go", ""),
                (Role::Assistant, "", "a: 1"),
                (Role::Tool, "done", ""),
                (Role::User, "and now?", ""),
            ],
        );
    }
}
