//! Sizes, with limits that are read out of ARCHITECTURE.md.
//!
//! Invariant: no limit is written here; the document says `SUBJECT stays under N lines`, and that
//! sentence is the rule. Called by `tidy::run`.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

/// The document that states the limits.
const DOCUMENT: &str = "ARCHITECTURE.md";
/// What joins a limit's subject to its figure.
const PHRASE: &str = " stays under ";
/// The subject that stands for each file on its own.
const EVERY_FILE: &str = "Every Rust file";
/// Subjects the document must state a limit for.
const STATED: &[&str] = &[EVERY_FILE, "`epitome-kernel`"];

/// Every subject with a limit in the document is smaller than it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let limits = limits(tree.text(DOCUMENT).unwrap_or_default());
    let mut findings = Vec::new();
    for subject in STATED.iter().filter(|subject| !limits.contains_key(**subject)) {
        let sentence = format!("lacks the sentence `{subject}{PHRASE}N lines`");
        findings.push(Finding::in_file(DOCUMENT, sentence));
    }
    for (subject, most) in limits {
        if subject == EVERY_FILE {
            findings.extend(files(tree, most));
        } else {
            findings.extend(code(tree, subject.trim_matches('`'), most));
        }
    }
    findings
}

fn files(tree: &Tree, most: usize) -> impl Iterator<Item = Finding> {
    let sized = tree.ending(".rs").map(|(path, text)| (path, text.lines().count()));
    sized.filter(move |(_, lines)| *lines >= most).map(move |(path, lines)| {
        Finding::in_file(path, format!("has {lines} lines, must stay under {most}; split it"))
    })
}

fn code(tree: &Tree, name: &str, most: usize) -> Option<Finding> {
    let folder = format!("crates/{name}");
    let sources = format!("{folder}/src/");
    let lines: usize = tree
        .ending(".rs")
        .filter(|(path, _)| path.starts_with(&sources) && !path.ends_with("/tests.rs"))
        .map(|(_, text)| without_tests(text).len())
        .sum();
    let what = match lines {
        0 => format!("has a limit in {DOCUMENT} but no code"),
        _ if lines >= most => format!("has {lines} lines without tests, must stay under {most}"),
        _ => return None,
    };
    Some(Finding::in_file(&folder, what))
}

/// The limits that a document states: subject and figure of each `SUBJECT stays under N lines`
/// that opens a line or a list item.
fn limits(document: &str) -> BTreeMap<&str, usize> {
    let sentence = |line: &str| -> Option<(usize, usize)> {
        let (subject, rest) = line.split_once(PHRASE)?;
        let (figure, _) = rest.split_once(" lines")?;
        Some((subject.len(), figure.replace(',', "").parse().ok()?))
    };
    let items = document.lines().map(|line| line.trim_start_matches("- "));
    items.filter_map(|line| sentence(line).map(|(end, most)| (&line[..end], most))).collect()
}

/// The lines of a file, each with its number, without the items marked `#[cfg(test)]` at its
/// outermost level. The end of such an item is known by its indentation, which rustfmt guarantees.
pub(super) fn without_tests(text: &str) -> Vec<(usize, &str)> {
    let mut left = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if line != "#[cfg(test)]" {
            left.push((number, line));
            continue;
        }
        let item = lines.by_ref().find(|(_, line)| !line.starts_with("#["));
        if item.is_some_and(|(_, item)| item.ends_with('{')) {
            lines.by_ref().find(|(_, line)| *line == "}");
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "# Sizes\n- `epitome-kernel` stays under 4 lines without tests.\n- Every Rust file stays \
         under 1,000 lines.\n";

    fn check_sizes(files: &[(&str, &str)], expected: &[&str]) {
        let found: Vec<String> = check(&Tree::of(files)).iter().map(Finding::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_document_states_the_limits() {
        let expected = BTreeMap::from([("Every Rust file", 1000), ("`epitome-kernel`", 4)]);
        assert_eq!(limits(LIMITS), expected);
        assert_eq!(limits("The tent stays under a tree.\n"), BTreeMap::new());
        check_sizes(
            &[("ARCHITECTURE.md", "Small is good.")],
            &[
                "ARCHITECTURE.md: lacks the sentence `Every Rust file stays under N lines`",
                "ARCHITECTURE.md: lacks the sentence `\u{60}epitome-kernel\u{60} stays under N lines`",
            ],
        );
    }

    #[test]
    fn a_crate_is_measured_without_its_tests() {
        let tested = "//! A.\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let within = [
            ("ARCHITECTURE.md", LIMITS),
            ("crates/epitome-kernel/src/a.rs", tested),
            ("crates/epitome-kernel/src/a/tests.rs", "1\n2\n3\n4\n5\n"),
            ("crates/epitome-kernel/benches/a.rs", "1\n2\n3\n4\n5\n"),
        ];
        check_sizes(&within, &[]);
        let mut over = within.to_vec();
        over.push(("crates/epitome-kernel/src/b.rs", "//! B.\n"));
        check_sizes(
            &over,
            &["crates/epitome-kernel: has 4 lines without tests, must stay under 4"],
        );
        check_sizes(
            &within[..1],
            &["crates/epitome-kernel: has a limit in ARCHITECTURE.md but no code"],
        );
    }

    #[test]
    fn a_file_at_its_limit_is_too_long() {
        let (fits, long) = ("//\n".repeat(999), "//\n".repeat(1000));
        let kernel = ("crates/epitome-kernel/src/lib.rs", "//! K.\n");
        let document = ("ARCHITECTURE.md", LIMITS);
        check_sizes(&[document, kernel, ("tests/it/main.rs", &fits)], &[]);
        check_sizes(
            &[document, kernel, ("tests/it/main.rs", &long)],
            &["tests/it/main.rs: has 1000 lines, must stay under 1000; split it"],
        );
    }

    #[test]
    fn only_outermost_test_items_are_left_out() {
        for (text, lines) in [
            ("a\n#[cfg(test)]\nmod tests;\nb\n", 2),
            ("a\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    {\n    }\n}\nb\n", 2),
            ("impl A {\n    #[cfg(test)]\n    fn b() {}\n}\n", 4),
            ("#[cfg(test)]\nmod tests {\n", 0),
        ] {
            assert_eq!(without_tests(text).len(), lines, "{text}");
        }
    }
}
