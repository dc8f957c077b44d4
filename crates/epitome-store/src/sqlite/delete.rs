//! Deleting a session for good.
//!
//! Invariant: what another session or snapshot leads to stays whole; older versions recorded messages
//! once for several.
//! Called by [`super::archive`].

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::checksum::{
    BLOB, BRANCH, HELD, MARK, MESSAGE, REWRITE, SESSION, SNAPSHOT, ScopeChecksum,
};
use super::fail::Fail;
use super::inherit::Hand;
use super::owner::{Owner, SessionRowId};
use super::{act, answer, memo, passages, remove, tree};
use crate::content;
use crate::lineage::{DeletionPlan, MessageForest, NOBODY};

/// Deletes a session; gives how many messages went.
pub(crate) fn session(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    name: &str,
) -> Result<u32, Fail> {
    let (doomed, _) = super::session::named(connection, Some(ledger.scope), name)?;
    remove::rows(connection, ledger, &SNAPSHOT, "session = ?2", params![name])?;
    ledger.delete(connection, &SESSION, doomed)?;
    memo::forget(connection, ledger, doomed)?;
    answer::forget(connection, ledger, doomed)?;
    act::forget(connection, ledger, doomed)?;
    let before = remove::lineage(connection, ledger.scope)?;
    let estate = before.estate(doomed, &needed(connection, ledger.scope)?);
    let after = before.after(&estate);
    let mut will = DeletionRun { connection, ledger, doomed };
    will.leave(&estate)?;
    let keys = will.bury(&estate)?;
    will.rewrites(&keys, &after)?;
    will.epochs()?;
    will.marks()?;
    will.passages()?;
    will.texts()?;
    remove::from_index(connection)?;
    Ok(u32::try_from(estate.gone.len()).unwrap_or(u32::MAX))
}

/// The messages that sessions and snapshots lead to, each with its session.
pub(crate) fn needed(
    connection: &Connection,
    scope: i64,
) -> rusqlite::Result<Vec<(i64, SessionRowId)>> {
    let heads: Vec<([u8; 16], SessionRowId)> = connection
        .prepare_cached(
            "SELECT head, id FROM session WHERE scope = ?1
             UNION ALL SELECT snapshot.head, session.id FROM snapshot
             JOIN session ON session.scope = snapshot.scope AND session.name = snapshot.session
             WHERE snapshot.scope = ?1",
        )?
        .query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut needed = Vec::new();
    for (head, session) in heads {
        let end = tree::on_way(connection, Owner { scope, session }, HistoryHash(head))?;
        needed.extend(end.map(|node| (node.id, session)));
    }
    Ok(needed)
}

/// An address or a key, as a row holds it.
type Id = [u8; 16];

/// A deletion on its way.
struct DeletionRun<'a> {
    connection: &'a Connection,
    ledger: &'a mut ScopeChecksum,
    doomed: SessionRowId,
}

