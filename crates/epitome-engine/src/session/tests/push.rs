//! A history that is pushed message by message comes to the same as one that is sent whole.

use epitome_kernel::{HookResult, NextPolicies, Policy};
use epitome_types::EntryId;
use epitome_types::hook::{Observe, ObserveJob, ToolResultAnswer, ToolResultJob, Way};
use serde_json::json;

use super::*;
use crate::error::Error;

const ENVELOPE: &[u8] = br#"{"messages":[]}"#;

/// Begins a request that offers a tool: a client that sends has a way back only by tools.
const OFFER: &str = r#"{"tools":[{"type":"function","function":{"name":"read"}}],"#;

fn pushed(journal: &Arc<MemoryStore>, limit: u64) -> Session {
    let mut live = session(journal, limit, Some("a"));
    live.begin(ENVELOPE).unwrap();
    live
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn pushing_comes_to_the_same_as_sending(
        steps in steps(24), limit in 250u64..500, restarts in vec(any::<bool>(), 24),
    ) {
        let (there, here) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
        let offering = |request: &[u8]| [OFFER.as_bytes(), &request[1..]].concat();
        let begun = || {
            let mut live = session(&here, limit, Some("a"));
            live.begin(&offering(ENVELOPE)).unwrap();
            live
        };
        let (mut whole, mut single) = (session(&there, limit, Some("a")), begun());
        let messages = history(&steps);
        let mut from = 0;
        for (end, restart) in requests(&messages).into_iter().zip(restarts.iter().cycle()) {
            for message in &messages[from..end] {
                single.push(message.as_bytes()).unwrap();
            }
            // What was pushed is there, whatever becomes of this process.
            prop_assert!(recorded(&here, "a", &messages[..end]));
            if *restart {
                single = begun();
            }
            let sent = offering(&body(&messages[..end]));
            let Ok(expected) = now(whole.prompt_for(&sent)) else { break };
            let prompt = now(single.prompt()).unwrap();
            prop_assert!(prompt.bytes == expected.bytes);
            prop_assert_eq!(prompt.tokens, expected.tokens);
            prop_assert_eq!(now(single.prompt()).unwrap().bytes, expected.bytes);
            from = end;
        }
        let info = |journal: &MemoryStore| journal.session("local/default", "a").unwrap();
        prop_assert_eq!(info(&here).head, info(&there).head);
    }
}

/// Masks each tool result that it is asked about, and writes down what it is shown.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Vec<String>>>);

impl Policy for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }

    fn tool_result(
        &self,
        job: &ToolResultJob<'_>,
        _: &NextPolicies<'_>,
    ) -> HookResult<ToolResultAnswer> {
        self.0.lock().unwrap().push(format!("arrive {}", job.entry.id.0));
        Ok(Some(ToolResultAnswer {
            how: Way::Mask,
            text: Some("gone".to_owned()),
            max_tokens: None,
        }))
    }

    fn observe(&self, job: &ObserveJob<'_>, _: &NextPolicies<'_>) -> HookResult<Observe> {
        self.0.lock().unwrap().push(format!("observe {}", job.entry.id.0));
        Ok(None)
    }
}

#[test]
fn what_was_pushed_is_new_until_a_prompt_holds_it() {
    let journal = Arc::new(MemoryStore::new());
    let watcher = Watcher::default();
    let open = || {
        let builder = Compressor::builder().counter(FixedCounter::Words).policy(watcher.clone());
        let mut live =
            builder.window(WindowSetting::Limit(5000)).session(journal.clone(), Some("a"));
        live.begin(ENVELOPE).unwrap();
        live
    };
    let told = || std::mem::take(&mut *watcher.0.lock().unwrap());
    let messages = history(&[Step::Tool("one ".repeat(300)), Step::Tool("two ".repeat(300))]);
    let mut live = open();
    for message in &messages[..4] {
        live.push(message.as_bytes()).unwrap();
    }
    let prompt = now(live.prompt()).unwrap();
    assert_eq!(told(), ["arrive 4", "observe 1", "observe 2", "observe 3", "observe 4"]);
    assert!(String::from_utf8_lossy(&prompt.bytes).contains("gone"));
    now(live.prompt()).unwrap();
    assert_eq!(told(), [""; 0]);
    // A new process does not know whether the last request was made, and what is decided stays.
    let mut live = open();
    assert_eq!(now(live.prompt()).unwrap().bytes, prompt.bytes);
    assert_eq!(told(), ["observe 4"]);
    for message in &messages[4..] {
        live.push(message.as_bytes()).unwrap();
    }
    let prompt = now(live.prompt()).unwrap();
    assert_eq!(told(), ["arrive 6", "observe 5", "observe 6"]);
    assert!(!String::from_utf8_lossy(&prompt.bytes).contains("two"));
}

