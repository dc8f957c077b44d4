//! Tables whose cells are parted by bars, below names that a rule underlines: `psql`, `mysql`,
//! `sqlite3` in the modes box, table and markdown, `duckdb`, Markdown.
//!
//! Invariant: a row has as many cells as there are names. Called by the digest.

use std::ops::Range;

use epitome_plugin::text::rows::{CellSpelling, TableRow, TableRows};

use super::FramedTable;

const BARS: [char; 3] = ['|', '│', '┃'];

/// Where the cells of a line stand.
struct CellFrame {
    bar: char,
    /// Whether lines begin with a bar.
    closed: bool,
    /// How many cells there are.
    width: usize,
    /// How many characters stand in front of each bar of the line of names.
    bars: Vec<usize>,
}

/// Reads a table and what stands around it.
pub(super) fn read<'a>(text: &'a str, lines: &[Range<usize>]) -> Option<FramedTable<'a>> {
    let line = |index: usize| &text[lines[index].clone()];
    let names = (0..lines.len().saturating_sub(1)).take(40).find(|index| {
        line(*index).contains(BARS) && !is_rule(line(*index)) && is_rule(line(index + 1))
    })?;
    let frame = CellFrame::of(line(names))?;
    let columns = frame.cells(line(names))?.into_iter().map(Into::into).collect();
    let mut rows: Vec<TableRow<'a>> = Vec::new();
    let mut others: Vec<Range<usize>> = Vec::new();
    let mut goes_on = false;
    for (index, span) in lines.iter().enumerate().filter(|(index, _)| *index != names) {
        let line = &text[span.clone()];
        if is_rule(line) {
            continue;
        }
        match frame.cells(line).filter(|_| index > names) {
            // A cell of several lines says so at the end of each but the last.
            Some(cells) => match rows.last_mut().filter(|_| goes_on) {
                Some(row) => {
                    row.span.end = span.end;
                    row.partial = true;
                    goes_on = cells.iter().any(|cell| cell.ends_with('+'));
                }
                None => {
                    goes_on = cells.iter().any(|cell| cell.ends_with('+')) && !frame.closed;
                    let cells = cells.into_iter().map(Into::into).collect();
                    rows.push(TableRow { span: span.clone(), cells, ..TableRow::default() });
                }
            },
            None => others.push(span.clone()),
        }
    }
    let rows = TableRows { columns, rows, grouped: false, spelling: CellSpelling::bare("|") };
    Some(FramedTable { rows, others })
}

/// Whether a line only parts others.
fn is_rule(line: &str) -> bool {
    let is_sign = |c: char| "-+=|: ".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c);
    let drawn = |c: char| "-=".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c);
    line.chars().all(is_sign)
        && line.chars().filter(|c| drawn(*c) && !BARS.contains(c)).count() >= 3
        && line.contains(|c: char| "+|".contains(c) || ('\u{2502}'..='\u{257f}').contains(&c))
}

impl CellFrame {
    fn of(names: &str) -> Option<Self> {
        let bar = names.chars().find(|c| BARS.contains(c))?;
        let closed = names.trim_start().starts_with(bar);
        let bars: Vec<usize> =
            names.chars().enumerate().filter(|(_, c)| *c == bar).map(|(place, _)| place).collect();
        let width = if closed { bars.len().checked_sub(1)? } else { bars.len() + 1 };
        (width > 0).then_some(Self { bar, closed, width, bars })
    }

    /// The cells of a line; `None` where it is no row.
    fn cells<'a>(&self, line: &'a str) -> Option<Vec<&'a str>> {
        let inner = if self.closed {
            line.trim().strip_prefix(self.bar)?.strip_suffix(self.bar)?
        } else {
            line
        };
        let cells: Vec<&str> = inner.split(self.bar).map(str::trim).collect();
        if cells.len() == self.width {
            return Some(cells);
        }
        // A bar in a cell: the others stand where they do in the line of names.
        let mut ends = Vec::with_capacity(self.bars.len());
        let mut chars = line.char_indices().enumerate();
        for bar in &self.bars {
            let (_, (at, sign)) = chars.find(|(place, _)| place == bar)?;
            ends.push((sign == self.bar).then_some(at)?);
        }
        let starts = ends.iter().map(|end| end + self.bar.len_utf8());
        let (starts, ends): (Vec<usize>, Vec<usize>) = if self.closed {
            (starts.take(self.width).collect(), ends[1..].to_vec())
        } else {
            (std::iter::once(0).chain(starts).collect(), [ends.clone(), vec![line.len()]].concat())
        };
        Some(starts.iter().zip(ends).map(|(start, end)| line[*start..end].trim()).collect())
    }
}
