//! A summary that stands for entries.

use serde::{Deserialize, Serialize};

use crate::{ContentId, EntryId, Role};

/// How much of its original a checkpoint still holds (RULES 22).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointLevel {
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
    pub level: CheckpointLevel,
    /// Where it stands, and who says it.
    #[serde(default, skip_serializing_if = "CheckpointPlacement::is_default")]
    pub stand: CheckpointPlacement,
    /// The model that wrote it; none where it was written without one (RULES 22).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Where a checkpoint stands in the prompt, and who says it (RULES 11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointPlacement {
    /// Whether it stands after the system prompt, with the others, oldest first; otherwise where
    /// its last covered entry stood.
    pub front: bool,
    /// Whether the assistant says it, where the provider takes that; otherwise the user.
    pub assistant: bool,
}

impl CheckpointPlacement {
    /// Whether it is where it is unless told otherwise.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The role of its message.
    pub fn role(self) -> Role {
        if self.assistant { Role::Assistant } else { Role::User }
    }
}

impl CheckpointLevel {
    /// The level as users know it: 3, 2, 1, and 0 for merged.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The level of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Merged, Self::Compact, Self::Moderate, Self::Detailed]
            .into_iter()
            .find(|level| level.number() == number)
    }
}
