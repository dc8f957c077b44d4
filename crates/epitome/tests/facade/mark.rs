//! A policy in Rust that strips the tool traffic before a mark from a live conversation (RULES 35
//! to 41): the next requests are sent alike, in this process and in another, and nothing is lost.

use std::sync::Arc;

use epitome::types::hook::{
    ClearToolsOp, Due, MessageNumber, OpRequest, Orders, PlanJob, Strength, TriggerAnswer,
};
use epitome::types::{CompactionCause, Event, EventKind};
use epitome::{
    Answer, Format, HookResult, Job, MemoryStore, NextPolicies, OriginalStore, Profile, Prompt,
    SessionAdmin,
};
use epitome::{TokenCounter, VocabularyCounter};
use epitome::{scope, validate};
use epitome_testkit::{FixedCounter, now, words};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::talk::{Talk, errors, with};

const MARK: &str = "compress_to_checkpoint";

/// Before the last call of the marking tool, the talk alone stays.
fn plan(job: &PlanJob<'_>) -> Orders {
    let names = job.entries.names.iter();
    let mark = names
        .zip(&job.entries.role)
        .rposition(|(names, role)| *role == "assistant" && names.iter().any(|name| name == MARK));
    let entries = (1..=mark.unwrap_or(0) as u32).map(MessageNumber).collect();
    let ops = vec![OpRequest::ClearTools(ClearToolsOp { entries })];
    let watermark = mark.map(|mark| MessageNumber(mark as u32 + 1));
    Orders { ops, watermark, watermark_tool: Some(MARK.to_owned()), ..Orders::default() }
}

/// Nothing is done but where the marking tool has just answered.
fn watermark(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    Ok(match job {
        Job::Trigger(job) if job.new_results.iter().any(|name| name == MARK) => {
            let due = Due { level: Strength::Asked, target: None, reason: None };
            Some(Answer::Trigger(TriggerAnswer::Compress(due)))
        }
        Job::Trigger(_) => Some(Answer::Trigger(TriggerAnswer::Wait(false))),
        Job::Plan(job) => {
            let (columns, count) = (&job.entries, job.entries.count as usize);
            assert_eq!([columns.names.len(), columns.key.len()], [count; 2]);
            assert!(columns.key.iter().all(|key| key.len() == 8));
            Some(Answer::Plan(plan(job)))
        }
        _ => None,
    })
}

/// One step of a random client.
#[derive(Clone, Debug)]
enum Step {
    /// The model answers, the person goes on.
    Talk(String),
    /// The model reads files, with or without a word.
    Read(Option<String>, Vec<String>),
    /// The model sets a mark, beside so many other calls.
    Mark(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let read = (prop::option::of(words(1..20)), vec(words(1..40), 1..4));
    let step = prop_oneof![
        2 => words(1..20).prop_map(Step::Talk),
        4 => read.prop_map(|(says, results)| Step::Read(says, results)),
        1 => (0..2_usize).prop_map(Step::Mark),
    ];
    vec(step, 4..20)
}

/// The messages of a client's whole history.
fn history(steps: &[Step]) -> Vec<Value> {
    let mut messages = vec![
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "user", "content": "Mend the parser." }),
    ];
    for (at, step) in steps.iter().enumerate() {
        let (says, tools, results) = match step {
            Step::Talk(text) => {
                messages.push(json!({ "role": "assistant", "content": format!("{at} {text}") }));
                messages.push(json!({ "role": "user", "content": format!("{text} {at}") }));
                continue;
            }
            Step::Read(says, results) => {
                (says.clone(), vec!["read"; results.len()], results.clone())
            }
            Step::Mark(others) => {
                let mut tools = vec!["read"; *others];
                tools.push(MARK);
                let results = vec!["done".to_owned(); tools.len()];
                (Some("That is done.".to_owned()), tools, results)
            }
        };
        let id = |call: usize| format!("c{at}-{call}");
        let call = |(place, tool): (usize, &&str)| {
            let arguments = format!("{{\"path\":\"src/{at}.rs\"}}");
            json!({ "id": id(place), "type": "function", "function": { "name": tool, "arguments": arguments } })
        };
        let calls: Vec<_> = tools.iter().enumerate().map(call).collect();
        messages.push(json!({ "role": "assistant", "content": says, "tool_calls": calls }));
        messages.extend(results.iter().enumerate().map(|(place, result)| {
            json!({ "role": "tool", "tool_call_id": id(place), "content": format!("{at} {result}") })
        }));
    }
    messages
}

