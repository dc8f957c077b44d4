//! Sessions over a log of records: the one place that knows what records mean.
//!
//! Invariant: all that is shown of a session is a fold over the records of its line, as far as the
//! log has them at that moment, whoever wrote them; nothing is folded that the log did not take. A
//! scope has a line of its own, under the empty name. Called through the ports of the kernel, over
//! any [`RecordLog`].

mod answer;
mod archive;
mod copy;
mod damage;
mod depth_search;
mod draft;
mod erase;
mod event;
mod fold;
mod freshness;
mod holder;
mod journal;
mod search;
mod sift;
mod spell;
mod take;
mod transfer;
mod verify;
mod went_back;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_kernel::types::{ContentId, EntryKey};
use epitome_kernel::{StoreError, nearest};
use rustc_hash::{FxHashMap, FxHashSet};

use self::damage::DamageNews;
use self::draft::LineDraft;
use self::fold::{RecordOrder, SessionFold};
use self::freshness::Freshness;
use crate::log::{
    AppendOutcome, BlobQuery, Erasure, LineEnd, LineTail, LogRecord, MemoryLog, RecordLog, only,
};

/// The line of a scope itself.
const SCOPE_LINE: &str = "";

/// How often a write is tried whose line somebody else writes at the same time.
const ATTEMPTS: usize = 64;

/// How often a line takes nothing, though nobody else writes it, before its end is made anew.
const UNMOVED: usize = 2;

/// How many sessions are held in memory; others are folded anew when they are asked for.
const HELD: usize = 1024;

/// A store of sessions over a log of records.
#[derive(Debug)]
pub struct RecordStore<L> {
    log: L,
    folds: Mutex<FoldCache>,
    news: DamageNews,
    /// What [`epitome_kernel::Journal::revision`] begins with.
    first: u64,
}

/// A store of sessions that forgets with its process.
pub type MemoryStore = RecordStore<MemoryLog>;

type SharedFold = Arc<Mutex<SessionFold>>;

/// The folds that are held, by scope and line.
#[derive(Debug, Default)]
struct FoldCache {
    scopes: FxHashMap<String, FxHashMap<String, SharedFold>>,
    count: usize,
}

impl RecordStore<MemoryLog> {
    /// An empty store in memory.
    pub fn new() -> Self {
        Self::over(MemoryLog::default())
    }
}

impl<L: RecordLog + Default> Default for RecordStore<L> {
    fn default() -> Self {
        Self::over(L::default())
    }
}

impl<L: RecordLog> RecordStore<L> {
    /// The sessions that a log holds.
    pub fn over(log: L) -> Self {
        Self { log, folds: Mutex::default(), news: DamageNews::default(), first: 0 }
    }

    /// The log.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// The fold of a line, as far as it was ever asked for.
    fn held(&self, scope: &str, line: &str) -> SharedFold {
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = folds.scopes.get(scope).and_then(|lines| lines.get(line)) {
            return Arc::clone(held);
        }
        if folds.count >= HELD {
            *folds = FoldCache::default();
        }
        folds.count += 1;
        let new = Arc::new(Mutex::new(SessionFold::named(line)));
        let lines = folds.scopes.entry(scope.to_owned()).or_default();
        lines.insert(line.to_owned(), Arc::clone(&new));
        new
    }

    /// Has all lines be folded anew when they are asked for.
    fn forget_folds(&self) {
        *self.folds.lock().unwrap_or_else(PoisonError::into_inner) = FoldCache::default();
    }

    /// Reads a line as the log has it, unless a turn goes by what is remembered.
    fn read<T>(
        &self,
        scope: &str,
        line: &str,
        work: impl FnOnce(&SessionFold) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read_where(scope, line, Freshness::is_lent, work)
    }

    /// Reads a line as the log has it, where what is remembered is not as fresh as it has to be.
    fn read_where<T>(
        &self,
        scope: &str,
        line: &str,
        will_do: fn(Freshness) -> bool,
        work: impl FnOnce(&SessionFold) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let held = self.held(scope, line);
        let mut fold = lock(&held);
        if !will_do(fold.freshness) {
            self.catch_up(scope, &mut fold)?;
        }
        work(&fold)
    }

    /// Asks for these lines, and for the scope's own where nothing is known of it, all at once.
    fn ask_for(&self, scope: &str, lines: &[&str]) -> Result<(), StoreError> {
        let mut helds: Vec<_> = lines.iter().map(|line| self.held(scope, line)).collect();
        let of_scope = self.held(scope, SCOPE_LINE);
        if lock(&of_scope).is_new() {
            helds.push(of_scope);
        }
        if helds.is_empty() {
            return Ok(());
        }
        let known: Vec<_> = helds.iter().map(|held| LineEnd::for_line(&lock(held))).collect();
        let tails: Vec<_> = known.iter().map(LineEnd::tail).collect();
        for ((held, end), tail) in helds.iter().zip(&known).zip(self.log.read(scope, &tails)?) {
            let mut fold = lock(held);
            // Somebody else may have caught up meanwhile.
            if fold.position != end.position {
                continue;
            }
            let before = fold.freshness;
            self.take(scope, &mut fold, tail)?;
            let is_same = fold.position == end.position;
            fold.freshness = match before.after(!is_same) {
                Freshness::Overtaken => Freshness::Overtaken,
                _ if before.is_lent() => before,
                _ => Freshness::asked(),
            };
        }
        Ok(())
    }

