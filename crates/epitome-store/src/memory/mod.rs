//! The store that forgets with its process: for tests, previews and hosts without a disk.
//!
//! Invariant: it answers exactly as `Sqlite` does. Called through the ports.

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
    Acted, Chain, ContentId, EntryKey, Mark, MeterReading, Recorded, Rewrite, SessionInfo, Snapshot,
};
use epitome_kernel::{Blob, Counter, Departure, Excerpt, MissedWord, SessionOf, Store, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use self::answer::Answer;
use self::tree::Tree;
use crate::marks;
use crate::near::{missed, near};
use crate::passage::{Kept, Places, answer, arrivals, joined, pieces};
use crate::prefix::Prefix;

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    scopes: Mutex<FxHashMap<String, Shelf>>,
    /// What [`epitome_kernel::Journal::seen`] begins with in each of them.
    first: u64,
}

/// What one scope holds.
#[derive(Debug, Default)]
struct Shelf {
    originals: BTreeMap<ContentId, Original>,
    passages: Vec<Passage>,
    /// The texts of passages, each with the session that said it.
    known: FxHashSet<(ContentId, SessionId)>,
    tree: Tree,
    sessions: BTreeMap<SessionId, Session>,
    rewrites: BTreeMap<(SessionId, EntryKey, u32), Rewrite>,
    /// In the order in which they were made.
    epochs: Vec<Made>,
    snapshots: Vec<Snapshot>,
    /// In the order in which they came.
    answers: Vec<Answer>,
    erased: FxHashSet<EntryKey>,
    lessons: BTreeMap<String, String>,
    seen: u64,
    used: u64,
}

/// An epoch of a session.
#[derive(Clone, Debug)]
struct Made {
    session: SessionId,
    /// What the session had come to.
    place: Chain,
    recorded: Recorded,
}

/// An original, and the sessions that need it.
#[derive(Debug)]
struct Original {
    blob: Blob,
    held: BTreeSet<SessionId>,
}

/// A passage, and whose it is.
#[derive(Debug)]
struct Passage {
    session: SessionId,
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
    meter: MeterReading,
    used: u64,
    memos: BTreeMap<String, String>,
    /// Each with what the session had come to.
    acts: Vec<(Chain, Acted)>,
    marks: Vec<(Chain, Mark)>,
    opened: u32,
}

impl Session {
    /// The entries that it pinned.
    fn pins(&self) -> Vec<EntryKey> {
        let mut pins = Vec::new();
        for (_, mark) in &self.marks {
            match *mark {
                Mark::Pin(key) => marks::pin(&mut pins, key, true),
                Mark::Unpin(key) => marks::pin(&mut pins, key, false),
                Mark::Undo(_) | Mark::Redo(_) => {}
            }
        }
        pins
    }
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
        let new = || Shelf { seen: self.first, ..Shelf::default() };
        work(self.lock().entry(scope.to_owned()).or_insert_with(new))
    }
}

impl Shelf {
    fn keep(&mut self, session: SessionId, departure: &Departure) {
        for blob in &departure.blobs {
            self.put(session, blob.clone());
        }
        for arrival in arrivals(departure) {
            if !self.known.insert((arrival.id, session)) {
                continue;
            }
            if arrival.original == arrival.id && arrival.range.is_none() {
                let (source, text) = (arrival.source.clone(), arrival.text.to_owned());
                self.put(session, Blob { id: arrival.id, source, text });
            }
            let (own, span) = (arrival.range.is_none(), arrival.range);
            let (id, original, source) = (arrival.id, arrival.original, arrival.source);
            let (also, text) = (Vec::new(), arrival.text.to_owned());
            let kept = Kept { id, order: 0, original, source, also, span, text };
            self.passages.push(Passage { session, own, kept });
        }
    }

    /// The passages that a search may find: none of sessions in the trash.
    fn found(&self) -> impl Iterator<Item = &Passage> {
        let trashed = |id: &SessionId| self.sessions.get(id).is_some_and(|it| it.info.trashed);
        self.passages.iter().filter(move |passage| !trashed(&passage.session))
    }

    fn kept(&self) -> Vec<Kept> {
        placed(self.found())
    }

    /// Whether only sessions in the trash hold an original.
    fn is_trashed(&self, original: &Original) -> bool {
        let trashed = |id: &SessionId| self.sessions.get(id).is_some_and(|it| it.info.trashed);
        !original.held.is_empty() && original.held.iter().all(trashed)
    }

    fn put(&mut self, session: SessionId, blob: Blob) {
        let new = || Original { blob: blob.clone(), held: BTreeSet::new() };
        self.originals.entry(blob.id).or_insert_with(new).held.insert(session);
    }
}

/// Passages, each with its place in its session.
fn placed<'p>(passages: impl Iterator<Item = &'p Passage>) -> Vec<Kept> {
    let mut places = Places::default();
    let passages = passages.zip(0..).map(|(Passage { session, kept, .. }, at)| {
        let order = places.next(*session, at, places.last(*session));
        Kept { order, ..kept.clone() }
    });
    passages.collect()
}

impl Memory {
    /// The passages that a search in one session looks through.
    pub(crate) fn candidates_of(&self, of: SessionOf<'_>) -> Vec<Kept> {
        self.read(of.scope, |shelf| {
            let session = shelf.session(of.session).map(|(id, _)| id);
            let own = shelf.found().filter(|passage| Some(passage.session) == session);
            placed(own)
        })
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
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = self.read(scope, Shelf::kept);
        Ok(answer(&joined(vec![kept]), query, budget, counter))
    }

    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Ok(answer(&self.candidates_of(of), query, budget, counter))
    }

    fn search_in(
        &self,
        scopes: &[String],
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let all = scopes.iter().map(|scope| self.read(scope, Shelf::kept)).collect();
        Ok(answer(&joined(all), query, budget, counter))
    }

    fn missed(&self, scopes: &[String], query: &str) -> Result<Vec<MissedWord>, StoreError> {
        let kept = joined(scopes.iter().map(|scope| self.read(scope, Shelf::kept)).collect());
        Ok(near(missed(&pieces(&kept), query), kept.iter().map(|kept| kept.text.as_str())))
    }
}
