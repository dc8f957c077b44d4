//! Truncated arguments of calls: what becomes of them, and what is refused.

use std::collections::BTreeSet;

use epitome_kernel::types::hook::{How as Shortened, MessageNumber, OpRequest, Replace};
use epitome_kernel::types::{BudgetUnit, ContentId, EntryId, Op, PartId, Plan, ReplaceMethod};
use epitome_kernel::{PinReason, PlanError, PlanFault, SizeGauge, Thread, ThreadSizes, apply};
use epitome_plan::{
    CompressOptions, FitOutcome, LadderRung, PlanAssembly, PlanMeans, PlannedCompression,
};
use epitome_testkit::{Chat, FixedCounter, Script, chat};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use crate::assembly::{PLENTY, make, ordered, summarize};
use crate::help::{
    assert_recorded, assert_sound, compressed, lines, linked, options, run, texts, tokens,
};

const WITH: &str = "on disk, {tokens} tokens: {id}";

fn truncate(entry: u32, call: Option<u32>, with: Option<&str>) -> OpRequest {
    let (how, with) = (Shortened::TruncateInput, with.map(str::to_owned));
    OpRequest::Replace(Replace {
        entry: MessageNumber(entry + 1),
        how,
        text: with,
        target: None,
        call,
    })
}

fn write(path: &str, content: &str) -> String {
    json!({ "file_path": path, "content": content }).to_string()
}

/// A file is read and two are written in one message, then somebody goes on.
fn session() -> Chat {
    chat()
        .user("Write them.")
        .assistant("I write both.")
        .call("read", r#"{"path":"c.rs"}"#)
        .call("write", &write("a.rs", &lines(12)))
        .call("write", &write("b.rs", &lines(9)))
        .result("fn main() {}")
        .result("written")
        .result("written")
        .assistant("Both are there.")
        .user("Now go on.")
}

fn ground(chat: Chat) -> (Thread, CompressOptions) {
    (Thread::new(chat.entries(), &[]), options())
}

#[track_caller]
fn done<'t>(
    ground: &'t (Thread, CompressOptions),
    standing: &Plan,
    ops: Vec<OpRequest>,
) -> Box<PlannedCompression<'t>> {
    let done = compressed(make(ground, PLENTY, standing, ops, &[]));
    assert_sound(&ground.0, &done.view);
    assert_recorded(&ground.0, &done);
    done
}

#[test]
fn the_call_of_that_number_keeps_its_names_and_its_result() {
    let ground = ground(session());
    let done = done(&ground, &Plan::default(), vec![truncate(1, Some(2), Some(WITH))]);
    let part = PartId { entry: EntryId(1), part: 2 };
    let [Op::Replace { part: of, with, how: ReplaceMethod::TruncateInput }] = &done.plan.ops[..]
    else {
        panic!("{:?}", done.plan)
    };
    let was = write("a.rs", &lines(12));
    let size = (was.len() as u64).div_ceil(4) + 2;
    let id = ContentId::for_text(&was);
    let said = format!("on disk, {size} tokens: {}", id.short());
    assert_eq!((*of, with), (part, &write("a.rs", &said)));
    assert!(texts(&done.view)[1].contains(&write("b.rs", &lines(9))), "the other call is whole");
    let blob = done.departure.blobs.iter().find(|blob| blob.id == id).expect("the original");
    assert_eq!(blob.text, was);
    let found: Vec<_> = done.departure.passages.iter().map(|one| &*one.text).collect();
    assert_eq!(found.join("\n"), lines(12).trim_end(), "searched without escapes");
    let report = &done.ops[0];
    assert_eq!((report.op, &*report.reason), ("truncate_input", "what it wrote is on disk"));
    assert_eq!(report.tokens_before, size);
    assert_eq!(done.size[0] - done.size[1], size - report.tokens_after);
}

