//! Whole conversations that the tests of a policy play: what a test says of one, and what it is told.
//!
//! Invariant: declared once, as jobs and answers are; stubs and reference follow from it. Sizes are
//! tokens.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::shape::{HasShape, ValueShape, table};

/// A value that an option is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlayOption {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<PlayOption>),
    /// Values by name.
    Table(BTreeMap<String, PlayOption>),
}

impl HasShape for PlayOption {
    const SHAPE: ValueShape = ValueShape::Any;
}

table! {
    /// How a conversation is played.
    #[derive(Default, Deserialize, PartialEq)]
    pub struct PlaySettings {
        /// The largest prompt that the provider accepts, in tokens. Without it and `context_size` it
        /// is what the profile states, or else so little that the conversation must be compressed.
        pub prompt_limit: Option<u64>,
        /// The context size that is chosen, in tokens.
        pub context_size: Option<u64>,
        /// The mode that policies are told of.
        pub mode: Option<String>,
        /// Options of this policy, by name.
        pub options: Option<BTreeMap<String, PlayOption>>,
        /// Patterns of what must stay, as `keep` of a profile has them.
        pub keep: Option<Vec<String>>,
    }
}

table! {
    /// What came of a conversation that was played.
    #[derive(Default, PartialEq)]
    pub struct PlayedConversation {
        /// Requests.
        pub turns: u64,
        /// Compressions.
        pub compressions: u64,
        /// What the prompts cost, as a share of what those of the profile `none` cost in the same
        /// window, where a prompt is made smaller only when it no longer fits.
        pub cost: f64,
        /// The limit that the last request was held to.
        pub limit: u64,
        /// The largest prompt; no more than `limit` unless that was guessed.
        pub largest: u64,
        /// The share of the facts that must be kept which the last prompt still holds, 0 to 1.
        pub kept: f64,
        /// The facts that it holds no longer, those that `keep` names and what people ordered first.
        pub lost: Vec<String>,
        /// Plans that were not made, so that a policy behind decided: `turn 7: why`.
        pub discarded: Vec<String>,
        /// Hooks that failed, and requests that could not be sent: `turn 7: why`.
        pub errors: Vec<String>,
        /// Answers that were held to a bound: `turn 7: which`.
        pub bounded: Vec<String>,
        /// Questions that models were asked.
        pub asked: u64,
        /// The last prompt, as it was sent.
        pub prompt: String,
    }
}
