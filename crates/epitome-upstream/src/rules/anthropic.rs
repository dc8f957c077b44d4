//! What Anthropic's Messages API refuses.
//!
//! Invariant: the order of checks is that of the messages, so the first fault is the one named.
//! Called by `server` for prompts and for counts.

use std::collections::HashSet;

use serde_json::Value;

use super::{Memory, items, text};
use crate::refusal::Refusal;

/// The most markers in one request (RULES 109).
const MOST_MARKERS: usize = 4;

/// Checks a request.
pub(crate) fn check(body: &Value, memory: &Memory) -> Result<(), Refusal> {
    if text(body, "model").is_empty() {
        return Err(Refusal::new("model: Field required"));
    }
    let messages = items(body, "messages");
    let Some(first) = messages.first() else {
        return Err(Refusal::new("messages: at least one message is required"));
    };
    if text(first, "role") != "user" {
        return Err(Refusal::new("messages: first message must use the \"user\" role"));
    }
    for (at, message) in messages.iter().enumerate() {
        role(at, message)?;
        seat(messages, at)?;
        filled(at, message, at + 1 == messages.len())?;
        results(messages, at)?;
        calls(messages, at)?;
        server_calls(at, message)?;
    }
    thinking(body, messages, memory)?;
    markers(body)
}

fn blocks(message: &Value) -> &[Value] {
    items(message, "content")
}

fn of_type<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    blocks(message).iter().filter(move |block| text(block, "type") == kind)
}

fn role(at: usize, message: &Value) -> Result<(), Refusal> {
    match text(message, "role") {
        "user" | "assistant" | "system" => Ok(()),
        other => Err(Refusal::new(format!(
            "messages.{at}.role: Input should be 'user' or 'assistant', found '{other}'"
        ))),
    }
}

/// System messages stand between what the model is told and what it says to that: behind the user,
/// or behind what a server's tool brought, and before the assistant or at the end. Those in a row
/// count as one.
fn seat(messages: &[Value], at: usize) -> Result<(), Refusal> {
    let is_system = |message: &&Value| text(message, "role") == "system";
    if !is_system(&&messages[at]) {
        return Ok(());
    }
    let fault = |what: &str| {
        Err(Refusal::new(format!(
            "messages.{at}: role 'system' must {what}; the directive-only form (content: [] with \
             output_config) is accepted at any position"
        )))
    };
    let before = messages[..at].iter().rev().find(|message| !is_system(message));
    let follows = before.is_some_and(|before| {
        let last = blocks(before).last().map_or("", |block| text(block, "type"));
        let served = last.ends_with("_tool_result");
        text(before, "role") == "user" || served
    });
    match messages.get(at + 1).map(|next| text(next, "role")) {
        _ if !follows => fault(
            "follow a 'user' message or an 'assistant' message ending in a server tool result",
        ),
        None | Some("assistant" | "system") => Ok(()),
        Some(_) => fault("precede an 'assistant' message or end the array"),
    }
}

/// No empty message and no empty text; the last word of an assistant may be missing.
fn filled(at: usize, message: &Value, last: bool) -> Result<(), Refusal> {
    let empty = match &message["content"] {
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        _ => return Err(Refusal::new(format!("messages.{at}.content: Field required"))),
    };
    if empty && !(last && text(message, "role") == "assistant") {
        return Err(Refusal::new(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final \
             assistant message"
        )));
    }
    let nested = of_type(message, "tool_result").flat_map(blocks);
    for block in blocks(message).iter().chain(nested) {
        if text(block, "type") == "text" && text(block, "text").is_empty() {
            return Err(Refusal::new("messages: text content blocks must be non-empty"));
        }
        if text(block, "type") == "text" && text(block, "text").trim().is_empty() {
            let what = "messages: text content blocks must contain non-whitespace text";
            return Err(Refusal::new(what));
        }
    }
    Ok(())
}

