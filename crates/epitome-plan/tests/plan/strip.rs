//! Tool calls and results that leave while the talk stays (RULES 36), by op and by order.

use epitome_kernel::types::hook::{ClearToolsOp, How as Shortened, OpRequest};
use epitome_kernel::types::{
    BudgetUnit, CompactionCause, Edit, Entry, EntryId, EntryKey, Op, PartBody, PartId, Plan,
    RecordedCompaction, ReplaceMethod,
};
use epitome_kernel::{
    CompactionLineage, EpochGround, PinReason, PlanFault, Thread, apply, epoch_of, identity,
};
use epitome_plan::{CompressOptions, FitOutcome, PlannedCompression, evicted};
use epitome_testkit::{Chat, Script, ScriptedSummarizer, chat, conversation};
use proptest::prelude::*;

use crate::assembly::{PLENTY, make, places, replace, summarize};
use crate::help::{
    assert_recorded, assert_sound, compressed, lines, linked, options, sizes, texts,
};

fn strip(from: u32, to: u32) -> OpRequest {
    OpRequest::ClearTools(ClearToolsOp { entries: places(from, to) })
}

fn part(entry: u32, part: u32) -> PartId {
    PartId { entry: EntryId(entry), part }
}

fn parts(parts: &[(u32, u32)]) -> Op {
    Op::Strip { parts: parts.iter().map(|&(entry, at)| part(entry, at)).collect() }
}

fn drop(entries: &[u32]) -> Op {
    Op::Drop { entries: entries.iter().map(|&id| EntryId(id)).collect() }
}

/// Two exchanges of talk and tools, one of tools alone, and the latest reply, which reasons.
fn talk() -> Chat {
    chat()
        .system("rules")
        .user("look")
        .assistant("I look twice")
        .call("read", r#"{"path":"a.rs"}"#)
        .call("read", r#"{"path":"b.rs"}"#)
        .user_result(&lines(9))
        .user_result_blocks(&lines(7))
        .and("and the tests")
        .thinking("hm")
        .call("cat", "{}")
        .result(&lines(5))
        .assistant("searching")
        .server_tool("query", "found")
        .user("what now")
        .thinking("well")
        .and("one more")
        .call("read", "{}")
        .result("short")
        .user("go on")
}

#[track_caller]
fn done<'t>(
    ground: &'t (Thread, CompressOptions),
    standing: &Plan,
    ops: Vec<OpRequest>,
) -> Box<PlannedCompression<'t>> {
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let done = compressed(make(ground, PLENTY, standing, ops, &[&summarizer]));
    assert_sound(&ground.0, &done.view);
    assert_recorded(&ground.0, &done);
    done
}

fn ground(chat: Chat) -> (Thread, CompressOptions) {
    (Thread::new(chat.entries(), &[]), options())
}

#[test]
fn the_talk_of_an_exchange_stays() {
    let ground = ground(talk());
    let done = done(&ground, &Plan::default(), vec![strip(0, 11)]);
    assert_eq!(
        done.plan.ops,
        [parts(&[(2, 1), (2, 2), (3, 0), (3, 1), (6, 1), (6, 2)]), drop(&[4, 5])]
    );
    let texts = texts(&done.view);
    let left = ["rules", "look", "I look twice", "and the tests", "searching", "what now"];
    assert_eq!(texts[..6], left);
    assert!(texts[6].starts_with("one more\nread("), "the latest reasoning: {texts:?}");
    let sizes = sizes(&ground.0, BudgetUnit::Tokens);
    let saved: u64 = done.ops.iter().map(|op| op.tokens_before).sum();
    assert_eq!(done.size[1], sizes.total() - saved);
    let report = done.ops.iter().find(|op| op.op == "strip").expect("a report");
    assert_eq!(report.entries, ["e2", "e3", "e6"]);
    assert_eq!(report.tokens_before, sizes.total() - sizes.sum([4, 5].map(EntryId)) - done.size[1]);
}

