//! `epitome checkpoint`: what stands in the prompt of a session for what left, as a record.

use serde_json::Value;

use crate::program::Place;
use crate::shipped::recording;

/// The name of the recording in a place.
const SESSION: &str = "session.jsonl";

/// A place with the shipped recording, played under `ollm` in a window in which checkpoints age.
fn played() -> Place {
    let place = Place::new();
    place.write(SESSION, recording());
    let args =
        ["replay", SESSION, "--profile", "ollm", "--prompt-limit", "42566", "--store", "s.db"];
    let ran = place.run(args.into_iter().chain(["-q"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    place
}

fn run(place: &Place, args: &[&str]) -> (i32, String, String) {
    let with = ["--profile", "ollm", "--store", "s.db"];
    let ran = place.run(args.iter().copied().chain(with));
    let out = String::from_utf8(ran.out).unwrap();
    (ran.code, out, ran.err)
}

#[test]
fn checkpoints_say_what_they_stand_for() {
    let place = played();
    let (code, out, err) = run(&place, &["checkpoint", "list", "--json"]);
    assert_eq!(code, 0, "{err}");
    let all: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert!(!all.is_empty());
    let number = |value: &Value| value.as_u64().unwrap();
    for one in &all {
        let tokens = &one["tokens"];
        // 50 to 70 % of what it stands for left, and more as it grew older.
        assert!(number(&tokens["now"]) * 2 <= number(&tokens["original"]) + 8, "{one}");
        assert!(number(&tokens["first"]) >= number(&tokens["now"]), "{one}");
        assert!(number(&one["level"]) <= 3 && one["model"].is_null(), "{one}");
        let steps = one["steps"].as_array().unwrap();
        assert_eq!(steps.last().unwrap()["tokens"], tokens["now"], "{one}");
        // Each item was said where it says.
        for item in one["items"].as_array().unwrap() {
            assert!(!item["text"].as_str().unwrap().is_empty(), "{item}");
        }
    }
    let items = || all.iter().flat_map(|one| one["items"].as_array().unwrap());
    let has = |field: &str| items().any(|item| item["field"] == field);
    assert!(has("rejected") && has("file") && has("failure"), "{out}");
    let file = items().find(|item| item["field"] == "file").unwrap();
    assert_eq!(file["by"], "calls");

    // The table has a line for each, and one is shown by the beginning of its id.
    let (_, table, _) = run(&place, &["checkpoint", "list"]);
    assert_eq!(table.lines().count(), all.len() + 1, "{table}");
    let id = all[0]["id"].as_str().unwrap();
    let (code, shown, err) = run(&place, &["checkpoint", "show", &id[..6]]);
    assert_eq!(code, 0, "{err}");
    for words in [id, "stands for", "files", "what the model reads"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let first = all[0]["text"].as_str().unwrap().lines().next().unwrap();
    assert!(shown.contains(first), "{shown}");

    // What it stands for comes back.
    let (code, whole, err) = run(&place, &["recall", "--id", id]);
    let messages = number(&all[0]["covers"]["messages"]) as usize;
    assert!(code == 0 && whole.lines().count() >= messages, "{err}");

    // Exports hold them.
    let (_, list, _) = run(&place, &["session", "list", "--json"]);
    let sessions: Value = serde_json::from_str(&list).unwrap();
    let name = sessions[0]["name"].as_str().unwrap();
    let (_, export, _) = run(&place, &["session", "export", name, "--format", "json"]);
    let export: Value = serde_json::from_str(&export).unwrap();
    let ids = |list: &[Value]| list.iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(export["checkpoints"].as_array().unwrap()), ids(&all));
    let (_, export, _) = run(&place, &["session", "export", name]);
    assert_eq!(export.matches("\n## Checkpoint ").count(), all.len());
}

#[test]
fn a_checkpoint_is_shown_at_each_level_that_it_was_at() {
    let place = played();
    let (_, out, _) = run(&place, &["checkpoint", "list", "--json"]);
    let all: Vec<Value> = serde_json::from_str(&out).unwrap();
    let levels = |one: &Value| -> Vec<u64> {
        one["steps"].as_array().unwrap().iter().map(|it| it["level"].as_u64().unwrap()).collect()
    };
    let aged = all.iter().find(|one| levels(one).len() > 1).expect(&out);
    let (id, tokens) = (aged["id"].as_str().unwrap(), &aged["tokens"]);
    let (code, out, err) = run(&place, &["checkpoint", "show", id, "--level", "3", "--json"]);
    assert_eq!(code, 0, "{err}");
    let detailed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(detailed["tokens"]["now"], tokens["first"], "{out}");
    assert!(detailed["text"].as_str().unwrap().len() > aged["text"].as_str().unwrap().len());
    let (_, shown, _) = run(&place, &["checkpoint", "show", id, "--level", "3"]);
    assert!(shown.contains("what the model read; it is sent at level "), "{shown}");
    let other = (0..=3).find(|level| !levels(aged).contains(level)).unwrap().to_string();
    let (code, _, err) = run(&place, &["checkpoint", "show", id, "--level", &other]);
    assert!(
        code == 2 && err.contains("never was at level ") && err.contains("it was at level 3"),
        "{err}"
    );
}

#[test]
fn what_is_no_checkpoint_is_told() {
    let place = played();
    let (code, _, err) = run(&place, &["checkpoint", "show", "nothing"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("has no checkpoint `nothing`; it has "), "{err}");
    let (code, _, err) = run(&place, &["checkpoint", "list", "--session", "other"]);
    assert!(code != 0 && err.contains("no session `other`"), "{code} {err}");
}

#[test]
fn a_session_that_was_not_compressed_has_none() {
    let place = Place::new();
    place.write(SESSION, recording());
    let args = ["replay", SESSION, "--prompt-limit", "9000000", "--store", "s.db", "-q"];
    assert_eq!(place.run(args).code, 0);
    let ran = place.run(["checkpoint", "list", "--store", "s.db"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = ran.text();
    assert!(said.contains("no checkpoints; nothing of it was summarized yet"), "{said}");
    let ran = place.run(["checkpoint", "list", "--store", "s.db", "--json"]);
    assert_eq!(ran.text().trim(), "[]");
}
