//! Files in a chat without tools: whatever is pasted, and however little of it a prompt holds, each
//! copy of a file is there whole or not at all (RULES 16).

use std::sync::Arc;

use epitome::types::EventKind;
use epitome::{CompressionTarget, Compressor, Error, MemoryStore, WindowSetting};
use epitome_testkit::{FixedCounter, now};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A message that holds copies of files, with talk around them.
#[derive(Clone, Debug)]
struct Paste {
    by_model: bool,
    wording: usize,
    /// Which files, and how many functions each has.
    files: Vec<(usize, usize)>,
    /// Sentences before and behind them.
    talk: [usize; 2],
}

/// One copy of a file, with words that no other has.
struct Copy {
    path: String,
    name: String,
    lines: usize,
}

impl Copy {
    fn text(&self) -> String {
        let one = |at: usize| format!("def {0}_{at}(x):\n    return x.{0}({at})\n", self.name);
        (0..self.lines / 2).map(one).collect()
    }

    fn worded(&self, wording: usize) -> String {
        let (path, text) = (&self.path, self.text());
        match wording {
            0 => format!("{path}\n```python\n{text}```\n"),
            1 => format!("<file path=\"{path}\">\n{text}</file>\n"),
            2 => format!("=== {path} ===\n{text}"),
            3 => format!("```python {path}\n{text}```\n"),
            _ => format!("This is how {path} looks at the moment:\n\n```\n{text}```\n"),
        }
    }
}

fn pastes() -> impl Strategy<Value = Vec<Paste>> {
    let files = vec((0..4_usize, 8..24_usize), 0..3);
    let paste = (any::<bool>(), 0..5_usize, files, [0..12_usize, 0..12_usize]);
    let paste = paste.prop_map(|(by_model, wording, mut files, talk)| {
        files.sort_unstable();
        files.dedup_by_key(|file| file.0);
        Paste { by_model, wording, files, talk }
    });
    vec(paste, 2..12)
}

fn talk(turn: usize, count: usize) -> String {
    let one = |at: usize| format!("In month {at} of plan {turn} the shop sold {} crates. ", at * 7);
    (0..count).map(one).collect()
}

/// The messages, and the copies in each.
fn said(pastes: &[Paste]) -> Vec<(Value, Vec<Copy>)> {
    let mut said = Vec::new();
    for (turn, paste) in pastes.iter().enumerate() {
        let copy = |&(file, functions): &(usize, usize)| Copy {
            path: format!("shop/part_{file}.py"),
            name: format!("f{file}v{turn}"),
            lines: functions * 2,
        };
        let copies: Vec<_> = paste.files.iter().map(copy).collect();
        let worded: String = copies.iter().map(|it| it.worded(paste.wording)).collect();
        let [before, behind] = paste.talk.map(|count| talk(turn, count));
        let text = format!("Turn {turn}. {before}\n\n{worded}\n{behind}");
        // A model answers between what people say.
        let [first, second] = match paste.by_model {
            true => {
                [("user", format!("What of turn {turn}?"), Vec::new()), ("assistant", text, copies)]
            }
            false => [("user", text, copies), ("assistant", "I see.".to_owned(), Vec::new())],
        };
        said.extend(
            [first, second]
                .map(|(role, text, copies)| (json!({"role": role, "content": text}), copies)),
        );
    }
    said.push((json!({"role": "user", "content": "And now?"}), Vec::new()));
    said
}

/// Each copy is in the prompt whole or not at all; gives the newest ones that are not.
fn check<'c>(prompt: &[u8], copies: impl Iterator<Item = &'c Copy>) -> Vec<&'c Copy> {
    let prompt: Value = serde_json::from_slice(prompt).unwrap();
    let messages = prompt["messages"].as_array().or(prompt.as_array()).unwrap();
    let text: Vec<_> = messages.iter().filter_map(|it| it["content"].as_str()).collect();
    let text = text.join("\n");
    let mut newest: Vec<(&Copy, bool)> = Vec::new();
    for copy in copies {
        let called = format!("{}_", copy.name);
        let calls = format!(".{}(", copy.name);
        let lines = text.lines().filter(|it| it.contains(&called) || it.contains(&calls)).count();
        let whole = text.contains(&copy.text());
        assert!(
            lines == 0 || whole,
            "{} is cut: {lines} of {} lines\n{text}",
            copy.name,
            copy.lines
        );
        newest.retain(|(other, _)| other.path != copy.path);
        newest.push((copy, whole));
    }
    let left: Vec<_> = newest.into_iter().filter(|it| !it.1).map(|it| it.0).collect();
    for copy in &left {
        assert!(text.contains(&copy.path), "{} left without a word", copy.name);
    }
    left
}