#[test]
fn what_is_truncated_stays_so_and_is_truncated_once() {
    let ground = ground(session());
    let order = || vec![truncate(1, Some(2), Some(WITH))];
    let first = done(&ground, &Plan::default(), order()).plan;
    assert_eq!(done(&ground, &first, order()).plan.ops, first.ops);
    let more = done(&ground, &first, vec![truncate(1, Some(3), Some("on disk"))]).plan;
    assert_eq!((more.ops.len(), &more.ops[0]), (2, &first.ops[0]));
    let covered = done(&ground, &more, vec![summarize(1, 6, 60)]).plan;
    assert!(matches!(covered.ops[..], [Op::Summarize(_)]), "{covered:?}");
    let after = make(&ground, PLENTY, &covered, order(), &[]);
    assert_eq!(compressed(after).plan.ops, covered.ops, "what left is passed over");
}

#[test]
fn what_is_not_smaller_stays() {
    let ground = ground(session());
    let long = lines(40);
    let ops = vec![truncate(1, Some(2), Some(&long)), truncate(1, Some(3), Some(WITH))];
    let done = done(&ground, &Plan::default(), ops);
    assert!(matches!(done.plan.ops[..], [Op::Replace { part: PartId { part: 3, .. }, .. }]));
}

#[track_caller]
fn check_order(order: OpRequest, expected: &str) {
    let (thread, options) = ground(session());
    let counter = &FixedCounter::Quarters;
    let plan = Plan::default();
    let made = PlanAssembly::new(
        &thread,
        &options,
        PlanMeans { budget: tokens(PLENTY), counter, summarizers: 0 },
        plan,
        &ordered(vec![order]),
    );
    assert_eq!(made.expect_err("no such call").to_string(), expected);
}

#[test]
fn orders_name_calls_that_are_there() {
    check_order(
        truncate(1, Some(4), Some(WITH)),
        "message 2 has no call 4; it has 3, counted from 1",
    );
    check_order(
        truncate(1, Some(0), Some(WITH)),
        "message 2 has no call 0; it has 3, counted from 1",
    );
    check_order(truncate(0, None, Some(WITH)), "message 1 has no call 1; it has 0, counted from 1");
    check_order(
        truncate(1, Some(2), None),
        "`truncate_input` of message 2 needs `text`: what the call wrote, and where",
    );
}

