//! A log in memory: one table of maps for each scope.
//!
//! Invariant: nothing is changed before all that may be refused is checked. Called through
//! [`RecordLog`].

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LineEnd, LinePosition, LineTail, LogBatch,
    LogRecord, PieceQuery, RecordKey, RecordLog, SearchPiece, StoredBlob,
};

/// A log that forgets with its process.
#[derive(Debug, Default)]
pub struct MemoryLog {
    scopes: Mutex<BTreeMap<String, ScopeTable>>,
}

/// What addresses are drawn with in this process: the same in all of its logs, so that those that
/// are given the same hold the same.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));

/// What one scope holds. Numbers of lines say in which order they began.
#[derive(Debug, Default)]
struct ScopeTable {
    names: FxHashMap<String, u64>,
    lines: BTreeMap<u64, MemoryLine>,
    keys: FxHashMap<RecordKey, BTreeSet<u64>>,
    /// By id and line, each with the order in which it came.
    blobs: BTreeMap<(ContentId, u64), (u64, StoredBlob)>,
    /// In the order in which they came.
    pieces: Vec<(u64, SearchPiece)>,
    piece_ids: FxHashSet<(ContentId, u64)>,
    /// Grows with whatever comes.
    count: u64,
}

#[derive(Debug)]
struct MemoryLine {
    name: String,
    records: Vec<LogRecord>,
}

impl MemoryLog {
    /// Nothing panics while it is held, so no table is left half filled.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ScopeTable>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a scope; of none, the default.
    fn read_scope<T: Default>(&self, scope: &str, work: impl FnOnce(&ScopeTable) -> T) -> T {
        self.lock().get(scope).map(work).unwrap_or_default()
    }
}

impl RecordLog for MemoryLog {
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError> {
        let mut scopes = self.lock();
        if !scopes.contains_key(scope) {
            scopes.insert(scope.to_owned(), ScopeTable::default());
        }
        let Some(table) = scopes.get_mut(scope) else { return Ok(AppendOutcome::Moved) };
        Ok(table.append(batch))
    }

    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError> {
        let scopes = self.lock();
        let table = scopes.get(scope);
        let tail = |tail: &LineTail<'_>| {
            let first = usize::try_from(tail.from.saturating_sub(1)).unwrap_or(usize::MAX);
            let line = table.and_then(|table| table.line(tail.line));
            let records = line.map_or(&[][..], |line| &line.records);
            records.get(first..).unwrap_or_default().to_vec()
        };
        Ok(tails.iter().map(tail).collect())
    }

    fn passing_seed(&self) -> Option<u64> {
        Some(*SEED)
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        let scopes = self.lock();
        let filled = scopes.iter().filter(|(_, table)| !table.lines.is_empty());
        Ok(filled.map(|(name, _)| name.clone()).collect())
    }

    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        let names = |table: &ScopeTable| table.lines.values().map(|it| it.name.clone()).collect();
        Ok(self.read_scope(scope, names))
    }

    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
        let scopes = self.lock();
        let table = scopes.get(scope);
        let lines = |asked: &KeyQuery| {
            let numbers = table.and_then(|table| table.keys.get(&asked.key)).into_iter().flatten();
            let lines = numbers.rev().filter_map(|number| table?.lines.get(number));
            lines.take(asked.most).map(|line| line.name.clone()).collect()
        };
        Ok(keys.iter().map(lines).collect())
    }

    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
        Ok(self.read_scope(scope, |table| {
            let only = query.line.map(|line| table.names.get(line).copied());
            let mut found = BTreeMap::new();
            for range in query.ids {
                let of_all = (*range.start(), 0)..=(*range.end(), u64::MAX);
                let wanted = table
                    .blobs
                    .range(of_all)
                    .filter(|((_, line), _)| only.is_none_or(|only| only == Some(*line)));
                found.extend(wanted.map(|(_, (order, blob))| (*order, blob.clone())));
            }
            found.into_values().collect()
        }))
    }

    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError> {
        Ok(self.read_scope(scope, |table| {
            let wanted = |piece: &&SearchPiece| query.wants(&piece.line);
            table.pieces.iter().map(|(_, piece)| piece).filter(wanted).cloned().collect()
        }))
    }

    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
        Ok(self.read_scope(scope, |table| {
            let own = table.pieces.iter().map(|(_, piece)| piece);
            own.filter(|piece| piece.line == line).cloned().collect()
        }))
    }

    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
        if let Some(table) = self.lock().get_mut(scope) {
            table.erase(line, what);
        }
        Ok(())
    }
}

impl ScopeTable {
    fn line(&self, name: &str) -> Option<&MemoryLine> {
        self.lines.get(self.names.get(name)?)
    }

    /// Where a line ends.
    fn end(&self, line: &str) -> LinePosition {
        let last = self.line(line).and_then(|line| line.records.last());
        last.map_or_else(LinePosition::default, LogRecord::position)
    }

    fn append(&mut self, batch: LogBatch) -> AppendOutcome {
        let is_elsewhere = |given: &LineEnd| self.end(&given.line) != given.position;
        if self.end(&batch.line) != batch.after || batch.given.as_ref().is_some_and(is_elsewhere) {
            return AppendOutcome::Moved;
        }
        self.count += 1;
        let stamp = self.count;
        let number = match self.names.get(&batch.line) {
            Some(&number) => number,
            None => {
                self.names.insert(batch.line.clone(), stamp);
                stamp
            }
        };
        for key in batch.records.iter().filter_map(|record| record.key) {
            self.keys.entry(key).or_default().insert(number);
        }
        let new = || MemoryLine { name: batch.line.clone(), records: Vec::new() };
        let line = self.lines.entry(number).or_insert_with(new);
        line.records.extend(batch.records.into_iter().map(|it| LogRecord { stamp, ..it }));
        for blob in batch.blobs {
            self.count += 1;
            let count = self.count;
            self.blobs.entry((blob.id, number)).or_insert_with(|| (count, blob));
        }
        for piece in batch.pieces {
            if self.piece_ids.insert((piece.id, number)) {
                self.pieces.push((number, piece));
            }
        }
        AppendOutcome::Done { stamp }
    }

    fn erase(&mut self, name: &str, what: &Erasure) {
        let Some(&number) = self.names.get(name) else { return };
        if *what == Erasure::Line {
            self.names.remove(name);
            self.lines.remove(&number);
            self.keys.retain(|_, lines| {
                lines.remove(&number);
                !lines.is_empty()
            });
        }
        let line = self.lines.get_mut(&number);
        for record in line.into_iter().flat_map(|line| &mut line.records) {
            if what.takes_record(record.seq) {
                record.body = None;
            }
        }
        self.blobs.retain(|(id, line), _| *line != number || !what.takes_blob(*id));
        let ids = &mut self.piece_ids;
        self.pieces.retain(|(line, piece)| {
            let goes = *line == number && what.takes_piece(piece);
            if goes {
                ids.remove(&(piece.id, number));
            }
            !goes
        });
    }
}
