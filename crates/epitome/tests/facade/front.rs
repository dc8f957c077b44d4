//! Checkpoints at the front, said by the assistant where the provider takes that (RULES 11).

use std::sync::Arc;

use epitome::types::Role;
use epitome::types::hook::{Position, Render, Wording};
use epitome::{Answer, Format, Job, MemoryStore, NextPolicies, Session, validate};
use epitome_testkit::now;
use serde_json::{Value, json};

use crate::talk::with;

fn request(format: Format, turns: usize) -> Vec<u8> {
    let mut messages = Vec::new();
    if matches!(format, Format::OpenAi | Format::Ollama) {
        messages.push(json!({"role": "system", "content": "Be brief."}));
    }
    for turn in 0..turns {
        let words = format!("word{turn} ").repeat(20);
        messages.push(json!({"role": "user", "content": format!("Question {turn}: {words}")}));
        messages.push(json!({"role": "assistant", "content": format!("Answer {turn}: {words}")}));
    }
    messages.push(json!({"role": "user", "content": "Go on."}));
    let (key, system) = match format {
        Format::Responses => ("input", "instructions"),
        _ => ("messages", "system"),
    };
    let mut request = json!({ key: messages, "model": "m" });
    if matches!(format, Format::Anthropic | Format::Responses) {
        request[system] = "Be brief.".into();
    }
    request.to_string().into_bytes()
}

fn session(format: Format, journal: &Arc<MemoryStore>, role: Option<Role>) -> Session {
    let policy = move |job: &Job<'_>, _: &NextPolicies<'_>| {
        let Job::Render(job) = job else { return Ok(None) };
        let front = Render { place: Some(Position::Front), role, ..Render::default() };
        Ok((job.part == Wording::Checkpoint).then_some(Answer::Render(front)))
    };
    with(1000, policy).input_format(format).session(journal.clone(), Some("talk"))
}

/// Who says what stands behind the system prompt.
#[track_caller]
fn check(format: Format, role: Option<Role>, expected: &str) {
    let journal = Arc::new(MemoryStore::new());
    let mut live = session(format, &journal, role);
    live.request_compression();
    let prompt = now(live.prompt_for(&request(format, 16))).unwrap();
    validate(format, &prompt.bytes).unwrap();
    let body: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let messages = body.get("messages").or(body.get("input")).unwrap().as_array().unwrap();
    let at = messages.iter().position(|one| one["role"] != "system").unwrap();
    let first = &messages[at];
    let text = first["content"].to_string();
    // A client without tools gets no pointer to what left (RULES 16).
    assert!(text.contains("[Earlier conversation, shortened]\\n"), "{format} {text}");
    assert_eq!(first["role"], expected, "{format} {first}");

    // It stays so, however long the conversation grows.
    let longer = request(format, 17);
    let on = now(live.prompt_for(&longer)).unwrap();
    let again = now(session(format, &journal, role).prompt_for(&longer)).unwrap();
    assert_eq!(on.bytes, again.bytes, "{format}");
    let begin = String::from_utf8(prompt.bytes.to_vec()).unwrap();
    let begin = &begin[..begin.find("Go on.").unwrap() - 30];
    assert!(on.bytes.starts_with(begin.as_bytes()), "{format}");
    validate(format, &on.bytes).unwrap();
}

#[test]
fn the_assistant_says_it_where_the_provider_takes_that() {
    for format in Format::PROVIDERS {
        check(format, None, "user");
        let takes = format != Format::Anthropic;
        check(format, Some(Role::Assistant), if takes { "assistant" } else { "user" });
    }
}
