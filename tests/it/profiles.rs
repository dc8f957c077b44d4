//! Shipped profiles over the shipped recording: no prompt is too large, each is valid, and what was
//! demanded stays.

use serde_json::{Value, json};

use crate::measure::{faults, readable};
use crate::playing::{events, played};
use crate::program::Place;
use crate::shipped::{RULES, recording};

/// Plays the recording in a window of so many tokens, and gives the summary.
fn check(profile: &str, limit: u64, most: u64) -> Value {
    let place = Place::new();
    place.write("session.jsonl", recording());
    let limit = limit.to_string();
    let args = ["replay", "session.jsonl", "--profile", profile, "--prompt-limit", &limit];
    let ran = place.run(args.into_iter().chain(["--dump", "prompts", "--json", "-q"]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert!(summary["max_tokens_sent"].as_u64() <= Some(most), "{summary}");
    for turn in &turns {
        let failed = ["policy-error", "compression-error"];
        assert!(!events(turn).iter().any(|event| failed.contains(event)), "{turn}");
        let name = format!("prompts/{:04}.json", turn["turn"].as_u64().unwrap());
        assert_eq!(faults(&place.read_json(&name)), Vec::<String>::new(), "{name}");
    }
    let text = readable(&place.read_json(&format!("prompts/{:04}.json", turns.len())));
    RULES.iter().for_each(|rule| assert!(text.contains(rule), "{rule}"));
    summary
}

/// 1000 tokens stay free for the answer (RULES 28), and one conversation bears more than ten
/// checkpoints (RULES 34).
#[test]
fn staged_leaves_room_for_the_answer() {
    let summary = check("staged", 6800, 5800);
    assert!(summary["compressions"].as_u64() > Some(10), "{summary}");
}
