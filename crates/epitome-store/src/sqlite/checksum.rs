//! The ledger of a scope: how many records it holds and a sum over all of them.
//!
//! Invariant: it changes in the transaction that changes the records, so a record that was lost or
//! altered by anything else shows when the records are counted again. Every table that it covers is
//! written through it. Called by whatever writes, and by the verification.

use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use xxhash_rust::xxh3::xxh3_128;

use super::owner::{Owner, SessionRowId};

/// Bytes that most rows fit, as they are hashed.
const ROW: usize = 512;

/// A table that the ledger covers.
#[derive(Debug)]
pub(crate) struct CheckedTable {
    /// Its name.
    pub(crate) name: &'static str,
    /// The columns that are summed, after the scope and in the order of [`CheckedTable::insert`].
    pub(crate) columns: &'static str,
    /// How many of them a later version added: these are in [`ScopeChecksum::whole`] alone.
    later: usize,
    /// The statement that adds a row, unless it is known; `?1` is the scope.
    insert: &'static str,
    /// Whether each row has a sum of its own: what is made of its words is believed, and no address
    /// tells whether they are those that were written.
    pub(crate) has_sums: bool,
    /// The sum of a row, in SQL.
    pub(crate) sum: &'static str,
    /// Says in SQL whether a row is as it was written, in a table whose rows have sums.
    pub(crate) is_whole: &'static str,
}

impl CheckedTable {
    const fn with_sums(self) -> Self {
        Self { has_sums: true, ..self }
    }
}

/// Declares a table: the columns that are summed, those of them that a later version added, and
/// those that are not summed (an address is in the place of the text that it is made of).
macro_rules! table {
    (
        $name:literal, $columns:literal, $values:literal
        $(, later $later:literal ($count:literal))? $(, $more:literal)?
    ) => {
        CheckedTable {
            name: $name,
            columns: concat!($columns $(, ", ", $later)?),
            later: 0 $(+ $count)?,
            insert: concat!(
                "INSERT OR IGNORE INTO ", $name, " (scope, ", $columns, $(", ", $later,)?
                $(", ", $more,)? ") VALUES (?1, ", $values, ")"
            ),
            has_sums: false,
            sum: concat!("record_sum('", $name, "', ", $columns, $(", ", $later,)? ")"),
            is_whole: concat!(
                $name, ".sum IS record_sum('", $name, "', ", $columns, $(", ", $later,)? ")"
            ),
        }
    };
}

pub(crate) const BLOB: CheckedTable = table!("blob", "id, source", "?2, ?3, ?4", "text");
pub(crate) const HELD: CheckedTable = table!("held", "blob, session", "?2, ?3");
pub(crate) const RAW: CheckedTable = table!("raw", "id", "?2, ?3", "bytes");
pub(crate) const PASSAGE: CheckedTable = table!(
    "passage",
    "text_id, original, source, holder, start, length",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8",
    later "session" (1)
);
pub(crate) const BRANCH: CheckedTable = table!("branch", "parent, start", "?2, ?3");
pub(crate) const MESSAGE: CheckedTable = table!(
    "message",
    "chain, parent, branch, place, key, role, raw, text, tokens, at, session, indexed",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15",
    later "shared" (1),
    "bytes"
);
pub(crate) const SESSION: CheckedTable = table!(
    "session",
    "name, title, format, model, started, last, head, messages, turns, came, sent, all_came, \
     all_sent, size, rent, trashed, used",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21",
    later "label, opened, meter" (3)
);
/// As it was before sessions recorded their meters.
pub(crate) const SESSION_UNMETERED: CheckedTable = table!(
    "session",
    "name, title, format, model, started, last, head, messages, turns, came, sent, all_came, \
     all_sent, size, rent, trashed, used",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20",
    later "label, opened" (2)
);
pub(crate) const REWRITE: CheckedTable = table!(
    "rewrite",
    "key, part, text, how, original, tool, came, sent",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10",
    later "session" (1)
);
pub(crate) const EPOCH: CheckedTable = table!(
    "epoch",
    "epoch, parent, first, length, chain, plan, cause, number, came, sent, confidence, profile, \
     config, at, session, undone",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19",
    later "place" (1),
    "must_keep"
);
pub(crate) const MARK: CheckedTable =
    table!("mark", "kind, target, session, at", "?2, ?3, ?4, ?5, ?6, ?7", later "place" (1), "sum")
        .with_sums();