/// Each result answers a call of the message directly before, once, and stands before any other
/// block (RULES 101 and 102).
fn results(messages: &[Value], at: usize) -> Result<(), Refusal> {
    let before = at.checked_sub(1).map(|before| &messages[before]);
    let called: HashSet<&str> = before
        .filter(|message| text(message, "role") == "assistant")
        .into_iter()
        .flat_map(|message| of_type(message, "tool_use"))
        .map(|call| text(call, "id"))
        .collect();
    let (mut seen, mut other) = (HashSet::new(), false);
    for (block_at, block) in blocks(&messages[at]).iter().enumerate() {
        if text(block, "type") != "tool_result" {
            other = true;
            continue;
        }
        let id = text(block, "tool_use_id");
        let place = format!("messages.{at}.content.{block_at}");
        if text(&messages[at], "role") != "user" || !called.contains(id) {
            return Err(Refusal::new(format!(
                "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous \
                 message."
            )));
        }
        if !seen.insert(id) {
            return Err(Refusal::new(format!(
                "{place}: each tool_use must have a single result. Found multiple `tool_result` \
                 blocks with id: {id}"
            )));
        }
        if other {
            return Err(unanswered(at - 1, &[id]));
        }
    }
    Ok(())
}

/// Each call has its result in the next message (RULES 101 and 102), and an id of its own.
fn calls(messages: &[Value], at: usize) -> Result<(), Refusal> {
    let next = messages.get(at + 1);
    let answered: HashSet<&str> = next
        .into_iter()
        .flat_map(|message| of_type(message, "tool_result"))
        .map(|result| text(result, "tool_use_id"))
        .collect();
    let called: Vec<&str> =
        of_type(&messages[at], "tool_use").map(|call| text(call, "id")).collect();
    if called.iter().collect::<HashSet<_>>().len() < called.len() {
        return Err(Refusal::new(format!("messages.{at}.content: `tool_use` ids must be unique")));
    }
    let open: Vec<&str> = called.into_iter().filter(|id| !answered.contains(id)).collect();
    if open.is_empty() { Ok(()) } else { Err(unanswered(at, &open)) }
}

fn unanswered(at: usize, ids: &[&str]) -> Refusal {
    Refusal::new(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {}. Each `tool_use` block must have a corresponding `tool_result` block in the next \
         message.",
        ids.join(", ")
    ))
}

/// What the provider's own tools did stays together in one message (RULES 103).
fn server_calls(at: usize, message: &Value) -> Result<(), Refusal> {
    let is_result = |block: &&Value| {
        let kind = text(block, "type");
        kind.ends_with("_tool_result") && !text(block, "tool_use_id").is_empty()
    };
    let called: HashSet<&str> =
        of_type(message, "server_tool_use").map(|call| text(call, "id")).collect();
    let answered: HashSet<&str> =
        blocks(message).iter().filter(is_result).map(|it| text(it, "tool_use_id")).collect();
    if called == answered {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "messages.{at}: `server_tool_use` blocks and their result blocks must stand together; \
         without a partner: {:?}",
        called.symmetric_difference(&answered).collect::<Vec<_>>()
    )))
}

/// What was thought comes back as it was signed, and the latest with its calls (RULES 107).
fn thinking(body: &Value, messages: &[Value], memory: &Memory) -> Result<(), Refusal> {
    for (at, message) in messages.iter().enumerate() {
        for (block_at, block) in blocks(message).iter().enumerate() {
            let known = memory.thoughts.get(text(block, "signature"));
            if text(block, "type") == "thinking"
                && known.is_some_and(|known| known != text(block, "thinking"))
            {
                return Err(Refusal::new(format!(
                    "messages.{at}.content.{block_at}: Invalid `signature` in `thinking` block"
                )));
            }
        }
    }
    let latest = messages.iter().rposition(|message| text(message, "role") == "assistant");
    let mode = text(&body["thinking"], "type");
    let on = matches!(mode, "enabled" | "adaptive");
    let Some((at, message)) = latest.filter(|_| on).map(|at| (at, &messages[at])) else {
        return Ok(());
    };
    // Where a model thinks as it sees fit, no reply has to begin with reasoning; one that does has
    // all of its own.
    let thinks = blocks(message).iter().any(|block| text(block, "type").ends_with("thinking"));
    if mode == "adaptive" && !thinks {
        return Ok(());
    }
    let call = of_type(message, "tool_use").find_map(|call| memory.partners.get(text(call, "id")));
    let Some(signature) = call else { return Ok(()) };
    let first = blocks(message).first().map_or("", |block| text(block, "type"));
    if !["thinking", "redacted_thinking"].contains(&first) {
        return Err(Refusal::new(format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
             `{first}`. When `thinking` is enabled, a final `assistant` message must start with a \
             thinking block (preceding the last set of `tool_use` and `tool_result` blocks)."
        )));
    }
    if of_type(message, "thinking").all(|block| text(block, "signature") != signature) {
        return Err(Refusal::new(format!(
            "messages.{at}.content.0: `thinking` or `redacted_thinking` blocks in the latest \
             assistant message cannot be modified. These blocks must remain as they were in the \
             original response."
        )));
    }
    Ok(())
}

