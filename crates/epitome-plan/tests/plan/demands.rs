//! What people demanded: it is said in every view that has room for it, by its message or by the
//! state of the work, and never by both.

use epitome_kernel::types::hook::{ClearToolsOp, Drop, How as Shortened, OpRequest, Rollover};
use epitome_kernel::types::{BudgetUnit, Entry, EntryId, Op, PartBody, Plan, Speaker};
use epitome_kernel::{InsertedKind, TextMeasure, Thread, View, ViewItem};
use epitome_plan::{CompressOptions, ConstraintState, FitOutcome, StatedConstraint, prompt_floor};
use epitome_testkit::{Script, ScriptedSummarizer, chat, conversation, words};
use proptest::prelude::*;

use crate::assembly::{PLENTY, make, places, replace, summarize};
use crate::help::{assert_sound, compressed, lines, options, run, session, sizes, tokens};

const LABEL: &str = "[State]";
const HEADING: &str = "Rules";

/// Options under which these are demanded, the later the more lasting.
fn demanding(all: &[(u32, &str)], state: Option<&str>) -> CompressOptions {
    let ranks = (0..all.len()).rev();
    let demand = |((entry, text), rank): (&(u32, &str), usize)| StatedConstraint {
        entry: EntryId(*entry),
        text: (*text).to_owned(),
        rank,
    };
    let all = all.iter().zip(ranks).map(demand).collect();
    let (label, heading) = (LABEL.to_owned(), HEADING.to_owned());
    let demands = ConstraintState { all, label, heading, share: 0.5, ..ConstraintState::default() };
    CompressOptions { state: state.map(str::to_owned), demands, ..options() }
}

/// How often a view says a text by messages and the state of the work.
fn said(view: &View<'_>, text: &str) -> usize {
    let words = |item| match item {
        ViewItem::Kept(entry) => entry.readable().into_owned(),
        ViewItem::Inserted(one) if one.kind == InsertedKind::State => one.text.clone(),
        ViewItem::Inserted(_) => String::new(),
    };
    view.items().map(|item| words(item).matches(text).count()).sum()
}

