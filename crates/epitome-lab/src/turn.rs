//! What one request of a replay became.
//!
//! Invariant: the keys are those that the command line promises for `replay --json`.

use epitome::types::{Event, EventKind, FactReport, Role, TokenBreakdown};
use serde::Serialize;

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayTurn {
    /// Its number, counted from 1.
    pub turn: usize,
    /// The role of its last message.
    pub role: Role,
    /// Tokens as it came.
    pub tokens_raw: u64,
    /// Tokens as it was sent; 0 for one that was refused.
    pub tokens_sent: u64,
    /// The limit it was held to, in tokens.
    pub limit: u64,
    /// The share of the previous prompt's bytes, up to the end of its messages, that this one
    /// starts with; 1 for the first.
    pub prefix_kept: f64,
    /// `b3:` and the BLAKE3 hash of the bytes that were sent.
    pub prompt: Option<String>,
    /// The status line, where a policy writes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What happened on the way.
    pub events: Vec<Event>,
    /// Which must-keep facts of the request this prompt still holds, and the others, where somebody
    /// asked: see [`Replay::must_keep`](crate::Replay::must_keep).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_keep: Option<FactReport>,
    /// Why nothing could be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The tokens of what was sent by category, for a live view.
    #[serde(skip)]
    pub by: TokenBreakdown,
}

impl ReplayTurn {
    /// Whether a compression was applied, or another one than before is in force.
    pub fn has_new_epoch(&self) -> bool {
        let changes = |event: &Event| {
            matches!(event.what, EventKind::Compressed { .. } | EventKind::CompactionChanged { .. })
        };
        self.events.iter().any(changes)
    }
}
