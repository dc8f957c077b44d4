//! The shape of functions and structs: how long, how many parameters, how many fields.
//!
//! Invariant: what exceeds a limit is named here, or counted here, and both only shrink. Tests are
//! not looked at. Called by `tidy::run`.
//!
//! The source is read as text. rustfmt guarantees what that rests on: an item ends with a brace at
//! its own indentation.

use super::Finding;
use super::sizes::without_tests;
use super::tree::Tree;

/// The most lines of a function, its signature among them.
const LINES: usize = 80;
/// The most parameters of a function beside `self`.
const PARAMETERS: usize = 5;
/// The most fields of a struct.
const FIELDS: usize = 12;

/// Structs that have more fields.
const WIDE: usize = 0;
/// Plain tables of data, which may: what is in them is read as one list. At most five.
const TABLES: [&str; 4] =
    ["CompressOptions", "CompressionReport", "ProfileToml", "SelectionWeights"];
/// Parameters that are tuples: a struct would name what is in them.
const TUPLES: usize = 0;

/// A function as its source has it.
#[derive(Debug, PartialEq, Eq)]
struct Function<'t> {
    name: &'t str,
    /// Where it begins, counted from 1.
    line: usize,
    lines: usize,
    parameters: Vec<String>,
}

/// No function is larger than it may be, and no more structs are than are known here.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut tuples, mut wide) = (Vec::new(), Vec::new());
    for (path, text) in tree.ending(".rs").filter(|(path, _)| is_looked_at(path)) {
        let lines = without_tests(text);
        for function in functions(&lines) {
            findings.extend(excess(&function).map(|what| Finding::at(path, function.line, what)));
            let tuple = function.parameters.iter().any(|one| one.starts_with('('));
            tuples.extend(tuple.then(|| (path, function.line, function.name.to_owned())));
        }
        wide.extend(structs(&lines).into_iter().map(|(line, name)| (path, line, name)));
    }
    findings.extend(counted(&tuples, TUPLES, "TUPLES", "a parameter is a tuple: name its parts"));
    let wide = beside_tables(wide, &mut findings);
    findings.extend(counted(&wide, WIDE, "WIDE", "has more than 12 fields: group them"));
    findings
}

/// The wide structs that are no table, and what to say of tables that are not wide.
fn beside_tables<'t>(
    wide: Vec<(&'t str, usize, String)>,
    findings: &mut Vec<Finding>,
) -> Vec<(&'t str, usize, String)> {
    let is_wide = |table: &str| wide.iter().any(|(_, _, name)| name == table);
    let stale = TABLES.into_iter().filter(|table| !is_wide(table));
    let what = |table| format!("`{table}` is not wide: take it out of `TABLES`");
    findings
        .extend(stale.map(|table| Finding::in_file("crates/xtask/src/tidy/shape.rs", what(table))));
    wide.into_iter().filter(|(_, _, name)| !TABLES.contains(&&**name)).collect()
}

/// Code that users get; what only builds and tests it is left out.
pub(super) fn is_looked_at(path: &str) -> bool {
    let apart = ["crates/xtask/", "crates/epitome-testkit/", "crates/epitome-upstream/"];
    let is_test =
        path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs");
    (path.starts_with("crates/") || path.starts_with("plugins/"))
        && !is_test
        && !apart.iter().any(|apart| path.starts_with(apart))
}

fn excess(function: &Function<'_>) -> Option<String> {
    let Function { name, lines, parameters, .. } = function;
    let count = parameters.len();
    if *lines > LINES {
        return Some(format!("`{name}` has {lines} lines, at most {LINES}: part it into steps"));
    }
    let what = format!("`{name}` has {count} parameters, at most {PARAMETERS}: pass a struct");
    (count > PARAMETERS).then_some(what)
}

/// What exceeds a number of known cases, or tells that there are fewer by now.
fn counted(found: &[(&str, usize, String)], known: usize, limit: &str, what: &str) -> Vec<Finding> {
    if found.len() < known {
        let what = format!("`{limit}` can fall from {known} to {}", found.len());
        return vec![Finding::in_file("crates/xtask/src/tidy/shape.rs", what)];
    }
    let all = found.iter().filter(|_| found.len() > known);
    let what =
        |name: &str| format!("`{name}`: {what} ({} of these, {known} are known)", found.len());
    all.map(|(path, line, name)| Finding::at(path, *line, what(name))).collect()
}

fn functions<'t>(lines: &[(usize, &'t str)]) -> Vec<Function<'t>> {
    let mut found = Vec::new();
    for (at, (line, text)) in lines.iter().enumerate() {
        let Some(name) = function_name(text) else { continue };
        let rest = &lines[at..];
        let signature: String = rest.iter().take(40).map(|(_, text)| format!("{text}\n")).collect();
        let behind_name = signature.find(name).unwrap_or(0) + name.len();
        let parameters = parameters(&signature[behind_name..]);
        found.push(Function { name, line: *line, lines: length(rest), parameters });
    }
    found
}