    /// Begins a turn, whatever became of the last one. One that `is_recorded` goes by what is known of
    /// its line, and of the scope, from here on: its batch rests on both, and finds out.
    fn begin_turn(&self, scope: &str, fold: &mut SessionFold, is_recorded: bool) {
        if fold.name() == SCOPE_LINE {
            return;
        }
        let of_scope = self.held(scope, SCOPE_LINE);
        let mut of_scope = lock(&of_scope);
        for (line, is_asked) in [(fold, true), (&mut *of_scope, false)] {
            let is_known = is_asked || !line.is_new() || line.freshness.is_recent();
            line.freshness = match is_recorded && is_known {
                true => Freshness::lent(),
                false => Freshness::Known,
            };
        }
    }

    /// Reads a session.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] where there is none by this name.
    fn in_session<T>(
        &self,
        scope: &str,
        name: &str,
        work: impl FnOnce(&SessionFold) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let found = self.read(scope, name, |fold| match is_session(fold) {
            true => work(fold).map(Some),
            false => Ok(None),
        })?;
        found.map_or_else(|| Err(self.missing(scope, name)), Ok)
    }

    /// Folds what was added to a line since it was read last.
    fn catch_up(&self, scope: &str, fold: &mut SessionFold) -> Result<(), StoreError> {
        let (known, freshness) = (fold.position, fold.freshness);
        let tail = self.tail(scope, &LineEnd::for_line(fold))?;
        self.take(scope, fold, tail)?;
        fold.freshness = freshness.after(fold.position != known);
        Ok(())
    }

    /// What a line has from its known end on.
    fn tail(&self, scope: &str, end: &LineEnd) -> Result<Vec<LogRecord>, StoreError> {
        Ok(self.log.read(scope, &[end.tail()])?.pop().unwrap_or_default())
    }

    /// Adds to a line what `decide` finds right, which may be asked again where somebody else was
    /// first.
    fn write<T>(
        &self,
        scope: &str,
        line: &str,
        mut decide: impl FnMut(&SessionFold, &mut LineDraft) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let bans = ScopeBans::default();
        self.write_under(scope, line, bans, |fold, _, draft| decide(fold, draft))
    }

    /// The same of what somebody says, which nobody may say again.
    fn write_said<T>(
        &self,
        scope: &str,
        line: &str,
        decide: impl FnMut(&SessionFold, &ScopeBans, &mut LineDraft) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let bans = ScopeBans::from_line(&lock(&self.held(scope, SCOPE_LINE)));
        self.write_under(scope, line, bans, decide)
    }

    fn write_under<T>(
        &self,
        scope: &str,
        line: &str,
        mut bans: ScopeBans,
        mut decide: impl FnMut(&SessionFold, &ScopeBans, &mut LineDraft) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let held = self.held(scope, line);
        let mut fold = lock(&held);
        // What is known of a line is most often all that there is, and an append that holds proves it. So
        // the log is asked first only where nothing is known, or where nothing is to be added.
        let mut is_fresh = fold.is_new() && !fold.freshness.is_lent();
        if is_fresh {
            self.catch_up(scope, &mut fold)?;
        }
        let mut unmoved = 0;
        for _ in 0..ATTEMPTS {
            let ends = (fold.position, bans.end.clone());
            let mut draft = LineDraft::seeded(self.log.passing_seed());
            let decided = decide(&fold, &bans, &mut draft);
            draft.rest_on(&bans);
            let adds = decided.is_ok() && !draft.is_empty();
            if is_fresh && !adds || adds && self.add(scope, &mut fold, draft)? {
                return decided;
            }
            self.catch_up(scope, &mut fold)?;
            if bans.end.is_some() {
                let of_scope = self.held(scope, SCOPE_LINE);
                let mut of_scope = lock(&of_scope);
                self.catch_up(scope, &mut of_scope)?;
                bans = ScopeBans::from_line(&of_scope);
            }
            // Nobody else wrote, and the log took nothing.
            let is_moved = !adds || (fold.position, bans.end.clone()) != ends;
            unmoved = if is_moved { 0 } else { unmoved + 1 };
            if unmoved == UNMOVED {
                self.mend_end(scope, &fold)?;
            } else if unmoved == UNMOVED + 1 && bans.end.is_some() {
                self.mend_end(scope, &lock(&self.held(scope, SCOPE_LINE)))?;
            }
            is_fresh = true;
        }
        let what = "cannot be written";
        let cause = format!("others write to the session `{line}` all the time");
        Err(StoreError::Broken { path: scope.to_owned(), what, cause })
    }

