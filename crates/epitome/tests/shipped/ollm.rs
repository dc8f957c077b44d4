//! The profile `ollm`: figures of RULES 19 to 25 that show in a conversation.
//! Those of single decisions are tests of the policy itself.

use std::collections::{BTreeMap, BTreeSet};

use epitome::types::{Event, EventKind};
use epitome::{Prompt, WindowSetting};

use crate::client::{Client, is_compressed};

/// A client with a context size, whose system prompt takes so many tokens.
fn client(size: u64, system: usize) -> Client {
    Client::new("", "ollm", WindowSetting::Size(size), system)
}

fn status(prompt: &Prompt) -> &str {
    prompt.status.as_ref().and_then(|status| status.text.as_deref()).unwrap_or_default()
}

#[test]
fn a_conversation_is_compressed_at_80_percent_of_what_is_available() {
    let check = |conversation: usize, expected: bool| {
        let mut client = client(8000, 500);
        client.say("user", 100);
        client.say("assistant", conversation - 200);
        client.say("user", 100);
        let prompt = client.send();
        assert_eq!((prompt.limit, prompt.tokens[0]), (6800, 500 + conversation as u64));
        assert_eq!(is_compressed(&prompt), expected, "{conversation}: {:#?}", prompt.events);
    };
    check(5039, false);
    check(5040, true);
}

#[test]
fn sizes_leave_their_share_to_the_prompt() {
    // A listed size leaves what the table of models says, any other one its share.
    for (size, limit) in [(8192, 6963), (8000, 6800), (4096, 3482)] {
        let mut client = client(size, 100);
        client.say("user", 100);
        assert_eq!(client.send().limit, limit);
    }
}

/// What compressions made of a conversation: turns between two of them, and the share of the talk that
/// each freed.
struct Compressions {
    strides: Vec<usize>,
    freed: Vec<f64>,
    /// The levels through which each checkpoint came down, by its address.
    levels: BTreeMap<String, Vec<u8>>,
    merged: BTreeSet<String>,
    /// The sizes of all checkpoints by the end, the largest first.
    sizes: Vec<u64>,
}

/// A chat of so many turns, each a question of 60 tokens and an answer of 440.
fn chat(size: u64, turns: usize) -> Compressions {
    let mut client = client(size, 500);
    let mut seen = Compressions {
        strides: Vec::new(),
        freed: Vec::new(),
        levels: BTreeMap::new(),
        merged: BTreeSet::new(),
        sizes: Vec::new(),
    };
    let mut last = 0;
    for turn in 0..turns {
        client.say("user", 60);
        let prompt = client.send();
        assert!(prompt.fits && prompt.tokens[1] <= prompt.limit, "{size}: {:?}", prompt.tokens);
        if is_compressed(&prompt) {
            seen.strides.push(turn - last);
            last = turn;
        }
        for event in prompt.events {
            match event.what {
                EventKind::CheckpointAged { checkpoint, levels, .. } => {
                    let path = seen.levels.entry(checkpoint).or_insert_with(|| vec![levels[0]]);
                    assert_eq!(path.last(), Some(&levels[0]));
                    path.push(levels[1]);
                }
                EventKind::CheckpointMerged { merged, .. } => seen.merged.extend(merged),
                EventKind::Compressed { ops, .. } => {
                    let [before, after] = event.tokens;
                    seen.freed.push((before - after) as f64 / (before - 500) as f64);
                    let made = ops.iter().filter(|op| op.op == "summarize");
                    seen.sizes = made.map(|op| op.tokens_after).collect();
                    seen.sizes.sort_unstable_by(|one, other| other.cmp(one));
                }
                _ => {}
            }
        }
        client.say("assistant", 440);
    }
    seen
}

/// RULES 22: by age or by room, one level in a compression, and only what is at the lowest merges.
#[test]
fn every_checkpoint_comes_down_one_level_at_a_time() {
    for (size, turns) in [(8192, 60), (16_384, 120), (32_768, 140)] {
        let seen = chat(size, turns);
        assert!(seen.levels.len() > 2 && !seen.merged.is_empty(), "{size}: {:?}", seen.levels);
        for path in seen.levels.values() {
            assert!([3, 2, 1, 0].starts_with(path), "{size}: {path:?}");
        }
        let aged = |id: &String| seen.levels.get(id).is_some_and(|path| path.ends_with(&[1]));
        let whole = seen.merged.iter().filter(|id| aged(id)).count();
        assert!(whole * 2 + 2 >= seen.merged.len(), "{size}: {:?} {:?}", seen.merged, seen.levels);
    }
}

