//! Policies that are edited while a replay goes on.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::program::Place;
use crate::shipped::recording;

const POLICY: &str = ".epitome/policies/team/policy.lua";

/// The events of a name up to the first turn that has one, while a replay goes on.
fn until(turns: &mut impl Iterator<Item = Value>, event: &str) -> Value {
    let of = |turn: Value| {
        let events = turn["events"].as_array().cloned().unwrap_or_default();
        events.into_iter().find(|one| one["event"] == event)
    };
    turns.find_map(of).unwrap_or_else(|| panic!("the replay ended without `{event}`"))
}

#[test]
fn an_edit_acts_at_once_and_a_broken_one_changes_nothing() {
    let place = Place::new();
    place.write("session.jsonl", recording());
    assert_eq!(place.run(["policy", "new", "team", "--from", "ollm"]).code, 0);
    let text = String::from_utf8(place.read(POLICY)).unwrap();

    let line = "replay --profile team --context-size 32768 --pace 100 --json session.jsonl";
    let mut replay = place.command(line.split(' ')).spawn().unwrap();
    let lines = BufReader::new(replay.stdout.take().unwrap()).lines();
    let mut turns = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    turns.next().unwrap();

    // In the place of the option's default: considered earlier.
    place.write(POLICY, text.replace("default = 0.9,", "default = 0.6,"));
    let reloaded = until(&mut turns, "policy-reloaded");
    assert_eq!((&reloaded["policy"], &reloaded["generation"]), (&"team".into(), &2.into()));

    place.write(POLICY, text.replace("default = 0.9,", "default = = 0.6,"));
    let broken = until(&mut turns, "policy-error");
    let cause = broken["cause"].as_str().unwrap();
    assert!(cause.starts_with("team: policy.lua:10: Expected identifier"), "{cause}");
    // The generation from before goes on deciding.
    let compressed = until(&mut turns, "compressed");
    assert!(compressed["tokens"][0].as_u64().unwrap() < 20_000, "{compressed}");

    replay.kill().unwrap();
    replay.wait().unwrap();
}
