//! Reads what `ls`, `find`, `tree` and `du` print into entries.
//!
//! Invariant: an entry names where its line stands, and its name, size and columns are spelled as
//! they are there; a line that is none stays with the others. Called by the crate's digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::shape;
use rustc_hash::FxHashSet;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A file or a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListingEntry<'a> {
    /// Where it lies, with a slash at the end; empty where nothing says so.
    pub(crate) folder: Cow<'a, str>,
    pub(crate) name: &'a str,
    pub(crate) is_folder: bool,
    /// Whether other entries lie in it.
    pub(crate) has_head: bool,
    /// Its size as it is spelled; empty where it is not said.
    pub(crate) size: &'a str,
    /// What it may be and whose it is: mode, owner and group.
    pub(crate) access: Vec<&'a str>,
    /// Its line.
    pub(crate) span: Range<usize>,
}

impl ListingEntry<'_> {
    /// Its path as a folder.
    fn path(&self) -> String {
        format!("{}{}/", self.folder, self.name.trim_end_matches('/'))
    }
}

/// What a listing is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Entries with sizes and more, as `ls -l` has them.
    #[default]
    Long,
    /// Names and paths.
    Names,
    /// Sizes with paths, as `du` has them.
    Sizes,
}

/// The entries of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing<'a> {
    pub(crate) sort: Sort,
    pub(crate) entries: Vec<ListingEntry<'a>>,
    /// Lines that name no entry: errors and sums.
    pub(crate) others: Vec<Range<usize>>,
}

impl<'a> Listing<'a> {
    /// Reads a text in the way in which nearly all of its lines are entries.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let spans = || shape::lines(text).filter(|span| !text[span.clone()].trim().is_empty());
        if spans().count() < LEAST {
            return None;
        }
        let readers = [long, drawn, sizes, names];
        let read = readers.iter().map(|reader| reader(text, spans().collect()));
        let mut listing = read.into_iter().find(Self::is_one)?;
        listing.mark_folders();
        Some(listing)
    }

    /// What other entries lie in is a folder, whether its own line says so or not.
    fn mark_folders(&mut self) {
        let folders: FxHashSet<&str> = self.entries.iter().map(|entry| &*entry.folder).collect();
        let holds = |entry: &ListingEntry<'_>| folders.contains(&*entry.path());
        let marks: Vec<bool> = self.entries.iter().map(holds).collect();
        for (entry, holds) in self.entries.iter_mut().zip(marks) {
            entry.has_head = holds || matches!(entry.name, "." | "..");
            entry.is_folder |= entry.has_head;
        }
    }

    fn is_one(&self) -> bool {
        self.entries.len() >= LEAST && self.others.len() * 5 <= self.entries.len()
    }
}

/// A listing has at least so many entries.
const LEAST: usize = 12;

/// The folder that a line is the heading of, as `ls -R` writes it.
fn heading(line: &str) -> Option<&str> {
    let path = line.strip_suffix(':')?;
    let is_path = path.starts_with(['.', '/', '~']) || path.contains('/') || !path.contains(' ');
    (is_path && !path.is_empty() && !path.contains(": ")).then_some(path)
}

/// A path with the slash of a folder.
fn as_folder(path: &str) -> Cow<'_, str> {
    if path.ends_with('/') { path.into() } else { format!("{path}/").into() }
}

/// The folder of a path, with its slash, and its name.
fn split(path: &str) -> (&str, &str) {
    let end = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    path.split_at(end)
}

/// `ls -l`, `ls -lR`, `find -ls`.
fn long<'a>(text: &'a str, spans: Vec<Range<usize>>) -> Listing<'a> {
    let mut out = Listing::default();
    let mut folder = Cow::Borrowed("");
    for span in spans {
        let line = &text[span.clone()];
        if let Some(mut entry) = long_entry(line, span.clone()) {
            let (own, name) = split(entry.name);
            if own.is_empty() {
                entry.folder = folder.clone();
            } else {
                (entry.folder, entry.name) = (own.into(), name);
            }
            out.entries.push(entry);
        } else if let Some(path) = heading(line) {
            folder = as_folder(path);
        } else if !line.starts_with("total ") {
            out.others.push(span);
        }
    }
    out
}

