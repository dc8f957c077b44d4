//! Writes a diff again in more or less detail.
//!
//! Invariant: a shown line is the diff's own, and every changed line that is not shown is counted
//! where it stood; what tells of a conflict is always shown. Called by the crate's digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::outline::{clip, counted, number};
use epitome_plugin::text::{code, shape};

use crate::diff::{DiffRow, DiffRowKind, DiffSection, ParsedDiff};

/// A line has at most about so many bytes.
const LINE: usize = 400;
/// Of other text beside the diff so many lines are shown in a row, where it is short of room.
const OTHER: usize = 8;

/// How much of a diff is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Unchanged lines around each change.
    pub(crate) around: usize,
    /// Hunks of so many changed lines are shown with all of them.
    small: usize,
    /// Of longer runs of changed lines, the first and the last.
    first: usize,
    last: usize,
    /// Whether declarations and oddities between those are shown.
    names: bool,
    /// What is shown as counts alone.
    counts: Counts,
}

/// What is shown as counts alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counts {
    Nothing,
    /// Hunks that are not small.
    Hunks,
    /// Files, with the line that begins them and what became of them.
    Files,
}

/// From the most detail to the least.
pub(crate) const DETAILS: &[Detail] = &[
    Detail { around: 3, small: 40, first: 60, last: 20, names: true, counts: Counts::Nothing },
    Detail { around: 1, small: 24, first: 40, last: 10, names: true, counts: Counts::Nothing },
    Detail { around: 1, small: 16, first: 20, last: 5, names: true, counts: Counts::Nothing },
    Detail { around: 0, small: 12, first: 12, last: 4, names: true, counts: Counts::Nothing },
    Detail { around: 0, small: 8, first: 6, last: 2, names: true, counts: Counts::Nothing },
    Detail { around: 0, small: 6, first: 4, last: 1, names: false, counts: Counts::Nothing },
    Detail { around: 0, small: 4, first: 2, last: 0, names: false, counts: Counts::Nothing },
    Detail { around: 0, small: 2, first: 0, last: 0, names: false, counts: Counts::Hunks },
    Detail { around: 0, small: 0, first: 0, last: 0, names: false, counts: Counts::Hunks },
    Detail { around: 0, small: 0, first: 0, last: 0, names: false, counts: Counts::Files },
];

/// What is written, and where the diff says what is not.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) left: Vec<Range<usize>>,
}

/// The diff in this detail; `generated` tells of each section whether nobody wrote it.
pub(crate) fn render(diff: &ParsedDiff<'_>, detail: Detail, generated: &[bool]) -> Rendered {
    let around = match detail.around {
        0 => ", without unchanged lines".to_owned(),
        around => format!(", {} around changes", counted(around, "unchanged lines")),
    };
    let mut out = Rendered { text: head(diff, &around), left: Vec::new() };
    for (section, generated) in diff.sections.iter().zip(generated) {
        let rows = section.rows.clone();
        match () {
            () if !section.is_file => out.other(&diff.rows[rows], detail),
            () if *generated => out.counts(diff, section, "generated: "),
            () if detail.counts >= Counts::Files => out.counts(diff, section, ""),
            () => out.file(diff, section, detail),
        }
    }
    out
}

/// Whether a line tells of a conflict: its marker, or what a merge says of it.
pub(crate) fn is_conflict(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '+', '-']);
    let marks = |sign: &str| {
        text.strip_prefix(&sign.repeat(7))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    marks("<")
        || marks(">")
        || marks("|")
        || marks("=")
        || line.contains("CONFLICT")
        || line.contains("nmerged")
}

/// What stands above the diff: its sums, and how it is shown.
pub(crate) fn head(diff: &ParsedDiff<'_>, how: &str) -> String {
    let [added, removed, _] = diff.counts(0..diff.rows.len());
    let files = diff.sections.iter().filter(|section| section.is_file).count();
    format!("[… diff of {}, {}{how}]", counted(files, "files"), sums(added, removed))
}

/// Added and removed lines.
pub(crate) fn sums(added: usize, removed: usize) -> String {
    format!("+{} -{}", number(added), number(removed))
}

impl Rendered {
    fn push(&mut self, row: &DiffRow<'_>, note: &str) {
        let keeps =
            is_conflict(&row.text) || row.what == DiffRowKind::Other && shape::fails(&row.text);
        let said = if keeps { Cow::Borrowed(&*row.text) } else { clip(&row.text, LINE) };
        if said.len() < row.text.len() {
            self.left.push(row.span.clone());
        }
        self.text.push('\n');
        self.text.push_str(&said);
        self.text.push_str(note);
    }

