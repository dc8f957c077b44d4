//! What encryption costs a turn's records and a search, beside the same without, interleaved in one run.
//!
//! `cargo bench -p epitome-store --features seal --bench seal` prints both and their ratio.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "the ratio is what this bench is for")]
#![expect(clippy::unwrap_used, reason = "a bench may fail")]

use std::path::Path;
use std::time::{Duration, Instant};

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role, TokenUsage};
use epitome_kernel::{AppendBatch, Journal, MessageRecord, ResponseRecord};
use epitome_store::{Durability, SessionArchive, SqliteStore, StoreFile, StoreKey};

/// Bytes of a message.
const SIZE: usize = 2_000;

/// Turns that are timed.
const ROUNDS: u32 = 3_000;

fn message(after: HistoryHash, place: u32, role: Role) -> MessageRecord {
    let text = format!("{place:08} {}", "word ".repeat(SIZE / 5));
    let key = EntryKey(ContentId::for_text(&text).0);
    MessageRecord {
        chain: after.append(key),
        key,
        place,
        role,
        text: ContentId::for_text(&text),
        bytes: Some(text.into_bytes()),
        tokens: 500,
        at: None,
    }
}

/// A message of a person, and the answer to it.
fn turn(after: HistoryHash, place: u32) -> (AppendBatch, ResponseRecord) {
    let said = message(after, place, Role::User);
    let answer = message(said.chain, place + 1, Role::Assistant);
    let at = "2026-01-01T00:00:00Z".to_owned();
    let response = ResponseRecord {
        after: said.chain,
        ahead: 0,
        key: Some(answer.key),
        chain: answer.chain,
        bytes: answer.bytes,
        text: answer.text,
        usage: TokenUsage::default(),
        stop: None,
        at: at.clone(),
        is_whole: false,
    };
    (AppendBatch { after, said: vec![said], at, ..AppendBatch::default() }, response)
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The medians of both kinds, and their ratio.
fn shown(name: &str, times: [Vec<Duration>; 2]) {
    let [plain, sealed] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let ratio = sealed.as_secs_f64() / plain.as_secs_f64();
    println!("{name:<36} plain {plain:>10.1?}  encrypted {sealed:>10.1?}  {ratio:.2}");
}

fn compare(folder: &Path, durability: Durability) {
    let key = StoreKey::create(&folder.join(format!("{durability:?}.key"))).unwrap();
    let [plain, sealed] = ["plain", "sealed"].map(|it| folder.join(format!("{durability:?}-{it}")));
    let stores = [
        SqliteStore::open_with(&plain, durability).unwrap(),
        SqliteStore::open_with(StoreFile::from(&sealed).sealed(&key), durability).unwrap(),
    ];
    let mut chain = HistoryHash::default();
    let (mut turns, mut reads, mut opens): ([Vec<Duration>; 2], [Vec<Duration>; 2], _) =
        (<_>::default(), <_>::default(), <[Vec<Duration>; 2]>::default());
    for round in 0..ROUNDS {
        let (batch, response) = turn(chain, 2 * round);
        for at in [round as usize % 2, (round as usize + 1) % 2] {
            turns[at].push(timed(|| {
                stores[at].append("local", "one", &batch).unwrap();
                stores[at].record_response("local", "one", &response).unwrap();
            }));
        }
        // The client sends the answer back with its next message.
        let head = batch.said[0].chain;
        let answered = message(head, 2 * round + 1, Role::Assistant);
        let back = AppendBatch {
            after: head,
            at: batch.at.clone(),
            said: vec![answered.clone()],
            ..AppendBatch::default()
        };
        stores.iter().for_each(|store| store.append("local", "one", &back).unwrap());
        chain = answered.chain;
    }
    shown(&format!("a turn's records, {durability:?}"), turns);
    drop(stores);
    for _ in 0..20 {
        let open = [&|| SqliteStore::open_with(&plain, durability).unwrap(), &|| {
            SqliteStore::open_with(StoreFile::from(&sealed).sealed(&key), durability).unwrap()
        }] as [&dyn Fn() -> SqliteStore; 2];
        for (at, open) in open.into_iter().enumerate() {
            let mut store = None;
            opens[at].push(timed(|| store = Some(open())));
            let store = store.unwrap();
            let most = 2 * ROUNDS as usize;
            reads[at].push(timed(|| {
                assert_eq!(store.history("local", "one", chain, 0, most).unwrap().len(), most);
            }));
        }
    }
    shown("opened", opens);
    shown("6,000 messages read anew", reads);
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    compare(folder.path(), Durability::Normal);
    compare(folder.path(), Durability::Full);
}
