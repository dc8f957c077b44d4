//! A network that is cut.

#![expect(clippy::print_stdout, reason = "tells the figures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role};
use epitome_kernel::{AppendBatch, Journal, MessageRecord, StoreError};
use epitome_postgres::{PostgresAddress, PostgresLog, PostgresStore};
use epitome_store::{RecordLog, RecordStore, SessionArchive};
use epitome_testkit::{PostgresRelay, PostgresServer};

use crate::outage::begin;
use crate::shared::open;

const SCOPE: &str = "local/default";
const AT: &str = "2026-01-02T03:04:05Z";

/// How often the network is cut where `EPITOME_NETWORK_CUTS` says nothing else.
const CUTS: usize = 20;

/// So many bytes pass at most until the next cut: some turns.
const MOST: u64 = 20_000;

/// So long no cut may take to come.
const PATIENCE: Duration = Duration::from_secs(60);

fn through(relay: &PostgresRelay) -> PostgresStore {
    let address = PostgresAddress::parse(&relay.address("postgres")).unwrap();
    PostgresStore::over(PostgresLog::open(address).unwrap())
}

/// Numbers as if thrown by dice, the same every time.
fn dice(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 32)
}

/// What was said to be written is there, once, wherever the network was cut.
#[test]
#[expect(clippy::disallowed_methods, reason = "no cut may be waited for without end")]
fn nothing_that_was_written_is_lost_or_doubled_while_a_network_is_cut() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let relay = PostgresRelay::start(&server).unwrap();
    let cuts = std::env::var("EPITOME_NETWORK_CUTS").map_or(CUTS, |count| count.parse().unwrap());
    let stores = [through(&relay), through(&relay)];
    let is_over = AtomicBool::new(false);
    let written: Vec<(String, Vec<MessageRecord>)> = thread::scope(|threads| {
        let writers = ["a", "b"].into_iter().zip(&stores).map(|(name, store)| {
            let is_over = &is_over;
            threads.spawn(move || {
                // Begun by a call whose answer was cut off, it is there.
                let is_begun = |done| matches!(done, Ok(()) | Err(StoreError::Taken { .. }));
                while !is_begun(begin(store, name)) {}
                // A line of messages: one that was not said to be written is said again.
                let (mut said, mut after): (Vec<MessageRecord>, _) =
                    (vec![], HistoryHash::default());
                while !is_over.load(Ordering::Relaxed) {
                    let place = u32::try_from(said.len()).unwrap();
                    let batch = turn(name, after, place);
                    if store.append(SCOPE, name, &batch).is_ok() {
                        said.extend(batch.said);
                        after = said.last().unwrap().chain;
                    }
                }
                (name.to_owned(), said)
            })
        });
        let writers: Vec<_> = writers.collect();
        let end = EndsWriters(&is_over);
        for cut in 0..cuts {
            relay.cut_after(u32::try_from(dice(cut as u64) % MOST).unwrap());
            let start = Instant::now();
            while relay.cuts() <= cut {
                assert!(start.elapsed() < PATIENCE, "nobody writes behind cut {cut}");
                thread::sleep(Duration::from_millis(1));
            }
        }
        drop(end);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let fresh = PostgresStore::over(open(&server, "postgres"));
    for (name, said) in &written {
        // Between two cuts there may be no time for a turn.
        let Some(head) = said.last().map(|last| last.chain) else { continue };
        let found = fresh.history(SCOPE, name, head, 0, said.len() + 9).unwrap();
        assert!(found.iter().map(|it| it.key).eq(said.iter().map(|it| it.key)), "{name}");
        let info = fresh.session(SCOPE, name).unwrap();
        // One more may be there that its writer was not told of.
        let more = info.figures.messages - u32::try_from(said.len()).unwrap();
        assert!(more <= 1, "{name}: {more}");
    }
    assert_eq!(fresh.verify(false).unwrap(), Vec::new());
    let messages = written.iter().map(|(_, said)| said.len()).sum::<usize>();
    assert!(messages > 0);
    println!("{cuts} cuts, {messages} messages");
}

/// Has the writers end with whoever waits for cuts, also where none comes.
struct EndsWriters<'a>(&'a AtomicBool);

impl Drop for EndsWriters<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What is between a store and its server may keep a connection and say nothing on it any more.
#[test]
fn connections_that_fall_silent_hold_up_nobody_later() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let relay = PostgresRelay::start(&server).unwrap();
    let address = PostgresAddress::parse(&relay.address("postgres")).unwrap();
    let log = Arc::new(PostgresLog::open(address).unwrap());
    let store = RecordStore::over(Arc::clone(&log));
    log.wait_at_most(Duration::from_millis(300));
    // More often than there are connections.
    for number in 0..10 {
        relay.fall_silent();
        begin(&store, &format!("silent {number}")).ok();
    }
    // As many as still have a silent connection fail.
    let later = (0..10).filter(|number| begin(&store, &format!("later {number}")).is_ok());
    assert!(later.count() >= 5);
    log.wait_at_most(Duration::from_secs(4));
    assert_eq!(store.verify(false).unwrap(), Vec::new());
}

/// What a client adds behind a history.
pub(crate) fn turn(session: &str, after: HistoryHash, place: u32) -> AppendBatch {
    let text = format!("{session} {place} {}", "word ".repeat(60));
    let key = EntryKey(ContentId::for_text(&text).0);
    let said = MessageRecord {
        chain: after.append(key),
        key,
        place,
        role: Role::User,
        text: ContentId::for_text(&text),
        bytes: Some(text.into_bytes()),
        tokens: 70,
        at: None,
    };
    let format = "anthropic".to_owned();
    AppendBatch { after, said: vec![said], at: AT.into(), format, ..AppendBatch::default() }
}
