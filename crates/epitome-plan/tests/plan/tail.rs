//! What stays because it is recent, what leaves although it is, and what stands for the rest.

use epitome_kernel::Thread;
use epitome_kernel::types::{BudgetUnit, ContentId, EntryId, Op};
use epitome_plan::CompressOptions;
use epitome_testkit::{Script, ScriptedSummarizer, chat};

use crate::help::{
    assert_sound, compressed, lines, options, run, run_with, session, sizes, texts, tokens,
};

#[test]
fn pinned_messages_count_toward_the_recent_part() {
    let start = chat().system(&lines(5)).user(&lines(60)).assistant(&lines(30));
    let chat = start.assistant("Which one?").user(&lines(40)).assistant("That one.");
    let thread = Thread::new(chat.entries(), &[]);
    let sizes = sizes(&thread, BudgetUnit::Tokens);
    let options = options();
    let pinned = sizes.sum([EntryId(0), EntryId(4)]);
    let done = compressed(run(&thread, &options, tokens(pinned + 400), &Script::Fill));
    // The text that a person typed last is larger than half of the 400 that are not pinned.
    assert!(sizes.entry(EntryId(4)) > 200);
    let kept = thread.entries().iter().map(|entry| entry.id).filter(|&id| done.view.keeps(id));
    assert_eq!(kept.collect::<Vec<_>>(), [0, 4, 5].map(EntryId));
    assert!(done.by[1].checkpoints > 350, "the summary has the rest");
}

#[test]
fn the_oldest_recent_exchange_stays_or_leaves_whole_within_the_slack() {
    let kept = |slack: f64, edge: usize, newest: usize| {
        let start = chat().user("go").assistant(&lines(60)).assistant(&lines(edge));
        let thread = Thread::new(start.assistant(&lines(newest)).entries(), &[]);
        let pinned = sizes(&thread, BudgetUnit::Tokens).entry(EntryId(0));
        let mut options = options();
        options.keep_recent_slack = slack;
        let done = compressed(run(&thread, &options, tokens(pinned + 400), &Script::Fill));
        let is_whole = done.plan.ops.iter().all(|op| matches!(op, Op::Summarize(_)));
        done.view.keeps(EntryId(2)).then_some(is_whole)
    };
    // Of a share of 200 tokens the newest take about 126, then 180; a line is 9.
    assert_eq!((kept(0.0, 12, 14), kept(0.3, 12, 14)), (Some(false), Some(true)));
    assert_eq!((kept(0.0, 30, 20), kept(0.3, 30, 20)), (Some(false), None));
}

#[test]
fn a_system_prompt_is_no_recent_message() {
    let start = chat().user("go").assistant(&lines(60)).assistant("older");
    let chat = start.assistant("newer").system(&lines(60));
    let thread = Thread::new(chat.entries(), &[]);
    let options = options();
    let pinned = sizes(&thread, BudgetUnit::Tokens).sum([EntryId(0), EntryId(4)]);
    let done = compressed(run(&thread, &options, tokens(pinned + 200), &Script::Fill));
    assert!(done.view.keeps(EntryId(3)));
}

fn outdated(by_hand: &[EntryId], named: &[u32]) -> Vec<u32> {
    let start = chat().user(&lines(60)).assistant(&lines(60)).user("The budget is 500.");
    let start = start.assistant("I look.").call("cat", "{}").result("ok");
    let chat = start.user("The budget is 700.").assistant("Noted.").user("Go on.");
    let thread = Thread::new(chat.entries(), by_hand);
    let options = options();
    let named: Vec<_> = named.iter().map(|&id| EntryId(id)).collect();
    let summarizer = ScriptedSummarizer::new(Script::Fill).outdates(&named);
    let done = compressed(run_with(&thread, &options, tokens(200), &[&summarizer]));
    assert_sound(&thread, &done.view);
    let covers = done.plan.ops.iter().find_map(|op| match op {
        Op::Summarize(checkpoint) => Some(checkpoint.covers.iter().map(|id| id.0).collect()),
        _ => None,
    });
    covers.expect("a checkpoint")
}

