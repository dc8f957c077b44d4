//! Digests of large texts of the recent part: what is asked, and what comes of each answer.

use epitome_kernel::types::{
    Entry, EntryId, Op, PartId, Passage, ReplaceMethod, Summary, SummaryKind,
};
use epitome_kernel::{SummaryError, TextMeasure, Thread};
use epitome_plan::{PlanStep, SummarySubject};
use epitome_testkit::{Script, ScriptedSummarizer, chat};

use crate::help::{
    assert_recorded, assert_sound, compressed, fitting, lines, options, run_with, session, sizes,
    tokens,
};

/// Two old messages, a short pinned one, and a call whose result is too large.
fn reading(count: usize) -> Thread {
    let chat = chat().user(&lines(60)).assistant(&lines(60)).user("read it").call("cat", "{}");
    Thread::new(chat.result(&lines(count)).entries(), &[])
}

/// How texts were shortened, and to what.
fn shortened(ops: &[Op]) -> Vec<(PartId, ReplaceMethod, &str)> {
    let texts = ops.iter().filter_map(|op| match op {
        Op::Replace { part, how, with } => Some((*part, *how, &**with)),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_digest_is_asked_for_one_text_beside_what_is_pinned() {
    let thread = reading(200);
    let options = options();
    let mut run = fitting(&thread, &options, 400);
    let PlanStep::Summarize(ask) = run.step() else { panic!("no digest is asked for") };
    let part = PartId { entry: EntryId(4), part: 0 };
    assert_eq!(ask.what, SummarySubject::Digest(part));
    assert_eq!(ask.kept.iter().map(|entry| entry.id).collect::<Vec<_>>(), [EntryId(2)]);
    let alone = thread.alone(part).expect("an entry");
    assert_eq!((alone.parts.len(), alone.readable()), (1, thread.entries()[4].readable()));

    let text = "line 77 of some file\n".repeat(3) + "line 99 of some file";
    let left = vec![Passage { entry: EntryId(4), text: "line 3 of some file".to_owned() }];
    let digest = Summary { text: text.clone(), left: left.clone(), ..Summary::default() };
    run.answer(Ok(digest));
    let PlanStep::Summarize(ask) = run.step() else { panic!("no checkpoint is asked for") };
    let shown = ask.kept.last().map(Entry::readable).expect("the result");
    assert!(shown.starts_with(&format!("{text}\n[196 lines, ")), "{shown}");
    assert!(400 - run.gauge().size(&shown) > ask.most, "what the digest spares is not lost");
    let checkpoint = Summary { text: "Both read it.".to_owned(), ..Summary::default() };
    run.answer(Ok(checkpoint));
    let PlanStep::Done(outcome) = run.step() else { panic!("more is asked for") };
    let done = compressed(outcome);
    assert_eq!(shortened(&done.plan.ops), [(part, ReplaceMethod::Digest, &*shown)]);
    assert_recorded(&thread, &done);
    let id = shown.trim_end_matches(']').rsplit(' ').next().expect("an id");
    let original = done.departure.blobs.iter().find(|blob| blob.id.short() == id).expect("a blob");
    assert_eq!(original.text, lines(200));
    let found: Vec<_> =
        done.departure.passages.iter().filter(|one| one.entry == EntryId(4)).cloned().collect();
    assert_eq!(found, left);
    assert!(done.departure.sources.contains(&(
        EntryId(4),
        original.id,
        "e4 cat result".to_owned()
    )));
}

#[track_caller]
fn check_cut(digests: Script, warnings: usize) {
    let thread = reading(200);
    let options = options();
    let summarizer = ScriptedSummarizer::new(Script::Fill).digests(digests);
    let done = compressed(run_with(&thread, &options, tokens(400), &[&summarizer]));
    assert_sound(&thread, &done.view);
    assert_eq!(summarizer.asked(SummaryKind::Digest).len(), 1);
    let [(_, ReplaceMethod::Cut, text)] = shortened(&done.plan.ops)[..] else {
        panic!("{:?}", done.plan.ops)
    };
    assert!(text.starts_with("line 0 ") && text.ends_with("was read\n"), "{text}");
    assert_eq!(done.warnings.len(), warnings, "{:?}", done.warnings);
}

#[test]
fn without_a_good_digest_the_head_and_the_tail_stay() {
    check_cut(Script::Empty, 0);
    check_cut(Script::TooLarge(1), 0);
    check_cut(Script::Least(1 << 20), 0);
    check_cut(Script::Fail, 1);
}

#[test]
fn the_next_summariser_writes_the_digest_that_one_failed_at() {
    let thread = reading(200);
    let options = options();
    let bad = ScriptedSummarizer::new(Script::Fill).digests(Script::Fail);
    let good = ScriptedSummarizer::new(Script::Fill);
    let done = compressed(run_with(&thread, &options, tokens(400), &[&bad, &good]));
    assert!(matches!(shortened(&done.plan.ops)[..], [(_, ReplaceMethod::Digest, _)]));
    let asked = |one: &ScriptedSummarizer| {
        [SummaryKind::Digest, SummaryKind::Checkpoint].map(|kind| one.asked(kind).len())
    };
    assert_eq!((asked(&bad), asked(&good)), ([1, 0], [1, 1]));
}

#[test]
fn small_texts_leave_their_share_to_large_ones() {
    let chat = chat().user(&lines(60)).assistant(&lines(60)).user("read them");
    let chat = chat.call("a", "{}").call("b", "{}").call("c", "{}");
    let chat = chat.result(&lines(100)).result("short").result(&lines(150));
    let thread = Thread::new(chat.entries(), &[]);
    let options = options();
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let done = compressed(run_with(&thread, &options, tokens(400), &[&summarizer]));
    let digests = shortened(&done.plan.ops);
    assert_eq!(digests.iter().map(|one| one.0.entry.0).collect::<Vec<_>>(), [4, 6]);
    let rooms: Vec<_> = summarizer.asked(SummaryKind::Digest).iter().map(|one| one.1).collect();
    assert_eq!(rooms[0], rooms[1]);
    let sizes = sizes(&thread, epitome_kernel::types::BudgetUnit::Tokens);
    let rest = 200 - sizes.sum([EntryId(3), EntryId(5)]);
    assert!(rooms[0] > rest / 2 - 30, "{rooms:?} of {rest}");
}

#[test]
fn a_text_with_little_room_is_cut() {
    let thread = reading(200);
    let mut options = options();
    options.digest_tokens = 1 << 20;
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let done = compressed(run_with(&thread, &options, tokens(400), &[&summarizer]));
    assert!(matches!(shortened(&done.plan.ops)[..], [(_, ReplaceMethod::Cut, _)]));
    assert_eq!(summarizer.asked(SummaryKind::Digest), []);
}

#[test]
fn a_digest_is_asked_for_once_whatever_the_ladder_does() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let summarizer = ScriptedSummarizer::new(Script::Least(300)).digests(Script::Fill);
    compressed(run_with(&thread, &options, tokens(400), &[&summarizer]));
    let asked = summarizer.asked(SummaryKind::Digest);
    let once = asked.iter().all(|one| asked.iter().filter(|other| *other == one).count() == 1);
    assert!(once && !asked.is_empty(), "{asked:?}");
    assert!(summarizer.asked(SummaryKind::Checkpoint).len() > 1);
}

#[test]
fn too_small_is_no_failure() {
    let thread = reading(200);
    let options = options();
    let mut run = fitting(&thread, &options, 400);
    let PlanStep::Summarize(digest) = run.step() else { panic!("no digest is asked for") };
    run.answer(Err(SummaryError::TooSmall { most: digest.most, least: 999 }));
    let PlanStep::Summarize(ask) = run.step() else { panic!("no checkpoint is asked for") };
    assert!(matches!(ask.what, SummarySubject::Checkpoint(_)));
    assert_eq!(ask.summarizer, 0);
}
