//! What marks do, wherever they are kept.
//!
//! Invariant: pure. Called by both stores.

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash};
use epitome_kernel::{MessageRecord, StoreError};
use rustc_hash::FxHashSet;

/// The way to a place in the history of a session.
pub(crate) struct Way {
    places: FxHashSet<HistoryHash>,
    /// When the last message on it was said.
    until: Option<String>,
    /// Whether it leads to what the session has come to.
    pub(crate) is_whole: bool,
}

impl Way {
    /// The way that these messages make.
    pub(crate) fn of(said: &[MessageRecord], is_whole: bool) -> Self {
        let places = said.iter().map(|said| said.chain).chain([HistoryHash::default()]).collect();
        let until = said.last().and_then(|said| said.at.clone());
        Self { places, until, is_whole }
    }

    /// Whether something had been done by its end. Older versions recorded only the time of it.
    pub(crate) fn had(&self, place: Option<HistoryHash>, at: &str) -> bool {
        match place {
            Some(place) => self.places.contains(&place),
            None => self.is_whole || self.until.as_deref().is_some_and(|until| at <= until),
        }
    }
}

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
