//! Compressions whose prompts their provider would refuse, and epochs that may not apply yet.

use epitome_kernel::{EpochGround, Eviction, HookResult, NextPolicies, Policy, epoch_of};
use epitome_types::hook::{Drop, MessageNumber, OpRequest, Orders, PlanJob};
use epitome_types::{Compaction, CompactionCause, EntryId, EntryKey, Op, Plan, Stage};
use serde_json::json;

use super::*;

/// Has the message leave that a person began with, so that the model would have the first word.
struct Beheads;

impl Policy for Beheads {
    fn name(&self) -> &str {
        "beheads"
    }

    fn plan(&self, _: &PlanJob<'_>, _: &NextPolicies<'_>) -> HookResult<Orders> {
        let ops = vec![OpRequest::Drop(Drop { entries: vec![MessageNumber(2)] })];
        Ok(Some(Orders { ops, ..Orders::default() }))
    }
}

fn builder() -> crate::builder::CompressorBuilder {
    let builder =
        Compressor::builder().input_format(Format::Anthropic).counter(FixedCounter::Words);
    builder.window(WindowSetting::Limit(4000)).clock(|| AT.to_owned())
}

/// A request after so many answers.
fn request(answers: usize) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "Mend the parser. ".repeat(20)})];
    for at in 0..answers {
        messages.push(json!({"role": "assistant", "content": format!("Part {at} is done.")}));
        messages.push(json!({"role": "user", "content": format!("Go on with part {at}.")}));
    }
    json!({"model": "m", "messages": messages, "system": "Be brief."}).to_string().into_bytes()
}

/// Why compressions of a prompt failed on its provider's rules, and what was done about it.
fn refused(prompt: &Prompt) -> Vec<(String, String)> {
    let of = |event: &Event| match &event.what {
        EventKind::CompressionError { stage: Stage::Validation, cause, remedy } => {
            Some((cause.clone(), remedy.clone()))
        }
        _ => None,
    };
    prompt.events.iter().filter_map(of).collect()
}

fn keys(history: &[u8]) -> Vec<EntryKey> {
    let document = epitome_wire::RequestDocument::parse(history, Format::Anthropic).unwrap();
    document.entries().iter().map(EntryKey::for_entry).collect()
}

/// Records an epoch of a history that takes one of its messages out.
fn without(taken: usize, history: &[u8], journal: &MemoryStore) -> Compaction {
    let ops = vec![Op::Drop { entries: vec![EntryId(taken as u32)] }];
    let plan = Plan { ops, reason: String::new() };
    let mut epoch = epoch_of(
        &plan,
        &EpochGround {
            keys: &keys(history),
            tells: None,
            parent: None,
            number: 1,
            cause: CompactionCause::Hard,
        },
    )
    .unwrap();
    epoch.id = epoch.hash();
    let scope = epitome_config::scope::scope("default");
    let seen = journal.revision(&scope, "a").unwrap();
    journal.commit(&scope, "a", &epoch, &Eviction::default(), seen).unwrap();
    epoch
}

/// RULES 106: no conversation ends for a plan that its provider would refuse.
#[test]
fn a_compression_that_breaks_a_rule_is_not_applied() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = builder().policy(Beheads).session(journal.clone(), Some("a"));
    live.request_compression();
    let prompt = now(live.prompt_for(&request(3))).unwrap();
    assert_eq!(prompt.bytes, request(3));
    let [(cause, remedy)] = &refused(&prompt)[..] else { panic!("{:?}", prompt.events) };
    assert!(cause.contains(": messages[0]: "), "{cause}");
    assert_eq!(remedy, "the conversation goes on as it was");
    assert!(!has_epoch(&prompt));
    let next = now(live.prompt_for(&request(4))).unwrap();
    assert_eq!((next.bytes.to_vec(), refused(&next)), (request(4), Vec::new()));
    assert!(
        journal
            .compactions(&epitome_config::scope::scope("default"), "a", &keys(&request(4)))
            .unwrap()
            .recorded
            .is_empty()
    );
}

/// An older version, or one that sent to another provider, may have recorded such an epoch.
#[test]
fn an_epoch_that_breaks_a_rule_is_taken_back() {
    let journal = Arc::new(MemoryStore::new());
    now(builder().session(journal.clone(), Some("a")).prompt_for(&request(3))).unwrap();
    let epoch = without(1, &request(3), &journal);
    let mut live = builder().session(journal.clone(), Some("a"));
    let prompt = now(live.prompt_for(&request(4))).unwrap();
    assert_eq!((prompt.bytes.to_vec(), prompt.epoch), (request(4), None));
    let [(_, remedy)] = &refused(&prompt)[..] else { panic!("{:?}", prompt.events) };
    assert_eq!(*remedy, format!("compression {} was taken back", epoch.id.short()));
    let next = now(live.prompt_for(&request(5))).unwrap();
    assert_eq!((next.bytes.to_vec(), refused(&next)), (request(5), Vec::new()));
}

/// A history that was rewound to where a compression took the text that is typed last in it is sent
/// without that compression; once somebody says more, with it.
#[test]
fn an_epoch_waits_until_what_it_takes_is_free() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = builder().session(journal.clone(), Some("a"));
    now(live.prompt_for(&request(3))).unwrap();
    // Behind the system prompt, two answers and what they answer.
    let epoch = without(5, &request(2), &journal);
    let mut epochs = |answers| now(live.prompt_for(&request(answers))).unwrap().epoch;
    assert_eq!(epochs(3), Some(epoch.id));
    assert_eq!(epochs(2), None);
    assert_eq!(epochs(2), None);
    assert_eq!(epochs(3), Some(epoch.id));
}
