//! A summary that stands for entries.

use serde::{Deserialize, Serialize};

use crate::{ContentId, EntryId};

/// How much of its original a checkpoint still holds (SPEC 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Several checkpoints together, the essential context only.
    Merged,
    /// Critical information.
    Compact,
    /// Main points.
    Moderate,
    /// New: decisions, snippets, detail.
    Detailed,
}

/// A summary that stands in the prompt for the entries it covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The address of what it stands for: the original of its one entry, or a list of the
    /// originals with their addresses, a line each.
    pub id: ContentId,
    /// The entries it stands for, oldest first; pinned entries between them stay where they are.
    pub covers: Vec<EntryId>,
    /// What the model reads, label included.
    pub text: String,
    /// How detailed it is.
    pub level: Level,
}

impl Level {
    /// The level as users know it: 3, 2, 1, and 0 for merged.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The level of a number.
    pub fn of_number(number: u8) -> Option<Self> {
        [Self::Merged, Self::Compact, Self::Moderate, Self::Detailed]
            .into_iter()
            .find(|level| level.number() == number)
    }
}
