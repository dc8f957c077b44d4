//! A turn as it is written down: its request, and what was answered to each of its effects.
//!
//! Invariant: what an effect is about is kept as a digest, so that a record holds nothing of the
//! conversation but the request and what the answers say.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tape::{HookDecision, RecordedStep, TapeFault, decision};

/// A turn, as far as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The version of this form.
    pub version: u32,
    /// The name of the session, where the host gave it one.
    pub session: Option<String>,
    /// The request.
    pub request: String,
    /// The answers, in the order in which the effects came up.
    pub steps: Vec<RecordedStep>,
}

impl TurnRecord {
    /// The version that this program writes, and the only one that it reads: effects are those of the
    /// code that asked for them.
    pub const VERSION: u32 = 1;

    /// What policies decided, hook by hook, in the order in which they were asked.
    pub fn decisions(&self) -> impl Iterator<Item = HookDecision> {
        self.steps.iter().filter_map(decision)
    }
}

/// Why a turn does not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The record is of another version.
    #[error("the record of the turn has version {found}, this program reads {known}; make it anew")]
    Version {
        /// The record's.
        found: u32,
        /// This program's.
        known: u32,
    },
    /// Its answers are not those of this turn.
    #[error(transparent)]
    Tape(#[from] TapeFault),
    /// Somebody outside answers later, and the turn was driven without waiting.
    #[error("the turn waits for somebody outside; drive it with `SteppedTurn::run` on a runtime")]
    Waits,
    /// The turn itself failed.
    #[error(transparent)]
    Turn(Box<Error>),
}
