//! A server that has no place for another connection: what is asked waits for one that is free.

use std::thread;

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, OriginalStore, StoredText};
use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_store::RecordStore;
use epitome_testkit::PostgresServer;

use crate::shared::{client, open};

#[test]
fn one_connection_is_enough_for_all() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    drop(open(&server, "postgres"));
    client(&server, "postgres")
        .batch_execute(
            "CREATE ROLE few LOGIN CONNECTION LIMIT 1;
             GRANT ALL ON ALL TABLES IN SCHEMA public TO few;
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO few",
        )
        .unwrap();
    let address = server.address("postgres").replace("epitome@", "few@");
    let log = PostgresLog::open(PostgresAddress::parse(&address).unwrap()).unwrap();
    let store = RecordStore::over(log);
    thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for text in 0..10 {
                    let text = format!("{writer} writes {text}");
                    let id = ContentId::for_text(&text);
                    let blob = StoredText { id, source: "e1".to_owned(), text };
                    let kept = Eviction { blobs: vec![blob], ..Eviction::default() };
                    store.keep(&format!("scope {writer}"), &kept).unwrap();
                    store.original(&format!("scope {writer}"), &id.to_string()).unwrap();
                }
            });
        }
    });
}
