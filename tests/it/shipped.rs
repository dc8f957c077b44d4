//! What is shipped with the program does what it says: examples of the help and of the README, the
//! recording, the completions.

use std::sync::Mutex;

use crate::chat::cassette;
use crate::measure::{faults, readable, tokens};
use crate::program::{Place, Ran, read_file, write_file};

/// The recording that the README compresses.
const RECORDING: &str = "examples/transcripts/debugging-session.jsonl";
pub(crate) const README: &str = include_str!("../../README.md");

/// What its engineer demands and does not take back.
pub(crate) const RULES: [&str; 8] = [
    "Don't change the public API of epitome-wire.",
    "No new dependencies.",
    "Every file stays under 400 lines, and no new file in src/ unless you ask me.",
    "No timed assertions in tests",
    "Run only tests of epitome-wire (`-p epitome-wire`).",
    "Don't commit, I want to see the diff first.",
    "an error message must not grow with the input.",
    "the limit is 128 bytes for keys, values and ids alike",
];
/// What was taken back, for the last of them.
const TAKEN_BACK: &str = "Cut quoted keys at 64 bytes";

pub(crate) fn recording() -> Vec<u8> {
    read_file(format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../{}"), RECORDING)).unwrap()
}

/// Holds a block of figures in the README to what the program says, but for lines that tell times.
/// With `UPDATE=1` the block that begins alike is written anew.
#[track_caller]
pub(crate) fn is_shown(said: &[&str]) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let text = said.join("\n");
    if README.contains(&text) {
        return;
    }
    assert!(std::env::var_os("UPDATE").is_some(), "UPDATE=1 writes it into the README:\n{text}");
    let _guard = ONE_AT_A_TIME.lock();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = String::from_utf8(read_file(path).unwrap()).unwrap();
    let first = said[0].split_whitespace().next().unwrap();
    let begins = |block: &&str| block.split_whitespace().next() == Some(first);
    let mut blocks = readme.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.find(begins).unwrap_or_else(|| panic!("no block begins with {first}"));
    let times =
        block.lines().filter(|line| line.starts_with("time ")).map(|line| line.to_owned() + "\n");
    let anew = format!("{text}\n{}", times.collect::<String>());
    write_file(path, readme.replacen(block, &anew, 1)).unwrap();
}

/// The commands of the README for a shell; what cargo is told to run is this program.
fn commands() -> Vec<String> {
    let blocks = README.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines);
    let lines =
        lines.map(|line| line.replace("cargo run --release -p epitome-cli -- ", "epitome "));
    let lines =
        lines.map(|line| line.split_once(" # ").map_or(&*line, |(line, _)| line).to_owned());
    lines.filter(|line| line.starts_with("epitome ")).collect()
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
pub(crate) fn run_line(place: &Place, line: &str) -> Ran {
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
fn the_recording_is_compressed_to_a_quarter_with_its_rules() {
    let place = place();
    let command = commands().into_iter().find(|command| command.contains(RECORDING)).unwrap();
    let ran = run_line(&place, &format!("{command} --report report.json"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (body, report) = (place.read_json("compressed.json"), place.read_json("report.json"));
    assert_eq!(faults(&body), Vec::<String>::new());
    let (before, after) = (report["before"]["tokens"].as_u64().unwrap(), tokens(&body));
    // What is pinned, here the last request, does not shrink.
    assert!(report["fits"] == true && after * 39 < before * 10, "{before} to {after}");
    let text = readable(&body);
    RULES.iter().for_each(|rule| assert!(text.contains(rule), "{rule}"));
    assert!(!text.contains(TAKEN_BACK));
}

#[test]
fn the_examples_of_the_help_run() {
    let place = place();
    let verbs = [
        &["--help"][..],
        &["compress", "--help"],
        &["replay", "--help"],
        &["scan", "--help"],
        &["ab", "--help"],
        &["recall", "--help"],
        &["policy", "new", "--help"],
        &["policy", "list", "--help"],
        &["policy", "check", "--help"],
        &["policy", "test", "--help"],
        &["policy", "trace", "--help"],
        &["policy", "bench", "--help"],
        &["policy", "stubs", "--help"],
        &["plugin", "new", "--help"],
        &["plugin", "list", "--help"],
        &["plugin", "check", "--help"],
        &["trust", "--help"],
        &["config", "show", "--help"],
        &["config", "schema", "--help"],
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
    std::fs::create_dir(place.path("bin")).unwrap();
    for client in ["claude", "codex"] {
        std::os::unix::fs::symlink("/bin/true", place.path("bin").join(client)).unwrap();
    }
    let commands = commands();
    assert!(commands.len() >= 5, "only {commands:?} found");
    std::fs::create_dir_all(place.path("tests/it/cassettes")).unwrap();
    for name in ["greenhouse.jsonl", "greenhouse.txt"] {
        place.write(&format!("tests/it/cassettes/{name}"), cassette(name));
    }
    // One that serves ends when it is told to; the tests of the proxy do that. One that talks wants
    // a model, unless it plays a cassette.
    let runs = |command: &String| {
        let talks = command.starts_with("epitome chat") && !command.contains("--cassette");
        !command.starts_with("epitome serve") && !talks
    };
    for command in commands.into_iter().filter(runs) {
        let ran = run_line(&place, &command);
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
    }
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

/// The table of the proxy names every flag that both of its verbs take.
#[test]
fn the_readme_names_the_flags_of_the_proxy() {
    let table = README.split("| flag of `run` and `serve` |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    for verb in ["run", "serve"] {
        let help = String::from_utf8(Place::new().run([verb, "--help"]).silent()).unwrap();
        let words = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        for flag in words.map(|word| word.trim_end_matches(',')) {
            let is_said = flag == "--help" || flag == "--quiet" || flag == "--verbose";
            assert!(is_said || table.contains(&format!("`{flag}")), "{verb} {flag}");
        }
    }
}
