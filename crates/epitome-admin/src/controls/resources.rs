//! What can be read of a session as a document: its ledger and what was said.
//!
//! Invariant: derived from the journal each time, and bounded; what does not fit is counted.

use epitome_extract::WorkLedger;
use epitome_wire::export::{self, markdown};

use super::SessionControls;
use crate::error::AdminError;

impl SessionControls {
    /// What the people of a session asked for and what became of it.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`].
    pub fn ledger(&self, session: Option<&str>) -> Result<WorkLedger, AdminError> {
        let addressed = self.addressed(session)?;
        let entries = addressed.entries(&addressed.history()?)?;
        Ok(WorkLedger::of(&entries.iter().collect::<Vec<_>>()))
    }

    /// What was said last in a session, for people, in about so many bytes at most, whatever was
    /// compressed.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`].
    pub fn transcript(&self, session: Option<&str>, most: usize) -> Result<String, AdminError> {
        let addressed = self.addressed(session)?;
        let history = addressed.history()?;
        let (entries, info) = (addressed.entries(&history)?, addressed.info);
        let mut room = most;
        let fits = entries.iter().rev().take_while(|entry| {
            let fits = entry.bytes as usize <= room;
            room = room.saturating_sub(entry.bytes as usize);
            fits
        });
        let from = entries.len() - fits.count();
        let text = markdown(&export::ExportedSession {
            id: &info.name,
            started: &info.started,
            last: &info.last,
            model: info.model.as_deref(),
            provider: &info.format,
            tokens: info.figures.tokens[0],
            compressions: history.compressions(),
            entries: &entries[from..],
            checkpoints: &[],
        });
        Ok(match from {
            0 => text,
            from => format!(
                "The first {from} messages are left out here; `epitome session export {}` writes \
                 all of them.\n\n{text}",
                info.name
            ),
        })
    }
}
