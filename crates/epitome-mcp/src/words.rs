//! What tools answer, for models and people.
//!
//! Invariant: short, and what the agent should do with it stands in it.

use epitome::PinList;
use epitome::controls::{
    AugmentChange, AugmentList, CompressionRequest, ContextStatus, GoalView, GoalsView,
    RecallAnswer, RecallHit,
};
use schemars::JsonSchema;
use serde::Serialize;

/// A snapshot that was made.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Snapped {
    /// The session.
    pub(crate) session: String,
    /// The snapshot's id.
    pub(crate) id: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Messages that it holds.
    pub(crate) messages: u32,
    /// Whose it is, where its client shows a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    /// The command with which a person goes back to it.
    #[serde(skip)]
    pub(crate) command: String,
}

/// An answer in words.
pub(crate) trait InWords {
    /// The words.
    fn words(&self) -> String;
}

impl InWords for CompressionRequest {
    fn words(&self) -> String {
        "Noted. With the next request the conversation is made smaller; `recall` brings back what \
         left it."
            .to_owned()
    }
}

impl InWords for AugmentChange {
    fn words(&self) -> String {
        let mut lines = Vec::new();
        for one in &self.loaded {
            lines.push(format!("Loaded {}: {}\n\n{}\n", one.name, one.title, one.text));
        }
        if !self.unloaded.is_empty() {
            lines.push(format!("Unloaded {}.", self.unloaded.join(", ")));
        }
        let kept = self.kept.iter().map(|one| format!("{} stays: {}.", one.name, one.because));
        lines.extend(kept);
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        lines.push(match self.active.as_slice() {
            [] => "Nothing is active.".to_owned(),
            active => format!("Active: {}.", active.join(", ")),
        });
        lines.join("\n")
    }
}

impl InWords for AugmentList {
    fn words(&self) -> String {
        let lines = self.augments.iter().map(|one| {
            let state = match (one.pinned, one.active) {
                (true, _) => " (always active)",
                (false, true) => " (active)",
                (false, false) => "",
            };
            format!("{}: {}{state}", one.name, one.title)
        });
        let mut lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            lines.push("There are none; they are files augments/GROUP/NAME.md.".to_owned());
        }
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        lines.join("\n")
    }
}

impl InWords for ContextStatus {
    fn words(&self) -> String {
        let used = format!(
            "{} of {} tokens ({} %)",
            self.window.used, self.window.limit, self.window.percent
        );
        let made = format!("{} saved, {} compressions", self.saved, self.compressions);
        let mut lines = vec![format!("{used}, {made}. {}", self.advice)];
        lines.extend(self.goal.iter().map(|goal| format!("goal: {goal}")));
        for (name, all) in [("augments", &self.augments), ("pinned", &self.pinned)] {
            lines.extend((!all.is_empty()).then(|| format!("{name}: {}", all.join(", "))));
        }
        lines.extend(self.asked.iter().map(|tool| format!("asked: {tool}, for the next request")));
        lines.extend(self.watermark.iter().map(|mark| {
            let at = mark.entry.as_deref().unwrap_or("a message that is not here any more");
            format!("watermark: {at}, {} blocks, {} tokens saved", mark.blocks, mark.saved)
        }));
        lines.extend(self.report.iter().map(|report| format!("\n{}", report.trim())));
        lines.join("\n")
    }
}

impl InWords for RecallAnswer {
    fn words(&self) -> String {
        let found = self.found.iter();
        let mut parts: Vec<_> =
            found.map(|one| format!("[{}]\n{}", head(one), one.text.trim_end())).collect();
        if parts.is_empty() {
            parts.push("Nothing found; try other words.".to_owned());
        }
        parts.extend(self.more.iter().map(|more| format!("({more})")));
        parts.join("\n\n")
    }
}

/// What stands before a passage: its id and source, who said it when, and what it was found by where
/// that is not the one query.
fn head(hit: &RecallHit) -> String {
    let mut parts = vec![format!("{} {}", hit.id, hit.source)];
    parts.extend(hit.origin.beyond(&hit.source));
    parts.extend(hit.through.iter().map(|word| format!("through {word}")));
    parts.extend((!hit.queries.is_empty()).then(|| format!("for: {}", hit.queries.join("; "))));
    parts.join("; ")
}

impl InWords for Snapped {
    fn words(&self) -> String {
        let of = self.tenant.iter().map(|name| format!(" with `EPITOME_TENANT={name}` set"));
        format!(
            "Snapshot {} of {} messages; the user goes back to it with `{}`{}.",
            self.id,
            self.messages,
            self.command,
            of.collect::<String>()
        )
    }
}

impl InWords for GoalsView {
    fn words(&self) -> String {
        let mut parts: Vec<_> = self.goals.iter().map(goal).collect();
        if parts.is_empty() {
            parts.push("No goal is set.".to_owned());
        }
        parts.extend(self.decisions.iter().map(|one| format!("decided: {one}")));
        parts.join("\n")
    }
}

fn goal(goal: &GoalView) -> String {
    let head = format!("{} ({}, {}): {}", goal.id, goal.status, goal.priority, goal.text);
    let objective = goal.objective.iter().map(|text| ("first asked", text));
    let milestones = goal.milestones.iter().map(|text| ("milestone", text));
    let decisions = goal.decisions.iter().map(|text| ("decided", text));
    let next = goal.next.iter().map(|text| ("next", text));
    let all = objective.chain(milestones).chain(decisions).chain(next);
    let lines = all.map(|(name, text)| format!("  {name}: {text}"));
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

impl InWords for PinList {
    fn words(&self) -> String {
        match self.pinned.as_slice() {
            [] => "Nothing is pinned by hand.".to_owned(),
            pinned => format!("Pinned by hand: {}.", pinned.join(", ")),
        }
    }
}
