//! A conversation of 100,000 tokens, most of them tool results, compressed to a quarter: with a
//! store and without one, and beside the time that counting its texts takes.
//!
//! The ratios printed first come from one interleaved loop; criterion's own figures follow.
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

use criterion::{Criterion, criterion_group, criterion_main};
use epitome::{
    CompressionTarget, Compressor, Format, MemoryStore, TokenCounter, VocabularyCounter, detect,
    scope,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const TOKENS: u64 = 100_000;
const ROUNDS: usize = 11;

const NOUNS: [&str; 16] = [
    "order", "parser", "ledger", "session", "cursor", "batch", "invoice", "worker", "policy",
    "socket", "window", "retry", "tenant", "digest", "queue", "lease",
];
const VERBS: [&str; 12] = [
    "load", "merge", "flush", "check", "resume", "split", "encode", "expire", "commit", "route",
    "verify", "collect",
];

/// A small generator (xorshift), so that every run sees the same conversation.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides
    }

    fn noun(&mut self) -> &'static str {
        NOUNS[self.roll(NOUNS.len())]
    }

    fn verb(&mut self) -> &'static str {
        VERBS[self.roll(VERBS.len())]
    }

    fn path(&mut self) -> String {
        format!("src/{}/{}_{}.rs", self.noun(), self.verb(), self.noun())
    }

    /// A function as source code.
    fn function(&mut self) -> String {
        let (verb, noun, other, limit) =
            (self.verb(), self.noun(), self.noun(), self.roll(9000) + 10);
        format!(
            "/// Takes the {noun} to the {other}, {limit} at a time.\n\
             pub fn {verb}_{noun}(&mut self, {other}: &str) -> Result<usize, Error> {{\n    \
                 let {noun} = self.{noun}s.get({other}).ok_or(Error::No{limit})?;\n    \
                 if {noun}.len() > {limit} {{\n        \
                     return Err(Error::TooMany {{ most: {limit} }});\n    }}\n    \
                 Ok({noun}.len())\n}}\n\n"
        )
    }

    /// What a tool is called with, and what it answers: a file, a search, records or an edit.
    fn exchange(&mut self) -> (&'static str, Value, String) {
        let path = self.path();
        match self.roll(4) {
            0 => {
                let lines = self.roll(12) + 4;
                ("read", json!({ "path": path }), (0..lines).map(|_| self.function()).collect())
            }
            1 => {
                let pattern = format!("{}_{}", self.verb(), self.noun());
                let hits = (0..self.roll(40) + 5).map(|_| {
                    let (path, line, name) = (self.path(), self.roll(900), self.noun());
                    format!("{path}:{line}:    let {name} = self.{pattern}({line})?;\n")
                });
                let hits: String = hits.collect();
                ("grep", json!({ "pattern": pattern }), hits)
            }
            2 => {
                let records: Vec<_> = (0..self.roll(30) + 3)
                    .map(|_| {
                        json!({
                            "id": format!("{}-{:06}", self.noun(), self.roll(1_000_000)),
                            "state": self.verb(),
                            "amount": self.roll(100_000) as f64 / 100.0,
                            "at": format!("2026-03-{:02}T10:{:02}:00Z", self.roll(28), self.roll(60)),
                        })
                    })
                    .collect();
                ("query", json!({ "table": self.noun() }), json!({ "rows": records }).to_string())
            }
            _ => {
                let edit = json!({ "path": path, "old": self.function(), "new": self.function() });
                ("edit", edit, format!("{path} was changed, 1 place"))
            }
        }
    }

    fn request(&mut self) -> String {
        let (verb, noun, other) = (self.verb(), self.noun(), self.noun());
        format!(
            "Please {verb} the {noun} before the {other} is read. Never touch {}, and keep the \
             limit at {}.",
            self.path(),
            self.roll(500)
        )
    }
}

fn system() -> Value {
    json!({ "role": "system", "content": "You work on a service that bills its tenants." })
}

/// What a message is counted by: its text and the arguments of its calls.
fn texts(message: &Value) -> impl Iterator<Item = &str> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let arguments = calls.filter_map(|call| call["function"]["arguments"].as_str());
    message["content"].as_str().into_iter().chain(arguments)
}

/// The messages of a long session: each user turn is followed by a dozen tool exchanges.
fn messages() -> Vec<Value> {
    let (mut dice, counter) = (Dice(0x9E37_79B9), VocabularyCounter::default());
    let (mut messages, mut tokens, mut call) = (vec![system()], 0, 0);
    while tokens < TOKENS {
        let from = messages.len();
        if call % 12 == 0 {
            messages.push(json!({ "role": "user", "content": dice.request() }));
        }
        call += 1;
        let (id, (name, input, answer)) = (format!("call_{call}"), dice.exchange());
        let said = format!("Next I look at the {} of `{}`.", dice.noun(), dice.path());
        messages.push(json!({
            "role": "assistant",
            "content": said,
            "tool_calls": [{
                "id": id,
                "type": "function",
                "function": { "name": name, "arguments": input.to_string() },
            }],
        }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": answer }));
        let new = messages[from..].iter().flat_map(texts);
        tokens += new.map(|text| counter.count(text)).sum::<u64>();
    }
    messages.push(json!({ "role": "user", "content": dice.request() }));
    messages
}

fn compress(body: &[u8], runtime: &Runtime, with_store: bool) -> epitome::CompressedPrompt {
    let builder = Compressor::builder().target(CompressionTarget::Ratio(4.0));
    let builder = match with_store {
        true => builder.store(Arc::new(MemoryStore::new()), &scope("default")),
        false => builder,
    };
    runtime.block_on(builder.build().compress(body)).unwrap()
}

fn bench(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let messages = messages();
    let texts: Vec<&str> = messages.iter().flat_map(texts).collect();
    let body = json!({ "model": "any", "messages": messages }).to_string();
    assert_eq!(detect(body.as_bytes()).unwrap(), Format::OpenAi);
    let count = || drop(black_box(VocabularyCounter::default().count_all(&texts)));
    let bare = || drop(black_box(compress(body.as_bytes(), &runtime, false)));
    let stored = || drop(black_box(compress(body.as_bytes(), &runtime, true)));

    let report = compress(body.as_bytes(), &runtime, false).report;
    assert!(report.fits && report.after.tokens * 3 < report.before.tokens);
    let (before, after) = (report.before.tokens, report.after.tokens);
    println!("{} messages, {} bytes, {before} tokens to {after}", messages.len(), body.len());
    ratios([
        ("counting its texts cold", &count),
        ("compressing to a quarter", &bare),
        ("the same with a store", &stored),
    ]);

    let mut group = criterion.benchmark_group("100k tokens to a quarter");
    group.sample_size(10);
    group.bench_function("without a store", |bencher| bencher.iter(bare));
    group.bench_function("with a store", |bencher| bencher.iter(stored));
    group.finish();
}

/// Medians of an interleaved loop, so that a slow stretch of the machine meets all alike, each
/// beside the first.
fn ratios<const N: usize>(tasks: [(&str, &dyn Fn()); N]) {
    let mut times = tasks.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((_, run), times) in tasks.iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    let medians = times.map(|mut times| {
        times.sort();
        times.get(ROUNDS / 2).map_or(0.0, Duration::as_secs_f64)
    });
    for ((name, _), median) in tasks.iter().zip(medians) {
        println!("{name}: {:.1} ms, {:.1} times the counting", median * 1e3, median / medians[0]);
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