/// Compressions are some turns apart, each frees a quarter of the talk and more, and checkpoints of all
/// levels stand beside each other.
#[test]
fn compressions_are_apart_and_free_enough() {
    for (size, turns, apart) in [(8192, 60, 4), (16_384, 160, 7), (32_768, 260, 14)] {
        let seen = chat(size, turns);
        assert!(seen.strides.iter().all(|&turns| turns >= apart), "{size}: {:?}", seen.strides);
        assert!(seen.freed.iter().all(|&share| share >= 0.25), "{size}: {:?}", seen.freed);
        assert_eq!(seen.sizes.len(), 4, "{size}: {:?}", seen.sizes);
    }
}

/// Each cut names the policy, the hook and the line that ordered it, those of earlier compressions
/// as well, whatever the profile is called.
#[test]
fn cuts_are_credited_to_whoever_ordered_them() {
    let toml = "[profile.careful]\npolicies = [\"ollm\"]\n\
                options.ollm = { summary_max_tokens = 200, class_strategy = false }";
    let mut client = Client::new(toml, "careful", WindowSetting::Size(4096), 100);
    let text = include_str!("../../../../policies/ollm/policy.lua");
    let begins = |hook: &str| {
        let line = format!("function policy.{hook}(");
        text.lines().position(|one| one.starts_with(&line)).map(|at| at as u32 + 1)
    };
    let reported = client.until(4, 500).into_iter().flat_map(|(_, prompt)| prompt.events);
    let ops = reported.filter_map(|event| match event.what {
        EventKind::Compressed { ops, .. } => Some(ops),
        _ => None,
    });
    let ops = ops.last().unwrap().into_iter().map(|op| (op.policy, op.hook, op.line));
    let cuts: Vec<_> =
        client.diff().cuts.into_iter().map(|cut| (cut.policy, cut.hook, cut.line)).collect();
    assert_eq!(cuts, ops.collect::<Vec<_>>());
    let by = |hook: &str| ("ollm".to_owned(), hook.to_owned(), begins(hook));
    assert!(begins("plan").is_some() && begins("age").is_some());
    // Older checkpoints aged, and the others stand as they were ordered.
    let count = |hook: &str| cuts.iter().filter(|cut| **cut == by(hook)).count();
    assert!(count("age") > 0 && count("plan") > 2, "{cuts:?}");
    assert_eq!(count("age") + count("plan"), cuts.len(), "{cuts:?}");
}

/// A window of 8K holds through many compressions, none of which follows hard upon another, and
/// checkpoints come down until they are merged.
#[test]
fn a_small_window_holds_for_long() {
    let prompts = client(8192, 500).until(12, 400);
    assert!(prompts.iter().all(|(_, prompt)| prompt.tokens[1] <= 6963));
    let apart = |two: &[(usize, Prompt)]| !two.iter().all(|(_, prompt)| is_compressed(prompt));
    assert!(prompts.windows(2).all(apart), "{} turns", prompts.len());
    let events = || prompts.iter().flat_map(|(_, prompt)| &prompt.events);
    let comes_to = |expected: u8| {
        events().any(|event| {
            matches!(event.what, EventKind::CheckpointAged { levels: [_, to], .. } if to == expected)
        })
    };
    assert!(comes_to(2) && comes_to(1));
    assert!(events().any(|event| matches!(event.what, EventKind::CheckpointMerged { .. })));
}

#[test]
fn a_window_of_class_1_starts_over() {
    for (_, prompt) in client(4096, 200).until(3, 300) {
        if is_compressed(&prompt) {
            let by = &prompt.by[1];
            // One summary, and the state of the work beside it: here the task that was opened with.
            assert!(by.checkpoints > 0 && by.checkpoints <= 400 + 30, "{by:?}");
            assert!(prompt.tokens[1] <= 200 + 400 + 30 + 20, "{:?}", prompt.tokens);
        }
    }
}

