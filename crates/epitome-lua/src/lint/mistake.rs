//! A mistake in a policy, and where it stands.

use std::fmt;

use super::code::{Code, CodePlace};

/// A mistake, before its file has a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mistake {
    pub(super) at: CodePlace,
    pub(super) what: String,
}

/// A mistake in the text of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyMistake {
    /// The file, as in `policy.lua` or `lib/sizes.lua`.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong, what was expected, and the nearest name that there is.
    pub what: String,
}

impl fmt::Display for PolicyMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Mistakes with the names of their files, each once, in the order of places.
pub(super) fn named(code: &Code, mut mistakes: Vec<Mistake>) -> Vec<PolicyMistake> {
    mistakes.sort();
    mistakes.dedup();
    let one = |Mistake { at, what }| PolicyMistake {
        file: code.files[at.file].chunk.clone(),
        line: at.line,
        what,
    };
    mistakes.into_iter().map(one).collect()
}