#[test]
fn what_is_outdated_is_not_kept_for_being_recent() {
    assert_eq!(outdated(&[], &[]), [0]);
    assert_eq!(outdated(&[], &[2]), [0, 2]);
    assert_eq!(outdated(&[], &[2, 6, 6, 99, u32::MAX]), [0, 2, 6]);
}

#[test]
fn what_is_pinned_or_a_tool_exchange_is_never_outdated() {
    assert_eq!(outdated(&[], &[3, 4, 7]), [0]);
    assert_eq!(outdated(&[EntryId(2)], &[2]), [0]);
}

#[test]
fn a_label_that_takes_too_much_is_the_short_one() {
    let thread = Thread::new(session().entries(), &[]);
    let label_at = |share: f64| {
        let mut options = options();
        options.texts.label_share = share;
        let done = compressed(run(&thread, &options, tokens(600), &Script::Fill));
        assert!(done.size[1] <= 600);
        let id = ContentId::to_string(&checkpoint(&done.plan.ops).0);
        checkpoint(&done.plan.ops).1.replacen(&id[..8], "ID", 1)
    };
    assert!(label_at(0.2).contains(" earlier messages, ID]\n"));
    assert!(label_at(0.01).starts_with("[ID]\n"));
}

fn checkpoint(ops: &[Op]) -> (ContentId, &str) {
    let found = ops.iter().find_map(|op| match op {
        Op::Summarize(checkpoint) => Some((checkpoint.id, &*checkpoint.text)),
        _ => None,
    });
    found.expect("a checkpoint")
}

#[test]
fn what_leaves_is_kept_once_and_listed_under_the_checkpoint() {
    let thread = Thread::new(session().entries(), &[]);
    let options = options();
    let done = compressed(run(&thread, &options, tokens(600), &Script::Fill));
    let blobs = &done.departure.blobs;
    let list = blobs.iter().find(|blob| blob.id == checkpoint(&done.plan.ops).0).expect("a list");
    let line =
        format!("{} e1 user: Please", ContentId::for_text(&thread.entries()[1].readable()).short());
    assert!(list.text.starts_with(&line), "{}", list.text);
    for line in list.text.lines() {
        let (id, _) = line.split_once(' ').expect("an address");
        assert_eq!(blobs.iter().filter(|blob| blob.id.short() == id).count(), 1, "{line}");
    }
    let holding = blobs.iter().filter(|blob| blob.text.contains("line 21 of some file")).count();
    let reads = thread.entries().iter().filter(|entry| {
        !done.view.keeps(entry.id) && entry.readable().contains("line 21 of some file")
    });
    assert!(holding > 2 && holding <= reads.count() + 1, "{holding}");
}

#[test]
fn a_checkpoint_of_one_entry_is_addressed_as_that() {
    let chat = chat().user(&lines(60)).assistant(&lines(60)).user("Go on.");
    let thread = Thread::new(chat.entries(), &[]);
    let options = options();
    let done = compressed(run(&thread, &options, tokens(250), &Script::Fill));
    let id = ContentId::for_text(&thread.entries()[0].readable());
    assert_eq!(checkpoint(&done.plan.ops).0, id);
    let sources: Vec<_> = done.departure.blobs.iter().map(|blob| &*blob.source).collect();
    assert_eq!(sources, ["e1 assistant", "e0 user"], "the part that was shortened, and the rest");
}

/// Some providers refuse a conversation that begins with the assistant (RULES 106).
#[test]
fn without_a_checkpoint_the_user_leads_a_pinned_answer() {
    let chat = chat().user("look").assistant(&lines(9)).user(&lines(20)).assistant("keep this");
    let thread = Thread::new(chat.user("go on").entries(), &[EntryId(3)]);
    let options = CompressOptions { ladder: Vec::new(), ..options() };
    let sizes = sizes(&thread, BudgetUnit::Tokens);
    let room = tokens(sizes.sum([EntryId(0), EntryId(3), EntryId(4)]));
    let done = compressed(run(&thread, &options, room, &Script::Fail));
    assert_eq!(texts(&done.view), ["look", "keep this", "go on"]);
}
