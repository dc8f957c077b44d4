//! The log: what each call of the port asks the database.
//!
//! Invariant: as in the crate's: what is said to be written is committed.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;
use epitome_store::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LinePosition, LineTail, LogBatch, LogRecord,
    PieceQuery, RecordKey, RecordLog, SearchPiece, StoredBlob,
};
use postgres::Row;
use postgres::types::{FromSql, ToSql, Type};

use crate::address::PostgresAddress;
use crate::connection::Connection;
use crate::deadline::{Deadline, LastTime};
use crate::lane::{Lane, LaneError};
use crate::lanes::Lanes;
use crate::schema::{Migrated, NEWEST, migrate};
use crate::statement::{self, AppendStatement, number};

/// What is not possible where the server refuses.
const READ: &str = "cannot be read";
const WRITTEN: &str = "cannot be written";

/// So long a call waits for a server that is away: longer than it takes to start one again.
const PATIENCE: Duration = Duration::from_secs(4);

/// So many pieces are looked at where any of them will do.
const NEWEST_PIECES: i64 = 10_000;

/// So often a server that is away is asked whether it is back, however many wait for that.
const PROBE: Duration = Duration::from_secs(2);

/// A log in PostgreSQL.
pub struct PostgresLog {
    lanes: Lanes,
    probed: Mutex<LastTime>,
}

impl fmt::Debug for PostgresLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresLog({})", self.lanes.address())
    }
}

impl PostgresLog {
    /// Connects to a database, and makes its tables or brings them to the newest version.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where it cannot be reached or refuses; [`StoreError::Newer`] where a newer
    /// program made its tables.
    pub fn open(address: PostgresAddress) -> Result<Self, StoreError> {
        let path = address.to_string();
        let lanes = Lanes::new(address, PATIENCE)?;
        let migrated = lanes.call(|lane, until| {
            lane.once(until, |connection| migrate(&mut connection.client))
                .map_err(|error| lane.broken("cannot be opened", error))
        })?;
        match migrated {
            Migrated::Done => Ok(Self { lanes, probed: Mutex::default() }),
            Migrated::Newer(found) => Err(StoreError::Newer { found, known: NEWEST }),
            Migrated::Unusable(cause) => {
                Err(StoreError::Broken { path, what: "cannot be opened", cause })
            }
        }
    }

    /// Asks for rows, and reads each.
    fn rows<T: Send + 'static>(
        &self,
        query: &'static str,
        places: OwnedPlaces,
        read: fn(&Row) -> Result<T, String>,
    ) -> Result<Vec<T>, StoreError> {
        let path = self.lanes.address().to_string();
        let rows = self.lanes.call(move |lane, until| {
            let places: Vec<statement::Place<'_>> =
                places.iter().map(|(value, of)| (&**value as _, of.clone())).collect();
            lane.again(until, READ, |connection| match query {
                statement::READ | statement::FIND => connection.ask_again(query, &places),
                _ => connection.ask(query, &places),
            })
        })?;
        let read = rows.iter().map(read).collect::<Result<_, _>>();
        read.map_err(|what| StoreError::Damaged { what: format!("{path}: {what}") })
    }
}

/// Values that a statement takes, handed to the thread that sends it.
type OwnedPlaces = Vec<OwnedPlace>;
type OwnedPlace = (Box<dyn ToSql + Sync + Send>, Type);

fn place(value: impl ToSql + Sync + Send + 'static, of: Type) -> OwnedPlace {
    (Box::new(value), of)
}

fn text(text: &str) -> OwnedPlace {
    place(text.to_owned(), Type::TEXT)
}

fn bytes_of(ids: impl Iterator<Item = [u8; 16]>) -> Vec<Vec<u8>> {
    ids.map(|id| id.to_vec()).collect()
}

