//! What the tests share: sizes, options, and what must hold of every view.

use std::collections::BTreeSet;

use epitome_kernel::types::{
    Budget, BudgetUnit, CheckpointPlacement, Edit, Entry, EntryId, Op, Part, PartBody, PartId,
    Speaker, SummaryStyle,
};
use epitome_kernel::{PinReason, SizeGauge, Summarizer, Thread, ThreadSizes, View};
use epitome_plan::{
    CompressOptions, ConstraintState, FitOutcome, KernelTexts, LadderRung, PlanAssembly, PlanMeans,
    PlannedCompression, RequestEnvelope, compress,
};
use epitome_testkit::{Chat, FixedCounter, Script, ScriptedSummarizer, chat, now};

pub(crate) const LADDER: [LadderRung; 8] = [
    LadderRung::Results,
    LadderRung::Inputs,
    LadderRung::Stubs,
    LadderRung::Lower,
    LadderRung::Merge,
    LadderRung::FoldUser,
    LadderRung::Chunks,
    LadderRung::SmallerTail,
];

pub(crate) fn sizes(thread: &Thread, unit: BudgetUnit) -> ThreadSizes<'static> {
    let counter = &FixedCounter::Quarters;
    ThreadSizes::measure(thread.entries(), SizeGauge { counter, unit }, 0)
}

pub(crate) fn tokens(most: u64) -> Budget {
    Budget { unit: BudgetUnit::Tokens, most }
}

pub(crate) fn options() -> CompressOptions {
    CompressOptions {
        keep_recent_share: 0.5,
        keep_recent_slack: 0.0,
        newest_results_share: 0.0,
        keep_recent_messages: None,
        minimum_gain: 0.05,
        digest_tokens: 24,
        style: SummaryStyle::Verbatim,
        originals: true,
        passages: true,
        passage_bytes: 400,
        ladder: LADDER.to_vec(),
        texts: KernelTexts {
            label: "[{messages} earlier messages, {id}]".to_owned(),
            label_short: "[{id}]".to_owned(),
            label_share: 0.1,
            marker: "[{lines} lines, {tokens} tokens: {id}]".to_owned(),
            stub: "[{call}: {tokens} tokens, {id}]".to_owned(),
            line_chars: 60,
        },
        state: None,
        demands: ConstraintState::default(),
        stand: CheckpointPlacement::default(),
        unbind: false,
        inputs: Vec::new(),
        envelope: RequestEnvelope::default(),
        policy: "test".to_owned(),
        hook: "plan".to_owned(),
    }
}

pub(crate) fn lines(count: usize) -> String {
    (0..count).map(|line| format!("line {line} of some file that was read\n")).collect()
}

pub(crate) fn session() -> Chat {
    let start =
        chat().system("Follow the rules.").user("Please look into the failing parser test.");
    let turns = (0..8).fold(start, |chat, turn| {
        chat.assistant("I will read the next file.")
            .call("read", &format!(r#"{{"path":"src/file{turn}.rs"}}"#))
            .result(&lines(20 + turn))
            .assistant("That file is fine, the cause is elsewhere.")
    });
    turns.user("Now fix it, please.").assistant("I fixed it.")
}

/// A plan that fits a budget, to be stepped by hand with one summariser.
pub(crate) fn fitting<'t>(
    thread: &'t Thread,
    options: &'t CompressOptions,
    most: u64,
) -> PlanAssembly<'t> {
    let counter = &FixedCounter::Quarters;
    PlanAssembly::new_fit(
        thread,
        options,
        PlanMeans { budget: tokens(most), counter, summarizers: 1 },
    )
}

/// Runs a compression with one scripted summariser.
pub(crate) fn run<'t>(
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    script: &Script,
) -> FitOutcome<'t> {
    let summarizer = ScriptedSummarizer::new(script.clone());
    run_with(thread, options, budget, &[&summarizer])
}

pub(crate) fn run_with<'t>(
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    now(compress(thread, options, budget, &FixedCounter::Quarters, summarizers))
}

