//! Relative links in Markdown lead to files, and headings of pages, that exist.
//!
//! Invariant: code (fenced, or between backticks) holds no links, and addresses with a scheme are
//! not followed. Called by `tidy::run`.

use super::Finding;
use super::tree::Tree;

/// Every relative link in every Markdown file has its target.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (line, target) in links(text) {
            if !leads_somewhere(tree, path, target) {
                findings.push(Finding::at(path, line, format!("links to `{target}`, not there")));
            }
        }
    }
    findings
}

/// Whether the file that a link names is there and, if it is a page, has the heading.
fn leads_somewhere(tree: &Tree, from: &str, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some(path) = (if file.is_empty() { Some(from.to_owned()) } else { resolve(folder, file) })
    else {
        return false;
    };
    match tree.text(&path).filter(|_| path.ends_with(".md") && !heading.is_empty()) {
        Some(page) => headings(page).any(|found| found == heading),
        None => tree.holds(&path),
    }
}

/// The names by which links find the headings of a page, as GitHub makes them.
fn headings(page: &str) -> impl Iterator<Item = String> {
    let mut fenced = false;
    let lines = page.lines().filter(move |line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced && line.starts_with('#')
    });
    lines.map(|line| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// The targets of all links to files, each with its line.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            found.extend(definition(line).map(|target| (number, target)));
            // Pieces at even places stand outside of backticks; a link's text may be code, its
            // target is not, so `](` always begins the piece behind it.
            for piece in line.split('`').step_by(2) {
                found.extend(inline(piece).map(|target| (number, target)));
            }
        }
    }
    found.retain(|(_, target)| !target.contains(':'));
    found
}

/// Targets of `[text](target)` and `[text](target "title")`.
fn inline(piece: &str) -> impl Iterator<Item = &str> {
    let targets = piece.split("](").skip(1);
    targets.filter_map(|rest| rest.split([')', ' ']).next()).filter(|target| !target.is_empty())
}

/// The target of `[name]: target`.
fn definition(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix('[')?.split_once("]: ")?;
    rest.split_whitespace().next()
}

/// A link's target as a path from the top; `None` when it leads out of the tree.
pub(crate) fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()?),
            _ => steps.push(step),
        }
    }
    Some(steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_links(path: &str, text: &str, broken: &[(usize, &str)]) {
        let tree = Tree::of(&[(path, text), ("a/b.rs", ""), ("c.md", "# Top")]);
        let expected: Vec<Finding> = broken
            .iter()
            .map(|(line, target)| {
                Finding::at(path, *line, format!("links to `{target}`, not there"))
            })
            .collect();
        assert_eq!(check(&tree), expected);
    }

    #[test]
    fn targets_are_resolved_from_the_file() {
        check_links("README.md", "[a](a/b.rs) [c](./c.md#top \"t\") [d](d.md)", &[(1, "d.md")]);
        check_links("a/README.md", "\n[`b`](b.rs) [c](../c.md) [a](.)", &[]);
        check_links(
            "a/README.md",
            "[b](a/b.rs) [out](../../c.md)",
            &[(1, "a/b.rs"), (1, "../../c.md")],
        );
    }

    #[test]
    fn definitions_are_links() {
        check_links("README.md", "[c]: c.md\n[d]: d.md\n", &[(2, "d.md")]);
    }

    #[test]
    fn code_and_addresses_are_not() {
        check_links("README.md", "`[d](d.md)` [x](https://x.org) <mailto:a@b.c>", &[]);
        check_links("README.md", "```text\n[d](d.md)\n```\n[e](e.md)\n", &[(4, "e.md")]);
    }

    #[test]
    fn a_heading_that_is_named_is_there() {
        let page = "# The `run`, or so\n```sh\n# no heading\n```\n";
        check_links("README.md", &format!("{page}[a](#the-run-or-so) [b](a/b.rs#L3)"), &[]);
        check_links("README.md", &format!("{page}[a](#no-heading)"), &[(5, "#no-heading")]);
        check_links("README.md", "[c](c.md#c)", &[(1, "c.md#c")]);
    }
}
