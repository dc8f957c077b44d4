//! Reports, plans and what goes to which stream.

use serde_json::{Value, json};

use crate::conversation::{anthropic, bare};
use crate::program::{Place, Ran};

/// A place with `in.json`.
fn place() -> Place {
    let place = Place::new();
    place.write("in.json", anthropic(12).to_string());
    place
}

/// Text with the figures taken out that change from run to run.
fn steady(text: &str) -> String {
    let timeless = text.lines().map(|line| match line.rsplit_once(", ") {
        Some((rest, time)) if time.ends_with(" ms") => format!("{rest}, [time]"),
        _ => line.to_owned(),
    });
    timeless.collect::<Vec<_>>().join("\n")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_json_report_has_its_keys_and_its_sums() {
    let place = place();
    let args = ["compress", "--ratio", "4", "in.json", "--store", "s.db", "--report", "r.json"];
    place.run(args).silent();
    let report = place.read_json("r.json");
    assert_eq!(
        keys(&report),
        [
            "schema",
            "profile",
            "config",
            "format",
            "counter",
            "limit",
            "budget",
            "budget_unit",
            "fits",
            "elapsed_ms",
            "before",
            "after",
            "ops",
            "checkpoints",
            "offloaded",
            "must_keep",
            "warnings",
        ]
    );
    assert_eq!(report["schema"], "epitome/report@1");
    assert_eq!((&report["profile"], &report["format"]), (&"default".into(), &"anthropic".into()));
    assert_eq!((&report["counter"], &report["fits"]), (&"o200k_base".into(), &true.into()));
    assert!(report["config"].as_str().unwrap().starts_with("b3:"));
    assert!(report["elapsed_ms"].as_f64().unwrap() > 0.0);
    let by = [
        "system",
        "tools",
        "user",
        "assistant",
        "tool_calls",
        "tool_results",
        "images",
        "checkpoints",
    ];
    for side in ["before", "after"] {
        assert_eq!(keys(&report[side]), ["tokens", "bytes", "messages", "by"]);
        assert_eq!(keys(&report[side]["by"]), by);
        let sum: u64 = by.iter().map(|name| report[side]["by"][*name].as_u64().unwrap()).sum();
        assert_eq!(report[side]["tokens"], sum, "{side}");
    }
    assert!(report["after"]["by"]["checkpoints"].as_u64() > Some(0));
    let op = ["op", "entries", "tokens_before", "tokens_after", "reason", "policy", "hook"];
    assert_eq!(keys(&report["ops"][0]), op);
    assert_eq!(keys(&report["checkpoints"][0]), ["id", "level", "tokens", "covers"]);
    assert_eq!(keys(&report["offloaded"][0]), ["id", "tool", "tokens"]);
    assert_eq!(report["offloaded"][0]["tool"], "read_file");
    let facts = ["constraints", "paths", "errors", "identifiers", "recallable", "lost"];
    assert_eq!(keys(&report["must_keep"]), facts);
}

#[test]
fn the_report_states_the_bytes_that_were_written() {
    let place = place();
    place
        .run(["compress", "--ratio", "4", "in.json", "-o", "out.json", "--report", "r.json", "-q"]);
    let report = place.read_json("r.json");
    assert_eq!(report["after"]["bytes"], place.read("out.json").len() as u64);
    assert_eq!(report["before"]["bytes"], place.read("in.json").len() as u64);
    let messages = place.read_json("out.json")["messages"].as_array().unwrap().len() as u64;
    assert_eq!(report["after"]["messages"], messages + 1, "with the system prompt");
}

#[test]
fn json_on_standard_output_is_the_same_report() {
    let place = place();
    let args =
        ["compress", "--ratio", "4", "in.json", "-o", "out.json", "--json", "--report", "r.json"];
    let out = place.run(args).silent();
    assert_eq!(out, place.read("r.json"));
}

#[test]
fn options_change_the_hash_of_the_configuration() {
    let place = place();
    let config = |more: &[&str]| {
        let args = [&["compress", "--dry-run", "--json", "in.json", "--ratio", "4"], more].concat();
        place.run(args).json()["config"].clone()
    };
    assert_eq!(config(&[]), config(&[]));
    assert_ne!(config(&[]), config(&["--keep-recent", "3"]));
    assert_ne!(config(&[]), config(&["--style", "brief"]));
}

#[test]
fn people_get_a_report_when_the_conversation_goes_elsewhere() {
    let place = place();
    let ran =
        place.run(["compress", "--ratio", "4", "in.json", "-o", "out.json", "--store", "s.db"]);
    assert_eq!((ran.code, ran.text()), (0, ""));
    assert!(ran.err.lines().all(|line| line.chars().count() <= 80), "{}", ran.err);
    for said in
        ["messages became", "tool results", "all tokens", "summarize", "--store s.db", "fits"]
    {
        assert!(ran.err.contains(said), "{said} in {}", ran.err);
    }
}

#[test]
fn a_report_with_nothing_to_tell_is_short() {
    let place = Place::new();
    place.write("in.json", bare(2).to_string());
    let ran = place.run(["compress", "--max-tokens", "5000", "in.json", "-o", "out.json"]);
    insta::assert_snapshot!(steady(&ran.err), @r"
    nothing to do: 10 messages
    openai, profile default, counted in o200k_base

                     before     after
    system               16        16  █
    user                 39        39  ██
    assistant            70        70  ████
    tool calls           36        36  ██
    tool results        636       636  ████████████████████████████████
    all tokens          797       797  ████████████████████████████████████████

    fits           budget 5,000 tokens, [time]
    ");
}

#[test]
fn a_pipe_gets_the_conversation_and_nothing_else_is_said() {
    let place = place();
    let quiet = place.run(["compress", "--ratio", "4", "in.json"]).silent();
    let told = place.run(["compress", "--ratio", "4", "in.json", "-v"]);
    assert_eq!(told.out, quiet);
    assert!(told.err.contains("messages became"), "{}", told.err);
}

#[test]
fn a_plan_is_printed_and_nothing_is_written() {
    let place = place();
    let args = [
        "compress",
        "--dry-run",
        "--ratio",
        "4",
        "in.json",
        "-o",
        "out.json",
        "--report",
        "r.json",
        "--store",
        "s.db",
    ];
    let out = place.run(args).silent();
    assert_eq!(place.files(), ["in.json"]);
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with("operation"), "{out}");
    assert!(out.contains("summarize") && out.contains("nothing was written"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let nothing = place.run(["compress", "--dry-run", "--max-tokens", "90000", "in.json"]).silent();
    assert!(nothing.starts_with(b"nothing to do: "));
}

#[test]
fn a_plan_says_what_will_be_done() {
    let place = place();
    let args = ["compress", "--ratio", "4", "in.json", "--store", "s.db", "--json"];
    let plan = place.run([&args[..], &["--dry-run"]].concat()).json();
    let done = place.run([&args[..], &["-o", "out.json"]].concat()).json();
    for key in ["before", "after", "ops", "checkpoints", "offloaded", "must_keep", "config"] {
        assert_eq!(plan[key], done[key], "{key}");
    }
}

#[test]
fn colours_are_for_terminals() {
    let place = place();
    let run = |environment: &[(&str, &str)]| {
        let mut command = place
            .command(["compress", "--ratio", "4", "in.json", "-o", "out.json", "--store", "s.db"]);
        command.envs(environment.iter().copied());
        Ran::of(command, b"").err
    };
    let escape = '\u{1b}';
    assert!(!run(&[]).contains(escape), "a pipe is no terminal");
    assert!(run(&[("CLICOLOR_FORCE", "1")]).contains(escape));
    assert!(!run(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains(escape));
}

#[test]
fn a_plan_names_no_command_that_cannot_work_yet() {
    let place = Place::new();
    let mut talk = bare(24);
    talk[0]["content"] = "Never touch src/ledger.rs, and never push to main.".into();
    place.write("in.json", talk.to_string());
    let line = ["compress", "--dry-run", "--json", "in.json", "--max-tokens", "60"];
    let warnings = |more: &[&str]| {
        let report = place.run([&line[..], more].concat()).json();
        let all = report["warnings"].as_array().unwrap().iter();
        all.filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>().join("\n")
    };
    let unnamed = warnings(&[]);
    assert!(unnamed.contains("gone unless stored; `--store PATH`"), "{unnamed}");
    let named = warnings(&["--store", "s.db"]);
    assert!(named.contains("an order left the prompt"), "{named}");
    assert!(!named.contains("gone") && !named.contains("`epitome recall"), "{named}");
}

/// A report is kept in files and shown to others: what is never recorded is not told there either.
#[test]
fn a_report_names_what_was_lost_without_the_keys_in_it() {
    let place = Place::new();
    let key = ["sk-ant-api03-", "x7Qm2kP9vL4tR8wZ1nB6yH3jD5sF0gA-cE"].concat();
    let order =
        |at: usize| format!("Never call service_{at}.internal with {key} in build_{at}.sh.");
    let talk = (0..60).flat_map(|at| {
        let done = format!("Step {at} is done; {} lines of log were read.", at * 37 + 5).repeat(8);
        [
            json!({"role": "user", "content": order(at)}),
            json!({"role": "assistant", "content": done}),
        ]
    });
    let last = json!({"role": "user", "content": "Go on."});
    let messages: Vec<_> = talk.chain([last]).collect();
    place.write("in.json", json!({"model": "claude-sonnet-4-5", "messages": messages}).to_string());
    let args =
        ["compress", "--max-tokens", "600", "in.json", "-o", "out.json", "--report", "r.json"];
    place.run(args);
    let report = place.read_json("r.json");
    let lost = &report["must_keep"]["lost"];
    assert!(lost.as_array().unwrap().len() > 20, "{lost}");
    assert!(
        !report.to_string().contains(&key) && lost.to_string().contains("with [redacted] in"),
        "{lost}"
    );
    let told = place.run(["replay", "in.json", "--max-tokens", "600", "--json"]).text().to_owned();
    assert!(told.contains("with [redacted] in") && !told.contains(&key), "{told}");
}

/// Files of one name in several folders are several files: each that left is named, as it was said.
#[test]
fn files_of_one_name_are_told_apart() {
    let files = [
        "packages/web/src/index.ts",
        "packages/api/src/index.ts",
        "services/mail/src/index.ts",
        "crates/a/src/lib.rs",
        "crates/b/src/lib.rs",
        "/etc/nginx/conf/site.conf",
        "/opt/other/conf/site.conf",
        "./tools/run_all.py",
    ];
    let place = Place::new();
    let talk = files.iter().enumerate().flat_map(|(at, file)| {
        let done = format!("Step {at} is done; {} lines of log were read. ", at * 37 + 5);
        [
            json!({"role": "user", "content": format!("Now have a look at {file} and go on.")}),
            json!({"role": "assistant", "content": done.repeat(20)}),
        ]
    });
    let last = json!({"role": "user", "content": "Go on."});
    let messages: Vec<_> = talk.chain([last]).collect();
    place.write("in.json", json!({"model": "claude-sonnet-4-5", "messages": messages}).to_string());
    for ratio in ["4", "30"] {
        let args =
            ["compress", "--ratio", ratio, "in.json", "-o", "out.json", "--report", "r.json"];
        place.run(args);
        let (report, prompt) = (place.read_json("r.json"), place.read_json("out.json").to_string());
        let kept = &report["must_keep"];
        let lost = kept["lost"].as_array().unwrap().iter();
        let lost: Vec<&str> = lost
            .filter(|fact| fact["kind"] == "path")
            .map(|fact| fact["text"].as_str().unwrap())
            .collect();
        let spelled = files.map(|file| file.trim_start_matches("./"));
        let mut left: Vec<&str> =
            spelled.into_iter().filter(|file| !prompt.contains(file)).collect();
        left.sort_unstable();
        assert_eq!((&lost, &kept["paths"][1]), (&left, &json!(files.len())), "{kept}");
        assert!(ratio == "4" || left.len() > 3, "{prompt}");
    }
}