impl DeletionRun<'_> {
    /// Hands over the messages that stay, with their texts.
    fn leave(&mut self, estate: &DeletionPlan) -> Result<(), Fail> {
        for &(id, heir) in &estate.left {
            let (text, chain): ([u8; 16], [u8; 16]) = self
                .connection
                .prepare_cached("SELECT text, chain FROM message WHERE id = ?1")?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            // Of a history that an older version recorded for several the heir may have its own.
            let own = tree::find(self.connection, self.ledger.owner(heir), HistoryHash(chain))?;
            let (owner, set) = match own {
                Some(_) => (NOBODY, "session = ?2, indexed = 1"),
                None => (heir, "session = ?2"),
            };
            self.ledger.change(self.connection, &MESSAGE, id, set, params![owner])?;
            let bytes = tree::bytes(self.connection, id)?;
            self.hand_over(content::addresses(ContentId(text), bytes.as_deref()), heir)?;
        }
        Ok(())
    }

    /// Lets another session hold those of these texts that this one holds.
    fn hand_over(
        &mut self,
        texts: impl IntoIterator<Item = ContentId>,
        heir: SessionRowId,
    ) -> rusqlite::Result<()> {
        let hand = Hand { connection: self.connection, from: self.doomed, to: heir };
        hand.share(self.ledger, texts)
    }

    /// Deletes the messages that nobody needs; gives what they said.
    fn bury(&mut self, estate: &DeletionPlan) -> Result<FxHashSet<EntryKey>, Fail> {
        let (mut keys, mut raws) = (FxHashSet::default(), FxHashSet::default());
        for &id in &estate.gone {
            let (key, raw): ([u8; 16], Option<[u8; 16]>) = self
                .connection
                .prepare_cached("SELECT key, raw FROM message WHERE id = ?1")?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            keys.insert(EntryKey(key));
            raws.extend(raw);
            self.ledger.delete(self.connection, &MESSAGE, id)?;
        }
        remove::raw(self.connection, self.ledger, raws)?;
        // Numbers of messages may be given again, in any scope.
        self.connection.execute(
            "UPDATE scope SET indexed = min(indexed, coalesce((SELECT max(id) FROM message), 0))",
            [],
        )?;
        let empty = "NOT EXISTS (SELECT 1 FROM message WHERE message.branch = branch.id)";
        remove::rows(self.connection, self.ledger, &BRANCH, empty, &[])?;
        Ok(keys)
    }

    /// Deletes its rewrites; of those that an older version recorded for all sessions at once, those of
    /// what nobody says any longer.
    fn rewrites(&mut self, gone: &FxHashSet<EntryKey>, after: &MessageForest) -> Result<(), Fail> {
        let heirs: FxHashMap<EntryKey, SessionRowId> = after.sayers();
        let own = "session = ?2";
        remove::rows(self.connection, self.ledger, &REWRITE, own, params![self.doomed])?;
        let found: Vec<(i64, Id, Id, Id)> = self
            .connection
            .prepare_cached(
                "SELECT rowid, key, text, original FROM rewrite WHERE scope = ?1 AND session = 0",
            )?
            .query_map([self.ledger.scope], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (row, key, text, original) in found {
            match heirs.get(&EntryKey(key)) {
                Some(&heir) => self.hand_over([ContentId(text), ContentId(original)], heir)?,
                None if gone.contains(&EntryKey(key)) => {
                    self.ledger.delete(self.connection, &REWRITE, row)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Deletes its epochs: they are in force in no other session.
    fn epochs(&mut self) -> Result<(), Fail> {
        let mut went = false;
        for (row, session, epoch) in remove::epochs(self.connection, self.ledger.scope)? {
            if session == self.doomed {
                remove::epoch(self.connection, self.ledger, row, epoch.id)?;
                went = true;
            }
        }
        self.ledger.seen += i64::from(went);
        Ok(())
    }

    /// Leaves its marks to nobody: its number may be given to another session.
    fn marks(&mut self) -> Result<(), Fail> {
        let marks: Vec<i64> = self
            .connection
            .prepare_cached("SELECT id FROM mark WHERE scope = ?1 AND session = ?2")?
            .query_map(params![self.ledger.scope, self.doomed], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for mark in marks {
            let nobody = params![passages::NO_SESSION];
            self.ledger.change(self.connection, &MARK, mark, "session = ?2", nobody)?;
        }
        Ok(())
    }

    /// Deletes its passages; what others said too is found under them.
    fn passages(&mut self) -> Result<(), Fail> {
        let own: Vec<(i64, Id)> = self
            .connection
            .prepare_cached("SELECT id, holder FROM passage WHERE scope = ?1 AND session = ?2")?
            .query_map(params![self.ledger.scope, self.doomed], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (row, holder) in own {
            remove::passage(self.connection, self.ledger, row, holder)?;
        }
        Ok(())
    }

    /// Lets go of all texts, and deletes those that nobody holds.
    fn texts(&mut self) -> Result<(), Fail> {
        let held: Vec<[u8; 16]> = self
            .connection
            .prepare_cached("SELECT blob FROM held WHERE session = ?1")?
            .query_map([self.doomed], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        remove::rows(self.connection, self.ledger, &HELD, "session = ?2", params![self.doomed])?;
        for id in held {
            let needed = self
                .connection
                .prepare_cached(
                    "SELECT 1 FROM held WHERE scope = ?1 AND blob = ?2
                     UNION ALL SELECT 1 FROM passage
                     WHERE scope = ?1 AND text_id = ?2 AND holder = ?2 AND original != ?2",
                )?
                .exists(params![self.ledger.scope, id])?;
            match needed {
                true => self.rename(id)?,
                false => remove::text(self.connection, self.ledger, ContentId(id))?,
            }
        }
        Ok(())
    }

    /// Calls an original as others do who said it: where it was called by this session's name, by
    /// that of the first whose passages are known.
    fn rename(&mut self, id: Id) -> rusqlite::Result<()> {
        let named: Option<(i64, String)> = self
            .connection
            .prepare_cached(
                "SELECT blob.rowid, passage.source FROM blob JOIN passage
                     ON passage.scope = blob.scope AND passage.original = blob.id
                 WHERE blob.scope = ?1 AND blob.id = ?2 AND blob.source NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM passage AS other WHERE other.scope = ?1
                     AND other.original = ?2 AND other.source = blob.source)
                 ORDER BY passage.id LIMIT 1",
            )?
            .query_row(params![self.ledger.scope, id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match named {
            Some((row, source)) => {
                self.ledger.change(self.connection, &BLOB, row, "source = ?2", params![source])
            }
            None => Ok(()),
        }
    }
}
