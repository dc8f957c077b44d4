//! What a summariser gives back.

use serde::{Deserialize, Serialize};

use crate::EntryId;

/// How a summary is worded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryStyle {
    /// Sentences, lines and rows as they were said.
    #[default]
    Verbatim,
    /// Shortened prose; negations, prepositions and numbers survive.
    Brief,
}

/// What a summary stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryKind {
    /// Entries that left the prompt: who said what is part of it.
    #[default]
    Checkpoint,
    /// The text of one part, in whose place it stands: nothing says who speaks.
    Digest,
}

/// A candidate for a checkpoint's text, or for a digest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The text, without the label of the checkpoint.
    pub text: String,
    /// What the summary leaves out, cut into pieces for the search index.
    pub left: Vec<Passage>,
    /// The model that wrote it; none where it was written without one.
    pub model: Option<String>,
    /// Where it comes to what stands behind a message that stays, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<SummaryTurn>,
}

/// Where the text of a summary passes a message that stays in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryTurn {
    /// The message: what a person typed last.
    pub entry: EntryId,
    /// Where in the text begins what stands behind it, in bytes.
    pub at: usize,
}

impl Summary {
    /// What it says of the entries before the message that it passes, and of those behind that;
    /// `None` where it passes none.
    pub fn sides(&self) -> Option<(EntryId, &str, &str)> {
        let SummaryTurn { entry, at } = self.turn?;
        let (before, behind) = self.text.split_at_checked(at)?;
        Some((entry, before.trim(), behind.trim()))
    }
}

/// A piece of text that left the prompt and can be found again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The entry it comes from.
    pub entry: EntryId,
    /// The text.
    pub text: String,
}
