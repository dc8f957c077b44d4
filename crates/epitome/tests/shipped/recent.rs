//! Messages at the end that are left alone, whichever policy decides.

use std::sync::Arc;

use epitome::{CompressionTarget, Compressor, MemoryStore, Profile, WindowSetting};
use epitome_testkit::{FixedCounter, now};
use serde_json::{Value, json};

use crate::client::is_compressed;

const POLICIES: [&str; 7] =
    ["default", "ollm", "staged", "watermark", "early", "tiered", "truncate"];

/// So many rounds of a question, a call with its result, and an answer.
fn history(rounds: usize) -> Vec<Value> {
    let words = |of: &str, round: usize, count: usize| {
        (0..count).map(|word| format!("{of}{round}x{word}")).collect::<Vec<_>>().join(" ")
    };
    let round = |at: usize| {
        let function = json!({"name": "bash", "arguments": json!({"command": "ls"}).to_string()});
        let calls = json!([{"id": format!("c{at}"), "type": "function", "function": function}]);
        [
            json!({"role": "user", "content": words("asked", at, 20)}),
            json!({"role": "assistant", "content": null, "tool_calls": calls}),
            json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": words("r", at, 120)}),
            json!({"role": "assistant", "content": words("said", at, 60)}),
        ]
    };
    let last = json!({"role": "user", "content": "And now?"});
    (0..rounds).flat_map(round).chain([last]).collect()
}

/// How many messages at the end are the same.
fn alike(bytes: &[u8], messages: &[Value]) -> usize {
    let sent: Value = serde_json::from_slice(bytes).unwrap();
    let sent = sent["messages"].as_array().unwrap().iter().rev();
    sent.zip(messages.iter().rev()).take_while(|(one, other)| one == other).count()
}

/// Compresses a conversation of 30 rounds to a part of its size. Gives how many messages at the end
/// came out of it as they were, of 24 that should, and what the report warns of in that.
fn compressed(policy: &str, ratio: f64) -> (usize, Vec<String>) {
    let messages = history(30);
    let compressor = Compressor::builder()
        .profile(Profile::shipped(policy).unwrap())
        .counter(FixedCounter::Words)
        .target(CompressionTarget::Ratio(ratio))
        .keep_recent(24)
        .build();
    let request = json!({"model": "llama3:70b", "messages": messages}).to_string();
    let made = now(compressor.compress(request.as_bytes())).unwrap();
    let mut told = made.report.warnings;
    told.retain(|text| text.contains("of the newest 24 messages"));
    (alike(&made.bytes, &messages), told)
}

#[test]
fn every_policy_leaves_them_alone_where_there_is_room() {
    for policy in POLICIES {
        let (stay, told) = compressed(policy, 3.0);
        assert!(stay >= 24 && told.is_empty(), "{policy}: {stay}, {told:?}");
    }
}

#[test]
fn where_there_is_none_the_number_that_stays_is_told() {
    for policy in POLICIES {
        let (stay, told) = compressed(policy, 12.0);
        let expected = format!("{stay} of the newest 24 messages stay as they are");
        assert!(stay < 24 && told.len() == 1 && told[0].contains(&expected), "{policy}: {told:?}");
    }
}

/// With every compression of a live conversation; an emergency may come down to the limit for it.
#[test]
fn a_live_conversation_leaves_them_alone() {
    for policy in POLICIES {
        let mut session = Compressor::builder()
            .profile(Profile::shipped(policy).unwrap())
            .counter(FixedCounter::Words)
            .window(WindowSetting::Limit(4200))
            .keep_recent(12)
            .clock(|| "2026-01-02T03:04:05Z".to_owned())
            .session(Arc::new(MemoryStore::new()), None);
        let (all, mut compressions) = (history(40), 0);
        for end in (4..all.len()).step_by(4) {
            let request = json!({"model": "llama3:70b", "messages": all[..=end]}).to_string();
            let prompt = now(session.prompt_for(request.as_bytes())).unwrap();
            assert!(prompt.fits, "{policy}, {end}");
            if is_compressed(&prompt) {
                compressions += 1;
                let stay = alike(&prompt.bytes, &all[..=end]);
                assert!(stay >= 12, "{policy}, {end}: {stay}, {:#?}", prompt.events);
            }
        }
        assert!(compressions > 0, "{policy}");
    }
}
