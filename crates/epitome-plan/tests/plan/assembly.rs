//! What policies order: each order by itself, and on top of what is in force.

use epitome_kernel::types::hook::{
    AgeOrder, Drop, How as Shortened, Insert, Merge, MessageNumber, OpRequest, Orders, Replace,
    Rollover, Summarize, SummarizeUserOp, Warn,
};
use epitome_kernel::types::{
    Checkpoint, CheckpointLevel, EntryId, EventKind, Op, PartId, Plan, ReplaceMethod, Role,
    SummaryKind,
};
use epitome_kernel::{Summarizer, Thread};
use epitome_plan::{
    CompressOptions, FitOutcome, PlanAssembly, PlanMeans, PlannedCompression, assemble,
};
use epitome_testkit::{FixedCounter, Script, ScriptedSummarizer, chat, now};

use crate::help::{
    assert_recorded, assert_sound, compressed, lines, options, session, texts, tokens,
};

/// More than any of these conversations takes.
pub(crate) const PLENTY: u64 = 1 << 20;

pub(crate) fn ordered(ops: Vec<OpRequest>) -> Orders {
    Orders { ops, ..Orders::default() }
}

/// The places of the entries from one id up to another, which is not among them.
pub(crate) fn places(from: u32, to: u32) -> Vec<MessageNumber> {
    (from..to).map(|id| MessageNumber::from(EntryId(id))).collect()
}

pub(crate) fn summarize(from: u32, to: u32, target: u64) -> OpRequest {
    OpRequest::Summarize(Summarize { entries: places(from, to), target, level: None })
}

fn age(checkpoint: &Checkpoint, to: u8, target: u64) -> OpRequest {
    OpRequest::Age(AgeOrder { checkpoint: checkpoint.id.short(), to, target })
}

fn merge(checkpoints: &[&Checkpoint], target: u64) -> OpRequest {
    let checkpoints = checkpoints.iter().map(|one| one.id.to_string()).collect();
    OpRequest::Merge(Merge { checkpoints, target, to: None })
}

pub(crate) fn replace(
    id: u32,
    how: Shortened,
    with: Option<&str>,
    target: Option<u64>,
) -> OpRequest {
    let with = with.map(str::to_owned);
    OpRequest::Replace(Replace {
        entry: MessageNumber::from(EntryId(id)),
        how,
        text: with,
        target,
        call: None,
    })
}

pub(crate) fn insert(after: u32, text: &str) -> OpRequest {
    OpRequest::Insert(Insert {
        after: MessageNumber(after),
        role: Role::User,
        text: text.to_owned(),
    })
}

/// Carries orders out on top of what is in force.
pub(crate) fn make<'t>(
    (thread, options): &'t (Thread, CompressOptions),
    most: u64,
    standing: &Plan,
    ops: Vec<OpRequest>,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    let (counter, count) = (&FixedCounter::Quarters, summarizers.len());
    let orders = ordered(ops);
    let assembly = PlanAssembly::new(
        thread,
        options,
        PlanMeans { budget: tokens(most), counter, summarizers: count },
        standing.clone(),
        &orders,
    );
    now(assemble(assembly.expect("orders of what is there"), thread, options, summarizers))
}

/// Carries orders out with one good summariser; what comes of them is sound.
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

pub(crate) fn ground() -> (Thread, CompressOptions) {
    (Thread::new(session().entries(), &[]), options())
}

pub(crate) fn checkpoints(plan: &Plan) -> Vec<&Checkpoint> {
    let all = plan.ops.iter().filter_map(|op| match op {
        Op::Summarize(one) => Some(one),
        _ => None,
    });
    all.collect()
}

fn ids(from: u32, to: u32) -> Vec<EntryId> {
    (from..to).map(EntryId).collect()
}

/// A plan with two checkpoints and a text that is masked.
fn standing(ground: &(Thread, CompressOptions)) -> Plan {
    let mask = replace(15, Shortened::Mask, Some("[masked]"), None);
    let done = done(
        ground,
        &Plan::default(),
        vec![summarize(2, 8, 150), summarize(8, 14, 150), mask, insert(17, "a note")],
    );
    done.plan
}

