//! What a provider says that a request was made of.
//!
//! Invariant: the provider's own count, in its own tokens; nothing here is estimated.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// What a provider counted for one request, or for several together. The three kinds of input
/// overlap nowhere: together they are the whole prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens of the prompt that were neither read from a cache nor written to one.
    pub input: u64,
    /// Tokens of the prompt that were read from the provider's cache.
    pub cache_read: u64,
    /// Tokens of the prompt that were written to the provider's cache.
    pub cache_written: u64,
    /// Tokens of the answer.
    pub output: u64,
}

impl TokenUsage {
    /// Tokens of the whole prompt.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_written)
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        let pairs = [
            (&mut self.input, other.input),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_written, other.cache_written),
            (&mut self.output, other.output),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}
