//! What the chat template of a model takes of roles: what most take, and what a refusal told.
//!
//! Invariant: nothing that was said is lost, and what is taken already goes out byte for byte. Texts
//! are joined or handed on under another role, never cut. Called by the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use epitome_wire::scan;
use serde_json::{Map, Value, json};

use crate::endpoint::ModelEndpoint;
use crate::spec::ModelApi;

/// What stands between two texts that become one.
const BETWEEN: &str = "\n\n";

/// What begins a conversation whose first message a template wants from a person.
const FIRST: &str = "Go on.";

const ALTERNATE: u8 = 1;
const NO_SYSTEM: u8 = 2;

/// What a template wants of roles; shared by all who ask the model.
#[derive(Clone, Default)]
pub(crate) struct RoleRules(Arc<AtomicU8>);

impl RoleRules {
    /// Learns from the words of a refusal. Whether that tells anything new.
    pub(crate) fn learn(&self, refusal: &str) -> bool {
        let says = |words: &[&str]| {
            let refusal = refusal.to_lowercase();
            words.iter().all(|word| refusal.contains(word))
        };
        let mut found = 0;
        if says(&["role", "alternate"]) {
            found |= ALTERNATE;
        }
        if says(&["system role not supported"])
            || says(&["only user", "assistant roles", "support"])
            || says(&["does not support", "system"])
        {
            found |= NO_SYSTEM;
        }
        self.0.fetch_or(found, Ordering::Relaxed) & found != found
    }

    /// A request as the template takes it.
    pub(crate) fn applied(&self, body: &Bytes, api: ModelApi) -> Bytes {
        let rules = self.0.load(Ordering::Relaxed);
        if rules == 0 {
            return body.clone();
        }
        self::applied(body, api, rules).unwrap_or_else(|| body.clone())
    }
}

/// A chat as most templates take it, before anybody refuses it: servers of one's own render templates,
/// many of which want roles to take turns. What providers take, and Ollama, needs nothing.
pub(crate) fn usual(body: Bytes, endpoint: &ModelEndpoint) -> Bytes {
    let renders = endpoint.spec.api == ModelApi::OpenAi && !endpoint.is_usual();
    let taken = renders.then(|| applied(&body, endpoint.spec.api, ALTERNATE)).flatten();
    taken.unwrap_or(body)
}

fn applied(body: &Bytes, api: ModelApi, rules: u8) -> Option<Bytes> {
    let list = scan(body, api.format()).ok()?.list;
    let found: Vec<Map<String, Value>> = serde_json::from_slice(body.get(list.clone())?).ok()?;
    let mut messages = found.clone();
    if rules & NO_SYSTEM != 0 {
        messages = without_system(messages);
    }
    if rules & ALTERNATE != 0 {
        messages = alternating(messages);
    }
    if messages == found {
        return None;
    }
    let messages = serde_json::to_vec(&messages).ok()?;
    Some([&body[..list.start], &messages, &body[list.end..]].concat().into())
}

fn role(message: &Map<String, Value>) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// The same, with what the system says said by the user.
fn without_system(mut messages: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    for message in &mut messages {
        if role(message) == "system" {
            message.insert("role".to_owned(), "user".into());
        }
    }
    // The system prompt opens what the user says first: it is no message of its own.
    alternating_from(messages, 1)
}

/// The same, with texts of one role behind each other as one message, a person's first.
fn alternating(mut messages: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    let first = messages.iter().position(|message| role(message) != "system");
    if let Some(first) = first.filter(|first| role(&messages[*first]) == "assistant") {
        let opening = json!({"role": "user", "content": FIRST});
        messages.insert(first, opening.as_object().cloned().unwrap_or_default());
    }
    let all = messages.len();
    alternating_from(messages, all)
}

/// The same, where only the first so many messages take up what stands behind them.
fn alternating_from(messages: Vec<Map<String, Value>>, most: usize) -> Vec<Map<String, Value>> {
    let mut found: Vec<Map<String, Value>> = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let is_within = at <= most;
        let joined = found.last_mut().filter(|_| is_within).and_then(|last| join(last, &message));
        if joined.is_none() {
            found.push(message);
        }
    }
    found
}

