//! The sessions that hold the first messages of a request.
//!
//! Invariant: whoever holds a history holds its beginning, so the middle tells which half to look in.
//! Called by [`super::journal`].

use std::collections::BTreeMap;

use epitome_kernel::types::HistoryHash;
use epitome_kernel::{Clue, Holder};
use rusqlite::{Connection, params};

use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use super::tree;
use crate::batch;

/// The index of the deepest of these histories that a session recorded.
pub(crate) fn deepest(
    connection: &Connection,
    owner: Owner,
    chains: &[HistoryHash],
) -> Result<Option<usize>, Fail> {
    let found = batch::deepest(chains, |chain| tree::find(connection, owner, chain))?;
    Ok(found.map(|(index, _)| index))
}

/// The sessions that may be the one that a request goes on from.
pub(crate) fn all(
    connection: &Connection,
    scope: i64,
    clue: &Clue<'_>,
) -> Result<Vec<Holder>, Fail> {
    let mut found: BTreeMap<SessionRowId, usize> = BTreeMap::new();
    for session in labeled(connection, scope, clue)? {
        let index = deepest(connection, Owner { scope, session }, clue.chains)?;
        found.insert(session, index.map_or(0, |index| index + 1));
    }
    let (from, most) = batch::reach(clue);
    let others = batch::deepest(&clue.chains[from..], |chain| any(connection, scope, clue, chain))?;
    if let Some((index, ())) = others {
        let deepest = from + index;
        for index in (from..=deepest).rev().take(most) {
            for session in holding(connection, scope, clue, clue.chains[index])? {
                found.entry(session).or_insert(index + 1);
            }
        }
    }
    let held = found
        .into_iter()
        .map(|(id, shared)| holder(connection, Owner { scope, session: id }, shared, clue));
    held.collect()
}

/// The sessions under the label of a request.
fn labeled(
    connection: &Connection,
    scope: i64,
    clue: &Clue<'_>,
) -> rusqlite::Result<Vec<SessionRowId>> {
    let Some(label) = clue.label else { return Ok(Vec::new()) };
    connection
        .prepare_cached(
            "SELECT id FROM session WHERE scope = ?1 AND label = ?2 AND format IN (?3, '')",
        )?
        .query_map(params![scope, label, clue.format], |row| row.get(0))?
        .collect()
}

/// Whether any session holds a history.
fn any(
    connection: &Connection,
    scope: i64,
    clue: &Clue<'_>,
    chain: HistoryHash,
) -> rusqlite::Result<Option<()>> {
    let found = connection.prepare_cached(&format!("SELECT 1 {HOLDING}"))?.exists(params![
        scope,
        chain.0,
        clue.format
    ])?;
    Ok(found.then_some(()))
}

/// The sessions that hold a history, as many as are looked at: the newest, since a client goes on from
/// what it began last.
fn holding(
    connection: &Connection,
    scope: i64,
    clue: &Clue<'_>,
    chain: HistoryHash,
) -> rusqlite::Result<Vec<SessionRowId>> {
    connection
        .prepare_cached(&format!("SELECT session.id {HOLDING} ORDER BY session.id DESC LIMIT 64"))?
        .query_map(params![scope, chain.0, clue.format], |row| row.get(0))?
        .collect()
}

/// Messages of sessions of an API that end a history.
const HOLDING: &str = "FROM message JOIN session ON session.id = message.session
    WHERE message.scope = ?1 AND message.chain = ?2 AND session.format = ?3";

fn holder(
    connection: &Connection,
    Owner { scope, session }: Owner,
    shared: usize,
    clue: &Clue<'_>,
) -> Result<Holder, Fail> {
    let last = shared.checked_sub(1).map_or_else(HistoryHash::default, |last| clue.chains[last]);
    let (name, label, head, opened) = connection
        .prepare_cached("SELECT name, label, head, opened FROM session WHERE id = ?1")?
        .query_row([session], |row| {
            Ok((row.get(0)?, row.get(1)?, HistoryHash(row.get(2)?), row.get::<_, u32>(3)?))
        })?;
    let (mut answered, mut has_drawn) = (0, false);
    let next = (clue.answers)(shared);
    let length = next.as_ref().map_or(1, |next| next.length);
    if let Some(chain) = clue.chains.get(shared + length - 1) {
        let mut statement = connection.prepare_cached(
            "SELECT chain = ?4, bytes FROM answer WHERE scope = ?1 AND after = ?2 AND session = ?3
             AND (chain = ?4 OR text = ?5)",
        )?;
        let text = next.as_ref().map(|next| next.text.0);
        let mut rows = statement.query(params![scope, last.0, session, chain.0, text])?;
        while let Some(row) = rows.next()? {
            let is_same: Option<bool> = row.get(0)?;
            let bytes = row.get_ref(1)?.as_bytes_or_null().ok().flatten();
            answered = length;
            has_drawn |= is_same == Some(true) || batch::has_drawn(bytes, next.as_ref());
        }
    }
    let (ends, opened) = (head == last, opened as usize);
    let left = !tree::is_one_way(connection, Owner { scope, session }, last, head)?;
    Ok(Holder { session: name, label, shared, ends, left, answered, has_drawn, opened })
}
