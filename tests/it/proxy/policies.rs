//! The files of a policy that go away or change while the proxy runs.

use std::time::Duration;

use epitome_upstream::Script;
use serde_json::json;

use super::masked::talk;
use super::serving::Serving;

const FOLDER: &str = ".epitome/policies/team";
const TEXT: &str =
    "--- @api 2\nreturn { extends = \"default\", observe = function() return nil end }\n";

/// A conversation of so many steps; gives how often it was compressed by then.
fn say(serving: &Serving, steps: usize) -> u64 {
    let tool = |name| json!({"type": "function", "function": {"name": name}});
    let body = json!({"model": "gpt-4o", "messages": talk(steps),
        "tools": [tool("vault_read"), tool("Bash")]});
    let answer = serving.post("/v1/chat/completions", &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    serving.compressions()
}

/// Says the same again until the proxy told this with an answer.
#[track_caller]
fn wait_for(serving: &Serving, told: &str) {
    let is_told = |_| {
        std::thread::sleep(Duration::from_millis(100));
        say(serving, 8);
        serving.said().contains(told)
    };
    assert!((0..300).any(is_told), "{}", serving.said());
}

/// A policy of the project whose files change while it is asked: it goes on as it was, and one line
/// says why.
fn check_goes_on(change: impl FnOnce(&Serving), told: &str) {
    let mut serving = Serving::start(Script { repeat: 90, ..Script::default() }, &[]);
    std::fs::create_dir_all(serving.place.path(FOLDER)).unwrap();
    serving.place.write(&format!("{FOLDER}/policy.lua"), TEXT);
    let trusted = serving.place.run(["trust", "-q"]);
    assert_eq!(trusted.code, 0, "{}", trusted.err);
    serving.go_on_with(&["--context-size", "6000", "--profile", "team"]);
    let before = say(&serving, 8);
    change(&serving);
    wait_for(&serving, told);
    let after = [14, 20, 26].map(|steps| say(&serving, steps));
    assert!(before < after[0] && after[0] < after[2], "{before} {after:?}: {}", serving.said());
    let said = serving.said();
    assert!(!said.contains("no prompt could be made") && !said.contains("generation"), "{said}");
}

#[test]
fn a_policy_that_is_taken_away_goes_on_as_it_was() {
    let away = |serving: &Serving| {
        std::fs::rename(serving.place.path(FOLDER), serving.place.path("away")).unwrap();
    };
    check_goes_on(away, "team: ");
}

#[test]
fn a_change_that_nobody_trusts_waits_and_what_was_trusted_goes_on() {
    let change = |serving: &Serving| {
        let text = TEXT.replace("return nil", "error('it ran')");
        serving.place.write(&format!("{FOLDER}/policy.lua"), text);
    };
    check_goes_on(change, "is new, or not what you trusted any more");
}
