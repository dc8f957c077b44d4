//! Entries that no compression touches, by hand (RULES 58).
//!
//! Invariant: all names are known before the first entry is marked.

use epitome_kernel::StoreError;
use epitome_types::{EntryId, EntryKey, JournalMark};
use serde::Serialize;

use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;

/// What is pinned of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinList {
    /// The session.
    pub session: String,
    /// All entries that are pinned by hand now, by their places.
    pub pinned: Vec<String>,
    /// The compressions that no longer apply, since they took out what is pinned now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

impl SessionAdmin {
    /// Pins entries of a session, named by their places or the beginnings of their keys, or takes
    /// pins out.
    ///
    /// # Errors
    ///
    /// When there is no such session or entry, for taking out a pin that is not there, or when the
    /// journal cannot be written.
    pub fn pin(
        &self,
        session: Option<&str>,
        names: &[String],
        mark: fn(EntryKey) -> JournalMark,
        at: &str,
    ) -> Result<PinList, AdminError> {
        let history = self.history(session)?;
        let session = history.info.name.clone();
        let applied = |history: &SessionHistory| {
            history.way_to(history.in_force().map(|compaction| compaction.id))
        };
        let before = applied(&history);
        let found = names.iter().map(|name| history.entry(name)).collect::<Result<Vec<_>, _>>()?;
        for (entry, key) in found {
            let marked = self.journal.record_mark(&self.scope, &session, &mark(key), at);
            marked.map_err(|error| match error {
                StoreError::NothingToMark { .. } => {
                    AdminError::NotPinned { entry: entry.to_string(), session: session.clone() }
                }
                error => error.into(),
            })?;
        }
        let history = self.history(Some(&session))?;
        let after = applied(&history);
        let left = before.iter().filter(|id| !after.contains(id)).map(|id| id.short()).collect();
        let pinned = history.pinned().iter().map(EntryId::to_string).collect();
        Ok(PinList { session, pinned, left })
    }
}
