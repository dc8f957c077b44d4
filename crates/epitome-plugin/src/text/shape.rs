//! What lines look like: failures, summaries, timestamps, code, paths.
//!
//! Invariant: each question is answered by one look at the line, and a doubt by the answer that
//! keeps more. Called by plugins.

use std::borrow::Cow;
use std::ops::Range;

use crate::DigestInput;

/// The lines of a text with their places; a carriage return ends a line too, as progress bars do.
pub fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    text.split_inclusive(['\n', '\r']).map(move |line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches(['\n', '\r']).len()
    })
}

/// The line without the escapes that colour it.
pub fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return line.into();
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        let body = escape.strip_prefix('[').unwrap_or(escape);
        rest = body.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &body[end + 1..]);
    }
    out.push_str(rest);
    out.into()
}

/// Whether a line tells of a failure or a warning.
pub fn fails(line: &str) -> bool {
    !passes(line) && (holds(line, FAILURES) || holds(line, WARNINGS))
}

/// Whether a line tells of a warning and of nothing worse.
pub fn warns(line: &str) -> bool {
    !passes(line) && holds(line, WARNINGS) && !holds(line, FAILURES)
}

/// Whether a line says that one of many checks went well.
pub fn passes(line: &str) -> bool {
    let line = line.trim();
    PASSES.iter().any(|end| line.ends_with(end))
        || PASSES_BEFORE.iter().any(|start| line.starts_with(start))
        || line.contains(" PASSED") && !line.contains("FAILED")
        || line.contains(", Failures: 0, Errors: 0, ")
        || line.contains("   Passed  ")
}

/// Whether a line sums up what stands above it.
pub fn sums_up(line: &str) -> bool {
    line.bytes().any(|byte| byte.is_ascii_digit()) && holds(line, SUMMARIES)
}

/// Whether a line begins like the line of a log: when it was written, or how bad it is.
pub fn is_stamped(line: &str) -> bool {
    let start = line.trim_start_matches(['[', '(', ' ']);
    let bytes = start.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
    let date = (0..4).all(digit) && is(4, b"-/.") && digit(5);
    let time = digit(0) && digit(1) && is(2, b":") && digit(3);
    let month = MONTHS.iter().any(|month| start.starts_with(month)) && is(3, b" ");
    let level = LEVELS.iter().any(|level| {
        start.starts_with(level) && !bytes.get(level.len()).is_some_and(u8::is_ascii_alphanumeric)
    });
    let sign = ["[*] ", "[+] ", "[-] ", "[!] "].iter().any(|sign| line.starts_with(sign));
    date || time || month || level || sign
}

/// Whether a line looks like nothing but source code or a patch.
pub fn is_code(line: &str) -> bool {
    let text = line.trim();
    text.ends_with(['{', '}', ';'])
        || text.ends_with("):") && !text.contains(": ")
        || text.ends_with("},")
        || text.ends_with("),")
        || text.starts_with('"') && text.ends_with("\",")
        || text.ends_with(");")
        || text.starts_with("//")
        || text.starts_with("/*")
        || text.starts_with("#include")
        || line.starts_with("@@ -")
        || line.starts_with("+++ ")
        || text.starts_with('@') && !text.contains(' ')
        || text.ends_with('(')
        || text.starts_with('#') && line.starts_with([' ', '\t'])
        || CODE.iter().any(|word| text.starts_with(word))
        || ["pass", "break", "continue", "return"].contains(&text)
        || opens_block(text)
        || assigns_or_calls(text)
}

/// Whether it begins a block in a language that has no brackets for it.
fn opens_block(text: &str) -> bool {
    let words = ["if ", "for ", "while ", "with ", "except", "elif ", "finally", "match ", "case "];
    text.ends_with(':') && words.iter().any(|word| text.starts_with(word))
}

/// Whether it is `name = …`, `name += …` or `name(…)`.
fn assigns_or_calls(text: &str) -> bool {
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"_.[]'\"".contains(&byte);
    let name = text.bytes().take_while(|byte| named(*byte)).count();
    let rest = &text[name..];
    let sets = rest.strip_prefix(' ').is_some_and(|rest| {
        rest.trim_start_matches(['+', '-', '*', '/', '|', '&', ':']).starts_with("= ")
    });
    let calls = rest.starts_with('(') && rest.ends_with([')', ',']);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && (sets || calls)
}

