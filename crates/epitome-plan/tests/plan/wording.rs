//! Who words what a policy ordered: summarisers that fail, and what the kernel says without them.

use epitome_kernel::types::hook::How;
use epitome_kernel::types::{Entry, Plan, SummaryKind};
use epitome_kernel::{Summarizer, Thread};
use epitome_plan::{FitOutcome, PlanAssembly, PlanMeans, assemble};
use epitome_testkit::{FixedCounter, Script, ScriptedSummarizer, now};

use crate::assembly::{PLENTY, checkpoints, ordered, replace, summarize};
use crate::help::{assert_recorded, assert_sound, compressed, options, session, tokens};

/// Two checkpoints are ordered, of six messages each; gives their texts, how often each
/// summariser was asked, and the warnings.
#[track_caller]
fn worded(scripts: &[Script], targets: [u64; 2]) -> (Vec<String>, Vec<usize>, Vec<String>) {
    let (thread, options) = (Thread::new(session().entries(), &[]), options());
    let all: Vec<_> = scripts.iter().cloned().map(ScriptedSummarizer::new).collect();
    let summarizers: Vec<_> = all.iter().map(|one| one as &dyn Summarizer).collect();
    let orders = ordered(vec![summarize(2, 8, targets[0]), summarize(8, 14, targets[1])]);
    let (counter, standing) = (&FixedCounter::Quarters, Plan::default());
    let (budget, count) = (tokens(PLENTY), summarizers.len());
    let assembly = PlanAssembly::new(
        &thread,
        &options,
        PlanMeans { budget, counter, summarizers: count },
        standing,
        &orders,
    );
    let assembly = assembly.expect("orders of what is there");
    let outcome = now(assemble(assembly, &thread, &options, &summarizers));
    let asked = all.iter().map(|one| one.asked(SummaryKind::Checkpoint).len()).collect();
    if let FitOutcome::NothingToDo { .. } = outcome {
        return (Vec::new(), asked, Vec::new());
    }
    let done = compressed(outcome);
    assert_sound(&thread, &done.view);
    assert_recorded(&thread, &done);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for one in checkpoints(&done.plan) {
        for entry in one.covers.iter().filter_map(|&id| thread.entry(id)) {
            let left = done.departure.passages.iter().any(|passage| passage.entry == entry.id);
            let said = words(&one.text).contains(&words(&entry.readable()));
            assert!(left || said, "what {} said is neither there nor searched", entry.id);
        }
    }
    let texts = checkpoints(&done.plan).iter().map(|one| one.text.clone()).collect();
    (texts, asked, done.warnings)
}

#[track_caller]
fn check_followed(bad: Script, times: usize, why: &str) {
    let (texts, asked, warnings) = worded(&[bad, Script::Fill], [150, 150]);
    assert_eq!((texts.len(), asked), (2, vec![times, 2]), "{why}");
    assert_eq!(warnings, [format!("summariser 1 gave up: {why}")]);
}

#[test]
fn one_that_does_no_good_is_followed_by_the_next_for_good() {
    check_followed(Script::Fail, 1, "scripted");
    check_followed(Script::Empty, 1, "the summary is empty");
    check_followed(Script::TooLarge(400), 1, "its summaries are larger than allowed");
}

#[test]
fn one_that_comes_out_too_large_is_asked_for_less() {
    let (texts, asked, warnings) = worded(&[Script::TooLarge(2)], [150, 150]);
    assert!(texts.iter().all(|text| text.len() <= 4 * 150) && texts.len() == 2, "{texts:?}");
    assert!((3..=8).contains(&asked[0]), "{asked:?}");
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn one_that_stays_too_large_is_asked_four_times() {
    let (texts, asked, warnings) =
        worded(&[Script::Say("word ".repeat(120)), Script::Fill], [150, 150]);
    assert_eq!((texts.len(), asked), (2, vec![4, 2]));
    assert_eq!(warnings, ["summariser 1 gave up: its summaries are larger than allowed"]);
}

#[test]
fn summarisers_see_what_stays_as_it_will_stand() {
    let (thread, options) = (Thread::new(session().entries(), &[]), options());
    let masked = replace(3, How::Mask, Some("[masked]"), None);
    let (cut, digest) =
        (replace(6, How::Cut, None, Some(60)), replace(9, How::Digest, None, Some(80)));
    let orders = ordered(vec![masked, cut, digest, summarize(11, 14, 90), summarize(14, 17, 90)]);
    let (counter, standing) = (&FixedCounter::Quarters, Plan::default());
    let assembly = PlanAssembly::new(
        &thread,
        &options,
        PlanMeans { budget: tokens(PLENTY), counter, summarizers: 1 },
        standing,
        &orders,
    );
    let assembly = assembly.expect("orders of what is there");
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let done = compressed(now(assemble(assembly, &thread, &options, &[&summarizer])));
    let ids = |kept: &[Entry]| kept.iter().map(|entry| entry.id.0).collect::<Vec<_>>();
    let pinned = summarizer.kept(SummaryKind::Digest);
    assert_eq!(ids(&pinned[0]), [0, 26]);
    for kept in summarizer.kept(SummaryKind::Checkpoint) {
        assert_eq!(ids(&kept), (0..11).chain(17..28).collect::<Vec<_>>());
        let sent = done.view.entries();
        for id in [3, 6, 9] {
            assert_eq!(kept[id].parts, sent[id].parts, "{id}");
        }
    }
}

#[test]
fn too_small_is_no_failure() {
    let (texts, asked, warnings) = worded(&[Script::Least(100), Script::Fill], [60, 150]);
    assert_eq!((texts.len(), asked), (2, vec![2, 1]), "the first one has room the second time");
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn without_any_the_kernel_says_a_line_a_message() {
    for scripts in [&[][..], &[Script::Fail], &[Script::Empty, Script::Fail]] {
        let (texts, ..) = worded(scripts, [150, 150]);
        let said = texts[0].lines().nth(1).unwrap_or_default();
        assert!(said.starts_with("assistant: I will read the next file.; read("), "{said}");
        assert!(texts.iter().all(|text| text.len() <= 4 * 150), "{texts:?}");
    }
    let (texts, asked, _) = worded(&[Script::Least(100)], [150, 90]);
    assert_eq!((texts.len(), asked), (2, vec![2]));
    assert!(texts[1].contains("\nassistant: "), "{}", texts[1]);
}

#[test]
fn where_nothing_can_be_said_nothing_is_changed() {
    assert_eq!(worded(&[Script::Fill], [1, 5]), (Vec::new(), vec![0], Vec::new()));
    let (texts, asked, _) = worded(&[Script::Fill], [1, 150]);
    assert_eq!((texts.len(), asked), (1, vec![1]));
    assert!(texts[0].starts_with("[6 earlier messages"), "{texts:?}");
}