#[track_caller]
fn check(
    ops: Vec<OpRequest>,
    demands: &[(u32, &str)],
    state: Option<&str>,
    expected: Option<&str>,
) {
    let ground = (Thread::new(session().entries(), &[]), demanding(demands, state));
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let done = compressed(make(&ground, PLENTY, &Plan::default(), ops, &[&summarizer]));
    assert_sound(&ground.0, &done.view);
    let stated = done.ops.iter().position(|op| op.op == "state");
    let stated = stated.map(|at| match &done.plan.ops[at] {
        Op::State { text, .. } => text.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(stated, expected);
}

/// The first message that a person typed in a session, and what it says.
const ASKED: (u32, &str) = (1, "Please look into the failing parser test.");

#[test]
fn it_is_stated_where_its_message_leaves() {
    let rollover = || vec![OpRequest::Rollover(Rollover { target: 200 })];
    let bare = "[State]\nRules:\n- Please look into the failing parser test.";
    check(rollover(), &[ASKED], None, Some(bare));
    check(vec![OpRequest::Drop(Drop { entries: places(1, 2) })], &[ASKED], None, Some(bare));
    check(vec![replace(1, Shortened::Mask, Some("[m]"), None)], &[ASKED], None, Some(bare));
    let behind = "Goal: ship it.\n\nRules:\n- Please look into the failing parser test.";
    check(rollover(), &[ASKED], Some("Goal: ship it."), Some(behind));
}

#[test]
fn it_is_not_stated_where_its_message_stays() {
    let goal = "Goal: ship it.";
    check(vec![summarize(2, 8, 150)], &[ASKED], None, None);
    check(vec![summarize(2, 8, 150)], &[ASKED], Some(goal), Some(goal));
    check(
        vec![OpRequest::ClearTools(ClearToolsOp { entries: places(2, 9) })],
        &[ASKED],
        Some(goal),
        Some(goal),
    );
    // The last that a person typed cannot leave.
    check(
        vec![OpRequest::Rollover(Rollover { target: 200 })],
        &[(26, "Now fix it, please.")],
        None,
        None,
    );
}

#[test]
fn where_there_is_too_little_room_the_most_lasting_stay_in_their_order() {
    let chat = chat().user("Never stop, one. Never stop, two. Never stop, six.");
    let thread = Thread::new(chat.assistant(&lines(60)).user("go").entries(), &[]);
    let all = [(0, "Never stop, one."), (0, "Never stop, two."), (0, "Never stop, six.")];
    let options = demanding(&all, None);
    let stated = |most| {
        let done = compressed(run(&thread, &options, tokens(most), &Script::Fill));
        assert!(done.size[1] <= most);
        all.map(|(_, text)| said(&done.view, text) > 0)
    };
    let mut found: Vec<_> = (20..100).map(stated).collect();
    found.dedup();
    let one_more = [[false; 3], [false, false, true], [false, true, true], [true; 3]];
    assert_eq!(found, one_more);
}

#[test]
fn a_plan_in_little_room_leaves_nothing_out_unless_it_may() {
    let chat = chat().user("Never stop, one.").assistant(&lines(60)).user("go");
    let mut ground =
        (Thread::new(chat.entries(), &[]), demanding(&[(0, "Never stop, one.")], None));
    let outcome = |ground: &(Thread, CompressOptions), most| {
        let drop = OpRequest::Drop(Drop { entries: places(0, 2) });
        let made = make(ground, most, &Plan::default(), vec![drop], &[]);
        let made = matches!(made, FitOutcome::Compressed(_));
        (
            made,
            matches!(
                run(&ground.0, &ground.1, tokens(most), &Script::Fill),
                FitOutcome::Compressed(_)
            ),
        )
    };
    assert_eq!(outcome(&ground, 20), (true, true));
    ground.1.demands.whole_below = 20;
    assert_eq!(outcome(&ground, 20), (true, true));
    ground.1.demands.whole_below = 100;
    assert_eq!(outcome(&ground, 20), (false, false));
    assert_eq!(outcome(&ground, 60), (true, true));
}

#[test]
fn a_budget_gives_way_as_far_as_it_may() {
    let chat = chat().user("Never stop, one. Never stop, two.").assistant(&lines(60)).user("go");
    let thread = Thread::new(chat.entries(), &[]);
    let mut options = demanding(&[(0, "Never stop, one."), (0, "Never stop, two.")], None);
    let size = |options: &CompressOptions| {
        let done = compressed(run(&thread, options, tokens(20), &Script::Fill));
        (done.size[1], said(&done.view, "Never stop, "))
    };
    let (before, none) = size(&options);
    assert!(before <= 20 && none == 0);
    options.demands.most = 40;
    let (after, some) = size(&options);
    assert!(20 < after && after <= 40 && some > 0, "{after} {some}");
    options.demands.most = 400;
    let (after, all) = size(&options);
    assert!(40 < after && after < 100 && all == 2, "{after} {all}");
}

/// Has every text that a person typed end in a demand of its own.
fn demands(entries: &mut [Entry]) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    for (entry, at) in entries.iter_mut().zip(0..) {
        for part in entry.parts.iter_mut().filter(|part| part.speaker == Speaker::Human) {
            let PartBody::Text(text) = &mut part.body else { continue };
            let demand = format!("Never lose number {at}.");
            *text = format!("{text}\n{demand}");
            entry.bytes += demand.len() as u32 + 1;
            all.push((at, demand));
        }
    }
    all
}

proptest! {
    #[test]
    fn what_was_demanded_stands_in_every_view_that_has_room_for_it(
        entries in conversation(25),
        share in 0.0..1.0_f64,
        raised in 0.0..1.0_f64,
        tail in 0.0..1.0_f64,
        script in crate::run::scripts(),
        state in prop::option::weighted(0.3, words(1..60)),
    ) {
        let mut entries = entries;
        let all = demands(&mut entries);
        let thread = Thread::new(entries, &[]);
        let sizes = sizes(&thread, BudgetUnit::Tokens);
        let most = |share: f64| (sizes.total() as f64 * share) as u64;
        let given: Vec<_> = all.iter().map(|(at, text)| (*at, text.as_str())).collect();
        let mut options = demanding(&given, state.as_deref());
        options.keep_recent_share = tail;
        options.demands.most = most(raised);
        let budget = most(share);
        let FitOutcome::Compressed(done) = run(&thread, &options, tokens(budget), &script) else {
            return Ok(());
        };
        prop_assert!(done.size[1] <= budget.max(options.demands.most));
        assert_sound(&thread, &done.view);
        let gauge = sizes.gauge();
        // No part is smaller than nothing.
        let fixed = prompt_floor(&thread, &sizes, |part| sizes.part(part)).size
            + gauge.message(state.as_deref().unwrap_or_default());
        let need = gauge.message(&format!("{LABEL}\n\n{HEADING}:\n"))
            + all.iter().map(|(_, text)| gauge.size(&format!("- {text}\n"))).sum::<u64>();
        let room = budget.max(options.demands.most).saturating_sub(fixed);
        for (at, text) in &all {
            let times = said(&done.view, text);
            prop_assert!(times > 0 || room < 2 * need + 2, "{text}: {room} for {need}");
            let is_cut = |op: &Op| matches!(op, Op::Replace { part, .. } if part.entry.0 == *at);
            let twice = times > 1 && !done.plan.ops.iter().any(is_cut);
            prop_assert!(!twice, "{text} is said twice");
        }
    }
}