/// How many of these lines the function has that begins with the first of them.
fn length(lines: &[(usize, &str)]) -> usize {
    let first = lines[0].1;
    if first.ends_with([';', '}']) {
        return 1;
    }
    let indent = indent(first);
    let ends = |text: &str| {
        let own = text.strip_prefix(indent).unwrap_or_default();
        own == "}" || own.starts_with([')', '{']) && own.ends_with([';', '}'])
    };
    let more = lines[1..].iter().position(|(_, text)| ends(text));
    more.map_or(lines.len(), |more| more + 2)
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The name of the function that a line begins.
pub(super) fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub(") {
        rest = public.split_once(") ")?.1;
    }
    for word in ["pub ", "const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&name[..end])
}

/// The parameters of a function but for `self`, from behind its name on.
fn parameters(text: &str) -> Vec<String> {
    let (mut depth, mut generics, mut before) = (0, 0, ' ');
    let (mut parts, mut part) = (Vec::new(), String::new());
    for c in text.chars() {
        match c {
            '<' if depth == 0 => generics += 1,
            '>' if depth == 0 && !matches!(before, '-' | '=') => generics -= 1,
            '(' if depth == 0 && generics == 0 => depth = 1,
            _ if depth == 0 => {}
            ')' if depth == 1 => break,
            ',' if depth == 1 => parts.push(std::mem::take(&mut part)),
            _ => {
                depth += i32::from("([{<".contains(c));
                depth -= i32::from(")]}".contains(c) || c == '>' && !matches!(before, '-' | '='));
                part.push(c);
            }
        }
        before = c;
    }
    parts.push(part);
    let is_own = |part: &String| part.split(':').next().is_some_and(|it| it.ends_with("self"));
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty() && !is_own(part)).collect()
}

/// The structs with too many fields.
fn structs(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, (line, text)) in lines.iter().enumerate() {
        let Some((before, rest)) = text.split_once("struct ") else { continue };
        let is_item = before.trim().is_empty() || before.trim().starts_with("pub");
        if !is_item || !text.ends_with('{') {
            continue;
        }
        let indent = indent(text);
        let (end, field) = (format!("{indent}}}"), format!("{indent}    "));
        let body = lines[at..].iter().skip(1).take_while(|(_, text)| *text != end);
        let is_field = |text: &str| {
            let own = text.strip_prefix(&field).filter(|own| !own.starts_with([' ', '/', '#']));
            own.is_some_and(|own| own.contains(": "))
        };
        if body.filter(|(_, text)| is_field(text)).count() > FIELDS {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            found.push((*line, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &str) -> Vec<(usize, &str)> {
        (1..).zip(text.lines()).collect()
    }

    #[test]
    fn functions_are_measured() {
        let text = "impl A {\n    /// Says so.\n    pub(crate) async fn one<F: Fn(u8) -> u8>(\n        \
                    &mut self,\n        (a, b): (u8, u8),\n        c: Map<u8, (u8, u8)>,\n    ) -> u8 {\n        \
                    let x = |y| {\n            y\n        };\n    }\n\n    fn two(self) {}\n    fn three(a: &str);\n}\n";
        let lines = numbered(text);
        let found = functions(&lines);
        let told: Vec<_> = found.iter().map(|it| (it.name, it.line, it.lines)).collect();
        assert_eq!(told, [("one", 3, 9), ("two", 13, 1), ("three", 14, 1)]);
        assert_eq!(found[0].parameters, ["(a, b): (u8, u8)", "c: Map<u8, (u8, u8)>"]);
        assert_eq!((found[1].parameters.len(), &*found[2].parameters[0]), (0, "a: &str"));
    }

    #[test]
    fn long_functions_and_wide_structs_are_found() {
        let long = format!("fn long() {{\n{}}}\n", "    go();\n".repeat(LINES));
        let tree = Tree::of(&[("crates/a/src/lib.rs", &long)]);
        let found: Vec<_> = check(&tree).iter().map(Finding::to_string).collect();
        let said = "crates/a/src/lib.rs:1: `long` has 82 lines, at most 80: part it into steps";
        assert!(found.contains(&said.to_owned()), "{found:?}");
        let fields =
            (0..13).fold(String::new(), |all, at| format!("{all}    /// It.\n    a{at}: u8,\n"));
        let wide = format!("pub struct Wide {{\n{fields}}}\nstruct Fine(u8);\n");
        assert_eq!(structs(&numbered(&wide)), [(1, "Wide".to_owned())]);
        let test = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", long.replace('\n', "\n    "));
        assert_eq!(functions(&without_tests(&test)), []);
    }
}
