//! A turn that is stepped, written down and taken up is the turn that runs straight through.

use std::sync::Mutex;

use epitome_kernel::{HookInterrupt, HookResult, ModelQuestion, NextPolicies, Policy};
use epitome_store::MemoryStore;
use epitome_testkit::{FixedCounter, ScriptedModel, now, words};
use epitome_types::hook::{
    Observe, ObserveJob, Status, StatusJob, ToolResultAnswer, ToolResultJob, TriggerAnswer,
    TriggerJob, Way,
};
use epitome_types::{Event, EventKind};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::compressor::Compressor;
use crate::error::Error;
use epitome_config::limits::WindowSetting;
use epitome_config::profile::Profile;

const AT: &str = "2026-01-02T03:04:05Z";

/// Counts its requests in a memo, masks long results, pins what is asked for, asks a model how things
/// stand, and fails at a hook now and then.
struct Busy;

impl Policy for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn tool_result(
        &self,
        job: &ToolResultJob<'_>,
        _: &NextPolicies<'_>,
    ) -> HookResult<ToolResultAnswer> {
        let long = job.text.len() > 300;
        let with = long.then(|| format!("masked {}", &job.text[..8]));
        Ok(with.map(|with| ToolResultAnswer { how: Way::Mask, text: Some(with), max_tokens: None }))
    }

    fn observe(&self, job: &ObserveJob<'_>, _: &NextPolicies<'_>) -> HookResult<Observe> {
        let pin = job.text.contains("zebra").then_some(true);
        let recall = job.text.contains("yonder").then(|| "yonder parser".to_owned());
        Ok(Some(Observe { pin, recall, ..Observe::default() }))
    }

    fn trigger(&self, job: &TriggerJob, rest: &NextPolicies<'_>) -> HookResult<TriggerAnswer> {
        let turns: u64 = rest.memo("busy").and_then(|memo| memo.parse().ok()).unwrap_or(0);
        rest.set_memo("busy", (turns + 1).to_string());
        if turns % 4 == 3 {
            let (policy, hook) = ("busy".to_owned(), "trigger");
            let what = "it is tired".to_owned();
            return Err(HookInterrupt::Error(epitome_kernel::PolicyError { policy, hook, what }));
        }
        rest.trigger(job)
    }

    fn status(&self, job: &StatusJob, _: &NextPolicies<'_>) -> HookResult<Status> {
        match job.common.replies.get("mood") {
            Some(text) => Ok(Some(Status { text: Some(text.clone()), ..Status::default() })),
            None => Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                id: "mood".to_owned(),
                user: format!("How is it at {}?", job.common.messages),
                ..ModelQuestion::default()
            }))),
        }
    }
}

fn settings(limit: u64) -> CompressorBuilder {
    Compressor::builder()
        .counter(FixedCounter::Words)
        .window(WindowSetting::Limit(limit))
        .clock(|| AT.to_owned())
        .policy(Busy)
        .model(ScriptedModel::saying(&["All is well."]))
}

/// The requests of a conversation in which a tool is called after every word of a person.
fn requests(said: &[(String, String)]) -> Vec<Vec<u8>> {
    let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
    let mut requests = Vec::new();
    let mut ask = |messages: &[Value]| {
        requests.push(json!({"model": "m", "messages": messages}).to_string().into_bytes());
    };
    for (at, (words, result)) in said.iter().enumerate() {
        messages.push(json!({"role": "user", "content": words}));
        ask(&messages);
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": format!("c{at}"), "type": "function",
             "function": {"name": "read", "arguments": "{}"}}
        ]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": result}));
        ask(&messages);
        messages.push(json!({"role": "assistant", "content": format!("Done {at}.")}));
    }
    requests
}

/// The bytes of a prompt and what happened, or why there is none.
type Seen = Result<(Vec<u8>, Vec<Event>), String>;

fn seen(prompt: &Prompt) -> Seen {
    Ok((prompt.bytes.to_vec(), prompt.events.clone()))
}

