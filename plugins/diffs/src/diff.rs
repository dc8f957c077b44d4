//! Reads a unified diff into files, hunks and lines.
//!
//! Invariant: every line of the text is one row, in order; a row of a hunk is a row because the
//! hunk's numbers say so, whatever it looks like. Called by the crate's digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::shape;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffRowKind {
    /// No line of a diff: a commit's message, or what a program says beside it.
    Other,
    /// The first line about a file.
    File,
    /// A line about a file that says what became of it: new, deleted, renamed, binary.
    Fate,
    /// A line about a file that says nothing new.
    Header,
    Hunk,
    Same,
    Added,
    Removed,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct DiffRow<'a> {
    pub(crate) what: DiffRowKind,
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Range<usize>,
}

impl DiffRow<'_> {
    /// The path of the new file, of the first line about it.
    pub(crate) fn path(&self) -> &str {
        let text = self.text.split('\t').next().unwrap_or_default();
        let path = text.rsplit_once(" b/").or_else(|| text.split_once(' '));
        let path = path.map_or(text, |(_, path)| path);
        path.rsplit(' ').next().unwrap_or(path)
    }
}

/// The rows of one file, or those between two files.
#[derive(Clone, Debug)]
pub(crate) struct DiffSection {
    pub(crate) rows: Range<usize>,
    pub(crate) is_file: bool,
}

/// A text that holds a diff.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedDiff<'a> {
    pub(crate) rows: Vec<DiffRow<'a>>,
    pub(crate) sections: Vec<DiffSection>,
}

/// What is left of a hunk, by its numbers.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// No hunk is open.
    Nothing,
    /// So many lines of the old and of the new text.
    Lines(u64, u64),
    /// A hunk with several old texts, whose lines begin with so many signs.
    Signs(usize),
}

impl<'a> ParsedDiff<'a> {
    /// Reads a text; `None` where it is no diff, or a diff is but a small part of it.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut diff = Self::default();
        let mut left = Left::Nothing;
        let spans: Vec<Range<usize>> = lines(text).collect();
        // Whether a file is told about, and whether hunks of it came already.
        let (mut about, mut hunked) = (false, false);
        for (index, span) in spans.iter().enumerate() {
            let text_of = |span: &Range<usize>| shape::plain(&text[span.clone()]);
            let line = text_of(span);
            let next = spans.get(index + 1).map(text_of).unwrap_or_default();
            let what = left.take(&line).unwrap_or_else(|| {
                left = Left::of(&line).filter(|_| about).unwrap_or(Left::Nothing);
                match left {
                    Left::Nothing => outside(&line, &next, about, hunked),
                    Left::Lines(..) | Left::Signs(_) => DiffRowKind::Hunk,
                }
            });
            let begins = what == DiffRowKind::File;
            let ends = what == DiffRowKind::Other && about;
            about = begins || about && !ends;
            hunked = (hunked || what == DiffRowKind::Hunk) && !begins;
            if begins || ends || diff.sections.is_empty() {
                diff.sections.push(DiffSection { rows: index..index, is_file: about });
            }
            if let Some(section) = diff.sections.last_mut() {
                section.rows.end = index + 1;
            }
            diff.rows.push(DiffRow { what, text: line, span: span.clone() });
        }
        diff.is_one().then_some(diff)
    }

    fn is_one(&self) -> bool {
        let filled = self.rows.iter().filter(|row| !row.text.trim().is_empty());
        let of_file = filled.clone().filter(|row| row.what != DiffRowKind::Other).count();
        let tells = |row: &DiffRow<'_>| matches!(row.what, DiffRowKind::Hunk | DiffRowKind::Fate);
        of_file * 2 >= filled.count() && self.rows.iter().any(tells)
    }

    /// How many lines of these rows were added and removed, and in how many hunks.
    pub(crate) fn counts(&self, rows: Range<usize>) -> [usize; 3] {
        let count = |what| self.rows[rows.clone()].iter().filter(|row| row.what == what).count();
        [count(DiffRowKind::Added), count(DiffRowKind::Removed), count(DiffRowKind::Hunk)]
    }
}

impl Left {
    /// What the header of a hunk announces.
    fn of(line: &str) -> Option<Self> {
        let signs = line.bytes().take_while(|byte| *byte == b'@').count();
        if signs > 2 {
            let inner = line[signs..].strip_prefix(" -")?;
            return inner.contains(&"@".repeat(signs)).then_some(Self::Signs(signs - 1));
        }
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let lines = |range: &str| match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => range.parse::<u64>().ok().map(|_| 1),
        };
        Some(Self::Lines(lines(old)?, lines(new)?))
    }

    /// What a line of the open hunk is; `None` where none is open, or the line ends it.
    fn take(&mut self, line: &str) -> Option<DiffRowKind> {
        let what = match self {
            Self::Nothing => return None,
            Self::Lines(0, 0) if line.starts_with('\\') => Some(DiffRowKind::Same),
            Self::Lines(old, new) => {
                let what = match line.bytes().next() {
                    Some(b'+') if *new > 0 => Some(DiffRowKind::Added),
                    Some(b'-') if *old > 0 => Some(DiffRowKind::Removed),
                    // Some tools drop the space of an empty line.
                    Some(b' ') | None if *old > 0 && *new > 0 => Some(DiffRowKind::Same),
                    Some(b'\\') => return Some(DiffRowKind::Same),
                    _ => None,
                };
                *old -= u64::from(matches!(what, Some(DiffRowKind::Removed | DiffRowKind::Same)));
                *new -= u64::from(matches!(what, Some(DiffRowKind::Added | DiffRowKind::Same)));
                what
            }
            Self::Signs(signs) => {
                let signs = line.as_bytes().get(..*signs).unwrap_or(line.as_bytes());
                let are_signs = signs.iter().all(|sign| b" +-".contains(sign));
                are_signs.then(|| match () {
                    () if signs.contains(&b'+') => DiffRowKind::Added,
                    () if signs.contains(&b'-') => DiffRowKind::Removed,
                    () => DiffRowKind::Same,
                })
            }
        };
        if what.is_none() {
            *self = Self::Nothing;
        }
        what
    }
}

/// What a line outside of hunks is.
fn outside(line: &str, next: &str, about: bool, hunked: bool) -> DiffRowKind {
    let starts = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    if starts(&["diff --git ", "diff --cc ", "diff --combined ", "diff -", "Index: "]) {
        return DiffRowKind::File;
    }
    if line.starts_with("--- ") && next.starts_with("+++ ") && (!about || hunked) {
        return DiffRowKind::File;
    }
    let fate = [
        "new file mode",
        "deleted file mode",
        "old mode",
        "new mode",
        "rename ",
        "copy ",
        "Binary files ",
        "GIT binary patch",
    ];
    match () {
        () if !about => DiffRowKind::Other,
        () if starts(&fate) => DiffRowKind::Fate,
        () if starts(&["index ", "--- ", "+++ ", "similarity ", "dissimilarity ", "====="]) => {
            DiffRowKind::Header
        }
        () => DiffRowKind::Other,
    }
}

/// The lines of a text with their places. A carriage return ends no line of a diff.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches(['\n', '\r']).len()
    })
}
