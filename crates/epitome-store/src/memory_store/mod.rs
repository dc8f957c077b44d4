//! The store that forgets with its process: for tests, previews and hosts without a disk.
//!
//! Invariant: it answers exactly as `SqliteStore` does. Called through the ports.

mod answer;
mod archive;
mod holder;
mod journal;
#[cfg(feature = "sqlite")]
mod take;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::types::{
    ArrivalRewrite, ContentId, EntryKey, HistoryHash, JournalMark, MeterReading, RecordedAction,
    RecordedCompaction, SessionInfo, Snapshot,
};
use epitome_kernel::{
    Eviction, Excerpt, MissedWord, OriginalStore, SessionOf, StoreError, StoredText, TokenCounter,
};
use rustc_hash::{FxHashMap, FxHashSet};

use self::answer::MemoryResponse;
use self::tree::MemoryTree;
use crate::marks;
use crate::near::{missed, near};
use crate::passage::{IndexedPassage, Places, answer, arrivals, joined, pieces};
use crate::prefix::Prefix;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    scopes: Mutex<FxHashMap<String, ScopeRecords>>,
    /// What [`epitome_kernel::Journal::revision`] begins with in each of them.
    first: u64,
}

/// What one scope holds.
#[derive(Debug, Default)]
struct ScopeRecords {
    originals: BTreeMap<ContentId, Original>,
    passages: Vec<MemoryPassage>,
    /// The texts of passages, each with the session that said it.
    known: FxHashSet<(ContentId, MemorySessionId)>,
    tree: MemoryTree,
    sessions: BTreeMap<MemorySessionId, MemorySession>,
    rewrites: BTreeMap<(MemorySessionId, EntryKey, u32), ArrivalRewrite>,
    /// In the order in which they were made.
    epochs: Vec<Made>,
    snapshots: Vec<Snapshot>,
    /// In the order in which they came.
    answers: Vec<MemoryResponse>,
    erased: FxHashSet<EntryKey>,
    lessons: BTreeMap<String, String>,
    seen: u64,
    used: u64,
}

/// An epoch of a session.
#[derive(Clone, Debug)]
struct Made {
    session: MemorySessionId,
    /// What the session had come to.
    place: HistoryHash,
    recorded: RecordedCompaction,
}

/// An original, and the sessions that need it.
#[derive(Debug)]
struct Original {
    blob: StoredText,
    held: BTreeSet<MemorySessionId>,
}

/// A passage, and whose it is.
#[derive(Debug)]
struct MemoryPassage {
    session: MemorySessionId,
    /// Whether it does not stand in its original verbatim.
    own: bool,
    kept: IndexedPassage,
}

/// The number of a session, in the order of their beginnings.
type MemorySessionId = i64;

/// Holds what was kept outside of any session.
const NO_SESSION: MemorySessionId = -1;

/// A session.
#[derive(Debug, Default)]
struct MemorySession {
    info: SessionInfo,
    meter: MeterReading,
    used: u64,
    memos: BTreeMap<String, String>,
    /// Each with what the session had come to.
    acts: Vec<(HistoryHash, RecordedAction)>,
    marks: Vec<(HistoryHash, JournalMark)>,
    opened: u32,
}

