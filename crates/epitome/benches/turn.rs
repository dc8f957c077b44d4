//! What one request of a growing conversation costs beyond the one pass over its bytes (goal: the
//! same at turn 1,000 as at turn 10), and what a body of 600 KB whose messages are known costs beside
//! serde_json's `IgnoredAny` over the same bytes (goal: at most 1.7 times that, without the store).
//!
//! The tables printed first come from interleaved loops; criterion's own figures follow.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock, prints, and may fail"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use epitome::{
    Compressor, Format, LOCAL, MemoryStore, Profile, RoutedRequest, SessionArchive, SessionRouter,
    SqliteStore, WindowSetting, scan,
};
use epitome_wire::scan_after;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::runtime::Runtime;

const ROUNDS: usize = 15;
/// Turns that are measured from a turn on.
const TURNS: usize = 101;

/// Turn `at` of an agent: it calls a tool, and the tool answers with some 1,100 bytes.
fn turn(at: usize) -> [String; 2] {
    let id = format!("toolu_{at}");
    let path = format!("src/part_{at}.rs");
    let call = json!({"role": "assistant", "content": [
        {"type": "text", "text": format!("Next comes {path}.")},
        {"type": "tool_use", "id": id, "name": "read", "input": {"path": path}}]});
    let lines = (0..22).map(|line| format!("    let value_{line} = \"part {at}\";\n"));
    let text: String = lines.collect();
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": id, "content": text}]});
    [call.to_string(), result.to_string()]
}

/// The request of a turn.
fn body(turns: &[[String; 2]]) -> Bytes {
    let opening = json!({"role": "user", "content": "Mend all of it."}).to_string();
    let messages: Vec<_> =
        std::iter::once(&opening).chain(turns.iter().flatten()).map(String::as_str).collect();
    let tools = json!([{"name": "read", "input_schema": {"type": "object"}}]);
    format!(
        "{{\"model\":\"claude-x\",\"max_tokens\":4096,\"system\":\"Be brief.\",\"tools\":{tools},\"messages\":[{}]}}",
        messages.join(",")
    )
    .into()
}

fn ask(bytes: Bytes) -> RoutedRequest {
    let (format, tenant) = (Format::Anthropic, LOCAL.to_owned());
    RoutedRequest {
        bytes,
        format,
        tenant,
        label: None,
        window: None,
        client: None,
        told: None,
        cuts: false,
    }
}

fn hub(journal: Arc<dyn SessionArchive>, limit: u64) -> SessionRouter {
    let profile = Profile::default();
    SessionRouter::new(journal, move || {
        Compressor::builder().profile(profile.clone()).window(WindowSetting::Limit(limit))
    })
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Medians in microseconds of the turns that follow turn `from`: the pass over the bytes of a
/// request that goes on from a known one, the known path, what that takes beyond the pass, and a
/// session that reads all of it. The last is measured by itself: it would leave nothing of the others
/// near the processor.
fn at_turn(runtime: &Runtime, journal: fn() -> Arc<dyn SessionArchive>, from: usize) -> [f64; 4] {
    let turns: Vec<_> = (0..from + TURNS).map(turn).collect();
    let journal = journal();
    let live = hub(Arc::clone(&journal), 10_000_000);
    let first = body(&turns[..from]);
    let mut before = scan(&first, Format::Anthropic).unwrap();
    drop(runtime.block_on(live.prompt_for(&ask(first))).unwrap());
    let [mut scans, mut known, mut beyond, mut whole] = [const { Vec::new() }; 4];
    for end in from + 1..=from + TURNS {
        let ask = ask(body(&turns[..end]));
        let pass = timed(|| before = scan_after(&ask.bytes, ask.format, &before).unwrap());
        let all = timed(|| drop(black_box(runtime.block_on(live.prompt_for(&ask)).unwrap())));
        scans.push(pass);
        known.push(all);
        beyond.push(all.saturating_sub(pass));
    }
    for end in from + TURNS - ROUNDS..from + TURNS {
        let ask = ask(body(&turns[..end]));
        let fresh = hub(Arc::clone(&journal), 10_000_000);
        whole.push(timed(|| drop(black_box(runtime.block_on(fresh.prompt_for(&ask)).unwrap()))));
    }
    [scans, known, beyond, whole].map(median)
}

/// A body of some 600 KB, past the point where compression acted, asked for again and again.
fn known_body(runtime: &Runtime) {
    for (what, limit) in [("nothing changed", 10_000_000), ("spliced", 100_000)] {
        let turns: Vec<_> = (0..480 + ROUNDS).map(turn).collect();
        let live = hub(Arc::new(MemoryStore::new()), limit);
        let mut spliced = 0;
        for end in (0..480).step_by(40).chain([480]) {
            drop(runtime.block_on(live.prompt_for(&ask(body(&turns[..end])))).unwrap());
        }
        let [mut ignored, mut scans, mut known, mut looks] = [const { Vec::new() }; 4];
        for end in 481..480 + ROUNDS {
            let ask = ask(body(&turns[..end]));
            ignored
                .push(timed(|| drop(black_box(serde_json::from_slice::<IgnoredAny>(&ask.bytes)))));
            scans.push(timed(|| drop(black_box(scan(&ask.bytes, ask.format)))));
            known.push(timed(|| {
                let sent = runtime.block_on(live.prompt_for(&ask)).unwrap();
                spliced = sent.prompt.bytes.len();
            }));
            looks.push(timed(|| drop(black_box(live.preview(&ask).unwrap()))));
        }
        let size = body(&turns[..480]).len();
        let [ignored, scans, known, looks] = [ignored, scans, known, looks].map(median);
        println!(
            "{size} B to {spliced} B, {what}: IgnoredAny {ignored:.0} us, scan {scans:.0} ({:.2}), \
             prompt {known:.0} ({:.2}), look {looks:.0} ({:.2})",
            scans / ignored,
            known / ignored,
            looks / ignored
        );
    }
}

fn memory() -> Arc<dyn SessionArchive> {
    Arc::new(MemoryStore::new())
}

fn sqlite() -> Arc<dyn SessionArchive> {
    let folder = tempfile::tempdir().unwrap().keep();
    Arc::new(SqliteStore::open(&folder.join("journal.db")).unwrap())
}

fn bench(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (store, journal) in [("memory", memory as fn() -> _), ("sqlite", sqlite)] {
        for from in [10, 100, 1000] {
            let [scan, known, beyond, whole] = at_turn(&runtime, journal, from);
            println!(
                "{store}, turn {from}: scan {scan:.0} us, prompt {known:.0}, beyond the scan \
                 {beyond:.0}; read as a whole {whole:.0}"
            );
        }
    }
    known_body(&runtime);

    let turns: Vec<_> = (0..480).map(turn).collect();
    let live = hub(memory(), 10_000_000);
    // What a conversation begins with is no proof that the same again is a part of it.
    for end in [0, 240] {
        drop(runtime.block_on(live.prompt_for(&ask(body(&turns[..end])))).unwrap());
    }
    let ask = ask(body(&turns));
    drop(runtime.block_on(live.prompt_for(&ask)).unwrap());
    let mut group = criterion.benchmark_group("known_600_kb");
    group.bench_function("ignored_any", |bench| {
        bench.iter(|| serde_json::from_slice::<IgnoredAny>(black_box(&ask.bytes)).unwrap());
    });
    group.bench_function("scan", |bench| bench.iter(|| scan(black_box(&ask.bytes), ask.format)));
    group.bench_function("again", |bench| {
        bench.iter(|| runtime.block_on(live.prompt_for(black_box(&ask))).unwrap());
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