#[test]
fn a_checkpoint_stands_where_its_last_message_stood() {
    let ground = ground();
    let level =
        OpRequest::Summarize(Summarize { entries: places(8, 11), target: 90, level: Some(2) });
    let done = done(&ground, &Plan::default(), vec![summarize(2, 8, 120), level]);
    let [first, second] = checkpoints(&done.plan)[..] else { panic!("{:?}", done.plan) };
    assert_eq!((&first.covers, first.level), (&ids(2, 8), CheckpointLevel::Detailed));
    assert_eq!((&second.covers, second.level), (&ids(8, 11), CheckpointLevel::Moderate));
    assert!(first.text.starts_with("[6 earlier messages, "), "{}", first.text);
    let texts = texts(&done.view);
    assert_eq!((&*texts[2], &*texts[3]), (&*first.text, &*second.text));
    assert_eq!(texts[4], ground.0.entries()[11].readable());
    assert_eq!(texts.len(), 28 - 9 + 2);
    let taken: Vec<_> = done.checkpoints.iter().map(|one| one.tokens).collect();
    assert!(taken[0] <= 120 && taken[0] > 110 && taken[1] <= 90, "{taken:?}");
}

#[test]
fn what_is_in_force_and_not_touched_stays() {
    let ground = ground();
    let standing = standing(&ground);
    let done = done(&ground, &standing, vec![summarize(17, 20, 90)]);
    for op in &standing.ops {
        assert!(done.plan.ops.contains(op), "{op:?} is gone");
    }
    assert_eq!(done.plan.ops.len(), standing.ops.len() + 1);
    let nothing = self::done(&ground, &standing, Vec::new());
    assert_eq!(nothing.plan.ops, standing.ops);
}

#[test]
fn an_aged_checkpoint_is_smaller_and_lower() {
    let ground = ground();
    let standing = standing(&ground);
    let [first, second] = checkpoints(&standing)[..] else { panic!("{standing:?}") };
    let done = done(&ground, &standing, vec![age(first, 2, 60)]);
    let [aged, other] = checkpoints(&done.plan)[..] else { panic!("{:?}", done.plan) };
    assert_eq!(
        (aged.id, &aged.covers, aged.level),
        (first.id, &first.covers, CheckpointLevel::Moderate)
    );
    assert!(aged.text.len() < first.text.len() && done.checkpoints[0].tokens <= 60);
    assert_eq!(other, second);
    let [EventKind::CheckpointAged { checkpoint, levels: [3, 2], saved }] = &done.events[..] else {
        panic!("{:?}", done.events)
    };
    assert!(*checkpoint == first.id.short() && *saved > 80, "{saved}");
}

#[test]
fn what_is_small_enough_as_it_is_has_aged_none_the_less() {
    let ground = ground();
    let standing = standing(&ground);
    let first = checkpoints(&standing)[0];
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let ops = vec![age(first, 1, 150)];
    let done = compressed(make(&ground, PLENTY, &standing, ops, &[&summarizer]));
    let aged = checkpoints(&done.plan)[0];
    assert_eq!((&aged.text, aged.level), (&first.text, CheckpointLevel::Compact));
    assert_eq!(summarizer.asked(SummaryKind::Checkpoint), []);
    assert_eq!(done.events, []);
}

#[test]
fn a_checkpoint_that_cannot_be_as_small_as_it_is_to_be_comes_as_near_as_it_can() {
    let ground = ground();
    let standing = standing(&ground);
    let first = checkpoints(&standing)[0];
    for (script, nearest) in [(Script::Fill, 30), (Script::Least(40), 120)] {
        let summarizer = ScriptedSummarizer::new(script);
        let ops = vec![age(first, 1, 1)];
        let done = compressed(make(&ground, PLENTY, &standing, ops, &[&summarizer]));
        let tokens = done.checkpoints[0].tokens;
        assert_eq!(checkpoints(&done.plan)[0].level, CheckpointLevel::Compact);
        assert!(tokens <= nearest, "{tokens} of 150, where {nearest} can be said");
        assert_eq!(done.warnings, [""; 0]);
    }
    // Again, where no step leads between what it takes and what it is to take.
    let small = ScriptedSummarizer::new(Script::Fill);
    let least =
        compressed(make(&ground, PLENTY, &standing, vec![age(first, 1, 1)], &[&small])).plan;
    let least_first = checkpoints(&least)[0];
    let again = compressed(make(&ground, PLENTY, &least, vec![age(least_first, 0, 1)], &[&small]));
    let aged = checkpoints(&again.plan)[0];
    assert_eq!((&aged.text, aged.level), (&least_first.text, CheckpointLevel::Merged));
}

