//! Orders that are not carried out: what is not there, what breaks an invariant, what is too much.

use epitome_kernel::Thread;
use epitome_kernel::types::hook::{
    AgeOrder, Drop, Fit, How as Shortened, Merge, MessageNumber, OpRequest, PinOrder, Summarize,
    SummarizeUserOp,
};
use epitome_kernel::types::{
    Checkpoint, CheckpointLevel, CheckpointPlacement, ContentId, EntryId, Op, Plan,
};
use epitome_plan::{FitOutcome, OrderError, PlanAssembly, PlanMeans};
use epitome_testkit::{FixedCounter, chat};

use crate::assembly::{PLENTY, ground, insert, make, ordered, places, replace, summarize};
use crate::help::{lines, options, tokens};

#[track_caller]
fn check_refused(order: OpRequest, told: &str) {
    let chat = chat().system("Be brief.").user("go").call("a", "{}").call("b", "{}");
    let chat = chat.user_result(&lines(9)).user_result(&lines(9)).assistant("so").user("on");
    let thread = Thread::new(chat.entries(), &[]);
    let (options, orders) = (options(), ordered(vec![order]));
    let covers = vec![EntryId(1)];
    let (id, text) = (ContentId([7; 16]), "s".to_owned());
    let ops = vec![Op::Summarize(Checkpoint {
        id,
        covers,
        text,
        level: CheckpointLevel::Detailed,
        stand: CheckpointPlacement::default(),
        model: None,
    })];
    let standing = Plan { ops, reason: String::new() };
    let counter = &FixedCounter::Quarters;
    let error: OrderError = PlanAssembly::new(
        &thread,
        &options,
        PlanMeans { budget: tokens(PLENTY), counter, summarizers: 0 },
        standing,
        &orders,
    )
    .expect_err("an order of what is not there");
    assert_eq!(error.to_string(), told);
}

#[test]
fn orders_of_what_is_not_there_say_what_there_is() {
    let none = "no message 7; `job.entries` has 1 to 6";
    check_refused(summarize(5, 7, 9), none);
    check_refused(OpRequest::Drop(Drop { entries: vec![MessageNumber(7)] }), none);
    check_refused(
        OpRequest::SummarizeUser(SummarizeUserOp { entries: vec![MessageNumber(7)], target: 9 }),
        none,
    );
    check_refused(replace(6, Shortened::Cut, None, None), none);
    check_refused(insert(7, "x"), none);
    check_refused(OpRequest::Pin(PinOrder { entries: vec![MessageNumber(7)] }), none);
    let zero = OpRequest::Drop(Drop { entries: vec![MessageNumber(0)] });
    check_refused(zero, "no message 0; `job.entries` has 1 to 6");
    let named = |name: &str| OpRequest::Age(AgeOrder { checkpoint: name.into(), to: 1, target: 9 });
    let known = |name| format!("no checkpoint `{name}` stands in the prompt; there is 07070707");
    check_refused(named("c0ffee"), &known("c0ffee"));
    check_refused(named(""), &known(""));
    let names = vec!["07070707".to_owned(), "0707".to_owned()];
    let twice = OpRequest::Merge(Merge { checkpoints: names, target: 9, to: None });
    check_refused(twice, "no checkpoint `0707` stands in the prompt; there is none");
    let levels = "no level 4; there is 3 (detailed), 2 (moderate), 1 (compact), 0 (merged)";
    check_refused(
        OpRequest::Summarize(Summarize { entries: places(4, 5), target: 9, level: Some(4) }),
        levels,
    );
    check_refused(OpRequest::Age(AgeOrder { checkpoint: "07".into(), to: 4, target: 9 }), levels);
    check_refused(
        replace(0, Shortened::Mask, Some("x"), None),
        "message 1 has no text that may be replaced: it is pinned, a call, or reasoning",
    );
    check_refused(
        replace(3, Shortened::Mask, Some("x"), None),
        "message 4 has several texts; leave `text` out and each is shortened by itself",
    );
    check_refused(
        OpRequest::Fit(Fit::default()),
        "`fit` makes a whole plan; beside it there may be `pin`, `warn`, `write_file` and `handover` only",
    );
}

#[track_caller]
fn check_broken(ops: Vec<OpRequest>, told: &str) {
    let ground = ground();
    let outcome = make(&ground, PLENTY, &Plan::default(), ops, &[]);
    let FitOutcome::Refused(error) = outcome else { panic!("{outcome:?}") };
    assert!(error.to_string().contains(told), "{error}");
}

#[test]
fn orders_that_break_an_invariant_change_nothing() {
    check_broken(vec![summarize(20, 28, 90)], "e26 is pinned (Typed)");
    check_broken(vec![summarize(0, 5, 90)], "e0 is a system prompt");
    check_broken(
        vec![OpRequest::Drop(Drop { entries: places(2, 3) })],
        "e2 belongs to the exchange",
    );
    check_broken(vec![summarize(2, 8, 90), summarize(5, 11, 90)], "is touched by op 1 as well");
    let mask = replace(3, Shortened::Mask, Some("[masked]"), None);
    check_broken(vec![mask, summarize(2, 5, 90)], "e3 is touched by op");
    let longer = lines(30);
    let replaced = replace(3, Shortened::Mask, Some(&longer), None);
    check_broken(vec![replaced], "the replacement takes");
    check_broken(vec![replace(3, Shortened::Mask, Some(" "), None)], "the new text is empty");
}

#[test]
fn what_leaves_more_than_the_budget_is_missed() {
    let ground = ground();
    let outcome = make(&ground, 300, &Plan::default(), vec![summarize(2, 8, 120)], &[]);
    let FitOutcome::Missed { size } = outcome else { panic!("{outcome:?}") };
    assert!(size > 300, "{size}");
}
