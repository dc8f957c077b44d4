//! `epitome replay`: a recorded conversation, played as its client would have.

use std::process::Command;

use serde_json::{Value, json};

use crate::conversation::bare;
use crate::measure::{faults, messages, readable, texts};
use crate::playing::{Playing, events, played};
use crate::program::Place;
use crate::shipped::{RULES as DEMANDS, is_shown, recording};

const TALK: [&str; 4] = ["replay", "talk.json", "--prompt-limit", "2500"];

/// A place with a conversation of many small turns.
fn talk() -> Place {
    let place = Place::new();
    place.write("talk.json", bare(20).to_string());
    place
}

/// Plays the shipped recording by a profile: each prompt is within its limit and valid, nothing goes
/// wrong on the way, and what was demanded, pinned and set as the goal stands in the last one word
/// for word.
#[track_caller]
fn stays_within(profile: &str) {
    const GOAL: &str = "Long keys are cut in errors, and the public API stays as it is";
    let place = Place::new();
    place.write("session.jsonl", recording());
    let args = ["replay", "session.jsonl", "--store", "s.db", "--context-size", "8192", "-q"];
    let args = [&args[..], &["--profile", profile, "--dump", "prompts"]].concat();
    // The first turns, then a pin and a goal, then the rest.
    let mut first = Playing::start(&place, &[&args[..], &["--pace", "60000"]].concat());
    let early = first.next().unwrap();
    assert!(first.kill().is_empty() && early["turn"] == 1);
    let pinned = texts(&place.read_json("prompts/0001.json")["messages"][0]).remove(0);
    let own = ["--store", "s.db", "--profile", profile, "-q"];
    place.run([&["pin", "e0"], &own[..]].concat()).silent();
    place.run([&["goal", "set", GOAL], &own[..]].concat()).silent();

    let ran = place.run([&args[..], &["--json"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (turns, summary) = played(&ran);
    assert!(summary["compressions"].as_u64() >= Some(8), "{summary}");
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert_eq!((&summary["prefix_kept"], &summary["turns"]), (&json!(1.0), &json!(turns.len())));
    let prompt = |turn: &Value| {
        place.read_json(&format!("prompts/{:04}.json", turn["turn"].as_u64().unwrap()))
    };
    for turn in &turns {
        let is_new =
            events(turn).iter().any(|it| ["compressed", "compaction-changed"].contains(it));
        assert!(is_new || turn["prefix_kept"] == 1.0, "{turn}");
        assert!(turn["tokens_sent"].as_u64() <= turn["limit"].as_u64(), "{turn}");
        assert!(!events(turn).iter().any(|it| it.ends_with("-error")), "{turn}");
        assert_eq!(faults(&prompt(turn)), Vec::<String>::new(), "{turn}");
    }
    let last = prompt(turns.last().unwrap());
    let text = readable(&last);
    DEMANDS.iter().chain(&[GOAL]).for_each(|rule| assert!(text.contains(rule), "{rule}"));
    let holds = |message: &Value| message["role"] == "user" && texts(message).contains(&pinned);
    assert!(messages(&last).iter().any(holds), "{pinned}: {last}");
}

#[test]
fn default_stays_within_its_limit_with_what_was_demanded_and_pinned() {
    stays_within("default");
}

#[test]
fn ollm_stays_within_its_limit_with_what_was_demanded_and_pinned() {
    stays_within("ollm");
}

#[test]
fn staged_stays_within_its_limit_with_what_was_demanded_and_pinned() {
    stays_within("staged");
}

#[test]
fn watermark_stays_within_its_limit_with_what_was_demanded_and_pinned() {
    stays_within("watermark");
}

#[test]
fn early_stays_within_its_limit_with_what_was_demanded_and_pinned() {
    stays_within("early");
}

#[test]
fn tiered_stays_within_its_limit_with_what_was_demanded_and_pinned() {
    stays_within("tiered");
}

#[test]
fn the_manual_shows_the_summary_of_the_shipped_recording() {
    let place = Place::new();
    let name = "examples/transcripts/debugging-session.jsonl";
    std::fs::create_dir_all(place.path("examples/transcripts")).unwrap();
    place.write(name, recording());
    let ran = place.run(["replay", "--context-size", "8192", name]);
    let summary: Vec<_> = ran.text().lines().skip_while(|line| !line.starts_with(name)).collect();
    let (time, figures) = summary.split_last().unwrap();
    assert!(time.starts_with("time ") && figures.len() > 10, "{summary:#?}");
    is_shown(figures);
}

#[test]
fn two_replays_differ_in_nothing_but_their_times() {
    let place = talk();
    let run = || {
        let (mut turns, mut summary) = played(&place.run(TALK.into_iter().chain(["--json", "-q"])));
        summary["elapsed_ms"] = json!(0);
        // The time is part of what ids of epochs and snapshots are made from.
        for event in turns.iter_mut().flat_map(|turn| turn["events"].as_array_mut().unwrap()) {
            ["at", "compaction", "epoch", "id"].iter().for_each(|key| event[*key] = json!(""));
        }
        (turns, summary)
    };
    let (one, other) = (run(), run());
    assert!(one.1["compressions"].as_u64() > Some(3));
    assert!(one == other, "{:?}", one.0.iter().zip(&other.0).find(|(one, other)| one != other));
    // A store changes nothing.
    let stored = place.run(TALK.into_iter().chain(["--json", "-q", "--store", "s.db"]));
    assert_eq!(hashes(&played(&stored).0), hashes(&one.0));
}

/// Where the user says what the provider takes, no more of the raw history would have been sent.
#[test]
fn what_it_would_have_cost_ends_with_the_limit_that_is_stated() {
    let place = talk();
    let of = |limit: &str| {
        let model = ["--model", "claude-sonnet-4-5", "--json", "-q"];
        let args = [&["replay", "talk.json", "--prompt-limit", limit][..], &model].concat();
        let (turns, summary) = played(&place.run(args));
        let cost = summary["cache_cost_uncompressed"].as_f64().unwrap();
        cost / turns.len() as f64
    };
    assert!(of("2500") < 2_500.0 * 1.25, "{}", of("2500"));
    assert!(of("2500") < of("200000"));
}

fn hashes(turns: &[Value]) -> Vec<&Value> {
    turns.iter().map(|turn| &turn["prompt"]).collect()
}

#[test]
fn people_get_lines_and_a_table() {
    let place = talk();
    let ran = place.run(TALK);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let text = ran.text();
    assert!(text.contains(" of 1 identifier") && !text.contains('…'), "no line is cut: {text}");
    assert!(!text.contains('\x1b'), "{text}");
    for part in [" compressed (1), hard: ", "talk.json: 41 turns", "\noversized      0\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Beside the data they go to standard error.
    let beside = place.run(TALK.into_iter().chain(["--json"]));
    let untimed = |text: &str| text.lines().filter(|line| !line.starts_with("time ")).count();
    assert_eq!((untimed(&beside.err), beside.code), (untimed(text), 0));
    assert_eq!(place.run(TALK.into_iter().chain(["-q"])).silent(), b"");
}

#[test]
fn an_interruption_ends_it_with_the_summary_so_far() {
    let place = talk();
    let mut playing = Playing::start(&place, &[&TALK[..], &["--pace", "60000"]].concat());
    assert_eq!(playing.next().unwrap()["turn"], 1);
    let id = playing.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let summary = playing.next().unwrap();
    assert_eq!((&summary["summary"], &summary["turns"]), (&json!(true), &json!(1)));
    assert_eq!((playing.next(), playing.code()), (None, Some(0)));
}

#[test]
fn what_cannot_fit_is_refused_turn_by_turn() {
    let place = talk();
    let ran = place.run(["replay", "talk.json", "--max-tokens", "10", "--json"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("talk.json: turn 1: it cannot fit into 10 tokens"), "{}", ran.err);
    let (turns, summary) = played(&ran);
    assert_eq!((turns.len(), summary["refused"].as_array().unwrap().len()), (41, 41));
    assert!(turns.iter().all(|turn| turn["prompt"].is_null() && turn["refused"].is_string()));
}

#[test]
fn inputs_that_cannot_be_played_are_named() {
    let place = talk();
    place.write("broken.json", "[{\"role\":\"user\",\"content\":");
    place.write("empty.json", "");
    place.write("answer.json", r#"[{"role":"assistant","content":"Yes."}]"#);
    for (args, code, line) in [
        (&["broken.json"][..], 3, "broken.json: byte "),
        (&["empty.json"], 3, "empty.json: is empty"),
        (&["gone.json"], 3, "gone.json: no such file"),
        (&["answer.json"], 3, "answer.json: "),
        (&["talk.json", "--from", "42"], 2, "talk.json: has no turn 42, the last is 41"),
        (
            &["talk.json", "--context-size", "8000", "--prompt-limit", "9000"],
            2,
            "cannot be used with",
        ),
    ] {
        let ran = place.run([&["replay"], args].concat());
        assert_eq!((ran.code, ran.out.len()), (code, 0), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(line) && ran.err.lines().count() == 1, "{args:?}: {}", ran.err);
    }
}

/// Takes the last compression back while a replay runs, and puts it in force again.
#[test]
fn undo_from_a_second_process_is_seen_at_the_next_turn() {
    let place = Place::new();
    place.write("talk.json", bare(100).to_string());
    let args =
        ["replay", "talk.json", "--prompt-limit", "40000", "--store", "s.db", "--session", "talk"];
    let args = [&args[..], &["--pace", "1000", "--from", "170", "-q"]].concat();
    let mut playing = Playing::start(&place, &args);
    let compressed = playing.until("compressed");
    let change =
        |verb: &str| place.run(["session", verb, "talk", "--store", "s.db", "-q"]).silent();
    change("undo");
    let undone = playing.until("compaction-changed");
    let event = |turn: &Value, name: &str| {
        let events = turn["events"].as_array().unwrap();
        events.iter().find(|it| it["event"] == name).unwrap().clone()
    };
    assert!(event(&undone, "compaction-changed")["compaction"].is_null(), "{undone}");
    assert_eq!(undone["tokens_sent"], undone["tokens_raw"]);
    // What was taken back is held.
    let next = playing.next().unwrap();
    assert_eq!(next["tokens_sent"], next["tokens_raw"]);
    change("redo");
    let redone = playing.until("compaction-changed");
    let epoch = &event(&compressed, "compressed")["compaction"];
    assert_eq!(&event(&redone, "compaction-changed")["compaction"], epoch);
    assert!(redone["tokens_sent"].as_u64() < redone["tokens_raw"].as_u64());
    playing.kill();
}

/// Runs each of these commands as it is printed; what it brings back holds the fact.
#[track_caller]
fn come_back(place: &Place, lost: &[Value]) {
    for fact in lost.iter().step_by(lost.len().div_ceil(8).max(1)) {
        let command = fact["recall"].as_str().unwrap_or_else(|| panic!("no way back: {fact}"));
        let original = place.run(command.strip_prefix("epitome ").unwrap().split(' ')).silent();
        let text = fact["text"].as_str().unwrap();
        assert!(String::from_utf8(original).unwrap().contains(text), "{fact}");
    }
}

/// What the last prompt and each compression lost is named, with the command that brings it back.
#[test]
fn what_was_lost_is_named_and_comes_back_as_printed() {
    for profile in ["default", "ollm"] {
        let place = Place::new();
        place.write("session.jsonl", recording());
        let args = [
            "replay",
            "session.jsonl",
            "--context-size",
            "8192",
            "--profile",
            profile,
            "--json",
            "-q",
        ];
        let ran = place.run([&args[..], &["--store", "s.db", "--report", "r.json"]].concat());
        let (turns, summary) = played(&ran);
        let count = |kept: &Value| {
            let gone =
                |kind: &str| kept[kind][1].as_u64().unwrap() - kept[kind][0].as_u64().unwrap();
            ["constraints", "paths", "errors", "identifiers"].map(gone).iter().sum::<u64>()
        };
        let lost = |object: &Value| {
            let kept = &object["must_keep"];
            let lost = kept["lost"].as_array().unwrap_or_else(|| panic!("no list: {kept}")).clone();
            assert_eq!(lost.len() as u64, count(kept), "{kept}");
            lost
        };
        assert!(!lost(&summary).is_empty(), "{summary}");
        come_back(&place, &lost(&summary));
        assert_eq!(place.read_json("r.json"), summary);
        let compressed: Vec<_> =
            turns.iter().filter(|turn| events(turn).contains(&"compressed")).collect();
        assert!(compressed.len() > 3 && compressed.iter().any(|turn| !lost(turn).is_empty()));
        come_back(&place, &lost(compressed[compressed.len() / 2]));

        // Where nothing is kept there is no way back.
        let (_, summary) = played(&place.run(args));
        let lost = lost(&summary);
        assert!(!lost.is_empty() && lost.iter().all(|fact| fact["recall"].is_null()));
    }
}
