//! `cargo xtask tidy`: the rules of the house that no compiler checks.
//!
//! Invariant: a check is a pure function of the tree and the dependency graph, so each is tested on
//! a few strings; only [`run`] looks at the disk. Called by `main` and, on the real tree, by the
//! test below.

use std::fmt;

mod arrows;
mod citations;
mod layout;
mod links;
mod modules;
mod names;
mod shape;
mod shown_by;
mod sizes;
mod tree;
mod words;

use arrows::Graph;
use tree::Tree;

/// Every check that needs the tree alone.
const CHECKS: &[fn(&Tree) -> Vec<Finding>] = &[
    layout::names,
    layout::manifests,
    layout::module_docs,
    sizes::check,
    shape::check,
    names::check,
    words::check,
    links::check,
    shown_by::check,
    citations::check,
    modules::check,
];

/// One breach of a rule: where it is, what it is, what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, relative to the top.
    path: String,
    /// The line, counted from 1; `None` when it concerns the file as a whole.
    line: Option<usize>,
    what: String,
}

impl Finding {
    fn in_file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// Checks the workspace that the current folder belongs to; findings in order of their place.
///
/// # Errors
///
/// When the tree or cargo's metadata cannot be read.
pub(crate) fn run() -> anyhow::Result<Vec<Finding>> {
    let (graph, root) = Graph::read()?;
    let tree = Tree::read(&root)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    findings.extend(arrows::check(&graph));
    findings.extend(arrows::check_map(&graph, &tree));
    findings.sort();
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let findings: Vec<String> = run().unwrap().iter().map(Finding::to_string).collect();
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }

    #[test]
    fn a_finding_points_at_its_line() {
        assert_eq!(Finding::at("a.rs", 7, "is late").to_string(), "a.rs:7: is late");
        assert_eq!(Finding::in_file("a.rs", "is late").to_string(), "a.rs: is late");
    }
}
