//! What becomes of diffs: small hunks whole, long runs and generated files as counts.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write;

use epitome_digest_diffs::DiffDigester;
use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::{DigestInput, DigestOutput, check};
use proptest::prelude::*;

/// A commit of this repository, as `git show` prints it.
const COMMIT: &str = include_str!("real/commit.diff");

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

fn digest(text: &str, most: usize) -> Option<DigestOutput> {
    let job = DigestInput::new(text, most as u64, &bytes).of("bash", r#"{"command": "git diff"}"#);
    check::digest(&DiffDigester, &job).unwrap()
}

#[track_caller]
fn becomes(text: &str, most: usize, expected: &str) {
    assert_eq!(digest(text, most).map(|digested| digested.text).as_deref(), Some(expected));
}

#[track_caller]
fn holds(digested: &DigestOutput, lines: &[&str]) {
    for line in lines {
        assert!(digested.text.lines().any(|said| said == *line), "{line}: {}", digested.text);
    }
}

/// A file with these hunks.
fn file(path: &str, hunks: &[&str]) -> String {
    let header =
        format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n");
    hunks.iter().fold(header, |mut out, hunk| {
        let count = |signs: [char; 2]| hunk.lines().filter(|line| line.starts_with(signs)).count();
        let (old, new) = (count([' ', '-']), count([' ', '+']));
        writeln!(out, "@@ -1,{old} +1,{new} @@\n{hunk}").unwrap();
        out
    })
}

fn run(sign: char, lines: std::ops::Range<usize>) -> String {
    lines.map(|at| format!("{sign}    step({at});\n")).collect::<String>().trim_end().to_owned()
}

#[test]
fn a_real_commit_keeps_its_small_hunks() {
    let found = digest(COMMIT, COMMIT.len() / 2).unwrap();
    assert_eq!(found.kind, "diff");
    holds(
        &found,
        &[
            "    Show that a plugin answers the same compiled in and as a program",
            "diff --git a/Cargo.lock b/Cargo.lock [… generated: +1 -0 in 1 hunk]",
            "-    let said = without_notes(digest)?;",
            "+    let said = without_notes(text, digest)?;",
            "+                return Err(format!(\"a note is not closed on its line: `{begun}`\"));",
            "new file mode 100644",
            "+fn what_is_larger_by_the_hosts_count_is_asked_for_once_more() {",
            "[… 17 added lines]",
        ],
    );
    // What is left out can be found.
    let hidden = COMMIT.find("asked_for_once_more() {\n+").unwrap() + 30;
    assert!(found.left.iter().any(|span| span.contains(&hidden)));
}

#[test]
fn unchanged_lines_go_first_and_what_git_says_twice() {
    let text = file(
        "src/a.rs",
        &[
            " zero\n zero\n zero\n zero\n zero\n one\n two\n three\n-old\n+new\n four\n five\n six\n seven",
        ],
    );
    let head = "diff --git a/src/a.rs b/src/a.rs\n@@ -1,13 +1,13 @@";
    becomes(
        &text,
        text.len(),
        &format!(
            "[… diff of 1 file, +1 -1, 3 unchanged lines around changes]\n{head}\n one\n two\n three\n-old\n\
             +new\n four\n five\n six"
        ),
    );
    becomes(
        &text,
        140,
        &format!(
            "[… diff of 1 file, +1 -1, 1 unchanged line around changes]\n{head}\n three\n-old\n+new\n four"
        ),
    );
    becomes(
        &text,
        115,
        &format!("[… diff of 1 file, +1 -1, without unchanged lines]\n{head}\n-old\n+new"),
    );
    assert_eq!(digest(&text, 20), None);
}

#[test]
fn long_runs_keep_their_ends_and_what_is_declared_in_them() {
    let body = run('+', 0..40) + "\n+pub fn middle(a: u8) {\n" + &run('+', 40..90);
    let text = file("src/a.rs", &[&body]) + &file("src/b.rs", &["-a\n+b"]);
    let found = digest(&text, 1000).unwrap();
    holds(
        &found,
        &[
            "+    step(0);",
            "+pub fn middle(a: u8) {",
            "+    step(89);",
            "-a",
            "+b",
            "[… 40 added lines]",
        ],
    );
    let few = digest(&text, 180).unwrap();
    holds(&few, &["@@ -1,0 +1,91 @@ [… +91 -0]", "-a", "+b"]);
    let files = digest(&text, 165).unwrap();
    holds(&files, &["diff --git a/src/a.rs b/src/a.rs [… +91 -0 in 1 hunk]"]);
    let paths = digest(&text, 110).unwrap();
    holds(&paths, &["src/a.rs [… +91 -0]", "src/b.rs [… +1 -1]"]);
    let text = text + &file("src/c.rs", &["-a\n+b", "-c\n+d"]);
    let one = digest(&text, 100).unwrap();
    holds(&one, &["src/a.rs [… +91 -0]", "[… 2 parts]"]);
}

#[test]
fn lines_of_conflicts_stay_whatever_the_room() {
    let long = "<<<<<<< ".to_owned() + &"x".repeat(900);
    let conflict = format!(
        "diff --cc src/a.rs\nindex 1,2..0\n--- a/src/a.rs\n+++ b/src/a.rs\n@@@ -1,5 -1,5 +1,90 @@@\n++{long}\n{}\n++=======\n +theirs\n++>>>>>>> topic\n",
        run('+', 0..80).replace('+', " +")
    );
    let text = format!("CONFLICT (content): Merge conflict in src/a.rs\n{conflict}");
    for most in [text.len() - 1, 2000, 1400, 1150] {
        let found = digest(&text, most).unwrap();
        let marks = format!("++{long}");
        holds(
            &found,
            &[
                "CONFLICT (content): Merge conflict in src/a.rs",
                &marks,
                "++=======",
                "++>>>>>>> topic",
            ],
        );
    }
    let lock = file("Cargo.lock", &[&format!("{}\n+<<<<<<< HEAD\n+a\n+=======", run('+', 0..30))]);
    let text = lock + &file("src/a.rs", &["-a\n+b"]);
    holds(&digest(&text, 300).unwrap(), &["+<<<<<<< HEAD", "+======="]);
}

#[test]
fn files_that_nobody_wrote_are_counted_unless_they_were_asked_for() {
    let lock = file("web/package-lock.json", &[&run('+', 0..50), &run('-', 0..9)]);
    let said = file(
        "src/gen.rs",
        &[&format!("+// @generated by a tool. DO NOT EDIT.\n{}", run('+', 0..50))],
    );
    let text = format!("{lock}{said}{}", file("src/a.rs", &["-a\n+b"]));
    let found = digest(&text, text.len() / 2).unwrap();
    holds(
        &found,
        &[
            "diff --git a/web/package-lock.json b/web/package-lock.json [… generated: +50 -9 in 2 hunks]",
            "diff --git a/src/gen.rs b/src/gen.rs [… generated: +51 -0 in 1 hunk]",
            "+b",
        ],
    );
    let arguments = r#"{"command": "git diff web/package-lock.json"}"#;
    let job = DigestInput::new(&lock, 1300, &bytes).of("bash", arguments);
    let asked = check::digest(&DiffDigester, &job).unwrap().unwrap();
    holds(&asked, &["+    step(0);", "+    step(49);"]);
}

#[test]
fn plain_diffs_are_read_and_what_only_looks_like_a_header_is_none() {
    let same = " same\n".repeat(20);
    let one = format!(
        "--- a/x.sql\t2024-05-01\n+++ b/x.sql\t2024-05-01\n@@ -1,21 +1,21 @@\n{same}--- comment\n+++ comment\n"
    );
    let text = format!("{one}{}", one.replace("x.sql", "y.sql"));
    let found = digest(&text, text.len() - 1).unwrap();
    assert!(found.text.starts_with("[… diff of 2 files, +2 -2"), "{}", found.text);
    holds(
        &found,
        &[
            "--- a/y.sql\t2024-05-01",
            "+++ b/y.sql\t2024-05-01",
            "--- comment",
            "+++ comment",
            " same",
        ],
    );
}

#[test]
fn files_and_other_texts_are_left_alone() {
    let ask = |tool, arguments| {
        check::digest(&DiffDigester, &DigestInput::new(COMMIT, 6000, &bytes).of(tool, arguments))
            .unwrap()
    };
    assert_eq!(ask("Read", r#"{"file_path": "a.diff"}"#), None);
    assert_eq!(ask("bash", r#"{"command": "cat a.diff"}"#), None);
    assert!(ask("bash", r#"{"command": "git show HEAD"}"#).is_some());
    let prose = "The committee noted it.\n".repeat(100);
    for other in ["", "@@ -1 +1 @@\n", &prose, &(prose.clone() + &file("a", &["-a\n+b"]))] {
        assert_eq!(digest(other, 1000), None, "{other}");
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let mut samples = [conformance::usual(), conformance::odd()].concat();
    samples.push(ConformanceSample::new("commit", COMMIT).of("bash", r#"{"command":"git show"}"#));
    let report = conformance::check(&DiffDigester, &samples);
    assert_eq!(report.findings, []);
    assert!(report.made.iter().any(|made| made.sample == "diff"), "{:?}", report.made);
}

/// Changed lines that a digest shows or counts: added and removed ones.
fn told(digest: &str) -> [usize; 2] {
    ["added", "removed"].map(|word| {
        let sign = if word == "added" { '+' } else { '-' };
        let shown = digest.lines().filter(|line| line.starts_with(sign)).count();
        let counted = digest.lines().filter_map(|line| {
            let count = line.strip_prefix("[… ")?.split_once(&format!(" {word} line"))?.0;
            count.parse::<usize>().ok()
        });
        shown + counted.sum::<usize>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Every changed line is shown or counted where it stood.
    #[test]
    fn no_change_goes_untold(
        hunks in proptest::collection::vec(proptest::collection::vec("[ +-][a-z{(;]{0,9}", 1..60), 1..6),
        share in 40usize..95,
    ) {
        let hunks: Vec<String> = hunks.iter().map(|lines| lines.join("\n")).collect();
        let hunks: Vec<&str> = hunks.iter().map(String::as_str).collect();
        let text = file("src/a.rs", &hunks);
        let Some(found) = digest(&text, text.len() * share / 100) else { return Ok(()) };
        prop_assume!(!found.text.contains(" [… +"));
        let changed = |sign: char| {
            text.lines().skip(4).filter(|line| line.starts_with(sign)).count()
        };
        prop_assert_eq!(told(&found.text), [changed('+'), changed('-')], "{}", found.text);
    }

    #[test]
    fn no_text_is_too_odd(
        text in "((diff --git a/b b/b|@@ -1,3 \\+1,9 @@|@@@ -1 -1 \\+1 @@@|--- a|\\+\\+\\+ b|[ +\\\\-]ä?|)\n){0,40}",
        most in 0usize..300,
    ) {
        if let Some(found) = digest(&text, most) {
            prop_assert!(found.text.len() <= most);
        }
    }
}