fn straight(store: &Arc<MemoryStore>, limit: u64, request: &[u8]) -> Seen {
    let mut session = settings(limit).session(store.clone(), Some("a"));
    let prompt = now(session.prompt_for(request)).map_err(|error| error.to_string())?;
    seen(&prompt)
}

/// The same turn, one step in each process: it is written down as JSON in between.
fn hopping(store: &Arc<MemoryStore>, limit: u64, request: &[u8]) -> Seen {
    let mut turn = SteppedTurn::new(settings(limit), store.clone(), Some("a"), request);
    loop {
        let step = turn.advance().map_err(|error| error.to_string())?;
        match step {
            TurnStep::Waits(_) => {}
            TurnStep::Done(prompt) => return seen(&prompt),
        }
        let written = serde_json::to_string(&turn.record()).unwrap();
        let read = serde_json::from_str(&written).unwrap();
        turn = SteppedTurn::resume(settings(limit), store.clone(), read).unwrap();
        turn.answer(EffectAnswer::Perform).map_err(|error| error.to_string())?;
    }
}

fn compressions(seen: &Seen) -> usize {
    let is = |event: &&Event| matches!(event.what, EventKind::Compressed { .. });
    seen.as_ref().map_or(0, |(_, events)| events.iter().filter(is).count())
}

/// A conversation that is long enough to be compressed, with everything that `Busy` acts on.
fn long() -> Vec<Vec<u8>> {
    let filler = |n: usize| {
        let words = (0..60).map(|word| format!("word{}", (word * 7 + n) % 50));
        words.collect::<Vec<_>>().join(" ")
    };
    let said = (0..8).map(|n| {
        let word = ["zebra", "yonder", "plain", "[GOAL] mend the parser"][n % 4];
        (format!("{word} {n}: {}", filler(n)), filler(n + 100))
    });
    requests(&said.collect::<Vec<_>>())
}

