//! Tables that are made, found, and left alone.

use std::thread;

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, Journal, OriginalStore, StoreError, StoredText};
use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_store::{RecordLog, RecordStore, SessionArchive};
use epitome_testkit::PostgresServer;

use crate::shared::{address, client, open};

#[test]
fn several_that_begin_at_the_same_time_make_the_tables_once() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let open = || PostgresLog::open(address(&server, "postgres")).map(drop);
    thread::scope(|threads| {
        let all: Vec<_> = (0..8).map(|_| threads.spawn(open)).collect();
        all.into_iter().for_each(|one| one.join().unwrap().unwrap());
    });
    let versions = client(&server, "postgres").query("SELECT version FROM epitome_schema", &[]);
    assert_eq!(versions.unwrap().len(), 1);
}

#[test]
fn whoever_may_not_make_tables_uses_those_that_are_there() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    open(&server, "postgres");
    let mut admin = client(&server, "postgres");
    admin
        .batch_execute(
            "CREATE ROLE worker LOGIN;
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO worker;
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO worker",
        )
        .unwrap();
    let url = server.address("postgres").replace("epitome@", "worker@");
    let log = PostgresLog::open(PostgresAddress::parse(&url).unwrap()).unwrap();
    assert_eq!(log.scopes().unwrap(), Vec::<String>::new());
}

#[test]
fn databases_that_cannot_be_used_are_named() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    open(&server, "postgres");
    let mut admin = client(&server, "postgres");
    admin.batch_execute("UPDATE epitome_schema SET version = 99").unwrap();
    let newer = PostgresLog::open(address(&server, "postgres")).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 99, .. }), "{newer}");
    let missing = PostgresLog::open(address(&server, "none")).unwrap_err().to_string();
    assert!(missing.contains("\"none\" does not exist"), "{missing}");
    admin.batch_execute("CREATE DATABASE old TEMPLATE template0 ENCODING 'SQL_ASCII'").unwrap();
    let old = PostgresLog::open(address(&server, "old")).unwrap_err().to_string();
    assert!(old.contains("SQL_ASCII"), "{old}");
}

/// The tables as the second version made them, with what it wrote.
const SECOND: &str = "
    DROP POLICY epitome_version ON epitome_schema; DROP POLICY epitome_team ON epitome_schema;
    ALTER TABLE epitome_schema DISABLE ROW LEVEL SECURITY;
    DROP POLICY epitome_number ON epitome_scope;
    ALTER TABLE epitome_line DROP CONSTRAINT epitome_line_pkey, ADD PRIMARY KEY (id);
    ALTER TABLE epitome_record DROP CONSTRAINT epitome_record_pkey, ADD PRIMARY KEY (line, seq);
    ALTER TABLE epitome_blob DROP CONSTRAINT epitome_blob_pkey, ADD PRIMARY KEY (line, id);
    ALTER TABLE epitome_piece DROP CONSTRAINT epitome_piece_pkey, ADD PRIMARY KEY (line, id);
    UPDATE epitome_schema SET version = 2;";

/// The same of the first version.
const FIRST: &str = "
    DROP POLICY epitome_team ON epitome_scope; DROP POLICY epitome_team ON epitome_line;
    DROP POLICY epitome_team ON epitome_record; DROP POLICY epitome_team ON epitome_key;
    DROP POLICY epitome_team ON epitome_blob; DROP POLICY epitome_team ON epitome_piece;
    ALTER TABLE epitome_scope DISABLE ROW LEVEL SECURITY;
    ALTER TABLE epitome_line DISABLE ROW LEVEL SECURITY;
    ALTER TABLE epitome_record DISABLE ROW LEVEL SECURITY;
    ALTER TABLE epitome_key DISABLE ROW LEVEL SECURITY;
    ALTER TABLE epitome_blob DISABLE ROW LEVEL SECURITY;
    ALTER TABLE epitome_piece DISABLE ROW LEVEL SECURITY;
    ALTER TABLE epitome_record DROP COLUMN scope;
    UPDATE epitome_schema SET version = 1";

/// What a role of another team wrote under a line when nothing bound the two.
const FOREIGN: &str = "
    INSERT INTO epitome_scope (name) VALUES ('alders/default');
    INSERT INTO epitome_record (scope, line, seq, kind, stamp, body, sum)
        SELECT scope + 1, id, seq + 1, 1, 0, '\\x00', '\\x00' FROM epitome_line;
    INSERT INTO epitome_blob (scope, line, id, bytes)
        SELECT scope + 1, id, '\\x01', '\\x01' FROM epitome_line;";

#[test]
fn tables_of_an_older_version_keep_what_they_hold() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let text = "The gate is blue.";
    let id = ContentId::for_text(text);
    for (database, older) in
        [("first", format!("{SECOND}{FIRST}")), ("second", format!("{SECOND}{FOREIGN}"))]
    {
        let mut admin = client(&server, "postgres");
        admin.batch_execute(&format!("CREATE DATABASE {database}")).unwrap();
        let blob = StoredText { id, source: "e1".to_owned(), text: text.to_owned() };
        let kept = Eviction { blobs: vec![blob], ..Eviction::default() };
        RecordStore::over(open(&server, database)).keep("local/default", &kept).unwrap();
        client(&server, database).batch_execute(&older).unwrap();
        let store = RecordStore::over(open(&server, database));
        assert_eq!(store.original("local/default", &id.to_string()).unwrap().text, text);
        assert_eq!(store.verify(false).unwrap(), []);
        store.learn("local/default", "model", "\"fast\"").unwrap();
        let versions = client(&server, database).query("SELECT version FROM epitome_schema", &[]);
        assert_eq!(versions.unwrap()[0].get::<_, i64>(0), 4);
    }
}
