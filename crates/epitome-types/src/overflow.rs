//! What a provider says that refuses a prompt as too long.
//!
//! Invariant: the provider's own figures, in its own tokens; what it did not say is absent.

use serde::{Deserialize, Serialize};

/// A prompt that was refused because it does not fit the model's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextOverflow {
    /// The most that a request may take, in tokens.
    pub limit: Option<u64>,
    /// What this one takes, in tokens: the prompt, and where the provider adds it up, the room for
    /// the answer.
    pub size: Option<u64>,
}
