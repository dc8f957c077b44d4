//! References: the names, numbers and addresses that later work depends on.
//!
//! Invariant: ranges are disjoint, ordered and fall on character boundaries. One pass over the
//! text, no regular expressions.

use std::ops::Range;

/// What kind of thing a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RefKind {
    /// A URL.
    Url,
    /// An e-mail address.
    Email,
    /// A path with at least one slash.
    Path,
    /// A file name with a known extension.
    File,
    /// The name or code of an error.
    Error,
    /// A command-line flag.
    Flag,
    /// An identifier: snake_case, camelCase, PascalCase, or a dotted call.
    Ident,
    /// An id, a code, an amount, a version, a long number.
    Id,
    /// A short number.
    Number,
    /// A capitalised name inside a sentence.
    Name,
}

/// One mention of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// What it is.
    pub(crate) kind: RefKind,
}

impl RefKind {
    /// Whether it spells the path of a file, or its name.
    pub(crate) fn is_path(self) -> bool {
        matches!(self, Self::Path | Self::File)
    }
}

impl Mention {
    /// The thing as it is spelled, without what says only from where: `./`, `../`, and the side of a diff.
    pub(crate) fn spelling<'a>(&self, text: &'a str) -> &'a str {
        let mut name = &text[self.range.clone()];
        if self.kind != RefKind::Path {
            return name;
        }
        while let Some(rest) = name.strip_prefix("./").or_else(|| name.strip_prefix("../")) {
            name = rest;
        }
        side_of_diff(&text[..self.range.start], name).unwrap_or(name)
    }

    /// The spelling under which mentions of one thing are likely to meet: a path by its last two parts.
    pub(crate) fn canonical<'a>(&self, text: &'a str) -> &'a str {
        let name = &text[self.range.clone()];
        if self.kind != RefKind::Path {
            return name;
        }
        let mut slashes = name.rmatch_indices('/').map(|(at, _)| at);
        match (slashes.next(), slashes.next()) {
            (Some(_), Some(second)) => &name[second + 1..],
            _ => name.trim_start_matches(['.', '~', '/']),
        }
    }
}

/// A path without the side of a diff before it: `a/` and `b/` in the lines that name its files.
fn side_of_diff<'a>(before: &str, name: &'a str) -> Option<&'a str> {
    let path = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"))?;
    let begins =
        |before: &str| ["--- ", "+++ ", "diff --git "].iter().any(|it| before.ends_with(it));
    let first = || before.strip_suffix(' ')?.strip_suffix(path)?.strip_suffix("a/");
    (begins(before) || first().is_some_and(begins)).then_some(path)
}

/// All mentions in a text.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut signs) = (at, 0);
        while at < bytes.len() && BYTES[usize::from(bytes[at])] != 0 {
            signs |= BYTES[usize::from(bytes[at])];
            at += 1;
        }
        match signs {
            0 => at += 1,
            signs if signs & SEPARATOR != 0 => chunk(text, start..at, &mut out),
            signs => piece(text, start..at, signs, &mut out),
        }
    }
    out
}

/// A byte of which addresses, names and numbers are made.
const PLAIN: u8 = 1;
/// One of which an address is made.
const ADDRESS: u8 = 2;
/// One that parts pieces.
const SEPARATOR: u8 = 4;

/// What each byte is; 0 where it stands between addresses, names and numbers.
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = match byte as u8 {
            b'.' | b'/' | b'@' => ADDRESS,
            b':' | b'=' | b'?' | b'&' | b'#' | b'%' => SEPARATOR,
            b'_' | b'-' | b'+' | b'~' | b'$' | 0x80.. => PLAIN,
            other if other.is_ascii_alphanumeric() => PLAIN,
            _ => 0,
        };
        byte += 1;
    }
    bytes
};

/// A run that holds a separator: a URL, or pieces.
fn chunk(text: &str, range: Range<usize>, out: &mut Vec<Mention>) {
    let chunk = &text[range.clone()];
    if let Some(scheme) = chunk.find("://") {
        let begin = chunk[..scheme].trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        if begin < scheme {
            let end = chunk.trim_end_matches(['.', ':', '?', '=', '&', '/']).len();
            out.push(Mention { range: range.start + begin..range.start + end, kind: RefKind::Url });
            return;
        }
    }
    let mut start = range.start;
    for (at, _) in chunk.match_indices([':', '=', '?', '&', '#', '%']) {
        piece(text, start..range.start + at, ADDRESS, out);
        start = range.start + at + 1;
    }
    piece(text, start..range.end, ADDRESS, out);
}

