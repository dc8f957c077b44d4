//! Logs over databases of a server that was started for the test.

use std::thread;
use std::time::Duration;

use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_testkit::PostgresServer;
use postgres::{Client, NoTls};

/// Asks a server something over a connection of its own, once it has started.
pub(crate) fn client(server: &PostgresServer, database: &str) -> Client {
    for _ in 0..1_000 {
        match Client::connect(&server.address(database), NoTls) {
            Err(error) if error.code().is_some() => thread::sleep(Duration::from_millis(20)),
            made => return made.unwrap(),
        }
    }
    panic!("the server does not come up");
}

/// The address of a database, as a log takes it.
pub(crate) fn address(server: &PostgresServer, database: &str) -> PostgresAddress {
    PostgresAddress::parse(&server.address(database)).unwrap()
}

/// A log over a database.
pub(crate) fn open(server: &PostgresServer, database: &str) -> PostgresLog {
    PostgresLog::open(address(server, database)).unwrap()
}
