//! The tables, and how those of an older version become the newest.
//!
//! Invariant: a change of the tables is made by one process at a time, whole or not at all; tables that
//! a newer program made are left alone. Called where a log is opened.

use postgres::error::{DbError, SqlState};
use postgres::{Client, Error};

/// What stands between processes that begin at the same time; any number that nobody else has taken.
const LOCK: i64 = 0x0065_7069_746f_6d65;

/// Whether the role that asks is held to its teams.
macro_rules! in_a_team {
    () => {
        "EXISTS (
             SELECT FROM pg_catalog.pg_roles held
             WHERE held.rolname = 'epitome_team' AND pg_has_role(held.oid, 'MEMBER')
         )"
    };
}

/// Has a team add rows of a table under its own lines only. One that begins in the same statement is not
/// seen yet: its number is the last one that was drawn over this connection.
macro_rules! own_lines {
    ($table:literal) => {
        concat!(
            "DELETE FROM epitome_", $table, " own WHERE NOT EXISTS (
                 SELECT FROM epitome_line line WHERE line.id = own.line AND line.scope = own.scope
             );
             ALTER POLICY epitome_team ON epitome_", $table, " WITH CHECK (
                 EXISTS (SELECT FROM epitome_scope own WHERE own.id = scope) AND CASE
                     WHEN EXISTS (
                         SELECT FROM epitome_line own
                         WHERE own.scope = epitome_", $table, ".scope
                             AND own.id = epitome_", $table, ".line
                     ) THEN true
                     WHEN ", in_a_team!(), "
                         THEN line = pg_catalog.currval('epitome_line_id_seq')
                     ELSE true
                 END
             );"
        )
    };
}

/// What leads from each version to the next one. A version is never changed once it is released.
const STEPS: &[&str] = &[
    // Texts of conversations are kept as bytes: what tools print may hold any of them.
    "CREATE TABLE epitome_scope (
         id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         name text COLLATE \"C\" NOT NULL UNIQUE
     );
     CREATE TABLE epitome_line (
         id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         scope bigint NOT NULL,
         name text COLLATE \"C\" NOT NULL,
         seq bigint NOT NULL,
         sum bytea NOT NULL,
         UNIQUE (scope, name)
     ) WITH (fillfactor = 70);
     CREATE TABLE epitome_record (
         line bigint NOT NULL,
         seq bigint NOT NULL,
         kind integer NOT NULL,
         key bytea,
         stamp bigint NOT NULL,
         body bytea,
         sum bytea NOT NULL,
         PRIMARY KEY (line, seq)
     );
     CREATE TABLE epitome_key (
         scope bigint NOT NULL,
         key bytea NOT NULL,
         line bigint NOT NULL,
         PRIMARY KEY (scope, key, line)
     );
     CREATE INDEX epitome_key_of_line ON epitome_key (line);
     CREATE TABLE epitome_blob (
         line bigint NOT NULL,
         id bytea NOT NULL,
         scope bigint NOT NULL,
         place bigint GENERATED ALWAYS AS IDENTITY,
         source bytea,
         bytes bytea NOT NULL,
         PRIMARY KEY (line, id)
     );
     CREATE INDEX epitome_blob_of_scope ON epitome_blob (scope, id);
     CREATE TABLE epitome_piece (
         line bigint NOT NULL,
         id bytea NOT NULL,
         scope bigint NOT NULL,
         place bigint GENERATED ALWAYS AS IDENTITY,
         original bytea NOT NULL,
         source bytea NOT NULL,
         first bigint,
         last bigint,
         body bytea NOT NULL,
         terms text[] NOT NULL,
         PRIMARY KEY (line, id)
     );
     CREATE INDEX epitome_piece_of_scope ON epitome_piece (scope, place);
     CREATE INDEX epitome_piece_terms ON epitome_piece USING gin (terms);
     CREATE SEQUENCE epitome_stamp;",
    // A role that is in `epitome_team` reads and writes the scopes of its teams alone: those whose
    // tenant is its name, or that of a role it is in. Other roles are not held to that.
    // A record tells its scope itself, since its line may begin in the same statement.
    "ALTER TABLE epitome_record ADD COLUMN scope bigint;
     UPDATE epitome_record record SET scope = line.scope
         FROM epitome_line line WHERE line.id = record.line;
     ALTER TABLE epitome_record ALTER COLUMN scope SET NOT NULL;
     ALTER TABLE epitome_scope ENABLE ROW LEVEL SECURITY;
     ALTER TABLE epitome_line ENABLE ROW LEVEL SECURITY;
     ALTER TABLE epitome_record ENABLE ROW LEVEL SECURITY;
     ALTER TABLE epitome_key ENABLE ROW LEVEL SECURITY;
     ALTER TABLE epitome_blob ENABLE ROW LEVEL SECURITY;
     ALTER TABLE epitome_piece ENABLE ROW LEVEL SECURITY;
     CREATE POLICY epitome_team ON epitome_scope USING (
         NOT EXISTS (
             SELECT FROM pg_catalog.pg_roles held
             WHERE held.rolname = 'epitome_team' AND pg_has_role(held.oid, 'MEMBER')
         ) OR EXISTS (
             SELECT FROM pg_catalog.pg_roles team
             WHERE team.rolname = split_part(name, '/', 1) AND pg_has_role(team.oid, 'MEMBER')
         )
     );
     CREATE POLICY epitome_team ON epitome_line USING (
         EXISTS (SELECT FROM epitome_scope own WHERE own.id = scope)
     );
     CREATE POLICY epitome_team ON epitome_record USING (
         EXISTS (SELECT FROM epitome_scope own WHERE own.id = scope)
     );
     CREATE POLICY epitome_team ON epitome_key USING (
         EXISTS (SELECT FROM epitome_scope own WHERE own.id = scope)
     );
     CREATE POLICY epitome_team ON epitome_blob USING (
         EXISTS (SELECT FROM epitome_scope own WHERE own.id = scope)
     );
     CREATE POLICY epitome_team ON epitome_piece USING (
         EXISTS (SELECT FROM epitome_scope own WHERE own.id = scope)
     );",
    // A line is one of its scope: no key reaches beyond, since a team could take, or hold up, what another
    // is about to write. What a team adds stands under a line of its own, or is refused; foreign keys would
    // say so too, at a look-up and a lock for each row of a turn. Rows that no program wrote go first.
    concat!(
        own_lines!("record"),
        own_lines!("key"),
        own_lines!("blob"),
        own_lines!("piece"),
        "ALTER TABLE epitome_line
             DROP CONSTRAINT epitome_line_pkey, ADD PRIMARY KEY (scope, id);
         ALTER TABLE epitome_record
             DROP CONSTRAINT epitome_record_pkey, ADD PRIMARY KEY (scope, line, seq);
         ALTER TABLE epitome_blob
             DROP CONSTRAINT epitome_blob_pkey, ADD PRIMARY KEY (scope, line, id);
         ALTER TABLE epitome_piece
             DROP CONSTRAINT epitome_piece_pkey, ADD PRIMARY KEY (scope, line, id);
         CREATE POLICY epitome_number ON epitome_scope AS RESTRICTIVE FOR INSERT WITH CHECK (
             CASE WHEN ",
        in_a_team!(),
        " THEN id <= pg_catalog.pg_sequence_last_value('epitome_scope_id_seq') ELSE true END
         );"
    ),
    // A team reads of which version the tables are, whatever else it was granted.
    concat!(
        "ALTER TABLE epitome_schema ENABLE ROW LEVEL SECURITY;
         CREATE POLICY epitome_version ON epitome_schema FOR SELECT USING (true);
         CREATE POLICY epitome_team ON epitome_schema USING (NOT ",
        in_a_team!(),
        ");"
    ),
];

