//! The profile `watermark` from outside: a recording with marks in it is played, broken off and
//! gone on with.

use serde_json::{Value, json};

use crate::measure::{faults, messages, readable};
use crate::playing::{Playing, events, played};
use crate::program::Place;
use crate::shipped::{RULES, recording};

const MARK: &str = "mcp__epitome__compress_to_checkpoint";

/// The shipped recording, in which the agent marks the end of a task before each of these lines.
fn marked(lines: &[usize]) -> String {
    let recording = String::from_utf8(recording()).unwrap();
    let mut out: Vec<Value> = Vec::new();
    for (at, line) in recording.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        if lines.contains(&at) {
            assert_eq!(line["type"], "assistant");
            let id = format!("toolu_mark{at}");
            let call = json!([{"type": "tool_use", "id": id, "name": MARK, "input": {}}]);
            let done = json!([{"type": "tool_result", "tool_use_id": id, "content": "marked"}]);
            for (role, content) in [("assistant", call), ("user", done)] {
                let mut added = line.clone();
                added["type"] = json!(role);
                added["uuid"] = json!(format!("{role}-{at}"));
                added["message"] = json!({"role": role, "content": content});
                if role == "assistant" {
                    added["message"]["id"] = json!(id);
                    added["message"]["type"] = json!("message");
                }
                added["parentUuid"] = out.last().map_or(Value::Null, |last| last["uuid"].clone());
                out.push(added);
            }
        }
        let mut line = line;
        line["parentUuid"] = out.last().map_or(Value::Null, |last| last["uuid"].clone());
        out.push(line);
    }
    out.iter().map(|line| format!("{line}\n")).collect()
}

const ARGS: [&str; 8] =
    ["replay", "s.jsonl", "--profile", "watermark", "--store", "s.db", "--dump", "prompts"];

/// Where the last mark stands in a prompt, and whether anything before it calls a tool.
fn before_mark(body: &Value) -> Option<bool> {
    let all = messages(body);
    let mark = all.iter().rposition(|message| {
        let blocks = message["content"].as_array().into_iter().flatten();
        let mut calls = blocks.filter(|block| block["type"] == "tool_use");
        calls.any(|call| call["name"] == MARK)
    })?;
    let is_tool =
        |block: &Value| matches!(block["type"].as_str(), Some("tool_use" | "tool_result"));
    let blocks = all[..mark].iter().filter_map(|message| message["content"].as_array()).flatten();
    Some(blocks.into_iter().any(is_tool))
}

#[track_caller]
fn check(size: &[&str], marks: &[usize]) -> (Vec<Value>, Value) {
    let place = Place::new();
    place.write("s.jsonl", marked(marks));
    let args = [&ARGS[..], size, &["-q"]].concat();
    // It is broken off in the middle, behind the first mark, and gone on with by another process.
    let mut first = Playing::start(&place, &args);
    first.until("watermark-moved");
    (0..3).for_each(|_| drop(first.next()));
    first.kill();
    let ran = place.run([&args[..], &["--json"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert_eq!(summary["prefix_kept"], json!(1.0), "{summary}");
    for turn in &turns {
        let number = turn["turn"].as_u64().unwrap();
        let prompt = place.read_json(&format!("prompts/{number:04}.json"));
        assert_eq!(faults(&prompt), Vec::<String>::new(), "{turn}");
        let has_left = before_mark(&prompt);
        assert_ne!(has_left, Some(true), "{number}: {:?}", events(turn));
        let is_new =
            events(turn).iter().any(|it| ["compressed", "compaction-changed"].contains(it));
        assert!(is_new || turn["prefix_kept"] == 1.0, "{turn}");
    }
    let last = turns.last().unwrap()["turn"].as_u64().unwrap();
    let last = place.read_json(&format!("prompts/{last:04}.json"));
    let text = readable(&last);
    RULES.iter().for_each(|rule| assert!(text.contains(rule), "{rule}"));

    let status =
        place.run(["status", "--store", "s.db", "--profile", "watermark", "--json"]).json();
    assert_eq!(status[0]["marks"][0]["tool"], MARK, "{status}");
    let shown = place.run(["status", "--store", "s.db", "--profile", "watermark"]);
    assert!(shown.text().contains("marked by") && shown.text().contains(MARK), "{}", shown.text());
    (turns, status[0]["marks"][0].clone())
}

fn assistants(after: usize) -> usize {
    let recording = String::from_utf8(recording()).unwrap();
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<_> = lines.collect();
    let says = |at: &usize| {
        let texts = lines[*at]["message"]["content"].as_array();
        lines[*at]["type"] == "assistant"
            && lines[*at - 1]["type"] == "user"
            && texts.is_some_and(|blocks| blocks[0]["type"] == "text")
    };
    (after..lines.len()).find(says).unwrap()
}

#[test]
fn a_recording_with_marks_is_never_oversized_and_keeps_its_prefix_between_them() {
    let marks = [60, 140].map(assistants);
    let (turns, by) = check(&["--prompt-limit", "200000"], &marks);
    assert_eq!(by["marks"], 2);
    let moves = turns.iter().filter(|turn| events(turn).contains(&"watermark-moved")).count();
    // The first was moved before the process was killed.
    assert_eq!(moves, 1);
}

#[test]
fn a_window_that_forces_more_brings_nothing_back() {
    check(&["--context-size", "8192"], &[60, 140].map(assistants));
}
