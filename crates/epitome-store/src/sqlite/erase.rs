//! Erasing a message: its content goes wherever it is kept, its place stays.
//!
//! Invariant: afterwards no page of the file holds what it said. Called by [`super::archive`].

use epitome_kernel::StoreError;
use epitome_kernel::types::{ContentId, EntryKey};
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::checksum::{ERASED, MESSAGE, REWRITE, SESSION, ScopeChecksum};
use super::fail::Fail;
use super::{act, answer, compaction, delete, memo, remove, tree};
use crate::content;
use crate::lineage::MessageForest;

/// Erases all messages that say this; gives how many epochs went.
pub(crate) fn message(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    key: EntryKey,
) -> Result<u32, Fail> {
    let scope = ledger.scope;
    let messages: Vec<(i64, Option<[u8; 16]>, [u8; 16])> = connection
        .prepare_cached("SELECT id, raw, text FROM message WHERE scope = ?1 AND key = ?2")?
        .query_map(params![scope, key.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let (mut told, answered) = answer::erase(connection, ledger, key)?;
    if messages.is_empty() && !answered {
        return Err(StoreError::Unknown { id: key.to_string() }.into());
    }
    let raws: FxHashSet<[u8; 16]> = messages.iter().filter_map(|(_, raw, _)| *raw).collect();
    for (id, _, text) in &messages {
        let bytes = tree::bytes(connection, *id)?;
        untitle(connection, ledger, bytes.as_deref())?;
        told.add(ContentId(*text), bytes.as_deref());
    }
    for (id, ..) in messages {
        ledger.change(connection, &MESSAGE, id, "raw = NULL, bytes = NULL, indexed = 1", &[])?;
    }
    remove::raw(connection, ledger, raws)?;
    act::erase(connection, ledger, &told)?;
    let mut gone = told.addresses();
    gone.extend(departed(connection, scope, key)?);
    gone.extend(compaction::rewritten(connection, scope, key)?);
    gone.extend(compaction::appended(connection, scope)?);
    let quoting = format!("(key = ?2 OR {})", compaction::APPENDED);
    remove::rows(connection, ledger, &REWRITE, &quoting, params![key.0])?;
    let tree = remove::lineage(connection, scope)?;
    for session in tree.hearers(key, &delete::needed(connection, scope)?) {
        memo::forget(connection, ledger, session)?;
    }
    let (went, quoting) = epochs(connection, ledger, &tree, key)?;
    gone.extend(quoting);
    let needed = needed(connection, scope)?;
    for &id in gone.difference(&needed) {
        remove::text(connection, ledger, id)?;
    }
    remove::from_index(connection)?;
    ledger.insert(connection, &ERASED, params![key.0], &[])?;
    ledger.seen += 1;
    Ok(went)
}

/// The addresses of what left prompts of a message, in the words that it was sent in.
fn departed(
    connection: &Connection,
    scope: i64,
    key: EntryKey,
) -> rusqlite::Result<FxHashSet<ContentId>> {
    let sources: Vec<String> = connection
        .prepare_cached(
            "SELECT session.name, place FROM message JOIN session ON session.id = message.session
             WHERE message.scope = ?1 AND key = ?2",
        )?
        .query_map(params![scope, key.0], |row| {
            Ok(content::source(&row.get::<_, String>(0)?, row.get(1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut found = FxHashSet::default();
    let mut statement = connection
        .prepare_cached("SELECT id, source FROM blob WHERE scope = ?1 AND source IS NOT NULL")?;
    let mut rows = statement.query([scope])?;
    while let Some(row) = rows.next()? {
        let source: String = row.get(1)?;
        if sources.iter().any(|it| content::is_of(&source, it)) {
            found.insert(ContentId(row.get(0)?));
        }
    }
    Ok(found)
}

/// Deletes the epochs whose run may hold the message: how many, and the addresses of their texts.
fn epochs(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    tree: &MessageForest,
    key: EntryKey,
) -> Result<(u32, FxHashSet<ContentId>), Fail> {
    let (mut went, mut texts) = (0, FxHashSet::default());
    for (row, _, epoch) in remove::epochs(connection, ledger.scope)? {
        if tree.may_hold(&epoch.covered, key) {
            remove::epoch(connection, ledger, row, epoch.id)?;
            texts.extend(content::of_epoch(&epoch));
            went += 1;
        }
    }
    Ok((went, texts))
}

/// The texts that epochs and rewrites which stay refer to.
fn needed(connection: &Connection, scope: i64) -> Result<FxHashSet<ContentId>, Fail> {
    let mut needed = FxHashSet::default();
    for (.., epoch) in remove::epochs(connection, scope)? {
        needed.extend(content::of_epoch(&epoch));
    }
    let mut statement =
        connection.prepare_cached("SELECT text, original FROM rewrite WHERE scope = ?1")?;
    let mut rows = statement.query([scope])?;
    while let Some(row) = rows.next()? {
        needed.extend([ContentId(row.get(0)?), ContentId(row.get(1)?)]);
    }
    Ok(needed)
}

/// Takes the titles away that were made of a message.
fn untitle(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    bytes: Option<&[u8]>,
) -> rusqlite::Result<()> {
    let titles: Vec<(i64, String)> = connection
        .prepare_cached("SELECT id, title FROM session WHERE scope = ?1 AND title != ''")?
        .query_map([ledger.scope], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, title) in titles {
        if content::made(&title, bytes) {
            ledger.change(connection, &SESSION, id, "title = ''", &[])?;
        }
    }
    Ok(())
}