pub(crate) const SNAPSHOT: CheckedTable = table!(
    "snapshot",
    "snapshot, session, name, purpose, at, messages, checkpoints, came, sent, size, model, \
     profile, head, epoch",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15"
);
pub(crate) const ERASED: CheckedTable = table!("erased", "key", "?2");
pub(crate) const MEMO: CheckedTable =
    table!("memo", "session, policy, memo", "?2, ?3, ?4, ?5", "sum").with_sums();
pub(crate) const ANSWER: CheckedTable = table!(
    "answer",
    "session, after, place, key, chain, raw, text, input, cache_read, cache_written, output, stop, \
     at, indexed",
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16",
    "bytes"
);

pub(crate) const ACT: CheckedTable =
    table!("act", "session, act", "?2, ?3, ?4, ?5", later "place" (1), "sum").with_sums();
pub(crate) const LESSON: CheckedTable =
    table!("lesson", "about, lesson", "?2, ?3, ?4", "sum").with_sums();

/// All of them.
pub(crate) const TABLES: [&CheckedTable; 16] = [
    &BLOB, &HELD, &RAW, &PASSAGE, &BRANCH, &MESSAGE, &SESSION, &REWRITE, &EPOCH, &MARK, &SNAPSHOT,
    &ERASED, &MEMO, &ANSWER, &ACT, &LESSON,
];

/// What a scope holds, in two numbers, and how often it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScopeChecksum {
    /// The number of the scope.
    pub(crate) scope: i64,
    /// What [`epitome_kernel::Journal::revision`] says.
    pub(crate) seen: i64,
    /// Requests so far: the order in which sessions were used.
    pub(crate) used: i64,
    records: i64,
    /// The sum of all records, without the columns that a later version added.
    sum: u128,
    /// The sum of those records that have such columns, with them.
    whole: u128,
}

impl ScopeChecksum {
    /// A session of the scope.
    pub(crate) fn owner(&self, session: SessionRowId) -> Owner {
        Owner { scope: self.scope, session }
    }

    /// The ledger of a scope, which it creates where there is none.
    pub(crate) fn open(connection: &Connection, name: &str) -> rusqlite::Result<Self> {
        if let Some(ledger) = Self::find(connection, name)? {
            return Ok(ledger);
        }
        connection.execute("INSERT INTO scope (name) VALUES (?1)", [name])?;
        let scope = connection.last_insert_rowid();
        Ok(Self { scope, seen: 0, used: 0, records: 0, sum: 0, whole: 0 })
    }

