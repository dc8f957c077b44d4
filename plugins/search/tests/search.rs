//! What becomes of hits and of lists of files.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;

use epitome_digest_search::SearchDigester;
use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::{DigestInput, DigestOutput, check};
use proptest::prelude::*;

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

/// About what a text takes of a model's window.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

fn digest(text: &str, most: u64) -> Option<DigestOutput> {
    let job = DigestInput::new(text, most, &chars).of("bash", "");
    let digested = check::digest(&SearchDigester, &job).unwrap();
    assert_eq!(digested, check::digest(&SearchDigester, &job).unwrap());
    digested
}

/// A digest as it is asked for of a result that arrives: half of it, and little of a large one.
fn arrives(text: &str, least_saved: f64) -> DigestOutput {
    let size = tokens(text);
    let most = if size > 15_000 { 1000 } else { size / 2 };
    let job = DigestInput::new(text, most, &tokens).of("Grep", "");
    let digested = check::digest(&SearchDigester, &job).unwrap().expect("a digest");
    let saved = 1.0 - tokens(&digested.text) as f64 / size as f64;
    assert!(saved >= least_saved, "{saved}: {}", digested.text);
    digested
}

/// Every line is shown, or lies in what was left out.
fn covers(text: &str, digested: &DigestOutput) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let said = line.trim_end().rsplit("rs:").next().unwrap();
        let shown = digested.text.lines().any(|shown| shown.contains(said));
        let left = digested.left.iter().any(|left| left.start <= at && at < left.end);
        assert!(shown || left, "{line}: {}", digested.text);
        at += line.len();
    }
}

fn becomes(text: &str, most: u64, expected: &str) {
    let found = digest(text, most).map(|digested| digested.text);
    assert_eq!(found.as_deref(), Some(expected));
}

#[test]
fn five_hundred_hits_keep_every_folder_and_each_kind() {
    let odd = "src/mod7/file207.rs:621:    // The registry is not locked here.";
    let hit = |n: usize| match n {
        207 => format!("{odd}\n"),
        _ => format!(
            "src/mod{}/file{n}.rs:{}:    let handle_{n} = registry.lookup(\"svc_{n}\").expect(\"present\");\n",
            n % 20,
            n * 3
        ),
    };
    let text: String = (0..500).map(hit).collect();
    let digested = arrives(&text, 0.95);
    let said = &digested.text;
    assert!(said.starts_with("[… 500 hits in 500 files, by folder"), "{said}");
    for folder in 0..20 {
        let folder = format!("\nsrc/mod{folder}/ [… 25 files, 25 hits]");
        assert!(said.contains(&folder), "{folder}: {said}");
    }
    let first = "file0.rs:0:    let handle_0 = registry.lookup(\"svc_0\").expect(\"present\"); \
                 [… ×499: handle_0–499, svc_0–499]";
    assert!(said.lines().any(|line| line == first), "{said}");
    assert!(said.lines().any(|line| Some(line) == odd.strip_prefix("src/mod7/")), "{said}");
    covers(&text, &digested);
}

#[test]
fn hits_that_all_say_something_else_are_shown_file_by_file() {
    let words = ["reads", "writes", "keeps", "drops", "splits", "merges", "counts", "orders"];
    let text: String = (0..500)
        .map(|n| {
            let (one, two, three) = (words[n % 8], words[n / 8 % 8], words[n / 64 % 8]);
            let file = format!("src/{one}/{two}.rs");
            format!("{file}:{}:pub fn {one}_{two}_{three}(job: &Job) -> {three}Error {{\n", n + 1)
        })
        .collect();
    let digested = arrives(&text, 0.9);
    assert!(digested.text.starts_with("[… 500 hits in 64 files, by f"), "{}", digested.text);
    for word in words {
        assert!(digested.text.contains(&format!("src/{word}/")), "{word}: {}", digested.text);
    }
    covers(&text, &digested);
}

#[test]
fn hits_are_grouped_by_file() {
    let mut text = String::new();
    for file in ["src/one.rs", "src/deep/two.rs"] {
        for n in 1..=20 {
            writeln!(text, "{file}:{n}:    let value = call({n});").unwrap();
        }
    }
    becomes(
        &text,
        270,
        "[… 40 hits in 2 files, by file]
src/one.rs [… 20 hits]
1:    let value = call(1); [… ×36: call 1–20]
2:    let value = call(2);
3:    let value = call(3);
src/deep/two.rs [… 20 hits]
1:    let value = call(1);
2:    let value = call(2);",
    );
}

#[test]
fn lines_around_a_hit_come_after_the_hits() {
    let words = ["red", "green", "blue", "white", "black", "grey", "pink"];
    let around = |(n, word): (usize, &&str)| {
        format!("src/a-b.rs-{n}-fn {word}() {{\nsrc/a-b.rs:{}:use {word};\n--\n", n + 1)
    };
    let text: String = words.iter().enumerate().map(around).collect();
    becomes(
        &text,
        95,
        "[… 14 hits in 1 file, by file]
src/a-b.rs [… 14 hits]
1:use red;
2:use green;
3:use blue;",
    );
}

#[test]
fn lists_of_files_are_grouped_by_folder() {
    let names =
        |folder: &str| (0..30).map(|n| format!("./{folder}/file{n}.rs\n")).collect::<String>();
    let text = names("src") + &names("src/deep/er") + &names("tests");
    becomes(
        &text,
        240,
        "[… 90 files, by folder]
./src/ [… 30 files]
file0.rs file1.rs file2.rs file3.rs file4.rs file5.rs file6.rs file7.rs
./src/deep/er/ [… 30 files]
file0.rs file1.rs file2.rs file3.rs file4.rs file5.rs file6.rs file7.rs
./tests/ [… 30 files]",
    );
    becomes(
        &text,
        90,
        "[… 90 files, by folder, not all shown]\n./src/ [… 60 files]\nfile0.rs\n./tests/ [… 30 files]",
    );
}

#[test]
fn what_is_no_search_stays() {
    let of = |line: &dyn Fn(usize) -> String| (0..90).map(|n| line(n) + "\n").collect::<String>();
    for text in [
        of(&|n| format!("tests/test_a.py::TestA::test_{n} PASSED [ 12%]")),
        of(&|n| format!("src/a.rs:{n}:5: error: mismatched types")),
        of(&|n| format!("10:00:{n} some words")),
    ] {
        assert_eq!(digest(&text, 900), None, "{text}");
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let samples = [conformance::usual(), conformance::odd()].concat();
    let report = conformance::check(&SearchDigester, &samples);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert!(report.made.iter().any(|made| made.sample == "search"));
}

/// Lines as searches print them, and others.
fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-c]{1,3}/[a-c]{1,3}\\.rs:[0-9]{1,3}:[ a-z]{0,12}",
        "[a-c]{1,3}/[a-c]{1,3}\\.rs-[0-9]{1,3}-[ a-z]{0,12}",
        "[a-c]{1,3}/[a-c]{1,3}\\.rs",
        "[0-9]{1,3}:[ a-zé]{0,12}",
        "\\PC{0,30}",
    ];
    prop::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_output_conforms(text in output()) {
        let report = conformance::check(&SearchDigester, &[ConformanceSample::new("any", text)]);
        prop_assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }
}
