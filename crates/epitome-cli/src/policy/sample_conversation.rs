//! Conversations to try policies on where nobody names one: made up, each with a trouble of its own.
//!
//! Invariant: the same every time. Large results, prose, demands, goals and tight windows stand where
//! sessions have them, so that every hook has something to decide.

use serde_json::{Value, json};

/// What a person forbids in each of them, and what no prompt may lose that a policy pins.
pub(super) const DEMAND: &str = "Never push to main.";

/// The goal of `marks`, which its model states once.
pub(super) const GOAL: &str = "Ship the importer of invoices";

/// A conversation that is made up.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleConversation {
    /// Its name, for reports and for `t.replay`.
    pub(super) name: &'static str,
    /// The part of the conversation that the window is where nobody states one.
    pub(super) share: u64,
    /// What must be in the last prompt whatever a policy does.
    pub(super) stays: &'static [&'static str],
    make: fn() -> Vec<Value>,
}

/// All of them: a short chat, a long loop of an agent, the same in little room, and one with a goal.
pub(super) const SAMPLES: &[SampleConversation] = &[
    SampleConversation { name: "chat", share: 2, stays: &[], make: chat },
    SampleConversation { name: "agent", share: 4, stays: &[], make: agent },
    SampleConversation { name: "tight", share: 10, stays: &[], make: tight },
    SampleConversation { name: "marks", share: 4, stays: &[GOAL], make: marks },
];

impl SampleConversation {
    /// The one of this name.
    pub(super) fn find(name: &str) -> Option<Self> {
        SAMPLES.iter().find(|sample| sample.name == name).copied()
    }

    /// It as a request, in the `openai` format.
    pub(super) fn request(&self) -> Vec<u8> {
        Value::Array((self.make)()).to_string().into_bytes()
    }
}

fn system() -> Value {
    json!({ "role": "system", "content": format!("You are a careful engineer. {DEMAND}") })
}

/// Questions and answers in prose, and no tool.
fn chat() -> Vec<Value> {
    let mut talk = vec![system()];
    for round in 0..100 {
        talk.push(user(&format!(
            "Question {round}: how does part {round} of the importer read a date, and why does it \
             not use the one of part {}?",
            round / 2
        )));
        talk.push(assistant(&format!(
            "Part {round} reads a date by its own table, since the format of supplier {} has no \
             year in it. It takes the year of the file. I would keep it so: of {} files that I \
             looked at, {} have dates that the other reader refuses with E{:04}.",
            round * 7 % 13,
            round * 11 + 40,
            round * 3 + 2,
            round * 91 % 9_999,
        )));
    }
    talk.push(user("Sum up what speaks for one reader."));
    talk
}

/// Many calls of tools, of which every fifth brings much.
fn agent() -> Vec<Value> {
    let mut talk = vec![system()];
    talk.extend((0..50).flat_map(round));
    talk.push(user("Go on with what is left, and keep the tests green."));
    talk
}

/// The same, shorter, for a window that holds little of it.
fn tight() -> Vec<Value> {
    let mut talk = vec![system()];
    talk.extend((0..50).flat_map(round));
    talk.push(user("Go on."));
    talk
}

/// A goal, milestones and decisions beside calls of tools, and rules that a person gives on the way.
fn marks() -> Vec<Value> {
    let mut talk = vec![system(), user(&format!("{GOAL}. Rule: never touch the table `ledger`."))];
    talk.push(assistant(&format!("[GOAL] {GOAL}\n[CHECKPOINT] parser - IN PROGRESS")));
    for number in 0..50 {
        talk.extend(round(number));
        if number == 8 {
            talk.push(user("Rule: amounts are integers of cents, nothing else."));
            talk.push(assistant("[DECISION] Amounts are cents - no rounding\nUnderstood."));
        }
    }
    talk.push(user("Where do we stand?"));
    talk
}

/// What a person types, a call, its result, an answer.
fn round(round: usize) -> [Value; 4] {
    let (id, path) = (format!("call_{round}"), format!("src/part{round}/mod.rs"));
    let call = json!({ "id": id, "type": "function", "function": {
        "name": "read_file", "arguments": json!({ "path": path }).to_string(),
    }});
    // Every fifth result is long.
    let lines = if round % 5 == 4 { 150 } else { 12 };
    let result: String = (0..lines)
        .map(|line| format!("{line:4}  let value_{round}_{line} = load(\"{path}\", {line})?;\n"))
        .collect();
    [
        user(&format!(
            "Look into {path}: part {round} fails with error E{:04}.",
            round * 37 % 9999
        )),
        json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
        json!({ "role": "tool", "tool_call_id": id, "content": result }),
        assistant(&format!(
            "Part {round} reads line {} twice. I decided to keep one reader in {path} and to drop \
             the other; its test stays as it is.",
            round * 3 % 12
        )),
    ]
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}
