//! What `tiered` writes into a prompt has no clock: the same conversation gives the same bytes whenever
//! it is played.

use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::conversation::bare;
use crate::program::Place;

/// The prompts of a replay, by their hashes, and how often they were compressed.
fn played(place: &Place, file: &str, limit: &str) -> (Vec<String>, u64) {
    let args = ["replay", file, "--profile", "tiered", "--json", "-q", "--prompt-limit", limit];
    let ran = place.run(args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let turns: Vec<Value> =
        ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, turns) = turns.split_last().unwrap();
    let prompts = turns.iter().map(|turn| turn["prompt"].as_str().unwrap_or_default().to_owned());
    (prompts.collect(), last["compressions"].as_u64().unwrap())
}

#[test]
fn two_replays_under_tiered_make_the_same_prompts() {
    let place = Place::new();
    place.write("untimed.json", bare(24).to_string());
    let timed = include_bytes!("../../examples/transcripts/debugging-session.jsonl");
    place.write("timed.jsonl", timed);
    for (file, limit) in [("untimed.json", "3000"), ("timed.jsonl", "20000")] {
        let (first, compressions) = played(&place, file, limit);
        assert!(compressions > 0 && first.iter().all(|hash| hash.starts_with("b3:")), "{file}");
        sleep(Duration::from_millis(1100));
        assert_eq!(played(&place, file, limit), (first, compressions), "{file}");
    }
}

/// The summary states the time of the newest message, where a recording tells it, and else none.
#[test]
fn a_summary_states_when_its_newest_message_was_said() {
    let place = Place::new();
    let timed = include_bytes!("../../examples/transcripts/debugging-session.jsonl");
    place.write("timed.jsonl", timed);
    place.write("untimed.json", bare(24).to_string());
    let label = |file: &str| {
        let args = ["compress", file, "--profile", "tiered", "--prompt-limit", "3000"];
        let ran = place.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let text = ran.text().to_owned();
        let begins = text.find("[Summary").unwrap_or_else(|| panic!("{file}: {text}"));
        text[begins..].split(": ").next().unwrap().to_owned()
    };
    let newest =
        String::from_utf8_lossy(timed).rsplit("\"timestamp\":\"").next().unwrap()[..24].to_owned();
    let said = label("timed.jsonl");
    assert!(said.ends_with(&format!(", {newest}")), "{said} {newest}");
    assert!(!label("untimed.json").contains("T"), "{}", label("untimed.json"));
}