/// An entry with its mode, links, owner, group, size and date.
fn long_entry(line: &str, span: Range<usize>) -> Option<ListingEntry<'_>> {
    let place = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    let words: Vec<&str> = line.split_whitespace().take(16).collect();
    let mode = words.iter().take(3).position(|word| is_mode(word))?;
    let numbered = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    if !words[..mode].iter().all(numbered) {
        return None;
    }
    let date = (mode + 2..words.len()).find(|at| date_length(&words[*at..]) > 0)?;
    let last = words[date + date_length(&words[date..]) - 1];
    let name = line[place(last) + last.len()..].trim_start();
    let is_link = words[mode].starts_with('l');
    // What a link leads to is part of what is shown of it, not of its name.
    let named = name.split_once(" -> ").filter(|_| is_link).map_or(name, |(name, _)| name);
    (!named.is_empty()).then(|| ListingEntry {
        name: named,
        is_folder: words[mode].starts_with('d'),
        size: words[date - 1],
        access: words[mode..date - 1]
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != 1)
            .map(|(_, word)| *word)
            .collect(),
        span,
        ..ListingEntry::default()
    })
}

fn is_mode(word: &str) -> bool {
    let bytes = word.as_bytes();
    (10..=11).contains(&bytes.len())
        && b"-dlbcpsD".contains(&bytes[0])
        && bytes[1..10].iter().all(|byte| b"rwxsStT-".contains(byte))
}

/// How many of the first words are a date with its time: none where they are no date.
fn date_length(words: &[&str]) -> usize {
    let digits = |word: &str, sign: char| {
        word.contains(sign) && word.chars().all(|c| c.is_ascii_digit() || c == sign || c == '.')
    };
    let time = |at: usize| words.get(at).is_some_and(|word| digits(word, ':'));
    let year = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()))
    };
    let day = |at: usize| {
        words.get(at).and_then(|word| word.parse().ok()).is_some_and(|day: u32| day <= 31)
    };
    let month = |at: usize| words.get(at).is_some_and(|word| MONTHS.contains(word));
    let zone = |at: usize| {
        words.get(at).is_some_and(|word| {
            word.len() == 5
                && word.starts_with(['+', '-'])
                && word[1..].bytes().all(|b| b.is_ascii_digit())
        })
    };
    let iso = words.first().is_some_and(|word| word.len() == 10 && digits(word, '-'));
    match () {
        () if (month(0) && day(1) || day(0) && month(1)) && (time(2) || year(2)) => 3,
        () if iso && time(1) && zone(2) => 3,
        () if iso && time(1) => 2,
        () => 0,
    }
}

/// `tree`, with lines drawn in letters of either sort.
fn drawn<'a>(text: &'a str, spans: Vec<Range<usize>>) -> Listing<'a> {
    let mut out = Listing { sort: Sort::Names, ..Listing::default() };
    // The folders on the way to the line above.
    let mut above: Vec<&str> = Vec::new();
    for span in spans {
        let line = &text[span.clone()];
        let Some((depth, said)) = branch(line) else {
            if out.entries.is_empty() && above.is_empty() {
                above.push(line.trim());
            } else {
                out.others.push(span);
            }
            continue;
        };
        above.truncate(depth + 1);
        let bracket = said.strip_prefix('[').and_then(|said| said.split_once(']'));
        let (columns, name) = bracket.unwrap_or(("", said));
        let size =
            columns.split_whitespace().find(|word| bytes(word).is_some()).unwrap_or_default();
        let name = name.trim();
        let folder: String =
            above.iter().flat_map(|name| [name.trim_end_matches('/'), "/"]).collect();
        let is_folder = name.ends_with('/');
        above.push(name);
        out.entries.push(ListingEntry {
            folder: folder.into(),
            name,
            is_folder,
            size,
            span,
            ..ListingEntry::default()
        });
    }
    out
}

/// How deep a drawn line stands, and what it says.
fn branch(line: &str) -> Option<(usize, &str)> {
    let signs = ["├── ", "└── ", "|-- ", "`-- ", "+-- ", "\\-- ", "├─ ", "└─ "];
    let (at, sign) = signs.iter().filter_map(|sign| Some((line.find(sign)?, sign))).min()?;
    let drawn = |c: char| matches!(c, '│' | '|' | ' ' | '\u{a0}');
    let width = line[..at].chars().count();
    let step = sign.chars().count();
    line[..at].chars().all(drawn).then(|| (width / step, line[at + sign.len()..].trim_end()))
}

