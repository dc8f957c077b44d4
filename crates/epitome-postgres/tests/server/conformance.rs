//! What every store promises.

use std::sync::atomic::{AtomicUsize, Ordering};

use epitome_store::conformance;
use epitome_testkit::PostgresServer;

use crate::shared::{client, open};

#[test]
fn it_keeps_to_the_rules_of_stores() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let count = AtomicUsize::new(0);
    let made = conformance::run_all(|| {
        let name = format!("rule_{}", count.fetch_add(1, Ordering::Relaxed));
        client(&server, "postgres").batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        open(&server, &name)
    });
    made.unwrap();
    assert!(count.into_inner() > 15);
}
