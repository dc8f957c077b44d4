//! How long it takes to count what a compression keeps of 100 messages of some 500 tokens: of an
//! agent's whose tool traffic left, and of people's of whom half was summed up.
#![allow(missing_docs, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use epitome_extract::{KeepRules, must_keep};
use epitome_kernel::types::{Entry, Passage};
use epitome_testkit::chat;

/// Text of about 500 tokens that was not said before.
fn text(name: &str) -> String {
    (0..125).map(|word| format!("{name}x{word}")).collect::<Vec<_>>().join(" ")
}

fn agent() -> (Vec<Entry>, Vec<Entry>) {
    let chat = (0..25).fold(chat(), |chat, at| {
        let call = format!(r#"{{"q":"{}"}}"#, text(&format!("c{at}")));
        chat.user(&text(&format!("u{at}")))
            .call("read", &call)
            .result(&text(&format!("r{at}")))
            .assistant(&text(&format!("a{at}")))
    });
    let entries = chat.entries();
    let has_tools = |entry: &Entry| entry.parts.iter().any(|part| part.body.is_tool());
    let prompt = entries.iter().filter(|entry| !has_tools(entry)).cloned().collect();
    (entries, prompt)
}

fn talk() -> (Vec<Entry>, Vec<Entry>) {
    let chat = (0..50).fold(chat(), |chat, at| {
        let said = format!(
            "We met in room {at} at noon, and the coffee was fine. Never put step_{at} into \
             src/old_{at}.rs: it is due on 2027-03-{:02}. Please keep the figures of the north \
             out of it. ",
            at % 28 + 1
        );
        let answer = format!(
            "I have read src/old_{at}.rs, and step_{} says what you said. I decided against the \
             second chart because it was too small. ",
            at / 2
        );
        chat.user(&said.repeat(9)).assistant(&answer.repeat(14))
    });
    let entries = chat.entries();
    let prompt = entries[50..].to_vec();
    (entries, prompt)
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("must_keep");
    for (name, (entries, prompt)) in [("agent", agent()), ("talk", talk())] {
        let left: Vec<Passage> = entries
            .iter()
            .filter(|entry| !prompt.contains(entry))
            .map(|entry| Passage { entry: entry.id, text: entry.readable().into_owned() })
            .collect();
        let [entries, prompt] = [&entries, &prompt].map(|all| all.iter().collect::<Vec<_>>());
        group.bench_function(name, |bencher| {
            bencher.iter(|| must_keep(black_box(&entries), &prompt, &left, &KeepRules::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