/// `du`: a size and a path.
fn sizes<'a>(text: &'a str, spans: Vec<Range<usize>>) -> Listing<'a> {
    let mut out = Listing { sort: Sort::Sizes, ..Listing::default() };
    for span in spans {
        let parts = text[span.clone()].split_once('\t');
        match parts.filter(|(size, path)| bytes(size.trim()).is_some() && !path.is_empty()) {
            Some((size, path)) => {
                let (folder, name) = split(path);
                let size = size.trim();
                out.entries.push(ListingEntry {
                    folder: folder.into(),
                    name,
                    size,
                    span,
                    ..ListingEntry::default()
                });
            }
            None => out.others.push(span),
        }
    }
    out
}

/// `find`, `ls -R`, `git ls-files`: a path on each line, or names below the path of their folder.
fn names<'a>(text: &'a str, spans: Vec<Range<usize>>) -> Listing<'a> {
    let mut out = Listing { sort: Sort::Names, ..Listing::default() };
    let mut folder = None;
    for span in spans {
        let line = text[span.clone()].trim();
        // What stands further in is said under a line that ends with a colon, as in source code.
        let is_inner = text[span.clone()].starts_with([' ', '\t']);
        if let (Some(path), false) = (heading(line), is_inner) {
            folder = Some(as_folder(path));
        } else if let (Some(folder), false) = (&folder, is_inner || line.contains('/')) {
            out.entries.push(ListingEntry {
                folder: folder.clone(),
                name: line,
                span,
                ..ListingEntry::default()
            });
        } else if is_path(line) {
            let (folder, name) = split(line);
            out.entries.push(ListingEntry {
                folder: folder.into(),
                name,
                span,
                ..ListingEntry::default()
            });
        } else {
            out.others.push(span);
        }
    }
    let placed = out.entries.iter().filter(|entry| !entry.folder.is_empty()).count();
    if placed * 2 < out.entries.len() {
        out.entries.clear();
    }
    out
}

/// Whether a line is a path, or a name with an ending, and nothing else.
fn is_path(line: &str) -> bool {
    let spaced = line.contains([' ', ':', '"', '(', ')', '<', '>', '|', '=', ';', ',', '{']);
    !spaced && (line.contains('/') || shape::is_path(line)) && line != "/"
}

/// A size in bytes; `None` where it is none.
pub(crate) fn bytes(size: &str) -> Option<f64> {
    let digits = size.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number: f64 = size[..digits].parse().ok()?;
    let power = match size[digits..].trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(number * 1024f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(&str, &str, &str)>) {
        let found = long_entry(line, 0..line.len());
        let found = found.map(|entry| (entry.name, entry.size, entry.access.join(" ")));
        let expected = expected.map(|(name, size, access)| (name, size, access.to_owned()));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn long_entries_are_read_however_their_date_is_written() {
        let whose = "-rw-r--r-- root root";
        check("-rw-r--r-- 1 root root 4096 Nov 22 14:24 a b.txt", Some(("a b.txt", "4096", whose)));
        check("-rw-r--r--  1 root root 4.0K Jan  3  2024 a", Some(("a", "4.0K", whose)));
        check("-rw-r--r-- 1 root root 7 2024-05-01 10:00 a", Some(("a", "7", whose)));
        check("-rw-r--r-- 1 root root 7 2024-05-01 10:00:01.12 +0200 a", Some(("a", "7", whose)));
        check(
            "lrwxrwxrwx 1 me staff 3 Nov 22 14:24 lib -> /usr/lib",
            Some(("lib", "3", "lrwxrwxrwx me staff")),
        );
        check(
            "  1234   4 -rw-r--r-- 1 root root 7 Nov 22 14:24 ./a/b",
            Some(("./a/b", "7", whose)),
        );
        check("total 12", None);
        check("-rw-r--r-- is a mode", None);
        check("see -rw-r--r-- 1 root root 4096 Nov 22 14:24 a", None);
    }

    #[test]
    fn sizes_are_read_in_their_units() {
        assert_eq!(bytes("4096"), Some(4096.0));
        assert_eq!(bytes("1.5K"), Some(1536.0));
        assert_eq!(bytes("2MiB"), Some(2.0 * 1024.0 * 1024.0));
        assert_eq!(bytes("x"), None);
        assert_eq!(bytes("4.0X"), None);
    }

    #[test]
    fn drawn_lines_know_how_deep_they_stand() {
        assert_eq!(branch("├── src"), Some((0, "src")));
        assert_eq!(branch("│   └── lib.rs"), Some((1, "lib.rs")));
        assert_eq!(branch("|   |-- a"), Some((1, "a")));
        assert_eq!(branch("a ├── b"), None);
    }
}