#[test]
fn what_left_can_be_found_again() {
    let ground = ground(talk());
    let done = done(&ground, &Plan::default(), vec![strip(0, 11)]);
    let blobs = &done.departure.blobs;
    let said = |text: &str| blobs.iter().find(|blob| blob.text.contains(text)).expect("a blob");
    let calls = said("b.rs");
    assert!(!calls.text.contains("I look twice"), "{}: what stays is no loss", calls.text);
    assert!(said("line 8 ").text.contains("line 6 ") && !said("line 8 ").text.contains("tests"));
    assert_eq!(said("query").source, "e6 assistant");
    let offloaded: Vec<_> = done.offloaded.iter().map(|one| &*one.tool).collect();
    assert_eq!(offloaded, ["read", "read", "cat"]);
    assert!(blobs.iter().any(|blob| blob.id.to_string() == done.offloaded[0].id));
    // A host's own plan leaves the same behind.
    let sizes = sizes(&ground.0, BudgetUnit::Tokens);
    let again = evicted(&ground.0, &sizes, &done.plan, 400, 60);
    assert_eq!(again.blobs, *blobs);
    assert_eq!(again.passages, done.departure.passages);
}

#[track_caller]
fn check_refused(ops: Vec<Op>, op: usize, fault: PlanFault) {
    let thread = Thread::new(talk().entries(), &[]);
    let plan = Plan { ops, reason: String::new() };
    let error = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect_err("refused");
    assert_eq!((error.op, error.fault), (op, fault));
}

#[test]
fn what_a_strip_may_not_do() {
    let torn = |entry, first, last| PlanFault::Torn {
        entry: EntryId(entry),
        first: EntryId(first),
        last: EntryId(last),
    };
    check_refused(vec![parts(&[])], 0, PlanFault::Nothing);
    check_refused(vec![parts(&[(99, 0)])], 0, PlanFault::UnknownEntry(EntryId(99)));
    check_refused(vec![parts(&[(2, 9)])], 0, PlanFault::UnknownPart(part(2, 9)));
    check_refused(vec![parts(&[(0, 0)])], 0, PlanFault::System(EntryId(0)));
    check_refused(
        vec![parts(&[(10, 0)])],
        0,
        PlanFault::Pinned { entry: EntryId(10), pin: PinReason::Typed },
    );
    check_refused(vec![parts(&[(2, 0)])], 0, PlanFault::NotTool(part(2, 0)));
    check_refused(vec![parts(&[(3, 2)])], 0, PlanFault::NotTool(part(3, 2)));
    check_refused(vec![parts(&[(8, 2)])], 0, PlanFault::Thinking(part(8, 2)));
    check_refused(vec![parts(&[(4, 1)])], 0, PlanFault::Emptied(EntryId(4)));
    check_refused(vec![parts(&[(2, 2), (2, 1)])], 0, PlanFault::OutOfOrder(EntryId(2)));
    // A call without its result, a result without its call.
    check_refused(vec![parts(&[(2, 1)])], 0, torn(2, 2, 3));
    check_refused(vec![parts(&[(3, 0)])], 0, torn(3, 2, 3));
    check_refused(vec![parts(&[(6, 2)])], 0, torn(6, 6, 6));
    check_refused(vec![parts(&[(2, 1), (3, 1)])], 0, torn(2, 2, 3));
    let twice = |entry| PlanFault::TouchedTwice { entry: EntryId(entry), other: 0 };
    let both = || parts(&[(2, 1), (3, 0)]);
    check_refused(vec![both(), both()], 1, twice(2));
    check_refused(vec![both(), drop(&[2, 3])], 1, twice(2));
    check_refused(vec![drop(&[2, 3]), both()], 1, twice(2));
    let shorter = |entry, at| Op::Replace {
        part: part(entry, at),
        with: "x".into(),
        how: ReplaceMethod::Cut,
    };
    check_refused(vec![both(), shorter(3, 0)], 1, twice(3));
    // A text within a result leaves with it.
    check_refused(vec![parts(&[(2, 2), (3, 1)]), shorter(3, 2)], 1, twice(3));
    check_refused(vec![shorter(3, 2), parts(&[(2, 2), (3, 1)])], 1, twice(3));
}

