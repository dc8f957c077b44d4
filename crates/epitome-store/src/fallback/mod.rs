//! A store that lasts with one in memory behind it: a store that cannot be written, or read, stops no
//! conversation. What is said of a disk here holds of a server as well.
//!
//! Invariant: a session is in one of the two as a whole. One that the disk failed goes on in memory
//! with all that could still be read of it, and stays there until the process ends: its prompts rest
//! on decisions that the disk does not know, so going back would change them in the middle. Only one
//! that nothing was decided of goes back, since its client sends the whole history with the next
//! request. Called by hosts that keep conversations.

mod archive;
mod journal;
mod lasting;
mod store;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use epitome_kernel::types::HistoryHash;
use epitome_kernel::{AppendBatch, SessionOf, StoreError};

use self::lasting::LastingStore;
use crate::log::RecordLog;
use crate::outage::OutageKind;
use crate::record_store::RecordStore;
use crate::{MemoryStore, SessionArchive, StoreNews, StoreOutage};

/// Numbers of [`epitome_kernel::Journal::revision`] in memory begin here, so that what was read of one of
/// the two stores is never taken for what the other one says.
const FIRST_SEEN: u64 = 1 << 62;

/// So long a request waits for another process that holds the store: much less than the deadline of
/// whoever asks, since a request may come to wait more than once.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// The same during an outage: whoever comes then is not made to wait for its end.
const PATIENCE_IN_OUTAGE: Duration = Duration::from_millis(20);

/// A store that goes on in memory where its disk, or its server, fails.
#[derive(Debug)]
pub struct FallbackStore {
    disk: Box<dyn LastingStore>,
    memory: MemoryStore,
    state: Mutex<FallbackState>,
}

#[derive(Debug, Default)]
struct FallbackState {
    outage: Option<(OutageKind, StoreOutage)>,
    untold: Vec<StoreNews>,
    /// What was learned during an outage and the disk does not know yet, by scope.
    lessons: BTreeMap<String, BTreeMap<String, String>>,
    /// The sessions in memory, by scope and name.
    away: BTreeMap<(String, String), AwaySession>,
    /// How many ever went there.
    moves: u64,
}

/// A session that is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct AwaySession {
    /// Whether something was decided of it there, which the disk does not know.
    decided: bool,
}

impl FallbackState {
    /// What of a scope was learned during an outage.
    fn lessons_of(&mut self, scope: &str) -> &mut BTreeMap<String, String> {
        self.lessons.entry(scope.to_owned()).or_default()
    }
}

impl FallbackStore {
    /// A store on disk, with memory behind it. One that was opened for reading alone is an outage from
    /// the beginning.
    #[cfg(feature = "sqlite")]
    pub fn new(disk: crate::SqliteStore) -> Self {
        Self::before(Box::new(disk))
    }