#[test]
fn a_checkpoint_that_is_just_made_can_age_at_once() {
    let (thread, options) = ground();
    let orders = ordered(vec![summarize(2, 8, 150)]);
    let counter = &FixedCounter::Quarters;
    let assembly = PlanAssembly::new(
        &thread,
        &options,
        PlanMeans { budget: tokens(PLENTY), counter, summarizers: 0 },
        Plan::default(),
        &orders,
    );
    let mut assembly = assembly.expect("orders of what is there");
    let made: Vec<_> = assembly
        .checkpoints()
        .into_iter()
        .map(|(covers, id, level, most)| (covers.to_vec(), id.short(), level, most))
        .collect();
    let [(covers, id, CheckpointLevel::Detailed, 150)] = &made[..] else { panic!("{made:?}") };
    assert_eq!(*covers, ids(2, 8));
    let ageing = epitome_kernel::types::hook::Ageing { checkpoint: id.clone(), to: 1, target: 70 };
    assembly.age(&[ageing]).expect("a checkpoint that is there");
    let done = compressed(now(assemble(assembly, &thread, &options, &[])));
    assert_eq!(checkpoints(&done.plan)[0].level, CheckpointLevel::Compact);
    assert!(done.checkpoints[0].tokens <= 70, "{:?}", done.checkpoints);
}

#[test]
fn merged_checkpoints_are_one() {
    let ground = ground();
    let standing = standing(&ground);
    let both = checkpoints(&standing);
    let done = done(&ground, &standing, vec![merge(&both, 200)]);
    let [one] = checkpoints(&done.plan)[..] else { panic!("{:?}", done.plan) };
    assert_eq!((&one.covers, one.level), (&ids(2, 14), CheckpointLevel::Merged));
    assert_eq!(texts(&done.view)[2], one.text);
    let [EventKind::CheckpointMerged { checkpoint, merged, saved }] = &done.events[..] else {
        panic!("{:?}", done.events)
    };
    assert_eq!(*merged, [both[0].id.short(), both[1].id.short()]);
    assert!(*checkpoint == one.id.short() && (50..150).contains(saved), "{saved}");
    // Where that cannot be said, both stay as they are.
    let kept = self::done(&ground, &standing, vec![merge(&both, 1)]);
    assert_eq!((&kept.plan.ops, &kept.events[..]), (&standing.ops, &[][..]));
}

#[test]
fn messages_over_a_checkpoint_take_it_in() {
    let ground = ground();
    let standing = standing(&ground);
    let done = done(&ground, &standing, vec![summarize(2, 17, 200)]);
    let [one] = checkpoints(&done.plan)[..] else { panic!("{:?}", done.plan) };
    assert_eq!(one.covers, ids(2, 17));
    assert_eq!(
        done.plan.ops.len(),
        1,
        "masked text and note left with their messages: {:?}",
        done.plan
    );
    let kept = self::done(&ground, &standing, vec![summarize(2, 17, 1)]);
    assert_eq!(kept.plan.ops, standing.ops);
    let torn = make(&ground, PLENTY, &standing, vec![summarize(4, 17, 200)], &[]);
    assert!(matches!(torn, FitOutcome::Refused(_)), "half of a checkpoint: {torn:?}");
}

#[test]
fn messages_of_the_user_are_folded() {
    let chat = chat().user(&lines(20)).assistant("yes").user(&lines(30)).assistant("no");
    let ground = (Thread::new(chat.user("and now?").entries(), &[]), options());
    let entries = vec![MessageNumber(3), MessageNumber(1)];
    let fold = OpRequest::SummarizeUser(SummarizeUserOp { entries, target: 80 });
    let done = done(&ground, &Plan::default(), vec![fold]);
    assert_eq!(checkpoints(&done.plan)[0].covers, [EntryId(0), EntryId(2)]);
    assert!(done.checkpoints[0].tokens <= 80);
    assert_eq!(done.checkpoints[0].level, 3);
}

