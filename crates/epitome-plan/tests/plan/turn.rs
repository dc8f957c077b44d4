//! What stands on which side of the message that a person typed last, and what came of the calls behind
//! it.

use epitome_kernel::Thread;
use epitome_kernel::types::{BudgetUnit, EntryId, Op};
use epitome_testkit::{Chat, Script, chat};

use crate::help::{assert_sound, compressed, lines, options, run, run_with, sizes, texts, tokens};

/// What people and the assistant said, in order, where no summariser tells of it and all that leaves fits
/// into as many tokens.
fn told(chat: &Chat, most: u64) -> Vec<String> {
    let thread = Thread::new(chat.clone().entries(), &[]);
    let mut options = options();
    options.keep_recent_share = 0.0;
    let done = compressed(run_with(&thread, &options, tokens(most), &[]));
    assert_sound(&thread, &done.view);
    texts(&done.view)
}

#[test]
fn what_came_behind_the_last_message_is_told_behind_it() {
    let chat = chat().user("First the parser.").assistant(&lines(40)).user("Then the printer.");
    let chat = chat.assistant(&lines(50)).assistant(&lines(30));
    let [before, typed, behind] = &told(&chat, 90)[..] else { panic!("{:?}", told(&chat, 90)) };
    assert!(before.contains("user: First the parser.") && !before.contains("printer"), "{before}");
    assert_eq!(typed, "Then the printer.");
    assert!(behind.contains("line 0 of some file"), "{behind}");
    assert_eq!(behind.matches("assistant: ").count(), 2, "{behind}");
}

#[test]
fn what_is_no_larger_than_its_summary_stays() {
    let chat = chat().user("Go.").user("Then the printer.").assistant(&lines(50));
    let chat = chat.assistant(&lines(30));
    let [first, typed, behind] = &told(&chat, 90)[..] else { panic!("{:?}", told(&chat, 90)) };
    assert_eq!((&**first, &**typed), ("Go.", "Then the printer."));
    assert!(behind.contains("line 0 of some file"), "{behind}");
}

/// How many lines stay of the results behind the last message, and of those before it.
fn kept_results(share: f64) -> [usize; 2] {
    let chat = chat().user("Read both.").call("read", "{}").result(&lines(50));
    let chat = chat.user("And now?").call("read", "{}").result(&lines(25));
    let thread = Thread::new(chat.entries(), &[]);
    let pinned = sizes(&thread, BudgetUnit::Tokens).entry(EntryId(3));
    let mut options = options();
    (options.keep_recent_share, options.newest_results_share) = (0.2, share);
    let done = compressed(run(&thread, &options, tokens(pinned + 400), &Script::Fill));
    let is_cut = done.plan.ops.iter().any(|op| matches!(op, Op::Replace { .. }));
    assert_eq!(is_cut, share < 0.7, "{:?}", done.plan);
    let count = |text: &String| text.matches("of some file").count();
    let said = texts(&done.view);
    [said.last().map_or(0, count), said[..said.len() - 1].iter().map(count).sum()]
}

#[test]
fn the_newest_results_stay_whole_up_to_their_share() {
    let ([little, older], [all, rest]) = (kept_results(0.0), kept_results(0.7));
    assert!(little < 12 && all == 25, "{little} {all}");
    assert!(older > rest, "{older} {rest}");
}

/// The share of the newest results that stays where they take four fifths of the room.
fn kept_share(results: &str) -> f64 {
    let chat = chat().user("Read both.").call("read", "{}").result(&lines(50));
    let thread =
        Thread::new(chat.user("And now?").call("read", "{}").result(results).entries(), &[]);
    let sizes = sizes(&thread, BudgetUnit::Tokens);
    let newest = sizes.sum([4, 5].map(EntryId));
    let mut options = options();
    (options.keep_recent_share, options.newest_results_share) = (0.2, 0.7);
    let most = sizes.entry(EntryId(3)) + newest * 5 / 4;
    let done = compressed(run(&thread, &options, tokens(most), &Script::Fill));
    let said = texts(&done.view);
    said.last().map_or(0, String::len) as f64 / results.len() as f64
}

#[test]
fn newest_results_in_json_have_the_room_of_their_rows() {
    let row = |id: usize| format!(r#"{{"id":"ab-{id}","left":{id},"open":true}}"#);
    let rows: Vec<String> = (0..40).map(row).collect();
    assert!(kept_share(&format!("[{}]", rows.join(","))) > 0.5);
    assert!(kept_share(&rows.join("\n").replace(['{', '"'], " ")) < 0.4);
}
