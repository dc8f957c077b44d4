//! What becomes of JSON: tables of like objects, and the structure of anything else.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;

use epitome_digest_json::JsonDigester;
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
    let digested = check::digest(&JsonDigester, &job).unwrap();
    assert_eq!(digested, check::digest(&JsonDigester, &job).unwrap());
    digested
}

/// A digest as it is asked for of a result that arrives: half of it, and little of a large one.
fn arrives(text: &str, least_saved: f64) -> DigestOutput {
    let size = tokens(text);
    let most = if size > 15_000 { 1000 } else { size / 2 };
    let job = DigestInput::new(text, most, &tokens).of("query", "");
    let digested = check::digest(&JsonDigester, &job).unwrap().expect("a digest");
    let saved = 1.0 - tokens(&digested.text) as f64 / size as f64;
    assert!(saved >= least_saved, "{saved}: {}", digested.text);
    digested
}

fn lists(digested: &DigestOutput, lines: &[&str]) {
    for line in lines {
        assert!(digested.text.lines().any(|said| said == *line), "{line}: {}", digested.text);
    }
}

fn becomes(text: &str, most: u64, expected: &str) {
    let found = digest("list", text, most).map(|digested| digested.text);
    assert_eq!(found.as_deref(), Some(expected));
}

/// 400 users of which every 17th has an error, as one line of about 56 KB on the wire.
fn users() -> String {
    let user = |n: u64| {
        let status = if n.is_multiple_of(17) { "error: disk full" } else { "active" };
        // Scores without order, all of them below 0.9 but one.
        let score = if n == 73 { 9931 } else { n * 7919 % 8999 };
        format!(
            r#"{{"id": {n}, "name": "user_{n}", "status": "{status}", "score": 0.{score:04}, "region": "us-east-1", "created": "2026-01-0{}"}}"#,
            n % 9 + 1
        )
    };
    format!("[{}]", (0..400).map(user).collect::<Vec<_>>().join(", "))
}

#[test]
fn of_400_rows_those_that_stand_out_stay() {
    let text = users();
    assert!(text.len() > 45_000);
    let digested = arrives(&text, 0.9);
    lists(
        &digested,
        &[
            "[… 400 objects as a table, some left out]",
            "[… count] status: active [… ×376] error: disk full [… ×24]",
            "[… every row] region: us-east-1",
            "id,name,status,score,created",
            "0,user_0,error: disk full,0.0000,2026-01-01",
            "399,user_399,active,0.1032,2026-01-04",
        ],
    );
    assert!(digested.text.contains("[… least – most] id 0 – 399, score 0.0000 – 0.9931"));
    for n in (0..400).step_by(17) {
        assert!(digested.text.contains(&format!("\n{n},user_{n},error: disk full,")), "{n}");
    }
    // Every row is shown or lies in what was left out.
    for n in 0..400 {
        let shown = digested.text.contains(&format!("\n{n},user_{n},"));
        let row = format!("{{\"id\": {n},");
        let at = text.find(&row).unwrap();
        assert!(shown || digested.left.iter().any(|left| left.contains(&at)), "{n}");
    }
}

/// The rows of a query as an API gives them: an order that failed, one with an odd total, one
/// without a customer.
fn orders() -> Vec<[String; 5]> {
    let order = |n: u64| {
        let status = if n == 137 { "failed" } else { ["shipped", "pending"][n as usize % 2] };
        let total = if n == 200 { "98999.99".to_owned() } else { format!("{}.50", n * 37 % 900) };
        let customer = match n {
            41 => "null".to_owned(),
            _ => format!("\"customer {}\"", n * 13 % 250),
        };
        let at = format!("\"2026-03-{:02}T10:{:02}:00Z\"", n % 28 + 1, n % 60);
        [(1000 + n).to_string(), customer, format!("\"{status}\""), total, at]
    };
    (0..300).map(order).collect()
}

const NAMES: [&str; 5] = ["id", "customer", "status", "total", "at"];