#[test]
fn a_turn_that_hops_between_processes_is_the_straight_one() {
    let [one, other] = [0, 1].map(|_| Arc::new(MemoryStore::new()));
    let mut compressed = 0;
    for request in long() {
        let expected = straight(&one, 430, &request);
        compressed += compressions(&expected);
        assert_eq!(hopping(&other, 430, &request), expected);
    }
    assert!(compressed > 1, "{compressed} compressions");
    let scope = epitome_config::scope::scope("default");
    assert_eq!(one.session(&scope, "a").unwrap(), other.session(&scope, "a").unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_turn_that_hops_is_the_straight_one(
        said in vec((words(1..60), words(1..90)), 2..6), limit in 150u64..500,
    ) {
        let [one, other] = [0, 1].map(|_| Arc::new(MemoryStore::new()));
        for request in requests(&said) {
            let expected = straight(&one, limit, &request);
            prop_assert_eq!(hopping(&other, limit, &request), expected);
        }
    }
}

/// The stores of a conversation up to its last request, and that request.
fn before_the_last() -> (Arc<MemoryStore>, Vec<u8>) {
    let store = Arc::new(MemoryStore::new());
    let mut all = long();
    let last = all.pop().unwrap();
    for request in all {
        straight(&store, 500, &request).unwrap();
    }
    (store, last)
}

#[test]
fn what_is_only_accepted_changes_nothing() {
    let (store, last) = before_the_last();
    let scope = epitome_config::scope::scope("default");
    let before = store.session(&scope, "a").unwrap();
    let mut turn = SteppedTurn::new(settings(500), store.clone(), Some("a"), &last);
    let tried = turn.run(|effect| {
        Some(if effect.writes { EffectAnswer::Accept } else { EffectAnswer::Perform })
    });
    let TurnStep::Done(tried) = now(tried).unwrap() else { panic!("it waits") };
    assert_eq!(store.session(&scope, "a").unwrap(), before);
    let expected = straight(&store, 500, &last).unwrap();
    assert_eq!(tried.bytes, expected.0);
    assert_ne!(store.session(&scope, "a").unwrap(), before);
}

#[test]
fn everything_outside_is_an_effect() {
    let (store, last) = before_the_last();
    let names = Arc::new(Mutex::new(Vec::new()));
    let noted = names.clone();
    let mut turn = SteppedTurn::new(settings(500), store, Some("a"), &last);
    let done = now(turn.run(move |effect| {
        noted.lock().unwrap().push(effect.name.clone());
        Some(EffectAnswer::Perform)
    }));
    assert!(matches!(done, Ok(TurnStep::Done(_))));
    let names = names.lock().unwrap();
    for expected in [
        "store.lookup",
        "clock.now",
        "hook.budgets",
        "hook.trigger",
        "hook.observe",
        "hook.status",
        "model.complete",
        "store.append",
        "store.note",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is none of {names:?}");
    }
    let record = turn.record();
    let effects: Vec<_> = record.steps.iter().map(|step| step.effect.clone()).collect();
    assert_eq!(effects, *names);
}

#[test]
fn an_answer_by_hand_takes_the_place_of_whoever_is_asked() {
    let (store, last) = before_the_last();
    let mut turn = SteppedTurn::new(settings(500), store, Some("a"), &last);
    let done = now(turn.run(|effect| {
        Some(match &*effect.name {
            "hook.trigger" => EffectAnswer::Reply(json!({
                "answer": {"at": "hard"}, "by": {"policy": "a person", "hook": "trigger"},
            })),
            "model.complete" => EffectAnswer::Reply(json!({"said": "I know better."})),
            _ => EffectAnswer::Perform,
        })
    }));
    let TurnStep::Done(prompt) = done.unwrap() else { panic!("it waits") };
    assert_eq!(prompt.status.and_then(|status| status.text).as_deref(), Some("I know better."));
}

#[track_caller]
fn fails(step: Result<TurnStep, TurnError>, expected: &str) {
    let error = step.expect_err("it goes on").to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_does_not_belong_to_the_turn_is_refused() {
    let (store, last) = before_the_last();
    let turn = |settings| SteppedTurn::new(settings, store.clone(), Some("a"), &last);
    let mut stepped = turn(settings(500));
    let TurnStep::Waits(first) = stepped.advance().unwrap() else { panic!("it is over") };
    assert!(!first.writes);
    fails(stepped.answer(EffectAnswer::Accept), "perform it or give its reply");
    fails(stepped.answer(EffectAnswer::Reply(json!("nonsense"))), &first.name);
    assert!(stepped.record().steps.is_empty());
    // It waits for the same as before.
    let again = stepped.advance().unwrap();
    assert!(matches!(again, TurnStep::Waits(effect) if effect == first));
    while let TurnStep::Waits(_) = stepped.answer(EffectAnswer::Perform).unwrap() {}

    let record = stepped.record();
    let other = settings(500).clock(|| "2027-01-01T00:00:00Z".to_owned());
    let mut again = SteppedTurn::resume(other, store.clone(), record.clone()).unwrap();
    assert!(matches!(again.advance(), Ok(TurnStep::Done(_))), "the clock is an effect");
    let mut other = record.clone();
    other.request = other.request.replace("Done 3.", "Done elsewhere.");
    let mut again = SteppedTurn::resume(settings(500), store.clone(), other).unwrap();
    fails(again.advance(), "the record was made with another request");
    let future = TurnRecord { version: 99, ..record };
    let refused = SteppedTurn::resume(settings(500), store.clone(), future).err().unwrap();
    assert!(matches!(refused, TurnError::Version { found: 99, .. }));
}

#[test]
fn a_turn_that_fails_fails_as_it_would() {
    let store = Arc::new(MemoryStore::new());
    let request = long().pop().unwrap();
    let settings = Compressor::builder()
        .profile(Profile::default())
        .counter(FixedCounter::Words)
        .window(WindowSetting::Limit(5));
    let mut turn = SteppedTurn::new(settings, store, None, &request);
    let failed = now(turn.run(|_| Some(EffectAnswer::Perform))).unwrap_err();
    let TurnError::Turn(error) = failed else { panic!("{failed}") };
    assert!(matches!(*error, Error::CannotFit { .. }), "{error}");
}
