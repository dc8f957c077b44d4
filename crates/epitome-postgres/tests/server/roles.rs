//! Teams on one database: a role of a team reads and writes nothing of another, whatever it asks.

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, Journal, OriginalStore, StoreError, StoredText};
use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_store::{RecordStore, SessionArchive};
use epitome_testkit::PostgresServer;
use postgres::{Client, NoTls};

use crate::shared::{client, open};

/// What a database is told once for its teams.
const TEAMS: &str = "
    CREATE ROLE epitome_team;
    GRANT SELECT ON epitome_schema TO epitome_team;
    GRANT SELECT, INSERT ON epitome_scope TO epitome_team;
    GRANT SELECT, INSERT, UPDATE, DELETE
        ON epitome_line, epitome_record, epitome_key, epitome_blob, epitome_piece TO epitome_team;
    GRANT USAGE ON SEQUENCE epitome_stamp, epitome_scope_id_seq, epitome_line_id_seq TO epitome_team;
    CREATE ROLE rowans LOGIN IN ROLE epitome_team;
    CREATE ROLE alders IN ROLE epitome_team;
    CREATE ROLE ann LOGIN IN ROLE alders";

/// What it was told before.
const MORE: &str = "
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO epitome_team;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO epitome_team";

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

/// What a role of a team may try with the numbers of another team's rows, which it can guess.
const FOREIGN: [&str; 7] = [
    "INSERT INTO epitome_record (scope, line, seq, kind, stamp, body, sum)
         VALUES ($OWN, $LINE, $SEQ, 1, 0, '\\x00', '\\x00')",
    "INSERT INTO epitome_key (scope, line, key) VALUES ($OWN, $LINE, '\\x01')",
    "INSERT INTO epitome_blob (scope, line, id, bytes) VALUES ($OWN, $LINE, '\\x01', '\\x01')",
    "INSERT INTO epitome_piece (scope, line, id, original, source, body, terms)
         VALUES ($OWN, $LINE, '\\x01', '\\x01', '\\x01', '\\x01', '{gate}')",
    "UPDATE epitome_record SET line = $LINE, seq = $SEQ",
    "UPDATE epitome_blob SET line = $LINE",
    "INSERT INTO epitome_scope (id, name) OVERRIDING SYSTEM VALUE
         SELECT 1000000 + next, 'rowans/' || next FROM generate_series(1, 3) next",
];

#[test]
fn a_role_of_a_team_puts_nothing_in_the_way_of_another() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let all = RecordStore::over(open(&server, "postgres"));
    let mut admin = client(&server, "postgres");
    admin.batch_execute(TEAMS).unwrap();
    admin.batch_execute(MORE).unwrap();
    let (rowans, ann) = (store(&server, "rowans"), store(&server, "ann"));
    keep(&rowans, "rowans/default", "The gate is blue.").unwrap();
    keep(&ann, "alders/default", "The gate is red.").unwrap();

    let asked = "SELECT line.id, line.seq, own.id FROM epitome_line line
        JOIN epitome_scope scope ON scope.id = line.scope AND scope.name = 'alders/default',
        epitome_scope own WHERE own.name = 'rowans/default'";
    let found = admin.query_one(asked, &[]).unwrap();
    let [line, seq, of] = [0, 1, 2].map(|at| found.get::<_, i64>(at));
    let mut own = Client::connect(&address(&server, "rowans"), NoTls).unwrap();
    for tried in FOREIGN {
        let numbers = [("$LINE", line), ("$SEQ", seq + 1), ("$OWN", of)];
        let fill =
            |text: String, (name, number): (&str, i64)| text.replace(name, &number.to_string());
        let tried = numbers.into_iter().fold(tried.to_owned(), fill);
        assert!(own.batch_execute(&tried).is_err(), "{tried}");
    }
    // Lines of its own may have any number, and are in nobody's way with it.
    let ahead = format!(
        "INSERT INTO epitome_line (id, scope, name, seq, sum) OVERRIDING SYSTEM VALUE
         SELECT next, {of}, next::text, 0, '' FROM generate_series({line}, {line} + 100) next"
    );
    own.batch_execute(&ahead).unwrap();

    keep(&ann, "alders/default", "The gate is old.").unwrap();
    keep(&ann, "alders/other", "The gate is new.").unwrap();
    ann.learn("alders/third", "model", "\"fast\"").unwrap();
    let wrong = all.verify(false).unwrap();
    assert_eq!(wrong, []);
}

#[test]
fn a_role_of_a_team_does_not_change_the_version() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    open(&server, "postgres");
    let mut admin = client(&server, "postgres");
    admin.batch_execute(TEAMS).unwrap();
    let mut own = Client::connect(&address(&server, "rowans"), NoTls).unwrap();
    for grants in ["", MORE] {
        admin.batch_execute(grants).unwrap();
        let mut try_to = |what: &str| own.execute(what, &[]).unwrap_or_default();
        assert_eq!(try_to("UPDATE epitome_schema SET version = 99"), 0);
        assert_eq!(try_to("DELETE FROM epitome_schema"), 0);
        assert_eq!(try_to("INSERT INTO epitome_schema VALUES (99)"), 0);
        store(&server, "ann");
    }
}

#[test]
fn what_a_role_may_not_do_is_named_with_what_helps() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let mut admin = client(&server, "postgres");
    admin.batch_execute("CREATE ROLE worker LOGIN").unwrap();
    let refused = |server: &PostgresServer| {
        let address = PostgresAddress::parse(&address(server, "worker")).unwrap();
        let log = PostgresLog::open(address);
        let kept = log.map(RecordStore::over).and_then(|store| keep(&store, "local/default", "A."));
        kept.unwrap_err().to_string()
    };
    let check = |told: String, helps: &str| assert!(told.contains(helps), "{told}");
    check(refused(&server), "it has no tables yet, and this role may not change that");
    open(&server, "postgres");
    check(refused(&server), "`GRANT SELECT ON epitome_schema TO ROLE`");
    admin.batch_execute("GRANT SELECT ON epitome_schema TO worker").unwrap();
    check(refused(&server), "`GRANT SELECT, INSERT, UPDATE, DELETE ON epitome_");
    admin.batch_execute("UPDATE epitome_schema SET version = 1").unwrap();
    check(refused(&server), "its tables are of version 1, expected 4");
    admin.batch_execute("DELETE FROM epitome_schema").unwrap();
    let told = PostgresLog::open(PostgresAddress::parse(&server.address("postgres")).unwrap());
    check(told.unwrap_err().to_string(), "does not say of which version");
}
