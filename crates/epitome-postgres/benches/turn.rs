//! What a turn takes in PostgreSQL beside what it takes in SQLite: a message of 5 KB that is recorded
//! before its request is sent, and an answer of 1.5 KB behind it; what it takes a process that knows
//! nothing to find a conversation of 1,000 messages and read it; and how many turns of 32 conversations
//! at once are recorded in a second.
//!
//! `cargo bench -p epitome-postgres --bench turn` prints medians of one run, interleaved. The server runs
//! on this machine, and so shares its processors and its disk.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "the ratio is what this bench is for")]
#![expect(clippy::unwrap_used, reason = "a bench may fail")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role, TokenUsage};
use epitome_kernel::{AppendBatch, Clue, Journal, MessageRecord, ResponseRecord};
use epitome_postgres::{PostgresAddress, PostgresLog};
use epitome_store::{Durability, RecordStore, SqliteStore};
use epitome_testkit::PostgresServer;

/// Bytes of a message, and of an answer.
const SIZES: [usize; 2] = [5_000, 1_500];
/// Turns that are timed.
const TURNS: u32 = 1_000;
/// Processes that take the conversation over once it has so many messages.
const MESSAGES: usize = 1_000;
const HOPS: usize = 50;
/// Conversations at once, and turns of each.
const CALLERS: usize = 32;
const EACH: usize = 60;
const SCOPE: &str = "local/default";

fn said(after: HistoryHash, place: u32, role: Role, size: usize) -> MessageRecord {
    let text = format!("{place:08} {}", "word ".repeat(size / 5));
    let key = EntryKey(ContentId::for_text(&text).0);
    let (chain, id) = (after.append(key), ContentId::for_text(&text));
    let bytes = Some(text.into_bytes());
    MessageRecord { chain, key, place, role, bytes, text: id, tokens: 500, at: None }
}

/// What a turn adds behind a history: the answer before it as the client sends it back, what is new,
/// and the answer to that.
struct Turn {
    batch: AppendBatch,
    answer: ResponseRecord,
}

impl Turn {
    fn behind(answered: Option<MessageRecord>, after: HistoryHash) -> Self {
        let at = "2026-01-01T00:00:00Z".to_owned();
        let (chain, place) = answered.as_ref().map_or((after, 0), |it| (it.chain, it.place + 1));
        let asked = said(chain, place, Role::User, SIZES[0]);
        let next = said(asked.chain, place + 1, Role::Assistant, SIZES[1]);
        let answer = ResponseRecord {
            after: asked.chain,
            ahead: 0,
            key: Some(next.key),
            chain: next.chain,
            bytes: next.bytes,
            text: next.text,
            usage: TokenUsage::default(),
            stop: None,
            at: at.clone(),
            is_whole: false,
        };
        let said = answered.into_iter().chain([asked]).collect();
        let format = "anthropic".to_owned();
        Self { batch: AppendBatch { after, said, at, format, ..AppendBatch::default() }, answer }
    }

    /// The answer as a message of the history.
    fn answered(&self) -> MessageRecord {
        let place = self.batch.said.last().unwrap().place + 1;
        said(self.answer.after, place, Role::Assistant, SIZES[1])
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn log(address: &str) -> Arc<PostgresLog> {
    Arc::new(PostgresLog::open(PostgresAddress::parse(address).unwrap()).unwrap())
}

/// A process that knows nothing takes the conversation over.
fn hop(log: &Arc<PostgresLog>, chains: &[HistoryHash]) {
    let process = RecordStore::over(Arc::clone(log));
    let clue = Clue { chains, format: "anthropic", label: None, least: 1, answers: &|_| None };
    let found = process.holders(SCOPE, &clue).unwrap();
    assert_eq!((found.len(), found[0].shared), (1, chains.len()));
}

/// Turns in a second of conversations that all go on at once.
fn crowd(store: &RecordStore<Arc<PostgresLog>>) -> f64 {
    let talk = |name: String| {
        let (mut answered, mut after) = (None, HistoryHash::default());
        for _ in 0..EACH {
            let turn = Turn::behind(answered.take(), after);
            store.append(SCOPE, &name, &turn.batch).unwrap();
            store.record_response(SCOPE, &name, &turn.answer).unwrap();
            after = turn.batch.said.last().unwrap().chain;
            answered = Some(turn.answered());
        }
    };
    let all = timed(|| {
        std::thread::scope(|threads| {
            (0..CALLERS).for_each(|at| drop(threads.spawn(move || talk(format!("crowd {at}")))));
        });
    });
    (CALLERS * EACH) as f64 / all.as_secs_f64()
}

fn main() {
    let server = PostgresServer::start().unwrap().unwrap();
    let lasting = log(&server.new_database().unwrap());
    let lazy = server.new_database().unwrap();
    let lazy = log(&format!("{lazy}?options=-c%20synchronous_commit%3Doff"));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, durability| {
        SqliteStore::open_with(&folder.path().join(name), durability).unwrap()
    };
    let stores: [(&str, Box<dyn Journal>); 4] = [
        ("SQLite, normal", Box::new(file("normal.db", Durability::Normal))),
        ("SQLite, full", Box::new(file("full.db", Durability::Full))),
        ("PostgreSQL, commit off", Box::new(RecordStore::over(Arc::clone(&lazy)))),
        ("PostgreSQL, commit on", Box::new(RecordStore::over(Arc::clone(&lasting)))),
    ];
    let mut times: [Vec<Duration>; 4] = <_>::default();
    let (mut answered, mut after, mut chains) = (None, HistoryHash::default(), Vec::new());
    let mut hops = Vec::new();
    for _ in 0..TURNS {
        let turn = Turn::behind(answered.take(), after);
        for ((_, store), times) in stores.iter().zip(&mut times) {
            times.push(timed(|| {
                store.append(SCOPE, "one", &turn.batch).unwrap();
                store.record_response(SCOPE, "one", &turn.answer).unwrap();
            }));
        }
        chains.extend(turn.batch.said.iter().map(|said| said.chain));
        (answered, after) = (Some(turn.answered()), *chains.last().unwrap());
        if chains.len().div_ceil(2) == MESSAGES / 2 {
            hops = (0..HOPS).map(|_| timed(|| hop(&lasting, &chains))).collect();
        }
    }
    let medians = times.map(median);
    for ((name, _), took) in stores.iter().zip(medians) {
        println!("{name:<24} {took:>8.0} us a turn, message and answer");
    }
    let [normal, full, off, on] = medians;
    println!("commit off / normal {:.2}, commit on / full {:.2}", off / normal, on / full);
    for (name, log) in [("off", &lazy), ("on", &lasting)] {
        let turns = crowd(&RecordStore::over(Arc::clone(log)));
        println!("{CALLERS} conversations at once, commit {name}: {turns:.0} turns a second");
    }
    let hop = median(hops) / 1e3;
    println!("{MESSAGES} messages found and read by a new process: {hop:.1} ms");
}
