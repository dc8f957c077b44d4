//! A session as a file.
//!
//! Invariant: nothing that was said is left out, whatever was compressed; what was erased is a
//! tombstone. An answer that nobody went on from is the last message.

use epitome_wire::export::{Session, json, markdown, ollm};

use super::Keeper;
use crate::Error;

/// What a session is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// For people.
    Markdown,
    /// All of it, in the form of [`Written::Ollm`].
    Json,
    /// A session file of OLLM (RULES 34).
    Ollm,
}

impl Keeper {
    /// Writes a session.
    ///
    /// # Errors
    ///
    /// When there is no such session, or the journal cannot be read.
    pub fn export(&self, name: &str, written: Written) -> Result<String, Error> {
        let history = self.history(Some(name))?;
        let entries = history.entries_and_answer(&*self.journal, &self.scope)?;
        let info = &history.info;
        let session = Session {
            id: &info.name,
            started: &info.started,
            last: &info.last,
            model: info.model.as_deref(),
            provider: &info.format,
            tokens: info.tokens[0],
            compressions: history.compressions(),
            entries: &entries,
        };
        Ok(match written {
            Written::Markdown => markdown(&session),
            Written::Json => json(&session),
            Written::Ollm => ollm(&session),
        })
    }
}
