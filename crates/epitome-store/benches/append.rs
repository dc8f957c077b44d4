//! What recording a message costs, beside the least that lasting costs anybody: writing the same
//! bytes to a file and waiting for the disk.
//!
//! `cargo bench -p epitome-store --bench append` prints both, interleaved in one run, and their
//! ratio.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock and writes files")]
#![expect(clippy::print_stdout, reason = "the ratio is what this bench is for")]
#![expect(clippy::unwrap_used, reason = "a bench may fail")]

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role, TokenUsage};
use epitome_kernel::{AppendBatch, Journal, MessageRecord, ResponseRecord};
use epitome_store::{Durability, SqliteStore};

/// Bytes of a message.
const SIZE: usize = 2_000;

/// Appends that are timed of each kind.
const ROUNDS: usize = 1_500;

/// The request that adds one message to a history.
fn next(after: HistoryHash, place: u32) -> AppendBatch {
    let text = format!("{place:08} {}", "word ".repeat(SIZE / 5));
    let key = EntryKey(ContentId::for_text(&text).0);
    let said = MessageRecord {
        chain: after.append(key),
        key,
        place,
        role: Role::User,
        text: ContentId::for_text(&text),
        bytes: Some(text.into_bytes()),
        tokens: 500,
        at: None,
    };
    AppendBatch {
        after,
        said: vec![said],
        at: "2026-01-01T00:00:00Z".into(),
        ..AppendBatch::default()
    }
}

/// What is answered to it.
fn answer(batch: &AppendBatch) -> ResponseRecord {
    let said = &batch.said[0];
    ResponseRecord {
        after: said.chain,
        ahead: 0,
        key: Some(said.key),
        chain: said.chain.append(said.key),
        bytes: said.bytes.clone(),
        text: said.text,
        usage: TokenUsage::default(),
        stop: None,
        at: batch.at.clone(),
        is_whole: false,
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn shown(name: &str, mut times: Vec<Duration>, beside: Option<Duration>) -> Duration {
    times.sort_unstable();
    let (half, tail) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let ratio = beside.map_or(1.0, |beside| half.as_secs_f64() / beside.as_secs_f64());
    println!("{name:<28} p50 {half:>10.1?}  p99 {tail:>10.1?}  {ratio:.2} of fdatasync");
    half
}

fn ratio() {
    let folder = tempfile::tempdir().unwrap();
    let normal = SqliteStore::open(&folder.path().join("normal.db")).unwrap();
    let full = SqliteStore::open_with(&folder.path().join("full.db"), Durability::Full).unwrap();
    let mut plain = File::create(folder.path().join("plain.jsonl")).unwrap();
    let mut chain = HistoryHash::default();
    let mut times: [Vec<Duration>; 4] = <_>::default();
    for place in 0..u32::try_from(ROUNDS).unwrap() {
        let batch = next(chain, place);
        chain = batch.said[0].chain;
        let bytes = batch.said[0].bytes.clone().unwrap();
        times[0].push(timed(|| {
            plain.write_all(&bytes).unwrap();
            plain.sync_data().unwrap();
        }));
        times[1].push(timed(|| normal.append("local", "one", &batch).unwrap()));
        let answer = answer(&batch);
        times[3].push(timed(|| normal.record_response("local", "one", &answer).unwrap()));
        times[2].push(timed(|| full.append("local", "one", &batch).unwrap()));
    }
    let [plain, normal, full, answered] = times;
    let least = shown("file + fdatasync", plain, None);
    shown("append, durability normal", normal, Some(least));
    shown("append, durability full", full, Some(least));
    shown("answered, durability normal", answered, Some(least));
}

fn append(criterion: &mut Criterion) {
    ratio();
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
    let (mut chain, mut place) = (HistoryHash::default(), 0);
    criterion.bench_function("append", |bencher| {
        bencher.iter_batched(
            || {
                let batch = next(chain, place);
                (chain, place) = (batch.said[0].chain, place + 1);
                batch
            },
            |batch| store.append("local", "one", &batch).unwrap(),
            criterion::BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, append);
criterion_main!(benches);
