//! The state of the work: where a plan puts it, what it costs, and that there is one of it.

use epitome_kernel::types::hook::{ClearToolsOp, Drop, How as Shortened, OpRequest, Rollover};
use epitome_kernel::types::{BudgetUnit, EntryId, Op, Plan, Role, SummaryKind};
use epitome_kernel::{InsertedKind, PlanFault, Thread, ViewItem, apply};
use epitome_plan::{CompressOptions, FitOutcome, PlannedCompression};
use epitome_testkit::{Script, ScriptedSummarizer, chat};

use crate::assembly::{PLENTY, ground, insert, make, places, replace, summarize};
use crate::help::{
    assert_recorded, assert_sound, compressed, lines, options, run, run_with, session, sizes,
    texts, tokens,
};

const STATE: &str = "[State]\nGoal: fix the parser.\nNever touch the lock file.";

fn stating(text: &str) -> (Thread, CompressOptions) {
    let (thread, options) = ground();
    (thread, CompressOptions { state: Some(text.to_owned()), ..options })
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

/// The place of the state and its text.
fn states(plan: &Plan) -> Vec<(Option<EntryId>, &str)> {
    let of = |op| match op {
        &Op::State { after, ref text } => Some((after, &**text)),
        _ => None,
    };
    plan.ops.iter().filter_map(of).collect()
}

#[track_caller]
fn check_place(ops: Vec<OpRequest>, after: u32) {
    let ground = stating(STATE);
    let done = done(&ground, &Plan::default(), ops);
    assert_eq!(states(&done.plan), [(Some(EntryId(after)), STATE)]);
}

#[test]
fn it_stands_behind_the_newest_checkpoint_or_what_left_last() {
    check_place(vec![summarize(2, 8, 150), summarize(8, 11, 120)], 10);
    let drop = OpRequest::Drop(Drop { entries: places(14, 17) });
    check_place(vec![summarize(2, 8, 150), drop.clone()], 7);
    check_place(vec![drop], 16);
    check_place(vec![OpRequest::ClearTools(ClearToolsOp { entries: places(2, 9) })], 9);
    check_place(vec![replace(8, Shortened::Mask, Some("[m]"), None)], 9);
    check_place(vec![OpRequest::Rollover(Rollover { target: 200 })], 27);
    // Beside a note of a policy it comes last.
    let ground = stating(STATE);
    let done = done(&ground, &Plan::default(), vec![summarize(2, 8, 150), insert(8, "a note")]);
    let kinds = done.view.items().filter_map(|item| match item {
        ViewItem::Inserted(inserted) => Some((inserted.kind, inserted.role)),
        ViewItem::Kept(_) => None,
    });
    let expected = [InsertedKind::Note, InsertedKind::Checkpoint, InsertedKind::State]
        .map(|kind| (kind, Role::User));
    let mut kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds.pop(), Some(expected[2]));
    assert!(kinds.iter().all(|kind| expected[..2].contains(kind)), "{kinds:?}");
}

#[test]
fn where_nothing_free_was_touched_it_leads_the_conversation() {
    let chat = chat().system("s").user("look").call("a", "{}").call("b", "{}").result(&lines(40));
    let thread = Thread::new(chat.entries(), &[]);
    let ground = (thread, CompressOptions { state: Some(STATE.to_owned()), ..options() });
    let cut = replace(3, Shortened::Cut, None, Some(50));
    let done = done(&ground, &Plan::default(), vec![cut]);
    assert_eq!(states(&done.plan), [(Some(EntryId(0)), STATE)], "the call still waits");
}

#[test]
fn it_counts_as_a_checkpoint_and_is_none() {
    let ground = stating(STATE);
    let size = sizes(&ground.0, BudgetUnit::Tokens).gauge().message(STATE);
    let plain =
        done(&self::ground(), &Plan::default(), vec![summarize(2, 8, 150)]).by[1].checkpoints;
    let done = done(&ground, &Plan::default(), vec![summarize(2, 8, 150)]);
    assert_eq!(done.by[1].checkpoints, plain + size);
    assert_eq!((done.checkpoints.len(), done.view.checkpoints()), (1, 1));
    let report = done.ops.iter().find(|op| op.op == "state").expect("a report");
    assert_eq!((report.tokens_before, report.tokens_after), (0, size));
    let entry = done.view.entries().into_iter().find(|entry| entry.readable() == STATE);
    assert_eq!(entry.map(|entry| entry.role), Some(Role::User));
}

#[test]
fn a_new_plan_states_anew() {
    let ground = stating(STATE);
    let first = done(&ground, &Plan::default(), vec![summarize(2, 8, 150)]).plan;
    let other = stating("Goal: ship it.");
    let second = done(&other, &first, vec![summarize(8, 11, 120)]).plan;
    assert_eq!(states(&second), [(Some(EntryId(10)), "Goal: ship it.")]);
    // Without a state the old one leaves too.
    let third = done(&self::ground(), &second, vec![summarize(11, 14, 120)]).plan;
    assert_eq!(states(&third), []);
    // By itself it is no reason for a plan.
    let none = make(&ground, PLENTY, &Plan::default(), Vec::new(), &[]);
    assert!(matches!(none, FitOutcome::NothingToDo { .. }), "{none:?}");
}

