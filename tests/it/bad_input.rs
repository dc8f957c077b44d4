//! What cannot be done: the exit code, one line that says why, and nothing written.

use std::fs::File;

use crate::conversation::bare;
use crate::program::{Place, Ran};

/// A place with a conversation, a cut-off one and one that is no text.
fn place() -> Place {
    let place = Place::new();
    let good = bare(12).to_string();
    place.write("good.json", &good);
    place.write("cut.json", &good[..good.len() / 2]);
    place.write("latin1.json", b"[{\"role\":\"user\",\"content\":\"caf\xe9\"}]");
    place.write("empty.json", "");
    place.write("line.jsonl", "{\"type\":\"session\",\"id\":\"a\"}\n{\"type\":\"mess\n");
    place.write("other.json", "{\"prompt\":\"x\",\"model\":\"m\"}");
    place.write("deep.json", "[".repeat(100_000));
    place.write("roles.json", "[{\"role\":\"user\",\"content\":\"a\"},{\"content\":\"b\"}]");
    place
}

/// Runs in a place and gives the code and the line, having seen that there is no more.
#[track_caller]
fn refused(place: &Place, ran: Ran, before: &[String]) -> String {
    assert_eq!(ran.text(), "", "nothing goes to standard output");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert_eq!(place.files(), before, "no file is made");
    format!("{} {}", ran.code, ran.err.trim_end())
}

/// The refusals of many runs, one a line.
#[track_caller]
fn refusals(rows: &[&str]) -> String {
    refusals_in(&place(), rows)
}

#[track_caller]
fn refusals_in(place: &Place, rows: &[&str]) -> String {
    let before = place.files();
    let lines = rows.iter().map(|row| {
        let args: Vec<_> = row.split_whitespace().collect();
        format!("$ epitome {row}\n{}\n", refused(place, place.run(args), &before))
    });
    lines.collect::<String>().replace(place.path("").to_str().unwrap(), "[home]/")
}

/// Compares with the snapshot of this name.
#[track_caller]
fn check(name: &str, lines: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, lines));
}

#[test]
fn inputs_that_cannot_be_read() {
    let lines = refusals(&[
        "compress --ratio 4 cut.json",
        "compress --ratio 4 cut.json --store new.db --output out.json --report report.json",
        "compress --ratio 4 latin1.json",
        "compress --ratio 4 empty.json",
        "compress --ratio 4 line.jsonl",
        "compress --ratio 4 other.json",
        "compress --ratio 4 deep.json",
        "compress --ratio 4 roles.json",
        "compress --ratio 4 missing.json",
        "compress --ratio 4 .",
        "compress --ratio 4 --format pi good.json",
        "compress --ratio 4 --format anthropic good.json",
        "compress --ratio 4 --max-input 1K good.json",
        "recall --store missing.db anything",
        "recall --store good.json anything",
        "recall anything",
    ]);
    check("inputs_that_cannot_be_read", &lines);
}

#[test]
fn arguments_that_make_no_sense() {
    let lines = refusals(&[
        "",
        "compres good.json",
        "compress --max-tokens 9 --ratio 4 good.json",
        "compress --max-chars 9 --max-bytes 9 good.json",
        "compress --context-size 9 --prompt-limit 9 good.json",
        "compress --max-tokens good.json",
        "compress --max-tokens -5 good.json",
        "compress --max-tokns 5 good.json",
        "compress --ratio 0.5 good.json",
        "compress --format gemini good.json",
        "compress --format responses good.json",
        "compress --format codex good.json",
        "compress --to pi good.json",
        "compress --ratio 4 --to anthropic good.json",
        "compress --summarizer llama3.2 good.json",
        "compress --profile olm good.json",
        "compress --json good.json",
        "compress --quiet --verbose good.json",
        "compress --max-input much good.json",
        "compress good.json cut.json",
        "recall",
        "recall --id 12345678 words",
        "recall --lines 3 words",
        "recall --id 12345678 --lines 8-3",
        "completions tcsh",
    ]);
    check("arguments_that_make_no_sense", &lines);
}

