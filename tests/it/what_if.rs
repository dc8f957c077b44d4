//! `epitome policy what-if`: a turn as it was, beside the same turn under another profile.

use serde_json::{Value, json};

use crate::conversation::bare;
use crate::policy::done;
use crate::program::Place;
use crate::session::journal;
use crate::shipped::recording;

/// What both sides came to.
#[track_caller]
fn what_if(place: &Place, line: &str) -> Value {
    done(place, &format!("policy what-if {line} --json")).json()
}

fn decided<'a>(side: &'a Value, hook: &str) -> &'a Value {
    let decisions = side["decisions"].as_array().unwrap();
    decisions.iter().find(|decision| decision["hook"] == hook).unwrap()
}

fn is_compressed(side: &Value) -> bool {
    side["events"].as_array().unwrap().iter().any(|event| event["event"] == "compressed")
}

#[test]
fn a_turn_of_a_recording_stands_beside_the_one_of_another_profile() {
    let place = Place::new();
    place.write("session.jsonl", recording());
    // The turn in which the first profile compresses, and the other one has no need to.
    let replayed =
        done(&place, "replay session.jsonl --prompt-limit 8000 --json -q").text().to_owned();
    let turns = replayed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let turns: Vec<_> = turns.filter(|line| line["turn"].is_u64()).collect();
    for turn in [1, 18] {
        let line = format!("session.jsonl --turn {turn} --prompt-limit 8000 --profile ollm");
        let shown = what_if(&place, &line);
        let [one, other] = [&shown["sides"][0], &shown["sides"][1]];
        assert_eq!((&shown["turn"], &one["profile"]), (&json!(turn), &json!("default")));
        assert_eq!((&other["profile"], &one["limit"]), (&json!("ollm"), &json!(8000)));
        // It is the turn that a replay plays.
        let played = &turns[turn - 1];
        let sent = |of: &Value| of["tokens_sent"].as_u64();
        assert_eq!(sent(one), sent(played), "turn {turn}: {played}");
        assert_eq!(decided(other, "budgets")["by"]["policy"], "ollm");
        let words = done(&place, &format!("policy what-if {line} -q")).text().to_owned();
        for told in ["profile", "budgets", "trigger", "prompts  "] {
            assert!(words.lines().any(|line| line.starts_with(told)), "{told}: {words}");
        }
    }
}

#[test]
fn a_turn_of_a_session_is_tried_and_nothing_is_recorded() {
    let place = Place::new();
    place.write("talk.json", bare(30).to_string());
    journal(&place, &["session", "import", "talk.json"]).silent();
    let before = journal(&place, &["session", "show", "talk", "--json"]).silent();
    let shown =
        what_if(&place, "talk --store s.db --turn 14 --prompt-limit 3000 --profile truncate");
    let [one, other] = [&shown["sides"][0], &shown["sides"][1]];
    assert!(is_compressed(one) && is_compressed(other), "{shown}");
    let decision = |side| decided(side, "plan")["by"]["policy"].clone();
    assert_eq!([decision(one), decision(other)], ["builtin", "truncate"]);
    let messages = |side: &Value| side["messages"].as_array().unwrap().clone();
    let (one, other) = (messages(one), messages(other));
    let [first, last] = [0, 1].map(|at| shown["alike"][at].as_u64().unwrap() as usize);
    assert!(0 < first && first + last < one.len().max(other.len()), "{shown}");
    assert_eq!(one[..first], other[..first]);
    assert_eq!(one[one.len() - last..], other[other.len() - last..]);
    assert_eq!(journal(&place, &["session", "show", "talk", "--json"]).silent(), before);
}

#[test]
fn turns_that_cannot_be_tried() {
    let place = Place::new();
    place.write("talk.json", bare(3).to_string());
    place.write("empty.json", "");
    let check = |line: &str, code: i32, told: &str| {
        let ran = place.run(format!("policy what-if {line}").split_whitespace());
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!(ran.err.contains(told) && ran.text().is_empty(), "{line}: {}", ran.err);
    };
    check("talk.json", 2, "--profile NAME");
    check("talk.json --profile olm", 2, "did you mean `ollm`");
    check("talk.json --profile ollm --turn 99", 2, "99");
    check("talk.json --profile ollm --turn 0", 2, "0");
    check("empty.json --profile ollm", 3, "is empty");
    check("gone.json --profile ollm", 3, "no such file, and no session");
}
