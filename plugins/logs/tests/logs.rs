//! What becomes of logs and builds.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;

use epitome_digest_logs::LogDigester;
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

fn digest(tool: &str, text: &str, most: u64) -> Option<DigestOutput> {
    let job = DigestInput::new(text, most, &chars).of(tool, "");
    let digested = check::digest(&LogDigester, &job).unwrap();
    assert_eq!(digested, check::digest(&LogDigester, &job).unwrap());
    digested
}

/// A digest as it is asked for of a result that arrives: half of it, and little of a large one.
fn arrives(text: &str, least_saved: f64) -> DigestOutput {
    let size = tokens(text);
    let most = if size > 15_000 { 1000 } else { size / 2 };
    let job = DigestInput::new(text, most, &tokens).of("Bash", "");
    let digested = check::digest(&LogDigester, &job).unwrap().expect("a digest");
    let saved = 1.0 - tokens(&digested.text) as f64 / size as f64;
    assert!(saved >= least_saved, "{saved}: {}", digested.text);
    digested
}

fn holds(digested: &DigestOutput, lines: &[&str]) {
    for line in lines {
        assert!(digested.text.lines().any(|said| said == *line), "{line}: {}", digested.text);
    }
}

#[test]
fn one_fatal_line_among_800_stays_whole() {
    let fatal = "2026-11-21 10:05:57 FATAL worker-3 out of memory: killed pid 8123";
    let line = |n: usize| match n {
        357 => fatal.to_owned(),
        _ => format!(
            "2026-11-21 10:{:02}:{:02} INFO worker-{} processed batch {n} in {}ms",
            n / 60 % 60,
            n % 60,
            n % 8,
            n * 7919 % 81 + 10
        ),
    };
    let lines: Vec<String> = (0..800).map(line).collect();
    let text = lines.join("\n");
    let digested = arrives(&text, 0.97);
    holds(&digested, &[fatal, &lines[356], &lines[358], &lines[799]]);
    let first = format!("{} [… ×795: worker-0–7, batch 0–797, in 10–90ms]", lines[0]);
    holds(&digested, &["[… 800 lines of 2 kinds, repeats folded]", &first]);
    let mut at = 0;
    for line in &lines {
        let left = digested.left.iter().any(|left| left.start <= at && at < left.end);
        assert!(left || digested.text.contains(line.as_str()), "{line}");
        at += line.len() + 1;
    }
}

#[test]
fn a_fatal_line_comes_before_all_that_repeats() {
    let words = ["cache miss", "job finished in", "retrying call", "GET /items 200", "lease kept"];
    let fatal = "2026-03-01T10:08:53Z FATAL [store-3] req=- write-ahead log is corrupt at offset \
                 77120: checksum mismatch (expected 9f31ab, found 000000); refusing to start";
    let line = |n: usize| match n {
        533 => fatal.to_owned(),
        _ => format!(
            "2026-03-01T10:{:02}:{:02}Z {} [{}-{}] req={:032x} {} {}ms",
            n / 60,
            n % 60,
            ["INFO ", "DEBUG", "WARN "][n % 3],
            ["http", "worker", "store"][n / 3 % 3],
            n % 9,
            (n as u128 + 9).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_0c00_1234_5671),
            words[n % 5],
            n * 31 % 400
        ),
    };
    let text = (0..800).map(|n| line(n) + "\n").collect::<String>();
    let digested = arrives(&text, 0.97);
    holds(&digested, &[fatal, line(799).as_str()]);
    for word in words {
        assert!(digested.text.contains(word), "{word}: {}", digested.text);
    }
}

#[test]
fn logs_fold_and_failures_stay() {
    let mut text = String::from("running 60 tests\n");
    for n in 0..58 {
        writeln!(text, "test case_{} ... ok", ["red", "blue"][n % 2].repeat(n / 2 + 1)).unwrap();
    }
    text.push_str("test case_green ... FAILED\n---- case_green stdout ----\nthread 'case_green' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\ntest result: FAILED. 59 passed; 1 failed\n");
    let found = digest("bash", &text, 340).map(|digested| digested.text);
    let expected = "[… 66 lines of 4 kinds, repeats folded, 1 failure report]
running 60 tests
test case_red ... ok [… ×58]
test case_green ... FAILED
---- case_green stdout ----
thread 'case_green' panicked at src/a.rs:3:5:
assertion `left == right` failed
  left: 1
 right: 2
test result: FAILED. 59 passed; 1 failed";
    assert_eq!(found.as_deref(), Some(expected));
}

