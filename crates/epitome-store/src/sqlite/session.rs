//! Sessions in the database: a row for each, with running sums.
//!
//! Invariant: a row says all that a list of sessions shows, so that listing reads no message.
//! Called by [`super::journal`] and [`super::archive`].

use epitome_kernel::types::{HistoryHash, MeterReading, SessionFigures, SessionInfo, TokenUsage};
use epitome_kernel::{Beginning, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::checksum::{SESSION, ScopeChecksum};
use super::fail::Fail;
use super::owner::SessionRowId;
use epitome_kernel::nearest;

/// Selects what [`info`] reads.
const INFO: &str = "SELECT id, name, title, format, model, started, last, head, messages, turns, \
    came, sent, all_came, all_sent, size, trashed, \
    (SELECT count(*) FROM epoch WHERE epoch.session = session.id AND NOT undone), label \
    FROM session";

fn info(row: &Row<'_>) -> rusqlite::Result<(SessionRowId, SessionInfo)> {
    let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
    Ok((
        row.get(0)?,
        SessionInfo {
            name: row.get(1)?,
            title: row.get(2)?,
            format: row.get(3)?,
            model: row.get(4)?,
            started: row.get(5)?,
            last: row.get(6)?,
            head: HistoryHash(row.get(7)?),
            figures: SessionFigures {
                messages: row.get(8)?,
                turns: count(9)?,
                tokens: [count(10)?, count(11)?],
                total: [count(12)?, count(13)?],
                limit: count(14)?,
                compressions: row.get(16)?,
                // Summed up only where somebody looks: see `answer`.
                answers: 0,
                usage: TokenUsage::default(),
            },
            trashed: row.get(15)?,
            label: row.get(17)?,
        },
    ))
}

/// A session by its name.
pub(crate) fn find(
    connection: &Connection,
    scope: i64,
    name: &str,
) -> rusqlite::Result<Option<(SessionRowId, SessionInfo)>> {
    connection
        .prepare_cached(&[INFO, " WHERE scope = ?1 AND name = ?2"].concat())?
        .query_row(params![scope, name], info)
        .optional()
}

/// The number of a session.
pub(crate) fn number(
    connection: &Connection,
    scope: i64,
    name: &str,
) -> rusqlite::Result<Option<SessionRowId>> {
    connection
        .prepare_cached("SELECT id FROM session WHERE scope = ?1 AND name = ?2")?
        .query_row(params![scope, name], |row| row.get(0))
        .optional()
}

/// A session by its name.
///
/// # Errors
///
/// [`StoreError::NoSession`] with the name that is nearest.
pub(crate) fn named(
    connection: &Connection,
    scope: Option<i64>,
    name: &str,
) -> Result<(SessionRowId, SessionInfo), Fail> {
    let found = scope.map(|scope| find(connection, scope, name)).transpose()?.flatten();
    if let Some(found) = found {
        return Ok(found);
    }
    let names: Vec<String> = connection
        .prepare_cached("SELECT name FROM session WHERE scope = ?1 ORDER BY used DESC")?
        .query_map([scope], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
    Err(StoreError::NoSession { name: name.to_owned(), nearest }.into())
}

/// Sessions in which something was said, the one used last first.
pub(crate) fn list(
    connection: &Connection,
    scope: i64,
    skip: usize,
    most: usize,
    trashed: bool,
) -> rusqlite::Result<Vec<(SessionRowId, SessionInfo)>> {
    let bound = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    connection
        .prepare_cached(&format!(
            "{INFO} WHERE scope = ?1 AND messages > 0 AND (?2 OR NOT trashed)
             ORDER BY used DESC, id DESC LIMIT ?4 OFFSET ?3"
        ))?
        .query_map(params![scope, trashed, bound(skip), bound(most)], info)?
        .collect()
}

/// The name of a session.
pub(crate) fn name(connection: &Connection, id: SessionRowId) -> rusqlite::Result<String> {
    connection
        .prepare_cached("SELECT name FROM session WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
}

/// Adds an empty session.
pub(crate) fn begin(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    name: &str,
    beginning: &Beginning,
    at: &str,
) -> rusqlite::Result<SessionRowId> {
    let none = HistoryHash::default().0;
    ledger.insert(
        connection,
        &SESSION,
        params![
            name,
            "",
            "",
            None::<String>,
            at,
            at,
            none,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0.0,
            0,
            0,
            beginning.label,
            beginning.opened,
            None::<String>
        ],
        &[],
    )?;
    Ok(connection.last_insert_rowid())
}

/// Counts the newest request as one that went out as it came.
pub(crate) fn went_whole(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    id: SessionRowId,
) -> rusqlite::Result<()> {
    const WHOLE: &str = "all_sent = all_sent + max(came - sent, 0), sent = came";
    ledger.change(connection, &SESSION, id, WHOLE, &[])
}

/// What its trigger goes by, as its newest request said. Older versions recorded the rent alone.
pub(crate) fn meter(
    connection: &Connection,
    scope: i64,
    name: &str,
) -> rusqlite::Result<MeterReading> {
    let found = connection
        .prepare_cached("SELECT meter, rent FROM session WHERE scope = ?1 AND name = ?2")?
        .query_row(params![scope, name], |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<f64>>(1)?))
        })
        .optional()?;
    let (meter, rent) = found.unwrap_or_default();
    let of_rent = MeterReading { rent: rent.unwrap_or_default(), ..MeterReading::default() };
    Ok(meter.and_then(|meter| serde_json::from_str(&meter).ok()).unwrap_or(of_rent))
}

/// Makes a reading what its trigger goes by.
pub(crate) fn measure(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    id: i64,
    meter: &MeterReading,
) -> Result<(), Fail> {
    Ok(ledger.change(connection, &SESSION, id, "meter = ?2", params![written(meter)?])?)
}

/// A reading as it is recorded.
pub(crate) fn written(meter: &MeterReading) -> rusqlite::Result<String> {
    serde_json::to_string(meter)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
