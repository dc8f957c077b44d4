//! Drift, in whole conversations at default options: agents that forget what they are there for after
//! a summary, and agents that do not, with people who type "ok, next".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::playing::{events, played};
use crate::program::Place;

const LIMIT: &str = "8000";

/// What happens in a conversation: what the model says, what a person types, a call with its result.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Says(String),
    Typed(String),
    Call { tool: String, arguments: Value, result: String },
}

/// What is read until a summary is made: `{n}` stands for its number, `{k}` for one of the line.
#[derive(Deserialize)]
struct Reading {
    tool: String,
    path: String,
    line: String,
}

impl Reading {
    fn number(&self, at: usize) -> Step {
        let text = |text: &str, line: usize| {
            text.replace("{n}", &(at + 10).to_string()).replace("{k}", &(line * 7 + at).to_string())
        };
        let lines: Vec<_> = (1..28).map(|number| text(&self.line, number)).collect();
        Step::Call {
            tool: self.tool.clone(),
            arguments: json!({"path": text(&self.path, 0)}),
            result: lines.join("\n"),
        }
    }
}

/// What a conversation is about, up to its summary.
#[derive(Deserialize)]
struct World {
    task: String,
    before: Vec<Step>,
    reads: Reading,
}

/// What happens behind the summary.
#[derive(Deserialize)]
struct Course {
    name: String,
    world: String,
    drifts: bool,
    after: Vec<Step>,
}

#[derive(Deserialize)]
struct Courses {
    worlds: BTreeMap<String, World>,
    scripts: Vec<Course>,
}

impl Courses {
    fn load() -> Self {
        serde_json::from_str(include_str!("drift/scripts.json")).unwrap()
    }
}

fn add(talk: &mut Vec<Value>, step: &Step) {
    match step {
        Step::Says(text) => talk.push(json!({"role": "assistant", "content": text})),
        Step::Typed(text) => talk.push(json!({"role": "user", "content": text})),
        Step::Call { tool, arguments, result } => {
            let id = format!("call_{}", talk.len());
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            talk.push(json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": id, "type": "function", "function": function}]}));
            talk.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
    }
}

impl World {
    /// A recording: what came before, so many things that are read, and what comes behind them.
    fn recording(&self, reads: usize, after: &[Step]) -> Value {
        let mut talk = vec![json!({"role": "user", "content": self.task})];
        self.before.iter().for_each(|step| add(&mut talk, step));
        (1..=reads).for_each(|at| add(&mut talk, &self.reads.number(at)));
        after.iter().for_each(|step| add(&mut talk, step));
        talk.push(json!({"role": "user", "content": "ok, next"}));
        talk.push(json!({"role": "assistant", "content": "I go on."}));
        json!({"model": "gpt-4o", "messages": talk})
    }

    /// How much is read until the summary is made, which the next message of the model stands behind.
    fn reads_to_summary(&self, place: &Place) -> usize {
        let turns = play(place, &self.recording(20, &[]));
        let made = turns.iter().position(|turn| events(turn).contains(&"compressed"));
        let by_model = |step: &&Step| !matches!(step, Step::Typed(_));
        // A request is made behind the messages of the model before it.
        made.unwrap() - self.before.iter().filter(by_model).count()
    }
}

#[track_caller]
fn play(place: &Place, recording: &Value) -> Vec<Value> {
    place.write("work.json", recording.to_string());
    let args = ["replay", "work.json", "--profile", "tiered", "--prompt-limit", LIMIT];
    let ran = place.run([&args[..], &["--json", "-q"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    played(&ran).0
}

/// The courses that are judged wrongly where the summary is made so many reads before them: those
/// that forget and are not caught, and those that do not and are blamed.
fn misjudged(earlier: usize) -> [Vec<String>; 2] {
    let courses = Courses::load();
    let place = Place::new();
    let reads = |world: &World| world.reads_to_summary(&place) + earlier;
    let reads: BTreeMap<_, _> =
        courses.worlds.iter().map(|(name, world)| (name, reads(world))).collect();
    let [mut missed, mut blamed] = [Vec::new(), Vec::new()];
    for course in courses.scripts {
        let world = &courses.worlds[&course.world];
        let turns = play(&place, &world.recording(reads[&course.world], &course.after));
        let found = turns.iter().any(|turn| events(turn).contains(&"drift-detected"));
        match (course.drifts, found) {
            (true, false) => missed.push(course.name),
            (false, true) => blamed.push(course.name),
            _ => {}
        }
    }
    [missed, blamed]
}

/// 19 of 20. What is fetched four times with the same result may still be waited for.
#[test]
fn agents_that_forget_right_after_a_summary_are_caught_and_no_others() {
    let missed = ["fetches the same month over and over"];
    assert_eq!(misjudged(0), [missed.map(str::to_owned).to_vec(), Vec::new()]);
}

/// 18 of 20. A question about the work is drift only where it comes at once.
#[test]
fn agents_that_forget_a_little_later_are_caught_mostly_and_no_others() {
    let missed = ["asks for the format that it was given", "fetches the same month over and over"];
    assert_eq!(misjudged(2), [missed.map(str::to_owned).to_vec(), Vec::new()]);
}
