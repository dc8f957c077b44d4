//! What says that a tool failed stays in whatever stands in the place of its result (RULES 15).
//!
//! Invariant: a text for a result that reports an error, be it only in the words of its output, holds a
//! line of that error as it came, whoever wrote the text. Called wherever a text of somebody else is put
//! in the place of a result.

use std::borrow::Cow;

use epitome_kernel::Thread;
use epitome_kernel::types::{PartBody, PartId};

/// How lines begin that report a failure, of tools that have no other way to say it.
const BEGINNINGS: [&str; 14] = [
    "error:",
    "error[",
    "Error:",
    "ERROR:",
    "fatal:",
    "FATAL:",
    "FAIL:",
    "FAIL ",
    "FAILED",
    "--- FAIL",
    "panic:",
    "npm ERR!",
    "Command failed",
    TRACEBACK,
];

/// Heads the failures of Python; what went wrong is said behind it.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// What such lines hold.
const WITHIN: [&str; 3] = ["panicked at", "test result: FAILED", "BUILD FAILED"];

/// How such lines end.
const ENDS: [&str; 4] =
    ["command not found", "No such file or directory", "Permission denied", "... FAILED"];

/// What stands before the number with which a process ended.
const EXITS: [&str; 5] = ["exit code", "exit status", "exited with", "Exit code", "exit_code"];

/// Words of lines that say what went wrong where a failure is reported, in lower case.
const WORDS: [&str; 10] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "denied",
    "cannot",
    "not found",
    "killed",
];

/// The most that is put before a text of the line that says what went wrong, in characters.
const LONGEST: usize = 200;

/// Returns whether the tool of a part reported an error.
pub(crate) fn is_error(thread: &Thread, part: PartId) -> bool {
    let outer = thread.part(part).and_then(|inner| inner.within);
    let outer = outer.map_or(part, |outer| PartId { part: outer, ..part });
    matches!(thread.part(outer).map(|outer| &outer.body), Some(PartBody::Result(result)) if result.error)
}

/// Returns a text for a part: as it is, unless the part is a result that failed and the text holds no
/// line that says so. Then the first of those lines stands before it.
pub(crate) fn with_failure<'w>(thread: &Thread, part: PartId, with: &'w str) -> Cow<'w, str> {
    let Some(body) = thread.part(part) else { return Cow::Borrowed(with) };
    let text = body.text().unwrap_or_default();
    let is_result = matches!(body.body, PartBody::Result(_)) || body.within.is_some();
    let mut said: Vec<&str> = match is_error(thread, part) {
        true => failing_lines(text).collect(),
        false if is_result => lines(text).filter(|line| reports_failure(line)).collect(),
        false => Vec::new(),
    };
    said.sort_by_key(|line| line.starts_with(TRACEBACK));
    if said.is_empty() && is_error(thread, part) {
        said.extend(lines(text).next());
    }
    match said.first() {
        Some(first) if !said.iter().any(|line| with.contains(line)) => {
            Cow::Owned(format!("{first}\n{with}"))
        }
        _ => Cow::Borrowed(with),
    }
}

/// Whether a line of an output reports that something failed. Files and logs that only speak of errors
/// seldom hold such lines, and nothing is lost where they do.
fn reports_failure(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    // `ValueError: …`, `java.lang.IllegalStateException: …`
    let is_thrown = first.strip_suffix(':').is_some_and(|it| {
        let kind = it.rsplit('.').next().unwrap_or_default();
        kind.starts_with(char::is_uppercase)
            && (kind.ends_with("Error") || kind.ends_with("Exception"))
    });
    is_thrown
        || BEGINNINGS.iter().any(|it| line.starts_with(it))
        || WITHIN.iter().any(|it| line.contains(it))
        || ENDS.iter().any(|it| line.ends_with(it))
        || EXITS.iter().any(|it| ends_in_failure(line, it))
        || counts_failures(line)
}

/// Whether a line says that a process ended with another number than 0.
fn ends_in_failure(line: &str, exit: &str) -> bool {
    let Some((_, behind)) = line.split_once(exit) else { return false };
    let number = behind.trim_start_matches(|it: char| !it.is_ascii_alphanumeric() && it != '-');
    let number = number.trim_start_matches("code").trim_start();
    number.starts_with(|it: char| it.is_ascii_digit() && it != '0') || number.starts_with('-')
}

/// Whether a line counts tests that failed: `1 failed, 3 passed`, `Tests: 2 failed`.
fn counts_failures(line: &str) -> bool {
    let words: Vec<_> = line.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    words.windows(2).any(|pair| {
        let is_some = pair[0].parse().is_ok_and(|count: u64| count > 0);
        is_some && matches!(pair[1], "failed" | "failing" | "failures")
    })
}

/// The lines that say what went wrong.
fn failing_lines(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter(|line| {
        let line = line.to_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    })
}

/// The lines that say something, as far as they are shown.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let shown = |line: &'_ str| line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(move |line| &line[..shown(line)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use epitome_kernel::types::EntryId;
    use epitome_testkit::chat;

    #[track_caller]
    fn check(text: &str, failed: bool, with: &str, expected: &str) {
        let chat = chat().user("Run them.").call("test", "{}");
        let mut entries = chat.result(text).entries();
        for part in &mut entries[2].parts {
            if let PartBody::Result(result) = &mut part.body {
                result.error = failed;
            }
        }
        let thread = Thread::new(entries, &[]);
        let part = PartId { entry: EntryId(2), part: 0 };
        assert_eq!(with_failure(&thread, part, with), expected);
    }

    #[test]
    fn a_failure_is_told_in_its_own_words() {
        let text = "running 2 tests\n  test b ... FAILED\nerror: 1 test failed\n";
        check(text, false, "All passed.", "test b ... FAILED\nAll passed.");
        check(text, true, "All passed.", "test b ... FAILED\nAll passed.");
        check(text, true, "Ran: error: 1 test failed", "Ran: error: 1 test failed");
        // Its other lines say nothing of the failure.
        let with = "running 2 tests, all passed.";
        check(text, true, with, &format!("test b ... FAILED\n{with}"));
        check("exit 3\n\n", true, "Done.", "exit 3\nDone.");
        check("", true, "Done.", "Done.");
        let long = format!("error: {}", "x".repeat(500));
        check(&long, true, "Done.", &format!("{}\nDone.", &long[..200]));
    }

    #[test]
    fn a_failure_that_is_told_in_words_alone_is_told() {
        #[track_caller]
        fn fails(text: &str, line: &str) {
            let text = format!("First line.\n{text}\nLast line.\n");
            check(&text, false, "Ok.", &format!("{line}\nOk."));
            check(&text, false, line, line);
        }
        let traceback = "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no port";
        fails(traceback, "ValueError: no port");
        fails("  FAILED tests/a.py::b", "FAILED tests/a.py::b");
        fails("=== 1 failed, 3 passed in 0.2s ===", "=== 1 failed, 3 passed in 0.2s ===");
        fails("Process exited with code 101", "Process exited with code 101");
        fails("exit status: 2", "exit status: 2");
        fails("sh: cargoo: command not found", "sh: cargoo: command not found");
        fails("thread 'main' panicked at src/a.rs:1:2", "thread 'main' panicked at src/a.rs:1:2");
    }

    #[test]
    fn what_only_speaks_of_failures_reports_none() {
        for text in [
            "0 failed, 3 passed",
            "Process exited with code 0",
            "fn parse() -> Result<(), ParseError> {",
            "// an error: see below",
            "raise ValueError(text)",
            "exit code is shown",
        ] {
            check(text, false, "Ok.", "Ok.");
        }
    }
}
