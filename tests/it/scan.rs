//! `epitome scan`: what a profile would have made of recorded sessions.

use serde_json::{Value, json};

use crate::conversation::{bare, claude_code};
use crate::playing::played;
use crate::program::{Place, Ran};
use crate::shipped::{is_shown, recording};

/// A home with a session of Claude Code, and a folder with recordings and something else.
fn place() -> Place {
    let place = Place::new();
    let own = place.path(".claude/projects/billing");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(place.path("folder/deep")).unwrap();
    place.write(".claude/projects/billing/one.jsonl", claude_code(12));
    place.write("folder/long.json", bare(40).to_string());
    place.write("folder/deep/short.json", bare(2).to_string());
    place.write("folder/notes.md", "Nothing was said.");
    place
}

/// A table without the lines that say how long it took.
fn untimed(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("time ")).collect()
}

/// What it prints where a line has 80 columns.
fn narrow(place: &Place, args: &[&str]) -> Ran {
    let mut command = place.command(args);
    command.env("COLUMNS", "80");
    Ran::of(command, b"")
}

#[test]
fn the_shipped_recordings_are_scanned() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("examples/transcripts")).unwrap();
    place.write("examples/transcripts/debugging-session.jsonl", recording());
    let ran = narrow(&place, &["scan", "examples/transcripts"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines = untimed(ran.text());
    let session: Vec<_> = lines[1].split_whitespace().collect();
    assert_eq!(session[..3], ["debugging-session", "claude", "83"]);
    for name in ["tokens sent ", "cache cost ", "money ", "compressions ", "facts kept "] {
        assert!(lines.iter().any(|line| line.starts_with(name)), "{name}: {lines:#?}");
    }
    // The manual shows this table.
    is_shown(&lines);
}

#[test]
fn folders_are_searched_and_what_is_no_recording_is_counted() {
    let place = place();
    let ran = narrow(&place, &["scan", "folder", "--prompt-limit", "2500"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.text().lines().all(|line| line.chars().count() <= 80), "{}", ran.text());
    assert!(ran.err.contains("1 file left out"), "{}", ran.err);
    assert!(!ran.err.contains("notes.md"), "{}", ran.err);
    let names: Vec<_> = ran.text().lines().skip(1).take(2).collect();
    assert!(names[0].starts_with("deep/short ") && names[1].starts_with("long "), "{names:?}");
    assert!(ran.text().contains("2 sessions, 86 turns"), "{}", ran.text());
    assert!(ran.text().contains("long.json"), "worst cases: {}", ran.text());
    let money = ran.text().lines().find(|line| line.starts_with("money ")).unwrap();
    assert_eq!(money.split_whitespace().collect::<Vec<_>>(), ["money", "–", "–", "unpriced"]);
    assert!(ran.text().contains("  2 sessions unpriced, in no sum: "), "{}", ran.text());
    let told = place.run(["scan", "folder", "--prompt-limit", "2500", "-v"]);
    assert!(told.err.contains("left out folder/notes.md: "), "{}", told.err);
    assert!(told.text().contains("folder/long.json: "), "{}", told.text());
}

#[test]
fn programs_get_a_line_for_each_session_and_the_whole() {
    let place = place();
    let ran = place.run(["scan", "folder", "--prompt-limit", "2500", "--json", "-q"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (sessions, summary) = played(&ran);
    let files: Vec<_> = sessions.iter().map(|one| &one["file"]).collect();
    assert_eq!(files, [&json!("folder/deep/short.json"), &json!("folder/long.json")]);
    let sum = |key: &str| -> u64 { sessions.iter().map(|one| one[key].as_u64().unwrap()).sum() };
    for key in ["turns", "tokens_raw", "tokens_sent", "cut", "compressions"] {
        assert_eq!(summary["totals"][key], sum(key), "{key}");
    }
    assert!(sum("compressions") > 5);
    assert_eq!(summary["skipped"][0]["file"], "folder/notes.md");
    // A scan is so many replays.
    let (_, alone) = played(&place.run([
        "replay",
        "folder/long.json",
        "--prompt-limit",
        "2500",
        "--json",
        "-q",
    ]));
    for key in ["session", "tokens_sent", "compressions", "cache_cost", "must_keep"] {
        assert_eq!(sessions[1][key], alone[key], "{key}");
    }
}

#[test]
fn without_paths_the_users_own_sessions_are_found() {
    let place = place();
    let ran = place.run(["scan"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.text().lines().nth(1).unwrap().starts_with("one "), "{}", ran.text());
    let nowhere = Place::new();
    let ran = nowhere.run(["scan"]);
    assert_eq!((ran.code, ran.out.len()), (0, 0), "{}", ran.err);
    for folder in [".claude/projects", ".codex/sessions", ".pi/agent/sessions"] {
        assert!(ran.err.contains(&nowhere.path(folder).display().to_string()), "{}", ran.err);
    }
    assert_eq!(nowhere.run(["scan", "gone"]).code, 3);
}

#[test]
fn prices_may_be_ones_own() {
    let place = place();
    let table = |input: &str| {
        format!("[[model]]\nname = \"mine\"\ninput = {input}\nread = 0.1\nwrite = 1.25\n")
    };
    let price = |input: &str| -> Value {
        place.write("prices.toml", table(input));
        let args = ["scan", "folder", "--model", "mine", "--prices", "prices.toml", "--json", "-q"];
        played(&place.run(args)).1["totals"].clone()
    };
    let (one, ten) = (price("1.0"), price("10.0"));
    let ratio = ten["money_raw"].as_f64().unwrap() / one["money_raw"].as_f64().unwrap();
    assert!((ratio - 10.0).abs() < 1e-9 && one["unpriced"] == 0, "{one}");
    place.write("prices.toml", table("-1"));
    let ran = place.run(["scan", "folder", "--prices", "prices.toml"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("prices.toml: line 3"), "{}", ran.err);
}
