//! How much memory a compression takes, for bodies of several shapes.
//!
//! Invariant: what is held is counted by the allocator, on all threads, so that equal bodies give
//! equal figures on any machine. One test alone runs here: others would be counted with it.

use epitome::{CompressionTarget, Compressor};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

#[global_allocator]
static HELD: PeakAlloc = PeakAlloc;

/// The most bytes that are held at once for each byte of the body: the body, its texts as they were
/// decoded, and what each message takes besides.
const TIMES: usize = 4;
/// What is held besides, however large the body is: the vocabulary, and what units are weighed by.
const CONSTANT: usize = 48 << 20;
/// The sizes of the bodies, in bytes.
const SIZES: [usize; 2] = [6 << 20, 12 << 20];

const WORDS: [&str; 24] = [
    "importer", "reads", "file", "config", "value", "order", "again", "timeout", "retry", "queue",
    "worker", "path", "token", "cache", "session", "store", "index", "parse", "error", "line",
    "module", "build", "client", "upload",
];

/// Words, the same at every run.
struct Words(u64);

impl Words {
    fn number(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.number() as usize % WORDS.len()]
    }

    /// Sentences of so many bytes.
    fn prose(&mut self, bytes: usize) -> String {
        let mut out = String::with_capacity(bytes + 100);
        while out.len() < bytes {
            out.push_str("The");
            for _ in 0..self.number() % 10 + 5 {
                out.extend([" ", self.word()]);
            }
            let number = self.number() % 4000;
            out.push_str(&format!(" src/{}_{number}.rs. ", self.word()));
            if number.is_multiple_of(5) {
                out.push('\n');
            }
        }
        out
    }

    /// Lines of code of so many bytes.
    fn code(&mut self, bytes: usize) -> String {
        let mut out = String::with_capacity(bytes + 100);
        while out.len() < bytes {
            let (number, [a, b, c]) = (self.number() % 4000, [(); 3].map(|()| self.word()));
            out.push_str(&format!("    let {a}_{number} = {b}({c}, \"{a}\");\n"));
        }
        out
    }
}

fn said(role: &str, content: impl Into<Value>) -> Value {
    json!({"role": role, "content": content.into()})
}

/// One huge text in the middle.
fn huge(bytes: usize) -> Vec<Value> {
    vec![said("user", "Read this."), said("assistant", "Yes."), said("user", Words(1).prose(bytes))]
}

/// Many messages of middle length.
fn many(bytes: usize) -> Vec<Value> {
    let mut words = Words(2);
    let roles = ["user", "assistant"].into_iter().cycle();
    roles.take(bytes / 1500).map(|role| said(role, words.prose(1500))).collect()
}

/// Many calls and their results.
fn tools(bytes: usize) -> Vec<Value> {
    let mut words = Words(3);
    let of = |turn: usize| {
        let (id, path) = (format!("t{turn}"), format!("src/module_{turn}.rs"));
        let call = json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": path}});
        let text = words.code(8000);
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        [said("assistant", vec![call]), said("user", vec![result])]
    };
    let all = (0..bytes / 8000).flat_map(of);
    [said("user", "Fix the bug.")].into_iter().chain(all).collect()
}

fn encoded(body: Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(&body).unwrap();
    bytes.shrink_to_fit();
    bytes
}

/// The most that is held while a body of about so many bytes is compressed, it among that; and its
/// bytes.
fn held(shape: fn(usize) -> Vec<Value>, bytes: usize) -> [usize; 2] {
    let end = [said("assistant", "Done reading all of it."), said("user", "What does it say?")];
    let messages: Vec<Value> = shape(bytes).into_iter().chain(end).collect();
    let body =
        encoded(json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages}));
    let before = HELD.current_usage() - body.len();
    HELD.reset_peak_usage();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let builder = Compressor::builder().target(CompressionTarget::Tokens(8000)).without_originals();
    let compressed = runtime.block_on(builder.build().compress(&body)).unwrap();
    assert!(compressed.bytes.len() < 100_000 && !compressed.report.ops.is_empty());
    [HELD.peak_usage() - before, body.len()]
}

#[test]
fn a_compression_holds_at_most_four_times_its_input() {
    // The vocabulary is read once and stays.
    held(many, 100_000);
    for (name, shape) in [("huge", huge as fn(usize) -> _), ("many", many), ("tools", tools)] {
        let [small, large] = SIZES.map(|bytes| held(shape, bytes));
        let (more, bytes) = (large[0].saturating_sub(small[0]), large[1] - small[1]);
        assert!(more <= TIMES * bytes, "{name}: {more} bytes for {bytes} more");
        assert!(large[0] <= TIMES * large[1] + CONSTANT, "{name}: {} bytes", large[0]);
    }
}
