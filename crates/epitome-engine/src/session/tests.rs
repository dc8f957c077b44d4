//! Laws of live conversations over random histories: nothing is lost, the prompt grows at its end
//! between epochs, and a restart changes nothing.

mod acts;
mod again;
mod asides;
mod drift;
mod gate;
mod law;
mod offload;
mod pinning;
mod push;
mod sendable;
mod system;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use epitome_extract::ExtractiveSummarizer;
use epitome_kernel::{Journal, Summarizer, SummaryError, SummaryJob};
use epitome_store::MemoryStore;
use epitome_store::SessionArchive;
use epitome_testkit::{FixedCounter, now, words};
use epitome_types::{Event, EventKind, JournalMark, Summary};
use epitome_wire::{Format, validate};
use proptest::collection::vec;
use proptest::prelude::*;

use super::Session;
use crate::compressor::Compressor;
use crate::prompt::Prompt;
use epitome_admin::CompactionUndo;
use epitome_config::limits::WindowSetting;
use epitome_config::profile::Profile;

const AT: &str = "2026-01-02T03:04:05Z";

/// One step of a random client.
#[derive(Clone, Debug)]
enum Step {
    Say(String),
    Tool(String),
    Tools(Vec<String>),
}

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => words(1..30).prop_map(Step::Say),
        3 => words(1..80).prop_map(Step::Tool),
        1 => vec(words(1..40), 2..4).prop_map(Step::Tools),
    ];
    vec(step, 4..count)
}

/// The messages of a client's whole history, each encoded.
fn history(steps: &[Step]) -> Vec<String> {
    let text =
        |role: &str, text: &str| serde_json::json!({"role": role, "content": text}).to_string();
    let mut messages = vec![text("system", "Be brief."), text("user", "Mend the parser.")];
    for (at, step) in steps.iter().enumerate() {
        let results: &[String] = match step {
            Step::Say(words) => {
                messages.push(text("assistant", &format!("{at} {words}")));
                messages.push(text("user", &format!("{words} {at}")));
                continue;
            }
            Step::Tool(result) => std::slice::from_ref(result),
            Step::Tools(results) => results,
        };
        let calls: Vec<_> = (0..results.len())
            .map(|call| {
                serde_json::json!({"id": format!("c{at}-{call}"), "type": "function",
                "function": {"name": "read", "arguments": format!("{{\"path\":\"src/{at}.rs\"}}")}})
            })
            .collect();
        messages.push(
            serde_json::json!({"role": "assistant", "content": null, "tool_calls": calls})
                .to_string(),
        );
        for (call, result) in results.iter().enumerate() {
            let message = serde_json::json!({"role": "tool", "tool_call_id": format!("c{at}-{call}"), "content": result});
            messages.push(message.to_string());
        }
    }
    messages
}

/// The histories that the client sends, one after the other.
fn requests(messages: &[String]) -> Vec<usize> {
    let asks = |at: &usize| messages.get(*at).is_none_or(|next| next.contains("\"assistant\""));
    (2..=messages.len()).filter(asks).collect()
}

fn body(messages: &[String]) -> Vec<u8> {
    format!("{{\"messages\":[{}]}}", messages.join(",")).into_bytes()
}

fn session(journal: &Arc<MemoryStore>, limit: u64, name: Option<&str>) -> Session {
    let mut profile = Profile::default();
    // The soft trigger counts requests; a session that is opened twice sends one twice.
    profile.options.cache.read = Some(0.0);
    // One that is pushed comes to the same as one that is sent.
    profile.options.goals.teach = false;
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let builder = builder.window(WindowSetting::Limit(limit)).clock(|| AT.to_owned());
    builder.session(journal.clone(), name)
}

fn has_epoch(prompt: &Prompt) -> bool {
    let of = |event: &Event| matches!(event.what, EventKind::Compressed { .. });
    prompt.events.iter().any(of)
}

/// The messages of a prompt without what closes them.
fn open(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"]}").unwrap()
}