    /// Adds to a session what `decide` finds right.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] where there is none by this name.
    fn write_session<T>(
        &self,
        scope: &str,
        name: &str,
        mut decide: impl FnMut(&SessionFold, &mut LineDraft) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let done = self.write(scope, name, |fold, draft| match is_session(fold) {
            true => decide(fold, draft).map(Some),
            false => Ok(None),
        })?;
        done.map_or_else(|| Err(self.missing(scope, name)), Ok)
    }

    /// Hands a draft to the log, and folds it where the log took it; says whether it did.
    fn add(
        &self,
        scope: &str,
        fold: &mut SessionFold,
        draft: LineDraft,
    ) -> Result<bool, StoreError> {
        let sealed = draft.sealed(fold)?;
        let first = fold.position.seq + 1;
        let AppendOutcome::Done { stamp } = self.log.append(scope, sealed.batch)? else {
            return Ok(false);
        };
        for (seq, event) in (first..).zip(sealed.events) {
            fold.apply(RecordOrder { stamp, seq }, event);
        }
        fold.position = sealed.position;
        fold.freshness = fold.freshness.after(false);
        Ok(true)
    }

    /// Gathers something of each session of a scope, in the order in which they began.
    fn each_session<T>(
        &self,
        scope: &str,
        mut of: impl FnMut(&SessionFold) -> T,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        for line in self.log.lines(scope)? {
            let found = self.read(scope, &line, |fold| Ok(is_session(fold).then(|| of(fold))))?;
            all.extend(found);
        }
        Ok(all)
    }

    /// What nobody may say again in a scope.
    fn banned(&self, scope: &str) -> Result<Arc<FxHashSet<EntryKey>>, StoreError> {
        self.read(scope, SCOPE_LINE, |fold| Ok(Arc::clone(&fold.scope.banned)))
    }

    /// That there is no such session, and which one is nearest to it.
    fn missing(&self, scope: &str, name: &str) -> StoreError {
        let mut all = self
            .each_session(scope, |fold| (fold.used.last, fold.name().to_owned()))
            .unwrap_or_default();
        all.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        let names = all.iter().map(|(_, name)| name.as_str());
        let nearest = nearest(name, names).map(str::to_owned);
        StoreError::NoSession { name: name.to_owned(), nearest }
    }

    /// The bytes under these addresses, as far as a line has them as they were kept.
    fn bytes(
        &self,
        scope: &str,
        line: &str,
        ids: impl IntoIterator<Item = ContentId>,
    ) -> Result<FxHashMap<ContentId, Vec<u8>>, StoreError> {
        let ids: Vec<_> = ids.into_iter().map(only).collect();
        if ids.is_empty() {
            return Ok(FxHashMap::default());
        }
        let found = self.log.blobs(scope, &BlobQuery { line: Some(line), ids: &ids })?;
        let whole = found.into_iter().filter(|blob| blob.is_whole(self.log.passing_seed()));
        Ok(whole.map(|blob| (blob.id, blob.bytes)).collect())
    }

    /// Removes a line.
    fn remove(&self, scope: &str, line: &str) -> Result<(), StoreError> {
        self.log.erase(scope, line, &Erasure::Line)?;
        *lock(&self.held(scope, line)) = SessionFold::named(line);
        Ok(())
    }
}

/// What nobody may say again in a scope, as far as its line goes.
#[derive(Debug, Default)]
struct ScopeBans {
    keys: Arc<FxHashSet<EntryKey>>,
    /// Where that line ends; none where nothing is said.
    end: Option<LineEnd>,
    /// Whether a request went by less.
    is_overtaken: bool,
}

impl ScopeBans {
    fn from_line(scope: &SessionFold) -> Self {
        let (keys, end) = (Arc::clone(&scope.scope.banned), Some(LineEnd::for_line(scope)));
        Self { keys, end, is_overtaken: scope.freshness == Freshness::Overtaken }
    }
}

impl LineEnd {
    /// Where a line ends, as far as is known.
    fn for_line(fold: &SessionFold) -> Self {
        Self { line: fold.name().to_owned(), position: fold.position }
    }

    /// What a line has from there on, and the record that ends it: by that it is seen whether the line
    /// is still the same.
    fn tail(&self) -> LineTail<'_> {
        LineTail { line: &self.line, from: self.position.seq.max(1) }
    }
}

/// Nothing panics while a fold is held, so none is left half made.
fn lock(held: &SharedFold) -> MutexGuard<'_, SessionFold> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a line is one of a session, and there.
fn is_session(fold: &SessionFold) -> bool {
    !fold.is_new() && fold.name() != SCOPE_LINE
}