    /// The ledger of a scope, if there is one.
    pub(crate) fn find(connection: &Connection, name: &str) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(
                "SELECT id, seen, used, records, sum, whole FROM scope WHERE name = ?1",
            )?
            .query_row([name], |row| {
                let mut ledger = Self {
                    scope: row.get(0)?,
                    seen: row.get(1)?,
                    used: row.get(2)?,
                    records: row.get(3)?,
                    sum: u128::from_le_bytes(row.get(4)?),
                    whole: u128::from_le_bytes(row.get(5)?),
                };
                ledger.sum = ledger.sum.wrapping_sub(ledger.own());
                Ok(ledger)
            })
            .optional()
    }

    /// The ledger as the records say it is: `seen` and `used` are taken over.
    pub(crate) fn recounted(&self, connection: &Connection) -> rusqlite::Result<Self> {
        let mut ledger = Self { records: 0, sum: 0, whole: 0, ..self.clone() };
        ledger.count(connection, TABLES)?;
        Ok(ledger)
    }

    /// Enters all records of some tables.
    fn count<'t>(
        &mut self,
        connection: &Connection,
        tables: impl IntoIterator<Item = &'t CheckedTable>,
    ) -> rusqlite::Result<()> {
        for table in tables {
            let sql = format!("SELECT {} FROM {} WHERE scope = ?1", table.columns, table.name);
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query([self.scope])?;
            while let Some(row) = rows.next()? {
                self.enter(of_row(table, row)?);
            }
        }
        Ok(())
    }

    /// Writes it down.
    pub(crate) fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sum = self.sum.wrapping_add(self.own()).to_le_bytes();
        let whole = self.whole.to_le_bytes();
        connection
            .prepare_cached(
                "UPDATE scope SET seen = ?2, used = ?3, records = ?4, sum = ?5, whole = ?6
                 WHERE id = ?1",
            )?
            .execute(params![self.scope, self.seen, self.used, self.records, sum, whole])?;
        Ok(())
    }

    /// Adds a row unless it is known; says whether it was added. `rest` are the values of the
    /// columns that are not summed.
    pub(crate) fn insert(
        &mut self,
        connection: &Connection,
        table: &CheckedTable,
        values: &[&dyn ToSql],
        rest: &[&dyn ToSql],
    ) -> rusqlite::Result<bool> {
        let record = of_values(table, values)?;
        let sum = record.own();
        let mut all: Vec<&dyn ToSql> = vec![&self.scope];
        all.extend(values.iter().chain(rest));
        if table.has_sums {
            all.push(&sum);
        }
        let added = connection.prepare_cached(table.insert)?.execute(&*all)? > 0;
        if added {
            self.enter(record);
        }
        Ok(added)
    }

    /// Changes a row: `assignments` may use parameters from `?2` on.
    pub(crate) fn change(
        &mut self,
        connection: &Connection,
        table: &CheckedTable,
        row: i64,
        assignments: &str,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        self.strike(of_stored(connection, table, row)?);
        let mut all: Vec<&dyn ToSql> = vec![&row];
        all.extend(values);
        let sql = ["UPDATE ", table.name, " SET ", assignments, " WHERE rowid = ?1"].concat();
        connection.prepare_cached(&sql)?.execute(&*all)?;
        if table.has_sums {
            let sql = format!("UPDATE {} SET sum = {} WHERE rowid = ?1", table.name, table.sum);
            connection.prepare_cached(&sql)?.execute([row])?;
        }
        // Read again: a statement that returns what it changed makes a table for it every time.
        self.enter(of_stored(connection, table, row)?);
        Ok(())
    }

    /// A row that held the first of these holds the second now, all columns that are summed.
    pub(crate) fn replaced(&mut self, table: &CheckedTable, rows: [Vec<ValueRef<'_>>; 2]) {
        let [before, now] = rows.map(|row| Record::of(table, &row));
        self.strike(before);
        self.enter(now);
    }

    /// Deletes a row.
    pub(crate) fn delete(
        &mut self,
        connection: &Connection,
        table: &CheckedTable,
        row: i64,
    ) -> rusqlite::Result<()> {
        self.strike(of_stored(connection, table, row)?);
        let sql = format!("DELETE FROM {} WHERE rowid = ?1", table.name);
        connection.prepare_cached(&sql)?.execute([row])?;
        Ok(())
    }

    fn enter(&mut self, record: Record) {
        self.records += 1;
        self.sum = self.sum.wrapping_add(record.first);
        self.whole = self.whole.wrapping_add(record.whole);
    }

    fn strike(&mut self, record: Record) {
        self.records -= 1;
        self.sum = self.sum.wrapping_sub(record.first);
        self.whole = self.whole.wrapping_sub(record.whole);
    }

    /// The ledger's own numbers are guarded by its sum too.
    fn own(&self) -> u128 {
        let numbers = [self.scope, self.seen, self.used, self.records];
        xxh3_128(&spelled("scope", &numbers.map(ValueRef::Integer)))
    }
}

/// What a row adds to the sums of its scope.
pub(crate) struct Record {
    first: u128,
    whole: u128,
}

impl Record {
    pub(crate) fn of(table: &CheckedTable, values: &[ValueRef<'_>]) -> Self {
        let (first, later) = values.split_at(values.len().saturating_sub(table.later));
        let mut written = spelled(table.name, first);
        let first = xxh3_128(&written);
        if table.later == 0 {
            return Self { first, whole: 0 };
        }
        later.iter().for_each(|value| spell(value, &mut written));
        Self { first, whole: xxh3_128(&written) }
    }

    /// Its own sum.
    pub(crate) fn own(&self) -> [u8; 16] {
        if self.whole == 0 { self.first } else { self.whole }.to_le_bytes()
    }
}

/// Counts what every scope holds that had no ledger before.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    for name in scopes(connection)? {
        if let Some(ledger) = ScopeChecksum::find(connection, &name)? {
            ledger.recounted(connection)?.save(connection)?;
        }
    }
    Ok(())
}

