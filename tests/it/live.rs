//! What was compressed: undone and done again, told, and held against what was said.

use serde_json::{Value, json};

use crate::conversation::openai;
use crate::program::{Place, Ran};
use crate::session::{answer, journal};

/// A place with the store `s.db` and in it the session `live`, compressed several times; its
/// prompts are in `prompts`.
pub(crate) fn compressed() -> Place {
    let place = Place::new();
    place.write("talk.json", openai(40).to_string());
    let args =
        ["replay", "--prompt-limit", "3000", "--session", "live", "--dump", "prompts", "talk.json"];
    let ran = journal(&place, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    place
}

fn in_force(place: &Place) -> Value {
    answer(place, &["session", "show", "live"])["in_force"].clone()
}

#[test]
fn what_is_no_cut_stands_in_the_prompt_as_it_was_said() {
    let place = compressed();
    let diff = answer(&place, &["diff", "live"]);
    let cuts = diff["cuts"].as_array().unwrap();
    let entries = cuts.iter().flat_map(|cut| cut["entries"].as_array().unwrap());
    let cut: Vec<_> = entries.map(|entry| entry["entry"].as_str().unwrap().to_owned()).collect();
    assert!(cut.len() > 100, "{}", cut.len());
    let prompts = std::fs::read_dir(place.path("prompts")).unwrap();
    let last = prompts.map(|file| file.unwrap().path()).max().unwrap();
    let prompt: Value = serde_json::from_slice(&crate::program::read_file(last).unwrap()).unwrap();
    let prompt = prompt["messages"].as_array().unwrap();
    let said = openai(40)["messages"].clone();
    for (place, message) in said.as_array().unwrap().iter().enumerate() {
        // A checkpoint is folded into the user's message behind it.
        let folded = |it: &Value| {
            let ends = |text: &str| it["content"].as_str().is_some_and(|all| all.ends_with(text));
            message["role"] == "user" && message["content"].as_str().is_some_and(ends)
        };
        let there = prompt.iter().any(|it| it == message || folded(it));
        assert_eq!(!there, cut.contains(&format!("e{place}")), "e{place}: {message}");
    }
    for cut in cuts {
        assert_eq!((&cut["policy"], &cut["line"]), (&json!("builtin"), &Value::Null), "{cut}");
        if cut["how"] == "state" {
            assert!(cut["now"].as_str().unwrap().starts_with("[State of the work] "), "{cut}");
            continue;
        }
        assert!(cut["tokens"][1].as_u64() < cut["tokens"][0].as_u64(), "{cut}");
        assert!(!cut["now"].as_str().unwrap().is_empty(), "{cut}");
        let entry = &cut["entries"][0];
        let original = journal(&place, &["recall", entry["recall"].as_str().unwrap()]).silent();
        let original = String::from_utf8(original).unwrap();
        let original = original.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = entry["text"].as_str().unwrap().trim_end_matches('…');
        assert!(original.starts_with(words), "{words}: {original}");
    }
    let text = journal(&place, &["diff"]);
    let id = cuts[0]["recall"].as_str().unwrap();
    assert!(text.text().contains(&format!("epitome recall --store s.db {id}")), "{}", text.text());
    assert!(text.text().contains("policy builtin, hook plan, epoch "));
}

#[test]
fn a_compression_is_taken_back_and_put_in_force_again() {
    let place = compressed();
    let newest = in_force(&place);
    let undone = answer(&place, &["session", "undo"]);
    assert_eq!((&undone["undone"], &undone["held"]), (&newest, &json!(true)));
    let older = in_force(&place);
    assert_eq!((&undone["in_force"], older != newest), (&older, true));
    let shown = journal(&place, &["session", "show", "live"]);
    assert_eq!(shown.text().matches("taken back, held").count(), 1, "{}", shown.text());
    let ran = journal(&place, &["session", "undo", "live"]);
    let line = format!("session live: epoch {} is taken back; ", older.as_str().unwrap());
    assert!(ran.text().starts_with(&line) && ran.text().contains(" held"), "{}", ran.text());
    let ran = journal(&place, &["session", "redo", "live"]);
    let line = format!("session live: epoch {} is in force again, ", older.as_str().unwrap());
    assert!(ran.text().starts_with(&line), "{}", ran.text());
    assert_eq!(answer(&place, &["session", "redo"])["in_force"], newest);
    let ran = journal(&place, &["session", "redo"]);
    assert_eq!((ran.code, ran.text()), (2, ""));
    assert!(ran.err.contains("session `live` has no undo to take back"), "{}", ran.err);
}

#[test]
fn a_status_tells_of_the_window_and_of_every_compression() {
    let place = compressed();
    let status = answer(&place, &["status", "--session", "live"]);
    assert_eq!((&status["session"], &status["limit"]), (&json!("live"), &json!(3000)));
    let history = status["history"].as_array().unwrap();
    assert!(history.len() > 2 && status["compressions"] == history.len());
    for past in history {
        assert!(past["tokens"][1].as_u64() < past["tokens"][0].as_u64(), "{past}");
        assert!((0.0..=1.0).contains(&past["confidence"].as_f64().unwrap()), "{past}");
    }
    let percent = status["tokens"][1].as_f64().unwrap() * 100.0 / 3000.0;
    let percent = percent.round_ties_even() as u64;
    assert_eq!(status["percent"], percent);
    let ran = journal(&place, &["status", "--session", "live"]);
    assert!(ran.text().contains(&format!("{percent} %, ")), "{}", ran.text());
    let all = answer(&place, &["status"]);
    assert_eq!((&all[0]["percent"], &all[0]["offloaded"]), (&json!(percent), &Value::Null));
    for columns in [60_usize, 80, 120] {
        for verb in [&["status"][..], &["diff"], &["snapshot", "list"], &["session", "list"]] {
            let mut command = place.command([verb, &["--store", "s.db"]].concat());
            command.env("COLUMNS", columns.to_string());
            let ran = Ran::of(command, b"");
            let wide = ran.text().lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{verb:?} in {columns}");
        }
    }
}

#[test]
fn a_snapshot_is_gone_back_to_and_come_forth_from() {
    let place = Place::new();
    let first = openai(40)["messages"].as_array().unwrap()[..5].to_vec();
    place.write("live.json", Value::from(first).to_string());
    journal(&place, &["session", "import", "live.json"]).silent();
    let made = answer(&place, &["snapshot", "create", "--name", "start"]);
    place.write("talk.json", openai(40).to_string());
    let args = ["replay", "--prompt-limit", "3000", "--session", "live", "talk.json"];
    assert_eq!(journal(&place, &args).code, 0);
    let newest = in_force(&place);
    assert!(newest.is_string());

    let restored = answer(&place, &["snapshot", "restore", "start"]);
    assert_eq!(restored["snapshot"]["id"], made["id"]);
    assert!(restored["undone"].as_u64().unwrap() > 2, "{restored}");
    let shown = answer(&place, &["session", "show", "live"]);
    assert_eq!((&shown["messages"], &shown["in_force"]), (&json!(5), &Value::Null));
    let before = restored["before"]["id"].as_str().unwrap();
    journal(&place, &["snapshot", "restore", before]).silent();
    let shown = answer(&place, &["session", "show", "live"]);
    assert_eq!((&shown["messages"], &shown["in_force"]), (&json!(162), &newest));

    let listed = |place: &Place| answer(place, &["snapshot", "list"]).as_array().unwrap().len();
    assert_eq!(listed(&place), 8, "five automatic ones, `start`, and one for each way back");
    journal(&place, &["snapshot", "prune", "--keep", "1"]).silent();
    assert_eq!(listed(&place), 4);
    journal(&place, &["snapshot", "prune", "start"]).silent();
    assert_eq!(listed(&place), 3);
}
