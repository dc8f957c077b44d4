//! What a session has that leaves another at a place: what was decided there up to that place.
//!
//! Invariant: nothing that was recorded behind the place comes along, and what comes along is the new
//! session's own. Called by [`super::journal`].

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash};
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::checksum::{ACT, HELD, MARK, SESSION, ScopeChecksum};
use super::fail::Fail;
use super::owner::SessionRowId;
use super::{compaction, memo, session, tree};
use crate::content;
use crate::marks::Way;

/// Gives a new session what another one had when it came to a place.
pub(crate) fn up_to(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    heir: SessionRowId,
    parent: &str,
    place: HistoryHash,
) -> Result<(), Fail> {
    let (parent, info) = session::named(connection, Some(ledger.scope), parent)?;
    let owner = ledger.owner(parent);
    let said = tree::history(connection, owner, place, 0, usize::MAX)?;
    let way = Way::of(&said, info.head == place);
    let hand = Hand { connection, from: parent, to: heir };
    for said in &said {
        hand.share(ledger, content::addresses(said.text, said.bytes.as_deref()))?;
    }
    acts(&hand, ledger, &way)?;
    let undone = marks(&hand, ledger, &way)?;
    let sql = format!("{} FROM epoch WHERE session = ?1 ORDER BY id", compaction::COLUMNS);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([parent])?;
    while let Some(row) = rows.next()? {
        let (at, place): (String, Option<[u8; 16]>) = (row.get(15)?, row.get(18)?);
        let place = place.map(HistoryHash);
        if !way.had(place, &at) {
            continue;
        }
        let known = compaction::recorded(connection, row)?.epoch;
        hand.share(ledger, content::of_epoch(&known))?;
        compaction::add(connection, ledger, heir, &known, place)?;
        if undone.contains(&known.id.0) {
            let id: i64 = connection
                .prepare_cached("SELECT id FROM epoch WHERE session = ?1 AND epoch = ?2")?
                .query_row(params![heir, known.id.0], |row| row.get(0))?;
            ledger.change(connection, &super::checksum::EPOCH, id, "undone = 1", &[])?;
        }
    }
    let keys: Vec<EntryKey> = said.iter().map(|said| said.key).collect();
    for rewrite in compaction::rewrites(connection, owner, &keys)? {
        ledger.insert(connection, &HELD, params![rewrite.original.0, heir], &[])?;
        compaction::rewrite(connection, ledger, heir, &rewrite)?;
    }
    if way.is_whole {
        memo::replace(
            connection,
            ledger,
            heir,
            &memo::of_session(connection, ledger.scope, parent)?,
        )?;
        let meter = session::meter(connection, ledger.scope, &info.name)?;
        ledger.change(
            connection,
            &SESSION,
            heir,
            "meter = ?2",
            params![session::written(&meter)?],
        )?;
    }
    ledger.seen += 1;
    Ok(())
}

/// Lets one session hold what another one holds, so that what names it finds it there.
pub(crate) struct Hand<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) from: SessionRowId,
    pub(crate) to: SessionRowId,
}

impl Hand<'_> {
    /// Shares those of these texts that the one holds.
    pub(crate) fn share(
        &self,
        ledger: &mut ScopeChecksum,
        texts: impl IntoIterator<Item = ContentId>,
    ) -> rusqlite::Result<()> {
        for id in texts {
            let held = self
                .connection
                .prepare_cached(
                    "SELECT 1 FROM held WHERE scope = ?1 AND blob = ?2 AND session = ?3",
                )?
                .exists(params![ledger.scope, id.0, self.from])?;
            if held {
                ledger.insert(self.connection, &HELD, params![id.0, self.to], &[])?;
            }
        }
        Ok(())
    }
}

fn acts(hand: &Hand<'_>, ledger: &mut ScopeChecksum, way: &Way) -> Result<(), Fail> {
    let Hand { connection, from: parent, to: heir } = *hand;
    let sql = "SELECT id, act, place FROM act WHERE scope = ?1 AND session = ?2";
    let sql = format!("{sql} AND {} ORDER BY id", ACT.is_whole);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![ledger.scope, parent])?;
    while let Some(row) = rows.next()? {
        let (written, place): (String, Option<[u8; 16]>) = (row.get(1)?, row.get(2)?);
        if way.had(place.map(HistoryHash), &super::act::read(row)?.at) {
            ledger.insert(connection, &ACT, params![heir, written, place], &[])?;
        }
    }
    Ok(())
}

/// Gives the epochs that are taken back.
fn marks(
    hand: &Hand<'_>,
    ledger: &mut ScopeChecksum,
    way: &Way,
) -> Result<FxHashSet<[u8; 16]>, Fail> {
    let Hand { connection, from: parent, to: heir } = *hand;
    let sql = "SELECT kind, target, at, place FROM mark WHERE scope = ?1 AND session = ?2";
    let sql = format!("{sql} AND {} ORDER BY id", MARK.is_whole);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![ledger.scope, parent])?;
    let mut undone = FxHashSet::default();
    while let Some(row) = rows.next()? {
        let (kind, target): (String, [u8; 16]) = (row.get(0)?, row.get(1)?);
        let (at, place): (String, Option<[u8; 16]>) = (row.get(2)?, row.get(3)?);
        if !way.had(place.map(HistoryHash), &at) {
            continue;
        }
        match &*kind {
            "undo" => drop(undone.insert(target)),
            "redo" => drop(undone.remove(&target)),
            _ => {}
        }
        ledger.insert(connection, &MARK, params![kind, target, heir, at, place], &[])?;
    }
    Ok(undone)
}