/// Whether at least this share of the lines looks like nothing but code, a patch or the listing of
/// a file.
pub fn is_source(text: &str, share: f64) -> bool {
    let (mut all, mut code, mut numbered) = (0, 0usize, 0usize);
    for line in lines(text).map(|span| &text[span]).filter(|line| !line.trim().is_empty()) {
        all += 1;
        code += usize::from(is_code(line));
        numbered += usize::from(is_numbered(line));
    }
    code.max(numbered) as f64 >= f64::from(all.max(1)) * share
}

/// Whether the line carries a number in front as listings of files do.
pub fn is_numbered(line: &str) -> bool {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let after = &text[digits..];
    digits > 0
        && (after.starts_with(['\t', '|', '→'])
            || after.starts_with(": ")
            || after.starts_with(":\t")
            || after == ":"
            || line.starts_with(|c: char| c.is_ascii_digit()) && after.starts_with(':'))
}

/// Whether the call reads a file, by the tool's name or its command.
pub fn reads_file(job: &DigestInput<'_>) -> bool {
    let tool = job.tool.to_ascii_lowercase();
    let named = |words: &[&str], text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| words.contains(&word))
    };
    let of_file = |word: &str| {
        ["read", "view", "open", "cat", "file", "text", "fs", "mcp", ""].contains(&word)
    };
    if named(&["read", "view", "open", "cat"], &tool) {
        return tool.split(|c: char| !c.is_ascii_alphanumeric()).all(of_file)
            || named(&["path", "file", "filename", "filepath", "uri"], job.arguments)
            || job.arguments.is_empty();
    }
    let command = job.arguments.split_once("\"command\"").map_or("", |(_, rest)| rest);
    let command = command.trim_start_matches([':', ' ', '"']);
    let last = command.rsplit("&& ").next().unwrap_or(command);
    !last.contains('|') && READERS.iter().any(|reader| last.starts_with(reader))
}

/// Whether the text is a path and nothing else.
pub fn is_path(text: &str) -> bool {
    (1..=300).contains(&text.len())
        && !text.contains([' ', '\t', ':', '"', '\'', '(', ')', '<', '>', '|', '=', ';', ',', '{'])
        && text.contains(['/', '.', '\\'])
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !text.ends_with('.')
}

/// Whether one of the words stands in the text, whatever its case and what it is the end of.
fn holds(text: &str, words: &[&str]) -> bool {
    let bytes = text.as_bytes();
    let at = |place: usize| bytes.get(place).copied().unwrap_or(b' ');
    // Where a word goes on it names something: `error_kind`, `exceptiongroup`, `error.rs`.
    let goes_on = |end: usize| match at(end) {
        b'_' | b'/' => true,
        b':' => at(end - 1) == b':',
        b'.' => at(end + 1).is_ascii_alphanumeric(),
        byte => byte.is_ascii_alphanumeric(),
    };
    // What there are none of has not happened: `0 failed`, `Failures: 0`.
    let is_none = |start: usize, end: usize| {
        let no = |sign: usize, zero: usize, other: usize| {
            at(sign) == b' ' && at(zero) == b'0' && !matches!(at(other), b'0'..=b'9' | b'.')
        };
        start > 1 && no(start - 1, start - 2, start.checked_sub(3).unwrap_or(usize::MAX))
            || at(end) == b':' && no(end + 1, end + 2, end + 3)
    };
    bytes.iter().enumerate().any(|(start, byte)| {
        let first = byte.to_ascii_lowercase();
        words.iter().any(|word| {
            let end = start + word.len();
            word.as_bytes()[0] == first
                && bytes.get(start..end).is_some_and(|b| b.eq_ignore_ascii_case(word.as_bytes()))
                && !goes_on(end)
                && !is_none(start, end)
        })
    })
}

const FAILURES: &[&str] = &[
    "error",
    "errors",
    "err",
    "fail",
    "fails",
    "failed",
    "failure",
    "failures",
    "failing",
    "panic",
    "panicked",
    "exception",
    "exceptions",
    "traceback",
    "fatal",
    "critical",
    "abort",
    "aborted",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "killed",
    "segfault",
    "segmentation fault",
    "not ok",
    "✗",
    "✘",
    "✕",
    "unresolved",
    "undefined reference",
    "cannot",
    "invalid",
    "assertion",
];

const WARNINGS: &[&str] = &["warn", "warning", "warnings"];

