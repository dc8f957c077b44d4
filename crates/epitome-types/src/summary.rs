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
}

/// A piece of text that left the prompt and can be found again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The entry it comes from.
    pub entry: EntryId,
    /// The text.
    pub text: String,
}