impl RecordLog for PostgresLog {
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError> {
        let Some(append) = AppendStatement::new(scope, batch) else {
            return Ok(AppendOutcome::Moved);
        };
        self.lanes.call(move |lane, until| appended(lane, until, &append))
    }

    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError> {
        let lines: Vec<String> = tails.iter().map(|tail| tail.line.to_owned()).collect();
        let first: Vec<i64> = tails.iter().map(|tail| number(tail.from)).collect();
        let places =
            vec![text(scope), place(lines, Type::TEXT_ARRAY), place(first, Type::INT8_ARRAY)];
        let rows = self.rows(statement::READ, places, |row| {
            Ok((column::<i64>(row, 6)?, record(row).unwrap_or_else(|_| unreadable(row))))
        })?;
        let mut found = vec![Vec::new(); tails.len()];
        rows.into_iter().for_each(|(place, record)| put_at(&mut found, place, record));
        Ok(found)
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        self.rows(statement::SCOPES, Vec::new(), name)
    }

    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        self.rows(statement::LINES, vec![text(scope)], name)
    }

    fn end(&self, scope: &str, line: &str) -> Result<Option<LinePosition>, StoreError> {
        let end = |row: &Row| {
            let sum = hash(row, 1).unwrap_or_default();
            Ok(LinePosition { seq: unsigned(row, 0)?, sum })
        };
        Ok(self.rows(statement::END, vec![text(scope), text(line)], end)?.pop())
    }

    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
        let wanted = bytes_of(keys.iter().map(|asked| asked.key.0));
        let most = keys.iter().map(|asked| i64::try_from(asked.most).unwrap_or(i64::MAX));
        let most: Vec<i64> = most.collect();
        let places =
            vec![text(scope), place(wanted, Type::BYTEA_ARRAY), place(most, Type::INT8_ARRAY)];
        let found = self.rows(statement::FIND, places, |row| {
            Ok((column::<i64>(row, 0)?, column::<String>(row, 1)?))
        })?;
        let mut lines = vec![Vec::new(); keys.len()];
        found.into_iter().for_each(|(place, line)| put_at(&mut lines, place, line));
        Ok(lines)
    }

    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
        let first = bytes_of(query.ids.iter().map(|range| range.start().0));
        let last = bytes_of(query.ids.iter().map(|range| range.end().0));
        let ranges: OwnedPlaces =
            vec![place(first, Type::BYTEA_ARRAY), place(last, Type::BYTEA_ARRAY)];
        let (asked, places) = match query.line {
            Some(line) => (statement::BLOBS_OF_LINE, vec![text(scope), text(line)]),
            None => (statement::BLOBS, vec![text(scope)]),
        };
        self.rows(asked, places.into_iter().chain(ranges).collect(), blob)
    }

    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError> {
        let terms = query.terms();
        let line = place(query.line.map(str::to_owned), Type::TEXT);
        let is_any = terms.is_empty();
        let limit = match is_any {
            true => place(NEWEST_PIECES, Type::INT8),
            false => place(terms, Type::TEXT_ARRAY),
        };
        let asked = if is_any { statement::NEWEST_PIECES } else { statement::PIECES };
        self.rows(asked, vec![text(scope), line, limit], piece)
    }

    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
        let line = place(Some(line.to_owned()), Type::TEXT);
        let all = place(i64::MAX, Type::INT8);
        self.rows(statement::NEWEST_PIECES, vec![text(scope), line, all], piece)
    }

    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
        let (scope, line, what) = (scope.to_owned(), line.to_owned(), what.clone());
        self.lanes.call(move |lane, until| {
            // Done again it takes nothing more, so it may be.
            lane.again(until, WRITTEN, |connection| {
                let mut work = connection.client.transaction()?;
                let Some(held) = work.query_opt(statement::HOLD_LINE, &[&scope, &line])? else {
                    return Ok(());
                };
                let (of, held): (i64, i64) = (held.get(0), held.get(1));
                match &what {
                    Erasure::Line => {
                        for remove in statement::REMOVE_LINE {
                            work.execute(remove, &[&of, &held])?;
                        }
                    }
                    Erasure::Contents { records, blobs } => {
                        let records: Vec<i64> = records.iter().map(|seq| number(*seq)).collect();
                        let blobs = bytes_of(blobs.iter().map(|id| id.0));
                        work.execute(statement::ERASE_BODIES, &[&of, &held, &records])?;
                        work.execute(statement::ERASE_PIECES, &[&of, &held, &blobs])?;
                        work.execute(statement::ERASE_BLOBS, &[&of, &held, &blobs])?;
                    }
                }
                work.commit()
            })
        })
    }

    fn rebuild(&self, scope: &str, line: &str) -> Result<(), StoreError> {
        let pieces = self.all_pieces(scope, line)?;
        let ids = bytes_of(pieces.iter().map(|piece| piece.id.0));
        let terms: Vec<String> = pieces.iter().map(statement::joined_terms).collect();
        let (scope, line) = (scope.to_owned(), line.to_owned());
        self.lanes.call(move |lane, until| {
            lane.again(until, WRITTEN, |connection| {
                let mut work = connection.client.transaction()?;
                let Some(held) = work.query_opt(statement::HOLD_LINE, &[&scope, &line])? else {
                    return Ok(());
                };
                let (of, held): (i64, i64) = (held.get(0), held.get(1));
                for make in statement::REBUILD_LINE {
                    work.execute(make, &[&of, &held])?;
                }
                work.execute(statement::REBUILD_TERMS, &[&of, &held, &ids, &terms])?;
                work.commit()
            })
        })
    }

    fn name(&self) -> String {
        self.lanes.address().to_string()
    }

    fn wait_at_most(&self, patience: Duration) {
        self.lanes.wait_at_most(patience);
    }

    fn is_well(&self) -> bool {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        if !probed.is_due(PROBE) {
            return false;
        }
        drop(probed);
        let asked =
            |connection: &mut Connection| connection.client.simple_query("SELECT 1").map(drop);
        self.lanes.call(move |lane, until| lane.again(until, READ, asked)).is_ok()
    }
}

