//! Names that a later message may ask for: paths, identifiers, numbers, addresses, errors, flags.
//!
//! Invariant: the kinds are looked for in one order, and of a text that several fit the first counts.
//! Called by the score and where questions are made.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::words::content_words;

/// Words to each side of a name that are its surroundings, and the characters they are taken from.
const SIDE: usize = 20;
const REACH: usize = 400;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NameKind {
    Url,
    Email,
    Path,
    File,
    Error,
    Flag,
    Ident,
    Id,
}

impl NameKind {
    /// Whether the pieces of such a name are no names of their own.
    fn is_whole(self) -> bool {
        matches!(self, Self::Url | Self::Email | Self::Path | Self::File)
    }
}

/// How names of one kind are found. A regular expression cannot look around itself here, so what
/// may not stand before a name, and what a name must hold, are asked beside it.
struct Pattern {
    kind: NameKind,
    regex: Regex,
    /// What may not stand right before it.
    not_after: fn(char) -> bool,
    /// What is tried where an id turns out to be a plain word or number.
    otherwise: Option<Regex>,
}

const EXTENSIONS: &str = "py|rs|ts|tsx|js|jsx|mjs|cjs|json|jsonl|md|toml|yaml|yml|lock|go|java|kt|rb|\
    php|c|h|cc|cpp|hpp|cs|swift|sh|bash|txt|csv|html|css|scss|xml|sql|ini|cfg|conf|env|lua|proto|\
    ipynb|log|pdf|png|svg|patch|diff|traj|rst";

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let anywhere: fn(char) -> bool = |_| false;
    let in_path: fn(char) -> bool = |c| is_word(c) || c == '/';
    let in_flag: fn(char) -> bool = |c| is_word(c) || c == '-';
    let file = format!(r"\b[\w-]+(?:\.[\w-]+)*\.(?:{EXTENSIONS})\b");
    let figures = r"\b\d{4,}\b|\$\d[\d,]*(?:\.\d+)?|\b\d+\.\d+(?:\.\d+)*\b|\b\d{4}-\d{2}-\d{2}\b";
    let id = format!(r"\b[A-Za-z0-9][A-Za-z0-9-]{{3,}}\b|{figures}");
    let ident = [
        r"\b[A-Za-z]\w*(?:_[A-Za-z0-9]+)+\b",
        r"\b[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]+)+\b",
        r"\b(?:[A-Z][a-z0-9]+){2,}\b",
        r"\b([A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+)\(",
    ];
    let error = r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b|\b(?:E|W|F|TS|CS|C)\d{3,5}\b|\bENO[A-Z]+\b";
    [
        (NameKind::Url, r#"https?://[^\s"'<>)\]}`|]+"#.to_owned(), anywhere),
        (NameKind::Email, r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b".to_owned(), anywhere),
        (NameKind::Path, r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w".to_owned(), in_path),
        (NameKind::File, file, anywhere),
        (NameKind::Error, error.to_owned(), anywhere),
        (NameKind::Flag, r"--[a-z][a-z0-9]+(?:-[a-z0-9]+)*\b".to_owned(), in_flag),
        (NameKind::Ident, ident.join("|"), anywhere),
        (NameKind::Id, id, anywhere),
    ]
    .into_iter()
    .map(|(kind, regex, not_after)| Pattern {
        kind,
        regex: compiled(&regex),
        not_after,
        otherwise: (kind == NameKind::Id).then(|| compiled(&format!("^(?:{figures})"))),
    })
    .collect()
});

#[expect(clippy::expect_used, reason = "the patterns are compiled in, and a test uses them all")]
fn compiled(regex: &str) -> Regex {
    Regex::new(regex).expect("the patterns of names are sound")
}

impl Pattern {
    /// The places of all such names, one behind the other.
    fn find(&self, text: &str) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let mut from = 0;
        while let Some(found) = self.regex.captures_at(text, from).and_then(|it| {
            let all = it.get(0)?;
            Some((all.start(), it.get(1).map_or(all.end(), |part| part.end())))
        }) {
            let (start, end) = found;
            match self.accepted(text, start, end) {
                Some(end) => {
                    out.push((start, end));
                    from = end;
                }
                None => from = self.next(text, start),
            }
        }
        out
    }

    /// Where a name that was found really ends; none where it is no name.
    fn accepted(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        if text[..start].chars().next_back().is_some_and(self.not_after) {
            return None;
        }
        let Some(otherwise) = &self.otherwise else { return Some(end) };
        let part = |c: &u8| c.is_ascii_alphanumeric() || *c == b'-';
        let run = text.as_bytes()[start..].iter().take_while(|c| part(c));
        let (mut digit, mut letter) = (false, false);
        run.for_each(|c| {
            digit |= c.is_ascii_digit();
            letter |= c.is_ascii_alphabetic();
        });
        match digit && letter && end - start >= 4 {
            true => Some(end),
            false => Some(start + otherwise.find(&text[start..])?.end()),
        }
    }

    /// The next place where a name may begin after one that was refused.
    fn next(&self, text: &str, start: usize) -> usize {
        let mut rest = text[start..].chars();
        let mut at = start;
        for c in rest.by_ref() {
            at += c.len_utf8();
            if !(self.not_after)(c) {
                break;
            }
        }
        at
    }
}

