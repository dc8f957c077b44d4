//! What a mark costs: SPEC 5.7's conversation of 100 messages of 500 tokens comes for the first
//! time, with its mark in it and without.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use epitome::{Compressor, Config, Format, Memory, Session, Sources, Window};
use epitome_testkit::now;
use serde_json::{Value as Json, json};

/// Text of about 500 tokens that was not said before.
fn text(name: &str) -> String {
    (0..125).map(|word| format!("{name}x{word}")).collect::<Vec<_>>().join(" ")
}

/// The request; `mark` is what the tool behind message 80 is called.
fn request(mark: &str) -> Vec<u8> {
    let messages = (0..25).flat_map(|at| {
        let (id, tool) = (format!("t{at}"), if at == 20 { mark } else { "read" });
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
    let messages: Vec<Json> = messages.chain([last]).collect();
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages })
        .to_string()
        .into_bytes()
}

fn session() -> Session {
    let config = Config::load(Sources::default()).expect("a configuration");
    Compressor::builder()
        .profile(config.profile("watermark").expect("it is shipped"))
        .window(Window::Limit(200_000))
        .format(Format::Anthropic)
        .session(Arc::new(Memory::new()), None)
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("100 messages of 500 tokens");
    let requests = [("with a mark", request("deactivate_augments")), ("without", request("read"))];
    for (name, request) in &requests {
        group.bench_function(*name, |bencher| {
            bencher.iter_batched(
                session,
                |mut session| {
                    black_box(now(session.send(request)).expect("a prompt"));
                    session
                },
                BatchSize::PerIteration,
            );
        });
        let mut session = session();
        group.bench_function(format!("{name}, again"), |bencher| {
            bencher.iter(|| black_box(now(session.send(request)).expect("a prompt")));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
