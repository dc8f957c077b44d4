//! Checking a store: nothing that was recorded may be missing or altered without being named.
//!
//! Invariant: only what can be derived anew is ever mended, and mending never hides a loss: it
//! changes rows without their ledger, which agrees again only if they are as they were. Called by
//! [`super::archive`].

use std::path::Path;

use crate::StoreFinding;
use epitome_kernel::StoreError;
use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, RecordedCompaction};
use rusqlite::{Connection, Row, params};
use rustc_hash::FxHashMap;

use super::checksum::{self, ScopeChecksum};
use super::fail::Fail;
use super::owner::Owner;
use super::{
    SqliteStore, StoreFile, act, compaction, file, fulltext, schema, sums, tree, use_mark,
};

/// What to do about what cannot be derived.
const RESTORE: &str = "restore a backup, or take what can be read into a new store: \
    `epitome store salvage PATH NEW`";

/// What to do about what can.
const REPAIR: &str = "run it again with `--repair`";

impl SqliteStore {
    /// Checks everything, in all scopes.
    pub(super) fn examine(&self, repair: bool) -> Result<Vec<StoreFinding>, StoreError> {
        let mut link = self.lock();
        let whole = |connection: &mut Connection| -> Result<Vec<StoreFinding>, Fail> {
            let behavior = match repair {
                true => rusqlite::TransactionBehavior::Immediate,
                false => rusqlite::TransactionBehavior::Deferred,
            };
            let transaction = connection.transaction_with_behavior(behavior)?;
            let mut check = Check { connection: &transaction, repair, findings: Vec::new() };
            check.file();
            check.attempt("the file", |check| check.end(&self.path));
            check.attempt("the tables", Check::schema);
            check.attempt("the file", Check::torn);
            // One that may only be read cannot keep that in mind.
            let is_kept = !check.connection.is_readonly("main")?;
            let alone = (!is_kept).then(|| use_mark::loss(&self.path, self.seal)).flatten();
            alone.into_iter().for_each(|what| check.lost(what));
            let scopes =
                check.attempt("the scopes", |check| Ok(checksum::scopes(check.connection)?));
            for name in scopes.unwrap_or_default() {
                check.scope(&name);
            }
            check.attempt("the index", Check::index);
            let findings = check.findings;
            transaction.commit()?;
            Ok(findings)
        };
        whole(&mut link.connection).map_err(|fail| fail.at(&self.path, "cannot be checked"))
    }

    /// Checks the store in a file as [`crate::SessionArchive::verify`] does, be it that the file is too
    /// damaged to be opened: what the database says of it then, and which tables cannot be read to
    /// their end. Nothing of such a file is mended.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where the file cannot be read at all, or is no store.
    pub fn check<'a>(
        file: impl Into<StoreFile<'a>>,
        repair: bool,
    ) -> Result<Vec<StoreFinding>, StoreError> {
        let file = file.into();
        let whole = || Self::open_existing(file)?.examine(repair);
        // An end that is torn is said once; then the store opens, and its records tell it.
        let examined = match whole() {
            Err(StoreError::Damaged { .. }) => whole(),
            examined => examined,
        };
        match examined {
            Err(StoreError::Damaged { what }) => Self::diagnose(file, what),
            examined => examined,
        }
    }
}

/// A check of what one scope holds.
type ScopeCheck<'a> = fn(&mut Check<'a>, i64) -> Result<(), Fail>;

/// A verification on its way.
pub(super) struct Check<'a> {
    pub(super) connection: &'a Connection,
    repair: bool,
    pub(super) findings: Vec<StoreFinding>,
}

impl<'a> Check<'a> {
    /// One that mends nothing.
    pub(super) fn looking(connection: &'a Connection) -> Self {
        Self { connection, repair: false, findings: Vec::new() }
    }

    /// One that mends what can be derived.
    pub(super) fn repairing(connection: &'a Connection) -> Self {
        Self { connection, repair: true, findings: Vec::new() }
    }

