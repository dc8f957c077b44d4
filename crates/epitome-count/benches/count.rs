//! How fast new text, known text and hostile text is counted. Criterion's figures first, then the
//! ratios that the goals speak of, each from rounds that take turns within this one run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use epitome_count::{CachedCounter, Tokenizer, Vocabulary, VocabularyCounter};
use epitome_kernel::TokenCounter;

const MEGABYTE: usize = 1 << 20;

/// A small generator (xorshift), so that every run sees the same texts.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides
    }
}

/// A megabyte of `pieces` in random order: as frequent as in the source, as hard to predict as new.
fn shuffled(pieces: &[&str], seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::with_capacity(MEGABYTE + 256);
    while text.len() < MEGABYTE {
        text.push_str(pieces[dice.roll(pieces.len())]);
    }
    text
}

fn prose(seed: u64) -> String {
    let source = include_str!("../../../LICENSE-APACHE");
    let source = &source[..source.find("APPENDIX").unwrap_or(source.len())];
    shuffled(&source.split_inclusive([' ', '\n']).collect::<Vec<_>>(), seed)
}

fn code(seed: u64) -> String {
    let sources = [
        include_str!("../build.rs"),
        include_str!("../src/scan.rs"),
        include_str!("../src/cached.rs"),
        include_str!("../src/model.rs"),
        include_str!("../src/table.rs"),
    ];
    let lines: Vec<&str> = sources.iter().flat_map(|source| source.split_inclusive('\n')).collect();
    shuffled(&lines, seed)
}

/// Megabytes that are bad for one step or another.
fn hostile() -> Vec<(&'static str, String)> {
    let run = |unit: &str| unit.repeat(MEGABYTE / unit.len());
    let mut dice = Dice(11);
    let mut draw = |alphabet: &[char]| {
        let mut text = String::with_capacity(MEGABYTE + 4);
        while text.len() < MEGABYTE {
            text.push(alphabet[dice.roll(alphabet.len())]);
        }
        text
    };
    let base64: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    vec![
        ("letter", run("a")),
        ("capital", run("A")),
        ("spaces", run(" ")),
        ("tabs", run("\t")),
        ("dashes", run("-")),
        ("newlines", run("\n")),
        ("digits", run("7")),
        ("one CJK", run("中")),
        ("CJK", draw(&('\u{4E00}'..'\u{9FA5}').collect::<Vec<_>>())),
        ("base64", draw(&base64)),
        ("letters", draw(&('a'..='z').collect::<Vec<_>>())),
        ("symbols", draw(&"!#$%&()*+,-./:;<=>?@[]^_{|}~".chars().collect::<Vec<_>>())),
        ("marks", draw(&('\u{300}'..'\u{36F}').collect::<Vec<_>>())),
    ]
}

/// A body of about 600 KB in messages of all sizes.
fn body() -> Vec<String> {
    let text = prose(5);
    let mut dice = Dice(3);
    let mut at = 0;
    let mut messages = Vec::new();
    while at < 600_000 {
        let end = at + 20 + dice.roll(6000);
        messages.push(text[at..end].to_owned());
        at = end;
    }
    messages
}

/// The least time of each task, from rounds in which they take turns: on a busy machine the least is
/// what the task itself takes.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn race<const N: usize>(rounds: usize, mut tasks: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut least = [Duration::MAX; N];
    for _ in 0..rounds {
        for (task, least) in tasks.iter_mut().zip(&mut least) {
            let start = Instant::now();
            task();
            *least = start.elapsed().min(*least);
        }
    }
    least
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "a bench reports")]
fn ratios() {
    let mut report = String::from("\nnew text, times as fast as the reference (goal: 2 or more)\n");
    for (vocabulary, reference) in [
        (Vocabulary::O200k, tiktoken_rs::o200k_base_singleton()),
        (Vocabulary::Cl100k, tiktoken_rs::cl100k_base_singleton()),
    ] {
        let tokenizer = Tokenizer::new(vocabulary);
        for (name, make) in [("prose", prose as fn(u64) -> String), ("code", code)] {
            let (mut one, mut other) = (0, 0);
            let texts: Vec<String> = (1..=7).map(make).collect();
            let [theirs, ours] = race(
                texts.len(),
                [
                    &mut || {
                        black_box(reference.encode_ordinary(&texts[one]));
                        one += 1;
                    },
                    &mut || {
                        black_box(tokenizer.count(&texts[other]));
                        other += 1;
                    },
                ],
            );
            let speed = 1.0 / ours.as_secs_f64();
            let times = ratio(theirs, ours);
            let vocabulary = vocabulary.name();
            report += &format!("  {vocabulary} {name}: {times:.1} ({speed:.0} MB/s)\n");
        }
    }

    let messages = body();
    let texts: Vec<&str> = messages.iter().map(String::as_str).collect();
    let cached = CachedCounter::new(VocabularyCounter::default());
    let exact = VocabularyCounter::default();
    let known = cached.count_all(&texts);
    assert_eq!(known, exact.count_all(&texts));
    let [cold, warm] = race(
        31,
        [&mut || drop(black_box(exact.count_all(&texts))), &mut || {
            drop(black_box(cached.count_all(&texts)))
        }],
    );
    let times = ratio(cold, warm);
    report += &format!("known 600 KB, times as fast as cold (goal: 20 or more)\n  {times:.0}\n");

    report.push_str("hostile megabytes, times as slow as prose (goal: 10 or less)\n");
    for (name, text) in hostile() {
        for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k] {
            let tokenizer = Tokenizer::new(vocabulary);
            let (mut seed, texts) = (0, [prose(21), prose(22), prose(23), prose(24), prose(25)]);
            let [usual, bad] = race(
                texts.len(),
                [
                    &mut || {
                        black_box(tokenizer.count(&texts[seed]));
                        seed += 1;
                    },
                    &mut || {
                        black_box(tokenizer.count(&text));
                    },
                ],
            );
            let times = ratio(bad, usual);
            let vocabulary = vocabulary.name();
            report += &format!("  {vocabulary} {name}: {times:.1} ({bad:.1?})\n");
        }
    }
    println!("{report}");
}

fn throughput(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("count");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(MEGABYTE as u64));
    let mut texts = hostile();
    texts.push(("prose", prose(1)));
    texts.push(("code", code(1)));
    for (name, text) in &texts {
        for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k] {
            let tokenizer = Tokenizer::new(vocabulary);
            let id = BenchmarkId::new(vocabulary.name(), name);
            group
                .bench_with_input(id, text, |bencher, text| bencher.iter(|| tokenizer.count(text)));
        }
    }
    group.finish();
}

fn main() {
    // Criterion takes its filter from the arguments; `ratios` alone is the quick run.
    if !std::env::args().any(|argument| argument == "ratios") {
        let mut criterion = Criterion::default().configure_from_args();
        throughput(&mut criterion);
        criterion.final_summary();
    }
    ratios();
}
