//! What is told of a file that is too damaged to be opened.
//!
//! Invariant: the file is only read. Called by the verification.

use epitome_kernel::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::fail::Fail;
use super::verify::Check;
use super::{SqliteStore, StoreFile, checksum};
use crate::StoreFinding;

/// What to do about a file that does not open any more.
const BEYOND: &str = "this cannot be mended: restore a backup, or take what can be read into a new \
    store: `epitome store salvage PATH NEW`";

impl SqliteStore {
    /// What the database says of it, and which tables cannot be read to their end.
    pub(super) fn diagnose(
        file: StoreFile<'_>,
        what: String,
    ) -> Result<Vec<StoreFinding>, StoreError> {
        let (path, seal) = (file.path, file.seal()?);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = seal
            .connect(path, flags)
            .map_err(|error| Fail::Sql(error).at(path, "cannot be opened"))?;
        let mut check = Check::looking(&connection);
        check.file();
        for table in checksum::TABLES {
            table_of(&mut check, table.name);
        }
        if check.findings.is_empty() {
            check.lost(what);
        }
        let each = |finding| StoreFinding { remedy: BEYOND.to_owned(), ..finding };
        Ok(check.findings.into_iter().map(each).collect())
    }
}

/// How far a table can be read.
fn table_of(check: &mut Check<'_>, name: &str) {
    let mut read = 0_u64;
    let mut whole = |connection: &Connection| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {
            read += 1;
        }
        Ok(())
    };
    if let Err(error) = whole(check.connection) {
        check.lost(format!("of the table `{name}` {read} rows can be read: {error}"));
    }
}