pub(crate) fn compressed(outcome: FitOutcome<'_>) -> Box<PlannedCompression<'_>> {
    match outcome {
        FitOutcome::Compressed(compressed) => compressed,
        other => panic!("not compressed: {other:?}"),
    }
}

/// The texts of a view, one a message.
pub(crate) fn texts(view: &View<'_>) -> Vec<String> {
    view.entries().iter().map(|entry| entry.readable().into_owned()).collect()
}

/// What must hold of every view, whatever the plan.
pub(crate) fn assert_sound(thread: &Thread, view: &View<'_>) {
    for exchange in thread.exchanges() {
        let first = view.keeps(EntryId(exchange.entries.start as u32));
        let mut ids = exchange.entries.clone().map(|at| EntryId(at as u32));
        if ids.clone().all(|id| view.keeps(id) == first) {
            continue;
        }
        let talk = |part: &Part| {
            let said = matches!(&part.body, PartBody::Text(text) if !text.is_empty());
            part.within.is_none() && (said || matches!(part.body, PartBody::Image(_)))
        };
        let silent = |id| !thread.entry(id).expect("an entry").parts.iter().any(talk);
        assert!(ids.all(|id| view.keeps(id) || silent(id)), "torn: {exchange:?}");
    }
    let entries = view.entries();
    let [called, answered] = linked(thread.entries());
    let [sent_calls, sent_results] = linked(&entries);
    for id in called.intersection(&answered) {
        assert_eq!(sent_calls.contains(id), sent_results.contains(id), "{id} is parted");
    }
    for entry in thread.entries() {
        let Some(pin) = thread.pinned(entry.id) else { continue };
        assert!(view.keeps(entry.id), "{} was pinned: {pin:?}", entry.id);
        let same = |other: &&Entry| other.role == entry.role && other.parts == entry.parts;
        if matches!(pin, PinReason::System | PinReason::ByHand) {
            assert!(entries.iter().find(same).is_some(), "{} was changed", entry.id);
        }
        if matches!(pin, PinReason::Typed | PinReason::Note) {
            // What a newer note states anew is nothing that anybody typed.
            let own = |(at, part): &(u32, &Part)| {
                let id = PartId { entry: entry.id, part: *at };
                part.within.is_none() && !is_result(part) && !thread.is_stale(id)
            };
            let texts: Vec<_> = (0..).zip(&entry.parts).filter(own).map(|(_, it)| it).collect();
            let holds = |other: &Entry| texts.iter().all(|part| other.parts.contains(part));
            assert!(entries.iter().any(holds), "{} was changed", entry.id);
        }
    }
    for exchange in thread.exchanges() {
        for subject in thread.stated(exchange) {
            let is_it = |part: &&Part| part.note.as_ref().is_some_and(|it| it.subject == subject);
            let parts = || thread.entries().iter().flat_map(|entry| &entry.parts);
            let newest = parts().rfind(is_it);
            let mut sent = entries.iter().flat_map(|entry| &entry.parts);
            assert!(sent.any(|part| Some(part) == newest), "{subject} is not stated");
        }
    }
    assert_eq!(edited(thread.entries(), &view.edits()), entries, "edits and view differ");
    for edit in view.edits() {
        let Edit::SetText { part, text } = edit else { continue };
        let failing = thread.failing_lines(part);
        let is_told = failing.iter().any(|line| text.contains(line));
        assert!(failing.is_empty() || is_told, "{part:?} no longer says that it failed: {text}");
    }
    let order: Vec<_> = thread.entries().iter().filter(|entry| view.keeps(entry.id)).collect();
    let mut rest = entries.iter();
    for entry in order {
        let among = |few: Vec<&str>, all: Vec<&str>| few.iter().all(|id| all.contains(id));
        let place = |other: &Entry| other.role == entry.role && among(calls(other), calls(entry));
        assert!(rest.any(place), "{} is out of order", entry.id);
    }
}

/// The ids of calls, and of those that are answered.
pub(crate) fn linked(entries: &[Entry]) -> [BTreeSet<String>; 2] {
    let mut linked = [BTreeSet::new(), BTreeSet::new()];
    for part in entries.iter().flat_map(|entry| &entry.parts) {
        let [calls, results] = &mut linked;
        match &part.body {
            PartBody::Call(call) => drop(calls.insert(call.id.clone())),
            PartBody::Result(result) => drop(results.insert(result.call.clone())),
            PartBody::Opaque(opaque) => {
                calls.extend(opaque.calls.clone());
                results.extend(opaque.answers.clone());
            }
            _ => {}
        }
    }
    linked
}

fn is_result(part: &Part) -> bool {
    matches!(part.body, PartBody::Result(_))
}

fn calls(entry: &Entry) -> Vec<&str> {
    entry.calls().map(|call| &*call.id).chain(entry.results().map(|result| &*result.call)).collect()
}

const GONE: &str = "gone";

/// Applies edits to entries by the letter of their documentation.
fn edited(entries: &[Entry], edits: &[Edit]) -> Vec<Entry> {
    let mut out: Vec<(Option<EntryId>, Entry)> =
        entries.iter().map(|entry| (Some(entry.id), entry.clone())).collect();
    for edit in edits {
        match edit {
            Edit::RemoveEntry(id) => out.retain(|(own, _)| *own != Some(*id)),
            Edit::RemovePart(part) => {
                let entry = out.iter_mut().find(|(own, _)| *own == Some(part.entry));
                let parts = &mut entry.expect("a kept entry").1.parts;
                // Marked here, so that what comes after it keeps its number for now.
                parts[part.part as usize].known_as = Some(GONE.to_owned());
                let inner = parts.iter_mut().filter(|inner| inner.within == Some(part.part));
                inner.for_each(|inner| inner.known_as = Some(GONE.to_owned()));
            }
            Edit::SetText { part, text } => {
                let entry = out.iter_mut().find(|(own, _)| *own == Some(part.entry));
                set(&mut entry.expect("a kept entry").1, *part, text);
            }
            Edit::Insert { after, role, text } => {
                let behind = after.map_or(0, |after| {
                    1 + out.iter().position(|(own, _)| *own == Some(after)).expect("a kept anchor")
                });
                let new = out[behind..].iter().take_while(|(own, _)| own.is_none()).count();
                let part = Part {
                    body: PartBody::Text(text.clone()),
                    speaker: Speaker::Harness,
                    within: None,
                    known_as: None,
                    note: None,
                    files: Box::default(),
                };
                let bytes = text.len() as u32;
                let entry =
                    Entry { id: EntryId(0), role: *role, parts: vec![part], bytes, at: None };
                out.insert(behind + new, (None, entry));
            }
        }
    }
    out.iter_mut().for_each(|(_, entry)| without_gone(&mut entry.parts));
    out.into_iter()
        .zip(0..)
        .map(|((_, entry), place)| Entry { id: EntryId(place), ..entry })
        .collect()
}

fn without_gone(parts: &mut Vec<Part>) {
    while let Some(at) = parts.iter().position(|part| part.known_as.as_deref() == Some(GONE)) {
        parts.remove(at);
        for part in parts.iter_mut() {
            part.within = part.within.map(|outer| outer - u32::from(outer > at as u32));
        }
    }
}

fn set(entry: &mut Entry, part: PartId, text: &str) {
    match &mut entry.parts[part.part as usize].body {
        PartBody::Text(old) => *old = text.to_owned(),
        PartBody::Result(result) => result.text = text.to_owned(),
        PartBody::Call(call) => call.arguments = text.to_owned(),
        other => panic!("{other:?} has no text"),
    }
}

/// Every text of an entry that left, and the original of every text that was cut, is in a blob.
pub(crate) fn assert_recorded(thread: &Thread, done: &PlannedCompression<'_>) {
    let blobs: String = done.departure.blobs.iter().map(|blob| &*blob.text).collect();
    let has = |text: &str| blobs.contains(text.trim_end_matches('\n'));
    for entry in thread.entries().iter().filter(|entry| !done.view.keeps(entry.id)) {
        assert!(entry.texts().all(has), "{} left unrecorded", entry.id);
    }
    for op in &done.plan.ops {
        if let Op::Strip { parts } = op {
            for part in parts.iter().flat_map(|&part| thread.with_inner(part)) {
                let text = thread.part(part).and_then(Part::text).unwrap_or_default();
                assert!(has(text), "{part:?} left unrecorded");
            }
        }
        let Op::Replace { part, .. } = op else { continue };
        let text = thread.part(*part).and_then(Part::original).expect("a text");
        assert!(has(text), "{part:?} was shortened unrecorded");
    }
    for (entry, id, _) in &done.departure.sources {
        assert!(done.departure.blobs.iter().any(|blob| blob.id == *id), "{entry} has no original");
    }
    for passage in &done.departure.passages {
        assert!(done.departure.sources.iter().any(|source| source.0 == passage.entry));
    }
}
