//! What the newest models do with reasoning that comes back: it is bound to the whole prompt before
//! it, and void behind any change of that.
//!
//! Invariant: a prefix is told by what it says: marks of the cache, and whether a text stands alone or
//! as a block, are no part of it; reasoning is, so one that is missing voids those behind it. Called
//! by `server`, once for each prompt that is taken.

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::{Memory, items, text};
use crate::api::Api;
use crate::canon;
use crate::refusal::Refusal;

/// The beta by which a client may say what becomes of void reasoning.
const BETA: &str = "thinking-binding-controls-2026-08-01";

/// The names of models whose reasoning is bound, or parts of them.
const ANTHROPIC: [&str; 7] =
    ["fable-5-1", "fable-5-2", "mythos-5-1", "mythos-5-2", "opus-5-5", "sonnet-5-5", "haiku-5-5"];
const OPENAI: [&str; 2] = ["gpt-6.2", "gpt-6.3"];

/// What stands before an answer to this request, where its model's reasoning is bound to that.
pub(crate) fn of_whole(api: Api, body: &Value) -> Option<u128> {
    if !binds(api, body) {
        return None;
    }
    let (list, hash) = start(api, body);
    Some(items(body, list).iter().fold(hash, then))
}

/// Looks at the reasoning that comes back; gives the places of what is dropped as void.
pub(crate) fn check(
    api: Api,
    body: &Value,
    beta: &str,
    memory: &Memory,
) -> Result<Vec<String>, Refusal> {
    let behavior = &body["thinking"]["block_binding"]["prefix_mismatch_behavior"];
    if !behavior.is_null() && !beta.contains(BETA) {
        return Err(Refusal::new("thinking.block_binding: Extra inputs are not permitted"));
    }
    if !binds(api, body) {
        return Ok(Vec::new());
    }
    let (list, mut hash) = start(api, body);
    let mut void = Vec::new();
    for (at, message) in items(body, list).iter().enumerate() {
        for (place, signature) in signatures(api, message) {
            if memory.bound.get(signature).is_some_and(|bound| *bound != hash) {
                void.push(place.map_or(format!("{list}.{at}"), |place| {
                    format!("{list}.{at}.content.{place}")
                }));
            }
        }
        hash = then(hash, message);
    }
    match void.first() {
        Some(first) if api == Api::Anthropic && behavior != "drop_block" => {
            Err(Refusal::new(format!(
                "{first}: Invalid `signature` in `thinking` block. The block is bound to a different \
                 conversation. Remove the block, or set \
                 `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
            )))
        }
        _ => Ok(void),
    }
}

/// What an answer says of what was dropped.
pub(crate) fn report(api: Api, dropped: &[String]) -> Value {
    let reason = if api == Api::Anthropic { "prefix_binding_mismatch" } else { "prefix_mismatch" };
    let one = |path: &String| json!({"type": "dropped", "path": path, "reason": reason});
    dropped.iter().map(one).collect()
}

fn binds(api: Api, body: &Value) -> bool {
    let model = text(body, "model");
    match api {
        Api::Anthropic => ANTHROPIC.iter().any(|name| model.contains(name)),
        Api::Responses => OPENAI.iter().any(|name| model.starts_with(name)),
        Api::Chat | Api::Ollama => false,
    }
}

/// The member that holds the messages, and what stands before the first of them.
fn start(api: Api, body: &Value) -> (&'static str, u128) {
    let (list, members): (_, &[&str]) = match api {
        Api::Responses => ("input", &["instructions", "tools", "text"]),
        _ => ("messages", &["system", "tools"]),
    };
    (list, members.iter().fold(0, |hash, member| then(hash, &body[*member])))
}

fn then(hash: u128, value: &Value) -> u128 {
    xxh3_128(format!("{hash:x} {}", canon::whole(&plain(value))).as_bytes())
}

/// A value without marks of the cache, its content as a list.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(plain).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "cache_control");
            let member = |(key, value): (&String, &Value)| {
                let block = value.as_str().filter(|_| key == "content");
                let listed = block.map(|text| json!([{"type": "text", "text": text}]));
                (key.clone(), listed.unwrap_or_else(|| plain(value)))
            };
            Value::Object(kept.map(member).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The signatures in a message, each with its place among the blocks.
fn signatures(api: Api, message: &Value) -> Vec<(Option<usize>, &str)> {
    if api == Api::Responses {
        let is_reasoning = text(message, "type") == "reasoning";
        let signature = is_reasoning.then(|| (None, text(message, "encrypted_content")));
        return signature.into_iter().collect();
    }
    let blocks = items(message, "content").iter().enumerate();
    let thinking = blocks.filter(|(_, block)| text(block, "type") == "thinking");
    thinking.map(|(place, block)| (Some(place), text(block, "signature"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: &str, content: Value) -> Value {
        json!({"role": role, "content": content})
    }

    fn body(model: &str, messages: &[Value]) -> Value {
        json!({"model": model, "system": "s", "tools": [], "messages": messages})
    }

    #[test]
    fn reasoning_is_void_behind_a_change() {
        let asked = body("claude-fable-5-2", &[said("user", json!("one"))]);
        let mut memory = Memory::default();
        memory.bound.insert("sig".to_owned(), of_whole(Api::Anthropic, &asked).unwrap());
        let reply = said(
            "assistant",
            json!([{"type": "thinking", "thinking": "", "signature": "sig"}, {"type": "text", "text": "a"}]),
        );
        let look = |first: Value, behavior: Option<&str>, beta: &str| {
            let mut body = body("claude-fable-5-2", &[said("user", first), reply.clone()]);
            if let Some(behavior) = behavior {
                body["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": behavior});
            }
            check(Api::Anthropic, &body, beta, &memory).map_err(|refusal| refusal.message)
        };
        let marked =
            json!([{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}]);
        assert_eq!(look(json!("one"), None, ""), Ok(Vec::new()));
        assert_eq!(look(marked, None, ""), Ok(Vec::new()));
        let refused = look(json!("two"), None, "").unwrap_err();
        assert!(refused.starts_with("messages.1.content.0: "), "{refused}");
        assert!(refused.contains("bound to a different conversation"), "{refused}");
        let dropped = look(json!("two"), Some("drop_block"), BETA).unwrap();
        assert_eq!(dropped, ["messages.1.content.0"]);
        assert!(look(json!("two"), Some("drop_block"), "").is_err());
        assert_eq!(of_whole(Api::Anthropic, &body("claude-opus-4-8", &[])), None);
    }

    #[test]
    fn openai_drops_without_a_word_of_refusal() {
        let body = |first: &str| {
            json!({"model": "gpt-6.2", "instructions": "s", "input": [said("user", json!(first)),
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sig"},
                said("assistant", json!("a"))]})
        };
        let mut asked = body("one");
        asked["input"].as_array_mut().unwrap().truncate(1);
        let mut memory = Memory::default();
        memory.bound.insert("sig".to_owned(), of_whole(Api::Responses, &asked).unwrap());
        assert_eq!(check(Api::Responses, &body("one"), "", &memory), Ok(Vec::new()));
        assert_eq!(
            check(Api::Responses, &body("two"), "", &memory),
            Ok(vec!["input.1".to_owned()])
        );
    }
}
