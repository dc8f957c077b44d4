//! What stands where: names at the top, inherited manifest keys, a doc at the head of each file.
//!
//! Invariant: the lists below are the whole rule; a new name at the top is one line here. Called by
//! `tidy::run`.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::Tree;

/// Names that must stand at the top.
const REQUIRED: &[&str] = &[
    ".ci",
    ".gitignore",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "crates",
    "tests",
];

/// Names that may stand there too.
const ALLOWED: &[&str] =
    &[".cargo", ".gitattributes", "clippy.toml", "examples", "plugins", "policies", "rustfmt.toml"];

/// Lines that every package's manifest has under `[package]`.
const INHERITED: &[&str] = &["edition.workspace = true", "license.workspace = true"];

/// The top level holds what it must and nothing that is not on the lists.
pub(crate) fn names(tree: &Tree) -> Vec<Finding> {
    let found: BTreeSet<&str> =
        tree.files().map(|(path, _)| path.split_once('/').map_or(path, |(top, _)| top)).collect();
    let missing = REQUIRED
        .iter()
        .filter(|name| !found.contains(*name))
        .map(|name| Finding::in_file(name, "is missing at the top level"));
    let strange = found
        .iter()
        .filter(|name| !REQUIRED.contains(name) && !ALLOWED.contains(name))
        .map(|name| Finding::in_file(name, "does not belong at the top level; move or ignore it"));
    missing.chain(strange).collect()
}

/// Every package of the workspace takes licence, edition and lints from it.
pub(crate) fn manifests(tree: &Tree) -> Vec<Finding> {
    let inherits = |text: &str, section: &str, key: &str| {
        let mut current = "";
        text.lines().map(str::trim).any(|line| {
            if line.starts_with('[') {
                current = line;
            }
            current == section && line == key
        })
    };
    let mut findings = Vec::new();
    let own = |text: &str| text.lines().any(|line| line.trim() == "[workspace]");
    for (path, text) in tree.ending("/Cargo.toml").filter(|(_, text)| !own(text)) {
        for key in INHERITED {
            if !inherits(text, "[package]", key) {
                findings.push(Finding::in_file(path, format!("lacks `{key}` in `[package]`")));
            }
        }
        if !inherits(text, "[lints]", "workspace = true") {
            findings.push(Finding::in_file(path, "lacks `workspace = true` in `[lints]`"));
        }
    }
    findings
}

/// Every Rust file begins by saying what it is.
pub(crate) fn module_docs(tree: &Tree) -> Vec<Finding> {
    let bare = tree.ending(".rs").filter(|(_, text)| !text.starts_with("//! "));
    bare.map(|(path, _)| Finding::at(path, 1, "does not begin with a `//!` doc of the file"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], expected: &[&str]) {
        let found: Vec<String> = check(&Tree::of(files)).iter().map(Finding::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn missing_and_strange_names_are_told_apart() {
        let mut files: Vec<(&str, &str)> = REQUIRED.iter().map(|name| (*name, "")).collect();
        check(names, &files, &[]);
        files.retain(|(name, _)| *name != "README.md");
        files.extend([("notes.txt", ""), ("policies/team/policy.lua", ""), ("src/lib.rs", "")]);
        check(
            names,
            &files,
            &[
                "README.md: is missing at the top level",
                "notes.txt: does not belong at the top level; move or ignore it",
                "src: does not belong at the top level; move or ignore it",
            ],
        );
    }

    #[test]
    fn a_key_counts_only_in_its_section() {
        let whole = "[package]\nedition.workspace = true\nlicense.workspace = true\n\n[lints]\n\
                     workspace = true\n";
        check(manifests, &[("crates/a/Cargo.toml", whole), ("Cargo.toml", "[workspace]")], &[]);
        let astray = "[package]\nlicense.workspace = true\n[badges]\nedition.workspace = true\n\
                      workspace = true\n";
        check(
            manifests,
            &[("tests/it/Cargo.toml", astray)],
            &[
                "tests/it/Cargo.toml: lacks `edition.workspace = true` in `[package]`",
                "tests/it/Cargo.toml: lacks `workspace = true` in `[lints]`",
            ],
        );
    }

    #[test]
    fn a_comment_is_no_module_doc() {
        let files = [
            ("crates/a/benches/a.rs", "//! Measures a.\n"),
            ("crates/a/src/b.rs", "// b\n"),
            ("crates/a/src/c.rs", "\n//! Late.\n"),
            ("crates/a/src/d.txt", "data"),
        ];
        check(
            module_docs,
            &files,
            &[
                "crates/a/src/b.rs:1: does not begin with a `//!` doc of the file",
                "crates/a/src/c.rs:1: does not begin with a `//!` doc of the file",
            ],
        );
    }
}
