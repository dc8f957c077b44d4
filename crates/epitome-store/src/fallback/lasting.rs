//! The stores that outlive their process, as the one in memory behind them needs to know them.
//!
//! Invariant: nothing here is on the way of a request but while there is an outage. Implemented by the
//! store on disk, and by those over a log of records.

use std::fmt;
use std::time::Duration;

use epitome_kernel::types::EntryKey;
use epitome_kernel::{SessionOf, StoreError};

use crate::copied::SessionCopy;
use crate::log::RecordLog;
use crate::passage::IndexedPassage;
use crate::record_store::RecordStore;
use crate::{SessionArchive, StoreOutage};

/// A store that sessions of [`super::FallbackStore`] are recorded in while it is well.
pub(super) trait LastingStore: SessionArchive + fmt::Debug {
    /// Which one it is, for people.
    fn name(&self) -> String;

    /// Whether this process can only read it.
    fn is_read_only(&self) -> bool {
        false
    }

    /// How long it may wait for others, or for a server that is away, from now on.
    fn wait_at_most(&self, patience: Duration);

    /// Whether it can be written again, as far as can be told at once.
    fn takes_more(&self) -> bool;

    /// What was met since this was asked last that is not what was written, in words: all else is used.
    fn take_damage(&self) -> Vec<StoreOutage> {
        Vec::new()
    }

    /// A session with all that can be read of it, and what was erased in its scope; none where nothing
    /// can.
    fn copy_of(&self, scope: &str, session: &str) -> Option<(SessionCopy, Vec<EntryKey>)>;

    /// The passages that may answer a query, scope by scope.
    fn candidates(
        &self,
        scopes: &[String],
        query: &str,
    ) -> Result<Vec<Vec<IndexedPassage>>, StoreError>;

    /// The same of one session.
    fn candidates_of(
        &self,
        of: SessionOf<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError>;
}

#[cfg(feature = "sqlite")]
impl LastingStore for crate::SqliteStore {
    fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn is_read_only(&self) -> bool {
        Self::is_read_only(self)
    }

    fn wait_at_most(&self, patience: Duration) {
        Self::wait_at_most(self, patience);
    }

    fn takes_more(&self) -> bool {
        Self::takes_more(self)
    }

    fn copy_of(&self, scope: &str, session: &str) -> Option<(SessionCopy, Vec<EntryKey>)> {
        Self::copy_of(self, scope, session)
    }

    fn candidates(
        &self,
        scopes: &[String],
        query: &str,
    ) -> Result<Vec<Vec<IndexedPassage>>, StoreError> {
        Self::candidates(self, scopes, query)
    }

    fn candidates_of(
        &self,
        of: SessionOf<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        Self::candidates_of(self, of, query)
    }
}

impl<L: RecordLog> LastingStore for RecordStore<L> {
    fn name(&self) -> String {
        self.log().name()
    }

    fn wait_at_most(&self, patience: Duration) {
        self.log().wait_at_most(patience);
    }

    fn takes_more(&self) -> bool {
        self.log().is_well()
    }

    fn take_damage(&self) -> Vec<StoreOutage> {
        Self::take_damage(self)
    }

    fn copy_of(&self, scope: &str, session: &str) -> Option<(SessionCopy, Vec<EntryKey>)> {
        self.copied(scope, session)
    }

    fn candidates(
        &self,
        scopes: &[String],
        query: &str,
    ) -> Result<Vec<Vec<IndexedPassage>>, StoreError> {
        self.proposed_in(scopes, query)
    }

    fn candidates_of(
        &self,
        of: SessionOf<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        self.proposed(of.scope, Some(of.session), query)
    }
}
