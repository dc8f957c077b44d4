//! What the model said it did, does, will do and will not do.
//!
//! Invariant: only text that the model wrote is read, and only its newest clear statements count.
//! Called by [`super::Ledger::of`].

use epitome_kernel::types::Entry;
use serde::{Deserialize, Serialize};

use super::{Answers, Language};

/// Something that was decided against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rejected {
    /// What.
    pub what: String,
    /// Why, where the model said so.
    pub reason: Option<String>,
}

#[derive(Default)]
pub(super) struct Said {
    pub(super) done: Vec<String>,
    pub(super) in_progress: Vec<String>,
    pub(super) next: Vec<String>,
    pub(super) rejected: Vec<Rejected>,
}

pub(super) fn said(_entries: &[&Entry], _language: Language) -> Said {
    Said::default()
}

pub(super) fn awaiting(_entries: &[&Entry], _answers: &Answers<'_>) -> Option<String> {
    None
}
