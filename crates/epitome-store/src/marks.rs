//! What marks do, wherever they are kept.
//!
//! Invariant: pure. Called by both stores.

use epitome_kernel::StoreError;
use epitome_kernel::types::{ContentId, EntryKey};

/// Why an epoch cannot be taken back (`undone`), or done again.
pub(crate) fn nothing(epoch: ContentId, known: bool, undone: bool) -> StoreError {
    let epoch = epoch.short();
    let what = match (known, undone) {
        (false, _) => format!("there is no epoch {epoch}"),
        (true, true) => format!("the epoch {epoch} is taken back already"),
        (true, false) => format!("the epoch {epoch} is not taken back"),
    };
    StoreError::NothingToMark { what }
}

/// Why an entry cannot be unpinned.
pub(crate) fn unpinned(key: EntryKey) -> StoreError {
    StoreError::NothingToMark { what: format!("the entry {} is not pinned", key.short()) }
}

/// Takes over that an entry was pinned, or unpinned.
pub(crate) fn pin(pins: &mut Vec<EntryKey>, key: EntryKey, pinned: bool) {
    pins.retain(|other| *other != key);
    if pinned {
        pins.push(key);
    }
}
