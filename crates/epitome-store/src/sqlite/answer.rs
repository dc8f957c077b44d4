//! What came back for requests, in the database.
//!
//! Invariant: an answer stands beside the tree, never in it; it goes with its session, and its
//! content with the message that it became. Called by [`super::journal`] and [`super::archive`],
//! and by [`super::erase`] and [`super::delete`] when it is to go for good.

use std::collections::BTreeMap;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role, SessionInfo, TokenUsage};
use epitome_kernel::{MessageRecord, ResponseRecord};
use rusqlite::{Connection, Row, ToSql, params};
use rustc_hash::FxHashMap;

use super::checksum::{ANSWER, ScopeChecksum};
use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use super::{remove, tree};
use crate::content::ErasedContent;
use crate::copied::CopiedAnswer;

/// Selects what [`said`] reads.
const SAID: &str = "SELECT key, chain, place, raw, text, output, at, bytes, session FROM answer";

/// Records an answer.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    answer: &ResponseRecord,
) -> Result<(), Fail> {
    let end = tree::end_of(connection, ledger.owner(session), answer.after)?;
    let place = end.map_or(0, |node| node.place + 1) + answer.ahead;
    let kept = match answer.key {
        Some(key) if tree::is_erased(connection, ledger.scope, key)? => None,
        Some(_) => answer.bytes.as_ref(),
        None => None,
    };
    let (key, chain) = (answer.key, answer.key.map(|_| answer.chain));
    let TokenUsage { input, cache_read, cache_written, output } = answer.usage;
    ledger.insert(
        connection,
        &ANSWER,
        params![
            session,
            answer.after.0,
            place,
            key.map(|key| key.0),
            chain.map(|chain| chain.0),
            kept.map(|bytes| tree::address(bytes)),
            answer.text.0,
            input as i64,
            cache_read as i64,
            cache_written as i64,
            output as i64,
            answer.stop,
            answer.at,
            kept.is_none(),
        ],
        params![kept],
    )?;
    Ok(())
}

/// The newest answer to the newest message of a session.
pub(crate) fn newest(
    connection: &Connection,
    scope: i64,
    session: SessionRowId,
    head: HistoryHash,
) -> Result<Option<MessageRecord>, Fail> {
    let mut statement = connection.prepare_cached(&format!(
        "{SAID} WHERE scope = ?1 AND after = ?2 AND session = ?3 AND key NOT NULL
         ORDER BY id DESC LIMIT 1"
    ))?;
    let mut rows = statement.query(params![scope, head.0, session])?;
    rows.next()?.map(said).transpose()
}

/// All that came back in a session, oldest first; `lengths` are those of its histories.
pub(crate) fn all(
    connection: &Connection,
    Owner { scope, session }: Owner,
    lengths: &FxHashMap<HistoryHash, u32>,
) -> Result<Vec<CopiedAnswer>, Fail> {
    let mut statement = connection.prepare_cached(
        "SELECT after, place, key, chain, raw, text, input, cache_read, cache_written, output,
             stop, at, indexed, bytes
         FROM answer WHERE scope = ?1 AND session = ?2 ORDER BY id",
    )?;
    let mut rows = statement.query(params![scope, session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let after = HistoryHash(row.get(0)?);
        let length = lengths.get(&after).copied().unwrap_or_default();
        let (raw, bytes): (Option<[u8; 16]>, Option<Vec<u8>>) = (row.get(4)?, row.get(13)?);
        if raw != bytes.as_deref().map(tree::address) {
            return Err(Fail::damaged(format!("an answer to {after} is not what was kept")));
        }
        let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
        let usage = TokenUsage {
            input: count(6)?,
            cache_read: count(7)?,
            cache_written: count(8)?,
            output: count(9)?,
        };
        let answer = ResponseRecord {
            after,
            ahead: row.get::<_, u32>(1)?.saturating_sub(length),
            key: row.get::<_, Option<_>>(2)?.map(EntryKey),
            chain: row.get::<_, Option<_>>(3)?.map_or(after, HistoryHash),
            bytes,
            text: ContentId(row.get(5)?),
            usage,
            stop: row.get(10)?,
            at: row.get(11)?,
            is_whole: false,
        };
        found.push(CopiedAnswer { answer, indexed: row.get(12)? });
    }
    Ok(found)
}

/// Adds to the facts of a session what its provider counted.
pub(crate) fn sum_up(
    connection: &Connection,
    session: SessionRowId,
    info: &mut SessionInfo,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT input, cache_read, cache_written, output FROM answer WHERE session = ?1",
    )?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
        info.figures.answers += 1;
        info.figures.usage += TokenUsage {
            input: count(0)?,
            cache_read: count(1)?,
            cache_written: count(2)?,
            output: count(3)?,
        };
    }
    Ok(())
}

