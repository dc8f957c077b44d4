//! A session read as a whole, so that it can go on elsewhere.
//!
//! Invariant: what goes on in memory is read part by part: where one is damaged the others are given.
//! Called by [`crate::FallbackStore`], and by [`super::transfer`].

use epitome_kernel::types::{
    ContentId, EntryKey, HistoryHash, JournalMark, RecordedCompaction, SessionInfo, TokenUsage,
};
use epitome_kernel::{MessageRecord, ResponseRecord};
use rusqlite::{Connection, params};

use super::checksum::MARK;
use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use super::{SqliteStore, act, answer, compaction, journal, memo, session, tree};
use crate::copied::{CopiedAnswer, CopiedMessage, SessionCopy, SessionFacts};

impl SqliteStore {
    /// What can be read of a session, and what was erased in its scope; `None` where there is none, or
    /// not even that can be read.
    pub(crate) fn copy_of(&self, scope: &str, name: &str) -> Option<(SessionCopy, Vec<EntryKey>)> {
        let copy = self.read(|connection| {
            let Some(scope) = journal::number(connection, scope)? else { return Ok(None) };
            let Some((id, info)) = session::find(connection, scope, name)? else {
                return Ok(None);
            };
            let erased = erased(connection, scope).unwrap_or_default();
            Ok(Some((read(connection, Owner { scope, session: id }, info), erased)))
        });
        copy.ok().flatten()
    }
}

fn read(connection: &Connection, owner: Owner, info: SessionInfo) -> SessionCopy {
    let Owner { scope, session: id } = owner;
    let head = info.head;
    let said = tree::history(connection, owner, head, 0, usize::MAX).unwrap_or_default();
    let keys: Vec<_> = said.iter().map(|said| said.key).collect();
    let newest = answer::newest(connection, scope, id, head).ok().flatten();
    let newest = newest.filter(|_| !said.is_empty());
    let meter = session::meter(connection, scope, &info.name).ok().unwrap_or_default();
    let beside = |table, count| {
        let known = places(connection, table, owner, head).unwrap_or_default();
        known.into_iter().chain(std::iter::repeat(head)).take(count)
    };
    let epochs: Vec<RecordedCompaction> =
        compaction::of_session(connection, id).unwrap_or_default();
    let acts = act::of_session(connection, scope, id).unwrap_or_default();
    let opened = opened(connection, id).unwrap_or(info.figures.messages);
    let memos = memo::of_session(connection, scope, id).unwrap_or_default();
    let length = said.len();
    let indexed = true;
    let mut after = HistoryHash::default();
    let said = said.into_iter().map(|said| {
        // The search of this store knows it, or will.
        let after = std::mem::replace(&mut after, said.chain);
        CopiedMessage { after, said, indexed }
    });
    SessionCopy {
        rewrites: compaction::rewrites(connection, owner, &keys).unwrap_or_default(),
        epochs: beside("epoch", epochs.len()).zip(epochs).collect(),
        acts: beside("act", acts.len()).zip(acts).collect(),
        marks: marks(connection, owner, head).unwrap_or_default(),
        answers: newest
            .map(|last| CopiedAnswer { answer: answered(head, length, last), indexed })
            .into_iter()
            .collect(),
        facts: Some(SessionFacts { info, opened, meter, memos }),
        said: said.collect(),
        ..SessionCopy::default()
    }
}

/// How many of its first messages came without a record of who said them.
pub(crate) fn opened(connection: &Connection, session: SessionRowId) -> rusqlite::Result<u32> {
    connection
        .prepare_cached("SELECT opened FROM session WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
}

/// Where a session stood when something was done to it, oldest first. Older versions recorded no
/// place: then it belongs to all that the session came to.
pub(crate) fn places(
    connection: &Connection,
    table: &str,
    Owner { scope, session }: Owner,
    head: HistoryHash,
) -> rusqlite::Result<Vec<HistoryHash>> {
    let sql = format!("SELECT place FROM {table} WHERE scope = ?1 AND session = ?2 ORDER BY id");
    let mut statement = connection.prepare_cached(&sql)?;
    let known = statement.query_map(params![scope, session], |row| {
        Ok(row.get::<_, Option<[u8; 16]>>(0)?.map_or(head, HistoryHash))
    })?;
    known.collect()
}

/// What was done to a session by hand, with where it stood then.
pub(crate) fn marks(
    connection: &Connection,
    Owner { scope, session }: Owner,
    head: HistoryHash,
) -> Result<Vec<(HistoryHash, JournalMark)>, Fail> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT kind, target, place FROM mark WHERE scope = ?1 AND session = ?2 AND {}
         ORDER BY id",
        MARK.is_whole
    ))?;
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
        is_whole: false,
    }
}
