//! The tables, and how older ones become newer ones.
//!
//! Invariant: `user_version` counts the migrations that ran; they run forward only, all of them in
//! one transaction. Called when a store is opened.

use std::time::Duration;

use epitome_kernel::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::seal::FileSeal;
use super::{checksum, passages, sums};

/// Marks a database as a store of Epitome ("Epit").
const APPLICATION: i64 = 0x4570_6974;

/// How long a writer waits for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// One step per schema version, oldest first.
const MIGRATIONS: [&str; 10] = [
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
    // The journal. Messages stand in a tree; a branch is a stretch of it in which each follows the
    // one before, so that a page of a history is one range of each branch on the way. `message.raw` is the
    // hash of the encoded message: a short one stands in the row itself, a long one in `raw`, once
    // for all that say it. All other text is in `blob`, and `held` says which sessions need it
    // (0: somebody outside of sessions). `scope.indexed` is a message up
    // to which all are indexed, so that no index of those that are not has to be written with every
    // message. Numbers that may pass 2^63 are kept by their bits. The ledger of each scope covers all tables
    // but `damage`, which tells what was found missing when the file was opened.
    "ALTER TABLE scope ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE scope ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE scope ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE scope ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE scope ADD COLUMN sum BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
    CREATE INDEX passage_original ON passage (scope, original);
    CREATE TABLE held (
        scope INTEGER NOT NULL,
        blob BLOB NOT NULL,
        session INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX held_blob ON held (scope, blob, session);
    CREATE INDEX held_session ON held (session);
    INSERT INTO held (scope, blob, session) SELECT scope, id, 0 FROM blob;
    CREATE TABLE raw (
        scope INTEGER NOT NULL,
        id BLOB NOT NULL,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX raw_id ON raw (scope, id);
    CREATE TABLE branch (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        parent INTEGER,
        start INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        chain BLOB NOT NULL,
        parent INTEGER,
        branch INTEGER NOT NULL,
        place INTEGER NOT NULL,
        key BLOB NOT NULL,
        role TEXT NOT NULL,
        raw BLOB,
        text BLOB NOT NULL,
        tokens INTEGER NOT NULL,
        at TEXT,
        session INTEGER NOT NULL,
        indexed INTEGER NOT NULL,
        bytes BLOB
    ) STRICT;
    CREATE UNIQUE INDEX message_chain ON message (scope, chain);
    CREATE UNIQUE INDEX message_place ON message (branch, place);
    CREATE TABLE session (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        name TEXT NOT NULL,
        title TEXT NOT NULL,
        format TEXT NOT NULL,
        model TEXT,
        started TEXT NOT NULL,
        last TEXT NOT NULL,
        head BLOB NOT NULL,
        messages INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        came INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        all_came INTEGER NOT NULL,
        all_sent INTEGER NOT NULL,
        size INTEGER NOT NULL,
        rent REAL,
        trashed INTEGER NOT NULL,
        used INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX session_name ON session (scope, name);
    CREATE TABLE rewrite (
        scope INTEGER NOT NULL,
        key BLOB NOT NULL,
        part INTEGER NOT NULL,
        text BLOB NOT NULL,
        how TEXT NOT NULL,
        original BLOB NOT NULL,
        tool TEXT NOT NULL,
        came INTEGER NOT NULL,
        sent INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX rewrite_key ON rewrite (scope, key, part);
    CREATE TABLE epoch (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        epoch BLOB NOT NULL,
        parent BLOB,
        first BLOB NOT NULL,
        length INTEGER NOT NULL,
        chain BLOB NOT NULL,
        plan TEXT NOT NULL,
        cause TEXT NOT NULL,
        number INTEGER NOT NULL,
        came INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        confidence REAL,
        profile TEXT NOT NULL,
        config TEXT NOT NULL,
        at TEXT NOT NULL,
        session INTEGER NOT NULL,
        undone INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX epoch_id ON epoch (scope, epoch);
    CREATE INDEX epoch_first ON epoch (scope, first);
    CREATE INDEX epoch_session ON epoch (session, undone);
    CREATE TABLE mark (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        kind TEXT NOT NULL,
        target BLOB NOT NULL,
        session INTEGER NOT NULL,
        at TEXT NOT NULL
    ) STRICT;
    CREATE INDEX mark_kind ON mark (scope, kind);
    CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        snapshot TEXT NOT NULL,
        session TEXT NOT NULL,
        name TEXT,
        purpose TEXT NOT NULL,
        at TEXT NOT NULL,
        messages INTEGER NOT NULL,
        checkpoints INTEGER NOT NULL,
        came INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        size INTEGER NOT NULL,
        model TEXT,
        profile TEXT NOT NULL,
        head BLOB NOT NULL,
        epoch BLOB
    ) STRICT;
    CREATE UNIQUE INDEX snapshot_id ON snapshot (scope, snapshot);
    CREATE INDEX snapshot_session ON snapshot (scope, session);
    CREATE TABLE damage (
        what TEXT NOT NULL
    ) STRICT;
    CREATE TABLE erased (
        scope INTEGER NOT NULL,
        key BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX erased_key ON erased (scope, key);",
    // What policies noted of a session: JSON that only its policy reads.
    "CREATE TABLE memo (
        scope INTEGER NOT NULL,
        session INTEGER NOT NULL,
        policy TEXT NOT NULL,
        memo TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX memo_policy ON memo (scope, session, policy);",
    // What came back. `after` is the history that was asked with, `chain` that history with the
    // answer behind it: the address of the message that says the same, once the client sends it.
    "CREATE TABLE answer (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        session INTEGER NOT NULL,
        after BLOB NOT NULL,
        place INTEGER NOT NULL,
        key BLOB,
        chain BLOB,
        raw BLOB,
        text BLOB NOT NULL,
        input INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_written INTEGER NOT NULL,
        output INTEGER NOT NULL,
        stop TEXT,
        at TEXT NOT NULL,
        indexed INTEGER NOT NULL,
        bytes BLOB
    ) STRICT;
    CREATE INDEX answer_usage ON answer (session, input, cache_read, cache_written, output);
    CREATE INDEX answer_after ON answer (scope, after);
    CREATE INDEX answer_key ON answer (scope, key);
    CREATE INDEX answer_open ON answer (scope, chain) WHERE indexed = 0;",
    // What was done to a session beside what was said, as JSON; and which facts an epoch kept, as
    // JSON, none where that was not recorded. The id of the epoch vouches for it.
    "CREATE TABLE act (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        session INTEGER NOT NULL,
        act TEXT NOT NULL
    ) STRICT;
    CREATE INDEX act_session ON act (scope, session);
    ALTER TABLE epoch ADD COLUMN must_keep TEXT;",
    // What was learned of models and their providers, as JSON.
    "CREATE TABLE lesson (
        scope INTEGER NOT NULL,
        about TEXT NOT NULL,
        lesson TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX lesson_about ON lesson (scope, about);",
    // Sessions share nothing. `label` is the id that a client gives its session, `opened` counts the
    // first messages that nobody recorded the author of, and `place` is what the session had come to
    // when something was done. What older versions recorded for all sessions of a scope at once stays
    // so: messages that may be on the way of several (`shared`), and rewrites (session 0). They named
    // a session by the id of its client: what looks like one is its label. Who said what came before
    // the first recorded answer nobody knows. The ledger
    // sums these columns apart (`scope.whole`), so that its other sum is what it was.
    "ALTER TABLE session ADD COLUMN label TEXT;
    ALTER TABLE session ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
    UPDATE session SET opened =
        coalesce((SELECT min(place) FROM answer WHERE answer.session = session.id), messages);
    UPDATE session SET label = name WHERE name GLOB 'ses_*' OR name GLOB
        '????????-????-????-????-????????????';
    CREATE INDEX session_label ON session (scope, label) WHERE label IS NOT NULL;
    ALTER TABLE scope ADD COLUMN whole BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
    ALTER TABLE act ADD COLUMN place BLOB;
    ALTER TABLE epoch ADD COLUMN place BLOB;
    ALTER TABLE mark ADD COLUMN place BLOB;
    ALTER TABLE message ADD COLUMN shared INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE rewrite ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
    DROP INDEX message_chain;
    CREATE UNIQUE INDEX message_chain ON message (scope, chain, session);
    DROP INDEX epoch_id;
    CREATE UNIQUE INDEX epoch_id ON epoch (scope, epoch, session);
    DROP INDEX rewrite_key;
    CREATE UNIQUE INDEX rewrite_key ON rewrite (scope, key, part, session);",
    // Passages are a session's own: what two sessions say is found under both. An older one is that
    // of the session in its source (0: outside of sessions).
    "ALTER TABLE passage ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
    UPDATE passage SET session = coalesce((
        SELECT session.id FROM held JOIN session ON session.id = held.session
        WHERE held.scope = passage.scope AND held.blob = passage.original
        AND substr(passage.source, 1, length(session.name) + 2) = session.name || ': '
        ORDER BY length(session.name) DESC LIMIT 1), 0);
    DROP INDEX passage_text;
    CREATE UNIQUE INDEX passage_text ON passage (scope, text_id, session);
    CREATE INDEX passage_session ON passage (scope, session, id);",
    // What a session's trigger goes by, as JSON. Older versions recorded `rent` alone.
    "ALTER TABLE session ADD COLUMN meter TEXT;",
    // A row whose words are believed tells by itself whether they are those that were written.
    "ALTER TABLE act ADD COLUMN sum BLOB;
    ALTER TABLE mark ADD COLUMN sum BLOB;
    ALTER TABLE memo ADD COLUMN sum BLOB;
    ALTER TABLE lesson ADD COLUMN sum BLOB;",
];

/// The version that gave scopes a ledger.
const LEDGER: usize = 2;

/// The versions that added columns to what the ledger covers.
const WHOLE: usize = 7;
const OWNED: usize = 8;
const METERED: usize = 9;

/// The version that gave rows sums of their own.
const SUMMED: usize = 10;

/// Whether a power cut may harm the file. The crash of a process never does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sync {
    /// It may. Waiting for the disk is most of the time it takes to make a store and close it, and
    /// a file that was just created holds nothing yet that could be lost.
    Off,
    /// It cannot; it may take the newest commits.
    Normal,
    /// It cannot, and takes nothing that was acknowledged.
    Full,
}

impl Sync {
    /// Sets it for all that the connection writes from now on.
    pub(crate) fn apply(self, connection: &Connection) -> rusqlite::Result<()> {
        let level = match self {
            Self::Off => "OFF",
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
        };
        connection.pragma_update(None, "synchronous", level)
    }
}

/// Why a database is not used.
pub(crate) enum SchemaRefusal {
    /// The port's own error.
    Newer(StoreError),
    /// It belongs to another program.
    Foreign,
    /// What the database says.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for SchemaRefusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Sets the connection up and brings the tables to this program's version.
pub(crate) fn prepare(
    connection: &mut Connection,
    sync: Sync,
    seal: FileSeal,
) -> Result<(), SchemaRefusal> {
    connection.busy_timeout(PATIENCE)?;
    sums::function(connection)?;
    connection.pragma_update(None, "secure_delete", true)?;
    // Else some statements are prepared anew with each value that is bound to them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    sync.apply(connection)?;
    // At one moment: another process may be making the same store.
    let moment = connection.transaction()?;
    let found = state(&moment)?;
    drop(moment);
    if found == SchemaState::Current {
        return Ok(());
    }
    if found == SchemaState::Empty {
        seal.begin(connection);
        // Lasts in the file; needs to be alone with it, so it is done once only.
        insist(|| connection.pragma_update(None, "journal_mode", "WAL"))?;
    }
    migrate(connection)
}

/// Writes a page of the file that says what it said before.
pub(crate) fn touch(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", MIGRATIONS.len() as i64)
}

/// Tries again what the database refuses at once, without the wait of `busy_timeout`, where
/// several processes want to be alone with it at the same time.
fn insist(work: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let mut pause = Duration::from_millis(1);
    loop {
        match work() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && pause < PATIENCE =>
            {
                std::thread::sleep(pause);
                pause *= 2;
            }
            done => return done,
        }
    }
}

/// Runs the migrations that are missing; another process may have run them meanwhile.
fn migrate(connection: &mut Connection) -> Result<(), SchemaRefusal> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = match state(&transaction)? {
        SchemaState::Empty => 0,
        SchemaState::Older(version) => version,
        SchemaState::Current => return Ok(()),
    };
    for step in &MIGRATIONS[done..] {
        transaction.execute_batch(step)?;
    }
    if done < LEDGER {
        checksum::begin(&transaction)?;
    } else if done < METERED {
        let gone = (done >= WHOLE).then_some(&checksum::SESSION_UNMETERED);
        let is_wider = |table: &checksum::CheckedTable| match table.name {
            "session" => true,
            "passage" => done < OWNED,
            _ => done < WHOLE,
        };
        checksum::widen(&transaction, is_wider, gone)?;
    }
    if (LEDGER..OWNED).contains(&done) {
        passages::offer_shared(&transaction)?;
    }
    if done < SUMMED {
        sums::add(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(transaction.commit()?)
}

/// What a database is to this program.
#[derive(Debug, PartialEq)]
enum SchemaState {
    /// Nothing is in it yet.
    Empty,
    /// A store of an older schema.
    Older(usize),
    /// A store of this program's schema.
    Current,
}

fn state(connection: &Connection) -> Result<SchemaState, SchemaRefusal> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION {
        let tables = connection.prepare("SELECT 1 FROM sqlite_schema")?.exists([])?;
        return if tables { Err(SchemaRefusal::Foreign) } else { Ok(SchemaState::Empty) };
    }
    let (found, known) = (number("user_version")?, MIGRATIONS.len());
    match usize::try_from(found) {
        Ok(version) if version < known => Ok(SchemaState::Older(version)),
        Ok(version) if version == known => Ok(SchemaState::Current),
        _ => Err(SchemaRefusal::Newer(StoreError::Newer { found, known: known as i64 })),
    }
}

/// The tables of a database, and how they were made.
pub(crate) fn tables(connection: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    connection
        .prepare(
            "SELECT type || ' ' || name || ' ' || tbl_name, sql FROM sqlite_schema ORDER BY 1",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The tables that this program makes.
pub(crate) fn expected() -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let connection = Connection::open_in_memory()?;
    for step in MIGRATIONS {
        connection.execute_batch(step)?;
    }
    tables(&connection)
}
