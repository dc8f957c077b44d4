//! What lines of source code do, told by their shape: declare, import, explain.
//!
//! Invariant: no language is parsed; each question is answered by one look at the line, and code
//! that is laid out as its language's formatter does answers as a reader would. Called by plugins.

/// Words in front of what a line declares.
const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "const",
    "constexpr",
    "declare",
    "default",
    "explicit",
    "export",
    "extern",
    "final",
    "friend",
    "inline",
    "internal",
    "open",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "sealed",
    "static",
    "synchronized",
    "unsafe",
    "virtual",
];
/// Words that declare wherever they stand.
const KEYWORDS: &[&str] = &[
    "class",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "impl",
    "interface",
    "macro_rules!",
    "mod",
    "module",
    "namespace",
    "object",
    "package",
    "record",
    "struct",
    "trait",
    "typedef",
    "union",
];
/// Words that declare at the margin, and elsewhere only set something.
const VALUES: &[&str] = &["const", "let", "static", "type", "using", "val", "var"];
/// Words that a call or a signature does not begin with.
const CONTROL: &[&str] = &[
    "assert", "await", "case", "catch", "do", "elif", "else", "except", "for", "foreach", "if",
    "let", "lock", "loop", "match", "new", "print", "raise", "return", "switch", "throw", "try",
    "while", "with", "yield",
];
/// Words that tell of something unfinished, or of the end of a program.
const ODD: &[&str] = &[
    "FIXME",
    "TODO",
    "XXX",
    "HACK",
    "panic!",
    "panic(",
    "todo!",
    "unimplemented!",
    "unreachable!",
    "raise ",
    "throw ",
];

/// The line without the number that a listing puts in front of it.
#[must_use]
pub fn unnumbered(line: &str) -> &str {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &text[digits..];
    let cut = ["\t", "→", "|", ": ", ":\t"].iter().find_map(|sign| behind.strip_prefix(sign));
    cut.filter(|_| digits > 0).unwrap_or(line)
}

/// Whether the line begins the declaration of a function, a type, a module, or a value at the
/// margin.
#[must_use]
pub fn declares(line: &str) -> bool {
    let text = line.trim();
    let margin = !line.starts_with([' ', '\t']);
    let mut rest = text;
    let mut modified = false;
    loop {
        let word = first_word(rest);
        if KEYWORDS.contains(&word) && (rest.len() > word.len()) {
            // `class = 1`, `def: x`, `type(x)` only use such a word.
            return !rest[word.len()..].trim_start().starts_with(['=', ':', ',', '.', ')', ';'])
                && !rest[word.len()..].starts_with('(');
        }
        if margin && VALUES.contains(&word) && rest[word.len()..].starts_with(' ') {
            return true;
        }
        if !MODIFIERS.contains(&word) {
            break;
        }
        modified = true;
        let behind = rest[word.len()..].trim_start();
        // `pub(crate)`, `extern "C"`
        let behind = behind
            .strip_prefix('(')
            .filter(|_| word == "pub")
            .and_then(|scope| scope.split_once(')'))
            .map_or(behind, |(_, behind)| behind.trim_start());
        rest = behind
            .strip_prefix('"')
            .and_then(|name| name.split_once('"'))
            .map_or(behind, |(_, behind)| behind.trim_start());
    }
    signs(rest, margin, modified)
}

/// Whether it is a signature without a keyword, as in C, C++, Java and classes of JavaScript.
fn signs(text: &str, margin: bool, modified: bool) -> bool {
    let Some((before, behind)) = text.split_once('(') else { return false };
    let typed = before.contains(' ');
    let named =
        before.chars().last().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '>'))
            && before.chars().all(|c| c.is_alphanumeric() || " _<>[]*&:,~?".contains(c))
            && before.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '~'));
    if !named || CONTROL.contains(&first_word(before)) || behind.contains(';') && !modified {
        return false;
    }
    let opens = text.ends_with('{');
    let goes_on = text.ends_with(',') || text.ends_with('(') || text.ends_with(')');
    opens || goes_on && typed && (margin || modified)
}

