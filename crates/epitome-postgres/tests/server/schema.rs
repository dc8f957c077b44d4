//! Tables that are made, found, and left alone.

use std::thread;

use epitome_kernel::StoreError;
use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_store::RecordLog;
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