const VERSION: &str = "SELECT version FROM epitome_schema";

/// What became of the tables.
pub(crate) enum Migrated {
    /// They are the newest.
    Done,
    /// A newer program made them.
    Newer(i64),
    /// They cannot be used as they are.
    Unusable(String),
}

/// The version that this program makes.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// Makes the tables, or brings them to the newest version.
pub(crate) fn migrate(client: &mut Client) -> Result<Migrated, Error> {
    let encoding: String = client.query_one("SHOW server_encoding", &[])?.get(0);
    if encoding != "UTF8" {
        return Ok(Migrated::Unusable(format!(
            "it keeps texts as {encoding}; make a database with ENCODING 'UTF8'"
        )));
    }
    // Whoever may not make tables may use those that are there.
    let mut found = None;
    if client.query_one("SELECT to_regclass('epitome_schema') IS NOT NULL", &[])?.get(0) {
        found = client.query_opt(VERSION, &[])?.map(|row| row.get::<_, i64>(0));
        match found {
            Some(NEWEST) => return Ok(Migrated::Done),
            Some(newer) if newer > NEWEST => return Ok(Migrated::Newer(newer)),
            _ => {}
        }
    }
    match step_on(client) {
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let tables = found.map_or_else(
                || "it has no tables yet".to_owned(),
                |version| format!("its tables are of version {version}, expected {NEWEST}"),
            );
            let cause = error.as_db_error().map_or("it was refused", DbError::message);
            Ok(Migrated::Unusable(format!(
                "{tables}, and this role may not change that ({cause}); open it once as the owner of its \
                 tables, or as a role that may create some"
            )))
        }
        done => done,
    }
}

/// Takes the steps that are left, in one transaction.
fn step_on(client: &mut Client) -> Result<Migrated, Error> {
    let mut work = client.transaction()?;
    work.batch_execute(&format!(
        "SELECT pg_advisory_xact_lock({LOCK});
         CREATE TABLE IF NOT EXISTS epitome_schema (version bigint NOT NULL)"
    ))?;
    let known = work.query_opt(VERSION, &[])?;
    if known.is_none()
        && work.query_one("SELECT to_regclass('epitome_scope') IS NOT NULL", &[])?.get(0)
    {
        let cause = "its tables are there, and `epitome_schema` does not say of which version; restore \
                     that table from a backup, or put its one row, the version, back";
        return Ok(Migrated::Unusable(cause.to_owned()));
    }
    let version: i64 = known.as_ref().map_or(0, |row| row.get(0));
    let Some(steps) = usize::try_from(version).ok().and_then(|version| STEPS.get(version..)) else {
        return Ok(Migrated::Newer(version));
    };
    if steps.is_empty() {
        return Ok(Migrated::Done);
    }
    for step in steps {
        work.batch_execute(step)?;
    }
    let write = match known {
        Some(_) => "UPDATE epitome_schema SET version = $1",
        None => "INSERT INTO epitome_schema VALUES ($1)",
    };
    work.execute(write, &[&NEWEST])?;
    work.commit()?;
    Ok(Migrated::Done)
}