/// Sums the columns that a later version added to these tables, in every scope that has a ledger;
/// `gone` is one of them as it was summed before. The other sum stays as it is, so what was lost
/// before goes on being told.
pub(crate) fn widen(
    connection: &Connection,
    is_wider: impl Fn(&CheckedTable) -> bool,
    gone: Option<&CheckedTable>,
) -> rusqlite::Result<()> {
    for name in scopes(connection)? {
        if let Some(ledger) = ScopeChecksum::find(connection, &name)? {
            let none = ScopeChecksum { whole: 0, ..ledger.clone() };
            let (mut added, mut taken) = (none.clone(), none);
            added.count(connection, TABLES.into_iter().filter(|table| is_wider(table)))?;
            taken.count(connection, gone)?;
            let whole = ledger.whole.wrapping_add(added.whole).wrapping_sub(taken.whole);
            ScopeChecksum { whole, ..ledger }.save(connection)?;
        }
    }
    Ok(())
}

/// The names of all scopes.
pub(crate) fn scopes(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT name FROM scope ORDER BY id")?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn of_stored(connection: &Connection, table: &CheckedTable, row: i64) -> rusqlite::Result<Record> {
    let sql = ["SELECT ", table.columns, " FROM ", table.name, " WHERE rowid = ?1"].concat();
    connection.prepare_cached(&sql)?.query_row([row], |row| of_row(table, row))
}

fn of_row(table: &CheckedTable, row: &Row<'_>) -> rusqlite::Result<Record> {
    let columns = row.as_ref().column_count();
    let values: Vec<ValueRef<'_>> =
        (0..columns).map(|column| row.get_ref(column)).collect::<rusqlite::Result<_>>()?;
    Ok(Record::of(table, &values))
}

fn of_values(table: &CheckedTable, values: &[&dyn ToSql]) -> rusqlite::Result<Record> {
    let outputs: Vec<ToSqlOutput<'_>> =
        values.iter().map(|value| value.to_sql()).collect::<rusqlite::Result<_>>()?;
    let values: Vec<ValueRef<'_>> = outputs
        .iter()
        .map(|output| match output {
            ToSqlOutput::Borrowed(value) => *value,
            ToSqlOutput::Owned(value) => ValueRef::from(value),
            _ => ValueRef::from(&Value::Null),
        })
        .collect();
    Ok(Record::of(table, &values))
}

/// A row as it is hashed.
fn spelled(table: &str, values: &[ValueRef<'_>]) -> Vec<u8> {
    let mut written = Vec::with_capacity(ROW);
    written.extend_from_slice(table.as_bytes());
    values.iter().for_each(|value| spell(value, &mut written));
    written
}

fn spell(value: &ValueRef<'_>, written: &mut Vec<u8>) {
    let (tag, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(number) => (1, &number.to_le_bytes()),
        ValueRef::Real(number) => (2, &number.to_bits().to_le_bytes()),
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(blob) => (4, blob),
    };
    let mut head = [tag; 9];
    head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    written.extend_from_slice(&head);
    written.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use epitome_kernel::{AppendBatch, Beginning, Journal, RequestRecord};

    use super::*;
    use crate::{SessionArchive, SqliteStore};

    /// Takes a store back to where sessions did not record their meters.
    fn unmetered(connection: &Connection) {
        for name in scopes(connection).unwrap() {
            let ledger = ScopeChecksum::find(connection, &name).unwrap().unwrap();
            let none = ScopeChecksum { whole: 0, ..ledger.clone() };
            let (mut before, mut now) = (none.clone(), none);
            before.count(connection, [&SESSION_UNMETERED]).unwrap();
            now.count(connection, [&SESSION]).unwrap();
            let whole = ledger.whole.wrapping_sub(now.whole).wrapping_add(before.whole);
            ScopeChecksum { whole, ..ledger }.save(connection).unwrap();
        }
        connection.execute_batch("ALTER TABLE session DROP COLUMN meter").unwrap();
        for table in TABLES.into_iter().filter(|table| table.has_sums) {
            let sql = format!("ALTER TABLE {} DROP COLUMN sum", table.name);
            connection.execute_batch(&sql).unwrap();
        }
        connection.pragma_update(None, "user_version", 8).unwrap();
    }

    #[test]
    fn a_store_without_meters_keeps_its_sums() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("epitome.db");
        let store = SqliteStore::open(&path).unwrap();
        let batch = AppendBatch {
            turn: Some(RequestRecord { tokens: [9, 9], limit: 99, ..RequestRecord::default() }),
            ..AppendBatch::default()
        };
        store.begin("local", "one", &Beginning::default(), "2026-01-01T00:00:00Z").unwrap();
        store.append("local", "one", &batch).unwrap();
        drop(store);
        unmetered(&Connection::open(&path).unwrap());
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(store.verify(false).unwrap(), []);
        assert_eq!(store.meter("local", "one").unwrap().rent, 0.0);
    }
}