#[test]
fn one_of_two_calls_may_leave() {
    let thread = Thread::new(talk().entries(), &[]);
    let sizes = sizes(&thread, BudgetUnit::Tokens);
    for pair in [[(2, 1), (3, 0)], [(2, 2), (3, 1)]] {
        let plan = Plan { ops: vec![parts(&pair)], reason: String::new() };
        let view = apply(&thread, &sizes, &plan).expect("a pair");
        assert_sound(&thread, &view);
        let [calls, results] = linked(&view.entries());
        assert_eq!(calls, results);
        assert_eq!(calls.len(), linked(thread.entries())[0].len() - 1);
    }
}

#[test]
fn what_is_stripped_stays_so_and_is_not_stripped_twice() {
    let ground = ground(talk());
    let first = done(&ground, &Plan::default(), vec![strip(0, 4)]);
    assert_eq!(first.plan.ops, [parts(&[(2, 1), (2, 2), (3, 0), (3, 1)])]);
    let second = done(&ground, &first.plan, vec![strip(0, 11)]);
    let whole = done(&ground, &Plan::default(), vec![strip(0, 11)]);
    assert_eq!(second.plan.ops, whole.plan.ops, "one op of either kind");
    let again = done(&ground, &second.plan, vec![strip(0, 11)]);
    assert_eq!(again.plan.ops, whole.plan.ops);
    // Nothing to take: nothing is done.
    let none = make(&ground, PLENTY, &Plan::default(), vec![strip(0, 2)], &[]);
    assert!(matches!(none, FitOutcome::NothingToDo { .. }), "{none:?}");
}

#[test]
fn a_result_that_was_made_smaller_leaves_too() {
    let ground = ground(talk());
    let mask = replace(5, Shortened::Mask, Some("[m]"), None);
    let standing = done(&ground, &Plan::default(), vec![mask.clone()]).plan;
    let done = done(&ground, &standing, vec![strip(4, 6)]);
    assert_eq!(done.plan.ops, [drop(&[4, 5])]);
    // What has left cannot be made smaller.
    let gone = self::done(&ground, &Plan::default(), vec![strip(2, 4)]).plan;
    let digest = replace(3, Shortened::Cut, None, Some(20));
    let after = self::done(&ground, &gone, vec![digest]);
    assert_eq!(after.plan.ops, gone.ops, "its own text is too short, its results are gone");
}

