//! One result of each shape, and what must hold for the digest of any text.

use std::fmt::Write;

use epitome_extract::Digests;
use epitome_kernel::types::Unit;
use epitome_kernel::{DigestJob, Digested, Digester, Gauge, Measure};
use epitome_testkit::FixedCounter;
use proptest::prelude::*;

const CHARS: Gauge<'_> = Gauge { counter: &FixedCounter::Words, unit: Unit::Chars };

fn job<'a>(tool: &'a str, text: &'a str, most: u64) -> DigestJob<'a> {
    DigestJob { tool, arguments: "", text, error: false, most, measure: &CHARS }
}

/// Digests a text and holds the digest to what is true of all.
fn digest(tool: &str, text: &str, most: u64) -> Option<Digested> {
    let digested = Digests::default().digest(&job(tool, text, most))?;
    assert!(CHARS.size(&digested.text) <= most, "{} > {most}", digested.text);
    for word in own_words(&digested.text) {
        assert!(text.contains(word), "{word:?} is not in the original: {}", digested.text);
    }
    let mut end = 0;
    for left in &digested.left {
        assert!(left.start >= end && !text[left.clone()].is_empty());
        end = left.end;
    }
    Some(digested)
}

/// The words of a digest outside of `[… ]`.
fn own_words(text: &str) -> Vec<&str> {
    let notes = text.split("[… ").enumerate().map(|(index, piece)| match index {
        0 => piece,
        _ => piece.split_once(']').map_or("", |(_, rest)| rest),
    });
    notes
        .flat_map(|piece| piece.split(|c: char| !c.is_alphanumeric()))
        .filter(|w| !w.is_empty())
        .collect()
}

fn check(tool: &str, text: &str, most: u64, kind: &str, expected: &str) {
    let found = digest(tool, text, most);
    let found = found.as_ref().map(|digested| (digested.kind, digested.text.as_str()));
    assert_eq!(found, Some((kind, expected)));
}

fn stays(tool: &str, text: &str, most: u64) {
    assert_eq!(digest(tool, text, most), None);
}

