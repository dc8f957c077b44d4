//! A recording whose last line is torn, as a crash of its client leaves it: every verb reads it up to
//! there and says so.

use crate::program::{Place, Ran};
use crate::shipped::recording;

/// Recordings of the clients that write lines: each whole, with the number of its lines.
fn recordings() -> Vec<(&'static str, String)> {
    let text = |words: usize| (0..words).map(|word| format!("word{word} ")).collect::<String>();
    let pi = |role: &str, words: usize| {
        let content = format!(r#"[{{"type":"text","text":"{}"}}]"#, text(words));
        format!(r#"{{"type":"message","message":{{"role":"{role}","content":{content}}}}}"#)
    };
    let codex = |role: &str, words: usize| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        let content = format!(r#"[{{"type":"{kind}","text":"{}"}}]"#, text(words));
        format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"{role}","content":{content}}}}}"#
        )
    };
    let talk = |line: &dyn Fn(&str, usize) -> String| {
        let turns = (0..12).flat_map(|turn| [line("user", 30 + turn), line("assistant", 60)]);
        turns.chain([line("user", 9)]).map(|line| line + "\n").collect::<String>()
    };
    vec![
        ("claude.jsonl", String::from_utf8(recording()).unwrap()),
        ("pi.jsonl", talk(&pi)),
        ("codex.jsonl", talk(&codex)),
    ]
}

/// A recording that breaks off in the middle of one more line.
fn torn(whole: &str) -> (String, usize) {
    let more = whole.lines().last().unwrap();
    let end = more.floor_char_boundary(more.len() * 2 / 3);
    (format!("{whole}{}", &more[..end]), whole.lines().count() + 1)
}

#[track_caller]
fn warned(ran: &Ran, file: &str, line: usize) {
    assert_eq!(ran.code, 0, "{}", ran.err);
    let wanted = format!("{file}: line {line}: the recording breaks off");
    assert_eq!(ran.err.matches(&wanted).count(), 1, "{wanted}: {}", ran.err);
}

#[test]
fn every_verb_reads_up_to_a_torn_last_line() {
    for (file, whole) in recordings() {
        let place = Place::new();
        let (text, line) = torn(&whole);
        place.write("whole.jsonl", &whole);
        place.write(file, &text);
        let compressed = |file: &str| place.run(["compress", "--ratio", "3", file]);
        let ran = compressed(file);
        warned(&ran, file, line);
        assert_eq!(ran.out, compressed("whole.jsonl").silent(), "{file}");
        let args = ["compress", "--ratio", "3", "-o", "o.json", "--report", "r.json", "-q", file];
        place.run(args).silent();
        let warnings = place.read_json("r.json")["warnings"].to_string();
        assert!(warnings.contains(&format!("line {line}: ")), "{warnings}");

        warned(&place.run(["compress", "--ratio", "3", "--dry-run", file]), file, line);
        warned(&place.run(["replay", "--prompt-limit", "9000", file]), file, line);
        warned(&place.run(["scan", file]), file, line);
        warned(&place.run(["policy", "trace", file]), file, line);
        let ran = place.run(["session", "import", "--store", "s.db", "--json", file]);
        warned(&ran, file, line);
        let again = place.run(["session", "import", "--store", "s.db", "--json", "whole.jsonl"]);
        assert_eq!(again.json()["new"], 0, "{file}: {}", again.text());
    }
}

#[test]
fn a_comparison_reads_up_to_a_torn_last_line() {
    let place = Place::new();
    let (text, line) = torn(std::str::from_utf8(&recording()).unwrap());
    place.write("claude.jsonl", &text);
    warned(&place.run(["ab", "--json", "--ratio", "4", "claude.jsonl"]), "claude.jsonl", line);
    // What is too short since it was torn is said to be torn.
    let short: Vec<&str> = text.lines().take(3).collect();
    place.write("short.jsonl", format!("{}\n{{\"type\": \"us", short.join("\n")));
    let ran = place.run(["ab", "--ratio", "4", "short.jsonl"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("short.jsonl: ") && ran.err.contains("; line 4: "), "{}", ran.err);
}

#[test]
fn a_torn_line_in_the_middle_is_an_error_that_names_it() {
    for (file, whole) in recordings() {
        let place = Place::new();
        let (mut text, line) = torn(&whole);
        text += &format!("\n{}\n", whole.lines().last().unwrap());
        place.write(file, &text);
        for verb in [&["compress", "--ratio", "3"][..], &["replay"], &["session", "import"]] {
            let ran = place.run([verb, &[file]].concat());
            assert_ne!(ran.code, 0, "{file}: {verb:?}");
            assert!(ran.err.contains(&format!("line {line}")), "{file}: {}", ran.err);
        }
    }
}
