//! Whole runs: the main plan, the ladder, and random conversations under random budgets.

use epitome_kernel::types::{
    Budget, BudgetUnit, CheckpointLevel, Entry, EntryId, ImagePart, Op, PartBody, PartId, Role,
    Summary, SummaryKind, SummaryStyle,
};
use epitome_kernel::{SummaryError, Thread, ThreadSizes, TokenCounter};
use epitome_plan::{
    CompressOptions, FitOutcome, LadderRung, PlanAssembly, PlanStep, SummaryRequest,
    SummarySubject, compress,
};
use epitome_testkit::{
    Chat, FixedCounter, Script, ScriptedSummarizer, chat, conversation, now, words,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::help::{
    assert_recorded, assert_sound, compressed, fitting, lines, options, run, run_with, session,
    sizes, texts, tokens,
};

#[test]
fn within_the_budget_there_is_nothing_to_do() {
    let thread = Thread::new(session().entries(), &[]);
    let total = sizes(&thread, BudgetUnit::Tokens).total();
    let options = options();
    let outcome = run(&thread, &options, tokens(total), &Script::Fail);
    assert!(matches!(outcome, FitOutcome::NothingToDo { size } if size == total));
}

#[test]
fn the_recent_part_fills_its_share_and_the_summary_the_rest() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let budget = tokens(800);
    let done = compressed(run(&thread, &options, budget, &Script::Fill));
    assert_sound(&thread, &done.view);
    let sizes = sizes(&thread, BudgetUnit::Tokens);
    let [system, typed] = [EntryId(0), EntryId(26)].map(|id| sizes.entry(id));
    let checkpoints = done.by[1].checkpoints;
    let tail = done.size[1] - system - checkpoints;
    assert!(tail >= (800 - system - typed) / 2, "the tail has {tail}");
    assert!(done.size[1] > 780, "{} of 800 used", done.size[1]);
    assert_eq!(done.checkpoints.len(), 1);
    assert!(done.plan.ops.iter().any(|op| matches!(op, Op::Replace { .. })), "one result is cut");
}

#[test]
fn without_a_digest_a_large_result_keeps_its_head_and_tail_around_a_marker() {
    let chat = chat().user("look").assistant("before").user("read it").call("cat", "{}");
    let thread = Thread::new(chat.result(&lines(200)).entries(), &[]);
    let options = options();
    let summarizer = ScriptedSummarizer::new(Script::Fill).digests(Script::Empty);
    let done = compressed(run_with(&thread, &options, tokens(400), &[&summarizer]));
    let result = texts(&done.view).pop().expect("the result");
    assert!(result.starts_with("line 0 of some file that was read\nline 1 "), "{result}");
    assert!(result.ends_with("line 199 of some file that was read"), "{result}");
    let marker = result.lines().find(|line| line.starts_with('[')).expect("a marker");
    let shown = result.lines().count() - 1;
    assert!(marker.starts_with(&format!("[{} lines, ", 200 - shown)), "{marker}");
    let id = marker.trim_end_matches(']').rsplit(' ').next().expect("an id");
    let original = done.departure.blobs.iter().find(|blob| blob.id.short() == id).expect("a blob");
    assert_eq!((&*original.text, &*original.source), (&*lines(200), "e4 cat result"));
    assert_eq!(done.offloaded[0].tool, "cat");
}

#[test]
fn notes_that_are_stated_anew_leave_before_any_talk_does() {
    let turn = |talk: Chat, at: usize| {
        let talk = talk.user(&format!("question {at}")).and_states("environment", &lines(20));
        talk.states(Role::System, "todo", &lines(10)).assistant(&format!("answer {at}"))
    };
    let talk = (0..6).fold(chat().system("s"), turn).user("go on");
    let thread = Thread::new(talk.entries(), &[]);
    let total = sizes(&thread, BudgetUnit::Tokens).total();
    let options = options();
    let done = compressed(run(&thread, &options, tokens(total / 3), &Script::Fail));
    assert_sound(&thread, &done.view);
    assert_recorded(&thread, &done);
    assert_eq!(done.view.checkpoints(), 0, "{:?}", done.plan);
    let reasons: Vec<_> = done.ops.iter().map(|op| (op.op, &*op.reason)).collect();
    let why = "what a newer note states anew";
    assert_eq!(reasons, [("drop", why), ("strip", why)]);
    // What was stated last stands where it was stated, beside what the person said there.
    let last = format!("question 5\n{}", lines(20).trim_end());
    let turns = (0..5).flat_map(|at| [format!("question {at}"), format!("answer {at}")]);
    let mut expected: Vec<_> = ["s".to_owned()].into_iter().chain(turns).collect();
    expected.extend([&*last, lines(10).trim_end(), "answer 5", "go on"].map(str::to_owned));
    assert_eq!(texts(&done.view), expected);
}

