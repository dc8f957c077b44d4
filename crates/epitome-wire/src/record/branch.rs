//! Which lines of a recording are its conversation: those on the way from its newest line up.
//!
//! Invariant: a line whose parent is unknown follows the line before it, so that a gap in a file
//! never costs what stands before the gap. Called by the readers whose lines name their parents.

use std::collections::{BTreeMap, BTreeSet};

/// What a line says of the one it follows.
pub(super) enum Parent {
    /// None: a conversation begins here.
    Root,
    /// The line with this id.
    Line(String),
    /// Nothing: it follows the line before it.
    Before,
}

/// The lines of a file as a tree.
#[derive(Default)]
pub(super) struct BranchTree {
    /// Each line's parent, and the line that stood before it.
    parents: BTreeMap<String, (Parent, Option<String>)>,
    tip: Option<String>,
}

impl BranchTree {
    /// Adds the next line; a line that was already there is passed over.
    pub(super) fn add(&mut self, id: &str, parent: Parent) {
        if !self.parents.contains_key(id) {
            let before = self.tip.replace(id.to_owned());
            self.parents.insert(id.to_owned(), (parent, before));
        }
    }

    /// The ids on the way from the last line up to its root.
    pub(super) fn branch(&self) -> BTreeSet<&str> {
        let mut branch = BTreeSet::new();
        let mut next = self.tip.as_deref();
        while let Some((id, (parent, before))) = next.and_then(|id| self.parents.get_key_value(id))
        {
            if !branch.insert(id.as_str()) {
                break;
            }
            next = match parent {
                Parent::Root => None,
                Parent::Line(parent) if self.parents.contains_key(parent) => Some(parent),
                Parent::Line(_) | Parent::Before => before.as_deref(),
            };
        }
        branch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `id:parent`; `id:` is a root, `id` alone names no parent.
    #[track_caller]
    fn check(lines: &str, expected: &str) {
        let mut tree = BranchTree::default();
        for line in lines.split(' ') {
            match line.split_once(':') {
                None => tree.add(line, Parent::Before),
                Some((id, "")) => tree.add(id, Parent::Root),
                Some((id, parent)) => tree.add(id, Parent::Line(parent.to_owned())),
            }
        }
        assert_eq!(tree.branch().into_iter().collect::<Vec<_>>().join(""), expected);
    }

    #[test]
    fn the_newest_line_leads_up_to_its_root() {
        check("a: b:a c:b", "abc");
        check("a: b:a c:a", "ac");
        check("a: b:a c: d:c", "cd");
        check("a b c", "abc");
        check("a: b:a c:gone d:c", "abcd");
        check("a: b:a a:b", "ab");
        check("a:b b:a", "ab");
        check("a:a", "a");
    }
}
