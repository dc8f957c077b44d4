//! What test runners, compilers and interpreters print about one failure: its heading, its trace.
//!
//! Invariant: a report is a run of lines that ends where its printer begins something else; no
//! report is longer than [`LONGEST`]. Called by the reader of logs.

use std::ops::Range;

use epitome_plugin::text::shape;

/// A report has at most so many lines.
const LONGEST: usize = 200;

/// How a printer begins and ends a report.
struct Printer {
    /// Whether a report begins with the line at this place.
    opens: fn(&[&str], usize) -> bool,
    /// Whether the report that began at the first place is over before the line at the second.
    ends: fn(&[&str], usize, usize) -> bool,
}

/// The first whose report begins at a line is its printer.
const PRINTERS: &[Printer] = &[
    // cargo test.
    Printer {
        opens: |lines, at| is_between(lines[at], "---- ", " ----"),
        ends: |lines, _, at| {
            lines[at].starts_with("---- ")
                || lines[at] == "failures:"
                || lines[at].starts_with("test result:")
        },
    },
    // pytest.
    Printer {
        opens: |lines, at| is_between(lines[at], "___", "___"),
        ends: |lines, _, at| {
            is_between(lines[at], "___", "___") || is_between(lines[at], "====", "====")
        },
    },
    // unittest of Python.
    Printer {
        opens: |lines, at| {
            at > 0
                && is_drawn(lines[at - 1], '=')
                && (lines[at].starts_with("FAIL: ") || lines[at].starts_with("ERROR: "))
        },
        ends: |lines, _, at| is_drawn(lines[at], '=') || lines[at].starts_with("Ran "),
    },
    // Jest.
    Printer {
        opens: |lines, at| lines[at].trim_start().starts_with("● "),
        ends: |lines, _, at| {
            let line = lines[at].trim_start();
            line.starts_with("● ") || is_suite(lines[at]) || shape::passes(line)
        },
    },
    // Vitest.
    Printer {
        opens: |lines, at| lines[at].trim_start().starts_with("FAIL ") && lines[at].contains(" > "),
        ends: |lines, _, at| {
            let line = lines[at].trim_start();
            line.starts_with("FAIL ") || line.starts_with("⎯⎯") || is_suite(line)
        },
    },
    // Mocha and RSpec.
    Printer {
        opens: |lines, at| lines[at].starts_with(' ') && is_listed(lines[at].trim_start()),
        ends: |lines, start, at| {
            let line = lines[at];
            !line.is_empty() && depth(line) <= depth(lines[start])
                || shape::passes(line)
                || line.starts_with("Finished in")
        },
    },
    // go test: what was logged stands before the verdict with `-v`, behind it without.
    Printer {
        opens: |lines, at| lines[at].trim_start().starts_with("--- FAIL: "),
        ends: |lines, start, at| depth(lines[at]) <= depth(lines[start]),
    },
    // cargo nextest.
    Printer {
        opens: |lines, at| lines[at].trim_start().starts_with("--- STD"),
        ends: |lines, _, at| {
            let line = lines[at].trim_start();
            ["--- STD", "PASS [", "FAIL [", "SKIP [", "SLOW [", "Summary [", "────"]
                .iter()
                .any(|start| line.starts_with(start))
        },
    },
    // TAP.
    Printer {
        opens: |lines, at| lines[at].trim_start().starts_with("not ok "),
        ends: |lines, start, at| depth(lines[at]) <= depth(lines[start]),
    },
    // Tracebacks of Python, and those that they were the cause of.
    Printer {
        opens: |lines, at| lines[at].trim_end().ends_with("Traceback (most recent call last):"),
        ends: |lines, start, at| {
            let (before, line) = (lines[at - 1], lines[at]);
            let over = |line: &str| !line.is_empty() && depth(line) <= depth(lines[start]);
            let goes_on = |line: &str| {
                line.contains(" exception") && line.ends_with(':') || line.contains("Traceback (")
            };
            // The line behind the frames says what was raised.
            at > start + 1 && over(before) && !goes_on(before) && !line.is_empty() && !goes_on(line)
        },
    },
    // Panics of Rust.
    Printer {
        opens: |lines, at| lines[at].contains("' panicked at "),
        ends: |lines, start, at| {
            lines[at].is_empty()
                || depth(lines[at]) < depth(lines[start])
                || lines[at - 1].trim_start().starts_with("note: ")
                || shape::is_stamped(lines[at])
        },
    },
    // Panics of Go.
    Printer {
        opens: |lines, at| lines[at].starts_with("panic: "),
        ends: |lines, _, at| lines[at].starts_with("FAIL") || lines[at].starts_with("exit status"),
    },
    // rustc: an error with the place that it is about.
    Printer {
        opens: |lines, at| {
            lines[at].starts_with("error")
                && lines.get(at + 1).is_some_and(|line| line.trim_start().starts_with("--> "))
        },
        ends: |lines, _, at| lines[at].is_empty(),
    },
    // Java, JavaScript and .NET: a message with frames below it.
    Printer {
        opens: |lines, at| {
            !is_frame(lines[at])
                && !lines[at].is_empty()
                && lines.get(at + 1).is_some_and(|line| is_frame(line))
        },
        ends: |lines, _, at| {
            let line = lines[at].trim_start();
            !is_frame(lines[at]) && !line.starts_with("Caused by") && !line.starts_with("... ")
        },
    },
];

