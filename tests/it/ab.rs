//! `epitome ab`: profiles beside no compression and truncation.

use serde_json::{Value, json};

use crate::conversation::{LAST, SYSTEM, bare};
use crate::measure::{faults, messages};
use crate::pages::pages;
use crate::program::Place;
use crate::shipped::{is_shown, recording};

/// A place with the shipped recording.
fn place() -> Place {
    let place = Place::new();
    place.write("debugging.jsonl", recording());
    place
}

/// The JSON lines of a run: rows, then a summary for each profile. The table goes to standard error.
#[track_caller]
fn compared(place: &Place, args: &[&str]) -> Vec<Value> {
    noted(place, args, "")
}

/// The same, where something is said beside the figures.
#[track_caller]
fn noted(place: &Place, args: &[&str], note: &str) -> Vec<Value> {
    let ran = place.run([&["ab", "--json", "-q"], args].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, note));
    ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The row or summary of a profile.
#[track_caller]
fn of<'a>(lines: &'a [Value], profile: &str, summary: bool) -> &'a Value {
    let wanted =
        |line: &&Value| line["profile"] == profile && line["summary"].is_boolean() == summary;
    lines.iter().find(wanted).unwrap_or_else(|| panic!("no {profile}"))
}

fn untimed(mut lines: Vec<Value>) -> Vec<Value> {
    fn drop_times(value: &mut Value) {
        if let Value::Object(members) = value {
            members.remove("elapsed_ms");
            members.values_mut().for_each(drop_times);
        }
    }
    lines.iter_mut().for_each(drop_times);
    lines
}

#[test]
fn baselines_are_always_there() {
    let place = place();
    let lines = compared(&place, &["--ratio", "4", "debugging.jsonl"]);
    let profiles: Vec<_> = lines.iter().map(|line| line["profile"].as_str().unwrap()).collect();
    assert_eq!(profiles, ["default", "truncate", "none", "default", "truncate", "none"]);
    let figure = |profile: &str, key: &str| of(&lines, profile, false)[key].as_f64().unwrap();
    assert_eq!([figure("none", "recall"), figure("none", "bound")], [1.0, 1.0]);
    let over = of(&lines, "none", false)["faults"][0].as_str().unwrap();
    assert!(over.starts_with("over budget: "), "{over}");
    assert_eq!(of(&lines, "none", true)["all"]["score"]["mean"], 0.0, "it cannot be sent");
    for profile in ["default", "truncate"] {
        assert_eq!(of(&lines, profile, false)["faults"], json!([]), "{profile}");
        let [before, pinned, after] =
            ["tokens_before", "tokens_pinned", "tokens_after"].map(|key| figure(profile, key));
        assert!(after <= pinned + (before - pinned) / 4.0 * 1.02 + 8.0, "{profile}");
        assert!(figure(profile, "recall_search") >= figure(profile, "bound"), "{profile}");
    }
    assert!(figure("default", "bound") > figure("truncate", "bound"));
    let again = compared(&place, &["--ratio", "4", "debugging.jsonl"]);
    assert_eq!(untimed(lines), untimed(again));
}

#[test]
fn a_replay_gives_the_figures_of_replay() {
    let place = place();
    let lines =
        compared(&place, &["--prompt-limit", "9000", "--outputs", "out", "debugging.jsonl"]);
    let [default, truncate, none] = ["default", "truncate", "none"].map(|it| of(&lines, it, false));
    // What nothing was cut from is the recording up to the cut: it can be played again.
    let played =
        place.run(["replay", "-q", "--json", "--prompt-limit", "9000", "out/none/debugging.json"]);
    let summary: Value = serde_json::from_str(played.text().lines().last().unwrap()).unwrap();
    for key in ["turns", "oversized", "compressions", "tokens_raw", "tokens_sent", "cache_cost"] {
        assert_eq!(default[key], summary[key], "{key}");
    }
    for key in ["turns", "tokens_raw", "cache_cost_uncompressed"] {
        assert_eq!([&truncate[key], &none[key]], [&summary[key]; 2], "{key}");
    }
    assert_eq!(none["max_tokens_sent"], summary["max_tokens_raw"]);
    // What is compared with is what a client could have sent; `none` sends what is refused, too.
    assert!(none["cache_cost"].as_f64() > summary["cache_cost_uncompressed"].as_f64());
    assert_eq!(none["compressions"], json!(0));
    assert!(none["oversized"].as_u64() > Some(0) && none["faults"][0].is_string());
    for one in [default, truncate] {
        assert_eq!([&one["oversized"], &one["refused"]], [&json!(0), &json!(0)]);
        assert!(one["compressions"].as_u64() > Some(0));
        assert!(one["max_tokens_sent"].as_u64() <= Some(9000));
        assert_eq!(one["faults"], json!([]));
    }
    // Where nothing is kept in place, a cache is of little use.
    assert!(truncate["cache_cost"].as_f64() > default["cache_cost"].as_f64());
}