/// Every message that was sent is recorded, byte for byte.
fn recorded(journal: &MemoryStore, name: &str, messages: &[String]) -> bool {
    let scope = epitome_config::scope::scope("default");
    let info = journal.session(&scope, name).unwrap();
    let said = journal.history(&scope, &info.name, info.head, 0, usize::MAX).unwrap();
    let bytes = said.iter().map(|said| said.bytes.as_deref().unwrap_or_default());
    bytes.eq(messages.iter().map(|message| message.as_bytes()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn prompts_grow_at_their_end_and_survive_a_restart(steps in steps(24), limit in 250u64..500) {
        let journal = Arc::new(MemoryStore::new());
        let mut live = session(&journal, limit, Some("a"));
        let messages = history(&steps);
        let mut last: Option<Prompt> = None;
        for end in requests(&messages) {
            let request = body(&messages[..end]);
            let Ok(prompt) = now(live.prompt_for(&request)) else { break };
            prop_assert_eq!(prompt.by.map(|by| by.sum()), prompt.tokens);
            prop_assert!(prompt.tokens[1] <= limit);
            prop_assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
            if let Some(last) = last.filter(|_| !has_epoch(&prompt)) {
                prop_assert!(prompt.bytes.starts_with(open(&last.bytes)));
            }
            prop_assert!(recorded(&journal, "a", &messages[..end]));
            // A new process goes on with the same bytes.
            let mut again = session(&journal, limit, Some("a"));
            let after = now(again.prompt_for(&request)).unwrap();
            prop_assert!(after.bytes == prompt.bytes);
            prop_assert_eq!(again.name(), Some("a"));
            prop_assert!(!has_epoch(&after));
            last = Some(prompt);
        }
    }

    #[test]
    fn an_edited_history_branches_and_the_old_one_stays(
        steps in steps(16), at in any::<prop::sample::Index>(), limit in 250u64..500,
    ) {
        let journal = Arc::new(MemoryStore::new());
        let mut live = session(&journal, limit, Some("a"));
        let messages = history(&steps);
        let ends = requests(&messages);
        let mut prompts = Vec::new();
        for &end in &ends {
            let Ok(prompt) = now(live.prompt_for(&body(&messages[..end]))) else { break };
            prompts.push(prompt);
        }
        prop_assume!(!prompts.is_empty());
        let end = ends[prompts.len() - 1];
        let typed: Vec<_> = (1..end).filter(|&at| messages[at].contains("\"user\"")).collect();
        let at = typed[at.index(typed.len())];
        let mut edited = messages[..=at].to_vec();
        edited[at] = serde_json::json!({"role": "user", "content": "No, start anew."}).to_string();
        let branch = now(live.prompt_for(&body(&edited))).unwrap();
        let branched = |event: &Event| matches!(event.what, EventKind::Branched { .. });
        prop_assert!(branch.events.iter().any(branched));
        let said = String::from_utf8_lossy(&branch.bytes).into_owned();
        prop_assert!(said.contains("No, start anew."));
        // Back on the old way, in this process and in another, it is as it was; unless the branch
        // compressed anew what both share.
        let back = now(live.prompt_for(&body(&messages[..end]))).unwrap();
        let last = &prompts[prompts.len() - 1];
        prop_assert!(back.bytes == last.bytes || back.epoch != last.epoch && has_epoch(&branch));
        let fresh = now(session(&journal, limit, Some("a")).prompt_for(&body(&messages[..end]))).unwrap();
        prop_assert!(fresh.bytes == back.bytes);
    }

    #[test]
    fn an_undo_from_elsewhere_is_seen_held_and_taken_back(
        steps in steps(24), limit in 300u64..500,
    ) {
        let journal = Arc::new(MemoryStore::new());
        let mut live = session(&journal, limit, Some("a"));
        let messages = history(&steps);
        let ends = requests(&messages);
        let mut compressed = None;
        for (turn, &end) in ends.iter().enumerate() {
            let Ok(prompt) = now(live.prompt_for(&body(&messages[..end]))) else { break };
            if has_epoch(&prompt) {
                compressed = Some((turn, prompt));
                break;
            }
        }
        prop_assume!(compressed.is_some());
        let (turn, prompt) = compressed.unwrap();
        let scope = epitome_config::scope::scope("default");
        let records = || CompactionUndo::of(journal.clone(), &scope, "a").unwrap();
        let undone = records().undo(AT).unwrap();
        prop_assert_eq!(Some(undone), prompt.epoch);
        prop_assert!(records().undo(AT).is_err());
        prop_assert_eq!(records().redo(AT).unwrap(), undone);
        prop_assert!(records().redo(AT).is_err());
        let same = now(live.prompt_for(&body(&messages[..ends[turn]]))).unwrap();
        prop_assert!(same.bytes == prompt.bytes);
        // With room enough, what was taken back stays as it was said.
        records().undo(AT).unwrap();
        let mut roomy = session(&journal, limit * 20, None);
        let request = body(&messages[..ends[turn]]);
        let raw = now(roomy.prompt_for(&request)).unwrap();
        prop_assert_eq!(raw.epoch, None);
        prop_assert!(recorded(&journal, "a", &messages[..ends[turn]]));
    }
}

#[test]
fn two_sessions_with_one_opening_share_nothing_else() {
    let journal = Arc::new(MemoryStore::new());
    let opening = history(&[])[..2].to_vec();
    let with = |last: &str| {
        let mut all = opening.clone();
        all.push(serde_json::json!({"role": "assistant", "content": "Which one?"}).to_string());
        all.push(serde_json::json!({"role": "user", "content": last}).to_string());
        all
    };
    let (one, other) = (with("The one for TOML."), with("The one for JSON."));
    let mut sessions: Vec<_> = (0..2).map(|_| session(&journal, 500, None)).collect();
    now(sessions[0].prompt_for(&body(&opening))).unwrap();
    now(sessions[0].prompt_for(&body(&one))).unwrap();
    now(sessions[1].prompt_for(&body(&opening))).unwrap();
    now(sessions[1].prompt_for(&body(&other))).unwrap();
    let names: Vec<_> = sessions.iter().map(|one| one.name().unwrap().to_owned()).collect();
    assert!(recorded(&journal, &names[1], &other));
    assert_eq!(journal.find_deepest("local/other", "a", &[]).unwrap(), None);
}

/// What somebody else does while a summary is written.
type Deed = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A summariser that takes its time.
struct Slow(Deed);

#[async_trait]
impl Summarizer for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        let deed = self.0.lock().unwrap().take();
        deed.into_iter().for_each(|deed| deed());
        ExtractiveSummarizer::default().summarize(job).await
    }
}

