//! Tests that a page names: each is in the file that the link before it leads to; and the rows of
//! `policies/ROWS.md`, each of which says how it stands and names its test.
//!
//! Invariant: a test is named in code right behind a link to a `.lua` or `.rs` file, as in
//! ``[plan](ollm/tests/plan.lua) `test_it` ``. Whether the file is there is the business of `links`.
//! Called by `tidy::run`.

use std::collections::BTreeMap;

use super::Finding;
use super::links::resolve;
use super::tree::Tree;

/// The page that goes through the shipped policies row by row.
const ROWS: &str = "policies/ROWS.md";
/// The page that shows its counts.
const README: &str = "policies/README.md";
/// How a row may stand; the first two have a test.
const STATES: [&str; 3] = ["works", "differs", "missing"];

/// Every test that a page names is there; the rows are whole and counted.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in (1..).zip(text.lines()) {
            for (target, test) in tests(line) {
                let file = resolve(folder, target).and_then(|path| tree.text(&path));
                if file.is_some_and(|file| !has_test(file, target, test)) {
                    let what = format!("names the test `{test}`, not in `{target}`");
                    findings.push(Finding::at(path, number, what));
                }
            }
        }
    }
    if let Some(rows) = tree.text(ROWS) {
        findings.extend(check_rows(rows));
        let counts = rows.lines().filter(|line| line.contains("](#"));
        let counts = counts.map(|line| line.replace("](#", "](ROWS.md#"));
        let shown = tree.text(README).unwrap_or_default();
        for line in counts.filter(|line| !shown.lines().any(|other| other == line)) {
            findings.push(Finding::in_file(README, format!("lacks the line `{line}` of {ROWS}")));
        }
    }
    findings
}

/// The tests that a line names, each with the target of the link before it.
fn tests(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split("](").skip(1).filter_map(|rest| {
        let (target, rest) = rest.split_once(')')?;
        let (test, _) = rest.strip_prefix(" `")?.split_once('`')?;
        let is_code = target.ends_with(".lua") || target.ends_with(".rs");
        is_code.then_some((target, test))
    })
}

/// Whether a file has a test of this name.
fn has_test(file: &str, target: &str, test: &str) -> bool {
    let is_lua = target.ends_with(".lua");
    let begins = if is_lua { format!("{test} = function(") } else { format!("fn {test}(") };
    let mut lines = file.lines().map(str::trim_start);
    lines.any(|line| line.strip_prefix("async ").unwrap_or(line).starts_with(&begins))
}

/// Each row says how it stands, names its test unless it is missing, and is counted in the first
/// table: a line for each policy, in the order of [`STATES`].
fn check_rows(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut policy, mut told, mut found) = ("", BTreeMap::new(), BTreeMap::new());
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(heading) = line.strip_prefix("## ") {
            policy = heading.trim_matches('`');
            found.insert(policy, [0; 3]);
        }
        let Some(row) = line.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            continue;
        };
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let &[first, state, third, fourth] = &cells[..] else { continue };
        if policy.is_empty() {
            let counts = [state, third, fourth].map(|cell| cell.parse().unwrap_or_default());
            let name = first.split('`').nth(1);
            told.extend(name.map(|name| (name, counts)));
        } else if let Some(at) = STATES.iter().position(|word| *word == state) {
            found.entry(policy).or_default()[at] += 1;
            if at < 2 && tests(line).next().is_none() {
                findings.push(Finding::at(ROWS, number, "names no test"));
            }
        }
    }
    for (policy, counts) in &found {
        if told.get(policy) != Some(counts) {
            let what = format!("`{policy}` has {counts:?} rows that are {STATES:?}; say so above");
            findings.push(Finding::in_file(ROWS, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_files(files: &[(&str, &str)], expected: &[&str]) {
        let findings: Vec<_> = check(&Tree::of(files)).iter().map(Finding::to_string).collect();
        assert_eq!(findings, expected);
    }

    #[test]
    fn a_test_that_is_named_is_there() {
        let lua = ("p/a/t.lua", "return {\n  test_it = function(t)\n  end,\n}");
        let rust = ("t/b.rs", "#[test]\nasync fn it_is() {}");
        let page = "[a](a/t.lua) `test_it`<br>[b](../t/b.rs) `it_is`, [b](../t/b.rs) `let x`";
        let broken = "\n[a](a/t.lua) `test_i` [b](../t/b.rs) `is`";
        let fine = page.replace(" `let x`", ": `let x`");
        check_files(&[lua, rust, ("p/R.md", &fine)], &[]);
        check_files(
            &[lua, rust, ("p/R.md", broken)],
            &[
                "p/R.md:2: names the test `test_i`, not in `a/t.lua`",
                "p/R.md:2: names the test `is`, not in `../t/b.rs`",
            ],
        );
    }

    #[test]
    fn rows_are_counted_and_name_their_tests() {
        let rust = ("t/b.rs", "fn it_is() {}");
        let rows = "| what | | why | shown by |\n| --- | --- | --- | --- |\n\
                    | a | works | | [b](../t/b.rs) `it_is` |\n| c | missing | so | |\n";
        let page = |counts: &str, more: &str| {
            format!("| policy | w | d | m |\n| [`x`](#x) | {counts} |\n\n## `x`\n\n{rows}{more}")
        };
        let readme = (README, "| [`x`](ROWS.md#x) | 1 | 0 | 1 |");
        check_files(&[rust, readme, (ROWS, &page("1 | 0 | 1", ""))], &[]);
        let lacks = "policies/README.md: lacks the line `| [`x`](ROWS.md#x) | 1 | 0 | 1 |` of \
                     policies/ROWS.md";
        check_files(&[rust, (ROWS, &page("1 | 0 | 1", ""))], &[lacks]);
        check_files(
            &[rust, readme, (ROWS, &page("1 | 0 | 1", "| d | differs | so | a test |\n"))],
            &[
                "policies/ROWS.md:10: names no test",
                "policies/ROWS.md: `x` has [1, 1, 1] rows that are \
                 [\"works\", \"differs\", \"missing\"]; say so above",
            ],
        );
    }
}