/// The names in a text, each once, in the order in which they are found.
pub(crate) fn names(text: &str) -> Vec<(String, NameKind)> {
    let mut out: Vec<(String, NameKind)> = Vec::new();
    let mut known = BTreeSet::new();
    let mut text = text.to_owned();
    for pattern in PATTERNS.iter() {
        let mut gone = Vec::new();
        for (start, end) in pattern.find(&text) {
            let name = text[start..end].trim_matches(|c| ".,;:!?)]}\"'`*".contains(c));
            if pattern.kind == NameKind::Path && !is_path(name) || name.chars().count() < 3 {
                continue;
            }
            if known.insert(name.to_owned()) {
                out.push((name.to_owned(), pattern.kind));
            }
            gone.push(start..end);
        }
        if pattern.kind.is_whole() {
            for range in gone.into_iter().rev() {
                let blank = " ".repeat(range.len());
                text.replace_range(range, &blank);
            }
        }
    }
    out
}

/// Whether a path is one: no fraction, no "and/or".
fn is_path(name: &str) -> bool {
    let slashes = name.matches('/').count();
    let rooted = name.starts_with(['/', '~', '.']);
    let last = name.rsplit('/').next().unwrap_or_default();
    name.chars().count() >= 5
        && !name.chars().all(|c| c.is_numeric() || matches!(c, '.' | '/'))
        && slashes <= 12
        && (rooted || slashes != 1 || last.contains('.'))
}

/// The spellings under which a name counts as itself: a path by its last two parts too.
pub(crate) fn forms(name: &str, kind: NameKind) -> Vec<String> {
    let mut out = vec![name.to_owned()];
    if kind == NameKind::Path {
        let parts: Vec<_> =
            name.split('/').filter(|part| !matches!(*part, "" | "." | ".." | "~")).collect();
        if let [.., folder, file] = &*parts {
            out.push(format!("{folder}/{file}"));
        }
    }
    out
}

/// Where a name stands in a text, as a word of its own.
pub(crate) fn present(name: &str, kind: NameKind, text: &str) -> Option<usize> {
    forms(name, kind).iter().find_map(|form| {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let (first, last) = (joins(form.chars().next()), joins(form.chars().next_back()));
        let mut from = 0;
        loop {
            let start = from + text.get(from..)?.find(form.as_str())?;
            let end = start + form.len();
            let before = first && joins(text[..start].chars().next_back());
            let after = last && joins(text[end..].chars().next());
            if !before && !after {
                return Some(start);
            }
            from = after_char(text, start);
        }
    })
}

/// All places of a name, the next one looked for behind the first character of the one before.
pub(crate) fn places(name: &str, kind: NameKind, text: &str) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let place = from + present(name, kind, text.get(from..)?)?;
        from = after_char(text, place);
        Some(place)
    })
}

fn after_char(text: &str, place: usize) -> usize {
    place + text[place..].chars().next().map_or(1, char::len_utf8)
}

