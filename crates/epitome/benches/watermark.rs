//! What a mark costs: RULES 41's conversation of 100 messages of 500 tokens comes for the first
//! time, with its mark in it and without; and it goes on turn by turn, and the last exchange is the
//! mark, or is not.
#![allow(missing_docs, clippy::expect_used, reason = "a benchmark")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use criterion::{BatchSize, Bencher, Criterion, criterion_group, criterion_main};
use epitome::{
    Compressor, Config, ConfigSources, Format, MemoryStore, Session, SessionArchive, SqliteStore,
    WindowSetting,
};
use epitome_testkit::now;
use serde_json::{Value as Json, json};

/// Text of about 500 tokens that was not said before.
fn text(name: &str) -> String {
    (0..125).map(|word| format!("{name}x{word}")).collect::<Vec<_>>().join(" ")
}

/// The messages, with those of 25 tools; the one behind message 80 is called `mark`, and so is the
/// last one, as which the conversation ends.
fn messages(mark: [&str; 2]) -> Vec<Json> {
    let messages = (0..25).flat_map(|at| {
        let tool = match at {
            20 => mark[0],
            24 => mark[1],
            _ => "read",
        };
        let id = format!("t{at}");
        let input = json!({ "q": text(&format!("c{at}")) });
        let call = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
        let result = text(&format!("r{at}"));
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": result });
        [
            json!({ "role": "user", "content": text(&format!("u{at}")) }),
            json!({ "role": "assistant", "content": [call] }),
            json!({ "role": "user", "content": [result] }),
            json!({ "role": "assistant", "content": text(&format!("a{at}")) }),
        ]
    });
    let last = json!({ "role": "user", "content": "Next." });
    messages.chain([last]).collect()
}

fn request(messages: &[Json]) -> Vec<u8> {
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages })
        .to_string()
        .into_bytes()
}

fn memory() -> Arc<dyn SessionArchive> {
    Arc::new(MemoryStore::new())
}

/// A database of its own, which leaves with its folder.
fn sqlite(folder: &Path) -> Arc<dyn SessionArchive> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("{}.db", NUMBER.fetch_add(1, Ordering::Relaxed));
    Arc::new(SqliteStore::open(&folder.join(name)).expect("a database"))
}

fn session(journal: Arc<dyn SessionArchive>) -> Session {
    let config = Config::load(ConfigSources::default()).expect("a configuration");
    Compressor::builder()
        .profile(config.profile("watermark").expect("it is shipped"))
        .window(WindowSetting::Limit(200_000))
        .input_format(Format::Anthropic)
        .session(journal, None)
}

fn send(session: &mut Session, request: &[u8]) {
    black_box(now(session.prompt_for(request)).expect("a prompt"));
}

/// Asks the next request of a session that was asked the others one after the other.
fn next(
    bencher: &mut Bencher<'_>,
    journal: impl Fn() -> Arc<dyn SessionArchive>,
    requests: &[Vec<u8>],
) {
    let (last, before) = requests.split_last().expect("a request");
    bencher.iter_batched(
        || {
            let mut session = session(journal());
            before.iter().for_each(|request| send(&mut session, request));
            session
        },
        |mut session| {
            send(&mut session, last);
            session
        },
        BatchSize::PerIteration,
    );
}

type Journal<'a> = &'a dyn Fn() -> Arc<dyn SessionArchive>;

fn bench(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let stores: [(&str, Journal<'_>); 2] =
        [("memory", &memory), ("sqlite", &|| sqlite(folder.path()))];
    for (store, journal) in stores {
        let name = format!("100 messages of 500 tokens, {store}");
        let mut group = criterion.benchmark_group(name);
        group.sample_size(30);
        for (name, mark) in [("with a mark", "deactivate_augments"), ("without", "read")] {
            let first = [request(&messages([mark, "read"]))];
            group.bench_function(format!("new, {name}"), |bencher| next(bencher, journal, &first));
            let again = [first[0].clone(), first[0].clone()];
            group
                .bench_function(format!("again, {name}"), |bencher| next(bencher, journal, &again));
            let all = messages(["read", mark]);
            // What is sent ends as the user speaks: with a question or with a tool's result.
            let ends = (1..all.len()).step_by(2);
            let turns: Vec<_> = ends.map(|end| request(&all[..end])).collect();
            let marked = turns.len();
            let after = [&turns[..], &[request(&all)]].concat();
            group.bench_function(format!("goes on, {name}"), |bencher| {
                next(bencher, journal, &after[..marked]);
            });
            group.bench_function(format!("goes on, {name}, then"), |bencher| {
                next(bencher, journal, &after);
            });
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