/// What is asked is known here, so what is found can be worked out by hand.
#[test]
fn a_prepared_case_brings_its_questions() {
    let place = Place::new();
    place.write("case.messages.json", bare(12).to_string());
    let asked = |name: &str, kind: &str, context: &[&str]| {
        json!({"ref": name, "kind": kind, "at": 0, "far": true, "context": context,
            "query": format!("what was {name}?")})
    };
    let need = json!({"never": 2.0, "touch": 2.0, "product": 2.0, "databas": 2.0});
    place.write(
        "case.probes.json",
        json!({"version": "1.0", "id": "case", "family": "agent", "source": "tau-bench-x",
            "system": [SYSTEM], "last_user": LAST, "counts": {},
            "refs": [
                asked("ERR_STAGE_11", "ident", &["timeout"]),
                asked("ERR_STAGE_0", "ident", &["timeout"]),
                asked("ERR_STAGE_99", "ident", &["timeout"]),
            ],
            "directives": [{"text": "Never touch the production database.", "need": need}]})
        .to_string(),
    );
    let lines = compared(&place, &["--max-tokens", "1400", "."]);
    let row = of(&lines, "truncate", false);
    // The newest exchange has the last error; the first is found, and the third was never said.
    assert_eq!([&row["id"], &row["group"]], ["case", "service"]);
    assert_eq!(row["n"], 3);
    assert_eq!([&row["recall"], &row["bound"]], [1.0 / 3.0, 1.0 / 3.0]);
    assert_eq!(row["recall_search"], 2.0 / 3.0);
    assert_eq!(row["directives"], 0.0);
    assert_eq!(of(&lines, "default", false)["directives"], 1.0);
}

#[test]
fn outputs_are_kept_and_a_second_run_goes_on() {
    let place = place();
    place.write("other.json", bare(30).to_string());
    let args = ["--ratio", "4", "--outputs", "out", "debugging.jsonl", "other.json"];
    let first = compared(&place, &args);
    for name in ["default/debugging", "default/other", "truncate/debugging", "truncate/other"] {
        let body = place.read_json(&format!("out/{name}.json"));
        assert_eq!(faults(&body), Vec::<String>::new(), "{name}");
        let store = format!("out/{name}.store.db");
        // Only what was said is found, and only one of them speaks of a timeout.
        let word = if name.ends_with("other") { "timeout" } else { "limit" };
        let found = place.run(["recall", "--json", "--store", &store, word]).json();
        assert!(!found.as_array().unwrap().is_empty(), "{name}");
    }
    let (whole, cut) = (bare(30), place.read_json("out/none/other.json"));
    let count = messages(&cut).len();
    assert_eq!(messages(&cut), &messages(&whole)[..count], "it is cut and no more");
    assert!((60..100).contains(&count), "{count}");
    let records = place.read("out/records.jsonl");
    assert_eq!(records.iter().filter(|byte| **byte == b'\n').count(), 6);
    // Nothing is done again, so even the times are those of the first run.
    assert_eq!(compared(&place, &args), first);
    assert_eq!(place.read("out/records.jsonl"), records);
    // Killed while it wrote its last line.
    place.write("out/records.jsonl", &records[..records.len() - 40]);
    assert_eq!(untimed(compared(&place, &args)), untimed(first.clone()));
    let healed = place.read("out/records.jsonl");
    assert_eq!(healed.iter().filter(|byte| **byte == b'\n').count(), 7);
    let note = "epitome: note: out/records.jsonl: 1 line not whole, of pairs that are made anew\n";
    assert_eq!(untimed(noted(&place, &args, note)), untimed(first));
    assert_eq!(place.read("out/records.jsonl"), healed);
    // Another size is another comparison.
    noted(&place, &["--ratio", "2", "--outputs", "out", "other.json"], note);
    assert_eq!(place.read("out/records.jsonl").iter().filter(|byte| **byte == b'\n').count(), 10);
}

