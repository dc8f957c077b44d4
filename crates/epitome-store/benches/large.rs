//! A store with 100,000 messages: opening, listing, a page of history, appending, searching.
//!
//! `cargo bench -p epitome-store --bench large` prints the figures; `EPITOME_MESSAGES` changes how
//! many messages it makes.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "the figures are what this bench is for")]
#![expect(clippy::unwrap_used, reason = "a bench may fail")]

use std::path::Path;
use std::time::{Duration, Instant};

use epitome_kernel::types::{ContentId, EntryId, EntryKey, HistoryHash, ImagePart, Passage, Role};
use epitome_kernel::{
    AppendBatch, Eviction, Journal, MessageRecord, OriginalStore, StoredText, TokenCounter,
};
use epitome_store::SessionArchive;
use epitome_store::{MemoryStore, SqliteStore};

/// Messages that one request brings.
const BATCH: usize = 100;

/// Four bytes are a token.
struct Bytes;

impl TokenCounter for Bytes {
    fn id(&self) -> &str {
        "bytes/4"
    }

    fn count(&self, text: &str) -> u64 {
        text.len() as u64 / 4
    }

    fn image(&self, _: &ImagePart) -> u64 {
        0
    }
}

/// A message as an agent's history has them: prose, paths, numbers, and one rare name in a
/// thousand messages.
fn text(number: usize) -> String {
    let words = ["parse", "theme", "build", "error", "index", "table", "flight", "token", "branch"];
    let mut seed = number as u64;
    let mut text = format!("Step {number} of the work on crates/part{}/src/lib.rs: ", number % 97);
    for _ in 0..40 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (seed >> 33) as usize;
        text.push_str(words[pick % words.len()]);
        text.push_str(if pick.is_multiple_of(7) { " failed with code " } else { " " });
        if pick.is_multiple_of(11) {
            text.push_str(&format!("{} ", pick % 5_000));
        }
    }
    if number % 1_000 == 123 {
        text.push_str(&format!("The vault code is QX-{number}."));
    }
    text
}

fn fill(store: &SqliteStore, memory: &MemoryStore, messages: usize) -> HistoryHash {
    let mut chain = HistoryHash::default();
    for first in (0..messages).step_by(BATCH) {
        let mut batch =
            AppendBatch { after: chain, at: "2026-01-01".into(), ..AppendBatch::default() };
        let mut departure = Eviction::default();
        let mut chains = Vec::new();
        for number in first..(first + BATCH).min(messages) {
            let text = text(number);
            let id = ContentId::for_text(&text);
            let key = EntryKey(id.0);
            chain = chain.append(key);
            chains.push(chain);
            batch.said.push(MessageRecord {
                chain,
                key,
                place: u32::try_from(number).unwrap(),
                role: Role::User,
                bytes: Some(text.clone().into_bytes()),
                text: id,
                tokens: 100,
                at: None,
            });
            let entry = EntryId(u32::try_from(number).unwrap());
            departure.sources.push((entry, id, format!("{entry} user")));
            departure.passages.push(Passage { entry, text: text.clone() });
            departure.blobs.push(StoredText { id, source: format!("{entry} user"), text });
        }
        store.append("local", "long", &batch).unwrap();
        store.index("local", "one", &chains, &departure).unwrap();
        memory.keep("local", &departure).unwrap();
    }
    chain
}

fn timed<T>(name: &str, mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("{name:<44} {:>10.2?}  (slowest {:.2?})", times[2], times[4]);
    times[2]
}

fn measure(path: &Path, memory: &MemoryStore, head: HistoryHash, messages: usize) {
    timed("open", || SqliteStore::open(path).unwrap());
    timed("open and list", || {
        SqliteStore::open(path).unwrap().sessions("local", 0, 50, false).unwrap()
    });
    let store = SqliteStore::open(path).unwrap();
    let last = u32::try_from(messages - 100).unwrap();
    timed("the first page of the history", || store.history("local", "one", head, 0, 100).unwrap());
    timed("the last page of the history", || {
        store.history("local", "one", head, last, 100).unwrap()
    });
    for query in
        ["QX-50123", "what was the code of the vault?", "error", "the build failed", "zebra", ""]
    {
        let whole = timed(&format!("linear scan for {query:?}"), || {
            memory.search("local", query, 2_000, &Bytes).unwrap()
        });
        let quick = timed(&format!("search for {query:?}"), || {
            store.search("local", query, 2_000, &Bytes).unwrap()
        });
        println!("{:>60.3} of a linear scan", quick.as_secs_f64() / whole.as_secs_f64());
    }
    timed("verify", || store.verify(false).unwrap());
}

fn main() {
    // The test runner asks for nothing of a bench.
    if std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let messages = std::env::var("EPITOME_MESSAGES").ok().and_then(|count| count.parse().ok());
    let messages = messages.unwrap_or(100_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let memory = MemoryStore::new();
    let start = Instant::now();
    let head = fill(&SqliteStore::open(&path).unwrap(), &memory, messages);
    println!("{messages} messages made and indexed in {:.1?}", start.elapsed());
    println!("{} MB on disk", path.metadata().unwrap().len() >> 20);
    measure(&path, &memory, head, messages);
}