/// Puts what a message says behind what one of the same role says. `None` where either is more than a
/// text: a call and its result are told by their places.
fn join(last: &mut Map<String, Value>, message: &Map<String, Value>) -> Option<()> {
    let is_plain = |message: &Map<String, Value>| {
        message.keys().all(|key| matches!(key.as_str(), "role" | "content"))
    };
    let is_same = role(last) == role(message) && matches!(role(last), "user" | "assistant");
    if !is_same || !is_plain(last) || !is_plain(message) {
        return None;
    }
    let content = match (last.get("content")?, message.get("content")?) {
        (Value::String(before), Value::String(behind)) => {
            Value::from(format!("{before}{BETWEEN}{behind}"))
        }
        (before, behind) => Value::Array([parts(before)?, parts(behind)?].concat()),
    };
    last.insert("content".to_owned(), content);
    Some(())
}

/// What a message says, as parts.
fn parts(content: &Value) -> Option<Vec<Value>> {
    match content {
        Value::String(text) => Some(vec![json!({"type": "text", "text": text})]),
        Value::Array(parts) => Some(parts.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: &str, content: &str) -> Value {
        json!({"role": role, "content": content})
    }

    #[track_caller]
    fn check(refusals: &[&str], messages: Value, expected: Value) {
        let rules = RoleRules::default();
        refusals.iter().for_each(|refusal| assert!(rules.learn(refusal), "{refusal}"));
        let with =
            |messages: &Value| format!(r#"{{"model": "m", "messages": {messages}, "top_k":1}}"#);
        let body = Bytes::from(with(&messages));
        let sent = rules.applied(&body, ModelApi::OpenAi);
        assert_eq!(String::from_utf8(sent.to_vec()).unwrap(), with(&expected));
    }

    const GEMMA: &str = "Error: System role not supported at row 1, column 73";
    const MISTRAL: &str =
        "After the optional system message, conversation roles must alternate user/assistant";

    #[test]
    fn a_refusal_is_learned_from_once() {
        let rules = RoleRules::default();
        assert!(!rules.learn("the model is overloaded"));
        assert!(rules.learn(MISTRAL) && !rules.learn(MISTRAL));
        assert!(rules.learn("Only user and assistant roles are supported!") && !rules.learn(GEMMA));
    }

    #[test]
    fn what_one_role_says_becomes_one_message() {
        let talk = json!([
            message("system", "Be brief."),
            message("user", "a"),
            message("user", "b"),
            message("assistant", "c"),
            message("assistant", "d"),
            message("user", "e"),
        ]);
        check(&[], talk.clone(), talk.clone());
        let joined = json!([
            message("system", "Be brief."),
            message("user", "a\n\nb"),
            message("assistant", "c\n\nd"),
            message("user", "e"),
        ]);
        check(&[MISTRAL], talk.clone(), joined);
        let joined = json!([
            message("user", "Be brief.\n\na"),
            message("user", "b"),
            message("assistant", "c"),
            message("assistant", "d"),
            message("user", "e"),
        ]);
        check(&[GEMMA], talk.clone(), joined);
        let joined = json!([
            message("user", "Be brief.\n\na\n\nb"),
            message("assistant", "c\n\nd"),
            message("user", "e"),
        ]);
        check(&[GEMMA, MISTRAL], talk, joined);
        let opened =
            json!([message("user", FIRST), message("assistant", "a"), message("user", "b")]);
        check(&[MISTRAL], json!([message("assistant", "a"), message("user", "b")]), opened);
    }

    #[test]
    fn calls_and_pictures_stay_what_they_are() {
        let picture = json!({"type": "image_url", "image_url": {"url": "data:,"}});
        let calls = json!([
            {"role": "user", "content": [picture]}, message("user", "What is it?"),
            {"role": "assistant", "content": "", "tool_calls": []}, message("assistant", "A dog."),
        ]);
        let text = json!({"type": "text", "text": "What is it?"});
        let joined = json!([
            {"role": "user", "content": [picture, text]},
            {"role": "assistant", "content": "", "tool_calls": []}, message("assistant", "A dog."),
        ]);
        check(&[MISTRAL], calls, joined);
    }
}