impl MemorySession {
    /// The entries that it pinned.
    fn pins(&self) -> Vec<EntryKey> {
        let mut pins = Vec::new();
        for (_, mark) in &self.marks {
            match *mark {
                JournalMark::Pin(key) => marks::pin(&mut pins, key, true),
                JournalMark::Unpin(key) => marks::pin(&mut pins, key, false),
                JournalMark::Undo(_) | JournalMark::Redo(_) => {}
            }
        }
        pins
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The scopes. Nothing panics while it is held, so no shelf is left half filled.
    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, ScopeRecords>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a scope; of none, the default.
    fn read<T: Default>(&self, scope: &str, work: impl FnOnce(&ScopeRecords) -> T) -> T {
        self.lock().get(scope).map(work).unwrap_or_default()
    }

    /// Writes to a scope.
    fn write<T>(&self, scope: &str, work: impl FnOnce(&mut ScopeRecords) -> T) -> T {
        let new = || ScopeRecords { seen: self.first, ..ScopeRecords::default() };
        work(self.lock().entry(scope.to_owned()).or_insert_with(new))
    }
}

impl ScopeRecords {
    fn keep(&mut self, session: MemorySessionId, departure: &Eviction) {
        for blob in &departure.blobs {
            self.put(session, blob.clone());
        }
        for arrival in arrivals(departure) {
            if !self.known.insert((arrival.id, session)) {
                continue;
            }
            if arrival.original == arrival.id && arrival.range.is_none() {
                let (source, text) = (arrival.source.clone(), arrival.text.to_owned());
                self.put(session, StoredText { id: arrival.id, source, text });
            }
            let (own, span) = (arrival.range.is_none(), arrival.range);
            let (id, original, source) = (arrival.id, arrival.original, arrival.source);
            let (also, text) = (Vec::new(), arrival.text.to_owned());
            let kept = IndexedPassage { id, order: 0, original, source, also, span, text };
            self.passages.push(MemoryPassage { session, own, kept });
        }
    }

    /// The passages that a search may find: none of sessions in the trash.
    fn found(&self) -> impl Iterator<Item = &MemoryPassage> {
        let trashed =
            |id: &MemorySessionId| self.sessions.get(id).is_some_and(|it| it.info.trashed);
        self.passages.iter().filter(move |passage| !trashed(&passage.session))
    }

    fn kept(&self) -> Vec<IndexedPassage> {
        placed(self.found())
    }

    /// Whether only sessions in the trash hold an original.
    fn is_trashed(&self, original: &Original) -> bool {
        let trashed =
            |id: &MemorySessionId| self.sessions.get(id).is_some_and(|it| it.info.trashed);
        !original.held.is_empty() && original.held.iter().all(trashed)
    }

    fn put(&mut self, session: MemorySessionId, blob: StoredText) {
        let new = || Original { blob: blob.clone(), held: BTreeSet::new() };
        self.originals.entry(blob.id).or_insert_with(new).held.insert(session);
    }
}

/// Passages, each with its place in its session.
fn placed<'p>(passages: impl Iterator<Item = &'p MemoryPassage>) -> Vec<IndexedPassage> {
    let mut places = Places::default();
    let passages = passages.zip(0..).map(|(MemoryPassage { session, kept, .. }, at)| {
        let order = places.next(*session, at, places.last(*session));
        IndexedPassage { order, ..kept.clone() }
    });
    passages.collect()
}

impl MemoryStore {
    /// The passages that a search in one session looks through.
    pub(crate) fn candidates_of(&self, of: SessionOf<'_>) -> Vec<IndexedPassage> {
        self.read(of.scope, |shelf| {
            let session = shelf.session(of.session).map(|(id, _)| id);
            let own = shelf.found().filter(|passage| Some(passage.session) == session);
            placed(own)
        })
    }
}

impl OriginalStore for MemoryStore {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        self.write(scope, |shelf| shelf.keep(NO_SESSION, departure));
        Ok(())
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        let prefix = Prefix::parse(id)?;
        prefix.only(self.read(scope, |shelf| {
            shelf
                .originals
                .range(prefix.range())
                .filter(|(_, original)| !shelf.is_trashed(original))
                .map(|(_, original)| original.blob.clone())
                .collect()
        }))
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = self.read(scope, ScopeRecords::kept);
        Ok(answer(&joined(vec![kept]), query, budget, counter))
    }

    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Ok(answer(&self.candidates_of(of), query, budget, counter))
    }

    fn search_in(
        &self,
        scopes: &[String],
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let all = scopes.iter().map(|scope| self.read(scope, ScopeRecords::kept)).collect();
        Ok(answer(&joined(all), query, budget, counter))
    }

    fn missed(&self, scopes: &[String], query: &str) -> Result<Vec<MissedWord>, StoreError> {
        let kept =
            joined(scopes.iter().map(|scope| self.read(scope, ScopeRecords::kept)).collect());
        Ok(near(missed(&pieces(&kept), query), kept.iter().map(|kept| kept.text.as_str())))
    }
}