#[test]
fn the_status_line_counts_compressions() {
    let prompts = client(8192, 500).until(2, 500);
    let [first, .., last] = &prompts[..] else { panic!("{} turns", prompts.len()) };
    assert_eq!(status(&first.1), "Context: 1,040/6,963  🟢 95%  (0 compressions)");
    assert!(status(&last.1).ends_with("  🟡 66%  (2 compressions)"), "{}", status(&last.1));
}

#[test]
fn what_a_compression_is_besides_is_told() {
    let names = |size: u64, compressions: usize| {
        let prompts = client(size, 200).until(compressions, 300);
        let events = prompts.into_iter().flat_map(|(_, prompt)| prompt.events);
        let name = |event: Event| serde_json::to_value(&event).unwrap()["event"].clone();
        events.map(name).filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let count =
        |names: &[String], wanted: &str| names.iter().filter(|name| *name == wanted).count();
    let small = names(4096, 3);
    for event in ["compressed", "tier1-compressed", "rollover-complete", "auto-summary-created"] {
        assert_eq!(count(&small, event), 3, "{event}: {small:?}");
    }
    // 0.95 × (1 − 0.15 × 4) is below 0.40: said at the fourth compression, once.
    let larger = names(8192, 6);
    assert_eq!(count(&larger, "tier2-compressed"), 6, "{larger:?}");
    assert_eq!(count(&larger, "rollover-complete"), 0);
    assert_eq!(count(&larger, "low-reliability"), 1);
    assert_eq!(count(&names(8192, 3), "low-reliability"), 0);
}

/// What a prompt told the host in words.
fn warnings(prompt: &Prompt) -> Vec<&str> {
    let told = prompt.events.iter().filter_map(|event| match &event.what {
        EventKind::PolicyWarning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    told.collect()
}

/// RULES 21: the newest 15 messages of the user stay. 14 of them, 3,430 tokens of the model beside
/// them: where all that does not fit, what the model said becomes smaller, and nothing else leaves.
#[test]
fn what_the_user_said_last_outlasts_what_the_model_said() {
    let sent = |limit: u64, asked: usize| {
        let mut client = Client::new("", "ollm", WindowSetting::Limit(limit), 20);
        for _ in 0..14 {
            client.say("user", asked);
            client.say("assistant", 245);
        }
        client.say("user", 10);
        client.send()
    };
    for limit in [6700, 7000, 7650, 8075, 9000] {
        let prompt = sent(limit, 408);
        assert!(prompt.tokens[0] > limit && prompt.tokens[1] <= limit, "{:?}", prompt.tokens);
        assert_eq!(prompt.by[1].user, prompt.by[0].user, "{limit}");
        assert_eq!(warnings(&prompt), [""; 0]);
    }
    // Where they alone are too large the oldest of them are folded, so that a stride is free again.
    let prompt = sent(8075, 600);
    assert!(prompt.tokens[1] <= 8075 && prompt.by[1].user >= 2 * 600, "{:?}", prompt.by[1]);
    assert!(prompt.by[1].user < prompt.by[0].user);
}

/// Turns of 500 tokens: a quarter of 27,352 holds 13 answers, while 2048 tokens would hold 4.
#[test]
fn in_a_large_window_a_quarter_stays_as_it_was_said() {
    let whole = |size: u64| {
        let mut client = client(size, 500);
        loop {
            client.say("user", 60);
            let prompt = client.send();
            if is_compressed(&prompt) {
                let request: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
                let said = request["messages"].as_array().unwrap().iter();
                let answers = said.filter(|it| it["role"] == "assistant");
                let words =
                    |it: &serde_json::Value| it["content"].as_str().unwrap().split(' ').count();
                return answers.filter(|answer| words(answer) == 436).count();
            }
            client.say("assistant", 440);
        }
    };
    assert_eq!([whole(8192), whole(16_384), whole(32_768)], [3, 4, 13]);
}

/// RULES 23: 7 compressions are advised from 70B on, 3 below 13B.
#[test]
fn the_advised_number_of_compressions_is_told_once() {
    let prompts = client(8192, 500).until(9, 500);
    let told = prompts
        .iter()
        .flat_map(|(number, prompt)| warnings(prompt).into_iter().map(move |text| (*number, text)));
    let told: Vec<_> = told.collect();
    assert!(matches!(told[..], [(7, text)] if text.contains("llama3:70b")), "{told:?}");
}
