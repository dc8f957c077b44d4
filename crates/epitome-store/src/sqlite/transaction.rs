//! One moment of the database: what is read in it belongs together, what is written in it is done
//! as a whole.
//!
//! Invariant: it ends when this falls, and what was not committed is undone. Called by whatever
//! reads and writes.

use rusqlite::Connection;

/// A transaction. Its statements stay ready: to read their text again would be a good part of what
/// a small one costs.
#[derive(Debug)]
pub(crate) struct StoreTransaction<'c>(&'c Connection);

impl<'c> StoreTransaction<'c> {
    /// A moment to read in, whatever other processes write meanwhile.
    pub(crate) fn reading(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN")?;
        Ok(Self(connection))
    }

    /// A moment to write in, of which there is one at a time.
    pub(crate) fn writing(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN IMMEDIATE")?;
        Ok(Self(connection))
    }

    /// Ends it; what was written lasts.
    pub(crate) fn commit(self) -> rusqlite::Result<()> {
        run(self.0, "COMMIT")
    }
}

impl Drop for StoreTransaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Where even that fails, the next one cannot begin, and says so.
            drop(run(self.0, "ROLLBACK"));
        }
    }
}

fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}
