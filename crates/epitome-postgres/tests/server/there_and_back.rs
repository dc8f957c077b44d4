//! A store that is copied into a database and back holds what it held.

#![expect(clippy::print_stdout, reason = "tells the figures")]

use std::time::Instant;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role};
use epitome_kernel::{AppendBatch, Journal, MessageRecord};
use epitome_postgres::PostgresStore;
use epitome_store::{SqliteStore, TransferMode, TransferReport, TransferStore, transfer};
use epitome_testkit::PostgresServer;

use crate::shared::open;

const SCOPE: &str = "local/default";

/// Messages in a session.
const EACH: u32 = 200;

/// Messages in all where `EPITOME_COPIED_MESSAGES` says nothing else.
const MESSAGES: u32 = 1_000;

fn fill(store: &SqliteStore, sessions: u32) {
    for session in 0..sessions {
        let (mut after, mut said) = (HistoryHash::default(), Vec::new());
        for place in 0..EACH {
            let text = format!("{session} {place} {}", "words of the march ".repeat(20));
            let key = EntryKey(ContentId::for_text(&text).0);
            after = after.append(key);
            said.push(MessageRecord {
                chain: after,
                key,
                place,
                role: if place % 2 == 0 { Role::User } else { Role::Assistant },
                text: ContentId::for_text(&text),
                bytes: Some(text.into_bytes()),
                tokens: 90,
                at: None,
            });
        }
        let batch = AppendBatch {
            said,
            at: "2026-01-01T00:00:00Z".into(),
            format: "anthropic".into(),
            ..AppendBatch::default()
        };
        store.append(SCOPE, &format!("session {session}"), &batch).unwrap();
    }
}

fn copied(from: &dyn TransferStore, to: &dyn TransferStore) -> TransferReport {
    let report = transfer(from, to, TransferMode::Add, &mut |_| {}).unwrap();
    assert_eq!(report.differ, Vec::<String>::new());
    report
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long it takes is shown")]
fn what_was_copied_there_and_back_is_the_same() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let messages =
        std::env::var("EPITOME_COPIED_MESSAGES").map_or(MESSAGES, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let [first, last] = ["first.db", "last.db"].map(|name| folder.path().join(name));
    let first = SqliteStore::open(&first).unwrap();
    fill(&first, messages.div_ceil(EACH));
    let database = PostgresStore::over(open(&server, "postgres"));
    let last = SqliteStore::open(&last).unwrap();
    let start = Instant::now();
    let there = copied(&first, &database);
    let back = copied(&database, &last);
    let took = start.elapsed();
    assert!(there.messages >= u64::from(messages));
    assert_eq!((there.messages, there.sessions), (back.messages, back.sessions));
    let compared = copied(&first, &last);
    assert_eq!((compared.same, compared.bytes), (compared.sessions, 0));
    println!("{} messages there and back in {took:.1?}", there.messages);
}
