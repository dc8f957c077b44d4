//! Shortens prose: deletes what a sentence does without, as a model learned it.
//!
//! Invariant: negations, modal verbs, numbers, names, code and what is quoted stay, prepositions with
//! what they govern, and the order of the words. Sentences that are not English stay whole. Called by
//! `summary`.

mod lists;
mod model;
mod shorten;
mod token;
mod train;
mod unit;

#[cfg(test)]
mod tests;

pub(crate) use shorten::shorten;
pub use train::{DeletionCandidate, deletion_candidates};
pub use unit::DeletionKind;