#[test]
fn rows_of_a_query_keep_what_is_odd() {
    let objects: Vec<String> = orders()
        .iter()
        .map(|row| {
            let fields = NAMES.iter().zip(row).map(|(name, cell)| format!("\"{name}\": {cell}"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let lists_of: Vec<String> =
        orders().iter().map(|row| format!("[{}]", row.join(", "))).collect();
    let names = format!("{NAMES:?}");
    let texts = [
        format!(r#"{{"total": 300, "next": null, "rows": [{}]}}"#, objects.join(", ")),
        objects.join("\n"),
        format!(r#"{{"columns": {names}, "rows": [{}]}}"#, lists_of.join(", ")),
        format!("[{names}, {}]", lists_of.join(", ")),
    ];
    for text in &texts {
        let digested = arrives(text, 0.9);
        assert!(digested.text.starts_with("[… 300 "), "{}", digested.text);
        lists(
            &digested,
            &[
                "id,customer,status,total,at",
                "1000,customer 0,shipped,0.50,2026-03-01T10:00:00Z",
                "1041,null,pending,617.50,2026-03-14T10:41:00Z",
                "1137,customer 31,failed,569.50,2026-03-26T10:17:00Z",
                "1200,customer 100,shipped,98999.99,2026-03-05T10:20:00Z",
                "1299,customer 137,pending,263.50,2026-03-20T10:59:00Z",
            ],
        );
        assert!(digested.text.contains("total 0.50 – 98999.99"), "{}", digested.text);
    }
}

#[test]
fn like_objects_become_a_table_without_loss() {
    let rows: Vec<String> = (1..=9)
        .map(|n| format!(r#"{{"id": {n}, "name": "n, {n}", "at": {{"zip": "0{n}", "ok": true}}, "note": null}}"#))
        .collect();
    let text = format!(r#"{{"total": 9, "rows": [{}]}}"#, rows.join(", "));
    assert!(digest("list", &text, 400).unwrap().left.is_empty());
    becomes(
        &text,
        250,
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
    becomes(
        &text,
        225,
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
        let value = match n % 50 {
            3 => "null".to_owned(),
            _ => format!("{}.5", n * 37 % 200 - 100),
        };
        let day = n * 11 % 28 + 1;
        writeln!(
            text,
            r#"{{"id": {id}, "v": {value}, "at": "2024-05-{day:02}T10:00:00Z", "name": "word {n}"}}"#
        )
        .unwrap();
        text
    });
    let digested = digest("query", &text, 3000).unwrap();
    let ends = "\n[… least – most] id 9007199254740993 – 9007199254741192, v -100.5 – 99.5, \
                at 2024-05-01T10:00:00Z – 2024-05-28T10:00:00Z\n";
    assert!(digested.text.contains(ends), "{}", digested.text);
    for row in [",-100.5,", ",99.5,", ",null,"] {
        assert!(digested.text.contains(row), "{row}: {}", digested.text);
    }
}

#[test]
fn other_json_keeps_its_keys() {
    let long = "word ".repeat(200);
    let text = format!(
        r#"{{"title": "{long}", "tags": [1, 2, 3.50, 4, 5, 6, 7, 8, 9], "deep": {{"id": "a-1"}}}}"#
    );
    becomes(
        &text,
        200,
        &format!(
            r#"[… JSON, shortened]
{{"title":"{}[… 924 characters]{}","tags":[[… 4 of 9 values] 1,2,3.50,4],"deep":{{"id":"a-1"}}}}"#,
            &long[..51],
            "word ".repeat(5),
        ),
    );
}

#[test]
fn a_profile_says_how_large_a_whole_table_may_be() {
    let text = users();
    let options = serde_json::json!({ "whole": 20_000 });
    let job = DigestInput::new(&text, 10_000, &tokens).with(&options);
    let digested = check::digest(&JsonDigester, &job).unwrap().unwrap();
    assert!(digested.left.is_empty() && digested.text.lines().count() == 403);
}

#[test]
fn what_is_none_or_may_be_edited_stays() {
    assert_eq!(digest("query", "not json\n[1, 2]", 5), None);
    assert_eq!(digest("read_file", &users(), 3000), None);
}

#[test]
fn deep_and_wide_texts_end() {
    let deep = r#"{"a":["#.repeat(60_000) + &"]}".repeat(60_000);
    let wide = format!("[{}1]", "1,".repeat(200_000));
    for text in [deep, wide, "[{}".repeat(100_000)] {
        let _any = digest("x", &text, 500);
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let mut samples = [conformance::usual(), conformance::odd()].concat();
    samples.push(ConformanceSample::new("users", users()));
    let report = conformance::check(&JsonDigester, &samples);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert!(report.made.iter().filter(|made| made.sample.starts_with("json")).count() >= 2);
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

proptest! {
    #[test]
    fn any_json_conforms(text in json()) {
        let report = conformance::check(&JsonDigester, &[ConformanceSample::new("any", text)]);
        prop_assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }
}
