//! Whether the store on disk can be written by now.
//!
//! Invariant: nothing that is kept changes, and nobody waits: neither for another process nor for
//! records that are being written. Called by [`crate::FallbackStore`] during an outage.

use std::time::Duration;

use super::{Sqlite, file, schema};

/// As much as a request with large results records, in bytes: with less room the next one would fail
/// again.
const ROOM: usize = 1 << 20;

impl Sqlite {
    /// Whether it takes records again: there is room beside it, and a page of it can be written.
    pub(crate) fn takes_more(&self) -> bool {
        if file::has_room(&file::beside(&self.path, "-room"), ROOM).is_err() {
            return false;
        }
        // Else somebody writes, or waits to.
        let Some(link) = self.link.try_lock() else { return false };
        let connection = &link.connection;
        let patience = |wait| connection.busy_timeout(wait);
        let written = patience(Duration::ZERO).and_then(|()| schema::touch(connection));
        // Where this fails the next write waits for nobody, and says so.
        drop(patience(schema::PATIENCE));
        written.is_ok()
    }
}
