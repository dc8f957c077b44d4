//! The store that forgets with its process: for tests, previews and hosts without a disk.
//!
//! Invariant: it answers exactly as [`crate::Sqlite`] does. Called through the ports.

mod answer;
mod archive;
mod journal;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::types::{Acted, ContentId, EntryKey, Recorded, Rewrite, SessionInfo, Snapshot};
use epitome_kernel::{Blob, Counter, Departure, Excerpt, Store, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use self::answer::Answer;
use self::tree::Tree;
use crate::passage::{Kept, answer, arrivals};
use crate::prefix::Prefix;

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    scopes: Mutex<FxHashMap<String, Shelf>>,
}

/// What one scope holds.
#[derive(Debug, Default)]
struct Shelf {
    originals: BTreeMap<ContentId, Original>,
    passages: Vec<Passage>,
    known: FxHashSet<ContentId>,
    tree: Tree,
    sessions: BTreeMap<SessionId, Session>,
    rewrites: BTreeMap<(EntryKey, u32), Rewrite>,
    /// In the order in which they were made, each with the session that recorded it.
    epochs: Vec<(SessionId, Recorded)>,
    pins: Vec<EntryKey>,
    snapshots: Vec<Snapshot>,
    /// In the order in which they came.
    answers: Vec<Answer>,
    erased: FxHashSet<EntryKey>,
    lessons: BTreeMap<String, String>,
    seen: u64,
    used: u64,
}

/// An original, and the sessions that need it.
#[derive(Debug)]
struct Original {
    blob: Blob,
    held: BTreeSet<SessionId>,
}

/// A passage with the address of its text.
#[derive(Debug)]
struct Passage {
    id: ContentId,
    /// Whether it does not stand in its original verbatim.
    own: bool,
    kept: Kept,
}

/// The number of a session, in the order of their beginnings.
type SessionId = i64;

/// Holds what was kept outside of any session.
const NO_SESSION: SessionId = -1;

/// A session.
#[derive(Debug, Default)]
struct Session {
    info: SessionInfo,
    rent: f64,
    used: u64,
    memos: BTreeMap<String, String>,
    acts: Vec<Acted>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The scopes. Nothing panics while it is held, so no shelf is left half filled.
    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Shelf>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a scope; of none, the default.
    fn read<T: Default>(&self, scope: &str, work: impl FnOnce(&Shelf) -> T) -> T {
        self.lock().get(scope).map(work).unwrap_or_default()
    }

    /// Writes to a scope.
    fn write<T>(&self, scope: &str, work: impl FnOnce(&mut Shelf) -> T) -> T {
        work(self.lock().entry(scope.to_owned()).or_default())
    }
}

impl Shelf {
    fn keep(&mut self, session: SessionId, departure: &Departure) {
        for blob in &departure.blobs {
            self.put(session, blob.clone());
        }
        for arrival in arrivals(departure) {
            if !self.known.insert(arrival.id) {
                continue;
            }
            if arrival.original == arrival.id && arrival.range.is_none() {
                let (source, text) = (arrival.source.clone(), arrival.text.to_owned());
                self.put(session, Blob { id: arrival.id, source, text });
            }
            let order = self.passages.last().map_or(0, |last| last.kept.order + 1);
            let own = arrival.range.is_none();
            let (original, source) = (arrival.original, arrival.source);
            let kept = Kept { order, original, source, text: arrival.text.to_owned() };
            self.passages.push(Passage { id: arrival.id, own, kept });
        }
    }

    fn put(&mut self, session: SessionId, blob: Blob) {
        let new = || Original { blob: blob.clone(), held: BTreeSet::new() };
        self.originals.entry(blob.id).or_insert_with(new).held.insert(session);
    }
}

impl Store for Memory {
    fn keep(&self, scope: &str, departure: &Departure) -> Result<(), StoreError> {
        self.write(scope, |shelf| shelf.keep(NO_SESSION, departure));
        Ok(())
    }

    fn original(&self, scope: &str, id: &str) -> Result<Blob, StoreError> {
        let prefix = Prefix::parse(id)?;
        prefix.only(self.read(scope, |shelf| {
            shelf
                .originals
                .range(prefix.range())
                .map(|(_, original)| original.blob.clone())
                .collect()
        }))
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Ok(self.read(scope, |shelf| {
            let kept: Vec<&Kept> = shelf.passages.iter().map(|passage| &passage.kept).collect();
            answer(&kept, query, budget, counter)
        }))
    }
}
