//! A session as a file.
//!
//! Invariant: nothing that was said is left out, whatever was compressed; what was erased is a
//! tombstone. An answer that nobody went on from is the last message.

use epitome_wire::export::{ExportedSession, json, markdown, ollm};

use super::SessionAdmin;
use crate::error::AdminError;

/// What a session is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// For people.
    Markdown,
    /// All of it, in the form of [`ExportFormat::Ollm`].
    Json,
    /// A session file of OLLM (RULES 34).
    Ollm,
}

impl SessionAdmin {
    /// Writes a session.
    ///
    /// # Errors
    ///
    /// When there is no such session, or the journal cannot be read.
    pub fn export(&self, name: &str, written: ExportFormat) -> Result<String, AdminError> {
        let history = self.history(Some(name))?;
        let entries = history.entries_and_answer(&*self.journal, &self.scope)?;
        let info = &history.info;
        let session = ExportedSession {
            id: &info.name,
            started: &info.started,
            last: &info.last,
            model: info.model.as_deref(),
            provider: &info.format,
            tokens: info.figures.tokens[0],
            compressions: history.compressions(),
            entries: &entries,
        };
        Ok(match written {
            ExportFormat::Markdown => markdown(&session),
            ExportFormat::Json => json(&session),
            ExportFormat::Ollm => ollm(&session),
        })
    }
}
