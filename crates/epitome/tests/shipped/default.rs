//! The policy `default` decides as the link that is built in does.

use epitome::{Prompt, WindowSetting};

use crate::client::{Client, is_compressed};

/// The prompts of a conversation with results of all sizes.
fn prompts(profile: &str, window: WindowSetting) -> Vec<Prompt> {
    let toml = "[profile.twin]\npolicies = [\"default\"]";
    let mut client = Client::new(toml, profile, window, 100);
    client.say("user", 20);
    let mut prompts = Vec::new();
    for turn in 0..40 {
        match turn % 5 {
            0 => client.call("cat src/main.rs", 60 * (turn + 1)),
            1 => client.say("assistant", 150),
            2 => client.call("epitome recall 1a2b3c4d", 850 + 20 * turn),
            3 => client.call("cargo test", 790 + turn),
            _ => client.say("user", 40),
        }
        prompts.push(client.send());
    }
    prompts
}

fn check(window: WindowSetting) {
    let [built_in, twin] = ["default", "twin"].map(|profile| prompts(profile, window));
    for (turn, (one, other)) in built_in.iter().zip(&twin).enumerate() {
        assert!(one.bytes == other.bytes, "turn {turn}: {:#?}\n{:#?}", one.events, other.events);
        assert_eq!(one.events.len(), other.events.len(), "turn {turn}");
    }
    assert!(built_in.iter().any(is_compressed));
}

#[test]
fn a_small_window() {
    check(WindowSetting::Size(8192));
}

#[test]
fn a_window_that_is_filled_slowly() {
    check(WindowSetting::Limit(16_000));
}
