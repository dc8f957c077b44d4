//! Teams on one database: a role of a team reads and writes nothing of another, whatever it asks.

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, OriginalStore, StoreError, StoredText};
use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_store::{RecordStore, SessionArchive};
use epitome_testkit::PostgresServer;
use postgres::{Client, NoTls};

use crate::shared::{client, open};

/// What a database is told once for its teams.
const TEAMS: &str = "
    CREATE ROLE epitome_team;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO epitome_team;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO epitome_team;
    CREATE ROLE rowans LOGIN IN ROLE epitome_team;
    CREATE ROLE alders IN ROLE epitome_team;
    CREATE ROLE ann LOGIN IN ROLE alders";

fn address(server: &PostgresServer, role: &str) -> String {
    server.address("postgres").replace("epitome@", &format!("{role}@"))
}

fn store(server: &PostgresServer, role: &str) -> RecordStore<PostgresLog> {
    let address = PostgresAddress::parse(&address(server, role)).unwrap();
    RecordStore::over(PostgresLog::open(address).unwrap())
}

fn keep(store: &dyn SessionArchive, scope: &str, text: &str) -> Result<(), StoreError> {
    let id = ContentId::for_text(text);
    let blob = StoredText { id, source: "e1".to_owned(), text: text.to_owned() };
    store.keep(scope, &Eviction { blobs: vec![blob], ..Eviction::default() })
}

#[test]
fn a_role_of_a_team_reaches_nothing_of_another() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let all = RecordStore::over(open(&server, "postgres"));
    client(&server, "postgres").batch_execute(TEAMS).unwrap();
    let (rowans, ann) = (store(&server, "rowans"), store(&server, "ann"));
    keep(&rowans, "rowans/default", "The gate is blue.").unwrap();
    keep(&ann, "alders/default", "The gate is red.").unwrap();
    keep(&all, "local/default", "The gate is green.").unwrap();

    // What is another team's is not there, and nobody writes to it.
    assert_eq!(rowans.scopes().unwrap(), ["rowans/default"]);
    assert_eq!(ann.scopes().unwrap(), ["alders/default"]);
    for scope in ["alders/default", "local/default"] {
        assert!(keep(&rowans, scope, "The gate is mine.").is_err(), "{scope}");
    }
    let id = ContentId::for_text("The gate is red.").to_string();
    let none = rowans.original("alders/default", &id);
    assert!(matches!(none, Err(StoreError::Unknown { .. })), "{none:?}");
    assert_eq!(ann.original("alders/default", &id).unwrap().text, "The gate is red.");

    // Whatever a role asks by itself.
    let mut own = Client::connect(&address(&server, "rowans"), NoTls).unwrap();
    let mut count = |table: &str| -> i64 {
        own.query_one(&format!("SELECT count(*) FROM epitome_{table}"), &[]).unwrap().get(0)
    };
    assert_eq!(["scope", "line", "record", "blob"].map(&mut count), [1; 4]);
    let stolen = own.execute("UPDATE epitome_line SET scope = scope + 1", &[]);
    assert!(stolen.is_err(), "a line was given to another team");
    assert_eq!(
        own.execute("DELETE FROM epitome_blob WHERE bytes <> 'The gate is blue.'", &[]).unwrap(),
        0
    );

    // Who keeps the database for all of them reaches all.
    assert_eq!(all.scopes().unwrap(), ["alders/default", "local/default", "rowans/default"]);
}

/// Roles that nobody made a team's go on as they did.
#[test]
fn a_role_of_no_team_is_held_to_none() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    open(&server, "postgres");
    let mut admin = client(&server, "postgres");
    admin
        .batch_execute(&TEAMS.replace("rowans LOGIN IN ROLE epitome_team", "rowans LOGIN"))
        .unwrap();
    admin
        .batch_execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO rowans;
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO rowans",
        )
        .unwrap();
    let all = store(&server, "rowans");
    keep(&all, "alders/default", "The gate is red.").unwrap();
    keep(&store(&server, "ann"), "alders/default", "The gate is old.").unwrap();
    assert_eq!(all.scopes().unwrap(), ["alders/default"]);
}
