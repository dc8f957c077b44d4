//! Plans that are refused, plans that are applied, and random ones of either kind.

use epitome_kernel::types::{
    BudgetUnit, Checkpoint, CheckpointLevel, CheckpointPlacement, ContentId, Edit, EntryId, Op,
    PartId, Plan, ReplaceMethod, Role,
};
use epitome_kernel::{PinReason, PlanFault, Thread, apply};
use epitome_testkit::{Chat, chat, conversation, words};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::help::{assert_sound, sizes, texts};

const LONG: &str = "a text that is long enough to be replaced by something shorter";

fn talk() -> Chat {
    chat()
        .system("rules")
        .user(LONG)
        .assistant(LONG)
        .call("read", "{}")
        .result(LONG)
        .assistant(LONG)
        .user("go on")
        .thinking("hm")
        .and(LONG)
}

fn summarize(covers: &[u32], text: &str) -> Op {
    Op::Summarize(Checkpoint {
        id: ContentId([0; 16]),
        covers: covers.iter().map(|&id| EntryId(id)).collect(),
        text: text.to_owned(),
        level: CheckpointLevel::Detailed,
        stand: CheckpointPlacement::default(),
        model: None,
    })
}

fn replace(entry: u32, part: u32, with: &str) -> Op {
    let part = PartId { entry: EntryId(entry), part };
    Op::Replace { part, with: with.to_owned(), how: ReplaceMethod::Cut }
}

fn drop(entries: &[u32]) -> Op {
    Op::Drop { entries: entries.iter().map(|&id| EntryId(id)).collect() }
}

fn insert(after: u32, role: Role, text: &str) -> Op {
    Op::Insert { after: Some(EntryId(after)), role, text: text.to_owned() }
}

#[track_caller]
fn check_refused(ops: Vec<Op>, op: usize, fault: PlanFault) {
    let thread = Thread::new(talk().entries(), &[]);
    let plan = Plan { ops, reason: String::new() };
    let error = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect_err("refused");
    assert_eq!((error.op, error.fault), (op, fault));
}

#[track_caller]
fn check_applied(chat: Chat, ops: Vec<Op>, expected: &[&str]) {
    let thread = Thread::new(chat.entries(), &[]);
    let plan = Plan { ops, reason: String::new() };
    let view = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect("applied");
    assert_sound(&thread, &view);
    assert_eq!(texts(&view), expected);
}

#[test]
fn what_a_plan_may_not_do() {
    let id = EntryId;
    let part = |entry, part| PartId { entry: EntryId(entry), part };
    check_refused(vec![drop(&[99])], 0, PlanFault::UnknownEntry(id(99)));
    check_refused(vec![replace(1, 7, "x")], 0, PlanFault::UnknownPart(part(1, 7)));
    check_refused(vec![replace(2, 1, "x")], 0, PlanFault::NotText(part(2, 1)));
    check_refused(vec![drop(&[0])], 0, PlanFault::System(id(0)));
    check_refused(vec![replace(0, 0, "x")], 0, PlanFault::System(id(0)));
    check_refused(
        vec![summarize(&[4, 5], "x")],
        0,
        PlanFault::Pinned { entry: id(5), pin: PinReason::Typed },
    );
    check_refused(
        vec![replace(5, 0, "x")],
        0,
        PlanFault::Pinned { entry: id(5), pin: PinReason::Typed },
    );
    check_refused(vec![replace(6, 0, "x")], 0, PlanFault::Thinking(part(6, 0)));
    check_refused(vec![replace(6, 1, "x")], 0, PlanFault::Thinking(part(6, 1)));
    let torn = |entry| PlanFault::Torn { entry: id(entry), first: id(2), last: id(3) };
    check_refused(vec![summarize(&[1, 2], "x")], 0, torn(2));
    check_refused(vec![drop(&[3])], 0, torn(3));
    check_refused(vec![summarize(&[4, 1], "x")], 0, PlanFault::OutOfOrder(id(1)));
    check_refused(vec![summarize(&[1], " \n")], 0, PlanFault::Empty);
    check_refused(vec![replace(1, 0, "")], 0, PlanFault::Empty);
    check_refused(vec![drop(&[])], 0, PlanFault::Nothing);
    check_refused(vec![insert(2, Role::User, "x")], 0, PlanFault::InsideExchange(id(2)));
    check_refused(vec![insert(1, Role::Tool, "x")], 0, PlanFault::LoneResult);
    check_refused(vec![replace(1, 0, LONG)], 0, PlanFault::NotSmaller { before: 16, after: 16 });
    check_refused(vec![summarize(&[1], LONG)], 0, PlanFault::NotSmaller { before: 20, after: 20 });
}

