//! What a person types beside a tool result stays, and what comes of it is valid or known not to
//! fit: the budget does not matter, nor the format (RULES 4, 6, 101, 102 and 106).

use std::path::PathBuf;
use std::{env, fs};

use epitome::{CompressionTarget, Compressor, Error, Format, RequestDocument, validate};
use epitome_testkit::now;
use epitome_types::{Edit, Role};
use epitome_wire::{convert, detect};

const TYPED: &str = "And what about the other one?";

/// Holds a request to each of these budgets; how many of them it fits into.
#[track_caller]
fn check(name: &str, format: Format, body: &[u8], budgets: &[u64]) -> usize {
    let mut fitted = 0;
    for most in budgets {
        let compressor = Compressor::builder()
            .input_format(format)
            .target(CompressionTarget::Tokens(*most))
            .build();
        match now(compressor.compress(body)) {
            Ok(made) => {
                fitted += 1;
                assert_eq!(validate(format, &made.bytes), Ok(()), "{name} in {most}, {format}");
                let text = String::from_utf8(made.bytes).unwrap();
                assert!(text.contains(TYPED), "{name} in {most}, {format}");
            }
            Err(Error::CannotFit { budget, floor }) => {
                assert!(floor.size > budget.most, "{name}: {} in {budget}", floor.size);
                assert!(!floor.items.is_empty(), "{name}");
            }
            Err(error) => panic!("{name} in {most}, {format}: {error}"),
        }
    }
    fitted
}

/// Cuts a request behind every `step`th message with a result, where a person types something.
fn cuts(format: Format, body: &[u8], step: usize) -> Vec<Vec<u8>> {
    let document = RequestDocument::parse(body, format).unwrap();
    let places = document.turns().into_iter().filter(|end| {
        let last = document.entries().get(document.lead() + end - 1);
        last.is_some_and(|last| last.results().next().is_some())
    });
    let cut = |end: usize| {
        let prefix = document.prefix(end);
        let prefix = RequestDocument::parse(&prefix, format).unwrap();
        let after = prefix.entries().last().map(|last| last.id);
        let insert = Edit::Insert { after, role: Role::User, text: TYPED.to_owned() };
        prefix.edited(&[insert]).unwrap()
    };
    places.step_by(step).map(cut).collect()
}

fn recordings() -> (usize, Vec<PathBuf>) {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![top.join("examples/transcripts/debugging-session.jsonl")];
    let Some(shared) = env::var_os("EPITOME_SHARED").map(PathBuf::from) else { return (40, files) };
    for kind in ["pi-sessions", "swe-agent", "tau-bench-airline"] {
        let found = fs::read_dir(shared.join("data").join(kind)).unwrap();
        files.extend(found.map(|file| file.unwrap().path()));
    }
    let step = env::var("EPITOME_CUTS").ok().and_then(|step| step.parse().ok());
    (step.unwrap_or(25), files)
}

#[test]
fn recordings_cut_anywhere_are_valid_or_do_not_fit() {
    let (step, files) = recordings();
    let (mut all, mut fitted) = (0, 0);
    for file in files {
        #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
        let bytes = fs::read(&file).unwrap();
        let Ok(from) = detect(&bytes) else { continue };
        for format in Format::PROVIDERS {
            let body = match from.is_recording() {
                true => convert(&bytes, from, format).unwrap(),
                false if from == format && RequestDocument::parse(&bytes, format).is_ok() => {
                    bytes.clone()
                }
                false => continue,
            };
            for cut in cuts(format, &body, step) {
                let budgets = [60, 150, 300, 900, 3000, 9000];
                fitted += check(&file.display().to_string(), format, &cut, &budgets);
                all += budgets.len();
            }
        }
    }
    assert!(fitted * 2 > all && all > 0, "{fitted} of {all}");
}

/// A long question, calls with long results, and a text that a person types beside the last.
fn request(format: Format, question: usize, result: usize) -> Vec<u8> {
    let pi = |role: &str, content: String| {
        format!(r#"{{"type":"message","message":{{"role":"{role}",{content}}}}}"#)
    };
    let text = |words: usize| (0..words).map(|word| format!("word{word} ")).collect::<String>();
    let said = |text: &str| format!(r#""content":[{{"type":"text","text":"{text}"}}]"#);
    let mut lines = vec![r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/srv/a"}"#.to_owned()];
    lines.push(pi("user", said(&text(question))));
    for call in 0..3 {
        lines.push(pi("assistant", format!(r#""content":[{{"type":"toolCall","id":"c{call}","name":"read","arguments":{{"path":"/srv/a/{call}.rs"}}}}]"#)));
        lines.push(pi(
            "toolResult",
            format!(r#""toolCallId":"c{call}","toolName":"read",{}"#, said(&text(result))),
        ));
    }
    convert((lines.join("\n") + "\n").as_bytes(), Format::Pi, format).unwrap()
}

#[test]
fn every_small_budget_gives_a_valid_request_or_says_what_cannot_shrink() {
    for format in Format::PROVIDERS {
        for (question, result) in [(2, 40), (300, 4), (300, 300), (3, 3)] {
            let body = request(format, question, result);
            let cut = cuts(format, &body, 1).pop().unwrap();
            let budgets: Vec<_> = (10..240).step_by(3).collect();
            let name = format!("{question} and {result} words");
            let fitted = check(&name, format, &cut, &budgets);
            assert!(fitted > 20, "{name}, {format}: {fitted}");
        }
    }
}
