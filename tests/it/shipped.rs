//! What is shipped with the program does what it says: examples of the help and of the README, the
//! recording, the completions.

use serde_json::Value;

use crate::conversation::claude_code;
use crate::measure::faults;
use crate::program::{Place, Ran, read_file};

/// The recording that the README compresses.
const RECORDING: &str = "examples/transcripts/debugging-session.jsonl";
const README: &str = include_str!("../../README.md");

/// The shipped recording; where it was taken out of the tree, one of the same format.
fn recording() -> Vec<u8> {
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    read_file(format!("{top}{RECORDING}")).unwrap_or_else(|_| claude_code(24).into_bytes())
}

/// A place where the examples' files are.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path("examples/transcripts")).unwrap();
    for name in ["session.jsonl", RECORDING] {
        place.write(name, recording());
    }
    place
        .run(["compress", "--ratio", "8", "--store", "session.db", "-q", "session.jsonl"])
        .silent();
    place
}

/// Runs a line of a shell that uses single quotes at most, `< FILE` and `> FILE`.
fn run_line(place: &Place, line: &str) -> Ran {
    let (line, file) = line.split_once(" > ").map_or((line, None), |(a, b)| (a, Some(b)));
    let (line, input) = line.split_once(" < ").map_or((line, None), |(a, b)| (a, Some(b)));
    let quoted = line.split('\'').enumerate();
    let words: Vec<String> = quoted
        .flat_map(|(at, piece)| match at % 2 {
            1 => vec![piece.to_owned()],
            _ => piece.split_whitespace().map(str::to_owned).collect(),
        })
        .collect();
    let ran = match input {
        Some(input) => place.feed(&words[1..], &place.read(input)),
        None => place.run(&words[1..]),
    };
    if let Some(file) = file {
        place.write(file, &ran.out);
    }
    ran
}

#[test]
fn the_recording_is_compressed_to_a_quarter() {
    let place = place();
    let args = ["compress", "--ratio", "4", RECORDING, "--report", "r.json"];
    let body: Value = serde_json::from_slice(&place.run(args).silent()).unwrap();
    assert_eq!(faults(&body), Vec::<String>::new());
    let report = place.read_json("r.json");
    let [before, after] = ["before", "after"].map(|side| report[side]["tokens"].as_u64().unwrap());
    assert!(report["fits"] == true && after * 3 < before, "{before} to {after}");
}

#[test]
fn the_examples_of_the_help_run() {
    let place = place();
    let verbs = [
        &["--help"][..],
        &["compress", "--help"],
        &["recall", "--help"],
        &["completions", "--help"],
    ];
    for args in verbs {
        let help = String::from_utf8(place.run(args).silent()).unwrap();
        let example = help.lines().skip_while(|line| *line != "Example:").nth(1);
        let example = example.unwrap_or_else(|| panic!("no example in {help}"));
        let ran = run_line(&place, example);
        assert_eq!(ran.code, 0, "{example}: {}", ran.err);
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    let place = place();
    let mut shell = false;
    let mut ran = 0;
    for line in README.lines() {
        if line.starts_with("```") {
            shell = line == "```sh" && !shell;
        }
        // What cargo is told to run is this program with these arguments.
        let line = line.replace("cargo run --release -p epitome-cli -- ", "epitome ");
        if shell && line.starts_with("epitome ") {
            let done = run_line(&place, &line);
            assert_eq!(done.code, 0, "{line}: {}", done.err);
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} commands found");
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(Place::new().run(["completions", shell]).silent()).unwrap();
        for word in ["compress", "recall", "max-tokens", "dry-run"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
}

#[test]
fn help_and_version_are_data() {
    let version = Place::new().run(["--version"]).silent();
    assert!(version.starts_with(b"epitome "));
    assert_eq!(Place::new().run(["compress", "-h"]).code, 0);
}
