//! What is shipped with the program does what it says: examples of the help and of the manual, the
//! recording, the completions.

use std::sync::Mutex;

use crate::chat::cassette;
use crate::measure::{faults, readable, tokens};
use crate::pages::{ManualPage, pages};
use crate::program::{Place, Ran, read_file};

/// The recording that the manual compresses.
const RECORDING: &str = "examples/transcripts/debugging-session.jsonl";

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

/// Holds blocks of figures in the manual to what the program prints, but for lines that tell times:
/// every block that begins with the same word. With `UPDATE=1` they are written again.
#[track_caller]
pub(crate) fn is_shown(said: &[&str]) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let text = said.join("\n");
    let first = said[0].split_whitespace().next();
    let begins = |block: &&str| block.split_whitespace().next() == first;
    let mut shown = 0;
    for page in pages() {
        for block in page.blocks("text").into_iter().filter(begins) {
            shown += 1;
            if block.starts_with(&text) {
                continue;
            }
            let at = &page.path;
            assert!(std::env::var_os("UPDATE").is_some(), "UPDATE=1 writes it into {at}:\n{text}");
            let times = block.lines().filter(|line| line.starts_with("time "));
            let times: String = times.map(|line| line.to_owned() + "\n").collect();
            page.write(&page.text.replacen(block, &format!("{text}\n{times}"), 1));
        }
    }
    assert!(shown > 0, "no page shows a block that begins with {first:?}");
}

/// The commands of a page for a shell; what cargo is told to run is this program.
fn commands(page: &ManualPage) -> Vec<String> {
    let lines = page.blocks("sh").into_iter().flat_map(str::lines);
    let lines =
        lines.map(|line| line.replace("cargo run --release -p epitome-cli -- ", "epitome "));
    let lines =
        lines.map(|line| line.split_once(" # ").map_or(&*line, |(line, _)| line).to_owned());
    lines
        .map(|line| line.trim_end().to_owned())
        .filter(|line| line.starts_with("epitome "))
        .collect()
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
    let mut commands = pages().into_iter().flat_map(|page| commands(&page));
    let compresses =
        |line: &String| line.contains("compress --ratio 4") && line.contains(RECORDING);
    let command = commands.find(compresses).unwrap();
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
        &["policy", "what-if", "--help"],
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

/// Each page by itself, in a folder of its own, from top to bottom.
#[test]
fn the_commands_of_the_manual_run() {
    // One that serves ends when it is told to; the tests of the proxy do that. One that talks wants
    // a model, unless it plays a cassette.
    let runs = |command: &String| {
        let talks = command.starts_with("epitome chat") && !command.contains("--cassette");
        let serves = command.starts_with("epitome serve") || command == "epitome mcp";
        !serves && !talks
    };
    let mut pages_run = 0;
    for page in pages() {
        let commands: Vec<_> = commands(&page).into_iter().filter(runs).collect();
        if commands.is_empty() {
            continue;
        }
        pages_run += 1;
        let place = place();
        std::fs::create_dir(place.path("bin")).unwrap();
        for client in ["claude", "codex"] {
            std::os::unix::fs::symlink("/bin/true", place.path("bin").join(client)).unwrap();
        }
        std::fs::create_dir_all(place.path("tests/it/cassettes")).unwrap();
        for name in ["greenhouse.jsonl", "greenhouse.txt"] {
            place.write(&format!("tests/it/cassettes/{name}"), cassette(name));
        }
        for command in commands {
            let ran = run_line(&place, &command);
            assert_eq!(ran.code, 0, "{}: {command}: {}", page.path, ran.err);
        }
    }
    assert!(pages_run >= 5, "only {pages_run} pages have commands");
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
fn the_manual_names_the_flags_of_the_proxy() {
    let page = pages().into_iter().find(|page| page.path == "crates/epitome-proxy/README.md");
    let page = page.unwrap().text;
    let table = page.split("| flag of `run` and `serve` |").nth(1).unwrap();
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