/// What the provider counted, by the history that was asked with.
pub(crate) fn usage(
    connection: &Connection,
    session: SessionRowId,
) -> rusqlite::Result<BTreeMap<HistoryHash, TokenUsage>> {
    let mut statement = connection.prepare_cached(
        "SELECT after, input, cache_read, cache_written, output FROM answer WHERE session = ?1",
    )?;
    let mut rows = statement.query([session])?;
    let mut by = BTreeMap::<HistoryHash, TokenUsage>::new();
    while let Some(row) = rows.next()? {
        let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
        *by.entry(HistoryHash(row.get(0)?)).or_default() += TokenUsage {
            input: count(1)?,
            cache_read: count(2)?,
            cache_written: count(3)?,
            output: count(4)?,
        };
    }
    Ok(by)
}

/// Answers that the search does not know yet and that nobody sent back as they are, oldest first,
/// each with its session.
pub(crate) fn unindexed(
    connection: &Connection,
    scope: i64,
    most: usize,
) -> Result<Vec<(String, MessageRecord)>, Fail> {
    let mut statement = connection.prepare_cached(&format!(
        "{SAID} WHERE scope = ?1 AND indexed = 0 AND NOT EXISTS
         (SELECT 1 FROM message WHERE message.scope = answer.scope AND message.chain = answer.chain
          AND message.session = answer.session)
         ORDER BY id LIMIT ?2"
    ))?;
    let mut rows = statement.query(params![scope, i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((super::session::name(connection, row.get(8)?)?, said(row)?));
    }
    Ok(found)
}

/// Whether a session has an answer that ends this history and that the search may still learn.
pub(crate) fn is_open(
    connection: &Connection,
    Owner { scope, session }: Owner,
    chain: HistoryHash,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM answer WHERE scope = ?1 AND chain = ?2 AND session = ?3
             AND raw NOT NULL AND indexed = 0",
        )?
        .exists(params![scope, chain.0, session])
}

/// Remembers that the search knows the answers of a session that end a history.
pub(crate) fn indexed(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    chain: HistoryHash,
) -> rusqlite::Result<()> {
    let open = "SELECT id FROM answer
        WHERE scope = ?1 AND chain = ?2 AND session = ?3 AND indexed = 0";
    for row in ids(connection, open, params![ledger.scope, chain.0, session])? {
        ledger.change(connection, &ANSWER, row, "indexed = 1", &[])?;
    }
    Ok(())
}

/// Erases all answers that say this, and those that messages which say it may have been; gives
/// what they told, and whether there was one that says it.
pub(crate) fn erase(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    key: EntryKey,
) -> rusqlite::Result<(ErasedContent, bool)> {
    let scope = ledger.scope;
    let same = "SELECT id FROM answer WHERE scope = ?1 AND key = ?2";
    let mut rows = ids(connection, same, params![scope, key.0])?;
    let found = !rows.is_empty();
    // An answer may have been several messages: it is recorded behind what stands before all of them.
    let same_place = "WITH RECURSIVE run (place, shared, session, parent) AS (
            SELECT place, shared, session, parent FROM message
            WHERE scope = ?1 AND key = ?2 AND role = 'assistant'
            UNION ALL
            SELECT run.place, run.shared, run.session, message.parent FROM run
            JOIN message ON message.id = run.parent AND message.role = 'assistant')
        SELECT answer.id FROM run
        LEFT JOIN message AS before ON before.id = run.parent
        JOIN answer ON answer.scope = ?1 AND answer.place = run.place
            AND answer.after = coalesce(before.chain, zeroblob(16))
            AND (run.shared = 1 OR answer.session = run.session)";
    rows.extend(ids(connection, same_place, params![scope, key.0])?);
    let mut told = ErasedContent::default();
    for row in rows {
        let (text, bytes): ([u8; 16], Option<Vec<u8>>) = connection
            .prepare_cached("SELECT text, bytes FROM answer WHERE id = ?1")?
            .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        told.add(ContentId(text), bytes.as_deref());
        ledger.change(connection, &ANSWER, row, "raw = NULL, bytes = NULL, indexed = 1", &[])?;
    }
    Ok((told, found))
}

/// Deletes all that a session got.
pub(crate) fn forget(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
) -> rusqlite::Result<()> {
    remove::rows(connection, ledger, &ANSWER, "session = ?2", params![session])
}

fn ids(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(sql)?.query_map(values, |row| row.get(0))?.collect()
}

/// An answer as the message that it will be.
fn said(row: &Row<'_>) -> Result<MessageRecord, Fail> {
    let key = EntryKey(row.get(0)?);
    let bytes = tree::undamaged(row.get(3)?, row.get(7)?);
    Ok(MessageRecord {
        chain: HistoryHash(row.get(1)?),
        key,
        place: row.get(2)?,
        role: Role::Assistant,
        bytes,
        text: ContentId(row.get(4)?),
        tokens: row.get::<_, i64>(5)? as u64,
        at: row.get(6)?,
    })
}
