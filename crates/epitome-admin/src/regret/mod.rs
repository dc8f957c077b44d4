//! Regret: text that left in a compression and was fetched again.
//!
//! Invariant: a text that leaves counts for the compression that took it out first, and comes again at
//! most once for that. A call of the same whose result changed meanwhile is a refresh, and no regret.
//! One walk over the messages of a history; asked for reports, never on the way of a request.

mod known;
mod lines;
#[cfg(test)]
mod tests;
mod walk;

use epitome_types::{Compaction, CompactionId};
use serde::{Deserialize, Serialize};

#[cfg(feature = "experiments")]
pub(crate) use self::walk::is_recall;
pub(crate) use self::walk::regrets;

/// Text that comes again within so many turns of the model is counted by metrics: later on the work has
/// moved, and an agent looks again at things that are still there too.
pub const REGRET_TURNS: u32 = 10;

/// Where on a history a compression took hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvictionPlace<'h> {
    /// The compression.
    pub(crate) compaction: &'h Compaction,
    /// The place of the first message that it rewrites.
    pub(crate) start: usize,
    /// The number of messages in the prompt that it was made for.
    pub(crate) made: usize,
    /// The place of the message from which on it no longer holds, where it was taken back.
    pub(crate) until: Option<usize>,
}

/// Excerpts that a policy had brought back, which stand in no message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BroughtBack<'h> {
    /// The place of the message that they came back with.
    pub(crate) place: usize,
    /// The excerpts.
    pub(crate) text: &'h str,
}

/// What left in a compression, and what of it was fetched again.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionRegret {
    /// The compression.
    pub compaction: CompactionId,
    /// The texts that left with it: messages and results of tools.
    pub left: u64,
    /// Their tokens.
    pub left_tokens: u64,
    /// Calls that had the same asked again, and brought something else since it changed.
    pub refreshed: u64,
    /// The texts of them that were fetched again, in that order.
    pub again: Vec<FetchedText>,
}

/// A text that left and was fetched again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FetchedText {
    /// The place of the message that it was in.
    pub entry: usize,
    /// The place of the message that brought it again.
    pub by: usize,
    /// What it is: `read_file src/main.rs`.
    pub name: String,
    /// Whether it was recalled, and not had from where it came from.
    pub recalled: bool,
    /// Tokens of it that came again.
    pub tokens: u64,
    /// Turns of the model since it left.
    pub turns: u32,
}

/// Regret in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegretCounts {
    /// Texts that left.
    pub left: u64,
    /// Their tokens.
    pub left_tokens: u64,
    /// Those of the texts that were fetched again.
    pub again: u64,
    /// Tokens of them that came again.
    pub again_tokens: u64,
    /// Those of them that were recalled.
    pub again_recalled: u64,
    /// Calls for the same that brought something else.
    pub refreshed: u64,
}

impl CompactionRegret {
    /// Its figures: of what came again within so many turns.
    #[must_use]
    pub fn counts(&self, within: u32) -> RegretCounts {
        let mut counts = RegretCounts {
            left: self.left,
            left_tokens: self.left_tokens,
            refreshed: self.refreshed,
            ..RegretCounts::default()
        };
        for fetched in self.again.iter().filter(|it| it.turns <= within) {
            counts.again += 1;
            counts.again_tokens += fetched.tokens;
            counts.again_recalled += u64::from(fetched.recalled);
        }
        counts
    }
}

impl std::ops::AddAssign for RegretCounts {
    fn add_assign(&mut self, other: Self) {
        self.left += other.left;
        self.left_tokens += other.left_tokens;
        self.again += other.again;
        self.again_tokens += other.again_tokens;
        self.again_recalled += other.again_recalled;
        self.refreshed += other.refreshed;
    }
}
