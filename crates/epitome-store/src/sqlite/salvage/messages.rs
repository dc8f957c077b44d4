//! The histories of the messages that were found: one that is gone leaves its place.
//!
//! Invariant: what stood behind a message that is gone still stands there. Called by [`super::mend`].

use std::collections::BTreeMap;

use epitome_kernel::types::{EntryKey, HistoryHash};
use rusqlite::{Connection, Row, params};
use rustc_hash::FxHashMap;

use super::super::fail::Fail;
use super::super::tree::LOST;

/// What says where a message stands.
#[derive(Clone, Copy, PartialEq)]
struct Node {
    id: i64,
    chain: HistoryHash,
    parent: Option<i64>,
    branch: i64,
    place: u32,
    key: EntryKey,
    session: i64,
}

/// The messages that stand where they belong.
struct SettledMessages<'a> {
    store: &'a Connection,
    /// By their numbers: each behind the one that it follows.
    known: BTreeMap<i64, Node>,
    /// By branch and place.
    at: FxHashMap<(i64, u32), i64>,
    /// What a branch goes on from, and where it begins.
    branches: FxHashMap<i64, (Option<i64>, u32)>,
}

/// Has each message follow the one that it followed.
pub(super) fn settle(store: &Connection) -> Result<(), Fail> {
    let mut branches = store.prepare("SELECT id, parent, start FROM branch")?;
    let branches = branches.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    let mut settled = SettledMessages {
        store,
        known: BTreeMap::new(),
        at: FxHashMap::default(),
        branches: branches.collect::<rusqlite::Result<_>>()?,
    };
    let mut nodes = store.prepare(
        "SELECT message.id, message.chain, parent, branch, place, key,
             message.session, listed.chain
         FROM message LEFT JOIN listed ON listed.id = message.id ORDER BY message.id",
    )?;
    let nodes = nodes.query_map([], |row| Ok((node(row)?, row.get::<_, Option<_>>(7)?)))?;
    for found in nodes.collect::<rusqlite::Result<Vec<_>>>()? {
        settled.settle(found.0, found.1.map(HistoryHash))?;
    }
    Ok(())
}

fn node(row: &Row<'_>) -> rusqlite::Result<Node> {
    Ok(Node {
        id: row.get(0)?,
        chain: HistoryHash(row.get(1)?),
        parent: row.get(2)?,
        branch: row.get(3)?,
        place: row.get(4)?,
        key: EntryKey(row.get(5)?),
        session: row.get(6)?,
    })
}

impl SettledMessages<'_> {
    /// Puts a message behind the one that it follows; `listed` is its history as the index has it.
    fn settle(&mut self, found: Node, listed: Option<HistoryHash>) -> Result<(), Fail> {
        let mut node = found;
        let ways = self.ways(&node);
        let ends = |way: &Option<i64>| {
            way.and_then(|id| self.known.get(&id)).map_or_else(HistoryHash::default, |it| it.chain)
        };
        let sound = ways.iter().find(|way| ends(way).append(node.key) == node.chain);
        // Where what led here is gone as a whole it follows what its session said before.
        let earlier = |it: &&Node| it.session == node.session && it.place < node.place;
        let newest = || self.known.values().rev().find(earlier).map(|it| it.id);
        node.parent = sound.or(ways.first()).copied().unwrap_or_else(newest);
        if sound.is_none() {
            let expected = ends(&node.parent).append(node.key);
            match listed == Some(expected) && node.key != LOST {
                true => node.chain = expected,
                false => node.key = LOST,
            }
        }
        let above = node.parent.and_then(|id| self.known.get(&id));
        node.place = above.map_or(0, |above| above.place + 1);
        if node != found {
            let sql = "UPDATE OR IGNORE message SET chain = ?2, parent = ?3, place = ?4, key = ?5
                WHERE id = ?1";
            let values = params![node.id, node.chain.0, node.parent, node.place, node.key.0];
            self.store.prepare_cached(sql)?.execute(values)?;
        }
        self.at.insert((found.branch, found.place), node.id);
        self.known.insert(node.id, node);
        Ok(())
    }

    /// The messages that it may follow, the likeliest first; none for the beginning.
    fn ways(&self, node: &Node) -> Vec<Option<i64>> {
        if node.parent.is_none() && (node.place == 0 || node.key != LOST) {
            return vec![None];
        }
        let at = |branch, place: u32| self.at.get(&(branch, place.checked_sub(1)?)).copied();
        let told = node.parent.filter(|id| self.known.contains_key(id));
        let above = self.branches.get(&node.branch).filter(|(_, start)| *start == node.place);
        let above = above.and_then(|(above, start)| at((*above)?, *start));
        [told, at(node.branch, node.place), above].into_iter().flatten().map(Some).collect()
    }
}
