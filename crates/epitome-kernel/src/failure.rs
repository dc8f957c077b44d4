//! What says that a tool failed stays in whatever stands in the place of its result (RULES 15).
//!
//! Invariant: a line that is told is one of the output, as it came. Called wherever a text is put in the
//! place of a result.

use std::borrow::Cow;

use epitome_types::{PartBody, PartId, failing_lines};

use crate::Thread;

impl Thread {
    /// Whether the tool of a part reported an error.
    pub fn is_error(&self, part: PartId) -> bool {
        let outer = self.part(part).and_then(|inner| inner.within);
        let outer = outer.map_or(part, |outer| PartId { part: outer, ..part });
        let body = self.part(outer).map(|outer| &outer.body);
        matches!(body, Some(PartBody::Result(result)) if result.error)
    }

    /// The lines of a result that say that its tool failed, the one that says most first; none of
    /// another part.
    pub fn failing_lines(&self, part: PartId) -> Vec<&str> {
        let Some(body) = self.part(part) else { return Vec::new() };
        let is_result = matches!(body.body, PartBody::Result(_)) || body.within.is_some();
        let text = body.text().filter(|_| is_result);
        text.map_or_else(Vec::new, |text| failing_lines(text, self.is_error(part)))
    }

    /// A text for a part: as it is, unless the part is a result that failed and the text holds no line
    /// that says so. Then the first of those lines stands before it.
    pub fn with_failure<'w>(&self, part: PartId, with: &'w str) -> Cow<'w, str> {
        let said = self.failing_lines(part);
        match said.first() {
            Some(first) if !said.iter().any(|line| with.contains(line)) => {
                Cow::Owned(format!("{first}\n{with}"))
            }
            _ => Cow::Borrowed(with),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use epitome_testkit::chat;
    use epitome_types::{CallFailure, EntryId, failed_calls};

    use super::*;

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
        assert_eq!(thread.with_failure(part, with), expected);
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
        fails("make: *** [Makefile:3: all] Error 2", "make: *** [Makefile:3: all] Error 2");
        fails("HTTP/1.1 503 Service Unavailable", "HTTP/1.1 503 Service Unavailable");
        fails("Killed", "Killed");
        let many = "Found 3 matches of the string to replace, but replace_all is false.";
        fails(many, many);
        fails("<returncode>1</returncode>", "<returncode>1</returncode>");
        fails(r#"{"id": 7, "success": false}"#, r#"{"id": 7, "success": false}"#);
        // Of a long line the end is shown where only that says so.
        let end = r#"","metadata":{"exit_code":1}}"#;
        let output = format!("{{\"output\":\"{}{end}", "x ".repeat(300));
        fails(&output, output[output.len() - 200..].trim_start());
        fails("thread 'main' panicked at src/a.rs:1:2", "thread 'main' panicked at src/a.rs:1:2");
    }

    #[test]
    fn a_call_is_told_with_what_came_of_it() {
        let chat = chat().user("Run them.").call("a", "{}").call("b", "{}");
        let chat = chat.user_result("All passed.").user_result_blocks("Done.\nerror: no port");
        let chat = chat.call("a", "{}").user_result("Process exited with code 3");
        let entries = chat.call("b", "{}").entries();
        let call = |entry, part| PartId { entry: EntryId(entry), part };
        let failed = [(call(1, 1), "error: no port"), (call(3, 0), "Process exited with code 3")];
        let failed = failed.map(|(at, line)| (at, CallFailure { line, is_error: false }));
        assert_eq!(failed_calls(&entries), BTreeMap::from(failed));
    }

    #[test]
    fn what_a_tool_reads_may_speak_of_errors() {
        let check = |tool: &str, result: &str, expected: Option<&str>| {
            let entries = chat().user("Go.").call(tool, "{}").result(result).entries();
            let failed = failed_calls(&entries);
            assert_eq!(failed.values().next().map(|it| it.line), expected, "{tool}: {result}");
        };
        let text = "const colours = {\n  error: red,\n}\nerror: red";
        check("read_file", text, None);
        check("bash", text, Some("error: red,"));
        check("read_file", "error: no such file\n", Some("error: no such file"));
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
            "HTTP/1.1 200 OK",
            "<returncode>0</returncode>",
            r#"{"error":null,"success":true}"#,
            "Killed 3 processes",
        ] {
            check(text, false, "Ok.", "Ok.");
        }
    }
}
