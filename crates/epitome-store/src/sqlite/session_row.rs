//! A session's row, as a request finds it and leaves it.
//!
//! Invariant: it is read once and written once; the ledger's sums go by what was read and what is written.
//! Called by [`super::pending`].

use epitome_kernel::AppendBatch;
use epitome_kernel::types::HistoryHash;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::checksum::{SESSION, ScopeChecksum};
use super::owner::SessionRowId;
use super::session::written;

/// The places of its columns in [`SESSION`].
const TITLE: usize = 1;
const FORMAT: usize = 2;
const MODEL: usize = 3;
const LAST: usize = 5;
const HEAD: usize = 6;
const MESSAGES: usize = 7;
const TURNS: usize = 8;
const CAME: usize = 9;
const SENT: usize = 10;
const ALL_CAME: usize = 11;
const ALL_SENT: usize = 12;
const SIZE: usize = 13;
const TRASHED: usize = 15;
const USED: usize = 16;
const METER: usize = 19;

/// Those that a request changes, in the order of [`UPDATE`].
const CHANGED: [usize; 15] = [
    TITLE, FORMAT, MODEL, LAST, HEAD, MESSAGES, TURNS, CAME, SENT, ALL_CAME, ALL_SENT, SIZE,
    TRASHED, USED, METER,
];

const UPDATE: &str = "UPDATE session SET title = ?2, format = ?3, model = ?4, last = ?5, head = ?6, \
    messages = ?7, turns = ?8, came = ?9, sent = ?10, all_came = ?11, all_sent = ?12, size = ?13, \
    trashed = ?14, used = ?15, meter = ?16 WHERE id = ?1";

/// Where a history ends.
#[derive(Clone, Copy)]
pub(crate) struct HistoryEnd {
    /// Its newest message.
    pub(crate) head: HistoryHash,
    /// How many messages lead to it, with that.
    pub(crate) messages: u32,
}

/// A session as its row has it.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) id: SessionRowId,
    pub(crate) head: HistoryHash,
    /// Its requests.
    pub(crate) turns: u64,
    columns: Vec<Value>,
}

impl SessionRow {
    /// The row of a session.
    pub(crate) fn find(
        connection: &Connection,
        scope: i64,
        name: &str,
    ) -> rusqlite::Result<Option<Self>> {
        let mut statement = connection.prepare_cached(concat!(
            "SELECT id, name, title, format, model, started, last, head, messages, turns, came, sent, ",
            "all_came, all_sent, size, rent, trashed, used, label, opened, meter ",
            "FROM session WHERE scope = ?1 AND name = ?2"
        ))?;
        let columns = 1..statement.column_count();
        statement
            .query_row((scope, name), |row| {
                Ok(Self {
                    id: row.get(0)?,
                    head: HistoryHash(row.get(1 + HEAD)?),
                    turns: row.get::<_, i64>(1 + TURNS)? as u64,
                    columns: columns.map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?,
                })
            })
            .optional()
    }

    /// Takes over what a batch says of the session, whose history ends there from now on.
    pub(crate) fn advance(
        &self,
        connection: &Connection,
        ledger: &mut ScopeChecksum,
        batch: &AppendBatch,
        end: HistoryEnd,
    ) -> rusqlite::Result<()> {
        ledger.used += 1;
        let mut columns = self.columns.clone();
        let mut set = |column: usize, value: Value| columns[column] = value;
        if self.columns[TITLE] == Value::Text(String::new()) {
            set(TITLE, batch.title.clone().into());
        }
        set(FORMAT, batch.format.clone().into());
        if let Some(model) = &batch.model {
            set(MODEL, model.clone().into());
        }
        set(LAST, batch.at.clone().into());
        set(HEAD, end.head.0.to_vec().into());
        set(MESSAGES, end.messages.into());
        set(USED, ledger.used.into());
        if let Some(turn) = batch.turn {
            let [came, sent] = turn.tokens;
            let total = |column: usize, more: u64| match self.columns[column] {
                Value::Integer(known) => (known as u64).saturating_add(more),
                _ => more,
            };
            set(TURNS, (self.turns as i64 + 1).into());
            set(CAME, (came as i64).into());
            set(SENT, (sent as i64).into());
            set(ALL_CAME, (total(ALL_CAME, came) as i64).into());
            set(ALL_SENT, (total(ALL_SENT, sent) as i64).into());
            set(SIZE, (turn.limit as i64).into());
            // A session that goes on is out of the trash.
            set(TRASHED, false.into());
            set(METER, written(&turn.meter)?.into());
        }
        let id = Value::Integer(self.id);
        let changed = CHANGED.iter().map(|&column| &columns[column]);
        connection
            .prepare_cached(UPDATE)?
            .execute(params_from_iter(std::iter::once(&id).chain(changed)))?;
        ledger.replaced(&SESSION, [&self.columns, &columns].map(|row| values(row)));
        Ok(())
    }
}

fn values(row: &[Value]) -> Vec<ValueRef<'_>> {
    row.iter().map(ValueRef::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_those_of_the_columns() {
        let named = |column: usize| SESSION.columns.split(", ").nth(column).unwrap();
        let set = UPDATE.split_once(" SET ").unwrap().1.split_once(" WHERE ").unwrap().0;
        let set = set.split(", ").map(|one| one.split_once(" = ").unwrap().0);
        assert!(set.eq(CHANGED.iter().map(|&column| named(column))));
        assert_eq!(named(METER), SESSION.columns.rsplit(", ").next().unwrap());
    }
}