#[test]
fn a_checkpoint_takes_what_was_stripped() {
    let ground = ground(talk());
    let standing = done(&ground, &Plan::default(), vec![strip(0, 11)]).plan;
    let some = done(&ground, &standing, vec![summarize(2, 5 + 1, 60)]);
    let ops = &some.plan.ops;
    assert!(matches!(&ops[0], Op::Summarize(one) if one.covers.len() == 4), "{ops:?}");
    assert_eq!(ops[1..], [parts(&[(6, 1), (6, 2)])]);
    // In one plan the checkpoint goes first, whatever the order.
    let both = done(&ground, &Plan::default(), vec![strip(0, 11), summarize(2, 6, 60)]);
    let covers = |op: &Op| match op {
        Op::Summarize(one) => one.covers.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((covers(&both.plan.ops[0]), &both.plan.ops[1..]), (covers(&ops[0]), &ops[1..]));
    // Without words all stays as it was.
    let none = done(&ground, &standing, vec![summarize(2, 6, 1)]);
    let view = |plan: &Plan| {
        apply(&ground.0, &sizes(&ground.0, BudgetUnit::Tokens), plan).expect("a plan").entries()
    };
    assert_eq!(view(&none.plan), view(&standing));
}

#[test]
fn an_epoch_that_strips_applies_wherever_its_run_stands() {
    let ground = ground(talk());
    let plan = done(&ground, &Plan::default(), vec![strip(0, 11)]).plan;
    let entries = ground.0.entries().to_vec();
    let keys = |entries: &[Entry]| entries.iter().map(EntryKey::for_entry).collect::<Vec<_>>();
    let mut epoch = epoch_of(
        &plan,
        &EpochGround {
            keys: &keys(&entries),
            tells: None,
            parent: None,
            number: 1,
            cause: CompactionCause::Manual,
        },
    )
    .expect("an epoch");
    epoch.id = epoch.hash();
    assert_eq!(epoch.covered.len, 5, "from the first call to the search");
    let lineage = CompactionLineage::new(vec![RecordedCompaction::from(epoch)]);
    let mut longer = chat().system("another day").entries();
    longer.extend(entries.iter().skip(1).cloned());
    longer.extend(chat().assistant("and more").entries());
    let thread = Thread::new(longer.clone(), &[]);
    let in_force = lineage.in_force(&thread, &keys(&longer)).expect("in force");
    assert_eq!(in_force.plan(), plan);
    let removed = |edit: &&Edit| matches!(edit, Edit::RemovePart(_));
    assert_eq!(in_force.view.edits().iter().filter(removed).count(), 6);
    // One that was pinned since is not taken, and the rest of the epoch with it.
    let pinned = Thread::new(longer.clone(), &[EntryId(3)]);
    assert!(lineage.in_force(&pinned, &keys(&longer)).is_none());
    let short = Thread::new(longer[..5].to_vec(), &[]);
    assert_eq!(identity(&short).edits(), []);
    assert!(lineage.in_force(&short, &keys(&longer[..5])).is_none());
}

/// What was said: texts of the person, the model and the harness, in order.
fn said(entries: &[Entry]) -> Vec<&str> {
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    // Of what a client states the newest counts.
    let own = parts.filter(|part| part.within.is_none() && part.note.is_none());
    let texts = own.filter_map(|part| match &part.body {
        PartBody::Text(text) if !text.is_empty() => Some(&**text),
        _ => None,
    });
    texts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Whatever is stripped in whatever order: no call without its result, no text lost.
    #[test]
    fn no_call_is_left_alone_and_no_text_is_lost(
        entries in conversation(20),
        runs in prop::collection::vec((any::<prop::sample::Index>(), 1..12_usize), 1..5),
        pins in prop::collection::vec(any::<prop::sample::Index>(), 0..2),
    ) {
        let pins: Vec<_> = pins.iter().map(|at| EntryId(at.index(entries.len()) as u32)).collect();
        let ground = (Thread::new(entries, &pins), options());
        let thread = &ground.0;
        let mut standing = Plan::default();
        for (at, length) in runs {
            let from = at.index(thread.entries().len());
            let to = (from + length).min(thread.entries().len());
            let order = strip(from as u32, to as u32);
            let done = match make(&ground, PLENTY, &standing, vec![order], &[]) {
                FitOutcome::Compressed(done) => done,
                FitOutcome::NothingToDo { .. } => continue,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            assert_sound(thread, &done.view);
            assert_recorded(thread, &done);
            let sent = done.view.entries();
            prop_assert_eq!(said(&sent), said(thread.entries()));
            let now = Thread::new(sent.clone(), &[]);
            let broken = |thread: &Thread| {
                thread.exchanges().iter().filter(|one| one.broken).count()
            };
            prop_assert!(broken(&now) <= broken(thread), "{:?}", sent);
            for unit in [BudgetUnit::Tokens, BudgetUnit::Chars, BudgetUnit::Bytes] {
                let sizes = sizes(thread, unit);
                let again = self::sizes(&now, unit);
                if unit == BudgetUnit::Bytes {
                    prop_assert!(done.view.size(&sizes) < sizes.total());
                } else {
                    prop_assert_eq!(done.view.size(&sizes), again.total());
                }
            }
            // Nothing that was stripped comes back.
            let [before, after] = [&standing, &done.plan].map(|plan| {
                apply(thread, &sizes(thread, BudgetUnit::Tokens), plan).expect("sound").edits()
            });
            prop_assert!(before.iter().all(|edit| after.contains(edit)
                || matches!(edit, Edit::RemovePart(part) if after.contains(&Edit::RemoveEntry(part.entry)))));
            standing = done.plan.clone();
        }
    }
}