/// No prompt is too large for copies of files: those leave.
fn check_stuck(error: &Error) {
    let Error::CannotFit { floor, .. } = error else { panic!("{error}") };
    assert!(floor.items.iter().all(|it| !it.1.contains("newest copy")), "{error}: {floor:?}");
}

/// A person pastes another file with each question. Sooner or later no prompt has room for all, and old
/// ones leave so that the prompt is not made anew for each question.
#[test]
fn files_of_old_questions_have_no_compression_after_the_other() {
    let builder = Compressor::builder().counter(FixedCounter::Quarters);
    let builder = builder.window(WindowSetting::Limit(6000));
    let mut session = builder.session(Arc::new(MemoryStore::new()), Some("work"));
    let mut kept = Vec::new();
    for turn in 0..80 {
        let path = format!("shop/part_{turn}.py");
        let copy = Copy { path, name: format!("f{turn}"), lines: 24 };
        let asked = format!("{}\nWhy is this slow?", copy.worded(0));
        let answer = format!("It waits for month {turn}. {}", talk(turn, 3));
        session.push(json!({"role": "user", "content": asked}).to_string().as_bytes()).unwrap();
        let prompt = now(session.prompt()).unwrap();
        // What was asked about last is there.
        assert!(String::from_utf8_lossy(&prompt.bytes).contains(&format!("f{turn}_11(x)")));
        for event in prompt.events {
            if let EventKind::Compressed { .. } = event.what {
                kept.push(event.tokens[1] as f64 / event.tokens[0] as f64);
            }
        }
        let answer = json!({"role": "assistant", "content": answer}).to_string();
        session.push(answer.as_bytes()).unwrap();
    }
    assert!((2..20).contains(&kept.len()), "{kept:?}");
    assert!(kept.windows(2).all(|pair| pair.iter().any(|kept| *kept < 0.8)), "{kept:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_of_a_file_is_whole_or_gone(pastes in pastes(), share in 0.08..0.9_f64) {
        let said = said(&pastes);
        let copies = || said.iter().flat_map(|(_, copies)| copies);
        let messages: Vec<_> = said.iter().map(|(message, _)| message).collect();
        let body = serde_json::to_vec(&messages).unwrap();
        let most = (body.len() as f64 / 4.0 * share) as u64;
        let target = CompressionTarget::Tokens(most);
        let builder = Compressor::builder().counter(FixedCounter::Quarters).target(target);
        match now(builder.build().compress(&body)) {
            Ok(compressed) => {
                let left = check(&compressed.bytes, copies());
                for copy in left {
                    let warned = compressed.report.warnings.iter().any(|it| it.contains(&copy.path));
                    prop_assert!(warned, "{} left and no user was told", copy.name);
                }
            }
            Err(error) => check_stuck(&error),
        }
    }

    #[test]
    fn a_copy_of_a_file_is_whole_or_gone_all_along(pastes in pastes(), share in 0.2..0.9_f64) {
        let said = said(&pastes);
        let bytes: usize = said.iter().map(|(message, _)| message.to_string().len()).sum();
        let limit = ((bytes as f64 / 4.0 * share) as u64).max(400);
        let builder = Compressor::builder().counter(FixedCounter::Quarters);
        let builder = builder.window(WindowSetting::Limit(limit));
        let mut session = builder.session(Arc::new(MemoryStore::new()), Some("work"));
        for (at, (message, _)) in said.iter().enumerate() {
            session.push(&serde_json::to_vec(message).unwrap()).unwrap();
            if message["role"] == "user" {
                let copies = said[..=at].iter().flat_map(|(_, copies)| copies);
                match now(session.prompt()) {
                    Ok(prompt) => drop(check(&prompt.bytes, copies)),
                    Err(error) => check_stuck(&error),
                }
            }
        }
    }
}