#[test]
fn like_objects_become_a_table_without_loss() {
    let rows: Vec<String> = (1..=9)
        .map(|n| format!(r#"{{"id": {n}, "name": "n, {n}", "at": {{"zip": "0{n}", "ok": true}}, "note": null}}"#))
        .collect();
    let text = format!(r#"{{"total": 9, "rows": [{}]}}"#, rows.join(", "));
    let digested = digest("list", &text, 400).expect("a digest");
    assert!(digested.left.is_empty());
    check(
        "list",
        &text,
        250,
        "json",
        r#"[… 9 objects as a table]
{"total":9,"rows":[… the table]}
[… every row] at.ok: true, note: null
id,name,at.zip
1,"n, 1","01"
2,"n, 2","02"
3,"n, 3","03"
4,"n, 4","04"
5,"n, 5","05"
6,"n, 6","06"
7,"n, 7","07"
8,"n, 8","08"
9,"n, 9","09""#,
    );
}

#[test]
fn long_tables_keep_their_ends_and_what_stands_out() {
    let text = (1..=200).fold(String::new(), |mut text, n| {
        let state = if n == 77 { "lost" } else { "done" };
        writeln!(text, r#"{{"id": 1{n:03}, "state": "{state}"}}"#).unwrap();
        text
    });
    check(
        "query",
        &text,
        225,
        "json",
        "[… 200 objects as a table, some left out]
[… least – most] id 1001 – 1200
[… count] state: done [… ×199] lost [… ×1]
id,state
1001,done
1002,done
1003,done
1004,done
[… 72 rows]
1077,lost
[… 121 rows]
1199,done
1200,done",
    );
}

#[test]
fn columns_of_numbers_and_times_say_their_ends() {
    let text = (0..200i64).fold(String::new(), |mut text, n| {
        let id = 9_007_199_254_740_993i64 + n * 7919 % 200;
        let value = if n % 50 == 3 { "null".to_owned() } else { format!("{}.5", n * 37 % 200 - 100) };
        let day = n * 11 % 28 + 1;
        writeln!(
            text,
            r#"{{"id": {id}, "v": {value}, "at": "2024-05-{day:02}T10:00:00Z", "name": "word {n}"}}"#
        )
        .unwrap();
        text
    });
    let digested = digest("query", &text, 3000).expect("a digest");
    let ends = "\n[… least – most] id 9007199254740993 – 9007199254741192, v -100.5 – 99.5, \
                at 2024-05-01T10:00:00Z – 2024-05-28T10:00:00Z\n";
    assert!(digested.text.contains(ends), "{}", digested.text);
    for row in [",-100.5,", ",99.5,"] {
        assert!(digested.text.contains(row), "{row}: {}", digested.text);
    }
}

#[test]
fn other_json_keeps_its_keys() {
    let long = "word ".repeat(200);
    let text = format!(
        r#"{{"title": "{long}", "tags": [1, 2, 3.50, 4, 5, 6, 7, 8, 9], "deep": {{"id": "a-1"}}}}"#
    );
    check(
        "fetch",
        &text,
        200,
        "json",
        &format!(
            r#"[… JSON, shortened]
{{"title":"{}[… 924 characters]{}","tags":[[… 4 of 9 values] 1,2,3.50,4],"deep":{{"id":"a-1"}}}}"#,
            &long[..51],
            "word ".repeat(5),
        ),
    );
}

#[test]
fn logs_fold_and_failures_stay() {
    let mut text = String::from("running 60 tests\n");
    for n in 0..58 {
        writeln!(text, "test case_{} ... ok", ["red", "blue"][n % 2].repeat(n / 2 + 1)).unwrap();
    }
    text.push_str("test case_green ... FAILED\n---- case_green stdout ----\nthread 'case_green' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\ntest result: FAILED. 59 passed; 1 failed\n");
    check(
        "bash",
        &text,
        320,
        "log",
        "[… 66 lines of 9 kinds, repeats folded]
running 60 tests
test case_red ... ok [… ×57]
test case_blue ... ok
test case_green ... FAILED
---- case_green stdout ----
thread 'case_green' panicked at src/a.rs:3:5:
assertion `left == right` failed
  left: 1
 right: 2
test result: FAILED. 59 passed; 1 failed",
    );
}

#[test]
fn hits_are_grouped_by_file() {
    let mut text = String::new();
    for file in ["src/one.rs", "src/deep/two.rs"] {
        for n in 1..=20 {
            writeln!(text, "{file}:{n}:    let value = call({n});").unwrap();
        }
    }
    check(
        "bash",
        &text,
        270,
        "search",
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
fn lists_of_files_are_grouped_by_folder() {
    let names =
        |folder: &str| (0..30).map(|n| format!("./{folder}/file{n}.rs\n")).collect::<String>();
    let text = names("src") + &names("src/deep/er") + &names("tests");
    check(
        "glob",
        &text,
        240,
        "search",
        "[… 90 files, by folder]
./src/ [… 30 files]
file0.rs file1.rs file2.rs file3.rs file4.rs file5.rs file6.rs file7.rs
./src/deep/er/ [… 30 files]
file0.rs file1.rs file2.rs file3.rs file4.rs file5.rs file6.rs file7.rs
./tests/ [… 30 files]",
    );
    check(
        "glob",
        &text,
        90,
        "search",
        "[… 90 files, by folder, not all shown]\n./src/ [… 60 files]\nfile0.rs\n./tests/ [… 30 files]",
    );
}

#[test]
fn what_an_edit_may_need_stays() {
    let code = "fn main() {\n    let a = call();\n}\n".repeat(40);
    stays("bash", &code, 300);
    let numbered: String = (1..60).map(|n| format!("{n:>6}\tsome words of a file\n")).collect();
    stays("anything", &numbered, 300);
    let prose = "The words of a file that may be edited.\n".repeat(40);
    stays("read_file", &prose, 300);
}

#[test]
fn errors_and_small_results_stay() {
    let text = "2024-01-01 12:00:00 INFO tick\n".repeat(50);
    let failed = DigestJob { error: true, ..job("bash", &text, 300) };
    assert_eq!(Digests::default().digest(&failed), None);
    stays("bash", &text, 5000);
    assert!(digest("bash", &text, 300).is_some());
}

#[test]
fn hostile_texts_end() {
    let deep = r#"{"a":["#.repeat(60_000) + &"]}".repeat(60_000);
    let wide = format!("[{}1]", "1,".repeat(200_000));
    let texts = [
        deep,
        wide,
        "a".repeat(1_000_000),
        "-".repeat(300_000),
        "\r".repeat(300_000),
        "[{}".repeat(100_000),
    ];
    for text in &texts {
        let _any = digest("x", text, 500);
    }
}

/// Lines as tools print them, with signs that matter to the shapes.
fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-c]{1,3}/[a-c]{1,3}\\.rs:[0-9]{1,3}:[ a-z]{0,12}",
        "[a-c]{1,3}/[a-c]{1,3}\\.rs",
        "(INFO|ERROR|warn)[: ][ a-z0-9äß]{0,20}",
        "\\{\"[a-c]\":[0-9]{1,4},\"[d-f]\":\"[a-z ,é\\\\\\\\]{0,30}\"\\}",
        "[ -~]{0,60}",
        "\\PC{0,30}",
    ];
    prop::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        "[a-z0-9 ,.]{0,40}".prop_map(|text| format!("\"{text}\"")),
        Just("null".to_owned()),
    ];
    scalar.prop_recursive(4, 200, 12, |value| {
        let fields = prop::collection::btree_map("[a-f]{1,2}", value.clone(), 0..8);
        prop_oneof![
            prop::collection::vec(value, 0..20)
                .prop_map(|values| format!("[{}]", values.join(", "))),
            fields.prop_map(|fields| {
                let fields: Vec<String> =
                    fields.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
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
    fn digests_of_output_fit_and_invent_nothing(text in output(), most in 20u64..900) {
        let first = digest("bash", &text, most);
        prop_assert_eq!(first, digest("bash", &text, most));
    }

    #[test]
    fn digests_of_json_fit_and_invent_nothing(text in json(), most in 20u64..900) {
        let first = digest("api", &text, most);
        prop_assert_eq!(first, digest("api", &text, most));
    }
}