#[test]
fn the_label_says_what_left_and_how_to_get_it_back() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let done = compressed(run(&thread, &options, tokens(600), &Script::Fill));
    let checkpoint = done.plan.ops.iter().find_map(|op| match op {
        Op::Summarize(checkpoint) => Some(checkpoint),
        _ => None,
    });
    let checkpoint = checkpoint.expect("a checkpoint");
    let label =
        format!("[{} earlier messages, {}]\n", checkpoint.covers.len(), checkpoint.id.short());
    assert!(checkpoint.text.starts_with(&label), "{}", checkpoint.text);
    let original = done.departure.blobs.iter().find(|blob| blob.id == checkpoint.id);
    assert!(original.expect("a blob").text.contains("Please look into the failing parser test."));
}

#[test]
fn so_many_newest_messages_are_left_alone() {
    let thread = Thread::new(session().entries(), &[]);
    let mut options = options();
    options.keep_recent_messages = Some(4);
    let done = compressed(run(&thread, &options, tokens(900), &Script::Fill));
    let kept: Vec<_> =
        thread.entries().iter().map(|entry| entry.id).filter(|&id| done.view.keeps(id)).collect();
    // The last four, the exchange that the fourth belongs to, and what is pinned.
    assert_eq!(kept, [0, 23, 24, 25, 26, 27].map(EntryId));
}

#[test]
fn what_cannot_shrink_is_named() {
    let thread = Thread::new(chat().system(&lines(30)).user("go").assistant("ok").entries(), &[]);
    let options = options();
    let FitOutcome::CannotFit { floor, .. } = run(&thread, &options, tokens(50), &Script::Fill)
    else {
        panic!("it fits");
    };
    assert_eq!(floor.items[0].0, EntryId(0));
    assert_eq!(floor.size, sizes(&thread, BudgetUnit::Tokens).sum([EntryId(0), EntryId(1)]));
}

#[test]
fn a_summariser_that_fails_is_followed_by_the_next() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let (bad, good) =
        (ScriptedSummarizer::new(Script::Empty), ScriptedSummarizer::new(Script::Fill));
    let done = compressed(run_with(&thread, &options, tokens(600), &[&bad, &good]));
    assert_eq!(
        (bad.asked(SummaryKind::Checkpoint).len(), good.asked(SummaryKind::Checkpoint).len()),
        (1, 1)
    );
    assert_eq!(done.warnings.len(), 1);
    assert!(done.warnings[0].contains("the summary is empty"), "{:?}", done.warnings);
}

#[test]
fn without_a_summariser_the_kernel_says_a_line_a_message() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let done = compressed(run_with(&thread, &options, tokens(600), &[]));
    assert_sound(&thread, &done.view);
    let checkpoint = &texts(&done.view)[1];
    assert!(checkpoint.contains("\nread result: line 0 of some file"), "{checkpoint}");
    assert!(checkpoint.contains(r#"read({"path":"src/file3.rs"})"#), "{checkpoint}");
}

#[test]
fn too_little_room_goes_down_the_ladder() {
    let thread = Thread::new(session().entries(), &[]);
    let mut options = options();
    options.ladder = vec![LadderRung::Results, LadderRung::SmallerTail];
    let summarizer = ScriptedSummarizer::new(Script::Least(300));
    let done = compressed(run_with(&thread, &options, tokens(400), &[&summarizer]));
    let rooms: Vec<_> =
        summarizer.asked(SummaryKind::Checkpoint).iter().map(|(_, most)| *most).collect();
    assert!(rooms.is_sorted() && rooms.len() > 1, "{rooms:?}");
    assert_eq!(done.checkpoints.len(), 1);
}

#[test]
fn the_last_resort_needs_neither_summariser_nor_checkpoint() {
    let thread = Thread::new(session().entries(), &[]);
    let options = CompressOptions { ladder: Vec::new(), ..options() };
    let done = compressed(run(&thread, &options, tokens(300), &Script::Fail));
    assert_sound(&thread, &done.view);
    assert_eq!(done.checkpoints, []);
    assert!(done.plan.ops.iter().any(|op| matches!(op, Op::Drop { .. })));
    let blobs = &done.departure.blobs;
    assert!(blobs.iter().any(|blob| blob.text.contains("failing parser test")));
}

#[test]
fn a_run_is_stepped_by_hand() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let mut run = fitting(&thread, &options, 600);
    let PlanStep::Summarize(ask) = run.step() else { panic!("no summary is asked for") };
    let PlanStep::Summarize(again) = run.step() else { panic!("no summary is asked for") };
    assert_eq!(ask, again);
    let SummaryRequest { what: SummarySubject::Checkpoint(entries), kept, most, .. } = ask else {
        panic!("a digest is asked for")
    };
    assert_eq!(entries.len() + kept.len(), thread.entries().len());
    run.answer(Err(SummaryError::TooSmall { most, least: most + 1 }));
    let PlanStep::Summarize(second) = run.step() else { panic!("no summary is asked for") };
    assert!(second.most > most, "the results of the recent part are cut");
}