/// So many characters of a text before a place and from another on.
pub(crate) fn around(text: &str, from: usize, to: usize, reach: usize) -> (&str, &str) {
    let start = text[..from].char_indices().rev().take(reach).last().map_or(from, |(at, _)| at);
    let end = text[to..].char_indices().nth(reach).map_or(text.len(), |(at, _)| to + at);
    (&text[start..from], &text[to..end])
}

/// Where so many characters end that begin at a place.
pub(crate) fn end_of(text: &str, from: usize, chars: usize) -> usize {
    text[from..].char_indices().nth(chars).map_or(text.len(), |(at, _)| from + at)
}

/// The words around a name that say something and are no names themselves.
pub(crate) fn neighbours(text: &str, place: usize, name: &str) -> BTreeSet<String> {
    let end = end_of(text, place, name.chars().count());
    let (left, right) = around(text, place, end, REACH);
    let left: Vec<_> = left.split_whitespace().collect();
    let right: Vec<_> = right.split_whitespace().take(SIDE).collect();
    let left = &left[left.len().saturating_sub(SIDE)..];
    let text = format!("{} | {}", left.join(" "), right.join(" "));
    let words = content_words(&without_names(&text)).into_iter();
    words.filter(|word| !word.bytes().any(|c| c.is_ascii_digit())).collect()
}

fn without_names(text: &str) -> String {
    PATTERNS.iter().fold(text.to_owned(), |mut text, pattern| {
        for (start, end) in pattern.find(&text).into_iter().rev() {
            text.replace_range(start..end, " ");
        }
        text
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, NameKind)]) {
        let expected: Vec<_> =
            expected.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        assert_eq!(names(text), expected, "{text}");
    }

    #[test]
    fn every_kind_is_found() {
        check("see https://a.io/x/y.html.", &[("https://a.io/x/y.html", NameKind::Url)]);
        check("write to jo@mail.example.com", &[("jo@mail.example.com", NameKind::Email)]);
        check(
            "in src/net/pool.rs and ~/bin/run.sh",
            &[("src/net/pool.rs", NameKind::Path), ("~/bin/run.sh", NameKind::Path)],
        );
        check("open Cargo.toml", &[("Cargo.toml", NameKind::File)]);
        check("a KeyError, E0382", &[("KeyError", NameKind::Error), ("E0382", NameKind::Error)]);
        check("use --no-verify", &[("--no-verify", NameKind::Flag)]);
        check(
            "max_size, readFile, HttpPool, os.path.join(x)",
            &[
                ("max_size", NameKind::Ident),
                ("readFile", NameKind::Ident),
                ("HttpPool", NameKind::Ident),
                ("os.path.join", NameKind::Ident),
            ],
        );
        check(
            "order A1B2C, $1,200.50, 3.14, 4711, 2024-05-15",
            &[
                ("A1B2C", NameKind::Id),
                ("$1,200.50", NameKind::Id),
                ("3.14", NameKind::Id),
                ("4711", NameKind::Id),
                ("2024", NameKind::Id),
            ],
        );
    }

    #[test]
    fn what_only_looks_like_a_name_is_none() {
        check("and/or 12/34 word a--flag well-known 12", &[]);
        check("//a/b/c", &[]);
    }

    #[test]
    fn a_name_is_a_word_of_its_own() {
        let check = |name: &str, kind, text: &str, place| {
            assert_eq!(present(name, kind, text), place, "{text}");
        };
        check("4711", NameKind::Id, "x4711 4711", Some(6));
        check("a/b/c.rs", NameKind::Path, "see b/c.rs", Some(4));
        check("a/b/c.rs", NameKind::Path, "see c.rs", None);
        assert_eq!(places("ab", NameKind::Ident, "ab ab_ ab").collect::<Vec<_>>(), [0, 7]);
    }

    #[test]
    fn surroundings_hold_no_names() {
        let text = "the pool in src/net/pool.rs of readFile leaks 42 sockets";
        let place = text.find("readFile").unwrap();
        let found: Vec<_> = neighbours(text, place, "readFile").into_iter().collect();
        assert_eq!(found, ["leak", "pool", "socket"]);
    }
}
