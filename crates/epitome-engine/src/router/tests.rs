//! Many conversations over one journal: who is who, what is never mixed, and what a restart keeps.

mod compaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use epitome_store::{MemoryStore, SessionArchive};
use epitome_testkit::{FixedCounter, now};
use epitome_types::{ContextOverflow, HistoryHash, TokenUsage};
use epitome_wire::Format;
use serde_json::{Value, json};

use super::{ModelResponse, RoutedPrompt, RoutedRequest, SessionRouter, locked};
use crate::compressor::Compressor;
use epitome_config::limits::WindowSetting;
use epitome_config::profile::Profile;

const AT: &str = "2026-01-02T03:04:05Z";

/// A hub over a journal; without a limit the profile's guess holds.
fn hub(journal: &Arc<MemoryStore>, limit: Option<u64>) -> SessionRouter {
    let mut profile = Profile::default();
    profile.options.cache.read = Some(0.0);
    SessionRouter::new(journal.clone(), move || {
        let builder = Compressor::builder().profile(profile.clone()).counter(FixedCounter::Words);
        let window = limit.map_or(WindowSetting::Guessed, WindowSetting::Limit);
        builder.window(window).clock(|| AT.to_owned())
    })
}

fn ask(messages: &[Value], label: &str) -> RoutedRequest {
    RoutedRequest {
        bytes: json!({"model": "m", "messages": messages}).to_string().into(),
        format: Format::OpenAi,
        tenant: epitome_config::scope::LOCAL.to_owned(),
        label: (!label.is_empty()).then(|| label.to_owned()),
        window: None,
        told: None,
        cuts: false,
        client: None,
    }
}

