//! What models write for the shipped profiles (RULES 19 to 54): what each asks, that it stands in
//! the next prompt, and who is said to have written it. A real model answers, from cassettes.
//!
//! What it is asked is held to what the rules say the system asks; that each question is word for
//! word the recorded one is the cassette's to see to. What the model makes of it is its own.

mod marks;
mod plain;
mod staged;
mod tape;
mod tiered;

use serde_json::Value;

use tape::{Asked, MODEL, Written};

/// The questions that say this.
fn saying<'w>(written: &'w Written, words: &str) -> Vec<&'w Asked> {
    written.asked.iter().filter(|one| one.question().contains(words)).collect()
}

/// Whether the model wrote what a compression puts in.
fn is_written(event: &Value) -> bool {
    event["ops"].as_array().unwrap().iter().any(|op| op["model"] == MODEL)
}

/// That what the model wrote stands where the program says that it does, and how often: the whole of
/// an answer, or, where an extract completes it, some of its sentences.
#[track_caller]
fn stand(written: &Written, is_whole: bool) -> usize {
    let mut times = 0;
    for (turn, event) in written.told("compressed") {
        if !is_written(event) {
            continue;
        }
        let prompt = written.said(turn);
        let there = |text: &str| prompt.contains(text.trim());
        let is_there = |answer: &str| match is_whole {
            true => answer.lines().all(there),
            false => answer.split(". ").any(there),
        };
        let mut answers = written.asked.iter().map(|one| &one.answer);
        assert!(answers.any(|answer| !answer.is_empty() && is_there(answer)), "{event}\n{prompt}");
        times += 1;
    }
    times
}