/// A plan that replaces one part is refused for this reason.
#[track_caller]
fn check_refused(
    thread: &Thread,
    (entry, part): (u32, u32),
    how: ReplaceMethod,
    with: &str,
    fault: PlanFault,
) {
    let gauge = SizeGauge { counter: &FixedCounter::Quarters, unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
    let part = PartId { entry: EntryId(entry), part };
    let ops = vec![Op::Replace { part, with: with.to_owned(), how }];
    let refused = apply(thread, &sizes, &Plan { ops, reason: String::new() });
    assert_eq!(refused.err(), Some(PlanError { op: 0, fault }));
}

#[test]
fn only_calls_that_are_free_are_truncated_and_only_so() {
    let part = |entry, part| PartId { entry: EntryId(entry), part };
    let truncate = ReplaceMethod::TruncateInput;
    let (thread, _) = ground(session());
    check_refused(&thread, (1, 2), ReplaceMethod::Cut, "{}", PlanFault::NotText(part(1, 2)));
    check_refused(&thread, (1, 0), truncate, "{}", PlanFault::NotCall(part(1, 0)));
    check_refused(&thread, (1, 9), truncate, "{}", PlanFault::UnknownPart(part(1, 9)));
    check_refused(&thread, (1, 2), truncate, " ", PlanFault::Empty);
    let large = write("a.rs", &lines(13));
    let fault = PlanFault::NotSmaller { before: 116, after: 125 };
    check_refused(&thread, (1, 2), truncate, &large, fault);

    let by_hand = Thread::new(session().entries(), &[EntryId(1)]);
    let pinned = |entry, pin| PlanFault::Pinned { entry: EntryId(entry), pin };
    check_refused(&by_hand, (1, 2), truncate, "{}", pinned(1, PinReason::ByHand));
    let open = chat().user("Go.").call("write", &write("a.rs", &lines(9)));
    let open = Thread::new(open.entries(), &[]);
    check_refused(&open, (1, 0), truncate, "{}", pinned(1, PinReason::Pending));
    let thinks = chat().user("Go.").thinking("hm").call("write", &write("a.rs", &lines(9)));
    let thinks = Thread::new(thinks.result("written").entries(), &[]);
    check_refused(&thinks, (1, 1), truncate, "{}", PlanFault::Thinking(part(1, 1)));
}

/// The calls whose arguments the ladder truncates, of seven writes in a row of which so many are
/// on disk.
#[track_caller]
fn check_rung(ladder: &[LadderRung], on_disk: u32, expected: &[u32]) {
    let talk = (0..7).fold(chat().user("Write."), |talk, file| {
        let talk = talk.call("write", &write(&format!("f{file}.rs"), &lines(12)));
        talk.result("written").user("More.")
    });
    let thread = Thread::new(talk.entries(), &[]);
    let part = |file| PartId { entry: EntryId(3 * file + 1), part: 0 };
    let options = CompressOptions {
        keep_recent_messages: Some(9),
        ladder: ladder.to_vec(),
        inputs: (0..on_disk).map(part).collect(),
        ..options()
    };
    let done = compressed(run(&thread, &options, tokens(500), &Script::Least(200)));
    assert_sound(&thread, &done.view);
    assert_recorded(&thread, &done);
    let found = done.plan.ops.iter().filter_map(|op| match op {
        Op::Replace { part, with, how: ReplaceMethod::TruncateInput } => {
            assert!(with.contains("[12 lines, 1"), "{with}");
            Some(part.entry.0)
        }
        _ => None,
    });
    assert_eq!(found.collect::<Vec<_>>(), expected, "{ladder:?} {on_disk}");
}

#[test]
fn the_ladder_truncates_what_is_on_disk_but_for_the_newest_exchange() {
    check_rung(&[LadderRung::Inputs, LadderRung::Chunks], 7, &[13, 16]);
    check_rung(&[LadderRung::Inputs, LadderRung::SmallerTail, LadderRung::Chunks], 6, &[13, 16]);
    check_rung(&[LadderRung::Inputs, LadderRung::SmallerTail, LadderRung::Chunks], 0, &[]);
    check_rung(&[LadderRung::SmallerTail, LadderRung::Chunks], 7, &[]);
}

proptest! {
    /// Whatever is truncated, calls and results stay together and nothing grows.
    #[test]
    fn pairs_stay_whole(
        turns in prop::collection::vec((1usize..30, 1usize..4), 1..5),
        picked in prop::collection::vec(any::<Index>(), 1..6),
        by_hand in prop::collection::vec(0u32..12, 0..2),
    ) {
        let mut calls = Vec::new();
        let mut at = 1;
        let talk = turns.iter().fold(chat().user("Write."), |talk, &(size, count)| {
            calls.extend((1..=count as u32).map(|call| (at, call)));
            at += count as u32 + 2;
            let talk = (0..count).fold(talk, |talk, call| {
                talk.call("write", &write(&format!("f{call}.rs"), &lines(size + call)))
            });
            (0..count).fold(talk, |talk, _| talk.result("written")).user("More.")
        });
        let by_hand: Vec<_> = by_hand.into_iter().map(EntryId).collect();
        let ground = (Thread::new(talk.entries(), &by_hand), options());
        let picked: BTreeSet<_> = picked.iter().map(|one| *one.get(&calls)).collect();
        let pinned = picked.iter().any(|(at, _)| ground.0.pinned(EntryId(*at)).is_some());
        let ops = picked.iter().map(|&(at, call)| truncate(at, Some(call), Some(WITH))).collect();
        let done = match make(&ground, PLENTY, &Plan::default(), ops, &[]) {
            FitOutcome::Compressed(done) => done,
            // Arguments that are no longer than what would stand in their place.
            FitOutcome::NothingToDo { .. } => return Ok(()),
            other => {
                prop_assert!(pinned, "{:?}", other);
                return Ok(());
            }
        };
        prop_assert!(!pinned || picked.len() > done.plan.ops.len());
        assert_sound(&ground.0, &done.view);
        assert_recorded(&ground.0, &done);
        prop_assert_eq!(linked(ground.0.entries()), linked(&done.view.entries()));
        prop_assert!(done.size[1] < done.size[0]);
        let counter = &FixedCounter::Quarters;
        let counted = ThreadSizes::measure(&done.view.entries(), SizeGauge { counter, unit: BudgetUnit::Tokens }, 0);
        prop_assert_eq!(counted.total(), done.size[1], "sizes are what is sent");
    }
}
