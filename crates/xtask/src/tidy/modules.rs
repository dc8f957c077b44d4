//! The arrows between the modules of a crate: none runs back up.
//!
//! Invariant: an arrow `a → b` between siblings of one folder runs back up where `b`, or what it
//! uses, uses `a`, and a crate has none of these. Tests are not looked at; what a module passes on
//! (`pub use`) is an arrow of whoever uses it. Called by `tidy::run`.
//!
//! The source is read as text: `use` items, and paths that begin with `crate`, `super` or `self`.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::sizes::without_tests;
use super::tree::Tree;

/// A module: the names on the way to it from its crate, which has none.
type Module = Vec<String>;
/// Arrows between siblings of a folder, by the module that the folder belongs to.
type Arrows = BTreeMap<Module, BTreeSet<(String, String)>>;

/// No arrow runs back up.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Sources> = BTreeMap::new();
    for (path, text) in tree.ending(".rs") {
        let Some((folder, file)) = path.split_once("/src/") else { continue };
        let is_test = file.ends_with("tests.rs") || file.contains("tests/");
        if folder.starts_with("crates/") && !is_test && !file.starts_with("bin/") {
            let text = code(text);
            crates.entry(folder).or_default().0.insert(module(file), text);
        }
    }
    let of_crate = |(folder, sources): (&&str, &Sources)| -> Vec<Finding> {
        sources.back().iter().map(|arrow| said(folder, arrow)).collect()
    };
    crates.iter().flat_map(of_crate).collect()
}

/// What is said of an arrow of a crate that runs back up.
fn said(folder: &str, (parent, from, to): &(Module, String, String)) -> Finding {
    let place: String = parent.iter().map(|name| format!("{name}::")).collect();
    let what = format!(
        "`{place}{from}` uses `{place}{to}`, which uses it: move what both need to where both may \
         use it"
    );
    Finding::in_file(folder, what)
}

/// The code of a crate's modules, without comments and tests.
#[derive(Default)]
struct Sources(BTreeMap<Module, String>);

impl Sources {
    /// The arrows that run back up: the folder's module, and both ends.
    fn back(&self) -> Vec<(Module, String, String)> {
        let mut found = Vec::new();
        for (parent, arrows) in self.arrows() {
            let up = arrows.iter().filter(|(from, to)| reaches(&arrows, to, from));
            found.extend(up.map(|(from, to)| (parent.clone(), from.clone(), to.clone())));
        }
        found
    }

    fn arrows(&self) -> Arrows {
        let passed_on = self.passed_on();
        let mut arrows = Arrows::new();
        for (from, text) in &self.0 {
            for path in paths(&without_passed_on(text)) {
                let Some(to) = self.target(from, &path, &passed_on) else { continue };
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                    let folder = arrows.entry(from[..shared].to_vec()).or_default();
                    folder.insert((a.clone(), b.clone()));
                }
            }
        }
        arrows
    }

    /// What modules pass on: the module and the name under which it is found there, with the module
    /// that it comes from.
    fn passed_on(&self) -> BTreeMap<(Module, String), Module> {
        let mut found = BTreeMap::new();
        // What is passed on may have been passed on before.
        for _ in 0..3 {
            let before = found.clone();
            for (at, text) in &self.0 {
                for item in uses(text).filter(|item| item.public) {
                    for path in expanded(item.tree) {
                        let Some(name) = path.last().cloned() else { continue };
                        if let Some(from) = self.target(at, &path, &before) {
                            found.insert((at.clone(), name), from);
                        }
                    }
                }
            }
        }
        found
    }

    /// The module that a path leads to from a module, as far as it leads to one of this crate.
    fn target(
        &self,
        from: &Module,
        path: &[String],
        passed_on: &BTreeMap<(Module, String), Module>,
    ) -> Option<Module> {
        let mut rest = path;
        let mut at = from.clone();
        match rest.first().map(String::as_str)? {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            first if self.0.contains_key(&below(from, first)) => {}
            _ => return None,
        }
        for name in rest {
            let inner = below(&at, name);
            match passed_on.get(&(at.clone(), name.clone())) {
                _ if self.0.contains_key(&inner) => at = inner,
                Some(origin) => return Some(origin.clone()),
                None => break,
            }
        }
        Some(at)
    }
}

fn below(module: &Module, name: &str) -> Module {
    let mut inner = module.clone();
    inner.push(name.to_owned());
    inner
}

/// Whether one sibling leads to another, by whatever is between them.
fn reaches(arrows: &BTreeSet<(String, String)>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        let next = arrows.iter().filter(|(user, _)| user == at).map(|(_, used)| used.as_str());
        open.extend(next.filter(|next| seen.insert(next)));
    }
    false
}