#[test]
fn outputs_that_cannot_be_written() {
    let lines = refusals(&[
        "compress --ratio 4 good.json --output nowhere/out.json",
        "compress --ratio 4 good.json --output .",
        "compress --ratio 4 good.json --output out.json --report nowhere/report.json",
        "compress --ratio 4 good.json --report .",
        "compress --ratio 4 good.json --store cut.json",
        "compress --ratio 4 good.json --store good.json/store.db",
        "replay good.json --store good.json/store.db",
        "session import good.json --store good.json/store.db",
    ]);
    check("outputs_that_cannot_be_written", &lines);
}

/// Each file is known to be another one before any is read: the input is as it was.
#[test]
fn outputs_that_would_destroy_each_other() {
    let place = place();
    let before = place.read("good.json");
    place.run("session import good.json --store s.db".split(' ')).silent();
    let store = place.read("s.db");
    let lines = refusals_in(
        &place,
        &[
            "compress --ratio 4 good.json --output out.json --report ./out.json",
            "compress --ratio 4 good.json --output out.db --store out.db",
            "compress --ratio 4 good.json --report good.json",
            "compress --ratio 4 good.json --store good.json",
            "compress --ratio 4 good.json --report -",
            "compress --ratio 4 good.json --output out.json --store -",
            "compress --ratio 4 good.json --output - --json",
            "compress --summarizer ollama:m --record good.json good.json",
            "compress --summarizer ollama:m --cassette good.json --output good.json missing.json",
            "replay good.json --store good.json",
            "replay good.json --store s.db --summarizer ollama:m --record s.db-wal",
            "session export good --store s.db --output s.db",
            "chat --model ollama:m --store s.db --record s.db",
            "ab good.json --resume good.json",
        ],
    );
    check("outputs_that_would_destroy_each_other", &lines);
    assert!(place.read("good.json") == before && place.read("s.db") == store);
}

/// `-` is standard output where it is that of the conversation, as it is standard input.
#[test]
fn a_dash_is_standard_output() {
    let place = place();
    let written = place.run("compress --ratio 4 good.json".split(' ')).silent();
    let named = place.run("compress --ratio 4 --output - good.json".split(' ')).silent();
    assert!(written == named && !written.is_empty());
    place.run("session import good.json --store s.db".split(' ')).silent();
    let shown = place.run("session export good --store s.db --output -".split(' ')).silent();
    assert!(!shown.is_empty() && !place.files().contains(&"-".to_owned()));
    // In its own place, and where nothing can be replaced.
    place.run("compress --ratio 4 good.json --output good.json".split(' '));
    assert_eq!(place.read("good.json"), written);
    let nowhere = "compress --ratio 4 good.json --output /dev/null --report /dev/null";
    assert_eq!(place.run(nowhere.split(' ')).code, 0);
}

#[test]
fn what_cannot_fit_is_named() {
    let lines = refusals(&[
        "compress --max-tokens 20 good.json",
        "compress --max-chars 50 good.json",
        "compress --max-bytes 90 good.json --output out.json --report report.json",
        "compress --prompt-limit 20 good.json --store new.db",
    ]);
    check("what_cannot_fit_is_named", &lines);
}

#[test]
fn sessions_that_cannot_be_read() {
    let lines = refusals(&[
        "session list",
        "session show a --store good.json",
        "session import missing.json",
        "session import cut.json --store new.db",
        "session import roles.json --store new.db",
        "session import empty.json --store new.db",
        "session import other.json --store new.db",
        "session import good.json --format pi --store new.db",
        "session import good.json --store nowhere.json/new.db --profile olm",
        "session import good.json --store cut.json",
        "session verify --store missing.db",
        "status --store missing.db",
        "diff --store good.json",
        "snapshot list --store missing.db",
    ]);
    check("sessions_that_cannot_be_read", &lines);
}

