//! A session read as a whole, so that it can go on in memory.
//!
//! Invariant: each of its parts is read by itself: where one is damaged the others are given. Called
//! by [`crate::FallbackStore`].

use epitome_kernel::types::{
    ContentId, EntryKey, HistoryHash, JournalMark, RecordedCompaction, SessionInfo, TokenUsage,
};
use epitome_kernel::{MessageRecord, ResponseRecord};
use rusqlite::{Connection, params};

use super::fail::Fail;
use super::session::SessionRowId;
use super::tree::Owner;
use super::{SqliteStore, act, answer, compaction, journal, memo, session, tree};
use crate::copied::SessionCopy;

impl SqliteStore {
    /// What can be read of a session; `None` where there is none, or not even that can be read.
    pub(crate) fn copy_of(&self, scope: &str, name: &str) -> Option<SessionCopy> {
        let copy = self.read(|connection| {
            let Some(scope) = journal::number(connection, scope)? else { return Ok(None) };
            let Some((id, info)) = session::find(connection, scope, name)? else {
                return Ok(None);
            };
            Ok(Some(read(connection, Owner { scope, session: id }, info)))
        });
        copy.ok().flatten()
    }
}

fn read(connection: &Connection, owner: Owner, info: SessionInfo) -> SessionCopy {
    let Owner { scope, session: id } = owner;
    let head = info.head;
    let said = tree::history(connection, owner, head, 0, usize::MAX).unwrap_or_default();
    let keys: Vec<_> = said.iter().map(|said| said.key).collect();
    let meter = session::meter(connection, scope, &info.name).ok();
    let newest = answer::newest(connection, scope, id, head).ok().flatten();
    let beside = |table, count| places(connection, table, owner, head, count);
    let epochs: Vec<RecordedCompaction> =
        compaction::of_session(connection, id).unwrap_or_default();
    let acts = act::of_session(connection, scope, id).unwrap_or_default();
    SessionCopy {
        opened: opened(connection, id).unwrap_or(info.figures.messages),
        meter: meter.unwrap_or_default(),
        rewrites: compaction::rewrites(connection, owner, &keys).unwrap_or_default(),
        epochs: beside("epoch", epochs.len()).into_iter().zip(epochs).collect(),
        acts: beside("act", acts.len()).into_iter().zip(acts).collect(),
        marks: marks(connection, owner, head).unwrap_or_default(),
        memos: memo::of_session(connection, scope, id).unwrap_or_default(),
        answer: newest.map(|last| answered(head, said.len(), last)),
        erased: erased(connection, scope).unwrap_or_default(),
        info,
        said,
    }
}

/// How many of its first messages came without a record of who said them.
fn opened(connection: &Connection, session: SessionRowId) -> rusqlite::Result<u32> {
    connection
        .prepare_cached("SELECT opened FROM session WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
}

/// Where a session stood when something was done to it, oldest first. Older versions recorded no
/// place: then it belongs to all that the session came to.
fn places(
    connection: &Connection,
    table: &str,
    Owner { scope, session }: Owner,
    head: HistoryHash,
    count: usize,
) -> Vec<HistoryHash> {
    let sql = format!("SELECT place FROM {table} WHERE scope = ?1 AND session = ?2 ORDER BY id");
    let read = || -> rusqlite::Result<Vec<Option<[u8; 16]>>> {
        connection
            .prepare_cached(&sql)?
            .query_map(params![scope, session], |row| row.get(0))?
            .collect()
    };
    let known = read().unwrap_or_default().into_iter();
    let places = known.map(|place| place.map_or(head, HistoryHash));
    places.chain(std::iter::repeat(head)).take(count).collect()
}

fn marks(
    connection: &Connection,
    Owner { scope, session }: Owner,
    head: HistoryHash,
) -> Result<Vec<(HistoryHash, JournalMark)>, Fail> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, target, place FROM mark WHERE scope = ?1 AND session = ?2 ORDER BY id",
    )?;
    let mut rows = statement.query(params![scope, session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let target: [u8; 16] = row.get(1)?;
        let mark = match row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)? {
            "undo" => JournalMark::Undo(ContentId(target)),
            "redo" => JournalMark::Redo(ContentId(target)),
            "pin" => JournalMark::Pin(EntryKey(target)),
            _ => JournalMark::Unpin(EntryKey(target)),
        };
        let place: Option<[u8; 16]> = row.get(2)?;
        found.push((place.map_or(head, HistoryHash), mark));
    }
    Ok(found)
}

/// What was erased in a scope.
pub(crate) fn erased(connection: &Connection, scope: i64) -> rusqlite::Result<Vec<EntryKey>> {
    connection
        .prepare_cached("SELECT key FROM erased WHERE scope = ?1")?
        .query_map([scope], |row| row.get(0).map(EntryKey))?
        .collect()
}

/// An answer as it was recorded, but for what the provider counted of its prompt.
fn answered(after: HistoryHash, length: usize, said: MessageRecord) -> ResponseRecord {
    ResponseRecord {
        after,
        ahead: said.place.saturating_sub(u32::try_from(length).unwrap_or(u32::MAX)),
        key: Some(said.key),
        chain: said.chain,
        bytes: said.bytes,
        text: said.text,
        usage: TokenUsage { output: said.tokens, ..TokenUsage::default() },
        stop: None,
        at: said.at.unwrap_or_default(),
    }
}
