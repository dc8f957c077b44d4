//! What stands on which side of the message that a person typed last.

use epitome_kernel::Thread;
use epitome_testkit::{Chat, chat};

use crate::help::{assert_sound, compressed, lines, options, run_with, texts, tokens};

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
