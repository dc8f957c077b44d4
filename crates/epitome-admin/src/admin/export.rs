//! A session as a file.
//!
//! Invariant: nothing that was said is left out, whatever was compressed; what was erased is a
//! tombstone. An answer that nobody went on from is the last message.

use epitome_types::Entry;
use epitome_wire::export::{ExportedCheckpoint, ExportedSession, json, markdown, ollm};

use super::{CheckpointInfo, SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::records::imported_compressions;

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
        self.written(&self.history(Some(name))?, written)
    }

    /// Writes a session for its model, as Markdown: of a result that a mask stands for it says the
    /// mask.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::export`].
    pub fn export_for_models(&self, name: &str) -> Result<String, AdminError> {
        let history = self.history(Some(name))?;
        self.of_entries(&history, &self.for_models(&history)?, ExportFormat::Markdown)
    }

    /// Writes a session on one of its ways, by the number or the id of that.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::export`] and [`SessionAdmin::branch`].
    pub fn export_branch(
        &self,
        name: &str,
        branch: &str,
        written: ExportFormat,
    ) -> Result<String, AdminError> {
        self.written(&self.branch(name, branch)?, written)
    }

    fn written(
        &self,
        history: &SessionHistory,
        written: ExportFormat,
    ) -> Result<String, AdminError> {
        let entries = history.entries_and_answer(&*self.journal, &self.scope)?;
        self.of_entries(history, &entries, written)
    }

    fn of_entries(
        &self,
        history: &SessionHistory,
        entries: &[Entry],
        written: ExportFormat,
    ) -> Result<String, AdminError> {
        let checkpoints: Vec<_> =
            self.checkpoints_of(history)?.into_iter().map(ExportedCheckpoint::from).collect();
        let info = &history.info;
        let imported = imported_compressions(&self.acts_in_force(&info.name)?);
        let session = ExportedSession {
            id: &info.name,
            started: &info.started,
            last: &info.last,
            model: info.model.as_deref(),
            provider: &info.format,
            tokens: info.figures.tokens[0],
            compressions: history.compressions() + imported.unwrap_or_default(),
            entries,
            checkpoints: &checkpoints,
        };
        Ok(match written {
            ExportFormat::Markdown => markdown(&session),
            ExportFormat::Json => json(&session),
            ExportFormat::Ollm => ollm(&session),
        })
    }
}

impl From<CheckpointInfo> for ExportedCheckpoint {
    fn from(one: CheckpointInfo) -> Self {
        Self {
            id: one.id,
            level: one.level,
            number: one.number,
            first: one.covers.first,
            last: one.covers.last,
            messages: one.covers.messages,
            original: one.tokens.original,
            tokens: one.tokens.now,
            created: one.created,
            model: one.model,
            text: one.text,
        }
    }
}