#[test]
fn what_the_journal_does_not_know() {
    let place = place();
    place.run(["session", "import", "good.json", "--store", "s.db"]).silent();
    place.run(["snapshot", "create", "--name", "x", "--store", "s.db"]).silent();
    let rows = [
        "session",
        "session lost",
        "session show nope",
        "session show goood",
        "session export nope",
        "session export good --format xml",
        "session export good --output nowhere/good.md",
        "session undo",
        "session redo good",
        "session delete",
        "session delete nope",
        "session delete nope --forever",
        "session restore nope",
        "session erase good",
        "session erase good e99",
        "session erase good e1 e99",
        "session erase nope e1",
        "pin",
        "pin e99",
        "pin e1 --session nope",
        "unpin e1",
        "snapshot create --name x",
        "snapshot restore nope",
        "snapshot prune nope",
        "snapshot prune x --keep 2",
        "snapshot list --session nope",
        "status --session nope",
        "diff nope",
        "recall --id 12345678",
    ];
    let rows: Vec<_> = rows
        .iter()
        .map(|row| match *row {
            "session" | "session lost" | "pin" => (*row).to_owned(),
            row => format!("{row} --store s.db"),
        })
        .collect();
    let rows: Vec<_> = rows.iter().map(String::as_str).collect();
    check("what_the_journal_does_not_know", &refusals_in(&place, &rows));
    let shown = place.run(["session", "export", "good", "--store", "s.db"]).silent();
    assert!(!String::from_utf8(shown).unwrap().contains("[erased]"), "all ids are known first");
}

#[test]
fn an_empty_list_is_nothing_to_do() {
    for budget in ["--max-tokens", "--max-chars", "--max-bytes", "--ratio", "--prompt-limit"] {
        assert_eq!(Place::new().feed(["compress", budget, "9"], b"[]").silent(), b"[]");
    }
}

/// Its size is known before anything of it is read, on standard input too.
#[test]
fn a_huge_file_is_refused_unread() {
    let place = Place::new();
    let huge = File::options().write(true).create_new(true).open(place.path("huge"));
    huge.and_then(|file| file.set_len(300 << 20)).unwrap();
    let args = ["compress", "--ratio", "4"];
    let named = place.run([&args[..], &["huge"]].concat());
    let mut command = place.command(args);
    command.stdin(File::options().read(true).open(place.path("huge")).unwrap());
    let piped = Ran::of(command, b"");
    for (ran, name) in [(named, "huge"), (piped, "standard input")] {
        let line = format!("3 epitome: error: {name}: is larger than 268435456 bytes; ");
        let refused = refused(&place, ran, &["huge".to_owned()]);
        assert!(refused.starts_with(&line), "{refused}");
    }
}

#[test]
fn a_long_line_on_a_pipe_is_read_no_further_than_allowed() {
    let place = Place::new();
    let line = "x".repeat(3 << 20);
    let ran = place.feed(["compress", "--ratio", "4", "--max-input", "1M"], line.as_bytes());
    let refused = refused(&place, ran, &[]);
    assert!(refused.starts_with("3 epitome: error: standard input: is larger than 1048576 bytes"));
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_a_name_all_the_same() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let place = place();
    let name = OsStr::from_bytes(b"caf\xe9.json");
    std::fs::rename(place.path("good.json"), place.path("").join(name)).unwrap();
    let args = ["compress", "--ratio", "4"].map(OsStr::new);
    let ran = place.run(args.into_iter().chain([name]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let words = ["session", "show"].map(OsStr::new);
    let ran = place.run(words.into_iter().chain([name]));
    assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{}", ran.err);
}

#[test]
fn an_empty_name_is_no_name() {
    let place = Place::new();
    place.write("a.json", r#"[{"role":"user","content":"hi"}]"#);
    let lines: [&[&str]; 4] = [
        &["session", "mode", ""],
        &["session", "import", "a.json", "--name", ""],
        &["snapshot", "create", "--name", ""],
        &["chat", "--model", "openai:m@http://127.0.0.1:1/v1", "--session", " "],
    ];
    for line in lines {
        let ran = place.run(line);
        assert_eq!(ran.code, 2, "{line:?}: {ran:?}");
        assert!(ran.err.contains("it is empty; expected a name"), "{line:?}: {ran:?}");
    }
}

/// Some editors put a mark before a text in UTF-8.
#[test]
fn a_mark_before_a_conversation_is_passed_over() {
    let place = Place::new();
    let plain = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]"#;
    place.write("a.json", format!("\u{feff}{plain}"));
    for line in ["session import a.json --store s.db", "compress --max-tokens 50 a.json"] {
        let ran = place.run(line.split(' '));
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
}
