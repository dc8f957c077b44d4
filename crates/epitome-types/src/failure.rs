//! What the output of a tool says of a failure (RULES 15).
//!
//! Invariant: a line that is told is one of the output, as it came.

/// How lines begin that report a failure, of tools that have no other way to say it.
const BEGINNINGS: &[&str] = &[
    "error:",
    "error[",
    "Error:",
    "Error executing",
    "Error reading",
    "Error writing",
    "ERROR:",
    "fatal:",
    "FATAL:",
    "FAIL:",
    "FAIL ",
    "FAILED",
    "--- FAIL",
    "panic:",
    "npm ERR!",
    "make: ***",
    "curl: (",
    "rm: cannot",
    "mv: cannot",
    "cp: cannot",
    "CONFLICT (",
    "Automatic merge failed",
    "Segmentation fault",
    "Command failed",
    "Command timed out",
    "Failed to ",
    "File already exists",
    "File has not been read",
    "Permission denied",
    "String to replace not found",
    "The string was not found",
    "Edit rejected",
    "old_string and new_string are identical",
    "Unable to ",
    "No replacement was performed",
    "The file was reverted",
    "The tool use was rejected",
    "The user denied",
    "The user doesn't want",
    "The user rejected",
    "You must read the file",
    "<tool_use_error>",
    "EACCES:",
    "ENOENT:",
    "EPERM:",
    "EROFS:",
    TRACEBACK,
];

/// Heads the failures of Python; what went wrong is said behind it.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// What such lines hold.
const WITHIN: &[&str] = &[
    "panicked at",
    "test result: FAILED",
    "BUILD FAILED",
    "verification failed:",
    "but replace_all is false",
    "\"success\":false",
    "\"success\": false",
    "\"ok\":false",
    "\"ok\": false",
    "\"status\":\"failed\"",
    "\"status\": \"failed\"",
    "{\"error\":\"",
    "{\"error\": \"",
];

/// How such lines end.
const ENDS: &[&str] = &[
    "command not found",
    "No such file or directory",
    "Permission denied",
    "Read-only file system",
    "not found in content",
    "... FAILED",
];

/// Such lines as a whole.
const WHOLE: &[&str] = &["Killed", "Aborted", "Aborted (core dumped)"];

/// What stands before the number with which a process ended.
const EXITS: &[&str] =
    &["exit code", "exit status", "exited with", "Exit code", "exit_code", "<returncode>"];

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

/// The lines of an output that say that a tool failed, the one that says most first.
pub fn failing_lines(text: &str, is_error: bool) -> Vec<&str> {
    let says = if is_error { speaks_of_failure } else { reports_failure };
    let mut said: Vec<&str> = lines(text).filter(|line| says(line)).collect();
    said.sort_by_key(|line| line.starts_with(TRACEBACK));
    if said.is_empty() && is_error {
        said.extend(lines(text).next());
    }
    said
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
        || WHOLE.contains(&line)
        || WITHIN.iter().any(|it| line.contains(it))
        || ENDS.iter().any(|it| line.ends_with(it))
        || EXITS.iter().any(|it| ends_in_failure(line, it))
        || counts_failures(line)
        || is_refused_request(line)
}

/// Whether a line is the status of a request that a server refused or failed: `HTTP/1.1 503 …`.
fn is_refused_request(line: &str) -> bool {
    let status = line.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1));
    status.is_some_and(|status| status.len() == 3 && status.starts_with(['4', '5']))
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
    if !line.contains("fail") {
        return false;
    }
    let words: Vec<_> = line.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    words.windows(2).any(|pair| {
        let is_some = pair[0].parse().is_ok_and(|count: u64| count > 0);
        is_some && matches!(pair[1], "failed" | "failing" | "failures")
    })
}

/// Whether a line of an error says what went wrong.
fn speaks_of_failure(line: &str) -> bool {
    let line = line.to_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

/// The lines that say something, as far as they are shown: of a long one its beginning, or its end where
/// that alone says that something failed.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let Some((end, _)) = line.char_indices().nth(LONGEST) else { return line };
        let (head, (start, _)) =
            (&line[..end], line.char_indices().rev().nth(LONGEST - 1).unwrap_or_default());
        let head = &head[..head.rfind(' ').filter(|at| *at > end / 2).unwrap_or(end)];
        let tail = &line[start..];
        // A field of JSON, or a word, is not torn.
        let next = |sign: &str| tail.find(sign).filter(|at| *at < tail.len() / 2);
        let tail = next(", ")
            .or_else(|| next(" "))
            .map_or(tail, |at| tail[at..].trim_start_matches([',', ' ']));
        if !reports_failure(head) && reports_failure(tail) { tail } else { head }
    })
}
