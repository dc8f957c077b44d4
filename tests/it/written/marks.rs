//! `watermark`: a model is asked where a task begins, and for what the window forces (RULES 35 to
//! 41).

use serde_json::Value;

use super::tape::{Written, play, tideline};
use super::{saying, stand};
use crate::measure::{messages, texts};
use crate::playing::events;

/// The turn behind the one that answers what a person typed: the mark is set with the next request.
#[track_caller]
fn behind<'w>(written: &'w Written, typed: &str) -> &'w Value {
    let is_last = |turn: &Value| {
        messages(&written.prompt(turn))
            .last()
            .is_some_and(|last| texts(last).contains(&typed.into()))
    };
    let at = written.turns.iter().position(is_last);
    &written.turns[at.unwrap_or_else(|| panic!("no turn answers {typed}")) + 1]
}

/// "marks at task boundaries that ... the model asked by it, detects" (RULES 39); "tool_use and
/// tool_result blocks before the message that holds the watermark are removed; text stays" (RULES
/// 36).
#[test]
fn watermark_marks_where_a_model_says_that_a_task_begins() {
    let config = "[profile.watermark.options.watermark]\nask_boundary = true\n";
    let written = play("watermark", "watermark", &tideline(62), config, "--prompt-limit 2400");
    let talk = tideline(62);
    let typed: Vec<_> = messages(&talk).iter().filter(|one| one["role"] == "user").collect();
    let asked = saying(&written, "or begin another task?");
    assert_eq!(asked.len(), typed.len() - 1);
    let mut marks = [0, 0];
    for (asked, pair) in asked.iter().zip(typed.windows(2)) {
        let [before, now] = [pair[0], pair[1]].map(|one| one["content"].as_str().unwrap());
        let question = asked.question();
        assert!(question.contains(before) && question.contains(now), "{question}");
        let begins = asked.answer.to_lowercase().starts_with("yes");
        let turn = behind(&written, now);
        assert_eq!(events(turn).contains(&"watermark-moved"), begins, "{now}: {turn}");
        marks[usize::from(begins)] += 1;
        if begins {
            let prompt = written.prompt(turn);
            let is_now = |message: &Value| texts(message).contains(&now.into());
            let mut before = messages(&prompt).iter().take_while(|one| !is_now(one));
            assert!(before.all(|one| one["role"] != "tool"), "{prompt}");
            let said = written.said(turn);
            let until = messages(&talk).iter().take_while(|one| one["content"] != now);
            let talked = until.filter(|one| one["role"] != "tool").flat_map(texts);
            talked.for_each(|text| assert!(said.contains(&text), "{text} left"));
        }
    }
    assert!(marks.iter().all(|times| *times > 0), "{marks:?}");
}

/// Where nothing is marked and the window forces it, the policies behind have a model asked.
#[test]
fn watermark_leaves_what_the_window_forces_to_the_policies_behind() {
    let written = play("watermark-forced", "watermark", &tideline(24), "", "--prompt-limit 1500");
    assert_eq!(saying(&written, "Sum up this part of a conversation").len(), written.asked.len());
    assert!(stand(&written, false) > 0);
}
