//! Looking after a journal: what people do with what was recorded.
//!
//! Invariant: nothing of it is on the way of a request. Called by the facade, for the command and
//! for hosts; both stores answer it alike.

use std::collections::BTreeSet;

use epitome_kernel::types::{EntryKey, HistoryHash, RecordedCompaction, SessionInfo, Snapshot};
use epitome_kernel::{Eviction, Journal, MessageRecord, OriginalStore, StoreError};

use crate::{StoreNews, StoreOutage};

/// Looks after what the journal holds: for people, never on the way of a request. What left prompts
/// is searched in the journal's own [`OriginalStore`].
///
/// A live session itself asks for [`SessionArchive::session`] and [`SessionArchive::history`]; a store of the host's
/// own may leave the rest as it is here, and then refuses ([`StoreError::NotOffered`]) what people do
/// with sessions.
pub trait SessionArchive: Journal + OriginalStore {
    /// The scopes that something was ever recorded in, in order.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        Err(StoreError::NotOffered { what: "list its scopes" })
    }

    /// Sessions in which something was said, the one used last first, at most `most` after skipping
    /// `skip`; those in the
    /// trash only where `trashed`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn sessions(
        &self,
        _scope: &str,
        _skip: usize,
        _most: usize,
        _trashed: bool,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        Err(StoreError::NotOffered { what: "list its sessions" })
    }

    /// A session by its name.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be read.
    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError>;

    /// The messages of a session on the way to `head`, oldest first: at most `most` from the place
    /// `from` on.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`]; when the store cannot be read, or a message on the way is missing.
    fn history(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError>;

    /// The newest answer to the newest message of a session, where nobody went on from it yet: as
    /// the message that it will be.
    /// None where the store keeps no answers.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be read.
    fn answer(&self, _scope: &str, _session: &str) -> Result<Option<MessageRecord>, StoreError> {
        Ok(None)
    }

    /// The epochs that a session recorded, oldest first, those taken back included.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn compactions_of_session(
        &self,
        _scope: &str,
        _session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError> {
        Err(StoreError::NotOffered { what: "list compressions" })
    }

    /// Records a snapshot, and drops the oldest ones of its session that were made automatically
    /// until `keep` of those are left (RULES 24).
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn save_snapshot(
        &self,
        _scope: &str,
        _snapshot: &Snapshot,
        _keep: usize,
    ) -> Result<(), StoreError> {
        Err(StoreError::NotOffered { what: "keep snapshots" })
    }

    /// The snapshots of a session, or of all, newest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn snapshots(&self, _scope: &str, _session: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        Ok(Vec::new())
    }

    /// Deletes a snapshot.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshot`], or when the store cannot be written.
    fn delete_snapshot(&self, _scope: &str, id: &str) -> Result<(), StoreError> {
        Err(StoreError::NoSnapshot { name: id.to_owned() })
    }

    /// Makes an earlier message the newest one of a session. Nothing is deleted.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`]; [`StoreError::Damaged`] where `head` is not recorded.
    fn set_head(&self, _scope: &str, _session: &str, _head: HistoryHash) -> Result<(), StoreError> {
        Err(StoreError::NotOffered { what: "go back to an earlier message" })
    }

    /// Puts a session into the trash, or takes it out.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be written.
    fn set_trashed(&self, _scope: &str, _session: &str, _trashed: bool) -> Result<(), StoreError> {
        Err(StoreError::NotOffered { what: "have a trash" })
    }

    /// Deletes a session for good: its messages, their texts, the answers that it got, its snapshots,
    /// what policies noted of it, and its epochs. What an older version recorded once for several
    /// sessions stays for the others. Gives how many messages went.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be written.
    fn delete(&self, _scope: &str, _session: &str) -> Result<u32, StoreError> {
        Err(StoreError::NotOffered { what: "delete sessions" })
    }

    /// Removes the content of a message for good, wherever it is kept: its bytes, its texts, its
    /// pieces in the index, the answers that it may have been, the epochs whose summaries may quote it, and what policies noted of
    /// the sessions that may have led through it. Its place stays, as a tombstone (RULES 1).
    /// Gives how many epochs went.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] where no message says this, or when the store cannot be written.
    fn erase(&self, _scope: &str, _key: EntryKey) -> Result<u32, StoreError> {
        Err(StoreError::NotOffered { what: "erase messages" })
    }

    /// What was erased in a scope: no message that says this is kept again.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn erased(&self, _scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        Ok(BTreeSet::new())
    }

    /// Messages that the search does not know yet, oldest first, each with the session that
    /// recorded it; then answers that it does not know and that nobody sent back as they are.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn unindexed(
        &self,
        _scope: &str,
        _most: usize,
    ) -> Result<Vec<(String, MessageRecord)>, StoreError> {
        Ok(Vec::new())
    }

    /// Adds the pieces of a session's messages and answers to the search; from now on it knows them.
    /// A store that names none of them need not offer it.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn index(
        &self,
        _scope: &str,
        _session: &str,
        _messages: &[HistoryHash],
        _departure: &Eviction,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    /// Checks everything that is kept, in all scopes, and mends what can be derived anew where
    /// `repair`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read at all.
    fn verify(&self, _repair: bool) -> Result<Vec<StoreFinding>, StoreError> {
        Err(StoreError::NotOffered { what: "check itself" })
    }

    /// Whether what is recorded of a session is there for other processes, and after this one. What
    /// left its prompts can be brought back by a command only then.
    fn lasts(&self, _scope: &str, _session: &str) -> bool {
        true
    }

    /// How many sessions ever had to be gone on with elsewhere. Where this grew while something was
    /// made that then could not be recorded, it is to be made anew.
    fn moves(&self) -> u64 {
        0
    }

    /// Why the store cannot be relied on at present, if so.
    fn outage(&self) -> Option<StoreOutage> {
        None
    }

    /// What there is to tell of the store that nobody was told yet.
    fn news(&self) -> Vec<StoreNews> {
        Vec::new()
    }
}

/// Something that is wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFinding {
    /// What, and where.
    pub what: String,
    /// Whether it was mended.
    pub repaired: bool,
    /// What to do where it was not.
    pub remedy: String,
}