/// Steps to the next checkpoint that is wanted.
fn wanted(run: &mut PlanAssembly<'_>) -> (Vec<EntryId>, SummaryRequest) {
    loop {
        let PlanStep::Summarize(ask) = run.step() else { panic!("no checkpoint is asked for") };
        let refused = Err(SummaryError::TooSmall { most: ask.most, least: ask.most + 1 });
        match &ask.what {
            SummarySubject::Checkpoint(covers) => return (covers.clone(), ask),
            SummarySubject::Digest(_) => run.answer(refused),
        }
    }
}

#[test]
fn the_ladder_lowers_and_merges_before_it_cuts_what_people_said() {
    let thread = Thread::new(session().entries(), &[]);
    let mut options = options();
    options.ladder =
        vec![LadderRung::Stubs, LadderRung::Lower, LadderRung::Merge, LadderRung::FoldUser];
    let mut run = fitting(&thread, &options, 600);
    let mut asks = Vec::new();
    for _ in 0..4 {
        let (covers, ask) = wanted(&mut run);
        let refused = SummaryError::TooSmall { most: ask.most, least: ask.most + 1 };
        asks.push((covers, ask.level, ask.style, ask.most));
        if asks.len() < 4 {
            run.answer(Err(refused));
        }
    }
    let [first, stubbed, lowered, merged] = &asks[..] else { panic!("{asks:?}") };
    assert_eq!([first.1, stubbed.1], [CheckpointLevel::Detailed; 2]);
    assert_eq!((lowered.1, lowered.2), (CheckpointLevel::Moderate, SummaryStyle::Brief));
    assert_eq!((&lowered.0, lowered.3), (&stubbed.0, stubbed.3), "only its wording is another");
    assert_eq!(merged.1, CheckpointLevel::Merged);
    assert_eq!(merged.0, lowered.0, "the stubs leave, people's words stay");
    assert!(merged.3 > lowered.3, "it has the room of the stubs: {merged:?}");

    let summary = Summary { text: "all of it".to_owned(), ..Summary::default() };
    run.answer(Ok(summary));
    let PlanStep::Done(FitOutcome::Compressed(done)) = run.step() else { panic!("it is over") };
    assert_sound(&thread, &done.view);
    let [one] = &done.checkpoints[..] else { panic!("{:?}", done.checkpoints) };
    assert_eq!(one.level, CheckpointLevel::Merged.number());
}

#[test]
fn an_exchange_too_large_to_cut_becomes_a_line_in_its_place() {
    let big = format!(r#"{{"path":"a.rs","content":"{}"}}"#, "x".repeat(4000));
    let chat = chat().user("write").assistant(&lines(30)).user("now").assistant("older words");
    let chat = chat.call("write", &big).result("ok").assistant("Written.");
    let thread = Thread::new(chat.entries(), &[]);
    let options = options();
    let done = compressed(run(&thread, &options, tokens(200), &Script::Fill));
    assert_sound(&thread, &done.view);
    let texts = texts(&done.view);
    let stub = texts.iter().find(|text| text.starts_with("[write({")).expect("a stub");
    assert!(stub.contains("a.rs") && stub.len() < 200, "{stub}");
}

/// Counts as if a line end before a word made a token more: texts that are put together take more
/// than their pieces.
struct Joining;

impl TokenCounter for Joining {
    fn id(&self) -> &str {
        "joining"
    }

    fn count(&self, text: &str) -> u64 {
        let joints = text.as_bytes().windows(2).filter(|two| two[0] == b'\n' && two[1] != b'\n');
        FixedCounter::Quarters.count(text) + 3 * joints.count() as u64
    }

    fn image(&self, _image: &ImagePart) -> u64 {
        0
    }
}

#[test]
fn what_joining_adds_is_taken_off_the_next_summary() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let outcome = now(compress(&thread, &options, tokens(900), &Joining, &[&summarizer]));
    let done = compressed(outcome);
    assert!(done.size[1] <= 900);
    let rooms: Vec<_> =
        summarizer.asked(SummaryKind::Checkpoint).iter().map(|(_, most)| *most).collect();
    let taken_off = rooms[0] - rooms.last().expect("a job");
    assert_eq!(taken_off, 3, "the end of the label's line: {rooms:?}");
    assert_eq!(done.warnings, [""; 0]);
}

