//! What a model of deletions is trained on: the units of a sentence as the model will see them.
//!
//! Invariant: these are the units and features of `shorten`. Called by the chore that trains.

use std::ops::Range;

use super::token::tokens;
use super::unit::{DeletionKind, features, units};

/// A part of a sentence that could go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionCandidate {
    /// What it is.
    pub kind: DeletionKind,
    /// Where it stands in the sentence, its marks among it.
    pub range: Range<usize>,
    /// What the model sees of it.
    pub features: Vec<String>,
}

/// The parts of a sentence that could go.
#[must_use]
pub fn deletion_candidates(sentence: &str) -> Vec<DeletionCandidate> {
    let tokens = tokens(sentence);
    let one = |unit: super::unit::RemovableUnit| {
        let (first, last) = (&tokens[*unit.tokens.start()], &tokens[*unit.tokens.end()]);
        let mut found = Vec::new();
        features(&tokens, &unit, &mut |name, parts| found.push(named(unit.kind, name, parts)));
        DeletionCandidate {
            kind: unit.kind,
            range: first.range.start..last.range.end,
            features: found,
        }
    };
    units(&tokens).into_iter().map(one).collect()
}

/// A feature as the table of weights has it.
fn named(kind: DeletionKind, name: &str, [one, other]: [&str; 2]) -> String {
    let joint = if other.is_empty() { "" } else { "_" };
    format!("{} {name}={one}{joint}{other}", kind.name())
}
