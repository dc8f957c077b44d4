//! The tables, and how older ones become newer ones.
//!
//! Invariant: `user_version` counts the migrations that ran; they run forward only, all of them in
//! one transaction. Called when a store is opened.

use std::time::Duration;

use epitome_kernel::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Marks a database as a store of Epitome ("Epit").
const APPLICATION: i64 = 0x4570_6974;

/// How long a writer waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// One step per schema version, oldest first.
const MIGRATIONS: [&str; 1] = [
    // Text lives in `blob` alone. A blob with a source is an original; one without holds a passage
    // that does not stand in its original verbatim. `passage.id` is the order of the conversation.
    // The terms in `passage_terms` begin with their scope's number, so that the scope comes first
    // in that index too.
    "CREATE TABLE scope (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE blob (
        scope INTEGER NOT NULL,
        id BLOB NOT NULL,
        source TEXT,
        text TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX blob_id ON blob (scope, id);
    CREATE TABLE passage (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        text_id BLOB NOT NULL,
        original BLOB NOT NULL,
        source TEXT NOT NULL,
        holder BLOB NOT NULL,
        start INTEGER NOT NULL,
        length INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX passage_text ON passage (scope, text_id);
    CREATE INDEX passage_order ON passage (scope, id);
    CREATE VIRTUAL TABLE passage_terms USING fts5 (
        terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
    );
    CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab (passage_terms, row);",
];

/// Whether a power cut may harm the file. The crash of a process never does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sync {
    /// It may. Waiting for the disk is most of the time it takes to make a store and close it, and
    /// a file that was just created holds nothing yet that could be lost.
    Off,
    /// It cannot; it may take the newest commits.
    Normal,
}

impl Sync {
    /// Sets it for all that the connection writes from now on.
    pub(crate) fn apply(self, connection: &Connection) -> rusqlite::Result<()> {
        let level = match self {
            Self::Off => "OFF",
            Self::Normal => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", level)
    }
}

/// Why a database is not used.
pub(crate) enum Refusal {
    /// The port's own error.
    Newer(StoreError),
    /// It belongs to another program.
    Foreign,
    /// What the database says.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Sets the connection up and brings the tables to this program's version.
pub(crate) fn prepare(connection: &mut Connection, sync: Sync) -> Result<(), Refusal> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "secure_delete", true)?;
    sync.apply(connection)?;
    let found = state(connection)?;
    if found == State::Current {
        return Ok(());
    }
    if found == State::Empty {
        // Lasts in the file; needs to be alone with it, so it is done once only.
        connection.pragma_update(None, "journal_mode", "WAL")?;
    }
    migrate(connection)
}

/// Runs the migrations that are missing; another process may have run them meanwhile.
fn migrate(connection: &mut Connection) -> Result<(), Refusal> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = match state(&transaction)? {
        State::Empty => 0,
        State::Older(version) => version,
        State::Current => return Ok(()),
    };
    for step in &MIGRATIONS[done..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(transaction.commit()?)
}

/// What a database is to this program.
#[derive(Debug, PartialEq)]
enum State {
    /// Nothing is in it yet.
    Empty,
    /// A store of an older schema.
    Older(usize),
    /// A store of this program's schema.
    Current,
}

fn state(connection: &Connection) -> Result<State, Refusal> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION {
        let tables = connection.prepare("SELECT 1 FROM sqlite_schema")?.exists([])?;
        return if tables { Err(Refusal::Foreign) } else { Ok(State::Empty) };
    }
    let (found, known) = (number("user_version")?, MIGRATIONS.len());
    match usize::try_from(found) {
        Ok(version) if version < known => Ok(State::Older(version)),
        Ok(version) if version == known => Ok(State::Current),
        _ => Err(Refusal::Newer(StoreError::Newer { found, known: known as i64 })),
    }
}