/// What somebody else may do meanwhile.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    /// Sends the next requests of the same history.
    Append(usize),
    /// Takes the epoch back that is in force.
    Undo,
    /// Pins an entry.
    Pin,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost_to_what_happens_while_a_proposal_is_made(
        steps in steps(28),
        limit in 250u64..400,
        deeds in vec(prop_oneof![
            (1usize..4).prop_map(Meanwhile::Append), Just(Meanwhile::Undo), Just(Meanwhile::Pin)
        ], 1..6),
    ) {
        let journal = Arc::new(MemoryStore::new());
        let scope = epitome_config::scope::scope("default");
        let slow: Deed = Arc::default();
        let mut live = session(&journal, limit, Some("a"));
        live.settings.writers.summarizers = vec![Arc::new(Slow(slow.clone()))];
        let messages = history(&steps);
        let ends = requests(&messages);
        let mut deeds = deeds.into_iter().cycle();
        for (turn, &end) in ends.iter().enumerate() {
            let deed = deeds.next().unwrap();
            let (there, all, ends) = (journal.clone(), messages.clone(), ends.clone());
            *slow.lock().unwrap() = Some(Box::new(move || {
                let scope = epitome_config::scope::scope("default");
                match deed {
                    Meanwhile::Append(turns) => {
                        let mut other = session(&there, 100_000, Some("a"));
                        for &end in ends.iter().skip(turn + 1).take(turns) {
                            now(other.prompt_for(&body(&all[..end]))).unwrap();
                        }
                    }
                    Meanwhile::Undo => {
                        if let Ok(records) = CompactionUndo::of(there.clone(), &scope, "a") {
                            drop(records.undo(AT));
                        }
                    }
                    Meanwhile::Pin => {
                        let Ok(info) = there.session(&scope, "a") else { return };
                        let said = there.history(&scope, &info.name, info.head, 1, 1).unwrap();
                        there.record_mark(&scope, "a", &JournalMark::Pin(said[0].key), AT).unwrap();
                    }
                }
            }));
            let Ok(prompt) = now(live.prompt_for(&body(&messages[..end]))) else { break };
            // All that anybody sent is there, whoever recorded it first.
            let keys: Vec<_> = messages[..end].iter().collect();
            let name = prompt.session.clone();
            let head = journal.session(&scope, &name).unwrap().head;
            let said = journal.history(&scope, "a", head, 0, usize::MAX).unwrap();
            prop_assert!(said.len() >= keys.len());
            for (said, message) in said.iter().zip(&keys) {
                prop_assert_eq!(said.bytes.as_deref(), Some(message.as_bytes()));
            }
            // The prompt is what the records say, here and in a new process.
            prop_assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
            *slow.lock().unwrap() = None;
            let fresh = now(session(&journal, limit * 20, Some("a")).prompt_for(&body(&messages[..end]))).unwrap();
            prop_assert_eq!(fresh.epoch, prompt.epoch);
            prop_assert!(fresh.bytes == prompt.bytes);
        }
    }
}