const PASSES: &[&str] = &["... ok", " PASSED", " passed", " ... PASS", " OK"];

/// With which such a line begins, in the words of many runners.
const PASSES_BEFORE: &[&str] = &[
    "✓",
    "✔",
    "√",
    "ok ",
    "PASS ",
    "PASSED ",
    "=== RUN ",
    "=== PAUSE ",
    "=== CONT ",
    "=== NAME ",
    "--- PASS: ",
    "--- SKIP: ",
    "[ RUN      ] ",
    "[       OK ] ",
];

const SUMMARIES: &[&str] = &[
    "test result:",
    " passed",
    " failed",
    " failures",
    "tests run:",
    "test suites:",
    "tests:",
    "errors generated",
    "warnings generated",
    "found",
    "finished in",
    "total",
    "summary",
    " warnings",
    "exit code",
    "exited with",
];

const MONTHS: &[&str] =
    &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const LEVELS: &[&str] = &[
    "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "info",
    "debug", "warn", "error", "trace",
];

const CODE: &[&str] = &[
    "fn ",
    "pub ",
    "use ",
    "let ",
    "impl ",
    "mod ",
    "def ",
    "class ",
    "import ",
    "from ",
    "const ",
    "var ",
    "function ",
    "export ",
    "return ",
    "if (",
    "for (",
    "while (",
    "elif ",
    "else:",
    "try:",
    "except ",
    "public ",
    "private ",
    "static ",
    "package ",
    "func ",
    "type ",
    "struct ",
    "enum ",
    "#define",
    "async ",
    "await ",
    "self.",
    "raise ",
    "yield ",
    "assert ",
    "\"\"\"",
    "this.",
    "case ",
    "diff --git",
];

const READERS: &[&str] =
    &["cat ", "head ", "tail ", "sed -n", "nl ", "less ", "more ", "bat ", "git show ", "git diff"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_from_passes() {
        let check = |line: &str, expected: bool| assert_eq!(fails(line), expected, "{line}");
        check("src/a.rs:3: TypeError: x is not a function", true);
        check("WARN  disk is nearly full", true);
        check("test error_is_shown ... ok", false);
        check("test error_is_shown ... FAILED", true);
        check("compiled 3 files", false);
        check("test result: ok. 12 passed; 0 failed; 0 ignored", false);
        check("test result: FAILED. 12 passed; 10 failed", true);
        check("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", false);
        check("Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", true);
        check("--- PASS: TestError (0.00s)", false);
        check("--- FAIL: TestError (0.00s)", true);
        assert!(warns("WARN disk is nearly full"));
        assert!(!warns("WARN an error came back"));
    }

    #[test]
    fn stamps_and_summaries_are_found() {
        assert!(is_stamped("2024-05-27T12:00:00Z started"));
        assert!(is_stamped("[12:00:01] started"));
        assert!(is_stamped("May 27 12:00:01 host started"));
        assert!(is_stamped("INFO: started"));
        assert!(!is_stamped("information is power"));
        assert!(sums_up("test result: FAILED. 3 passed; 1 failed"));
        assert!(sums_up("==== 12 failed, 3 passed in 2.1s ===="));
        assert!(!sums_up("nothing failed"));
        assert!(sums_up("Tests: 3 failed, 12 total"));
        assert!(!sums_up("test parser::tests::reads_2 ... ignored"));
    }

    #[test]
    fn readers_of_files_are_known_by_their_command() {
        let check = |tool: &str, arguments: &str, expected: bool| {
            let size = |text: &str| text.len() as u64;
            let job = DigestInput::new("", 0, &size).of(tool, arguments);
            assert_eq!(reads_file(&job), expected, "{tool} {arguments}");
        };
        check("read_file", r#"{"path": "a.rs"}"#, true);
        check("Bash", r#"{"command": "cd x && cat a.rs"}"#, true);
        check("bash", r#"{"command": "cat a.log | grep x"}"#, false);
        check("bash", r#"{"command": "cargo test"}"#, false);
        check("Read", r#"{"x": "go"}"#, true);
        check("mcp__fs__read_file", r#"{"x": "go"}"#, true);
        check("read_flights", r#"{"day": 3}"#, false);
    }

    #[test]
    fn colours_are_dropped() {
        assert_eq!(plain("\u{1b}[33;21mone\u{1b}[0m two"), "one two");
    }
}
