//! A store of the host's own: lists of what came, each with its scope, looked through from end to
//! end. What it promises is said at `RecordLog`; the conformance suite holds it to that.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome::port::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LinePosition, LineTail, LogBatch, LogRecord,
    PieceQuery, RecordLog, SearchPiece, StoreError, StoredBlob,
};

/// Everything that is kept.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    lines: Vec<Line>,
    blobs: Vec<(String, StoredBlob)>,
    pieces: Vec<(String, SearchPiece)>,
    stamp: u64,
}

#[derive(Debug)]
struct Line {
    scope: String,
    name: String,
    records: Vec<LogRecord>,
}

impl Shelf {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn line(&mut self, scope: &str, name: &str) -> Option<&mut Line> {
        self.lines.iter_mut().find(|line| line.scope == scope && line.name == name)
    }

    fn end(&mut self, scope: &str, name: &str) -> LinePosition {
        let last = self.line(scope, name).and_then(|line| line.records.last());
        last.map(LogRecord::position).unwrap_or_default()
    }
}

impl RecordLog for Shelf {
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError> {
        let mut kept = self.kept();
        let mut ends = |line: &str, position| kept.end(scope, line) == position;
        let given = batch.given.iter().all(|given| ends(&given.line, given.position));
        if !given || !ends(&batch.line, batch.after) {
            return Ok(AppendOutcome::Moved);
        }
        kept.stamp += 1;
        let stamp = kept.stamp;
        let records = batch.records.into_iter().map(|record| LogRecord { stamp, ..record });
        match kept.line(scope, &batch.line) {
            Some(line) => line.records.extend(records),
            None => {
                let (scope, name) = (scope.to_owned(), batch.line);
                kept.lines.push(Line { scope, name, records: records.collect() });
            }
        }
        for new in batch.blobs {
            let is_new = |(of, it): &(String, StoredBlob)| {
                of != scope || (&it.line, it.id) != (&new.line, new.id)
            };
            if kept.blobs.iter().all(is_new) {
                kept.blobs.push((scope.to_owned(), new));
            }
        }
        for new in batch.pieces {
            let is_new = |(of, it): &(String, SearchPiece)| {
                of != scope || (&it.line, it.id) != (&new.line, new.id)
            };
            if kept.pieces.iter().all(is_new) {
                kept.pieces.push((scope.to_owned(), new));
            }
        }
        Ok(AppendOutcome::Done { stamp })
    }

    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError> {
        let mut kept = self.kept();
        let tail = |tail: &LineTail<'_>| {
            let records = kept.line(scope, tail.line).map_or(&[][..], |line| &line.records);
            records.iter().filter(|record| record.seq >= tail.from).cloned().collect()
        };
        Ok(tails.iter().map(tail).collect())
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        let all: BTreeSet<_> = self.kept().lines.iter().map(|line| line.scope.clone()).collect();
        Ok(all.into_iter().collect())
    }

    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        let kept = self.kept();
        let own = kept.lines.iter().filter(|line| line.scope == scope);
        Ok(own.map(|line| line.name.clone()).collect())
    }

    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
        let kept = self.kept();
        let holders = |asked: &KeyQuery| {
            let holds = |line: &&Line| line.records.iter().any(|it| it.key == Some(asked.key));
            let own = kept.lines.iter().filter(|line| line.scope == scope).rev();
            own.filter(holds).take(asked.most).map(|line| line.name.clone()).collect()
        };
        Ok(keys.iter().map(holders).collect())
    }

    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
        let kept = self.kept();
        let own = kept.blobs.iter().filter(|(of, it)| of == scope && query.wants(&it.line, it.id));
        Ok(own.map(|(_, blob)| blob.clone()).collect())
    }

    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError> {
        let kept = self.kept();
        let own = kept.pieces.iter().filter(|(of, it)| of == scope && query.wants(&it.line));
        Ok(own.map(|(_, piece)| piece.clone()).collect())
    }

    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
        let kept = self.kept();
        let own = kept.pieces.iter().filter(|(of, it)| of == scope && it.line == line);
        Ok(own.map(|(_, piece)| piece.clone()).collect())
    }

    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
        let mut kept = self.kept();
        if *what == Erasure::Line {
            kept.lines.retain(|it| it.scope != scope || it.name != line);
        } else if let Some(line) = kept.line(scope, line) {
            let erased = line.records.iter_mut().filter(|record| what.takes_record(record.seq));
            erased.for_each(|record| record.body = None);
        }
        let other = |of: &str, its_line: &str| of != scope || its_line != line;
        kept.blobs.retain(|(of, it)| other(of, &it.line) || !what.takes_blob(it.id));
        kept.pieces.retain(|(of, it)| other(of, &it.line) || !what.takes_piece(it));
        Ok(())
    }
}