fn say(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// An opening, and so many exchanges about a topic.
fn talk(topic: &str, exchanges: usize) -> Vec<Value> {
    let mut messages = vec![say("system", "Be brief."), say("user", "Mend the parser.")];
    for at in 0..exchanges {
        messages.push(say("assistant", &format!("{topic} {at}: {}", "looked ".repeat(12))));
        messages.push(say("user", &format!("{topic} {at}, and then? {}", "well ".repeat(12))));
    }
    messages
}

fn sent(hub: &SessionRouter, ask: &RoutedRequest) -> RoutedPrompt {
    now(hub.prompt_for(ask)).unwrap()
}

fn name(hub: &SessionRouter, messages: &[Value], label: &str) -> String {
    sent(hub, &ask(messages, label)).prompt.session
}

fn text(sent: &RoutedPrompt) -> &str {
    std::str::from_utf8(&sent.prompt.bytes).unwrap()
}

#[test]
fn what_needs_nothing_is_the_very_same_buffer() {
    let hub = hub(&Arc::default(), None);
    let ask = ask(&talk("a", 2), "");
    let sent = sent(&hub, &ask);
    assert_eq!(sent.prompt.bytes.as_ptr(), ask.bytes.as_ptr());
    assert_eq!(hub.preview(&ask).unwrap().prompt.bytes.as_ptr(), ask.bytes.as_ptr());
}

#[test]
fn conversations_with_one_opening_stay_apart() {
    let journal = Arc::default();
    let hub = hub(&journal, Some(300));
    let mut names = Vec::new();
    for exchanges in 0..16 {
        for topic in ["alpha", "beta"] {
            let other = if topic == "alpha" { "beta" } else { "alpha" };
            let sent = sent(&hub, &ask(&talk(topic, exchanges), ""));
            let next = talk(topic, exchanges + 1)[exchanges * 2 + 2].to_string();
            let answer = ModelResponse { messages: vec![next.into()], ..ModelResponse::default() };
            now(hub.record_response(&sent, &answer));
            assert!(!text(&sent).contains(other), "{topic} {exchanges}: {}", text(&sent));
            assert_eq!(exchanges > 0, text(&sent).contains(topic));
            if exchanges > 1 {
                names.push((topic, sent.prompt.session));
            }
        }
    }
    names.dedup();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_ne!(names[0].1, names[1].1);
}

#[test]
fn conversations_that_say_the_same_are_told_apart_by_what_was_thought() {
    let journal = Arc::default();
    for drops_reasoning in [false, true] {
        let run = |topic: &str| {
            let opening = format!("Mend it, {drops_reasoning}.");
            let mut said = vec![say("system", "Be brief."), say("user", &opening)];
            let mut sessions = Vec::new();
            for at in 0..4 {
                // Each request comes to a process of its own, over one journal.
                let hub = hub(&journal, None);
                let sent = sent(&hub, &ask(&said, ""));
                let mut answer = say("assistant", "Ok.");
                answer["reasoning_content"] = json!(format!("{topic} {at} is to be looked at."));
                let messages = vec![answer.to_string().into()];
                now(hub.record_response(&sent, &ModelResponse { messages, ..Default::default() }));
                if drops_reasoning && topic == "alpha" {
                    answer.as_object_mut().unwrap().remove("reasoning_content");
                }
                said.extend([answer, say("user", &format!("Then {at}."))]);
                sessions.push(sent.prompt.session);
            }
            sessions.dedup();
            assert_eq!(sessions.len(), 1, "{topic} goes on in its own session: {sessions:?}");
            sessions.pop().unwrap()
        };
        let alpha = run("alpha");
        assert_ne!(alpha, run("beta"));
        assert_ne!(alpha, run("gamma"));
    }
}

#[test]
fn a_label_names_the_first_conversation_and_marks_the_others() {
    let hub = hub(&Arc::default(), None);
    assert_eq!(name(&hub, &talk("a", 0), "work"), "work");
    let title = vec![say("system", "Name it."), say("user", "Mend the parser.")];
    let named = name(&hub, &title, "work");
    assert!(named.starts_with("work-") && named.len() == "work-".len() + 8, "{named}");
    let mut agent = vec![say("system", "You search."), say("user", "Find the lexer.")];
    let searched = name(&hub, &agent, "work");
    assert!(searched.starts_with("work-") && searched != named);
    // All of them go on under their names.
    assert_eq!(name(&hub, &talk("a", 3), "work"), "work");
    agent.extend([say("assistant", "Here."), say("user", "And the parser?")]);
    assert_eq!(name(&hub, &agent, "work"), searched);
    // Under another label, and under none, it is a conversation of its own from there on.
    assert_eq!(name(&hub, &talk("a", 4), "other"), "other");
    assert!(name(&hub, &talk("a", 5), "").starts_with("session-"));
    assert_eq!(name(&hub, &talk("a", 6), "work"), "work");
}

#[test]
fn a_client_that_is_started_anew_may_word_its_system_prompt_anew() {
    let hub = hub(&Arc::default(), None);
    let with = |system: &str, topic: &str| [vec![say("system", system)], talk(topic, 2)].concat();
    assert_eq!(name(&hub, &with("You are version 1.", "the parser"), "l"), "l");
    assert_eq!(name(&hub, &with("You are version 2.", "the parser"), "l"), "l");
    assert_ne!(name(&hub, &with("You are version 2.", "the lexer"), "l"), "l");
}

#[test]
fn tenants_share_nothing() {
    let journal: Arc<MemoryStore> = Arc::default();
    let hub = hub(&journal, None);
    let here = ask(&talk("a", 1), "work");
    let there = RoutedRequest { tenant: "team".to_owned(), ..here.clone() };
    assert_eq!(sent(&hub, &here).prompt.session, "work");
    assert_eq!(sent(&hub, &there).prompt.session, "work");
    for tenant in ["local", "team"] {
        let scope = epitome_config::scope::scope_of(tenant, "default");
        assert_eq!(journal.session(&scope, "work").unwrap().figures.turns, 1);
    }
}

/// What was recorded before there were projects goes on where it is; what begins now is its
/// project's, whatever first words it shares with that.
#[test]
fn an_older_store_goes_on_as_it_was() {
    let journal: Arc<MemoryStore> = Arc::default();
    let project = tempfile::tempdir().unwrap();
    let of_project = || {
        let owner = epitome_config::scope::ScopeOwner::from(epitome_config::scope::LOCAL)
            .within(project.path(), None);
        SessionRouter::new(journal.clone(), move || {
            let builder = Compressor::builder().counter(FixedCounter::Words).owner(owner.clone());
            builder.window(WindowSetting::Limit(300)).clock(|| AT.to_owned())
        })
    };
    let owner = epitome_config::scope::ScopeOwner::from(epitome_config::scope::LOCAL)
        .within(project.path(), None);
    let (none, own) = (epitome_config::scope::scope("default"), owner.scope("default"));
    let before = hub(&journal, Some(300));
    for exchanges in 0..12 {
        sent(&before, &ask(&talk("a", exchanges), "work"));
    }
    let compressed = journal.compactions_of_session(&none, "work").unwrap().len();
    assert!(compressed > 0);
    let live = of_project();
    let prompt = sent(&live, &ask(&talk("a", 12), "work")).prompt;
    assert_eq!(prompt.session, "work");
    assert_eq!(journal.session(&none, "work").unwrap().figures.turns, 13);
    assert!(journal.session(&own, "work").is_err());
    // A restart finds it again; another one with the same beginning is the project's.
    sent(&of_project(), &ask(&talk("a", 13), "work"));
    assert_eq!(journal.session(&none, "work").unwrap().figures.turns, 14);
    let other = sent(&live, &ask(&talk("b", 2), "other")).prompt.session;
    assert!(journal.session(&own, &other).is_ok());
    assert!(journal.session(&none, &other).is_err());
}

#[test]
fn a_prompt_that_was_refused_is_made_again_in_its_session() {
    let journal: Arc<MemoryStore> = Arc::default();
    let live = hub(&journal, None);
    let asked = ask(&talk("a", 0), "");
    let refused = sent(&live, &asked);
    now(live.record_overflow(&asked, &refused, ContextOverflow::default()));
    let again = now(live.prompt_again(&asked, &refused)).unwrap();
    assert_eq!(again.prompt.session, refused.prompt.session);
    let sessions = journal.sessions(&epitome_config::scope::scope("default"), 0, 9, true).unwrap();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
}

#[test]
fn a_restart_goes_on_with_the_same_bytes() {
    let journal = Arc::default();
    let mut live = hub(&journal, Some(300));
    let mut last = String::new();
    let mut compressed = 0;
    for exchanges in 0..24 {
        let asked = ask(&talk("a", exchanges), "work");
        let prompt = sent(&live, &asked).prompt;
        let again = sent(&hub(&journal, Some(300)), &asked).prompt;
        assert_eq!((&prompt.bytes, &prompt.session), (&again.bytes, &again.session));
        let looked = hub(&journal, Some(300)).preview(&asked).unwrap().prompt;
        assert_eq!((looked.bytes, looked.tokens), (again.bytes, again.tokens));
        compressed += usize::from(prompt.epoch.is_some());
        if exchanges % 5 == 4 {
            live = hub(&journal, Some(300));
        }
        last = prompt.session;
    }
    assert!(compressed > 3);
    assert_eq!(
        journal.session(&epitome_config::scope::scope("default"), &last).unwrap().name,
        "work"
    );
}

#[test]
fn what_falls_out_of_memory_is_read_from_the_journal() {
    let journal: Arc<MemoryStore> = Arc::default();
    let settings = || {
        let builder = Compressor::builder().counter(FixedCounter::Words);
        builder.window(WindowSetting::Limit(300)).clock(|| AT.to_owned())
    };
    let (few, many) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
    let small = SessionRouter::with_capacity(few.clone(), settings, 2);
    let large = SessionRouter::with_capacity(many.clone(), settings, 100);
    for exchanges in 0..20 {
        for topic in 0..6 {
            let label = format!("l{topic}");
            let mut messages = talk(&format!("t{topic}"), exchanges);
            messages[1] = say("user", &format!("Mend parser {topic}."));
            let asked = ask(&messages, &label);
            let [one, other] = [&small, &large].map(|hub| sent(hub, &asked).prompt);
            assert_eq!((&one.bytes, &one.session), (&other.bytes, &other.session));
            assert_eq!(one.session, label);
            assert!(locked(&small.conversations).len() <= 2);
        }
    }
    assert_eq!(locked(&large.conversations).len(), 6);
    assert!(journal.sessions("local/default", 0, 9, false).unwrap().is_empty());
}

#[test]
fn a_refusal_teaches_a_limit_and_the_next_prompt_is_smaller() {
    let journal = Arc::default();
    let hub = hub(&journal, None);
    let asked = ask(&talk("a", 20), "work");
    let refused = sent(&hub, &asked);
    assert_eq!(refused.prompt.tokens[0], refused.prompt.tokens[1]);
    now(hub.record_overflow(&asked, &refused, ContextOverflow { limit: Some(400), size: None }));
    let again = sent(&hub, &asked).prompt;
    assert!(again.tokens[1] <= 400 && again.limit == 400 && again.fits, "{again:?}");
    // It holds for every conversation with this model, and for no other tenant or model.
    let mut other = ask(&talk("b", 20), "");
    assert!(sent(&hub, &other).prompt.tokens[1] <= 400);
    other.tenant = "team".to_owned();
    assert_eq!(sent(&hub, &other).prompt.bytes, other.bytes);
    // What the request says goes before it.
    let told = RoutedRequest { window: Some(2000), ..ask(&talk("c", 20), "") };
    assert_eq!(sent(&hub, &told).prompt.limit, 2000);
}

#[test]
fn a_refusal_without_a_limit_makes_one_prompt_smaller() {
    let hub = hub(&Arc::default(), None);
    let asked = ask(&talk("a", 20), "");
    let refused = sent(&hub, &asked);
    now(hub.record_overflow(&asked, &refused, ContextOverflow::default()));
    let again = sent(&hub, &asked);
    assert!(again.prompt.tokens[1] <= refused.prompt.tokens[1] * 3 / 4);
    let other = ask(&talk("b", 20), "");
    assert_eq!(sent(&hub, &other).prompt.bytes, other.bytes);
}

#[test]
fn nothing_is_refused_for_its_size() {
    let hub = hub(&Arc::default(), Some(100));
    let asked = ask(&[say("user", &"this ".repeat(400))], "");
    let sent = sent(&hub, &asked).prompt;
    assert!(!sent.fits && sent.bytes == asked.bytes);
}

#[test]
fn an_answer_is_recorded_with_what_the_provider_counted() {
    let journal: Arc<MemoryStore> = Arc::default();
    let hub = hub(&journal, None);
    let asked = sent(&hub, &ask(&talk("a", 1), "work"));
    let usage = TokenUsage { input: 10, cache_read: 20, cache_written: 5, output: 3 };
    let answer = ModelResponse {
        usage,
        messages: vec![say("assistant", "Done.").to_string().into()],
        stop: Some("stop".to_owned()),
    };
    now(hub.record_response(&asked, &answer));
    let info = journal.session("local/default", "work").unwrap();
    assert_eq!(info.figures.usage, usage);
    assert_ne!(asked.prompt.head, HistoryHash::default());
}

#[test]
fn a_body_that_cannot_be_read_leaves_the_hub_as_it_was() {
    let hub = hub(&Arc::default(), None);
    let good = ask(&talk("a", 1), "");
    for body in ["", "{", "{}", r#"{"messages":[{"role":"user"}]}"#] {
        let bad = RoutedRequest { bytes: body.into(), ..good.clone() };
        assert!(now(hub.prompt_for(&bad)).is_err() && hub.preview(&bad).is_err(), "{body}");
        assert_eq!(sent(&hub, &good).prompt.bytes, good.bytes);
    }
}

#[test]
fn a_session_that_panics_is_read_again() {
    static BREAKS: AtomicBool = AtomicBool::new(false);
    let journal: Arc<MemoryStore> = Arc::default();
    let profile = Profile::default();
    let hub = SessionRouter::new(journal.clone(), move || {
        let builder = Compressor::builder().profile(profile.clone()).counter(FixedCounter::Words);
        builder.on_event(|_| {}).clock(|| {
            assert!(!BREAKS.swap(false, Ordering::Relaxed), "the clock broke");
            AT.to_owned()
        })
    });
    assert_eq!(name(&hub, &talk("a", 0), "work"), "work");
    let hub = std::panic::AssertUnwindSafe(hub);
    BREAKS.store(true, Ordering::Relaxed);
    let fails = std::panic::catch_unwind(|| name(&hub, &talk("a", 1), "work"));
    assert!(fails.is_err());
    assert_eq!(name(&hub, &talk("a", 1), "work"), "work");
    assert_eq!(name(&hub, &talk("a", 2), "work"), "work");
}

#[tokio::test]
async fn conversations_go_on_beside_each_other() {
    let journal: Arc<MemoryStore> = Arc::default();
    let hub = Arc::new(hub(&journal, Some(300)));
    let mut running = Vec::new();
    for topic in 0..64 {
        let hub = Arc::clone(&hub);
        running.push(tokio::spawn(async move {
            for exchanges in 0..12 {
                let topic = format!("t{topic}-");
                let sent = hub.prompt_for(&ask(&talk(&topic, exchanges), &topic)).await.unwrap();
                let said = text(&sent).split('t').filter(|word| word.contains("-"));
                let own = |word: &str| topic[1..].starts_with(word.split('-').next().unwrap());
                assert!(said.clone().all(|word| !word.as_bytes()[0].is_ascii_digit() || own(word)));
                tokio::task::yield_now().await;
            }
        }));
    }
    for one in running {
        one.await.unwrap();
    }
    let sessions = journal.sessions("local/default", 0, 100, false).unwrap();
    assert_eq!(sessions.iter().map(|session| session.figures.turns).sum::<u64>(), 64 * 12);
}

#[test]
fn requests_of_one_conversation_wait_for_each_other() {
    let journal: Arc<MemoryStore> = Arc::default();
    let hub = hub(&journal, Some(300));
    let all: Vec<_> = (0..24).map(|exchanges| ask(&talk("a", exchanges), "work")).collect();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (hub, all) = (&hub, &all);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                for asked in all.iter().skip(part).step_by(2) {
                    let sent = runtime.block_on(hub.prompt_for(asked)).unwrap();
                    assert!(sent.prompt.fits, "{}", text(&sent));
                }
            });
        }
    });
    // Whatever came first, what is sent now is what a new process would send.
    let last = &all[23];
    let again = super::tests::hub(&journal, Some(300));
    assert_eq!(sent(&hub, last).prompt.bytes, sent(&again, last).prompt.bytes);
}
