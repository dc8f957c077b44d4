//! Lines that a profile keeps: said in every prompt, whatever a plan takes out and whoever makes it.

use epitome_kernel::types::hook::{ClearToolsOp, Drop, How as Shortened, OpRequest, Rollover};
use epitome_kernel::types::{EntryId, EventKind, Op, PartBody, PartId, Plan};
use epitome_kernel::{Thread, View};
use epitome_plan::{CompressOptions, ConstraintState, FitOutcome, KeptStatement, StatedLine};
use epitome_testkit::{Script, ScriptedSummarizer, chat};

use crate::assembly::{make, places, replace, summarize};
use crate::help::{assert_sound, compressed, lines, options, run, texts, tokens};

const HEADING: &str = "Kept:";

/// The options under which all lines stay that hold `word`.
fn keeping(thread: &Thread, word: &str, share: f64) -> CompressOptions {
    let mut found = Vec::new();
    for entry in thread.entries() {
        for (part, at) in entry.parts.iter().zip(0..) {
            let text = match &part.body {
                PartBody::Text(text) => text,
                PartBody::Result(result) => &result.text,
                _ => continue,
            };
            found.extend(text.lines().filter(|line| line.contains(word)).map(|line| StatedLine {
                part: PartId { entry: entry.id, part: at },
                text: line.to_owned(),
                sent: true,
            }));
        }
    }
    let kept = KeptStatement { lines: found, heading: HEADING.to_owned(), share, fills: None };
    let demands =
        ConstraintState { label: "[State]".to_owned(), kept, ..ConstraintState::default() };
    CompressOptions { demands, ..options() }
}

/// A session with a line to keep in each of eight results.
fn session() -> Thread {
    let start = chat().system("Follow the rules.").user("Please look into the failing test.");
    let turns = (0..8).fold(start, |chat, turn| {
        let rows = format!("{}KEEP row {turn} of the table\n{}", lines(10), lines(10));
        chat.assistant("I will read the next file.")
            .call("read", &format!(r#"{{"path":"src/file{turn}.rs"}}"#))
            .result(&rows)
            .assistant("That file is fine, the cause is elsewhere.")
    });
    Thread::new(turns.user("Now fix it, please.").assistant("I fixed it.").entries(), &[])
}

/// How many of the lines that are to stay a view says.
fn said(view: &View<'_>, options: &CompressOptions) -> usize {
    let texts = texts(view).join("\n");
    options.demands.kept.lines.iter().filter(|line| texts.contains(&*line.text)).count()
}

#[test]
fn lines_stay_whatever_a_policy_orders() {
    let thread = session();
    let options = keeping(&thread, "KEEP", 1.0);
    assert_eq!(options.demands.kept.lines.len(), 8);
    let all = || {
        [
            vec![OpRequest::Rollover(Rollover { target: 200 })],
            vec![OpRequest::Drop(Drop { entries: places(2, 8) })],
            vec![OpRequest::ClearTools(ClearToolsOp { entries: places(2, 25) })],
            vec![summarize(2, 8, 150)],
            vec![replace(4, Shortened::Mask, Some("[m]"), None)],
            vec![replace(4, Shortened::Mask, Some("KEEP row 0 of the table"), None)],
        ]
    };
    for ops in all() {
        let summarizer = ScriptedSummarizer::new(Script::Fill);
        let ground = (thread.clone(), options.clone());
        let done = compressed(make(&ground, 10_000, &Plan::default(), ops, &[&summarizer]));
        assert_sound(&ground.0, &done.view);
        assert_eq!(said(&done.view, &options), 8, "{:?}", done.plan.ops);
        assert!(done.events.is_empty(), "{:?}", done.events);
        for op in done.ops.iter().filter(|op| op.op == "state") {
            assert_eq!((&*op.policy, &*op.hook), ("profile", "keep"), "{op:?}");
        }
    }
}

#[test]
fn lines_stay_on_every_rung_of_the_ladder() {
    let thread = session();
    let options = keeping(&thread, "KEEP", 1.0);
    let mut least = u64::MAX;
    for script in [Script::Fill, Script::Fail] {
        for most in (120..2_000).step_by(20) {
            let FitOutcome::Compressed(done) = run(&thread, &options, tokens(most), &script) else {
                continue;
            };
            assert!(done.size[1] <= most);
            let held = said(&done.view, &options);
            let told =
                done.events.iter().any(|event| matches!(event, EventKind::PolicyWarning { .. }));
            assert_eq!(held < 8, told, "{held} in {most} tokens: {:?}", done.events);
            least = if held == 8 { least.min(most) } else { least };
        }
    }
    assert!(least < 300, "all lines need {least} tokens");
}

#[test]
fn where_there_is_too_little_room_the_newest_stay() {
    let talk = (0..6).fold(chat(), |chat, at| {
        chat.user(&format!("KEEP {at} of the lines that are to stay")).assistant(&lines(20))
    });
    let thread = Thread::new(talk.user("go on").entries(), &[EntryId(20)]);
    let options = keeping(&thread, "KEEP", 0.75);
    let mut before = 0;
    for most in (30..400).step_by(5) {
        let FitOutcome::Compressed(done) = run(&thread, &options, tokens(most), &Script::Fill)
        else {
            continue;
        };
        let stated = done.plan.ops.iter().find_map(|op| match op {
            Op::State { text, .. } => Some(text.clone()),
            _ => None,
        });
        let stated = stated.unwrap_or_default();
        let held: Vec<_> = (0..6).map(|at| stated.contains(&format!("KEEP {at} of"))).collect();
        let first = held.iter().position(|held| *held).unwrap_or(6);
        let all = held[first..].iter().take_while(|held| **held).count();
        assert!(held[first + all..].iter().all(|held| !held), "{most}: {held:?}");
        before = before.max(all);
    }
    assert_eq!(before, 6, "all fit at last");
}

/// What is masked may be a secret: nothing of it is stated.
#[test]
fn lines_of_what_is_masked_are_said_nowhere() {
    let thread = session();
    let options = keeping(&thread, "KEEP", 1.0);
    let results: Vec<_> =
        thread.entries().iter().filter(|it| it.results().next().is_some()).collect();
    let masks =
        results.iter().map(|entry| replace(entry.id.0, Shortened::Mask, Some("[masked]"), None));
    let ground = (thread.clone(), options.clone());
    let FitOutcome::Compressed(done) =
        make(&ground, u64::MAX, &Plan::default(), masks.collect(), &[])
    else {
        panic!("nothing was done");
    };
    assert_eq!(said(&done.view, &options), 0, "{:?}", texts(&done.view));
    assert_eq!(texts(&done.view).iter().filter(|text| text.contains("[masked]")).count(), 8);
}
