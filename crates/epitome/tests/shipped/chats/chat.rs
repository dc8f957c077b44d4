//! One chat: what is said in it, and what became of its prompts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use epitome::types::{Actor, DecisionKind, EventKind, GoalChange, Priority};
use epitome::{
    Compressor, Config, ConfigSources, Format, LOCAL, Prompt, Session, SessionControls,
    SqliteStore, WindowSetting, validate,
};
use epitome_testkit::now;
use serde_json::{Value, json};

use super::words::{Scribe, WRITTEN, sentences};

const GOAL: &str = "Move the parser to a streaming lexer";
const LOCKED: &str = "Tokens borrow from the input and are never copied";
const ARCHITECTURE: &str = "The lexer is a pull iterator over bytes";
/// What the user orders, by the turn in which it is said.
const RULES: [(usize, &str); 2] = [
    (1, "Never push to main without asking me first."),
    (9, "Do not touch the files under vendor/."),
];

/// What is said in a turn, in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) name: &'static str,
    pub(super) user: usize,
    /// Of a file that the model reads; 0 where it reads none.
    pub(super) read: usize,
    pub(super) answer: usize,
    /// What the profile keeps, as its configuration says it.
    pub(super) keep: &'static str,
}

/// What compressions and prompts of a chat came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The turns with which it was compressed.
    pub(super) at: Vec<usize>,
    /// The share of the conversation that each freed.
    pub(super) freed: Vec<f64>,
    /// The restore points that were made by themselves.
    pub(super) points: usize,
    /// How often it started over.
    pub(super) rollovers: usize,
    /// The levels that each checkpoint came through.
    pub(super) levels: BTreeMap<String, Vec<u8>>,
    pub(super) merged: BTreeSet<String>,
    /// Prompts with a checkpoint, and those among them with words of the model.
    pub(super) worded: [usize; 2],
    /// Prompts with two messages of one role behind each other, which templates refuse.
    pub(super) in_a_row: Vec<String>,
    /// Prompts without something that stands for good.
    pub(super) without: Vec<String>,
    /// The fullest prompt, as a share of its limit.
    pub(super) fullest: f64,
    /// What it cost beside what it would have cost with all messages as they were said.
    pub(super) cost: f64,
    pub(super) questions: usize,
    /// Why words of the model were not taken.
    pub(super) refused: Vec<String>,
}

impl Outcome {
    /// Turns between two compressions.
    pub(super) fn gaps(&self) -> Vec<usize> {
        self.at.windows(2).map(|two| two[1] - two[0]).collect()
    }

    /// Whether every checkpoint came down one level at a time, to the one it merges from.
    pub(super) fn is_ladder(&self) -> bool {
        self.levels.values().all(|path| path.windows(2).all(|two| two[0] == two[1] + 1))
    }

    /// Whether two compressions behind each other freed less than a fifth of the conversation.
    pub(super) fn is_rapid(&self) -> bool {
        self.freed.windows(2).any(|two| two.iter().all(|share| *share < 0.20))
    }

    fn read(&mut self, turn: usize, prompt: &Prompt) {
        let fixed = prompt.by[1].system + prompt.by[1].tools;
        for event in &prompt.events {
            match &event.what {
                EventKind::CheckpointAged { checkpoint, levels, .. } => {
                    let path = self.levels.entry(checkpoint.clone());
                    path.or_insert_with(|| vec![levels[0]]).push(levels[1]);
                }
                EventKind::CheckpointMerged { merged, .. } => {
                    self.merged.extend(merged.iter().cloned());
                }
                EventKind::CompressionError { cause, .. } => self.refused.push(cause.clone()),
                EventKind::AutoSnapshotCreated { .. } => self.points += 1,
                EventKind::RolloverComplete { .. } => self.rollovers += 1,
                EventKind::Compressed { .. } => {
                    let [before, after] = event.tokens;
                    self.at.push(turn);
                    let freed = before.saturating_sub(after) as f64;
                    self.freed.push(freed / before.saturating_sub(fixed).max(1) as f64);
                }
                _ => {}
            }
        }
    }

    fn sent(&mut self, turn: usize, prompt: &Prompt) {
        assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
        let roles = roles(&prompt.bytes);
        let twice = |two: &&[String]| two[0] == two[1] && two[0] != "tool";
        if let Some(two) = roles.windows(2).find(twice) {
            self.in_a_row.push(format!("{turn}: {}", two[0]));
        }
        let text = readable(&prompt.bytes);
        if prompt.by[1].checkpoints > 0 {
            self.worded[0] += 1;
            self.worded[1] += usize::from(text.contains(WRITTEN));
        }
        self.fullest = self.fullest.max(prompt.tokens[1] as f64 / prompt.limit as f64);
        let rules = RULES.iter().filter(|(said, _)| *said <= turn).map(|(_, rule)| *rule);
        for one in [GOAL, LOCKED, ARCHITECTURE].into_iter().chain(rules) {
            if !text.contains(one) {
                self.without.push(format!("{turn}: {one}"));
            }
        }
    }
}