/// What no separator parts; `signs` are what its bytes may be.
fn piece(text: &str, mut range: Range<usize>, signs: u8, out: &mut Vec<Mention>) {
    let trimmed = text[range.clone()].trim_end_matches(['.', '-', '/', '+', '@', '$']);
    range.end = range.start + trimmed.len();
    if trimmed.len() < 2 {
        if trimmed.len() == 1 && trimmed.as_bytes()[0].is_ascii_digit() {
            out.push(Mention { range, kind: RefKind::Number });
        }
        return;
    }
    let may_be_address = signs & ADDRESS != 0;
    if let Some(kind) = may_be_address.then(|| address(trimmed)).flatten() {
        out.push(Mention { range, kind });
        return;
    }
    if is_flag(trimmed) {
        out.push(Mention { range, kind: RefKind::Flag });
        return;
    }
    let called = text.as_bytes().get(range.end) == Some(&b'(');
    if called && may_be_address && is_dotted(trimmed) {
        out.push(Mention { range, kind: RefKind::Ident });
        return;
    }
    tokens(text, range, out);
}

/// E-mail, path or file name.
fn address(piece: &str) -> Option<RefKind> {
    if let Some((name, host)) = piece.split_once('@')
        && !name.is_empty()
        && host.contains('.')
        && !host.contains('/')
    {
        return Some(RefKind::Email);
    }
    if piece.contains('/') {
        return is_path(piece).then_some(RefKind::Path);
    }
    let (stem, extension) = piece.rsplit_once('.')?;
    (!stem.is_empty() && !stem.starts_with('$') && EXTENSIONS.binary_search(&extension).is_ok())
        .then_some(RefKind::File)
}

fn is_path(piece: &str) -> bool {
    let slashes = piece.matches('/').count();
    if piece.len() < 5
        || slashes > 12
        || piece.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'/'))
    {
        return false;
    }
    let rooted = piece.starts_with(['/', '~', '.']);
    let marked = |last: &str| last.contains(['.', '_']) || last.bytes().any(|b| b.is_ascii_digit());
    rooted || slashes > 1 || piece.rsplit('/').next().is_some_and(marked)
}