/// Adds a batch. Where the connection is lost the line itself tells whether the batch is there; where it
/// is not, it is sent again, and is still only taken behind the end that it was made for.
fn appended(
    lane: &mut Lane,
    until: Deadline,
    append: &AppendStatement,
) -> Result<AppendOutcome, StoreError> {
    let text = append.text();
    let stamp = |rows: &[Row]| -> Option<i64> { rows.first().map(|row| row.get(0)) };
    loop {
        let lost = match lane
            .once(until, |connection| connection.ask_again(&text, &append.places()))
        {
            Ok(rows) => match outcome(stamp(&rows)) {
                // The first of its scope.
                AppendOutcome::Moved if append.is_first && makes_scope(lane, until, append)? => {
                    continue;
                }
                done => return Ok(done),
            },
            Err(error @ LaneError::Refused(_)) => {
                return Err(lane.broken(WRITTEN, error));
            }
            Err(lost) => lost,
        };
        if !until.leaves(Duration::ZERO) {
            return Err(lane.broken(WRITTEN, lost));
        }
        let written =
            |connection: &mut Connection| connection.ask(statement::WRITTEN, &append.end());
        if let Some(stamp) = stamp(&lane.again(until, READ, written)?) {
            return Ok(outcome(Some(stamp)));
        }
    }
}

/// Makes the scope of a batch; says whether there was none.
fn makes_scope(
    lane: &mut Lane,
    until: Deadline,
    append: &AppendStatement,
) -> Result<bool, StoreError> {
    let scope: [statement::Place<'_>; 1] = [(append.scope(), Type::TEXT)];
    let made = |connection: &mut Connection| connection.ask(statement::NEW_SCOPE, &scope);
    Ok(!lane.again(until, WRITTEN, made)?.is_empty())
}

fn outcome(stamp: Option<i64>) -> AppendOutcome {
    match stamp.and_then(|stamp| u64::try_from(stamp).ok()) {
        Some(stamp) => AppendOutcome::Done { stamp },
        None => AppendOutcome::Moved,
    }
}

/// Adds to the list at a place, of which the first is 1.
fn put_at<T>(lists: &mut [Vec<T>], place: i64, what: T) {
    if let Some(list) = usize::try_from(place - 1).ok().and_then(|at| lists.get_mut(at)) {
        list.push(what);
    }
}

/// A value of a row.
fn column<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, String> {
    row.try_get(at).map_err(|error| error.to_string())
}

fn name(row: &Row) -> Result<String, String> {
    column(row, 0)
}

/// Sixteen bytes of a row.
fn hash(row: &Row, at: usize) -> Result<[u8; 16], String> {
    let bytes: &[u8] = column(row, at)?;
    bytes.try_into().map_err(|_| format!("an id has {} bytes, expected 16", bytes.len()))
}

/// A text of a row, which is kept as bytes.
fn kept_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn unsigned(row: &Row, at: usize) -> Result<u64, String> {
    let number: i64 = column(row, at)?;
    u64::try_from(number).map_err(|_| format!("a number is negative: {number}"))
}

fn record(row: &Row) -> Result<LogRecord, String> {
    let kind: i32 = column(row, 1)?;
    let key: Option<&[u8]> = column(row, 2)?;
    Ok(LogRecord {
        seq: unsigned(row, 0)?,
        kind: u16::try_from(kind).map_err(|_| format!("there is no kind of record {kind}"))?,
        key: key.map(|_| hash(row, 2)).transpose()?.map(RecordKey),
        stamp: unsigned(row, 3)?,
        body: column(row, 4)?,
        sum: hash(row, 5)?,
    })
}

/// What can be read of a row that holds no whole record: it costs itself, since it follows none as it is.
fn unreadable(row: &Row) -> LogRecord {
    let kind = column::<i32>(row, 1).ok().and_then(|kind| u16::try_from(kind).ok());
    LogRecord {
        seq: unsigned(row, 0).unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        key: hash(row, 2).ok().map(RecordKey),
        stamp: unsigned(row, 3).unwrap_or_default(),
        body: column(row, 4).unwrap_or_default(),
        sum: hash(row, 5).unwrap_or_default(),
    }
}

/// A blob; one that cannot be read is at an address that is not its own.
fn blob(row: &Row) -> Result<StoredBlob, String> {
    let source: Option<&[u8]> = column(row, 2)?;
    Ok(StoredBlob {
        line: column(row, 0)?,
        id: ContentId(hash(row, 1).unwrap_or_default()),
        source: source.map(kept_text),
        bytes: column(row, 3)?,
    })
}

/// A piece; a text that cannot be read is not the one that its address says.
fn piece(row: &Row) -> Result<SearchPiece, String> {
    let span = match (column::<Option<i64>>(row, 4)?, column::<Option<i64>>(row, 5)?) {
        (Some(first), Some(last)) => u64::try_from(first).ok().zip(u64::try_from(last).ok()),
        _ => None,
    };
    Ok(SearchPiece {
        line: column(row, 0)?,
        id: ContentId(hash(row, 1).unwrap_or_default()),
        original: ContentId(hash(row, 2).unwrap_or_default()),
        source: kept_text(column(row, 3)?),
        span: span.map(|(first, last)| [first, last]),
        text: kept_text(column(row, 6)?),
    })
}
