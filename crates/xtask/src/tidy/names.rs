//! Names of types and of constructors: each type has one of its own that says what it is.
//!
//! Invariant: what breaks a rule today is listed in `names.txt`, and that list only shrinks. Tests
//! are not looked at. Called by `tidy::run`.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::shape::{function_name, is_looked_at};
use super::sizes::without_tests;
use super::tree::Tree;

/// What is known to break a rule.
const KNOWN: &str = include_str!("names.txt");
const KNOWN_FILE: &str = "crates/xtask/src/tidy/names.txt";

/// The arguments of each verb have the same name, which clap's users expect.
const SHARED: &str = "Args";

/// Words that name a public type by themselves: everybody who reads of it knows them.
const ONE_WORD: &[&str] = &[
    "Actor",
    "Artifact",
    "Augment",
    "Budget",
    "Budgets",
    "Calibration",
    "Checkpoint",
    "Clock",
    "Compaction",
    "Comparison",
    "Compressor",
    "Config",
    "Decision",
    "Durability",
    "Edit",
    "Entry",
    "Error",
    "Event",
    "Eviction",
    "Excerpt",
    "Exchange",
    "Format",
    "Generation",
    "Goal",
    "Goals",
    "Journal",
    "Language",
    "Milestone",
    "Op",
    "Part",
    "Passage",
    "Plan",
    "Plugin",
    "Priority",
    "Profile",
    "Prompt",
    "Proxy",
    "Recording",
    "Replay",
    "Role",
    "Session",
    "Snapshot",
    "Speaker",
    "Strategy",
    "Summarizer",
    "Summary",
    "Thread",
    "Tokenizer",
    "Transcript",
    "Transport",
    "Upstreams",
    "View",
    "Vocabulary",
    "Workspace",
];

/// The macros around declarations of types.
const MACROS: [&str; 2] = ["table! {", "words! {"];

/// A type as its source declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeclaredType<'t> {
    path: &'t str,
    line: usize,
    name: &'t str,
    is_public: bool,
}

/// What breaks a rule, by the line of `names.txt` that would list it.
type Breaches = BTreeMap<String, Vec<Finding>>;

/// Names break no rule but where it is known.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    against(&breaches(tree), KNOWN)
}

/// The breaches that are not listed, and the lines that list none.
fn against(breaches: &Breaches, known: &str) -> Vec<Finding> {
    let lines = known.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let known: BTreeSet<&str> = lines.collect();
    let new = breaches.iter().filter(|(line, _)| !known.contains(line.as_str()));
    let mut findings: Vec<_> = new.flat_map(|(_, findings)| findings.clone()).collect();
    let gone = known.iter().filter(|line| !breaches.contains_key(**line));
    findings.extend(gone.map(|line| {
        let what = format!("`{line}` lists nothing any more: take the line out, or correct it");
        Finding::in_file(KNOWN_FILE, what)
    }));
    findings
}

fn breaches(tree: &Tree) -> Breaches {
    let mut types: BTreeMap<&str, Vec<DeclaredType<'_>>> = BTreeMap::new();
    let mut constructors: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    for (path, text) in tree.ending(".rs").filter(|(path, _)| is_looked_at(path)) {
        let lines = without_tests(text);
        for declared in declared(path, &lines) {
            types.entry(declared.name).or_default().push(declared);
        }
        let of = lines.iter().filter(|(_, text)| function_name(text) == Some("of"));
        let what = "`of` says nothing: begin with `new`, `from_`, `with_`, `for_`, or a verb";
        let of: Vec<_> = of.map(|(line, _)| Finding::at(path, *line, what)).collect();
        if !of.is_empty() {
            constructors.entry(crate_of(path)).or_default().extend(of);
        }
    }
    let mut breaches = Breaches::new();
    for (name, all) in types {
        if all.len() > 1 && name != SHARED {
            let what = format!("{} types are called `{name}`: name each by what it is", all.len());
            breaches.insert(format!("repeated {name}"), found(&all, &what));
        }
        let public: Vec<_> = all.iter().copied().filter(|it| it.is_public).collect();
        if !public.is_empty() && is_one_word(name) && !ONE_WORD.contains(&name) {
            let what = format!("`{name}` is one word: name a public type by two or three");
            breaches.insert(format!("one-word {name}"), found(&public, &what));
        }
    }
    for (name, findings) in constructors {
        breaches.insert(format!("of {name} {}", findings.len()), findings);
    }
    breaches
}