    /// Names something that cannot be derived.
    pub(super) fn lost(&mut self, what: String) {
        self.findings.push(StoreFinding { what, repaired: false, remedy: RESTORE.to_owned() });
    }

    /// Names something that can; `mend` is asked to where that is wanted.
    pub(super) fn derived(
        &mut self,
        what: String,
        mend: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), Fail> {
        if self.repair {
            mend(self.connection)?;
        }
        let remedy = if self.repair { "" } else { REPAIR }.to_owned();
        self.findings.push(StoreFinding { what, repaired: self.repair, remedy });
        Ok(())
    }

    /// Runs a check; that it cannot be run is a finding too.
    pub(super) fn attempt<T>(
        &mut self,
        place: &str,
        check: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Option<T> {
        match check(self) {
            Ok(result) => Some(result),
            Err(Fail::Sql(error)) => {
                self.lost(format!("{place} cannot be read: {error}"));
                None
            }
            Err(Fail::Port(error)) => {
                self.lost(format!("{place}: {error}"));
                None
            }
        }
    }

    /// The file itself, as the database sees it.
    pub(super) fn file(&mut self) {
        let found = self.attempt("the file", |check| check.integrity());
        for line in found.into_iter().flatten() {
            self.lost(format!("the file: {line}"));
        }
    }

    /// What the database finds wrong with the file.
    pub(super) fn integrity(&self) -> Result<Vec<String>, Fail> {
        let mut statement = self.connection.prepare("PRAGMA integrity_check")?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        let lines = lines.collect::<rusqlite::Result<Vec<_>>>()?;
        // The database heads its findings with a line that names none.
        Ok(lines.into_iter().filter(|line| line != "ok" && !line.starts_with("***")).collect())
    }

    /// The file ends with a whole page, as whoever writes it leaves it. The database takes what is
    /// missing of one for empty.
    fn end(&mut self, path: &Path) -> Result<(), Fail> {
        let size = |row: &Row<'_>| row.get::<_, u32>(0);
        let page = u64::from(self.connection.pragma_query_value(None, "page_size", size)?);
        let length = file::length(path).unwrap_or_default();
        if !length.is_multiple_of(page) {
            let left = length % page;
            self.lost(format!("the file: {left} of the {page} bytes of its last page are left"));
        }
        Ok(())
    }

    /// What was found missing when the file was opened. Mending is to stop telling it: the clients
    /// that go on send their history again.
    fn torn(&mut self) -> Result<(), Fail> {
        let mut statement = self.connection.prepare("SELECT what FROM damage ORDER BY rowid")?;
        let found =
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        for what in found {
            self.derived(what, |connection| {
                connection.execute("DELETE FROM damage", []).map(|_| ())
            })?;
        }
        Ok(())
    }

    /// The tables are those that this program makes.
    fn schema(&mut self) -> Result<(), Fail> {
        if schema::tables(self.connection)? != schema::expected()? {
            self.lost("the tables are not as this program made them".to_owned());
        }
        Ok(())
    }

    fn scope(&mut self, name: &str) {
        let found = self.attempt(name, |check| Ok(ScopeChecksum::find(check.connection, name)?));
        let Some(Some(ledger)) = found else { return };
        let scope = ledger.scope;
        let checks: [ScopeCheck<'a>; 9] = [
            Self::sums,
            Self::contents,
            Self::passages,
            Self::messages,
            Self::sessions,
            Self::answers,
            Self::acts,
            Self::epochs,
            Self::references,
        ];
        for check in checks {
            self.attempt(&format!("the scope `{name}`"), |this| check(this, scope));
        }
        self.attempt(&format!("the ledger of `{name}`"), |check| {
            if ledger.recounted(check.connection)? != ledger {
                check.lost(format!("`{name}`: the records are not those that were written"));
            }
            Ok(())
        });
    }

    /// Mends what a scope has that is derived from its records.
    pub(super) fn derived_of(&mut self, name: &str) {
        let found = self.attempt(name, |check| Ok(ScopeChecksum::find(check.connection, name)?));
        let Some(Some(ScopeChecksum { scope, .. })) = found else { return };
        let checks: [ScopeCheck<'a>; 3] = [Self::sessions, Self::epochs, Self::references];
        for check in checks {
            self.attempt(&format!("the scope `{name}`"), |this| check(this, scope));
        }
    }

    /// Calls `each` with the rows that a query gives for a scope.
    fn rows(
        &mut self,
        sql: &str,
        scope: i64,
        mut each: impl FnMut(&mut Self, &Row<'_>) -> Result<(), Fail>,
    ) -> Result<(), Fail> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([scope])?;
        while let Some(row) = rows.next()? {
            each(self, row)?;
        }
        Ok(())
    }

    /// Every text and every encoded message is what its address says.
    fn contents(&mut self, scope: i64) -> Result<(), Fail> {
        let texts = "SELECT id, CAST(text AS BLOB) FROM blob WHERE scope = ?1";
        let short = "SELECT raw, bytes FROM message WHERE scope = ?1 AND bytes NOT NULL";
        let long = "SELECT id, bytes FROM raw WHERE scope = ?1";
        let answers = "SELECT raw, bytes FROM answer WHERE scope = ?1 AND bytes NOT NULL";
        let all = [("text", texts), ("message", short), ("message", long), ("answer", answers)];
        for (what, sql) in all {
            self.rows(sql, scope, |check, row| {
                let id = ContentId(row.get(0)?);
                if ContentId::for_bytes(row.get_ref(1)?.as_blob().unwrap_or_default()) != id {
                    check.lost(format!("the {what} {id} is not what its address says"));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Every passage stands where it is said to.
    fn passages(&mut self, scope: i64) -> Result<(), Fail> {
        let sql = "SELECT passage.id, text_id, start, length, blob.text FROM passage
            LEFT JOIN blob ON blob.scope = passage.scope AND blob.id = holder
            WHERE passage.scope = ?1 ORDER BY holder";
        self.rows(sql, scope, |check, row| {
            let (start, length): (u32, u32) = (row.get(2)?, row.get(3)?);
            let range = start as usize..start.saturating_add(length) as usize;
            let text: Option<String> = row.get(4)?;
            let piece = text.as_deref().and_then(|text| text.get(range));
            if piece.map(ContentId::for_text) != Some(ContentId(row.get(1)?)) {
                let id: i64 = row.get(0)?;
                check.lost(format!("the passage {id} does not stand in its original"));
            }
            Ok(())
        })
    }

    /// Every message follows its parent, and its branch says so too.
    fn messages(&mut self, scope: i64) -> Result<(), Fail> {
        let mut before: FxHashMap<i64, (HistoryHash, i64, u32)> = FxHashMap::default();
        let sql = "SELECT message.id, chain, message.parent, branch, place, key, raw,
                iif(message.bytes IS NULL, raw.id, raw), branch.parent, branch.start
            FROM message LEFT JOIN raw ON raw.scope = message.scope AND raw.id = message.raw
            LEFT JOIN branch ON branch.id = message.branch
            WHERE message.scope = ?1 ORDER BY message.id";
        self.rows(sql, scope, |check, row| {
            let (id, chain) = (row.get::<_, i64>(0)?, HistoryHash(row.get(1)?));
            let (branch, place): (i64, u32) = (row.get(3)?, row.get(4)?);
            let key = EntryKey(row.get(5)?);
            let parent = match row.get::<_, Option<i64>>(2)? {
                None => Some((HistoryHash::default(), None, None)),
                Some(parent) => before
                    .get(&parent)
                    .map(|&(chain, branch, place)| (chain, Some(branch), Some(place))),
            };
            let (above, start): (Option<i64>, Option<u32>) = (row.get(8)?, row.get(9)?);
            let sound = parent.is_some_and(|(chain_before, branch_before, place_before)| {
                let begins = start == Some(place) && above == branch_before;
                (key == tree::LOST || chain_before.append(key) == chain)
                    && place == place_before.map_or(0, |before| before + 1)
                    && (begins || branch_before == Some(branch) && start < Some(place))
            });
            let (raw, found): (Option<[u8; 16]>, Option<[u8; 16]>) = (row.get(6)?, row.get(7)?);
            if !sound {
                check.lost(format!("the message {key} at {place} does not follow another"));
            }
            if raw != found {
                check.lost(format!("the bytes of the message {key} at {place} are missing"));
            }
            before.insert(id, (chain, branch, place));
            Ok(())
        })
    }

    /// Every session ends with a message that is there, at the place that it says.
    fn sessions(&mut self, scope: i64) -> Result<(), Fail> {
        let sql = "SELECT id, name, head, messages FROM session WHERE scope = ?1";
        self.rows(sql, scope, |check, row| {
            let (id, name): (i64, String) = (row.get(0)?, row.get(1)?);
            let (head, messages) = (HistoryHash(row.get(2)?), row.get::<_, u32>(3)?);
            let end = tree::on_way(check.connection, Owner { scope, session: id }, head)?;
            if end.is_none() && head != HistoryHash::default() {
                check.lost(format!("the newest message of the session `{name}` is missing"));
                return Ok(());
            }
            let there = end.map_or(0, |node| node.place + 1);
            if there == messages {
                return Ok(());
            }
            let what = format!("the session `{name}` counts {messages} messages, not {there}");
            check.derived(what, |connection| {
                let sql = "UPDATE session SET messages = ?2 WHERE id = ?1";
                connection.execute(sql, params![id, there]).map(|_| ())
            })
        })
    }

    /// Every answer has its content or none, follows its history, and belongs to a session.
    fn answers(&mut self, scope: i64) -> Result<(), Fail> {
        let sql =
            "SELECT answer.id, after, key, chain, raw IS NOT NULL, bytes IS NOT NULL, session.id,
                answer.place - coalesce((SELECT message.place + 1 FROM message
                    WHERE message.scope = answer.scope AND message.chain = after LIMIT 1), 0)
            FROM answer LEFT JOIN session ON session.id = answer.session WHERE answer.scope = ?1";
        self.rows(sql, scope, |check, row| {
            let (id, after): (i64, _) = (row.get(0)?, HistoryHash(row.get(1)?));
            let key = row.get::<_, Option<[u8; 16]>>(2)?.map(EntryKey);
            let chain = row.get::<_, Option<[u8; 16]>>(3)?.map(HistoryHash);
            let ahead: i64 = row.get(7)?;
            let follows = match chain {
                // What stands ahead of the last message of an answer is not recorded.
                Some(_) if ahead > 0 => key.is_some(),
                _ => key.map(|key| after.append(key)) == chain,
            };
            if !follows {
                check.lost(format!("the answer {id} does not follow the history that it says"));
            }
            let (addressed, there): (bool, bool) = (row.get(4)?, row.get(5)?);
            if addressed && !there {
                check.lost(format!("the bytes of the answer {id} are missing"));
            }
            if row.get::<_, Option<i64>>(6)?.is_none() {
                check.lost(format!("the session of the answer {id} is missing"));
            }
            Ok(())
        })
    }

    /// Every act can be read and belongs to a session.
    fn acts(&mut self, scope: i64) -> Result<(), Fail> {
        let sql = "SELECT act.id, act, session.id FROM act
            LEFT JOIN session ON session.id = act.session WHERE act.scope = ?1";
        self.rows(sql, scope, |check, row| {
            if let Err(Fail::Port(error)) = act::read(row) {
                check.lost(error.to_string());
            }
            if row.get::<_, Option<i64>>(2)?.is_none() {
                let id: i64 = row.get(0)?;
                check.lost(format!("the session of the act {id} is missing"));
            }
            Ok(())
        })
    }

    /// Every row that has a sum is what that says.
    fn sums(&mut self, scope: i64) -> Result<(), Fail> {
        let lost = sums::damaged(self.connection, scope, None)?.into_iter();
        lost.for_each(|it| self.lost(format!("{it} is not what was written, and is left out")));
        Ok(())
    }

    /// Every epoch is what its id says, and taken back if its marks say so.
    fn epochs(&mut self, scope: i64) -> Result<(), Fail> {
        // Marks that an older version made, of whatever session, are those of the epoch.
        let mut marked: FxHashMap<([u8; 16], Option<i64>), bool> = FxHashMap::default();
        let marks = "SELECT target, iif(place IS NULL, NULL, session), kind = 'undo' FROM mark
            WHERE scope = ?1 AND kind IN ('undo', 'redo') ORDER BY id";
        self.rows(marks, scope, |_, row| {
            marked.insert((row.get(0)?, row.get(1)?), row.get(2)?);
            Ok(())
        })?;
        let sql = format!("{}, session FROM epoch WHERE scope = ?1", compaction::COLUMNS);
        self.rows(&sql, scope, |check, row| {
            let row_id: i64 = row.get(0)?;
            let RecordedCompaction { epoch, undone, .. } =
                match compaction::recorded(check.connection, row) {
                    Ok(recorded) => recorded,
                    Err(Fail::Port(error)) => {
                        check.lost(error.to_string());
                        return Ok(());
                    }
                    Err(fail) => return Err(fail),
                };
            if epoch.hash() != epoch.id {
                check.lost(format!("the epoch {} is not what its id says", epoch.id));
            }
            let own = marked.get(&(epoch.id.0, Some(row.get(20)?)));
            let said = own.or_else(|| marked.get(&(epoch.id.0, None)));
            let said = said.copied().unwrap_or_default();
            if said == undone {
                return Ok(());
            }
            let what = format!("the epoch {} is not marked as it stands", epoch.id);
            check.derived(what, |connection| {
                let sql = "UPDATE epoch SET undone = ?2 WHERE id = ?1";
                connection.execute(sql, params![row_id, said]).map(|_| ())
            })
        })
    }

    /// What rewrites refer to is there, and so is what the search has still to learn.
    fn references(&mut self, scope: i64) -> Result<(), Fail> {
        let hidden = "SELECT count(*) FROM message WHERE scope = ?1 AND indexed = 0
            AND id <= (SELECT indexed FROM scope WHERE id = ?1)";
        self.rows(hidden, scope, |check, row| {
            let count: i64 = row.get(0)?;
            if count == 0 {
                return Ok(());
            }
            check.derived(format!("{count} messages are not offered to the index"), |connection| {
                let sql = "UPDATE scope SET indexed = 0 WHERE id = ?1";
                connection.execute(sql, [scope]).map(|_| ())
            })
        })?;
        let sql = "SELECT key, part FROM rewrite WHERE scope = ?1 AND NOT EXISTS
            (SELECT 1 FROM blob WHERE blob.scope = rewrite.scope AND blob.id = rewrite.text)";
        self.rows(sql, scope, |check, row| {
            let (key, part): (_, u32) = (EntryKey(row.get(0)?), row.get(1)?);
            check.lost(format!("what part {part} of the message {key} is sent as is missing"));
            Ok(())
        })
    }

    /// The full-text index knows every passage by its terms, and nothing else.
    fn index(&mut self) -> Result<(), Fail> {
        if fulltext::is_sound(self.connection)? {
            return Ok(());
        }
        let what = "the full-text index does not agree with the passages".to_owned();
        self.derived(what, fulltext::rebuild)
    }
}