#[test]
fn its_room_comes_out_of_the_budget_first() {
    let thread = Thread::new(session().entries(), &[]);
    let plain = options();
    let stating = CompressOptions { state: Some(STATE.to_owned()), ..options() };
    let size = sizes(&thread, BudgetUnit::Tokens).gauge().message(STATE);
    let done = compressed(run(&thread, &stating, tokens(700), &Script::Fill));
    let same = compressed(run(&thread, &plain, tokens(700 - size), &Script::Fill));
    assert_eq!(done.size[1], same.size[1] + size, "as if the budget were so much smaller");
    assert_eq!(texts(&done.view).len(), texts(&same.view).len() + 1);
    assert_eq!(states(&done.plan).len(), 1);
    // It is part of the floor.
    let [with, without] =
        [&stating, &plain].map(|options| match run(&thread, options, tokens(5), &Script::Fill) {
            FitOutcome::CannotFit { floor, .. } => floor,
            other => panic!("{other:?}"),
        });
    assert_eq!(with.size, without.size + size);
    assert!(with.items.iter().any(|(_, what, n)| what == "the state of the work" && *n == size));
    assert!(with.items.is_sorted_by(|a, b| a.2 >= b.2), "{with:?}");
}

#[test]
fn an_order_that_leaves_no_room_for_it_misses() {
    let ground = stating(STATE);
    let drop = || vec![OpRequest::Drop(Drop { entries: places(2, 26) })];
    let left = done(&ground, &Plan::default(), drop()).size[1];
    assert!(matches!(
        make(&ground, left, &Plan::default(), drop(), &[]),
        FitOutcome::Compressed(_)
    ));
    let missed = make(&ground, left - 1, &Plan::default(), drop(), &[]);
    assert!(matches!(missed, FitOutcome::Missed { size } if size == left), "{missed:?}");
}

#[test]
fn summarisers_are_told_of_it() {
    let chat = chat().user("look").assistant("before").user("read it").call("cat", "{}");
    let thread = Thread::new(chat.result(&lines(200)).entries(), &[]);
    let stating = CompressOptions { state: Some(STATE.to_owned()), ..options() };
    let told = |summarizer: &ScriptedSummarizer, kind| {
        let kept = summarizer.kept(kind);
        assert!(!kept.is_empty(), "asked for a {kind:?}");
        kept.iter().all(|kept| kept.last().is_some_and(|entry| entry.readable() == STATE))
    };
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    compressed(run_with(&thread, &stating, tokens(400), &[&summarizer]));
    assert!(told(&summarizer, SummaryKind::Digest));
    let (thread, summarizer) = (ground().0, ScriptedSummarizer::new(Script::Fill));
    compressed(run_with(&thread, &stating, tokens(600), &[&summarizer]));
    assert!(told(&summarizer, SummaryKind::Checkpoint));
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let ground = self::stating(STATE);
    let digest = replace(12, Shortened::Digest, None, Some(60));
    let ops = vec![summarize(2, 8, 150), digest];
    compressed(make(&ground, PLENTY, &Plan::default(), ops, &[&summarizer]));
    assert!(told(&summarizer, SummaryKind::Checkpoint) && told(&summarizer, SummaryKind::Digest));
}

#[test]
fn a_plan_states_the_work_once_and_between_no_call_and_its_result() {
    let thread = Thread::new(session().entries(), &[]);
    let state = |after| Op::State { after: Some(EntryId(after)), text: STATE.to_owned() };
    let refused = |ops: Vec<Op>| {
        let plan = Plan { ops, reason: String::new() };
        apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect_err("refused").fault
    };
    assert_eq!(refused(vec![state(1), state(4)]), PlanFault::StatedTwice { other: 0 });
    assert_eq!(refused(vec![state(2)]), PlanFault::InsideExchange(EntryId(2)));
    assert_eq!(refused(vec![state(99)]), PlanFault::UnknownEntry(EntryId(99)));
    let empty = Op::State { after: None, text: " \n".to_owned() };
    assert_eq!(refused(vec![empty]), PlanFault::Empty);
}

/// Some providers refuse a conversation that begins with the assistant (RULES 106).
#[test]
fn it_leads_where_nothing_else_can() {
    let chat = chat().user("look").assistant("keep this").assistant("so").user("go on");
    let thread = Thread::new(chat.entries(), &[EntryId(1)]);
    let ops = vec![
        Op::Drop { entries: vec![EntryId(0), EntryId(2)] },
        Op::State { after: Some(EntryId(2)), text: STATE.to_owned() },
    ];
    let plan = Plan { ops, reason: String::new() };
    let view = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect("applied");
    assert_eq!(texts(&view), [STATE, "keep this", "go on"]);
}