#[test]
fn no_part_is_touched_twice() {
    let twice = |entry| PlanFault::TouchedTwice { entry: EntryId(entry), other: 0 };
    check_refused(vec![replace(1, 0, "x"), replace(1, 0, "y")], 1, twice(1));
    check_refused(vec![replace(1, 0, "x"), drop(&[1])], 1, twice(1));
    check_refused(vec![drop(&[1]), replace(1, 0, "x")], 1, twice(1));
    check_refused(vec![summarize(&[1, 2, 3], "x"), drop(&[2, 3])], 1, twice(2));
}

#[test]
fn a_refusal_says_what_and_why() {
    let thread = Thread::new(talk().entries(), &[]);
    let plan = Plan { ops: vec![drop(&[3])], reason: String::new() };
    let error = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "op 1 of the plan breaks the rule that a call and its result go together: e3 belongs to the \
         exchange e2 to e3, which stays or goes whole; nothing was changed"
    );
}

#[test]
fn a_checkpoint_stands_where_its_last_entry_stood() {
    let chat = chat().system("s").user(LONG).assistant(LONG).user("now").assistant("later");
    check_applied(chat, vec![summarize(&[1, 2], "sum")], &["s", "sum", "now", "later"]);
}

#[test]
fn a_checkpoint_reaches_over_what_is_pinned() {
    let chat = chat().user(LONG).assistant(LONG).user("now").assistant(LONG).assistant("end");
    check_applied(chat, vec![summarize(&[0, 1, 3], "sum")], &["now", "sum", "end"]);
}

#[test]
fn a_view_does_not_begin_with_the_assistant() {
    let entries = chat().user(LONG).assistant("kept").assistant(LONG).user("now").entries();
    let thread = Thread::new(entries, &[EntryId(1)]);
    let plan = Plan { ops: vec![summarize(&[0, 2], "sum")], reason: String::new() };
    let view = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect("applied");
    assert_eq!(texts(&view), ["sum", "kept", "now"]);
}

#[test]
fn edits_anchor_at_what_stays() {
    let chat = chat().system("s").user(LONG).assistant(LONG).user("now");
    let thread = Thread::new(chat.entries(), &[]);
    let ops = vec![summarize(&[1], "sum"), replace(2, 0, "short"), insert(3, Role::User, "note")];
    let plan = Plan { ops, reason: String::new() };
    let view = apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &plan).expect("applied");
    let put = |after, text: &str| Edit::Insert {
        after: Some(EntryId(after)),
        role: Role::User,
        text: text.to_owned(),
    };
    let part = PartId { entry: EntryId(2), part: 0 };
    assert_eq!(
        view.edits(),
        [
            Edit::RemoveEntry(EntryId(1)),
            put(0, "sum"),
            Edit::SetText { part, text: "short".to_owned() },
            put(3, "note"),
        ]
    );
}

#[test]
fn an_empty_plan_changes_nothing() {
    let thread = Thread::new(talk().entries(), &[]);
    let view =
        apply(&thread, &sizes(&thread, BudgetUnit::Tokens), &Plan::default()).expect("applied");
    assert_eq!(view.entries(), thread.entries());
    assert_eq!(view.edits(), []);
}

/// Ops as a careless policy writes them: mostly plausible, often wrong.
fn any_op(entries: u32) -> impl Strategy<Value = Op> {
    let id = move || 0..entries + 1;
    let run = (id(), 0..6_u32).prop_map(|(from, count)| (from..from + count).collect::<Vec<_>>());
    prop_oneof![
        3 => (id(), 0..3_u32, words(0..12)).prop_map(|(entry, part, with)| replace(entry, part, &with)),
        3 => (run.clone(), words(0..12)).prop_map(|(covers, text)| summarize(&covers, &text)),
        2 => run.prop_map(|entries| drop(&entries)),
        1 => (id(), words(1..5)).prop_map(|(after, text)| insert(after, Role::User, &text)),
    ]
}

proptest! {
    #[test]
    fn whatever_passes_the_check_is_sound(
        (entries, ops) in conversation(12).prop_flat_map(|entries| {
            let ops = vec(any_op(entries.len() as u32), 0..4);
            (Just(entries), ops)
        }),
    ) {
        let thread = Thread::new(entries, &[]);
        let tokens = sizes(&thread, BudgetUnit::Tokens);
        let plan = Plan { ops, reason: String::new() };
        if let Ok(view) = apply(&thread, &tokens, &plan) {
            assert_sound(&thread, &view);
            let gauge = *tokens.gauge();
            let again = epitome_kernel::ThreadSizes::measure(&view.entries(), gauge, 0);
            prop_assert_eq!(view.size(&tokens), again.total());
            prop_assert_eq!(view.breakdown(&tokens).sum(), again.total());
        }
    }
}