/// The reports among the lines of a text, in order.
pub(crate) fn find(lines: &[&str]) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(printer) = PRINTERS.iter().find(|printer| (printer.opens)(lines, at)) else {
            at += 1;
            continue;
        };
        let most = lines.len().min(at + LONGEST);
        let mut end = (at + 1..most).find(|next| (printer.ends)(lines, at, *next)).unwrap_or(most);
        while end > at + 1 && lines[end - 1].is_empty() {
            end -= 1;
        }
        let floor = out.last().map_or(0, |last| last.end);
        out.push(start(lines, at, floor)..end);
        at = end;
    }
    out
}

/// Where a report begins whose heading stands here: before it what a failing test in Go logged.
fn start(lines: &[&str], heading: usize, floor: usize) -> usize {
    if !lines[heading].trim_start().starts_with("--- FAIL: ") {
        return heading;
    }
    let logged = |line: &&&str| {
        depth(line) > depth(lines[heading]) && !shape::passes(line) && !line.is_empty()
    };
    heading - lines[floor..heading].iter().rev().take_while(logged).count()
}

/// How far a line is set in; an empty one stands as deep as can be.
fn depth(line: &str) -> usize {
    match line.trim_start() {
        "" => usize::MAX,
        text => line.len() - text.len(),
    }
}

/// Whether a line begins and ends so, with words between.
fn is_between(line: &str, start: &str, end: &str) -> bool {
    let inner = line.trim_end().strip_prefix(start).and_then(|line| line.strip_suffix(end));
    inner.is_some_and(|inner| inner.contains(char::is_alphanumeric))
}

/// Whether a line is drawn with one sign.
fn is_drawn(line: &str, sign: char) -> bool {
    line.len() >= 20 && line.chars().all(|c| c == sign)
}

/// Whether a line begins with a number in a list: `1) `.
fn is_listed(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits) && line[digits..].starts_with(") ")
}

/// Whether a line is about all tests of a file, or of all files.
fn is_suite(line: &str) -> bool {
    ["PASS ", "FAIL ", "Test Suites:", "Tests:", "Test Files ", "Ran all test suites"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Whether a line is a frame of a stack.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    text.len() < line.len() && text.starts_with("at ") && text.contains(['(', ':', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reports of a text whose lines are marked with `|` where they are part of one.
    fn check(marked: &str) {
        let lines: Vec<&str> =
            marked.lines().map(|line| line.strip_prefix('|').unwrap_or(line)).collect();
        let wanted: Vec<bool> = marked.lines().map(|line| line.starts_with('|')).collect();
        let reports = find(&lines);
        let found: Vec<bool> =
            (0..lines.len()).map(|at| reports.iter().any(|report| report.contains(&at))).collect();
        assert_eq!(found, wanted, "{reports:?}\n{marked}");
    }

    #[test]
    fn a_report_ends_where_something_else_begins() {
        check("test a ... FAILED\n|---- a stdout ----\n|\n|left: 1\n\nfailures:\n    a");
        check(
            "=== FAILURES ===\n|____ test_a ____\n|E  no\n|____ test_b ____\n|E  no\n==== 2 failed ====",
        );
        check("|  ● a › b\n|\n|    at x (y.js:1:2)\n\nTest Suites: 1 failed");
        check("=== RUN   TestA\n|    a_test.go:3: no\n|--- FAIL: TestA (0.00s)\n|    more\nFAIL");
        check(
            "INFO a\n|java.lang.E: no\n|\tat a.B(C.java:1)\n|Caused by: x\n|\t... 3 more\nINFO b",
        );
        check("|error[E0308]: no\n|  --> a.rs:1:2\n|   |\n\nwarning: b");
        check("|not ok 1 - a\n|  ---\n|  at: b\n|  ...\nok 2 - b");
    }

    #[test]
    fn a_traceback_goes_on_with_what_it_caused() {
        check(
            "INFO a\n|Traceback (most recent call last):\n|  File \"a\", line 1\n|    b()\n|E: no\n\
             |\n|During handling of the above exception, another exception occurred:\n|\n\
             |Traceback (most recent call last):\n|  File \"a\", line 2\n|F: no\nINFO b",
        );
    }

    #[test]
    fn no_report_is_longer_than_the_longest() {
        let text = "panic: no\n".to_owned() + &"goroutine\n".repeat(500);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(find(&lines), std::iter::once(0..LONGEST).collect::<Vec<_>>());
    }
}