fn found(types: &[DeclaredType<'_>], what: &str) -> Vec<Finding> {
    types.iter().map(|it| Finding::at(it.path, it.line, what)).collect()
}

/// The crate that a file belongs to: `epitome-lab`.
fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or(path)
}

fn is_one_word(name: &str) -> bool {
    name.chars().filter(|letter| letter.is_uppercase()).count() == 1
}

/// The types that stand at the outermost level of a file, or in a macro there. One in a function is
/// its own matter, and one in an implementation is that of the trait.
fn declared<'t>(path: &'t str, lines: &[(usize, &'t str)]) -> Vec<DeclaredType<'t>> {
    let (mut found, mut indent) = (Vec::new(), "");
    for (line, text) in lines {
        match *text {
            text if MACROS.contains(&text) => indent = "    ",
            "}" => indent = "",
            text => {
                let own = text.strip_prefix(indent).and_then(type_name);
                let declared = own.map(|(name, is_public)| DeclaredType {
                    path,
                    line: *line,
                    name,
                    is_public,
                });
                found.extend(declared);
            }
        }
    }
    found
}

/// The name of the type that a line declares, and whether everybody may use it.
fn type_name(line: &str) -> Option<(&str, bool)> {
    let is_public = line.starts_with("pub ");
    let rest = match line.strip_prefix("pub(") {
        Some(scoped) => scoped.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some((&name[..end], is_public))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tree: &Tree, known: &str) -> Vec<String> {
        against(&breaches(tree), known).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn types_are_found_where_they_are_declared() {
        let text = "pub struct Plan;\npub(crate) enum How {\n    A,\n}\ntype Map<T> = Vec<T>;\n\
                    table! {\n    /// It.\n    pub struct Answer {\n        Type = \"type\",\n    }\n}\n\
                    impl A for B {\n    type Error = u8;\n}\nfn f() {\n    struct Local;\n}\n";
        let lines: Vec<_> = (1..).zip(text.lines()).collect();
        let found: Vec<_> =
            declared("a.rs", &lines).iter().map(|it| (it.name, it.line, it.is_public)).collect();
        let expected =
            [("Plan", 1, true), ("How", 2, false), ("Map", 5, false), ("Answer", 8, true)];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!((found.0, found.2), (expected.0, expected.2));
        }
    }

    #[test]
    fn a_name_occurs_once_and_says_what_it_is() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "pub struct Part;\npub struct Whole;\nstruct Args;\n"),
            ("crates/b/src/lib.rs", "struct Part;\nstruct Args;\nstruct Inner;\n"),
            ("crates/b/tests/a.rs", "struct Part;\npub struct Other;\n"),
        ]);
        let whole =
            "crates/a/src/lib.rs:2: `Whole` is one word: name a public type by two or three";
        let part = |path: &str| {
            format!(
                "crates/{path}/src/lib.rs:1: 2 types are called `Part`: name each by what it is"
            )
        };
        assert_eq!(told(&tree, ""), [whole.to_owned(), part("a"), part("b")]);
        assert_eq!(told(&tree, "# Known.\none-word Whole\nrepeated Part\n"), [""; 0]);
    }

    #[test]
    fn constructors_are_counted_and_the_count_only_falls() {
        let text = "impl A {\n    pub fn of(a: u8) -> Self {\n    }\n    fn off() {}\n}\n";
        let tree = Tree::of(&[("crates/a/src/lib.rs", text)]);
        assert_eq!(told(&tree, "of a 1\n"), [""; 0]);
        let found = told(&tree, "of a 2\n");
        assert!(found[0].starts_with("crates/a/src/lib.rs:2: `of` says nothing"), "{found:?}");
        assert!(found[1].contains("`of a 2` lists nothing any more"), "{found:?}");
    }
}