/// The histories that the client sends, one after the other.
fn requests(messages: &[Value]) -> Vec<usize> {
    let asks = |at: &usize| messages.get(*at).is_none_or(|next| next["role"] == "assistant");
    (2..=messages.len()).filter(asks).collect()
}

fn body(messages: &[Value]) -> Vec<u8> {
    json!({ "messages": messages }).to_string().into_bytes()
}

fn talk(journal: &Arc<MemoryStore>) -> Talk {
    Talk::of(with(100_000, watermark), journal)
}

fn messages(prompt: &Prompt) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// What was said, tool results left out.
fn said(messages: &[Value]) -> Vec<&str> {
    let talk = messages.iter().filter(|one| one["role"] != "tool");
    talk.filter_map(|one| one["content"].as_str()).collect()
}

fn compressed(prompt: &Prompt) -> bool {
    let is_it = |event: &Event| {
        matches!(event.what, EventKind::Compressed { cause: CompactionCause::Manual, .. })
    };
    prompt.events.iter().any(is_it)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_stripped_stays_out_and_the_talk_stays_in(steps in steps()) {
        let (journal, all) = (Arc::new(MemoryStore::new()), history(&steps));
        let mut live = talk(&journal);
        let mut last: Option<Prompt> = None;
        let mut mark = 0;
        for end in requests(&all) {
            let request = body(&all[..end]);
            let prompt = now(live.session.prompt_for(&request)).unwrap();
            prop_assert_eq!(errors(&prompt), [""; 0]);
            prop_assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
            prop_assert_eq!(prompt.by.map(|by| by.sum()), prompt.tokens);
            let sent = messages(&prompt);
            prop_assert_eq!(said(&sent), said(&all[..end]));
            // The mark moves with the results of the marking tool, and nothing else moves it.
            let reply = all[..end].iter().rposition(|one| one["role"] == "assistant");
            let is_marked = |at: &usize| all[*at].to_string().contains(MARK);
            mark = reply.filter(is_marked).unwrap_or(mark);
            let tools = |messages: &[Value]| {
                messages.iter().filter(|one| one["tool_calls"].is_array()).count()
            };
            prop_assert_eq!(tools(&sent), tools(&all[mark..end]), "{:#?}", sent);
            if let Some(last) = last.filter(|_| !compressed(&prompt)) {
                let open = last.bytes.strip_suffix(b"]}").unwrap();
                prop_assert!(prompt.bytes.starts_with(open));
            }
            // A new process goes on with the same bytes.
            let mut again = talk(&journal);
            let after = now(again.session.prompt_for(&request)).unwrap();
            prop_assert!(!compressed(&after) && after.bytes == prompt.bytes);
            prop_assert_eq!(after.tokens, prompt.tokens);
            last = Some(prompt);
        }
    }
}

#[test]
fn what_was_stripped_is_named_and_found() {
    let read =
        |says: &str, result: &str| Step::Read(Some(says.to_owned()), vec![result.to_owned()]);
    let steps =
        [read("I look.", "the marmalade line"), Step::Mark(0), Step::Talk("On.".to_owned())];
    let (journal, all) = (Arc::new(MemoryStore::new()), history(&steps));
    let mut live = talk(&journal);
    for end in requests(&all) {
        now(live.session.prompt_for(&body(&all[..end]))).unwrap();
    }
    let keeper = SessionAdmin::new(journal.clone(), Profile::default());
    let diff = keeper.diff(Some("talk")).unwrap();
    let hows: Vec<_> = diff.cuts.iter().map(|cut| cut.how).collect();
    assert_eq!(hows, ["strip", "drop"]);
    let [strip, drop] = &diff.cuts[..] else { panic!("{diff:?}") };
    assert_eq!((&*strip.entries[0].entry, strip.tokens), ("e2", [strip.entries[0].tokens, 0]));
    assert_eq!((&*drop.entries[0].entry, &*strip.reason), ("e3", "a policy ordered it"));
    // The call alone: what was said beside it is still there.
    let call = VocabularyCounter::default();
    let call = call.count("read") + call.count("{\"path\":\"src/0.rs\"}");
    assert_eq!(strip.tokens[0], call);
    let found =
        OriginalStore::search(&*journal, &scope("default"), "marmalade", 50, &FixedCounter::Words)
            .unwrap();
    assert!(found.iter().any(|one| one.text.contains("the marmalade line")), "{found:?}");
}