    fn leave(&mut self, rows: &[DiffRow<'_>]) {
        self.left.extend(rows.iter().map(|row| row.span.clone()));
    }

    /// Leaves out rows that are counted here.
    fn fold(&mut self, rows: &[DiffRow<'_>], noun: &str) {
        if !rows.is_empty() {
            self.text.push_str(&format!("\n[… {}]", counted(rows.len(), noun)));
            self.leave(rows);
        }
    }

    /// Shows those of the rows that are wanted and counts the others where they stood.
    fn some(
        &mut self,
        rows: &[DiffRow<'_>],
        noun: &str,
        wanted: impl Fn(usize, &DiffRow<'_>) -> bool,
    ) {
        let mut hidden = 0;
        for (at, row) in rows.iter().enumerate() {
            if wanted(at, row) {
                self.fold(&rows[at - hidden..at], noun);
                hidden = 0;
                self.push(row, "");
            } else {
                hidden += 1;
            }
        }
        self.fold(&rows[rows.len() - hidden..], noun);
    }

    /// What stands beside the diff: all of it, unless room is short.
    fn other(&mut self, rows: &[DiffRow<'_>], detail: Detail) {
        let short = !detail.names;
        self.some(rows, "lines", |at, row| {
            !short
                || at < OTHER
                || at + 1 == rows.len()
                || shape::fails(&row.text)
                || is_conflict(&row.text)
                || row.text.starts_with("commit ")
        });
    }

    /// A file as counts.
    fn counts(&mut self, diff: &ParsedDiff<'_>, section: &DiffSection, why: &str) {
        let [added, removed, hunks] = diff.counts(section.rows.clone());
        let note = match hunks {
            0 => String::new(),
            _ => format!(" [… {why}{} in {}]", sums(added, removed), counted(hunks, "hunks")),
        };
        for row in &diff.rows[section.rows.clone()] {
            match row.what {
                DiffRowKind::File => self.push(row, &note),
                DiffRowKind::Fate => self.push(row, ""),
                _ if is_conflict(&row.text) => self.push(row, ""),
                _ => self.left.push(row.span.clone()),
            }
        }
    }

    fn file(&mut self, diff: &ParsedDiff<'_>, section: &DiffSection, detail: Detail) {
        let rows = &diff.rows[section.rows.clone()];
        // Where one line names both files, the two lines that name one each say nothing new.
        let named = rows.first().is_some_and(|row| !row.text.starts_with("--- "));
        let first = rows.iter().position(|row| row.what == DiffRowKind::Hunk).unwrap_or(rows.len());
        for row in &rows[..first] {
            match row.what {
                DiffRowKind::Header if named || !row.text.starts_with("+++ ") => {
                    self.left.push(row.span.clone());
                }
                _ => self.push(row, ""),
            }
        }
        for hunk in rows[first..].chunk_by(|_, next| next.what != DiffRowKind::Hunk) {
            self.hunk(hunk, detail);
        }
    }

    /// A hunk, its header first.
    fn hunk(&mut self, rows: &[DiffRow<'_>], detail: Detail) {
        let Some((header, lines)) = rows.split_first() else { return };
        let count = |what| lines.iter().filter(|row| row.what == what).count();
        let (added, removed) = (count(DiffRowKind::Added), count(DiffRowKind::Removed));
        let small = added + removed <= detail.small;
        if detail.counts >= Counts::Hunks && !small {
            self.push(header, &format!(" [… {}]", sums(added, removed)));
            let (shown, left): (Vec<_>, _) = lines.iter().partition(|row| is_conflict(&row.text));
            shown.into_iter().for_each(|row| self.push(row, ""));
            self.left.extend(left.into_iter().map(|row: &DiffRow<'_>| row.span.clone()));
            return;
        }
        self.push(header, "");
        let runs: Vec<&[DiffRow<'_>]> = lines.chunk_by(|one, next| one.what == next.what).collect();
        for (at, run) in runs.iter().enumerate() {
            match run[0].what {
                DiffRowKind::Added => self.changed(run, "added lines", small, detail),
                DiffRowKind::Removed => self.changed(run, "removed lines", small, detail),
                _ => self.same(run, at > 0, at + 1 < runs.len(), detail),
            }
        }
    }

    /// Unchanged lines next to the changes before and behind them.
    fn same(&mut self, run: &[DiffRow<'_>], before: bool, behind: bool, detail: Detail) {
        let first = if before { detail.around } else { 0 };
        let last = if behind { detail.around } else { 0 };
        for (at, row) in run.iter().enumerate() {
            if at < first || at + last >= run.len() || is_conflict(&row.text) {
                self.push(row, "");
            } else {
                self.left.push(row.span.clone());
            }
        }
    }

    /// Added or removed lines: all of a short run, both ends of a long one and what stands out.
    fn changed(&mut self, run: &[DiffRow<'_>], noun: &str, small: bool, detail: Detail) {
        // A note takes as much room as a line.
        let whole = small || run.len() <= detail.first + detail.last + 1;
        self.some(run, noun, |at, row| {
            let said = row.text.get(1..).unwrap_or_default();
            whole
                || at < detail.first
                || at + detail.last >= run.len()
                || detail.names && (code::declares(said) || code::is_odd(said))
                || is_conflict(&row.text)
        });
    }
}
