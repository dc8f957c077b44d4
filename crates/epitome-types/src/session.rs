//! What people are told about sessions and snapshots.
//!
//! Invariant: plain data, derived from the journal; the name of a session is a label.

use serde::{Deserialize, Serialize};

use crate::{CompactionId, HistoryHash, TokenUsage};

/// A session of the journal, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its name.
    pub name: String,
    /// The beginning of the first text that a person typed.
    pub title: String,
    /// The format that its messages are recorded in.
    pub format: String,
    /// The model last asked for.
    pub model: Option<String>,
    /// When its first message was recorded, ISO 8601.
    pub started: String,
    /// When its last one was.
    pub last: String,
    /// What was sent of it, in figures.
    #[serde(flatten)]
    pub figures: SessionFigures,
    /// Whether it is in the trash.
    pub trashed: bool,
    /// Its newest message, as the history that ends with it.
    #[serde(skip)]
    pub head: HistoryHash,
    /// The id that its client gave it.
    #[serde(skip)]
    pub label: Option<String>,
}

/// A way through the history of a session, from its beginning to where nobody went on from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBranch {
    /// The history that it is.
    pub head: HistoryHash,
    /// How many messages it has.
    pub messages: u32,
    /// How many of these, the first ones, the session holds where it stands.
    pub shared: u32,
}

/// What was sent of a session, in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Messages on the way to its newest one.
    pub messages: u32,
    /// Compressions that are not taken back.
    pub compressions: u32,
    /// Requests that were made.
    pub turns: u64,
    /// Tokens of the newest prompt: as it came, and as it was sent.
    pub tokens: [u64; 2],
    /// Tokens of all prompts together: as they came, and as they were sent.
    pub total: [u64; 2],
    /// The limit that its newest prompt was held to, in tokens.
    pub limit: u64,
    /// Answers that came back.
    pub answers: u64,
    /// What the provider counted for them, in its own tokens.
    pub usage: TokenUsage,
}

/// What a snapshot is for (RULES 55).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotPurpose {
    /// Made by hand.
    Recovery,
    /// Made before a compression.
    Rollback,
    /// Made before the emergency ladder.
    Emergency,
}

/// The state of a session at a moment: its history up to a message, and the epoch in force. Never
/// in a prompt, never changed (RULES 24).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Its id, a hash over the rest.
    pub id: String,
    /// The session.
    pub session: String,
    /// The name it was given by hand.
    pub name: Option<String>,
    /// What it is for.
    pub purpose: SnapshotPurpose,
    /// When it was made, ISO 8601.
    pub at: String,
    /// How large its prompt was.
    #[serde(flatten)]
    pub size: SnapshotSize,
    /// The model asked for.
    pub model: Option<String>,
    /// The profile.
    pub profile: String,
    /// The history up to its newest message.
    #[serde(skip)]
    pub head: HistoryHash,
    /// The epoch in force.
    #[serde(skip)]
    pub epoch: Option<CompactionId>,
}

/// How large the prompt of a snapshot was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotSize {
    /// Messages.
    pub messages: u32,
    /// Checkpoints in the prompt.
    pub checkpoints: u32,
    /// Tokens of the prompt: as it came, and as it was sent.
    pub tokens: [u64; 2],
    /// The limit it was held to, in tokens.
    pub limit: u64,
}
