//! Why no compression was applied.
//!
//! Invariant: plain data; told by events, and recorded where somebody had asked for one.

use serde::{Deserialize, Serialize};

/// Why no compression was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The prompt is within its bounds.
    NotNeeded,
    /// What could leave is pinned or held.
    NothingToCompress,
    /// It would not be smaller.
    NotSmaller,
    /// It would free too little.
    Stalled,
    /// It would cost more than it saves.
    NotWorth,
    /// The profile forbids it.
    Disabled,
}

impl SkipReason {
    /// The reason in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NotNeeded => "within its bounds",
            Self::NothingToCompress => "what could leave is pinned or held",
            Self::NotSmaller => "it would not be smaller",
            Self::Stalled => "it would free too little",
            Self::NotWorth => "it would cost more than it saves",
            Self::Disabled => "the profile forbids it",
        }
    }
}
