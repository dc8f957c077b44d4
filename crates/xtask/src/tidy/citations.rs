//! Citations of rules: each leads to a line of the kernel's RULES.md, and each rule is cited.
//!
//! Invariant: a citation is `RULES` with numbers behind it (`RULES 4`, `RULES 4, 6 and 9`,
//! `RULES 101 to 107`), also across lines of a comment; documents that this repository does not
//! hold are cited nowhere. Called by `tidy::run`.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::Tree;

/// Where the rules stand, one an item: `- **RULES 4** …`.
const DOCUMENT: &str = "crates/epitome-kernel/RULES.md";
/// How a rule begins there.
const ITEM: &str = "- **RULES ";
/// What begins a citation.
const NAME: &str = "RULES";
/// Names of documents and lists that no reader of this repository can look up.
const FORBIDDEN: &[&str] =
    &["SPEC", "HOUSE", "PERF", "PAIN", "hazard", "hazards", "Hazard", "Hazards"];
/// This file has to spell what it looks for.
const OWN: &str = "crates/xtask/src/tidy/citations.rs";
/// What stands before the words of a comment's line.
const COMMENTS: &[&str] = &["///", "//!", "//", "---", "--", "#"];

/// Every citation leads to a rule, every rule is cited.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rules: BTreeMap<u32, usize> = BTreeMap::new();
    for (line, number) in defined(tree.text(DOCUMENT).unwrap_or_default()) {
        if rules.insert(number, line).is_some() {
            findings.push(Finding::at(DOCUMENT, line, format!("`RULES {number}` stands twice")));
        }
    }
    let mut cited = BTreeSet::new();
    for (path, text) in tree.files().filter(|(path, _)| *path != OWN) {
        let words = words(text);
        for (line, what) in forbidden(&words) {
            let what =
                format!("`{what}` cannot be looked up: cite {DOCUMENT}, or say what it says");
            findings.push(Finding::at(path, line, what));
        }
        for (line, number) in citations(&words) {
            if !rules.contains_key(&number) {
                let what = format!("`RULES {number}` is not in {DOCUMENT}");
                findings.push(Finding::at(path, line, what));
            }
            if path != DOCUMENT {
                cited.insert(number);
            }
        }
    }
    for (number, line) in rules.iter().filter(|(number, _)| !cited.contains(number)) {
        let what = format!("nobody cites `RULES {number}`: take it out");
        findings.push(Finding::at(DOCUMENT, *line, what));
    }
    findings
}

/// The rules of the document: the line and the number of each.
fn defined(document: &str) -> impl Iterator<Item = (usize, u32)> {
    let items = (1..).zip(document.lines());
    items.filter_map(|(line, text)| Some((line, number(text.strip_prefix(ITEM)?)?.0)))
}

/// The words of a text, each with its line, without what makes a line a comment.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let marker = COMMENTS.iter().find_map(|marker| line.strip_prefix(marker));
        words.extend(marker.unwrap_or(line).split_whitespace().map(|word| (number, word)));
    }
    words
}

/// Names that may not be cited, where a number follows.
fn forbidden(words: &[(usize, &str)]) -> Vec<(usize, String)> {
    let pairs = words.iter().zip(words.iter().skip(1));
    let cites = pairs.filter(|((_, word), (_, next))| {
        FORBIDDEN.iter().any(|name| is_named(word, name)) && number(next).is_some()
    });
    cites.map(|((line, word), (_, next))| (*line, format!("{word} {next}"))).collect()
}

/// Every number that is cited, each with the line of its `RULES`.
fn citations(words: &[(usize, &str)]) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    for (at, (line, word)) in words.iter().enumerate() {
        if is_named(word, NAME) {
            let rest = words[at + 1..].iter().map(|(_, word)| *word);
            found.extend(listed(rest).into_iter().map(|number| (*line, number)));
        }
    }
    found
}

/// Whether a word is a name, with whatever brackets and quotes before it.
fn is_named(word: &str, name: &str) -> bool {
    word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_') == name
}

/// The numbers at the head of these words, as a list (`4, 6 and 9`) or from one `to` another.
fn listed<'t>(words: impl Iterator<Item = &'t str>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut from = None;
    for word in words {
        if matches!(word, "and" | "to") && !found.is_empty() {
            from = found.last().copied().filter(|_| word == "to");
            continue;
        }
        let Some((number, rest)) = number(word) else { break };
        match from.take() {
            Some(from) => found.extend(from + 1..=number),
            None => found.push(number),
        }
        if !matches!(rest, "" | ",") {
            break;
        }
    }
    found
}

/// The number that a word begins with, and what stands behind it.
fn number(word: &str) -> Option<(u32, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    Some((word[..end].parse().ok()?, &word[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, expected: &[&str]) {
        let rules = "# Rules\n\n- **RULES 1** One.\n- **RULES 2** Two,\n  as RULES 1 says.\n- **RULES 3** Three.\n";
        let all = "//! RULES 1 to 3\n";
        let tree = Tree::of(&[(DOCUMENT, rules), ("all.rs", all), (path, text)]);
        let found: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn citations_lead_to_rules() {
        check_text("a.rs", "/// So it is (RULES 1, 2 and 3), or RULES 1: \"so\".\n", &[]);
        check_text(
            "a.lua",
            "--- (RULES 1,\n--- 4)",
            &["a.lua:1: `RULES 4` is not in crates/epitome-kernel/RULES.md"],
        );
        check_text("a.rs", "const RULES: &[u8] = &[9];\nRULES.iter()", &[]);
        let missing =
            |number| format!("a.md:1: `RULES {number}` is not in crates/epitome-kernel/RULES.md");
        check_text("a.md", "`RULES 2 to 5`", &[&*missing(4), &*missing(5)]);
    }

    #[test]
    fn what_nobody_can_look_up_is_not_cited() {
        let said = |line, cited| {
            format!(
                "a.rs:{line}: `{cited}` cannot be looked up: cite {DOCUMENT}, or say what it says"
            )
        };
        check_text("a.rs", "// (SPEC 2.4)", &[&*said(1, "(SPEC 2.4)")]);
        check_text("a.rs", "/// It is so (hazards\n/// 2 and 3).", &[&*said(1, "(hazards 2")]);
        check_text("a.rs", "Violation { hazard: 7 } // a hazard, 7 of them", &[]);
        check_text(OWN, "HOUSE 3", &[]);
    }

    #[test]
    fn a_rule_is_cited_and_stands_once() {
        let rules = "- **RULES 1** One.\n- **RULES 1** Again.\n- **RULES 2** As RULES 2.\n";
        let tree = Tree::of(&[(DOCUMENT, rules), ("a.rs", "// RULES 1")]);
        let found: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        let expected = [
            "crates/epitome-kernel/RULES.md:2: `RULES 1` stands twice",
            "crates/epitome-kernel/RULES.md:3: nobody cites `RULES 2`: take it out",
        ];
        assert_eq!(found, expected);
    }
}
