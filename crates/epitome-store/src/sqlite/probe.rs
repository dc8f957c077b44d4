//! Whether the store on disk can be written by now.
//!
//! Invariant: nothing that is kept changes, and nobody waits: neither for another process nor for
//! records that are being written. Called by [`crate::FallbackStore`] during an outage.

use super::{SqliteStore, file, schema};

/// As much as a request with large results records, in bytes: with less room the next one would fail
/// again.
const ROOM: usize = 1 << 20;

impl SqliteStore {
    /// Whether it takes records again: there is room beside it, and a page of it can be written.
    pub(crate) fn takes_more(&self) -> bool {
        if self.presence.check(&self.path).is_err() {
            return false;
        }
        if file::has_room(&file::beside(&self.path, "-room"), ROOM).is_err() {
            return false;
        }
        // Else somebody writes, or waits to.
        let Some(mut link) = self.link.try_lock() else { return false };
        // Whoever has it next waits as long as it should again.
        link.be_patient(0);
        schema::touch(&link.connection).is_ok()
    }
}