    /// A store over a log of records, with memory behind it.
    pub fn over<L: RecordLog + 'static>(store: RecordStore<L>) -> Self {
        Self::before(Box::new(store))
    }

    /// Memory alone, in place of a store that could not be opened: an outage from the beginning, which
    /// ends with the process. `None` of an error that the store is not to blame for: one that a newer
    /// version made, for example.
    pub fn unopened(error: &StoreError) -> Option<Self> {
        let kind = OutageKind::of(error)?;
        let store = Self::before(Box::new(MemoryStore::new()));
        let kind = if kind == OutageKind::Damaged { kind } else { OutageKind::Unopened };
        let outage = StoreOutage { cause: error.to_string(), remedy: kind.remedy() };
        let mut state = store.state();
        state.untold.push(StoreNews::Lost(outage.clone()));
        state.outage = Some((OutageKind::Unopened, outage));
        drop(state);
        Some(store)
    }

    fn before(disk: Box<dyn LastingStore>) -> Self {
        let memory = MemoryStore::new().counting_from(FIRST_SEEN);
        disk.wait_at_most(PATIENCE);
        let store = Self { disk, memory, state: Mutex::default() };
        if store.disk.is_read_only() {
            let cause = format!("the store `{}` is read-only", store.disk.name());
            store.lost(OutageKind::ReadOnly, cause);
        }
        store
    }

    fn state(&self) -> MutexGuard<'_, FallbackState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an outage, unless there is one; of a worse kind it takes its place without a word.
    fn lost(&self, kind: OutageKind, cause: String) {
        let mut state = self.state();
        let outage = StoreOutage { cause, remedy: kind.remedy() };
        match &state.outage {
            None => state.untold.push(StoreNews::Lost(outage.clone())),
            Some((before, _)) if before.may_pass() && kind == OutageKind::Damaged => {}
            Some(_) => return,
        }
        self.disk.wait_at_most(PATIENCE_IN_OUTAGE);
        state.outage = Some((kind, outage));
    }

    /// Whether the disk may be written: outside of an outage, where one has passed by now, and as far
    /// as a damaged one can be.
    fn may_write(&self) -> bool {
        let kind = self.state().outage.as_ref().map(|(kind, _)| *kind);
        match kind {
            None | Some(OutageKind::Damaged) => true,
            Some(OutageKind::ReadOnly | OutageKind::Unopened) => false,
            // Whoever comes during an outage is not made to wait for it.
            Some(_) if !self.disk.takes_more() => false,
            Some(_) => {
                let mut state = self.state();
                if state.outage.take_if(|(kind, _)| kind.may_pass()).is_some() {
                    state.untold.push(StoreNews::Back);
                    self.disk.wait_at_most(PATIENCE);
                }
                true
            }
        }
    }

    fn is_away(&self, scope: &str, session: &str) -> bool {
        self.state().away.contains_key(&(scope.to_owned(), session.to_owned()))
    }

    /// Whether any session of a scope is in memory.
    fn has_away(&self, scope: &str) -> bool {
        self.state().away.keys().any(|(of, _)| of == scope)
    }

    /// Remembers that something was decided of a session, where it is in memory.
    fn decided(&self, scope: &str, session: &str) {
        if let Some(away) = self.state().away.get_mut(&(scope.to_owned(), session.to_owned())) {
            away.decided = true;
        }
    }

    /// Has a session go on in memory, with all that can be read of it.
    fn move_away(&self, scope: &str, session: &str) {
        let mut state = self.state();
        let place = (scope.to_owned(), session.to_owned());
        if state.away.contains_key(&place) {
            return;
        }
        if let Some((copy, erased)) = self.disk.copy_of(scope, session) {
            // A log in memory refuses nothing.
            drop(self.memory.take_up(scope, &copy, &erased));
        }
        state.away.insert(place, AwaySession::default());
        state.moves += 1;
    }

    /// Lets a session go back to the disk, where that is well again and nothing was decided meanwhile.
    fn let_back(&self, scope: &str, session: &str) {
        let place = (scope.to_owned(), session.to_owned());
        if self.state().away.get(&place).is_none_or(|away| away.decided) || !self.may_write() {
            return;
        }
        let mut state = self.state();
        if state.outage.is_none() && state.away.get(&place).is_some_and(|away| !away.decided) {
            state.away.remove(&place);
            drop(self.memory.delete(scope, session));
        }
    }

    /// Begins an outage for an error that tells of one; says whether it does.
    fn is_lost(&self, error: &StoreError) -> bool {
        let kind = OutageKind::of(error);
        if let Some(kind) = kind {
            self.lost(kind, error.to_string());
        }
        kind.is_some()
    }

    /// Reads of a session.
    fn read<T>(
        &self,
        SessionOf { scope, session }: SessionOf<'_>,
        work: impl Fn(&dyn SessionArchive) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !self.is_away(scope, session) {
            match work(&*self.disk) {
                Err(error) if self.is_lost(&error) => self.move_away(scope, session),
                done => return done,
            }
        }
        work(&self.memory)
    }

    /// Writes to a session what is as true in memory as on disk.
    fn write<T>(
        &self,
        SessionOf { scope, session }: SessionOf<'_>,
        work: impl Fn(&dyn SessionArchive) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !self.is_away(scope, session) {
            if self.may_write() {
                match work(&*self.disk) {
                    Err(error) if self.is_lost(&error) => {}
                    done => return done,
                }
            }
            self.move_away(scope, session);
        }
        work(&self.memory)
    }

    /// Writes to a session what was made for where it was: in a text that says how to bring back what
    /// left, for one. Where the disk fails the session moves and the error says so, and whoever made it
    /// makes it anew.
    fn commit_to<T>(
        &self,
        SessionOf { scope, session }: SessionOf<'_>,
        batch: Option<&AppendBatch>,
        work: impl Fn(&dyn SessionArchive) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.is_away(scope, session) {
            return work(&self.memory);
        }
        if !self.may_write() {
            self.move_away(scope, session);
            return Err(self.unwritable());
        }
        work(&*self.disk).inspect_err(|error| {
            let is_astray = batch.is_some_and(|batch| self.goes_astray(scope, session, batch));
            if !is_astray && self.is_lost(error) {
                self.move_away(scope, session);
            }
        })
    }

    /// Whether the disk is well and knows of no such history: whoever says so is mistaken.
    fn is_astray(&self, scope: &str, session: &str, after: HistoryHash) -> bool {
        after != HistoryHash::default()
            && matches!(self.disk.find_deepest(scope, session, &[after]), Ok(None))
    }

    /// The same of messages, which may not stand where they say, either.
    fn goes_astray(&self, scope: &str, session: &str, batch: &AppendBatch) -> bool {
        let Some(first) = batch.said.first() else {
            return self.is_astray(scope, session, batch.after);
        };
        if batch.after == HistoryHash::default() || first.place == 0 {
            return batch.after != HistoryHash::default() || first.place != 0;
        }
        match self.disk.history(scope, session, batch.after, first.place - 1, 2) {
            Ok(end) => end.iter().map(|said| said.chain).ne([batch.after]),
            Err(_) => self.is_astray(scope, session, batch.after),
        }
    }

    /// What the disk said when it failed.
    fn unwritable(&self) -> StoreError {
        let cause = self.state().outage.as_ref().map(|(_, outage)| outage.cause.clone());
        StoreError::Broken {
            path: self.disk.name(),
            what: "cannot be written",
            cause: cause.unwrap_or_default(),
        }
    }

    /// What both say, the memory first; a disk that cannot be read says nothing.
    fn both<T>(
        &self,
        scope: &str,
        work: impl Fn(&dyn SessionArchive) -> Result<Vec<T>, StoreError>,
    ) -> Result<[Vec<T>; 2], StoreError> {
        let away = if self.has_away(scope) { work(&self.memory)? } else { Vec::new() };
        match work(&*self.disk) {
            Err(error) if self.is_lost(&error) => Ok([away, Vec::new()]),
            kept => Ok([away, kept?]),
        }
    }
}
