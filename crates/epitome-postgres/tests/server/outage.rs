//! A server that goes away, and comes back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use epitome_kernel::{Beginning, Journal, StoreError};
use epitome_postgres::{PostgresLog, PostgresStore};
use epitome_store::{RecordLog, RecordStore, SessionArchive};
use epitome_testkit::PostgresServer;

use crate::shared::open;

const SCOPE: &str = "local/default";
/// How often a server crashes where `EPITOME_RESTARTS` says nothing else.
const RESTARTS: u32 = 4;

const AT: &str = "2026-01-02T03:04:05Z";

pub(crate) fn begin<L: RecordLog>(store: &RecordStore<L>, name: &str) -> Result<(), StoreError> {
    let beginning = Beginning { label: None, opened: 0, from: None };
    store.begin(SCOPE, name, &beginning, AT)
}

/// Each that was said to be written is there, once; none that was refused stands half.
#[test]
fn nothing_that_was_written_is_lost_or_doubled_while_a_server_crashes() {
    let Some(mut server) = PostgresServer::start().unwrap() else { return };
    let store = PostgresStore::over(open(&server, "postgres"));
    let other = PostgresStore::over(open(&server, "postgres"));
    let (is_over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let written: Vec<String> = thread::scope(|threads| {
        let writer = |prefix: &'static str, store| {
            let (is_over, count) = (&is_over, &count);
            move || {
                let mut done = Vec::new();
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("{prefix}{number}");
                    if begin::<PostgresLog>(store, &name).is_ok() {
                        let memos = [("p".to_owned(), name.clone())].into();
                        if store.note(SCOPE, &name, &memos).is_ok() {
                            done.push(name);
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
                done
            }
        };
        let writers = [threads.spawn(writer("a", &store)), threads.spawn(writer("b", &other))];
        let restarts = std::env::var("EPITOME_RESTARTS").map(|count| count.parse().unwrap());
        for _ in 0..restarts.unwrap_or(RESTARTS) {
            thread::sleep(Duration::from_millis(150));
            // A machine that is busy takes longer until it is up again.
            let before = count.load(Ordering::Relaxed);
            for _ in 0..1_000 {
                if count.load(Ordering::Relaxed) > before {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
            server.stop().unwrap();
            server.start_again().unwrap();
        }
        thread::sleep(Duration::from_millis(150));
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(written.len() > 2, "{}", written.len());
    let fresh = PostgresStore::over(open(&server, "postgres"));
    for name in &written {
        assert_eq!(fresh.memos(SCOPE, name).unwrap()["p"], *name);
    }
    assert_eq!(fresh.verify(false).unwrap(), Vec::new());
}

#[test]
fn a_server_that_is_not_there_is_named_without_its_password() {
    let Some(mut server) = PostgresServer::start().unwrap() else { return };
    let store = PostgresStore::over(open(&server, "postgres"));
    begin(&store, "work").unwrap();
    server.stop().unwrap();
    let error = store.memos(SCOPE, "work").unwrap_err().to_string();
    assert!(
        error.contains("postgres://epitome@") && error.contains("cannot be reached"),
        "{error}"
    );
    server.start_again().unwrap();
    assert!(store.memos(SCOPE, "work").unwrap().is_empty());
}
