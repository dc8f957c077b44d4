//! Taking compressions back, and doing them again.
//!
//! Invariant: both are records of the journal; the view follows from them with the next request,
//! in this process and in every other (RULES 62).

use std::fmt;
use std::sync::Arc;

use epitome_kernel::{CompactionLineage, CompactionSet, StoreError};

use epitome_store::SessionArchive;
use epitome_types::{CompactionId, EntryKey, JournalMark, PlacedMark};

use crate::error::AdminError;

/// So many messages are read at a time.
const PAGE: usize = 4096;

/// The compressions of a recorded session.
pub struct CompactionUndo {
    journal: Arc<dyn SessionArchive>,
    scope: String,
    session: String,
    keys: Vec<EntryKey>,
    lineage: CompactionLineage,
    pins: Vec<EntryKey>,
    marks: Vec<PlacedMark>,
}

impl fmt::Debug for CompactionUndo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, session, lineage, .. } = self;
        f.debug_struct("CompactionUndo")
            .field("scope", scope)
            .field("session", session)
            .field("lineage", lineage)
            .finish_non_exhaustive()
    }
}

impl CompactionUndo {
    /// Reads the compressions of a session.
    ///
    /// # Errors
    ///
    /// When there is no such session, or the journal cannot be read.
    pub fn of(
        journal: Arc<dyn SessionArchive>,
        scope: &str,
        session: &str,
    ) -> Result<Self, AdminError> {
        let info = journal.session(scope, session)?;
        let mut keys = Vec::with_capacity(info.figures.messages as usize);
        while keys.len() < info.figures.messages as usize {
            let page = journal.history(scope, &info.name, info.head, keys.len() as u32, PAGE)?;
            if page.is_empty() {
                break;
            }
            keys.extend(page.into_iter().map(|said| said.key));
        }
        let CompactionSet { recorded, pins, .. } = journal.compactions(scope, &info.name, &keys)?;
        let lineage = CompactionLineage::new(recorded);
        let marks = journal.marks(scope, &info.name)?;
        let (scope, session) = (scope.to_owned(), info.name);
        Ok(Self { journal, scope, session, keys, lineage, pins, marks })
    }

    /// The epoch in force.
    pub fn in_force(&self) -> Option<CompactionId> {
        self.lineage.furthest(&self.keys, &self.pins).map(|epoch| epoch.id)
    }

    /// Takes the last compression back. The next request is made from what stood before, and what
    /// it had touched is held.
    ///
    /// # Errors
    ///
    /// When there is none, or the journal cannot be written.
    pub fn undo(&self, at: &str) -> Result<CompactionId, AdminError> {
        let none = || self.nothing("has no compression to take back");
        let epoch = self.in_force().ok_or_else(none)?;
        self.journal.record_mark(&self.scope, &self.session, &JournalMark::Undo(epoch), at)?;
        Ok(epoch)
    }

    /// Takes the last undo back, and the hold with it.
    ///
    /// # Errors
    ///
    /// When there is none, or the journal cannot be written.
    pub fn redo(&self, at: &str) -> Result<CompactionId, AdminError> {
        let none = || self.nothing("has no undo to take back");
        let redoable = self.lineage.redoable(&self.keys, self.in_force());
        let epoch = taken_back_last(redoable, &self.marks).ok_or_else(none)?;
        self.journal.record_mark(&self.scope, &self.session, &JournalMark::Redo(epoch), at)?;
        Ok(epoch)
    }

    fn nothing(&self, what: &str) -> StoreError {
        StoreError::NothingToMark { what: format!("session `{}` {what}", self.session) }
    }
}

/// Returns the compression that was taken back last, of those that a redo may put in force again,
/// oldest first. One that was recorded earlier may be: going back to a snapshot puts it in force again.
/// Where no mark says so, as in a store that tells none, it is the one recorded last.
pub(crate) fn taken_back_last(
    redoable: Vec<CompactionId>,
    marks: &[PlacedMark],
) -> Option<CompactionId> {
    let place = |id: &CompactionId| marks.iter().rposition(|it| it.mark == JournalMark::Undo(*id));
    redoable.into_iter().max_by_key(place)
}
