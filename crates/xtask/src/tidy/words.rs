//! Words that must not be in the tree: paths of one machine, marks of unfinished work.
//!
//! Invariant: one table; a file that needs such a word is named in the rule's `except`, so every
//! exception is a deliberate line. Called by `tidy::run`.

use super::Finding;
use super::tree::Tree;

/// This file has to spell what it looks for.
const TABLE: &str = "crates/xtask/src/tidy/words.rs";

/// Where a rule looks.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Every source file.
    Anywhere,
    /// Every source file, but of Rust only the comments: code may handle such words as data.
    Prose,
    /// Rust files only.
    Rust,
}

struct Rule {
    words: &'static [&'static str],
    place: Place,
    what: &'static str,
    /// Files that may hold the words.
    except: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        words: &["/work/", "/root/", "/home/", "/Users/", "/tmp/"],
        place: Place::Anywhere,
        what: "is a path of one machine; make it relative, or use `/srv/` in test data",
        except: &[TABLE],
    },
    Rule {
        words: &["TODO", "FIXME", "XXX"],
        place: Place::Prose,
        what: "marks unfinished work; finish it or leave it out",
        except: &[TABLE],
    },
    Rule {
        words: &["todo!(", "unimplemented!(", "#[ignore"],
        place: Place::Rust,
        what: "marks unfinished work; finish it or leave it out",
        except: &[TABLE],
    },
    Rule {
        // Whoever lifts the workspace's ban names it.
        words: &["unsafe_code"],
        place: Place::Rust,
        what: "lets a file take its own word for what the compiler cannot check; one file does",
        except: &[TABLE, "crates/epitome-seal/src/vfs.rs"],
    },
];

/// No source file holds a word that a rule forbids there.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        for rule in RULES.iter().filter(|rule| !rule.except.contains(&path)) {
            for (number, line) in (1..).zip(text.lines()) {
                let hits = rule.words.iter().filter(|word| holds(rule.looked_at(path, line), word));
                findings.extend(
                    hits.map(|word| Finding::at(path, number, format!("`{word}` {}", rule.what))),
                );
            }
        }
    }
    findings
}

impl Rule {
    /// The piece of a line that the rule looks at.
    fn looked_at<'a>(&self, path: &str, line: &'a str) -> &'a str {
        match (self.place, path.ends_with(".rs")) {
            (Place::Prose, true) => line.find("//").map_or("", |start| &line[start..]),
            (Place::Rust, false) => "",
            _ => line,
        }
    }
}

/// Whether a line holds the word as a word of its own: nothing that could be part of a longer word
/// or path stands directly before it.
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~/$}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(path: &str, line: &str, expected: &[&str]) {
        let found: Vec<String> =
            check(&Tree::of(&[(path, line)])).iter().map(Finding::to_string).collect();
        let expected: Vec<String> =
            expected.iter().map(|word| format!("{path}:1: `{word}` ")).collect();
        assert_eq!(found.len(), expected.len(), "{line}: {found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        check_line("README.md", "cd /work/app && ls /home/ada", &["/work/", "/home/"]);
        check_line("crates/a/src/lib.rs", "open(\"/tmp/a\")", &["/tmp/"]);
        check_line("crates/a/src/lib.rs", "see https://a.org/home/b, ~/tmp/, src/work/", &[]);
        check_line("crates/a/src/lib.rs", "the /workspace and $HOME/tmp/", &[]);
    }

    #[test]
    fn rust_may_handle_as_data_what_it_may_not_leave_undone() {
        check_line("crates/a/src/lib.rs", "let a = 1; // TODO: two", &["TODO"]);
        check_line("crates/a/src/lib.rs", "line.contains(\"TODO\")", &[]);
        check_line(".ci/run", "# FIXME", &["FIXME"]);
        check_line("crates/a/src/lib.rs", "todo!()", &["todo!("]);
        check_line("CONTRIBUTING.md", "no todo!() in the code", &[]);
        check_line("crates/a/src/lib.rs", "#[ignore = \"slow\"]", &["#[ignore"]);
    }

    #[test]
    fn the_table_may_spell_its_words() {
        check_line(TABLE, "// TODO todo!()", &[]);
    }
}
