//! Looking after a journal: what people do with what was recorded.
//!
//! Invariant: nothing of it is on the way of a request. Called by the facade, for the command and
//! for hosts; all stores answer it alike.

use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::types::{
    EntryKey, HistoryHash, MeterReading, PlacedMark, RecordedCompaction, SessionBranch,
    SessionInfo, Snapshot, TokenUsage, WordMentions,
};
use epitome_kernel::{Eviction, Journal, MessageRecord, OriginalStore, SearchRange, StoreError};

use crate::{StoreNews, StoreOutage};

/// Looks after what the journal holds: for people, never on the way of a request. What left prompts
/// is searched in the journal's own [`OriginalStore`].
pub trait SessionArchive: Journal + OriginalStore {
    /// The scopes that something was ever recorded in, in order.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn scopes(&self) -> Result<Vec<String>, StoreError>;

    /// Of these words those that one passage holds or several, but no more than `most`: each with
    /// its passages, those first that answer `query` best, then the newest. Words are told apart as a
    /// search does. A journal that does not search its passages knows of none.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn mentions(
        &self,
        range: SearchRange<'_>,
        words: &[String],
        query: &str,
        most: usize,
    ) -> Result<Vec<WordMentions>, StoreError> {
        let (_, _, _, _) = (range, words, query, most);
        Ok(Vec::new())
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
        scope: &str,
        skip: usize,
        most: usize,
        trashed: bool,
    ) -> Result<Vec<SessionInfo>, StoreError>;

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
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be read.
    fn answer(&self, scope: &str, session: &str) -> Result<Option<MessageRecord>, StoreError>;

    /// The newest answer to a history of a session, where nobody went on from it yet.
    ///
    /// # Errors
    ///
    /// As of [`answer`](Self::answer).
    fn answer_to(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
    ) -> Result<Option<MessageRecord>, StoreError>;

    /// What the provider counted for the answers of a session, by the history that each was asked with;
    /// of several answers to one their sum.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be read.
    fn answer_usage(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<BTreeMap<HistoryHash, TokenUsage>, StoreError>;

    /// The ways through the history of a session, in the order in which they came to their ends, and
    /// last the one on which it stands.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be read.
    fn branches(&self, scope: &str, session: &str) -> Result<Vec<SessionBranch>, StoreError>;

    /// The epochs that a session recorded, oldest first, those taken back included.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn compactions_of_session(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError>;

    /// Records a snapshot, and drops the oldest ones of its session that were made automatically
    /// until `keep` of those are left (RULES 24).
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn save_snapshot(
        &self,
        scope: &str,
        snapshot: &Snapshot,
        keep: usize,
    ) -> Result<(), StoreError>;

    /// The snapshots of a session, or of all, newest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn snapshots(&self, scope: &str, session: Option<&str>) -> Result<Vec<Snapshot>, StoreError>;

    /// Deletes a snapshot.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshot`], or when the store cannot be written.
    fn delete_snapshot(&self, scope: &str, id: &str) -> Result<(), StoreError>;

    /// Makes an earlier message the newest one of a session; `meter` is what its trigger goes by then,
    /// where that changes too. Nothing is deleted.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`]; [`StoreError::Damaged`] where `head` is not recorded.
    fn set_head(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        meter: Option<&MeterReading>,
    ) -> Result<(), StoreError>;

    /// Puts a session into the trash, or takes it out.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be written.
    fn set_trashed(&self, scope: &str, session: &str, trashed: bool) -> Result<(), StoreError>;

    /// Deletes a session for good: its messages, their texts, the answers that it got, its snapshots,
    /// what policies noted of it, and its epochs. What an older version recorded once for several
    /// sessions stays for the others. Gives how many messages went.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], or when the store cannot be written.
    fn delete(&self, scope: &str, session: &str) -> Result<u32, StoreError>;

    /// Removes the content of a message for good, wherever it is kept: its bytes, its texts, its
    /// pieces in the index, the answers that it may have been, the epochs whose summaries may quote it, and what policies noted of
    /// the sessions that may have led through it. Its place stays, as a tombstone (RULES 1).
    /// Gives how many epochs went.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] where no message says this, or when the store cannot be written.
    fn erase(&self, scope: &str, key: EntryKey) -> Result<u32, StoreError>;

    /// What was erased in a scope: no message that says this is kept again.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn erased(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError>;

    /// Messages that the search does not know yet, oldest first, each with the session that
    /// recorded it; then answers that it does not know and that nobody sent back as they are.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn unindexed(
        &self,
        scope: &str,
        most: usize,
    ) -> Result<Vec<(String, MessageRecord)>, StoreError>;

    /// Adds the pieces of a session's messages and answers to the search; from now on it knows them.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn index(
        &self,
        scope: &str,
        session: &str,
        messages: &[HistoryHash],
        departure: &Eviction,
    ) -> Result<(), StoreError>;

    /// Lessons of a scope that are about something which begins with `prefix`, by that.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn lessons_about(
        &self,
        scope: &str,
        prefix: &str,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let all = self.lessons(scope)?.into_iter();
        Ok(all.filter(|(about, _)| about.starts_with(prefix)).collect())
    }

    /// Records what was learned about something unless something is recorded of it, and gives what is:
    /// of any number of processes that do so, all are given the same.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn learn_once(&self, scope: &str, about: &str, lesson: &str) -> Result<String, StoreError>;

    /// What was done in a session, or noted of it, that is not what was written, in words: nobody reads it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn damage(&self, scope: &str, session: &str) -> Result<Vec<String>, StoreError> {
        let _ = (scope, session);
        Ok(Vec::new())
    }

    /// Checks everything that is kept, in all scopes, and mends what can be derived anew where
    /// `repair`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read at all.
    fn verify(&self, repair: bool) -> Result<Vec<StoreFinding>, StoreError>;

    /// Throws away what is derived from the records, in all scopes, and makes it anew from them alone: what
    /// is counted and indexed of them, and what the search goes by. No record is changed. Gives what was not
    /// as they say, where the store can tell.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or written.
    fn rebuild(&self) -> Result<Vec<StoreFinding>, StoreError>;

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

    /// What was taken back, done again, pinned and unpinned in a session, oldest first. A store that does
    /// not tell has none.
    ///
    /// # Errors
    ///
    /// When there is no such session, or it cannot be read.
    fn marks(&self, scope: &str, session: &str) -> Result<Vec<PlacedMark>, StoreError> {
        let (_, _) = (scope, session);
        Ok(Vec::new())
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
