//! What a model may read again of what was said.
//!
//! Invariant: of a result that a mask stood for when it came, no road back to a model says more than
//! the mask. Used by everything that writes a history for one, and by the search.

use epitome_kernel::{StoreError, rewrite};
use epitome_store::SessionArchive;
use epitome_types::{Entry, EntryKey, PartId, ReplaceMethod};

use super::{SessionAdmin, SessionHistory};

impl SessionAdmin {
    /// What was said and what was answered to it, with the masks of what may not be said again.
    pub(crate) fn for_models(&self, history: &SessionHistory) -> Result<Vec<Entry>, StoreError> {
        let mut entries = history.entries_and_answer(&*self.journal, &self.scope)?;
        self.mask(&history.info.name, history.keys(), &mut entries)?;
        Ok(entries)
    }

    /// Puts the masks in their places in messages of a session that go by these keys.
    pub(super) fn mask(
        &self,
        session: &str,
        keys: &[EntryKey],
        entries: &mut [Entry],
    ) -> Result<(), StoreError> {
        mask_results(&*self.journal, [&self.scope, session], keys, entries)
    }
}

/// Puts the masks of a session, which is named by its scope and name, in their places in messages of it that
/// go by these keys.
///
/// # Errors
///
/// When the store cannot be read.
pub fn mask_results(
    archive: &dyn SessionArchive,
    [scope, session]: [&str; 2],
    keys: &[EntryKey],
    entries: &mut [Entry],
) -> Result<(), StoreError> {
    let rewrites = archive.rewrites(scope, session, keys)?;
    for mask in rewrites.iter().filter(|rewrite| rewrite.how == ReplaceMethod::Mask) {
        let said = keys.iter().zip(&mut *entries).filter(|(key, _)| **key == mask.key);
        said.for_each(|(_, entry)| {
            rewrite(entry, PartId { entry: entry.id, part: mask.part }, &mask.with);
        });
    }
    Ok(())
}