#[test]
fn what_is_redacted_is_nowhere_in_the_journal() {
    let journal = Arc::new(MemoryStore::new());
    let mut profile = Profile::shipped("default").unwrap();
    profile.redaction =
        epitome_config::RedactionPatterns::new(&["sk-[a-z0-9 ]+secret".to_owned()]).unwrap();
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let builder = builder.window(WindowSetting::Limit(300)).clock(|| AT.to_owned());
    let mut live = builder.session(journal.clone(), Some("a"));
    let steps: Vec<_> = (0..12).map(|at| Step::Tool(format!("line {at}\n").repeat(12))).collect();
    let mut messages = history(&steps);
    messages[1] =
        serde_json::json!({"role": "user", "content": "Use sk-77 my secret, then go."}).to_string();
    let mut epochs = 0;
    for end in requests(&messages) {
        epochs += usize::from(has_epoch(&now(live.prompt_for(&body(&messages[..end]))).unwrap()));
    }
    assert!(epochs > 0);
    let scope = epitome_config::scope::scope("default");
    let head = journal.session(&scope, "a").unwrap().head;
    let said = journal.history(&scope, "a", head, 1, 1).unwrap().remove(0);
    let kept = String::from_utf8(said.bytes.clone().unwrap()).unwrap();
    assert!(kept.contains("Use [redacted], then go."), "{kept}");
    let read = epitome_admin::admin::decode("openai", std::slice::from_ref(&said)).unwrap();
    assert_eq!(said.text, epitome_types::ContentId::for_text(&read[0].readable()));
    let all = format!("{:?}", journal);
    assert!(all.contains("[redacted]") && !all.contains("sk-77"));
}

/// A client whose prompt fills its window slowly: the soft trigger compresses it, the window does
/// not force it to.
#[test]
fn what_was_taken_back_stays_until_the_user_or_the_window_says_so() {
    let journal = Arc::new(MemoryStore::new());
    let open = || {
        let builder = Compressor::builder().counter(FixedCounter::Words).clock(|| AT.to_owned());
        builder.window(WindowSetting::Limit(10_000)).session(journal.clone(), Some("a"))
    };
    let mut live = open();
    let results = (0..9).map(|at| Step::Tool(format!("result {at} ").repeat(430)));
    let mut steps: Vec<_> = results.collect();
    let send = |live: &mut Session, steps: &[Step]| {
        let messages = history(steps);
        now(live.prompt_for(&body(&messages))).unwrap()
    };
    send(&mut live, &steps[..5]);
    let mut prompt = send(&mut live, &steps);
    let mut turns = 0;
    while !has_epoch(&prompt) {
        steps.push(Step::Say("On.".to_owned()));
        prompt = send(&mut live, &steps);
        turns += 1;
        assert!(turns < 40, "{:?}", prompt.tokens);
    }
    assert!(turns > 2 && prompt.tokens[0] < 8_750, "{turns} {:?}", prompt.tokens);
    let said = |prompt: &Prompt| String::from_utf8_lossy(&prompt.bytes).into_owned();
    let first = "result 0 ".repeat(430);
    assert!(!said(&prompt).contains(&first));

    // Later turns change nothing of what an undo brings back, though a compression is due.
    for _ in 0..3 {
        steps.push(Step::Say("On.".to_owned()));
        prompt = send(&mut live, &steps);
        assert!(!has_epoch(&prompt));
    }
    let scope = epitome_config::scope::scope("default");
    let records = || CompactionUndo::of(journal.clone(), &scope, "a").unwrap();
    let undone = records().undo(AT).unwrap();
    let mut due = 0;
    for _ in 0..40 {
        steps.push(Step::Say("On.".to_owned()));
        prompt = send(&mut live, &steps);
        assert!(prompt.epoch != Some(undone) && said(&prompt).contains(&first));
        let is_skipped = |event: &Event| matches!(event.what, EventKind::CompressionSkipped { .. });
        due += usize::from(has_epoch(&prompt) || prompt.events.iter().any(is_skipped));
    }
    assert!(due > 0);
    // The user says so, and takes that back.
    assert_eq!(records().redo(AT).unwrap(), undone);
    assert!(!said(&send(&mut live, &steps)).contains(&first));
    records().undo(AT).unwrap();
    assert!(said(&send(&mut open(), &steps)).contains(&first));
    // The window says so.
    steps.push(Step::Tool("more ".repeat(3_000)));
    prompt = send(&mut live, &steps);
    assert!(has_epoch(&prompt) && !said(&prompt).contains(&first));
}

#[test]
fn what_cannot_fit_is_refused_and_recorded_all_the_same() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = session(&journal, 300, Some("a"));
    let mut messages = history(&[]);
    now(live.prompt_for(&body(&messages))).unwrap();
    messages.push(serde_json::json!({"role": "assistant", "content": "Which one?"}).to_string());
    let typed = "this ".repeat(400);
    messages.push(serde_json::json!({"role": "user", "content": typed}).to_string());
    let error = now(live.prompt_for(&body(&messages))).unwrap_err();
    assert!(matches!(error, crate::error::Error::CannotFit { .. }), "{error}");
    assert!(recorded(&journal, "a", &messages));
    // The conversation goes on as soon as it can.
    messages.push(serde_json::json!({"role": "assistant", "content": "I see."}).to_string());
    messages.push(serde_json::json!({"role": "user", "content": "Go on."}).to_string());
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    assert!(prompt.tokens[1] <= 300 && recorded(&journal, "a", &messages));
}