/// Whether the line names other modules that this one uses.
#[must_use]
pub fn imports(line: &str) -> bool {
    let text = line.strip_prefix("pub ").unwrap_or(line);
    [
        "use ",
        "import ",
        "#include",
        "extern crate ",
        "require ",
        "require_once",
        "using ",
        "@import ",
    ]
    .iter()
    .any(|start| text.starts_with(start))
        || text.starts_with("from ") && text.contains(" import")
        || text.starts_with("export ") && text.contains(" from ")
        || text.starts_with("const ") && text.contains("require(")
}

/// Whether the line is all comment or documentation.
#[must_use]
pub fn comments(line: &str) -> bool {
    let text = line.trim_start();
    ["//", "/*", "* ", "*/", "# ", "#!", "\"\"\"", "'''", "-- ", ";; "]
        .iter()
        .any(|start| text.starts_with(start))
        || matches!(text, "*" | "#")
}

/// Whether the line says something about the declaration below it: an attribute or a decorator.
#[must_use]
pub fn decorates(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("#[")
        || text.starts_with('@') && !text.starts_with("@@")
        || text.starts_with("template <")
}

/// Whether the line tells of something unfinished, or ends the program.
#[must_use]
pub fn is_odd(line: &str) -> bool {
    ODD.iter().any(|word| line.contains(word))
}

fn first_word(text: &str) -> &str {
    let end = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '!');
    &text[..text.find(end).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_many_languages_are_told_from_statements() {
        for line in [
            "pub(crate) async fn read(text: &str) -> Result<Self> {",
            "    pub const fn new() -> Self {",
            "impl<'a> Reader<'a> {",
            "pub(super) struct Open {",
            "macro_rules! check {",
            "const LIMIT: usize = 3;",
            "extern \"C\" fn start() {",
            "def main(argv=None):",
            "    async def get(self, name):",
            "class Reader(Base):",
            "export default function App() {",
            "export const useThing = (a) => {",
            "export interface Props {",
            "  constructor(private name: string) {",
            "  async load(id) {",
            "func (s *Server) Serve(ctx context.Context) error {",
            "type Server struct {",
            "public static void main(String[] args) throws IOException {",
            "    private final List<String> names(int most) {",
            "static int parse(const char *text,",
            "std::vector<int> Reader::lines(bool all) const {",
            "Reader::~Reader() {",
            "namespace epi {",
        ] {
            assert!(declares(line), "{line}");
        }
        for line in [
            "    let limit = read(text)?;",
            "    if (a > b) {",
            "    } else if (x) {",
            "    for (const a of b) {",
            "    while (next()) {",
            "    return call(a, b);",
            "    read(text, 3)",
            "    self.read(text)",
            "class_ = 3",
            "}",
            "    match kind {",
            "print(\"def x\")",
            "    const x = 3;",
            "    catch (Exception e) {",
            "    let Some(count) = (1..most).last() else {",
            "    names.push(name(",
            "// fn old() {",
            "",
        ] {
            assert!(!declares(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_known_by_how_they_begin() {
        for line in [
            "use std::io;",
            "from os import path",
            "import React from 'react'",
            "#include <a.h>",
            "const fs = require('fs');",
            "export * from './a'",
        ] {
            assert!(imports(line), "{line}");
        }
        assert!(!imports("from here on it works"));
        assert!(comments("  /// Says so.") && comments("    # so") && comments(" * so"));
        assert!(!comments("*p = 3;") && !comments("#[test]"));
        assert!(
            decorates("    #[test]") && decorates("@app.route('/')") && !decorates("@@ -1 +1 @@")
        );
        assert!(is_odd("    # TODO: later") && is_odd("panic!(\"no\")") && !is_odd("todos = 3"));
        assert_eq!(unnumbered("  12\tfn a() {"), "fn a() {");
        assert_eq!(unnumbered("12: fn a() {"), "fn a() {");
        assert_eq!(unnumbered("12 fn"), "12 fn");
    }
}