#[test]
fn a_rollover_starts_over() {
    let ground = ground();
    let standing = standing(&ground);
    let done = done(&ground, &standing, vec![OpRequest::Rollover(Rollover { target: 200 })]);
    let [Op::Summarize(one)] = &done.plan.ops[..] else { panic!("{:?}", done.plan) };
    let free: Vec<_> = (1..28).filter(|&id| id != 26).map(EntryId).collect();
    assert_eq!((&one.covers, one.level), (&free, CheckpointLevel::Merged));
    assert_eq!(texts(&done.view).len(), 3);
    let kept = self::done(&ground, &standing, vec![OpRequest::Rollover(Rollover { target: 1 })]);
    assert_eq!(kept.plan.ops, standing.ops, "it could not be said");
}

#[test]
fn what_was_done_to_a_pinned_message_outlives_a_rollover() {
    let chat = chat().user(&lines(30)).assistant(&lines(30)).call("cat", "{}");
    let chat = chat.user_result(&lines(40)).and("What is in there?");
    let ground = (Thread::new(chat.entries(), &[]), options());
    let cut = vec![replace(2, Shortened::Cut, None, Some(60))];
    let standing = done(&ground, &Plan::default(), cut).plan;
    assert!(matches!(standing.ops[..], [Op::Replace { .. }]), "{standing:?}");
    let done = done(&ground, &standing, vec![OpRequest::Rollover(Rollover { target: 100 })]);
    assert!(done.plan.ops.contains(&standing.ops[0]), "{:?}", done.plan);
    assert_eq!(checkpoints(&done.plan)[0].covers, [EntryId(0)]);
}

#[track_caller]
fn check_replaced(how: Shortened, expected: ReplaceMethod) {
    let ground = ground();
    let part = PartId { entry: EntryId(6), part: 0 };
    let given = vec![replace(6, how, Some("as told"), None)];
    let given = done(&ground, &Plan::default(), given).plan;
    let with = "as told".to_owned();
    assert_eq!(given.ops, [Op::Replace { part, with, how: expected }]);
    let made = done(&ground, &Plan::default(), vec![replace(6, how, None, Some(80))]);
    let [Op::Replace { part: of, with, how: found }] = &made.plan.ops[..] else {
        panic!("{:?}", made.plan)
    };
    assert_eq!((*of, *found), (part, expected));
    assert!(with.contains(" tokens: ") && with.len() <= 4 * 80, "{with}");
    assert_eq!(made.offloaded[0].tool, "read");
    // As small already, it stays; smaller, it is made anew.
    let kept = done(&ground, &given, vec![replace(6, how, None, Some(80))]);
    assert_eq!(kept.plan.ops, given.ops);
    let anew = done(&ground, &made.plan, vec![replace(6, how, None, Some(40))]);
    let [Op::Replace { with, .. }] = &anew.plan.ops[..] else { panic!("{:?}", anew.plan) };
    assert!(with.len() <= 4 * 40, "{with}");
}

#[test]
fn a_text_is_replaced_in_every_way() {
    check_replaced(Shortened::Digest, ReplaceMethod::Digest);
    check_replaced(Shortened::Offload, ReplaceMethod::Offload);
    check_replaced(Shortened::Mask, ReplaceMethod::Mask);
    check_replaced(Shortened::Cut, ReplaceMethod::Cut);
}

#[test]
fn without_a_target_half_stays() {
    let ground = ground();
    let done = done(&ground, &Plan::default(), vec![replace(3, Shortened::Cut, None, None)]);
    let halves = (done.ops[0].tokens_before / 2, done.ops[0].tokens_after);
    assert!(halves.1 <= halves.0 && halves.1 + 20 > halves.0, "{halves:?}");
}

