//! What becomes of source code: its outline where nobody edits it, and nothing where somebody may.
#![allow(clippy::unwrap_used, reason = "a test")]

use epitome_digest_source::SourceDigester;
use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::{DigestInput, DigestOutput, check};
use proptest::prelude::*;

/// Code of this repository.
const RUST: &str = include_str!("../src/outline.rs");
/// The same kinds of lines in other languages.
const PYTHON: &str = include_str!("real/queue.py");
const GO: &str = include_str!("real/queue.go");
const TYPESCRIPT: &str = include_str!("real/queue.ts");
const JAVA: &str = include_str!("real/Queue.java");
const C: &str = include_str!("real/queue.c");

/// About what a text takes of a model's window.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

fn ask(text: &str, part: u64, tool: &str, arguments: &str) -> Option<DigestOutput> {
    let job = DigestInput::new(text, tokens(text) / part, &tokens).of(tool, arguments);
    check::digest(&SourceDigester, &job).unwrap()
}

fn fetched(text: &str, part: u64) -> Option<DigestOutput> {
    ask(text, part, "web_fetch", r#"{"url": "https://code.example/queue"}"#)
}

#[track_caller]
fn holds(digested: &DigestOutput, lines: &[&str]) {
    for line in lines {
        assert!(digested.text.lines().any(|said| said == *line), "{line}: {}", digested.text);
    }
}

#[test]
fn the_outline_of_rust_holds_its_signatures_and_documents() {
    let found = fetched(RUST, 2).unwrap();
    assert_eq!(found.kind, "source");
    assert!(tokens(&found.text) * 2 <= tokens(RUST));
    holds(
        &found,
        &[
            "//! Ranks the lines of source code.",
            "use epitome_plugin::{DigestInput, DigestOutput};",
            "pub(crate) const WHOLE: u64 = 1500;",
            "pub(crate) fn digest(job: &DigestInput<'_>) -> Option<DigestOutput> {",
            "/// What a line is by itself.",
            "fn of_line(line: &str, asked: &QueryWords) -> u32 {",
            "mod tests {",
            "    fn what_was_asked_for_is_shown_with_its_neighbours() {",
        ],
    );
    let body = RUST.find("let near = &mut ranks").unwrap();
    assert!(found.left.iter().any(|span| span.contains(&body)), "what is left out can be found");
}

#[test]
fn other_languages_have_outlines_too() {
    let check = |text: &str, lines: &[&str]| holds(&fetched(text, 2).unwrap(), lines);
    check(
        PYTHON,
        &[
            "import threading",
            "class Queue:",
            "    \"\"\"Jobs in the order in which they came.\"\"\"",
            "    def take(self, timeout=None):",
            "                raise QueueClosed(self.name)",
            "        # TODO: drop jobs that are too old",
        ],
    );
    check(
        GO,
        &[
            "package queue",
            "type Queue struct {",
            "// Put adds a job, and wakes one who waits.",
            "func (q *Queue) Take(ctx context.Context) (Job, error) {",
            "\t\tpanic(\"queue: closed twice\")",
        ],
    );
    check(
        TYPESCRIPT,
        &[
            "import { Clock } from \"./clock\";",
            "export interface Job {",
            "export class Queue<T extends Job> {",
            "  async take(timeout?: number): Promise<T> {",
            "      throw new QueueClosed(this.name);",
            "export const openQueue = (name: string): Queue<Job> => {",
        ],
    );
    check(
        JAVA,
        &[
            "import java.util.ArrayDeque;",
            "public final class Queue<T> {",
            "    public synchronized T take(long timeout)",
            "            throws InterruptedException {",
            "     * Adds a job, and wakes one who waits.",
        ],
    );
    check(
        C,
        &[
            "#include \"queue.h\"",
            "struct queue {",
            "static int grow(struct queue *q, size_t most)",
            "int queue_put(struct queue *q,",
            "              const struct job *job)",
            "    /* FIXME: never shrinks */",
        ],
    );
}

#[test]
fn what_the_call_asked_for_is_shown() {
    let arguments =
        r#"{"url": "https://code.example/queue.py", "prompt": "how is backoff computed"}"#;
    let found = ask(PYTHON, 3, "web_fetch", arguments).unwrap();
    holds(&found, &["        backoff = min(self.most, self.least * 2 ** self.tries)"]);
}

#[test]
fn code_that_may_be_edited_is_left_alone() {
    for (tool, arguments) in [
        ("Read", r#"{"file_path": "src/queue.py"}"#),
        ("read_file", r#"{"path": "src/queue.py"}"#),
        ("view", r#"{"path": "src/queue.py", "view_range": [1, 80]}"#),
        ("bash", r#"{"command": "cat src/queue.py"}"#),
        ("bash", r#"{"command": "sed -n 1,80p src/queue.py"}"#),
        ("bash", r#"{"command": "git show HEAD:src/queue.py"}"#),
        ("find_symbol", r#"{"relative_path": "src/queue.py", "name": "Queue"}"#),
    ] {
        assert_eq!(ask(PYTHON, 2, tool, arguments), None, "{tool} {arguments}");
    }
    assert!(ask(PYTHON, 2, "bash", r#"{"command": "curl -s https://x.org/queue.py"}"#).is_some());
}

#[test]
fn other_texts_are_left_alone() {
    let prose = "The committee noted that the budget was revised.\n".repeat(60);
    let log = "2024-05-01 10:00:00 INFO worker 3 took 7 ms\n".repeat(60);
    for other in ["", &prose, &log, "one line"] {
        assert_eq!(fetched(other, 2), None, "{other}");
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let mut samples = [conformance::usual(), conformance::odd()].concat();
    let code = [("rust", RUST), ("python", PYTHON), ("go", GO), ("java", JAVA), ("c", C)];
    for (name, text) in code {
        samples
            .push(ConformanceSample::new(name, text).of("web_fetch", r#"{"url":"https://x.org"}"#));
    }
    let report = conformance::check(&SourceDigester, &samples);
    assert_eq!(report.findings, []);
    assert!(report.made.iter().any(|made| made.sample == "rust"), "{:?}", report.made);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A shown line is the code's own, in its order.
    #[test]
    fn lines_stay_as_they_are_written(
        lines in proptest::collection::vec(
            "( {0,3}|\t)(TODO g|fn a\\(\\) \\{|\\}|// b|let c = d;|\"\"\"ä|class E:|#\\[f\\]|\\(|\\))?", 0..80),
        part in 1u64..9,
    ) {
        let text = lines.join("\n");
        if let Some(found) = fetched(&text, part) {
            let mut own = text.lines();
            for line in found.text.lines().filter(|line| !line.starts_with("[… ")) {
                prop_assert!(own.any(|other| other == line), "{line} in {text}");
            }
        }
    }
}
