//! Writes a conversation for people and for other programs (RULES 34, 55).
//!
//! Invariant: nothing is read but the one input, and nothing of it is cut. Called where a user
//! asks for a session as a file.

mod json;
mod markdown;

use epitome_types::Entry;

pub use json::{json, ollm};
pub use markdown::markdown;

/// A session to write: the facts of it and its conversation.
#[derive(Clone, Copy, Debug)]
pub struct ExportedSession<'a> {
    /// Its id.
    pub id: &'a str,
    /// When it began, ISO 8601.
    pub started: &'a str,
    /// When its last message was said, ISO 8601.
    pub last: &'a str,
    /// The model last asked for.
    pub model: Option<&'a str>,
    /// The provider: by its name where it is known, else by its format's.
    pub provider: &'a str,
    /// Tokens of the conversation.
    pub tokens: u64,
    /// How often it was compressed.
    pub compressions: u32,
    /// What was said, in order.
    pub entries: &'a [Entry],
    /// What stands in the prompt for what left of it, oldest first.
    pub checkpoints: &'a [ExportedCheckpoint],
}

/// A summary that stands in the prompt of a session.
#[derive(Clone, Debug, Default)]
pub struct ExportedCheckpoint {
    /// Its id.
    pub id: String,
    /// How detailed it is: 3, 2, 1, and 0 for merged.
    pub level: u8,
    /// The number of the compression that made it.
    pub number: u32,
    /// The first and the last of the entries that it stands for.
    pub first: String,
    /// The last of them.
    pub last: String,
    /// How many there are.
    pub messages: usize,
    /// Tokens of what it stands for.
    pub original: u64,
    /// Its own.
    pub tokens: u64,
    /// When it was made, ISO 8601.
    pub created: String,
    /// The model that wrote it, where one did.
    pub model: Option<String>,
    /// What the model of the session reads.
    pub text: String,
}

impl ExportedCheckpoint {
    /// The share of what it stands for that it takes.
    fn ratio(&self) -> f64 {
        (1000.0 * self.tokens as f64 / self.original.max(1) as f64).round() / 1000.0
    }
}

impl<'a> ExportedSession<'a> {
    /// When each entry was said: its own time, else that of the one before it, else the session's.
    fn times(&self) -> Vec<&'a str> {
        let times = self.entries.iter().scan(self.started, |time, entry| {
            *time = entry.at.as_deref().unwrap_or(time);
            Some(*time)
        });
        times.collect()
    }
}

#[cfg(test)]
mod tests;
