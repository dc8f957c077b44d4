//! Batches to try a store with.
//!
//! Invariant: what is made twice from the same words is the same. Called by the rules.

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;

use super::{RuleBreach, TriedStore};
use crate::log::{
    AppendOutcome, KeyQuery, LinePosition, LineTail, LogBatch, LogRecord, RecordKey, SearchPiece,
    StoredBlob,
};

/// The scope of most rules.
pub(super) const SCOPE: &str = "local/default";

/// A record behind a position.
pub(super) fn record(after: LinePosition, body: &str) -> LogRecord {
    LogRecord::behind(after, 7, None, body.as_bytes().to_vec())
}

/// A batch of records with these bodies.
pub(super) fn batch(line: &str, after: LinePosition, bodies: &[&str]) -> LogBatch {
    let mut position = after;
    let made = bodies.iter().map(|body| {
        let record = record(position, body);
        position = record.position();
        record
    });
    LogBatch { line: line.to_owned(), after, records: made.collect(), ..LogBatch::default() }
}

/// The same with a record that is found by a key.
pub(super) fn keyed(line: &str, after: LinePosition, key: &str) -> LogBatch {
    let record = LogRecord::behind(after, 2, Some(self::key(key)), key.as_bytes().to_vec());
    LogBatch { line: line.to_owned(), after, records: vec![record], ..LogBatch::default() }
}

/// A key.
pub(super) fn key(of: &str) -> RecordKey {
    RecordKey::of("sample", of.as_bytes())
}

/// A blob of a line that says this.
pub(super) fn blob(line: &str, text: &str) -> StoredBlob {
    StoredBlob {
        line: line.to_owned(),
        id: ContentId::for_text(text),
        source: Some(format!("{line}: e0")),
        bytes: text.as_bytes().to_vec(),
    }
}

/// A piece of a line, cut from an original that says `of`.
pub(super) fn piece(line: &str, of: &str, text: &str) -> SearchPiece {
    let from = of.find(text).map(|from| from as u64);
    SearchPiece {
        line: line.to_owned(),
        id: ContentId::for_text(text),
        original: ContentId::for_text(of),
        source: format!("{line}: e0"),
        span: from.map(|from| [from, from + text.len() as u64]),
        text: text.to_owned(),
    }
}

/// Adds a batch that must be taken; gives its stamp.
pub(super) fn add(store: &TriedStore, scope: &str, batch: LogBatch) -> Result<u64, RuleBreach> {
    let line = batch.line.clone();
    match store.append(scope, batch)? {
        AppendOutcome::Done { stamp } => Ok(stamp),
        AppendOutcome::Moved => {
            Err(RuleBreach::of(format!("a batch behind the end of `{line}` is not taken")))
        }
    }
}

/// The records of a line from a number on.
pub(super) fn read(
    store: &TriedStore,
    scope: &str,
    line: &str,
    from: u64,
) -> Result<Vec<LogRecord>, StoreError> {
    Ok(store.read(scope, &[LineTail { line, from }])?.pop().unwrap_or_default())
}

/// The lines of keys, of each at most so many.
pub(super) fn find(
    store: &TriedStore,
    scope: &str,
    keys: &[RecordKey],
    most: usize,
) -> Result<Vec<Vec<String>>, StoreError> {
    let asked: Vec<_> = keys.iter().map(|&key| KeyQuery { key, most }).collect();
    store.find(scope, &asked)
}

/// Where a line ends.
pub(super) fn end(store: &TriedStore, scope: &str, line: &str) -> Result<LinePosition, StoreError> {
    let records = read(store, scope, line, 1)?;
    Ok(records.last().map(LogRecord::position).unwrap_or_default())
}

/// The bodies of a line.
pub(super) fn bodies(
    store: &TriedStore,
    scope: &str,
    line: &str,
) -> Result<Vec<Option<String>>, StoreError> {
    let text = |body: Vec<u8>| String::from_utf8_lossy(&body).into_owned();
    Ok(read(store, scope, line, 1)?.into_iter().map(|record| record.body.map(text)).collect())
}