#[test]
fn errors_of_compilers_stay_with_what_they_point_at() {
    let mut text = String::new();
    for n in 0..300 {
        writeln!(text, "   Compiling crate_{n} v0.{n}.1").unwrap();
    }
    let error = "error[E0308]: mismatched types
  --> src/store.rs:41:9
   |
40 | fn open() -> Result<Store> {
   |              ------------- expected because of this
41 |         None
   |         ^^^^ expected `Result<Store>`, found `Option<_>`";
    write!(text, "{error}\n\nerror: could not compile `store` (lib) due to 1 error\n").unwrap();
    let digested = arrives(&text, 0.9);
    assert!(digested.text.contains(error), "{}", digested.text);
    holds(&digested, &["error: could not compile `store` (lib) due to 1 error"]);
}

#[test]
fn traces_in_logs_stay_whole() {
    let trace = "Traceback (most recent call last):
  File \"/srv/app/worker.py\", line 88, in run
    self.handle(job)
  File \"/srv/app/worker.py\", line 131, in handle
    raise QueueClosed(job.id)
app.errors.QueueClosed: 4711

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File \"/srv/app/main.py\", line 12, in <module>
    run()
RuntimeError: worker 7 is gone";
    let line = |n: usize| format!("10:{:02}:{:02} INFO tick {n}\n", n / 60, n % 60);
    let text: String = (0..400).map(line).collect::<String>() + trace + "\n" + &line(401);
    let digested = arrives(&text, 0.8);
    assert!(digested.text.contains(trace), "{}", digested.text);
}

#[test]
fn what_an_edit_may_need_stays() {
    let code = "fn main() {\n    let a = call();\n}\n".repeat(40);
    assert_eq!(digest("bash", &code, 300), None);
    let numbered: String = (1..60).map(|n| format!("{n:>6}\tsome words of a file\n")).collect();
    assert_eq!(digest("anything", &numbered, 300), None);
    let prose = "The words of a file that may be edited.\n".repeat(40);
    assert_eq!(digest("read_file", &prose, 300), None);
    let log = "2024-01-01 12:00:00 INFO tick\n".repeat(50);
    assert!(digest("read_file", &log, 300).is_some());
}

#[test]
fn hostile_texts_end() {
    for text in ["a".repeat(1_000_000), "-".repeat(300_000), "\r".repeat(300_000)] {
        let _any = digest("x", &text, 500);
    }
    let openers = ["Traceback (most recent call last):", "  1) a", "● b", "not ok 1", "x\n  at y("];
    for opener in openers {
        let _any = digest("x", &format!("{opener}\n").repeat(20_000), 500);
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let samples = [conformance::usual(), conformance::odd()].concat();
    let report = conformance::check(&LogDigester, &samples);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    for name in ["log", "test run"] {
        assert!(report.made.iter().any(|made| made.sample == name), "{name}");
    }
}

/// Lines as tools print them, with signs that matter to the shapes.
fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "(INFO|ERROR|warn)[: ][ a-z0-9äß]{0,20}",
        "(---- |=== |___ |● |  1\\) |--- FAIL: |Traceback )[a-z]{0,9}( ----|___|:)?",
        " {0,4}(at |left: |E  )[a-z(.:0-9]{0,12}",
        "[ -~]{0,60}",
        "\\PC{0,30}",
    ];
    prop::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

/// Lines that come again and again with other numbers, and one among them that tells of a failure.
fn repeats() -> impl Strategy<Value = (String, String)> {
    let line = "(INFO|DEBUG) [a-z]{1,8}[-=:( ]#[a-z]{0,2}[;,)]?( [a-z]{2,6}#?){0,3}( #\\.#)?";
    let lines = prop::collection::vec(line, 1..6);
    let numbers = prop::collection::vec(-999i64..100_000, 60..400);
    (lines, numbers, any::<prop::sample::Index>(), 0..10_000u32).prop_map(
        |(lines, numbers, place, code)| {
            let failure = format!("ERROR code={code} the disk is full");
            let filled = |(at, number): (usize, &i64)| {
                lines[at % lines.len()].replace('#', &number.to_string())
            };
            let mut out: Vec<String> = numbers.iter().enumerate().map(filled).collect();
            out.insert(place.index(out.len()), failure.clone());
            (out.join("\n"), failure)
        },
    )
}

/// The numbers of all `least–most` in the notes of a digest.
fn spans(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let signed = move |text: &str, end: usize| {
        let start = text[..end].trim_end_matches(number).len();
        let sign = text[..start].strip_suffix('-');
        let bare =
            sign.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '-'));
        start - usize::from(bare)
    };
    text.match_indices('–').map(move |(at, sign)| {
        let after = &text[at + sign.len()..];
        let behind = after.trim_start_matches('-').trim_start_matches(number);
        (&text[signed(text, at)..at], &after[..after.len() - behind.len()])
    })
}

proptest! {
    #[test]
    fn failures_stay_among_repeats_and_spans_are_true((text, failure) in repeats()) {
        let most = text.chars().count() as u64 / 2;
        if let Some(digested) = digest("bash", &text, most) {
            prop_assert!(digested.text.lines().any(|line| line == failure), "{}", digested.text);
            prop_assert!(digested.text.len() < 3000, "{}", digested.text);
            for (least, most) in spans(&digested.text) {
                prop_assert!(text.contains(least) && text.contains(most));
                let [least, most] = [least, most].map(|number| number.parse::<f64>().unwrap());
                prop_assert!(least < most, "{}", digested.text);
            }
        } else {
            prop_assert!(text.len() < 1000, "no digest of {text}");
        }
    }

    #[test]
    fn any_output_conforms(text in output()) {
        let report = conformance::check(&LogDigester, &[ConformanceSample::new("any", text)]);
        prop_assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }
}

#[test]
fn lines_that_differ_in_words_are_no_repeats() {
    let rare = [
        (100, "backup verified ok"),
        (150, "job 17 started"),
        (180, "backup verified bad"),
        (200, "job 17 failed"),
        (210, "backup deleted"),
        (300, "job 18 started"),
    ];
    let line = |n: usize| {
        let at = format!("2026-07-03T10:{:02}:{:02}.{:03}Z INFO  worker", n / 60, n % 60, n);
        match rare.iter().find(|(place, _)| *place == n) {
            Some((_, said)) => format!("{at} {said}"),
            None => format!("{at} request id={:x} status=200 dur={}ms", n * 7_919_797, n % 90),
        }
    };
    let text = (0..400).map(|n| line(n) + "\n").collect::<String>();
    let digested = arrives(&text, 0.8);
    let said: Vec<String> = rare.iter().map(|(place, _)| line(*place)).collect();
    holds(&digested, &said.iter().map(String::as_str).collect::<Vec<_>>());
    let places: Vec<_> = said.iter().map(|line| digested.text.find(line.as_str())).collect();
    assert!(places.is_sorted(), "{}", digested.text);
}
