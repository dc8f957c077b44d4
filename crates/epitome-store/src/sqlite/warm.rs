//! What this process knows of the sessions that it began and records the turns of, so that it need not look
//! up again what it wrote itself.
//!
//! Invariant: what is answered from here is lent. The batch that is recorded behind it finds, in its own
//! transaction, that the session and the scope are as they were, or is refused as overtaken. Called by
//! [`super::journal`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::types::{EntryKey, HistoryHash};
use epitome_kernel::{AppendBatch, CompactionChanges, HistoryLookup, HistoryQuery};
use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use super::owner::SessionRowId;

/// So many sessions are known at most; then all are looked up once more.
const MOST: usize = 1_024;

/// The sessions, by scope and name.
#[derive(Debug, Default)]
pub(crate) struct WarmSessions(Mutex<FxHashMap<String, WarmScope>>);

/// Those of a scope.
#[derive(Debug, Default)]
struct WarmScope {
    /// The revision that was read last, unless this process moved it since then: who goes by another one
    /// would only be refused.
    revision: Option<u64>,
    sessions: FxHashMap<String, WarmSession>,
}

/// What a session's row and its scope's say: as long as they do, nobody else recorded anything of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionStamp {
    /// Its newest history.
    pub(crate) head: HistoryHash,
    /// Its requests.
    pub(crate) turns: u64,
    /// The revision of its scope.
    pub(crate) seen: u64,
}

/// What a look-up finds of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionState {
    stamp: SessionStamp,
    /// The messages that the runs of its epochs begin with.
    begins: Vec<EntryKey>,
}

/// A session that this process began.
#[derive(Debug)]
struct WarmSession {
    stamp: SessionStamp,
    /// Whether nothing is recorded behind its newest history.
    is_leaf: bool,
    /// Whether what was looked up last is recorded nowhere.
    is_fresh: bool,
    /// The messages that a rewrite, or the run of an epoch, begins with.
    keys: FxHashSet<EntryKey>,
    /// What was lent, until a batch is recorded behind it.
    lent: Option<SessionStamp>,
}

impl SessionState {
    /// The newest history of the session.
    pub(crate) fn head(&self) -> HistoryHash {
        self.stamp.head
    }

    /// As it is recorded, in a scope of this revision.
    pub(crate) fn read(
        connection: &Connection,
        session: SessionRowId,
        seen: u64,
    ) -> rusqlite::Result<Self> {
        let (head, turns) = connection
            .prepare_cached("SELECT head, turns FROM session WHERE id = ?1")?
            .query_row([session], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
        let begins = connection
            .prepare_cached("SELECT first FROM epoch WHERE session = ?1")?
            .query_map([session], |row| Ok(EntryKey(row.get(0)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let stamp = SessionStamp { head: HistoryHash(head), turns: turns as u64, seen };
        Ok(Self { stamp, begins })
    }
}

impl WarmSessions {
    /// What a store would say of a history; `None` where it has to be asked.
    pub(crate) fn lookup(&self, scope: &str, history: &HistoryQuery<'_>) -> Option<HistoryLookup> {
        let HistoryQuery { session, keys, chains, before, seen, is_recorded } = *history;
        let mut all = self.locked();
        let WarmScope { revision, sessions } = all.get_mut(scope)?;
        let warm = sessions.get_mut(session)?;
        warm.lent = None;
        let end = before.checked_sub(1).and_then(|last| chains.get(last))?;
        let (stamp, new) = (warm.stamp, keys.get(before..)?);
        let is_known = is_recorded && !new.is_empty() && warm.is_leaf;
        let is_same = stamp.head == *end && seen == Some(stamp.seen) && seen == *revision;
        if !is_known || !is_same || new.iter().any(|key| warm.keys.contains(key)) {
            return None;
        }
        (warm.lent, warm.is_fresh) = (Some(stamp), true);
        let epochs = CompactionChanges::Quiet(Vec::new());
        Some(HistoryLookup { known: None, rewrites: Vec::new(), epochs })
    }

    /// A session is there that holds nothing.
    pub(crate) fn begun(&self, scope: &str, name: &str) {
        let mut all = self.locked();
        if all.values().map(|scope| scope.sessions.len()).sum::<usize>() >= MOST {
            all.clear();
        }
        let new = WarmSession {
            stamp: SessionStamp::default(),
            is_leaf: true,
            is_fresh: true,
            keys: FxHashSet::default(),
            lent: None,
        };
        all.entry(scope.to_owned()).or_default().sessions.insert(name.to_owned(), new);
    }

    /// Takes note of what the store said of a session; none where there is no such session yet. What was looked
    /// up is `fresh` where it is recorded nowhere.
    pub(crate) fn looked_up(
        &self,
        scope: &str,
        name: &str,
        found: Option<SessionState>,
        is_fresh: bool,
    ) {
        let Some(SessionState { stamp, begins }) = found else { return self.begun(scope, name) };
        let mut all = self.locked();
        let Some(WarmScope { revision, sessions }) = all.get_mut(scope) else { return };
        *revision = Some(stamp.seen);
        let Some(warm) = sessions.get_mut(name) else { return };
        if warm.stamp.head != stamp.head || warm.stamp.turns != stamp.turns {
            // Others recorded rewrites of it, maybe.
            _ = sessions.remove(name);
            return;
        }
        (warm.stamp, warm.is_fresh) = (stamp, is_fresh);
        warm.keys.extend(begins);
    }

    /// What was lent for the batch that is to be recorded now.
    pub(crate) fn take_lent(&self, scope: &str, name: &str) -> Option<SessionStamp> {
        self.locked().get_mut(scope)?.sessions.get_mut(name)?.lent.take()
    }

    /// A batch is recorded.
    pub(crate) fn recorded(&self, scope: &str, name: &str, batch: &AppendBatch) {
        let mut all = self.locked();
        let Some(WarmScope { revision, sessions }) = all.get_mut(scope) else { return };
        if !batch.acts.is_empty() {
            *revision = None;
        }
        let Some(warm) = sessions.get_mut(name) else { return };
        match batch.said.last() {
            Some(said) => {
                (warm.stamp.head, warm.is_leaf) = (said.chain, warm.is_fresh);
            }
            None if batch.after == warm.stamp.head => {}
            None => (warm.stamp.head, warm.is_leaf) = (batch.after, false),
        }
        warm.is_fresh = false;
        warm.stamp.turns += u64::from(batch.turn.is_some());
        warm.keys.extend(batch.rewrites.iter().map(|rewrite| rewrite.key));
    }

    /// This process moved the revision of a scope.
    pub(crate) fn moved(&self, scope: &str) {
        self.locked().get_mut(scope).into_iter().for_each(|known| known.revision = None);
    }

    /// Nothing is known of a session any longer.
    pub(crate) fn forget(&self, scope: &str, name: &str) {
        _ = self.locked().get_mut(scope).and_then(|of| of.sessions.remove(name));
    }

    fn locked(&self) -> MutexGuard<'_, FxHashMap<String, WarmScope>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