/// Who says the messages of a prompt, but for the system and for notes, which the client for models puts
/// where a template takes them.
fn roles(prompt: &[u8]) -> Vec<String> {
    let prompt: Value = serde_json::from_slice(prompt).unwrap();
    let is_note =
        |said: &&Value| said["content"].as_str().is_some_and(|it| it.starts_with("<epitome-note>"));
    let said = prompt["messages"].as_array().unwrap().iter().filter(|it| !is_note(it));
    let said = said.map(|message| message["role"].as_str().unwrap().to_owned());
    said.filter(|role| role != "system").collect()
}

/// All texts of a prompt.
fn readable(prompt: &[u8]) -> String {
    let prompt: Value = serde_json::from_slice(prompt).unwrap();
    let said = prompt["messages"].as_array().unwrap().iter();
    said.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

/// What a prompt costs behind the one before it: what both begin with is read from the cache.
fn cost(before: &[u8], prompt: &[u8], tokens: u64) -> f64 {
    let alike = before.iter().zip(prompt).take_while(|(one, other)| one == other).count();
    let cached = tokens as f64 * alike as f64 / prompt.len() as f64;
    0.1 * cached + 1.25 * (tokens as f64 - cached)
}

struct Talk {
    session: Session,
    calls: usize,
}

impl Talk {
    fn push(&mut self, message: &Value) {
        self.session.push(message.to_string().as_bytes()).unwrap();
    }

    fn say(&mut self, role: &str, text: &str) {
        self.push(&json!({ "role": role, "content": text }));
    }

    fn read(&mut self, turn: usize, tokens: usize) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let arguments = json!({ "path": format!("src/part{turn}.rs") }).to_string();
        let function = json!({ "name": "read", "arguments": arguments });
        let call = json!({ "id": id, "type": "function", "function": function });
        self.push(&json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        let text = sentences(turn, "line", tokens).replace(". ", ".\n");
        self.push(&json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }

    /// A mark, where the profile knows one.
    fn mark(&mut self) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let function = json!({ "name": "compress_to_checkpoint", "arguments": "{}" });
        let call = json!({ "id": id, "type": "function", "function": function });
        self.push(&json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        self.push(&json!({ "role": "tool", "tool_call_id": id, "content": "marked" }));
    }
}

/// A chat of so many turns under a profile, at a context size.
pub(super) fn chat(profile: &str, size: u64, style: &Style, turns: usize) -> Outcome {
    let toml = format!("[profile.mine]\ninherits = \"{profile}\"\n{}", style.keep);
    let sources = ConfigSources::default().text(Path::new("epitome.toml"), &toml);
    let profile_used = Config::load(sources).unwrap().profile("mine").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(SqliteStore::open(&folder.path().join("store.db")).unwrap());
    let scribe = Scribe::default();
    let session = Compressor::builder()
        .profile(profile_used.clone())
        .input_format(Format::OpenAi)
        .model(scribe.clone())
        .clock(|| "2026-01-02T03:04:05Z".to_owned())
        .window(WindowSetting::Size(size))
        .session(journal.clone(), Some("chat"));
    let mut talk = Talk { session, calls: 0 };
    talk.say("system", "You work on a parser. Be brief.");
    let controls = SessionControls::new(journal, profile_used, LOCAL, Actor::User);
    let decide = |text: &str, locked, kind| {
        let text = text.to_owned();
        GoalChange::Decide { text, rationale: None, locked, kind }
    };
    for change in [
        GoalChange::Set { text: GOAL.to_owned(), priority: Priority::High },
        decide(LOCKED, true, DecisionKind::Plain),
        decide(ARCHITECTURE, false, DecisionKind::Architecture),
    ] {
        controls.change_goals(Some("chat"), vec![change.into()]).unwrap();
    }
    let (mut outcome, mut last) = (Outcome::default(), Vec::new());
    let (mut raw, mut paid) = (0, [0.0; 2]);
    for turn in 0..turns {
        // An order is typed by itself: among much else it would be pasted text.
        let rule = RULES.iter().find(|(said, _)| *said == turn);
        let asked = match rule {
            Some((_, rule)) => (*rule).to_owned(),
            None => sentences(turn, "wish", style.user.saturating_sub(20)),
        };
        talk.say("user", &format!("Please look at src/part{turn}.rs. {asked}"));
        if style.read > 0 {
            talk.read(turn, style.read);
            if profile == "watermark" && turn % 4 == 3 {
                talk.mark();
            }
        }
        let prompt = now(talk.session.prompt()).unwrap();
        outcome.read(turn, &prompt);
        outcome.sent(turn, &prompt);
        paid[0] += cost(&last, &prompt.bytes, prompt.tokens[1]);
        paid[1] += 0.1 * raw as f64 + 1.25 * (prompt.tokens[0] - raw) as f64;
        raw = prompt.tokens[0];
        last = prompt.bytes.to_vec();
        let told = sentences(turn, "finding", style.answer.saturating_sub(20));
        talk.say("assistant", &format!("I looked at src/part{turn}.rs and it is well. {told}"));
        if let Some(pause) = now(talk.session.compress_if_due()).unwrap() {
            outcome.read(turn, &pause);
        }
    }
    let asked = scribe.asked();
    outcome.questions = asked.len();
    let asked = asked.iter().map(|[read, wrote]| (read + wrote * 5) as f64).sum::<f64>();
    outcome.cost = (paid[0] + asked) / paid[1];
    outcome
}
