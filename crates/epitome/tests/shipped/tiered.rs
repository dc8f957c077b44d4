//! The profile `tiered`: what a person types in a conversation (RULES 50).

use epitome::WindowSetting;
use epitome::types::EventKind;

use crate::client::{Client, is_compressed};

/// What the host is told in words when a person types this, after a compression.
fn told(typed: &str) -> Vec<String> {
    let mut client = Client::new("", "tiered", WindowSetting::Limit(4000), 100);
    client.until(1, 300);
    client.say("assistant", 20);
    client.type_in(typed);
    let prompt = client.send();
    assert!(!is_compressed(&prompt), "{:?}", prompt.events);
    let told = prompt.events.into_iter().filter_map(|event| match event.what {
        EventKind::PolicyWarning { policy, text, .. } => {
            assert_eq!(policy, "tiered");
            Some(text)
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn context_status_gives_the_report() {
    let [report] = &told("context status")[..] else { panic!("one report") };
    let parts = [
        "# Context status",
        "- Time: 2026-01-02T03:04:05Z",
        "of 4,000 tokens",
        "- Summaries made: 1, ",
        "- Recommendation: ",
        "## Compression history",
        "| 2026-01-02T03:04:05Z | summary | ",
    ];
    let places = parts.map(|part| report.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{report}");
    assert_eq!(told("What is the context status?"), [""; 0]);
}
