//! A replay that is killed at any point: nothing that was acknowledged is lost, and it goes on as
//! if nothing had happened.

use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::conversation::bare;
use crate::measure::texts;
use crate::playing::{Playing, played};
use crate::program::Place;
use crate::sealed::keyed;

/// How often it is killed where `EPITOME_KILLS` says nothing else.
const KILLS: u64 = 25;
/// The same of a store that is encrypted.
const SEALED_KILLS: u64 = 50;
const ARGS: [&str; 8] =
    ["replay", "talk.json", "--prompt-limit", "2500", "--store", "s.db", "--session", "talk"];

/// Numbers that look random and are the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % most
    }
}

/// What each turn of a conversation sent, by its hash.
fn prompts(turns: &[Value]) -> Vec<&Value> {
    turns.iter().map(|turn| &turn["prompt"]).collect()
}

/// How many messages stand in the first so many requests of a conversation.
fn messages_of(said: &[Value], turns: usize) -> usize {
    let asks = said
        .iter()
        .enumerate()
        .filter(|(_, it)| ["user", "tool"].contains(&it["role"].as_str().unwrap()));
    turns.checked_sub(1).map_or(0, |last| asks.map(|(at, _)| at + 1).nth(last).unwrap())
}

/// Checks that a store holds at least the first so many messages, word for word.
#[track_caller]
fn check_recorded(place: &Place, said: &[Value], least: usize) {
    let list = place.run(["session", "list", "--all", "--json", "--store", "s.db"]).json();
    let recorded = list[0]["messages"].as_u64().unwrap() as usize;
    assert!(recorded >= least, "{recorded} of {least} messages");
    let args = ["session", "export", "talk", "--format", "json", "--store", "s.db"];
    let exported = String::from_utf8(place.run(args).silent()).unwrap();
    for text in said[..recorded].iter().flat_map(texts) {
        assert!(exported.contains(&Value::from(&*text).to_string()), "lost: {text}");
    }
}

#[test]
fn what_was_acknowledged_outlives_a_kill_and_the_replay_goes_on() {
    check(Place::new, KILLS);
}

#[test]
fn the_same_holds_of_a_store_that_is_encrypted() {
    check(keyed, SEALED_KILLS);
}

/// Kills a replay so often, each time in a fresh place.
fn check(fresh: fn() -> Place, most: u64) {
    let kills = std::env::var("EPITOME_KILLS").ok().map_or(most, |all| all.parse().unwrap());
    let conversation = bare(25);
    let said = conversation.as_array().unwrap();
    let whole = fresh();
    whole.write("talk.json", conversation.to_string());
    let (turns, summary) = played(&whole.run(ARGS.into_iter().chain(["--json", "-q"])));
    assert!(summary["compressions"].as_u64() > Some(5), "{summary}");

    let mut dice = Dice(1);
    for kill in 0..kills {
        let place = fresh();
        place.write("talk.json", conversation.to_string());
        let mut playing = Playing::start(&place, &[&ARGS[..], &["--pace", "5", "-q"]].concat());
        let read = dice.below(turns.len() as u64) as usize;
        let mut seen: Vec<_> = (0..read).map(|_| playing.next().unwrap()).collect();
        // Up to several turns and pauses; what is checked holds wherever it is hit.
        sleep(Duration::from_micros(dice.below(40_000)));
        seen.extend(playing.kill());
        seen.retain(|line| line["summary"] != true);
        let context = format!("kill {kill} after {} turns", seen.len());

        assert_eq!(prompts(&seen), prompts(&turns[..seen.len()]), "{context}");
        if place.path("s.db").exists() {
            let verified = place.run(["session", "verify", "--store", "s.db"]);
            assert_eq!(verified.code, 0, "{context}: {}{}", verified.text(), verified.err);
        }
        if !seen.is_empty() {
            check_recorded(&place, said, messages_of(said, seen.len()));
        }
        if seen.len() < turns.len() {
            let from = format!("--from={}", seen.len() + 1);
            let (rest, ended) = played(&place.run(ARGS.into_iter().chain(["--json", "-q", &from])));
            assert_eq!(prompts(&rest), prompts(&turns[seen.len()..]), "{context}");
            assert_eq!(ended["prefix_kept"], 1.0, "{context}");
            assert_eq!(ended["must_keep"], summary["must_keep"], "{context}");
        }
        let list = place.run(["session", "list", "--all", "--json", "--store", "s.db"]).json();
        assert_eq!(list[0]["compressions"], summary["compressions"], "{context}");
        assert_eq!(list[0]["messages"], said.len(), "{context}");
    }
}