#[test]
fn the_summariser_sees_what_stays_as_it_will_stand() {
    let chat = chat().user(&lines(60)).assistant(&lines(60)).user("read it").call("cat", "{}");
    let thread = Thread::new(chat.result(&lines(200)).entries(), &[]);
    let options = options();
    let mut run = fitting(&thread, &options, 400);
    let PlanStep::Summarize(ask) = run.step() else { panic!("no digest is asked for") };
    assert_eq!(ask.what, SummarySubject::Digest(PartId { entry: EntryId(4), part: 0 }));
    run.answer(Err(SummaryError::TooSmall { most: ask.most, least: 1 }));
    let PlanStep::Summarize(ask) = run.step() else { panic!("no summary is asked for") };
    assert_eq!(ask.what, SummarySubject::Checkpoint(vec![EntryId(0), EntryId(1)]));
    let result = ask.kept.last().expect("the result").readable();
    assert!(result.starts_with("line 0") && result.contains("\n["), "{result}");
}

pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    prop_oneof![
        4 => Just(Script::Fill),
        1 => Just(Script::Say("Everything is fine.".to_owned())),
        1 => Just(Script::Fail),
        1 => Just(Script::Empty),
        1 => (0..50_usize).prop_map(Script::TooLarge),
        2 => (0..200_u64).prop_map(Script::Least),
        1 => (1..3_usize).prop_map(Script::FailFirst),
    ]
}

/// Has every call write a file, and gives the calls.
fn writing(entries: &mut [Entry]) -> Vec<PartId> {
    let arguments = serde_json::json!({ "path": "a.rs", "content": lines(12) }).to_string();
    let mut calls = Vec::new();
    for (entry, id) in entries.iter_mut().zip((0..).map(EntryId)) {
        for (part, at) in entry.parts.iter_mut().zip(0..) {
            let PartBody::Call(call) = &mut part.body else { continue };
            arguments.clone_into(&mut call.arguments);
            entry.bytes += 2 * arguments.len() as u32;
            calls.push(PartId { entry: id, part: at });
        }
    }
    calls
}

fn ladders() -> impl Strategy<Value = Vec<LadderRung>> {
    prop::sample::subsequence(crate::help::LADDER.to_vec(), 0..=8).prop_shuffle()
}

fn units() -> impl Strategy<Value = BudgetUnit> {
    prop_oneof![Just(BudgetUnit::Tokens), Just(BudgetUnit::Chars), Just(BudgetUnit::Bytes)]
}

