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