/// At most four, the longer life first, none in what was thought (RULES 108, 109, 110).
fn markers(body: &Value) -> Result<(), Refusal> {
    // Where each stands, and whether it lives for an hour.
    let mut found: Vec<(String, bool)> = Vec::new();
    let mut look = |place: String, block: &Value| -> Result<(), Refusal> {
        if block["cache_control"].is_null() {
            return Ok(());
        }
        if ["thinking", "redacted_thinking"].contains(&text(block, "type")) {
            return Err(Refusal::new(format!(
                "{place}.{}.cache_control: Extra inputs are not permitted",
                text(block, "type")
            )));
        }
        found.push((place, text(&block["cache_control"], "ttl") == "1h"));
        Ok(())
    };
    for (at, tool) in items(body, "tools").iter().enumerate() {
        look(format!("tools.{at}"), tool)?;
    }
    for (at, block) in items(body, "system").iter().enumerate() {
        look(format!("system.{at}"), block)?;
    }
    for (at, message) in items(body, "messages").iter().enumerate() {
        for (block_at, block) in blocks(message).iter().enumerate() {
            let place = format!("messages.{at}.content.{block_at}");
            for (inner_at, inner) in blocks(block).iter().enumerate() {
                look(format!("{place}.content.{inner_at}"), inner)?;
            }
            look(place, block)?;
        }
    }
    look(String::new(), body)?;
    if found.len() > MOST_MARKERS {
        return Err(Refusal::new(format!(
            "A maximum of {MOST_MARKERS} blocks with cache_control may be provided. Found {}.",
            found.len()
        )));
    }
    let mut from_short = found.iter().skip_while(|(_, long)| *long);
    match from_short.find(|(_, long)| *long) {
        None => Ok(()),
        Some((place, _)) => Err(Refusal::new(format!(
            "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a \
             ttl='5m' cache_control block. Note that blocks are processed in the following order: \
             `tools`, `system`, `messages`."
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(ids: &[&str]) -> Value {
        let calls =
            ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "t", "input": {}}));
        json!({"role": "assistant", "content": calls.collect::<Vec<_>>()})
    }

    fn answer(ids: &[&str]) -> Value {
        let results =
            ids.iter().map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "r"}));
        json!({"role": "user", "content": results.collect::<Vec<_>>()})
    }

    fn said(role: &str, text: &str) -> Value {
        json!({"role": role, "content": text})
    }

    fn body(messages: &[Value]) -> Value {
        json!({"model": "m", "max_tokens": 9, "messages": messages})
    }

    #[track_caller]
    fn refused(body: &Value, memory: &Memory, expected: &str) {
        match check(body, memory) {
            Ok(()) => assert_eq!(expected, "", "was not refused"),
            Err(refusal) => {
                assert!(!expected.is_empty(), "refused: {}", refusal.message);
                assert!(refusal.message.contains(expected), "{}", refusal.message);
            }
        }
    }

    #[track_caller]
    fn messages(messages: &[Value], expected: &str) {
        refused(&body(messages), &Memory::default(), expected);
    }

    #[test]
    fn calls_and_results_stay_together() {
        let ask = said("user", "go");
        messages(&[ask.clone(), call(&["a", "b"]), answer(&["b", "a"])], "");
        messages(&[ask.clone(), call(&["a"]), answer(&["a"]), said("system", "s")], "");
        messages(&[ask.clone(), call(&["a"])], "without `tool_result` blocks immediately after: a");
        messages(&[ask.clone(), answer(&["a"])], "messages.1.content.0: unexpected `tool_use_id`");
        let split = [ask.clone(), call(&["a", "b"]), answer(&["a"]), answer(&["b"])];
        messages(&split, "messages.1: `tool_use` ids were found without");
        messages(&[ask.clone(), call(&["a"]), answer(&["a", "a"])], "a single result");
        messages(&[ask.clone(), call(&["a", "a"]), answer(&["a"])], "must be unique");
        let mut late = answer(&["a"]);
        late["content"].as_array_mut().unwrap().insert(0, json!({"type": "text", "text": "x"}));
        messages(&[ask.clone(), call(&["a"]), late], "immediately after");
        let server = json!({"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "s"}, {"type": "web_search_tool_result", "tool_use_id": "s"}]});
        messages(&[ask.clone(), server.clone()], "");
        let mut lone = server;
        lone["content"].as_array_mut().unwrap().pop();
        messages(&[ask, lone], "must stand together");
    }

    #[test]
    fn system_messages_stand_between_user_and_assistant() {
        let check = |roles: &str, expected: &str| {
            let role = |word| match word {
                'u' => "user",
                'a' => "assistant",
                _ => "system",
            };
            messages(&roles.chars().map(|it| said(role(it), "x")).collect::<Vec<_>>(), expected);
        };
        check("us", "");
        check("ussausau", "");
        check("uas", "messages.2: role 'system' must follow a 'user' message");
        check("uasa", "messages.2: role 'system' must follow a 'user' message");
        check("uss", "");
        check("ussu", "messages.2: role 'system' must precede an 'assistant' message");
        let result = json!({"type": "web_search_tool_result", "tool_use_id": "s"});
        let call = json!({"type": "server_tool_use", "id": "s"});
        let served = json!({"role": "assistant", "content": [call, result]});
        messages(&[said("user", "x"), served, said("system", "x")], "");
    }

    #[test]
    fn roles_and_texts_are_looked_at() {
        messages(&[], "at least one message");
        messages(&[said("assistant", "hi")], "first message must use the \"user\" role");
        messages(&[said("user", "")], "messages.0: all messages must have non-empty content");
        messages(&[said("user", "a"), said("tool", "b")], "messages.1.role");
        let empty =
            |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
        messages(&[empty("")], "must be non-empty");
        messages(&[empty(" \n")], "non-whitespace");
        refused(&json!({"messages": []}), &Memory::default(), "model: Field required");
    }

    #[test]
    fn thoughts_come_back_as_they_were() {
        let mut memory = Memory::default();
        memory.thoughts.insert("sig".to_owned(), "hm".to_owned());
        memory.partners.insert("a".to_owned(), "sig".to_owned());
        let with = |thought: Option<Value>| {
            let mut called = call(&["a"]);
            if let Some(thought) = thought {
                called["content"].as_array_mut().unwrap().insert(0, thought);
            }
            let mut body = body(&[said("user", "go"), called, answer(&["a"])]);
            body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
            body
        };
        let thought = |text: &str, signature: &str| {
            Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
        };
        refused(&with(thought("hm", "sig")), &memory, "");
        refused(&with(thought("hm!", "sig")), &memory, "Invalid `signature`");
        refused(&with(thought("hm", "other")), &memory, "cannot be modified");
        refused(&with(None), &memory, "Expected `thinking`");
        for mode in ["disabled", "adaptive"] {
            let mut body = with(None);
            body["thinking"] = json!({"type": mode});
            refused(&body, &memory, "");
        }
        let mut parted = with(thought("hm", "other"));
        parted["thinking"] = json!({"type": "adaptive"});
        refused(&parted, &memory, "cannot be modified");
    }

    #[test]
    fn markers_are_few_and_in_order() {
        let marker = |ttl: &str| json!({"type": "ephemeral", "ttl": ttl});
        let with = |lives: &[&str]| {
            let block =
                |life: &&str| json!({"type": "text", "text": "x", "cache_control": marker(life)});
            let blocks: Vec<_> = lives.iter().map(block).collect();
            body(&[json!({"role": "user", "content": blocks})])
        };
        refused(&with(&["1h", "1h", "5m", "5m"]), &Memory::default(), "");
        refused(&with(&["5m"; 5]), &Memory::default(), "Found 5.");
        refused(&with(&["5m", "1h"]), &Memory::default(), "messages.0.content.1.cache_control.ttl");
        let mut at_top = with(&["5m"; 4]);
        at_top["cache_control"] = marker("5m");
        refused(&at_top, &Memory::default(), "Found 5.");
        let thought = json!({"type": "thinking", "thinking": "t", "signature": "s",
            "cache_control": marker("5m")});
        let message = json!({"role": "assistant", "content": [thought]});
        let body = body(&[said("user", "go"), message]);
        refused(&body, &Memory::default(), "content.0.thinking.cache_control: Extra inputs");
    }
}