#[test]
fn the_table_fits_its_terminal() {
    let place = place();
    for (columns, figures) in [("80", &["--ratio", "4"]), ("120", &["--prompt-limit", "9000"])] {
        let args = [&["ab", "debugging.jsonl"], &figures[..]].concat();
        let mut command = place.command(args);
        command.env("COLUMNS", columns);
        let ran = crate::program::Ran::of(command, b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let most = columns.parse::<usize>().unwrap();
        for line in ran.text().lines() {
            assert!(line.chars().count() <= most, "{columns}: {line}");
        }
        for name in ["  default ", "  truncate ", "  none ", "coding: 1 conversation, "] {
            assert!(
                ran.text().lines().any(|line| line.starts_with(name)),
                "{name}: {}",
                ran.text()
            );
        }
    }
}

#[test]
fn the_comparison_is_a_page_with_charts_as_well() {
    let place = place();
    let check = |figures: &[&str], turns: bool| {
        let args = [&["ab", "--html", "out.html", "debugging.jsonl"], figures].concat();
        let ran = place.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let page = String::from_utf8(place.read("out.html")).unwrap();
        for name in ["default", "truncate", "none"] {
            assert!(page.contains(&format!("<b>{name}</b>")), "{name}");
            let row = ran.text().lines().find(|line| line.trim().starts_with(name)).unwrap();
            let score = row.split_whitespace().nth(1).unwrap().trim_end_matches('*');
            assert!(page.contains(&format!("<b>{score}</b>")), "{name}: {score} of the table");
        }
        assert_eq!(page.contains("Turn by turn"), turns);
        assert!(!page.contains("<script") && !page.contains("http"), "it loads nothing");
    };
    check(&["--ratio", "4"], false);
    check(&["--context-size", "9000"], true);
    let kept = place.read("out.html");
    let ran = place.run(["ab", "--html", "out.html", "missing.json"]);
    assert_eq!((ran.code, place.read("out.html")), (3, kept), "the old page stays");
    let ran = place.run(["ab", "--html", "none/out.html", "debugging.jsonl"]);
    assert_eq!((ran.code, ran.text()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("none/out.html"), "{}", ran.err);
}

/// The manual shows the table of all policies, and the command.
#[test]
fn the_shipped_policies_compare_as_the_manual_says() {
    let place = place();
    let pages = pages();
    let mut lines = pages.iter().flat_map(|page| page.text.lines());
    let command = lines.find(|line| line.starts_with("epitome ab --profiles default,"));
    let args: Vec<_> = command.unwrap().split_whitespace().skip(1).collect();
    let Some((&"examples/transcripts", args)) = args.split_last() else { panic!("{args:?}") };
    let mut command = place.command([args, &["debugging.jsonl"]].concat());
    command.env("COLUMNS", "96");
    let ran = crate::program::Ran::of(command, b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    is_shown(&ran.text().trim_end().lines().collect::<Vec<_>>());
    let lines = compared(&place, &[&args[1..], &["debugging.jsonl"]].concat());
    let figures = |profile: &str| of(&lines, profile, true)["all"].clone();
    let mean = |profile: &str, of: &str| figures(profile)[of]["mean"].as_f64().unwrap();
    for profile in ["ollm", "staged", "watermark", "early", "tiered", "truncate"] {
        assert!(mean("default", "score_search") >= mean(profile, "score_search"), "{profile}");
        // One of 48 questions is what the manual grants `watermark`, which compresses more often.
        assert!(
            mean("default", "score") + 1.0 / 48.0 >= mean(profile, "score") - 1e-9,
            "{profile}"
        );
    }
}

#[test]
fn what_makes_no_comparison_is_said() {
    let place = place();
    place.write("short.json", bare(1).to_string());
    place.write("notes.md", "Nothing was said.");
    let check = |args: &[&str], code: i32, expected: &str| {
        let ran = place.run([&["ab"], args].concat());
        assert_eq!((ran.code, ran.text()), (code, ""), "{}", ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    };
    check(&["--profiles", "defualt", "debugging.jsonl"], 2, "`default`");
    check(&["--ratio", "4", "--max-tokens", "9", "debugging.jsonl"], 2, "--max-tokens");
    check(&["missing.json"], 3, "missing.json: no such file");
    check(&["notes.md"], 3, "no conversation to compare profiles on; notes.md: ");
    check(&["--cut", "2", "debugging.jsonl"], 2, "between 0 and 1");
}

/// What is compared is held to the size that the table of models gives, the baselines too; what was
/// found at another size is not taken for it.
#[test]
fn a_comparison_goes_by_the_table_of_models() {
    let place = Place::new();
    place.write("talk.json", bare(12).to_string());
    let check = |args: &str, expected: u64| {
        let args: Vec<_> = args.split_whitespace().chain(["talk.json"]).collect();
        let lines = compared(&place, &[&["--outputs", "out"], &args[..]].concat());
        for profile in ["default", "truncate", "none"] {
            assert_eq!(of(&lines, profile, false)["limit"], expected, "{profile} {args:?}");
        }
    };
    check("--window-of llama3.2 --context-size 4096", 3482);
    check("--context-size 4096", 3481);
    check("--context-size 4096 --model llama3.2:3b", 3482);
    check("--window-of gpt-4o", 128_000);
    place.write("own.toml", "[profile.default]\nprompt_limit = 5000\n");
    check("--config own.toml", 5000);
    let refused = place.run(["ab", "talk.json", "--window-of", "lama3.2"]);
    assert!(refused.code != 0 && refused.err.contains("did you mean `llama3.2`?"), "{refused:?}");
}

/// Records are added to a file of records alone.
#[test]
fn notes_are_no_records_to_go_on_from() {
    let place = Place::new();
    place.write("a.json", crate::conversation::bare(4).to_string());
    place.write("notes.txt", "my notes\n");
    let args = [
        "ab",
        "--profiles",
        "none",
        "--context-size",
        "8192",
        "--resume",
        "notes.txt",
        "a.json",
        "-q",
    ];
    let ran = place.run(args);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("notes.txt: holds no records of a comparison"), "{}", ran.err);
    assert_eq!(place.read("notes.txt"), b"my notes\n");
}