#[test]
fn texts_of_one_message_share_its_target() {
    let chat = chat().user("look").call("a", "{}").call("b", "{}");
    let chat = chat.user_result(&lines(60)).user_result(&lines(20)).assistant("so");
    let ground = (Thread::new(chat.user("on").entries(), &[]), options());
    let done = done(&ground, &Plan::default(), vec![replace(2, Shortened::Cut, None, Some(200))]);
    let sizes: Vec<_> = done.ops.iter().map(|op| op.tokens_after).collect();
    assert!(sizes.len() == 2 && sizes.iter().sum::<u64>() <= 200, "{sizes:?}");
    assert!(sizes[0] > 2 * sizes[1], "{sizes:?}");
}

#[test]
fn a_text_without_a_digest_is_cut_or_stays() {
    let ground = ground();
    let ops = || vec![replace(6, Shortened::Digest, None, Some(80))];
    let summarizer = ScriptedSummarizer::new(Script::Fill).digests(Script::Fail);
    let done = compressed(make(&ground, PLENTY, &Plan::default(), ops(), &[&summarizer]));
    assert!(
        matches!(done.plan.ops[..], [Op::Replace { how: ReplaceMethod::Cut, .. }]),
        "{:?}",
        done.plan
    );
    let masked = vec![replace(6, Shortened::Mask, Some("in few words"), None)];
    let standing = self::done(&ground, &Plan::default(), masked).plan;
    let tiny = vec![replace(6, Shortened::Digest, None, Some(1))];
    assert_eq!(self::done(&ground, &standing, tiny).plan.ops, standing.ops);
}

#[test]
fn dropped_messages_leave_nothing_in_their_place() {
    let ground = ground();
    let standing = standing(&ground);
    let done = done(&ground, &standing, vec![OpRequest::Drop(Drop { entries: places(8, 17) })]);
    assert!(done.plan.ops.contains(&Op::Drop { entries: ids(8, 17) }), "{:?}", done.plan);
    assert_eq!(checkpoints(&done.plan).len(), 1, "the other one is dropped with its messages");
    assert_eq!(texts(&done.view).len(), 28 - 6 - 9 + 1);
}

#[test]
fn inserted_messages_stand_behind_theirs() {
    let ground = ground();
    let note = OpRequest::Insert(Insert {
        after: MessageNumber(8),
        role: Role::Assistant,
        text: "and in between".to_owned(),
    });
    let ops = vec![summarize(2, 8, 120), note, insert(0, "at the head"), insert(28, "at the end")];
    let done = done(&ground, &Plan::default(), ops);
    let texts = texts(&done.view);
    assert_eq!((&*texts[0], texts.last().map(String::as_str)), ("at the head", Some("at the end")));
    assert!(texts[3].starts_with("[6 earlier messages") && texts[4] == "and in between");
    let inside = make(&ground, PLENTY, &Plan::default(), vec![insert(3, "between")], &[]);
    let FitOutcome::Refused(error) = inside else { panic!("{inside:?}") };
    assert!(error.to_string().contains("between a call and its result"), "{error}");
}

/// What was put behind a message is about it, so it leaves with it and stays beside others.
#[test]
fn an_inserted_message_leaves_with_the_one_before_it() {
    let ground = ground();
    let standing = standing(&ground);
    let notes = |orders: Vec<OpRequest>| {
        let plan = done(&ground, &standing, orders).plan;
        plan.ops.iter().filter(|op| matches!(op, Op::Insert { .. })).count()
    };
    assert_eq!(notes(vec![insert(20, "another note")]), 2);
    assert_eq!(notes(vec![summarize(17, 20, 60)]), 1);
    assert_eq!(notes(vec![summarize(14, 20, 90)]), 0);
    assert_eq!(notes(vec![OpRequest::Drop(Drop { entries: places(14, 17) })]), 0);
}

#[test]
fn a_warning_changes_nothing() {
    let ground = ground();
    let warn = || vec![OpRequest::Warn(Warn { text: "mind the gap".to_owned() })];
    let outcome = make(&ground, PLENTY, &Plan::default(), warn(), &[]);
    assert!(matches!(outcome, FitOutcome::NothingToDo { .. }), "{outcome:?}");
    let ops = [warn(), vec![summarize(2, 8, 120)]].concat();
    assert_eq!(done(&ground, &Plan::default(), ops).warnings, ["mind the gap"]);
}