#[test]
fn what_is_redacted_is_known_again() {
    let journal = Arc::new(MemoryStore::new());
    let open = || {
        let mut profile = Profile::shipped("default").unwrap();
        profile.redaction =
            epitome_config::RedactionPatterns::new(&["sk-[a-z0-9]+".to_owned()]).unwrap();
        let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
        let mut live =
            builder.window(WindowSetting::Limit(300)).session(journal.clone(), Some("a"));
        live.begin(ENVELOPE).unwrap();
        live
    };
    let mut live = open();
    let mut messages = history(&[]);
    messages[1] = messages[1].replace("Mend", "Use sk-77 and mend");
    messages.push(r#"{"role":"assistant","content":"Which one?"}"#.to_owned());
    messages.push(r#"{"role":"user","content":"The first."}"#.to_owned());
    for message in &messages {
        live.push(message.as_bytes()).unwrap();
    }
    let said = |prompt: &Prompt| String::from_utf8_lossy(&prompt.bytes).into_owned();
    assert!(said(&now(live.prompt()).unwrap()).contains("sk-77"));
    let mut live = open();
    let prompt = now(live.prompt()).unwrap();
    assert!(said(&prompt).contains("Use [redacted] and mend"));
    // It is the same history: nothing branched, and nothing was recorded twice.
    assert!(prompt.events.is_empty(), "{:?}", prompt.events);
    live.push(br#"{"role":"assistant","content":"Done."}"#).unwrap();
    assert_eq!(live.info().unwrap().figures.messages, 5);
    assert_eq!(journal.verify(false).unwrap(), []);
}

#[test]
fn what_was_erased_is_a_tombstone_where_the_session_goes_on() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = pushed(&journal, 5000);
    for message in history(&[Step::Say("secret".to_owned())]) {
        live.push(message.as_bytes()).unwrap();
    }
    let head = live.info().unwrap().head;
    let scope = epitome_config::scope::scope("default");
    let key = journal.history(&scope, "a", head, 3, 1).unwrap()[0].key;
    journal.erase(&scope, key).unwrap();
    let mut live = pushed(&journal, 5000);
    let prompt = now(live.prompt()).unwrap();
    let request: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
    assert_eq!(request["messages"][3], serde_json::json!({"role": "user", "content": "[erased]"}));
    assert_eq!(live.info().unwrap().head, head);
}

#[track_caller]
fn check_refused(live: &mut Session, message: &str, expected: &str) {
    let before = live.info().ok();
    let error = live.push(message.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(live.info().ok(), before);
}

#[test]
fn what_is_no_message_is_refused_and_not_recorded() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = session(&journal, 500, Some("a"));
    assert!(matches!(now(live.prompt()), Err(Error::NothingSaid)));
    check_refused(&mut live, "hello", "byte 0: expected a value");
    check_refused(&mut live, "{\"role\":\"user\"", "byte 14: expected `,` or `}`");
    check_refused(
        &mut live,
        r#"{"role":"narrator","content":"x"}"#,
        "byte 8: expected `system`, `developer`, `user`, `assistant`, `tool` or `function` in \
         `role`, found \"narrator\"",
    );
    let result = |call: &str| {
        serde_json::json!({"role": "tool", "tool_call_id": call, "content": "x"}).to_string()
    };
    let stray = "the result answers the call `c1`, which is not open; no call waits for a result";
    check_refused(&mut live, &result("c1"), stray);
    for message in &history(&[Step::Tools(vec!["x".to_owned(), "y".to_owned()])])[..3] {
        live.push(message.as_bytes()).unwrap();
    }
    let stray = "the result answers the call `c1`, which is not open; waiting are c0-0, c0-1";
    check_refused(&mut live, &result("c1"), stray);
    live.push(result("c0-1").as_bytes()).unwrap();
    // No call is answered twice, not even by another process.
    let stray = "the result answers the call `c0-1`, which is not open; waiting are c0-0";
    check_refused(&mut live, &result("c0-1"), stray);
    check_refused(&mut session(&journal, 500, Some("a")), &result("c0-1"), stray);
}

#[test]
fn a_whole_history_and_single_messages_are_not_mixed_up() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = session(&journal, 500, Some("a"));
    let messages = history(&[Step::Say("Yes.".to_owned())]);
    now(live.prompt_for(&body(&messages[..2]))).unwrap();
    check_refused(
        &mut live,
        &messages[2],
        "the session is sent its whole history; give that to `begin` before you push messages, or \
         send it again with the message in it",
    );
    // What was sent goes on once it is begun with.
    live.begin(ENVELOPE).unwrap();
    live.push(messages[2].as_bytes()).unwrap();
    live.push(messages[3].as_bytes()).unwrap();
    assert!(recorded(&journal, "a", &messages));
    assert_eq!(now(live.prompt()).unwrap().bytes, body(&messages));
    // Another format is another conversation.
    let builder = || Compressor::builder().counter(FixedCounter::Words);
    let mut other = builder().input_format(Format::Anthropic).session(journal.clone(), Some("a"));
    let error = other.push(messages[3].as_bytes()).unwrap_err();
    let expected = "the conversation so far is in the format openai; it cannot go on in anthropic";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_envelope_brings_what_is_no_message() {
    let journal = Arc::new(MemoryStore::new());
    let envelope = |system: &str| {
        serde_json::json!({"model": "claude-opus-4", "max_tokens": 9, "system": system, "messages": []})
            .to_string()
            .into_bytes()
    };
    let open = || {
        let mut profile = Profile::default();
        profile.options.goals.teach = false;
        let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
        builder.input_format(Format::Anthropic).session(journal.clone(), Some("a"))
    };
    let mut live = open();
    live.begin(&envelope("Be brief.")).unwrap();
    live.push(br#"{"role":"user","content":"Hello"}"#).unwrap();
    let prompt = now(live.prompt()).unwrap();
    let request: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
    assert_eq!((&request["system"], &request["max_tokens"]), (&"Be brief.".into(), &9.into()));
    let info = live.info().unwrap();
    assert_eq!((info.figures.messages, info.model.as_deref()), (2, Some("claude-opus-4")));
    // Without one the session goes on with what the journal has.
    let prompt = now(open().prompt()).unwrap();
    let request: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
    assert_eq!(
        (&request["system"], &request["model"]),
        (&"Be brief.".into(), &"claude-opus-4".into())
    );
    // Another system prompt makes another history; the messages go on in it.
    let mut live = open();
    live.begin(&envelope("Be long.")).unwrap();
    live.push(br#"{"role":"assistant","content":"Hi"}"#).unwrap();
    let other = live.info().unwrap();
    assert_eq!((other.figures.messages, other.head == info.head), (3, false));
    let chains = [info.head];
    assert!(
        journal
            .find_deepest(&epitome_config::scope::scope("default"), "a", &chains)
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_request_with_messages_is_the_history_so_far() {
    let journal = Arc::new(MemoryStore::new());
    let messages = history(&[Step::Say("Yes.".to_owned())]);
    let mut live = session(&journal, 500, Some("a"));
    live.begin(&body(&messages[..3])).unwrap();
    assert!(recorded(&journal, "a", &messages[..3]));
    live.push(messages[3].as_bytes()).unwrap();
    assert_eq!(now(live.prompt()).unwrap().bytes, body(&messages));
    // Its beginning again is a rewind.
    live.begin(&body(&messages[..2])).unwrap();
    assert!(recorded(&journal, "a", &messages[..2]));
    assert_eq!(now(live.prompt()).unwrap().bytes, body(&messages[..2]));
}

#[test]
fn conversations_without_a_name_share_none() {
    let journal = Arc::new(MemoryStore::new());
    let open = || session(&journal, 500, None);
    let (mut one, mut other) = (open(), open());
    let hello = history(&[]);
    for message in &hello {
        one.push(message.as_bytes()).unwrap();
        other.push(message.as_bytes()).unwrap();
    }
    one.push(br#"{"role":"assistant","content":"One."}"#).unwrap();
    let prompts = [now(one.prompt()).unwrap(), now(other.prompt()).unwrap()];
    assert_ne!(prompts[0].session, prompts[1].session);
    assert_eq!(
        [one.info().unwrap().figures.messages, other.info().unwrap().figures.messages],
        [3, 2]
    );
    assert_eq!(other.name(), Some(&*prompts[1].session));
}

#[test]
fn listeners_are_told_what_a_prompt_brings() {
    let journal = Arc::new(MemoryStore::new());
    let heard: Arc<Mutex<Vec<Event>>> = Arc::default();
    let (first, second) = (heard.clone(), heard.clone());
    let builder =
        Compressor::builder().counter(FixedCounter::Words).window(WindowSetting::Limit(300));
    let builder = builder.on_event(move |event| first.lock().unwrap().push(event.clone()));
    let builder = builder.on_event(move |event| second.lock().unwrap().push(event.clone()));
    let mut live = builder.session(journal, Some("a"));
    for message in history(&[Step::Tool("word ".repeat(400)), Step::Say("Go on.".to_owned())]) {
        live.push(message.as_bytes()).unwrap();
    }
    assert!(heard.lock().unwrap().is_empty());
    let prompt = now(live.prompt()).unwrap();
    assert!(!prompt.events.is_empty());
    let twice: Vec<_> =
        prompt.events.iter().flat_map(|event| [event.clone(), event.clone()]).collect();
    assert_eq!(*heard.lock().unwrap(), twice);
}

/// Keeps the lines of a log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "epitome::events"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            line += &format!(" {field}={value:?}");
        });
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn every_event_is_a_line_of_the_log() {
    let log = Log::default();
    // Where there is but one subscriber, whichever thread comes first to an event decides for all
    // whether anybody listens.
    let _other = tracing::Dispatch::new(log.clone());
    let prompt = tracing::subscriber::with_default(log.clone(), || {
        let mut live = session(&Arc::new(MemoryStore::new()), 300, Some("a"));
        for message in history(&[Step::Say("word ".repeat(105))]) {
            live.push(message.as_bytes()).unwrap();
        }
        now(live.prompt()).unwrap()
    });
    let lines = log.0.lock().unwrap();
    assert_eq!(lines.len(), prompt.events.len(), "{lines:?}");
    let warning = lines.iter().find(|line| line.starts_with("WARN"));
    let warning = warning.unwrap_or_else(|| panic!("{lines:?} {:?}", prompt.tokens));
    assert!(warning.contains("{\"event\":\"context-warning\",\"percent\":"), "{warning}");
    assert!(warning.contains("session=\"a\""), "{warning}");
}

/// What is done between two prompts stands at the end of the second, behind the results that the
/// model waits for, and in no earlier place; whoever goes on later is told what was done meanwhile.
#[test]
fn what_is_done_is_noted_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| {
        let files = epitome_workspace::WorkspaceFolder::new(folder.path());
        epitome_kernel::Workspace::export(
            &files,
            ".epitome/augments/tests/first.md",
            text.as_bytes(),
        )
        .unwrap();
    };
    write("Write the test first.");
    let time = Arc::new(std::sync::Mutex::new(0));
    let journal = Arc::new(MemoryStore::new());
    let open = || {
        let folders = epitome_workspace::augments::AugmentFolders::new(Some(folder.path()), None);
        let builder = Compressor::builder().counter(FixedCounter::Words).augments(folders);
        let time = time.clone();
        let clock = move || {
            *time.lock().unwrap() += 1;
            format!("2026-01-02T03:04:{:02}Z", time.lock().unwrap())
        };
        let mut session = builder.clock(clock).session(journal.clone(), Some("a"));
        session.begin(ENVELOPE).unwrap();
        session
    };
    let goal = |text: &str| {
        let (text, priority) = (text.to_owned(), epitome_types::Priority::Medium);
        epitome_types::GoalChange::Set { text, priority }.into()
    };
    let text = |prompt: &Prompt| String::from_utf8(prompt.bytes.to_vec()).unwrap();
    let mut live = open();
    assert!(matches!(live.pin(EntryId(0), true), Err(crate::error::Error::NothingSaid)));
    live.push(br#"{"role":"user","content":"Mend the parser."}"#).unwrap();
    let first = now(live.prompt()).unwrap();
    assert_eq!(live.change_goals(goal("Mend it.")).unwrap().goals.len(), 1);
    assert_eq!(live.activate(&["tests/*"]).unwrap(), ["tests/first"]);
    assert_eq!(live.activate(&["tests/*"]).unwrap(), [""; 0]);
    assert!(matches!(live.activate(&["none/*"]), Err(crate::error::Error::Augment(_))));
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    live.push(call.to_string().as_bytes()).unwrap();
    live.push(br#"{"role":"tool","tool_call_id":"c","content":"fn a() {}"}"#).unwrap();
    let second = now(live.prompt()).unwrap();
    assert!(second.bytes.starts_with(super::open(&first.bytes)));
    let [goal_note, augment_note] = ["Goal: Mend it.", "Write the test first."].map(|what| {
        text(&second).find(what).unwrap_or_else(|| panic!("{what}: {}", text(&second)))
    });
    assert!(text(&second).find("fn a()").unwrap() < goal_note && goal_note < augment_note);
    // Once is enough, here and in a new process.
    assert!(now(live.prompt()).unwrap().bytes == second.bytes);
    assert!(now(open().prompt()).unwrap().bytes == second.bytes);
    // An edit on disk and a goal that somebody else pauses meanwhile.
    write("Write two tests first.");
    let mut other = open();
    other.change_goals(epitome_types::GoalChange::Pause.into()).unwrap();
    let third = now(live.prompt()).unwrap();
    assert!(third.bytes.starts_with(super::open(&second.bytes)));
    assert!(text(&third).contains("No goal is active") && text(&third).contains("two tests"));
    assert_eq!(live.deactivate(&["*"]).unwrap(), ["tests/first"]);
    let fourth = now(open().prompt()).unwrap();
    assert!(text(&fourth).contains("no longer active:\\n- tests/first"), "{}", text(&fourth));
    assert!(fourth.bytes.starts_with(super::open(&third.bytes)));
    live.pin(EntryId(0), true).unwrap();
    assert!(matches!(
        live.pin(EntryId(1), false),
        Err(crate::error::Error::Admin(epitome_admin::AdminError::NotPinned { .. }))
    ));
}
