//! The JSON path of a proxy against serde_json, on a body of 1.46 MB with 400 messages and 30
//! tools (goal 5: at most 0.4 of a `Value` round trip, at most 1.7 of `IgnoredAny`).
//!
//! The ratios printed first come from one interleaved loop; criterion's own figures follow.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock, prints, and may fail"
)]

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use epitome_types::{Edit, EntryId, PartId};
use epitome_wire::{Format, RequestDocument, scan};
use serde::de::IgnoredAny;

const MESSAGES: usize = 400;
const ROUNDS: usize = 51;

/// An agent's conversation: source code and listings, with the escapes they bring.
fn body() -> String {
    let mut body =
        r#"{"model":"claude-x","max_tokens":4096,"temperature":1.0,"tools":["#.to_owned();
    for tool in 0..30 {
        let comma = if tool == 0 { "" } else { "," };
        let about =
            "Reads a file from the disk, with an offset and a limit where it is long. ".repeat(8);
        write!(
            body,
            r#"{comma}{{"name":"tool_{tool}","description":"{about}","input_schema":{{"type":"object","properties":{{"path":{{"type":"string","description":"{about}"}},"limit":{{"type":"integer","minimum":1}}}},"required":["path"]}}}}"#
        )
        .unwrap();
    }
    body += r#"],"messages":["#;
    for message in 0..MESSAGES {
        let comma = if message == 0 { "" } else { "," };
        if message % 2 == 0 {
            let line = format!(
                r#"    let value_{message} = map.get(\"key_{message}\").copied().unwrap_or(0x{message:x}); // caf\u00e9\n"#
            );
            let text = line.repeat(84);
            write!(
                body,
                r#"{comma}{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{message}","content":"{text}"}}]}}"#
            )
            .unwrap();
        } else {
            let next = message + 1;
            write!(
                body,
                r#"{comma}{{"role":"assistant","content":[{{"type":"text","text":"Now the next file."}},{{"type":"tool_use","id":"toolu_{next}","name":"read","input":{{"path":"src/file_{next}.rs","limit":2000,"ratio":2.50}}}}]}}"#
            )
            .unwrap();
        }
    }
    body += "]}";
    body
}

/// Scan, hash, and new bytes for every twentieth message.
fn ours(body: &[u8]) -> Vec<u8> {
    let scan = scan(body, Format::Anthropic).unwrap();
    let with = br#"{"role":"user","content":"short"}"#.as_slice();
    let changed: Vec<_> = (0..MESSAGES).step_by(20).map(|place| (place, with)).collect();
    black_box(&scan.messages);
    scan.splice(body, &changed)
}

/// Every entry decoded, and the texts of every twentieth message replaced.
fn decoded(body: &[u8]) -> Vec<u8> {
    let document = RequestDocument::parse(body, Format::Anthropic).unwrap();
    let edits: Vec<_> = (0..MESSAGES as u32)
        .step_by(20)
        .map(|entry| Edit::SetText {
            part: PartId { entry: EntryId(entry), part: 0 },
            text: "short".into(),
        })
        .collect();
    document.edited(&edits).unwrap()
}

fn round_trip(body: &[u8]) -> Vec<u8> {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap();
    serde_json::to_vec(&value).unwrap()
}

fn ignored(body: &[u8]) -> Vec<u8> {
    black_box(serde_json::from_slice::<IgnoredAny>(body).unwrap());
    Vec::new()
}

type Contender = (&'static str, fn(&[u8]) -> Vec<u8>);

const CONTENDERS: [Contender; 4] = [
    ("scan, hash, splice 5 %", ours),
    ("decode all, edit 5 %", decoded),
    ("serde_json Value round trip", round_trip),
    ("serde_json IgnoredAny", ignored),
];

/// Medians of an interleaved loop, so that a slow stretch of the machine meets all alike.
fn ratios(body: &[u8]) {
    let mut times = CONTENDERS.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((_, run), times) in CONTENDERS.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(run(black_box(body)));
            times.push(start.elapsed());
        }
    }
    let medians = times.map(|mut times| {
        times.sort();
        times.get(ROUNDS / 2).map_or(0.0, Duration::as_secs_f64)
    });
    println!("body: {} bytes, {MESSAGES} messages", body.len());
    for ((name, _), median) in CONTENDERS.iter().zip(medians) {
        println!(
            "{name}: {:.0} us, {:.2} of the round trip, {:.2} of IgnoredAny",
            median * 1e6,
            median / medians[2],
            median / medians[3]
        );
    }
}

fn bench(criterion: &mut Criterion) {
    let body = body();
    ratios(body.as_bytes());
    for (name, run) in CONTENDERS {
        criterion.bench_function(name, |bencher| bencher.iter(|| run(black_box(body.as_bytes()))));
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