proptest! {
    #[test]
    fn every_run_ends_within_its_budget_or_names_the_floor(
        entries in conversation(25),
        share in 0.0..1.2_f64,
        keep in prop::option::weighted(0.3, 0..12_usize),
        tail in 0.0..1.0_f64,
        slack in 0.0..0.5_f64,
        scripts in (scripts(), scripts()),
        outdated in vec(0..60_u32, 0..8),
        ladder in ladders(),
        unit in units(),
        state in prop::option::weighted(0.3, words(1..60)),
        writes in any::<bool>(),
    ) {
        let mut entries = entries;
        let inputs = if writes { writing(&mut entries) } else { Vec::new() };
        let thread = Thread::new(entries, &[]);
        let sizes = sizes(&thread, unit);
        let budget = Budget { unit, most: (sizes.total() as f64 * share) as u64 };
        let options = CompressOptions {
            keep_recent_share: tail,
            keep_recent_slack: slack,
            keep_recent_messages: keep,
            ladder,
            inputs,
            state: state.clone(),
            ..options()
        };
        let outdated: Vec<_> = outdated.into_iter().map(EntryId).collect();
        let summarizer = ScriptedSummarizer::new(scripts.0).digests(scripts.1).outdates(&outdated);
        let outcome = run_with(&thread, &options, budget, &[&summarizer]);
        let rerun = summarizer.anew();
        let same = run_with(&thread, &options, budget, &[&rerun]);
        prop_assert_eq!(format!("{outcome:?}"), format!("{same:?}"));
        match outcome {
            FitOutcome::NothingToDo { size } => prop_assert!(size == sizes.total() && size <= budget.most),
            FitOutcome::CannotFit { floor, .. } => prop_assert!(floor.size > budget.most),
            FitOutcome::Compressed(done) => {
                prop_assert!(sizes.total() > budget.most);
                prop_assert!(done.size[1] <= budget.most);
                prop_assert_eq!(done.view.size(&sizes), done.size[1]);
                let states = done.plan.ops.iter().filter_map(|op| match op {
                    Op::State { text, .. } => Some(text),
                    _ => None,
                });
                prop_assert_eq!(states.collect::<Vec<_>>(), state.iter().collect::<Vec<_>>());
                if unit != BudgetUnit::Bytes {
                    let again = ThreadSizes::measure(&done.view.entries(), *sizes.gauge(), 0);
                    prop_assert_eq!(again.total(), done.size[1]);
                }
                assert_sound(&thread, &done.view);
                assert_recorded(&thread, &done);
                let pinned = |at: usize| thread.pinned(EntryId(at as u32)).is_some();
                for exchange in thread.exchanges().iter().filter(|exchange| exchange.broken) {
                    let start = exchange.entries.start;
                    prop_assert!(pinned(start) || !done.view.keeps(EntryId(start as u32)));
                }
                let before: u64 = done.ops.iter().map(|op| op.tokens_before).sum();
                let after: u64 = done.ops.iter().map(|op| op.tokens_after).sum();
                prop_assert_eq!(done.by[0].sum() - before + after, done.by[1].sum());
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn the_recent_part_reaches_its_share(
        sizes_in_words in vec((10..400_usize, any::<bool>()), 4..20),
        share in 0.1..0.9_f64,
        tail in 0.1..0.9_f64,
        slack in 0.0..0.3_f64,
    ) {
        let said = |chat: Chat, (words, tool): &(usize, bool)| match tool {
            true => chat.assistant("so").call("read", "{}").result(&lines(words / 4)),
            false => chat.assistant(&lines(words / 4)),
        };
        let chat = sizes_in_words.iter().fold(chat().user("go"), said);
        let thread = Thread::new(chat.entries(), &[]);
        let sizes = sizes(&thread, BudgetUnit::Tokens);
        let budget = tokens((sizes.total() as f64 * share) as u64);
        let options = CompressOptions {
            keep_recent_share: tail,
            keep_recent_slack: slack,
            ..options()
        };
        let pinned = sizes.entry(EntryId(0));
        let room = budget.most.saturating_sub(pinned);
        prop_assume!(room > 200);
        let done = compressed(run(&thread, &options, budget, &Script::Fill));
        let recent = done.size[1] - pinned - done.by[1].checkpoints;
        // A cut ends with a whole line: a twentieth of it may be missing.
        let least = room as f64 * tail * (1.0 - slack) * 0.95;
        prop_assert!(recent as f64 >= least, "{recent} of {room}, not {least}");
    }
}

/// Runs of a tool, each with how many lines its output has before and behind the one that may say that
/// it failed.
fn runs() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
    vec((0..60usize, 0..60usize, any::<bool>()), 1..9)
}

proptest! {
    /// Wherever the kernel tells a call that failed, or its result is still sent, so is the line that says so.
    #[test]
    fn no_failure_is_left_out(
        runs in runs(),
        share in 0.05..0.95f64,
        tail in 0.0..1.0f64,
        script in prop::sample::select(vec![Script::Fail, Script::Empty]),
    ) {
        let failure = |at: usize| format!("error: suite {at} ended badly");
        let start = chat().user("Run them.");
        let talk = runs.iter().enumerate().fold(start, |talk, (at, (before, after, failed))| {
            let said = if *failed { failure(at) + "\n" } else { String::new() };
            let text = format!("{}{said}{}", lines(*before), lines(*after));
            talk.call("run", &format!(r#"{{"suite":"s{at}"}}"#)).result(&text).assistant("Next.")
        });
        let thread = Thread::new(talk.user("And now?").entries(), &[]);
        let options = CompressOptions { keep_recent_share: tail, ..options() };
        let total = sizes(&thread, BudgetUnit::Tokens).total();
        let outcome = run(&thread, &options, tokens((total as f64 * share) as u64), &script);
        let FitOutcome::Compressed(done) = outcome else { return Ok(()) };
        assert_sound(&thread, &done.view);
        let told = done.plan.ops.iter().filter_map(|op| match op {
            Op::Summarize(checkpoint) => Some(&checkpoint.text),
            _ => None,
        });
        for text in told {
            for (at, _) in runs.iter().enumerate().filter(|(_, run)| run.2) {
                let is_told = text.contains(&format!(r#"{{"suite":"s{at}"}}"#));
                prop_assert!(!is_told || text.contains(&failure(at)), "{text}");
            }
        }
    }
}
