//! A conversation under `staged` that is given message by message: its system prompt is put
//! together of parts (RULES 33), and what its mode is about stands word for word (RULES 29).

use std::sync::Arc;

use epitome::types::EventKind;
use epitome::{Compressor, MemoryStore, Profile, Prompt, Session, WindowSetting, validate};
use epitome_testkit::{FixedCounter, now};
use serde_json::{Value, json};

const AT: &str = "2026-01-02T03:04:05Z";

/// What a message takes beside its words.
const MESSAGE: u64 = 4;

/// A conversation of a host that says this in a system prompt of its own.
fn session(journal: &Arc<MemoryStore>, size: u64, mode: &str, own: &str) -> Session {
    let mut session = Compressor::builder()
        .profile(Profile::shipped("staged").unwrap())
        .counter(FixedCounter::Words)
        .window(WindowSetting::Size(size))
        .mode(mode)
        .clock(|| AT.to_owned())
        .session(journal.clone(), Some("talk"));
    let tool = json!({"name": "run_tests", "input_schema": {"type": "object"}});
    let begin = json!({"model": "llama3:70b", "max_tokens": 99, "system": own, "tools": [tool],
        "messages": []});
    session.begin(begin.to_string().as_bytes()).unwrap();
    session
}

fn say(session: &mut Session, role: &str, text: &str) {
    session.push(json!({ "role": role, "content": text }).to_string().as_bytes()).unwrap();
}

/// The prompt, its system prompt, and all that its messages say.
fn sent(session: &mut Session) -> (Prompt, String, String) {
    let prompt = now(session.prompt()).unwrap();
    assert_eq!(validate(epitome::Format::Anthropic, &prompt.bytes), Ok(()));
    let body: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let said = body["messages"].as_array().unwrap().iter();
    let said: Vec<_> = said.map(|message| message["content"].to_string()).collect();
    let system = body["system"].as_str().unwrap().to_owned();
    (prompt, system, said.join("\n"))
}

/// The places of these words in a text, which has each of them.
fn places(text: &str, words: &[&str]) -> Vec<usize> {
    let place = |word: &&str| text.find(word).unwrap_or_else(|| panic!("no `{word}` in {text}"));
    words.iter().map(place).collect()
}

fn warnings(prompt: &Prompt) -> Vec<String> {
    let warning = |what: &EventKind| match what {
        EventKind::PolicyWarning { text, .. } => Some(text.clone()),
        _ => None,
    };
    prompt.events.iter().filter_map(|event| warning(&event.what)).collect()
}

#[test]
fn a_chat_has_a_system_prompt_of_parts() {
    let journal = Arc::new(MemoryStore::new());
    let open = || session(&journal, 8192, "debugger", "Answer in English.");
    let mut chat = open();
    say(&mut chat, "user", "The parser fails on empty input. Mend it.");
    let (prompt, system, _) = sent(&mut chat);
    let parts =
        ["look for a fault", "[GOAL] what", "look again", "run_tests", "Answer in English."];
    assert!(places(&system, &parts).is_sorted(), "{system}");
    assert!(system.ends_with("Answer in English."), "{system}");
    assert_eq!(warnings(&prompt), [""; 0]);
    assert_eq!(prompt.by[1].system, MESSAGE + system.split_whitespace().count() as u64);

    // What is said of the goal changes it with the next compression.
    say(&mut chat, "assistant", "[GOAL] Mend the parser\n[DECISION] Keep the lexer - LOCKED");
    say(&mut chat, "user", "Yes.");
    say(&mut chat, "assistant", "I ran them.\nerror: unexpected end of input in src/parser.rs:12");
    say(&mut chat, "user", "And?");
    say(&mut chat, "assistant", &"word ".repeat(1500));
    for turn in 0..5 {
        say(&mut chat, ["user", "assistant"][turn % 2], &format!("And so on, turn {turn}."));
    }
    let (prompt, same, _) = sent(&mut chat);
    assert_eq!((same, prompt.epoch), (system.clone(), None));
    chat.request_compression();
    let (prompt, anew, said) = sent(&mut chat);
    assert!(prompt.epoch.is_some(), "{:?}", prompt.events);
    let parts = ["look for a fault", "Mend the parser", "Keep the lexer", "[GOAL] what"];
    assert!(places(&anew, &parts).is_sorted(), "{anew}");
    // The error stays word for word where no model writes.
    assert!(said.contains("error: unexpected end of input in src/parser.rs:12"), "{said}");
    assert!(!said.contains(&"word ".repeat(1500)));
    // Another process sends the same.
    assert_eq!(sent(&mut open()).0.bytes, prompt.bytes);
}

/// RULES 25, 33: 200 tokens in class 1; a warning names the part beyond that.
#[test]
fn a_part_beyond_the_budget_of_the_class_is_named() {
    for (size, words, is_named) in [(4096, 30, false), (4096, 190, true), (8192, 190, false)] {
        let own = "so ".repeat(words);
        let journal = Arc::new(MemoryStore::new());
        let mut chat = session(&journal, size, "assistant", own.trim());
        say(&mut chat, "user", "Hello.");
        let (prompt, _, _) = sent(&mut chat);
        let told = warnings(&prompt);
        assert_eq!(told.len(), usize::from(is_named), "{size} {words}: {told:?}");
        assert!(
            told.iter().all(|text| text.contains(" of 200; the part `instructions`")),
            "{told:?}"
        );
        assert_eq!(warnings(&sent(&mut chat).0), [""; 0]);
    }
}