fn is_flag(piece: &str) -> bool {
    piece
        .strip_prefix("--")
        .is_some_and(|name| name.len() > 1 && name.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn is_dotted(piece: &str) -> bool {
    piece.contains('.')
        && piece.split('.').all(|name| {
            name.len() > 1
                && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// Identifiers, ids and numbers inside a piece.
fn tokens(text: &str, range: Range<usize>, out: &mut Vec<Mention>) {
    let bytes = text.as_bytes();
    let mut at = range.start;
    while at < range.end {
        if !is_token_byte(bytes[at]) && bytes[at] != b'$' {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < range.end
            && (is_token_byte(bytes[at]) || joins_number(bytes, start, at, range.end))
        {
            at += 1;
        }
        let token = text[start..at].trim_end_matches(['-', ',']);
        if let Some(kind) = token_kind(token) {
            out.push(Mention { range: start..start + token.len(), kind });
        }
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-')
}

/// A point inside a number belongs to it.
fn joins_number(bytes: &[u8], start: usize, at: usize, end: usize) -> bool {
    bytes[at] == b'.'
        && at + 1 < end
        && bytes[at + 1].is_ascii_digit()
        && bytes[start..at].iter().enumerate().all(|(index, byte)| {
            byte.is_ascii_digit() || matches!(byte, b'.' | b'$') || index == 0 && *byte == b'v'
        })
}

fn token_kind(token: &str) -> Option<RefKind> {
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let letters = token.bytes().filter(u8::is_ascii_alphabetic).count();
    if token.starts_with('$') {
        return (digits > 0).then_some(RefKind::Id);
    }
    if is_error(token) {
        return Some(RefKind::Error);
    }
    if letters == 0 {
        return match digits {
            0 => None,
            1..=3 if !token.contains(['.', '-']) => Some(RefKind::Number),
            _ => Some(RefKind::Id),
        };
    }
    if is_identifier(token) {
        return Some(RefKind::Ident);
    }
    if digits > 0 && token.len() > 3 && !token.contains('_') {
        return Some(RefKind::Id);
    }
    if digits > 0 {
        return Some(RefKind::Number);
    }
    let capital = token.starts_with(|c: char| c.is_uppercase());
    (capital && token.len() > 1).then_some(RefKind::Name)
}

fn is_error(token: &str) -> bool {
    if !token.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    if ["Error", "Exception", "Warning", "Failure"].iter().any(|end| token.ends_with(end)) {
        return true;
    }
    let code = token.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let prefix = &token[..token.len() - code.len()];
    (matches!(prefix, "E" | "W" | "F" | "TS" | "CS" | "C")
        && (3..=5).contains(&code.len())
        && code.bytes().all(|b| b.is_ascii_digit()))
        || (code.is_empty() && token.starts_with("ENO") && token.len() > 4)
}

/// snake_case, camelCase, or PascalCase of at least two parts.
fn is_identifier(token: &str) -> bool {
    if !token.is_ascii()
        || !token.starts_with(|c: char| c.is_ascii_alphabetic())
        || token.contains('-')
    {
        return false;
    }
    let bytes = token.as_bytes();
    let snake = bytes.windows(2).any(|w| w[0] == b'_' && w[1].is_ascii_alphanumeric());
    snake || bytes.windows(2).any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
}

/// Whether a reference is a date (`2024-05-21`), with or without a time.
pub(crate) fn is_date(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() >= 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[..4].iter().all(u8::is_ascii_digit)
}

/// Sorted, so that it can be searched.
const EXTENSIONS: &[&str] = &[
    "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "diff", "env", "go", "gz",
    "h", "hpp", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsonl", "jsx", "kt", "lock",
    "log", "lua", "md", "mjs", "pdf", "php", "png", "proto", "py", "rb", "rs", "rst", "scss", "sh",
    "sql", "svg", "swift", "toml", "traj", "ts", "tsx", "txt", "xml", "yaml", "yml", "zip",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, RefKind)]) {
        let found: Vec<(&str, RefKind)> =
            mentions(text).into_iter().map(|m| (&text[m.range.clone()], m.kind)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn addresses() {
        check("see https://a.b/c?d=1.", &[("https://a.b/c?d=1", RefKind::Url)]);
        check("=Îa://b", &[("a://b", RefKind::Url)]);
        check("=Î://b", &[]);
        check("mail ann@x.org.", &[("ann@x.org", RefKind::Email)]);
        check(
            "in src/lib.rs:12:3",
            &[("src/lib.rs", RefKind::Path), ("12", RefKind::Number), ("3", RefKind::Number)],
        );
        check("and/or main.rs", &[("main.rs", RefKind::File)]);
        check("(/etc/hosts)", &[("/etc/hosts", RefKind::Path)]);
    }

    #[test]
    fn names_and_numbers() {
        check("E0502 and ValueError", &[("E0502", RefKind::Error), ("ValueError", RefKind::Error)]);
        check("--no-wait", &[("--no-wait", RefKind::Flag)]);
        check("theme.fg(x)", &[("theme.fg", RefKind::Ident)]);
        check(
            "a readFile of max_size",
            &[("readFile", RefKind::Ident), ("max_size", RefKind::Ident)],
        );
        check(
            "\"HAT028\", 1859, $1,2",
            &[
                ("HAT028", RefKind::Id),
                ("1859", RefKind::Id),
                ("$1", RefKind::Id),
                ("2", RefKind::Number),
            ],
        );
        check(
            "2024-05-21 v1.2.3 12",
            &[("2024-05-21", RefKind::Id), ("v1.2.3", RefKind::Id), ("12", RefKind::Number)],
        );
        check("met Anna", &[("Anna", RefKind::Name)]);
    }

    #[test]
    fn paths_meet_by_their_last_two_parts() {
        let canonical = |text: &'static str| mentions(text)[0].canonical(text);
        assert_eq!(canonical("/srv/app/src/lib.rs"), "src/lib.rs");
        assert_eq!(canonical("./src/lib.rs"), "src/lib.rs");
        assert_eq!(canonical("src/lib.rs"), "src/lib.rs");
    }

    #[test]
    fn paths_are_spelled_without_where_they_are_seen_from() {
        let spelled = |text: &'static str| -> Vec<&str> {
            let paths = mentions(text).into_iter().filter(|it| it.kind.is_path());
            paths.map(|it| it.spelling(text)).collect()
        };
        assert_eq!(spelled("./src/lib.rs ../../b/src/lib.rs"), ["src/lib.rs", "b/src/lib.rs"]);
        assert_eq!(spelled("/srv/app/src/lib.rs ~/a/b.c"), ["/srv/app/src/lib.rs", "~/a/b.c"]);
        assert_eq!(spelled("diff --git a/x/y.rs b/x/y.rs"), ["x/y.rs", "x/y.rs"]);
        assert_eq!(spelled("--- a/x/y.rs\n+++ b/x/y.rs"), ["x/y.rs", "x/y.rs"]);
        assert_eq!(spelled("in a/x/y.rs b/x/y.rs"), ["a/x/y.rs", "b/x/y.rs"]);
    }

    #[test]
    fn extensions_are_sorted() {
        assert!(EXTENSIONS.is_sorted());
    }
}