/// The module that a file below `src` is.
fn module(file: &str) -> Module {
    let mut names: Module =
        file.trim_end_matches(".rs").split('/').map(ToOwned::to_owned).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// A file's code without tests and comments.
fn code(text: &str) -> String {
    let lines = without_tests(text).into_iter();
    let bare = lines.map(|(_, line)| line.split("//").next().unwrap_or_default());
    bare.fold(String::new(), |all, line| format!("{all}{line}\n"))
}

/// A `use` item.
struct UseItem<'t> {
    public: bool,
    /// What stands between `use` and `;`.
    tree: &'t str,
    /// Where it begins and ends in the text.
    range: std::ops::Range<usize>,
}

fn uses(text: &str) -> impl Iterator<Item = UseItem<'_>> {
    text.match_indices("use ").filter_map(|(at, _)| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = text[line..at].trim();
        let opens = before.is_empty() || before.starts_with("pub");
        let end = at + text[at..].find(';')?;
        let tree = &text[at + "use ".len()..end];
        opens.then_some(UseItem { public: !before.is_empty(), tree, range: line..end + 1 })
    })
}

/// A text without the items that pass something on.
fn without_passed_on(text: &str) -> String {
    let (mut left, mut end) = (String::new(), 0);
    for item in uses(text).filter(|item| item.public) {
        left += &text[end..item.range.start];
        end = item.range.end;
    }
    left + &text[end..]
}

/// Every path of a text: those of its `use` items, and those that begin at a module by name.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = uses(text).flat_map(|item| expanded(item.tree)).collect();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let longer = text[..at].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = text[at..].find(|c| !is_path(c)).map_or(text.len(), |end| at + end);
            if !longer {
                found.push(names(&text[at..end]));
            }
        }
    }
    found
}

/// The names of a path.
fn names(path: &str) -> Vec<String> {
    let path = path.split(" as ").next().unwrap_or_default();
    path.split("::").map(str::trim).filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect()
}

/// Every path of a tree like `a::{b, c::{d, e}}`.
fn expanded(tree: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let (mut depth, mut part) = (0, String::new());
    for c in tree.chars().chain([',']) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c != ',' || depth > 0 {
            part.push(c);
            continue;
        }
        let one = std::mem::take(&mut part);
        match one.split_once('{') {
            Some((head, inner)) => {
                let head = names(head);
                let inner = inner.trim_end().trim_end_matches('}');
                let paths = expanded(inner).into_iter();
                found.extend(paths.map(|path| [head.clone(), path].concat()));
            }
            None => found.push(names(&one)),
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_crate(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found: Vec<_> = check(&Tree::of(&files)).iter().map(Finding::to_string).collect();
        let found: Vec<_> = found
            .iter()
            .filter_map(|it| it.strip_prefix("crates/a: ")?.split(',').next())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn arrows_in_a_ring_run_back_up() {
        let lib = ("lib.rs", "mod one;\nmod two;\nmod three;\npub use two::Two;\n");
        let down = ("one.rs", "use crate::Two;\n");
        check_crate(&[lib, down, ("two.rs", "pub struct Two;\n"), ("three.rs", "")], &[]);
        check_crate(
            &[
                lib,
                down,
                ("two.rs", "fn it() { crate::three::it() }"),
                ("three.rs", "use super::one;\n"),
            ],
            &["`one` uses `two`", "`three` uses `one`", "`two` uses `three`"],
        );
    }

    #[test]
    fn siblings_of_a_folder_are_looked_at_for_themselves() {
        let lib = ("lib.rs", "mod a;\nmod b;\n");
        let inner = ("a/mod.rs", "mod one;\nmod two;\nuse one::It;\n");
        check_crate(
            &[
                lib,
                inner,
                ("a/one.rs", "use super::two::{self, It as Its};\n"),
                ("a/two.rs", "use crate::{b, a::one::It};\n"),
                ("b.rs", ""),
            ],
            &["`a::one` uses `a::two`", "`a::two` uses `a::one`"],
        );
    }

    #[test]
    fn tests_and_comments_have_no_arrows() {
        let test = "// use crate::b;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n";
        check_crate(&[("lib.rs", ""), ("a.rs", test), ("b.rs", "use crate::a;\n")], &[]);
    }

    #[test]
    fn a_tree_of_names_is_taken_apart() {
        let found: Vec<_> =
            expanded("a::{b, c::{d as x, e},\n f}").iter().map(|it| it.join("::")).collect();
        assert_eq!(found, ["a::b", "a::c::d", "a::c::e", "a::f"]);
    }
}
