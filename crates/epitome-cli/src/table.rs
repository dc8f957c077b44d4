//! Tables that fit the terminal.
//!
//! Invariant: a row is one line of at most the terminal's width: where there is too little, columns
//! of less use are left out first, then the flexible ones are clipped. On a pipe nothing is, unless
//! the verb says so.

use std::io::{self, Write};

use anstyle::Style;

use crate::columns::output_width;
use crate::text::{clipped, width, without_turns};

/// Between two columns.
pub(crate) const GAP: usize = 2;

/// A column.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    head: &'static str,
    right: bool,
    /// It may be clipped to so many cells.
    least: Option<usize>,
    /// The higher, the earlier it is left out; never where it is 0.
    spare: u8,
}

/// A column of text.
pub(crate) const fn left(head: &'static str) -> Column {
    Column { head, right: false, least: None, spare: 0 }
}

/// A column of numbers.
pub(crate) const fn right(head: &'static str) -> Column {
    Column { head, right: true, least: None, spare: 0 }
}

impl Column {
    /// May be clipped to so many cells. The last such column is clipped first.
    pub(crate) const fn least(self, cells: usize) -> Self {
        Self { least: Some(cells), ..self }
    }

    /// May be left out; the higher the number, the earlier.
    pub(crate) const fn spare(self, order: u8) -> Self {
        Self { spare: order, ..self }
    }
}

/// A table, printed page by page in the widths of the first page.
pub(crate) struct TextTable<'c> {
    columns: &'c [Column],
    indent: usize,
    most: usize,
    /// The columns that are shown and their widths; known with the first page.
    shown: Option<Vec<(usize, usize)>>,
    /// The same, where it is known before anything is printed.
    measured: Option<Vec<(usize, usize)>>,
}

impl<'c> TextTable<'c> {
    /// A table as wide as standard output.
    pub(crate) fn new(columns: &'c [Column]) -> Self {
        Self { columns, indent: 0, most: output_width(), shown: None, measured: None }
    }

    /// A table of so many cells, whatever takes it.
    pub(crate) fn within(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Stands so many cells to the right.
    pub(crate) fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Takes its widths from these rows, whatever is printed first.
    pub(crate) fn measured(self, rows: &[Vec<String>]) -> Self {
        let shown = fit(self.columns, rows, self.most.saturating_sub(self.indent));
        Self { measured: Some(shown), ..self }
    }

    /// Prints rows; before the first ones the heads, if any column has one.
    pub(crate) fn print(&mut self, out: &mut dyn Write, rows: &[Vec<String>]) -> io::Result<()> {
        let shown = match self.shown.take() {
            Some(shown) => shown,
            None => {
                let fitted = || fit(self.columns, rows, self.most.saturating_sub(self.indent));
                let shown = self.measured.take().unwrap_or_else(fitted);
                let heads: Vec<_> =
                    self.columns.iter().map(|column| column.head.to_owned()).collect();
                if heads.iter().any(|head| !head.is_empty()) {
                    let bold = Style::new().bold();
                    let line = self.line(&shown, &heads);
                    writeln!(out, "{bold}{line}{bold:#}")?;
                }
                shown
            }
        };
        for row in rows {
            writeln!(out, "{}", self.line(&shown, row))?;
        }
        self.shown = Some(shown);
        Ok(())
    }

    fn line(&self, shown: &[(usize, usize)], cells: &[String]) -> String {
        let mut line = " ".repeat(self.indent);
        for (place, &(column, wide)) in shown.iter().enumerate() {
            let cell = cells.get(column).map_or("", String::as_str);
            // A figure that is wider than those of the first page is shown all the same.
            let most = self.columns[column].least.map_or(usize::MAX, |_| wide);
            let cell = clipped(&without_turns(cell), most);
            let room = " ".repeat(wide.saturating_sub(width(&cell)));
            if place > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            match self.columns[column].right {
                true => line.extend([room.as_str(), &cell]),
                false => line.extend([cell.as_str(), &room]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The columns that are shown, and how wide each is.
fn fit(columns: &[Column], rows: &[Vec<String>], most: usize) -> Vec<(usize, usize)> {
    let natural = |place: usize| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        let cells = cells.map(|cell| width(&without_turns(cell)));
        cells.max().unwrap_or(0).max(width(columns[place].head))
    };
    let mut shown: Vec<(usize, usize)> =
        (0..columns.len()).map(|place| (place, natural(place))).collect();
    let least =
        |(place, wide): (usize, usize)| columns[place].least.map_or(wide, |it| it.min(wide));
    let gaps = |shown: &[(usize, usize)]| GAP * shown.len().saturating_sub(1);
    let needs = |shown: &[(usize, usize)]| {
        gaps(shown) + shown.iter().map(|&column| least(column)).sum::<usize>()
    };
    while needs(&shown) > most {
        let spare = |&(_, &(place, _)): &(usize, &(usize, usize))| columns[place].spare;
        let last = shown.iter().enumerate().max_by_key(spare).map(|(at, &(place, _))| (at, place));
        match last {
            Some((at, place)) if columns[place].spare > 0 => shown.remove(at),
            _ => break,
        };
    }
    let all = gaps(&shown) + shown.iter().map(|(_, wide)| wide).sum::<usize>();
    let mut over = all.saturating_sub(most);
    for column in shown.iter_mut().rev() {
        let give = over.min(column.1 - least(*column));
        column.1 -= give;
        over -= give;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] =
        [left("name").least(4), right("turns").spare(1), right("n"), left("title").least(5)];

    #[track_caller]
    fn check(most: usize, lines: &[&str]) {
        let rows = [["abcdefgh", "12", "3", "some title"], ["x", "1", "1,000", ""]];
        let rows: Vec<Vec<_>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let mut table =
            TextTable { columns: &COLUMNS, indent: 1, most, shown: None, measured: None };
        let mut out = Vec::new();
        table.print(&mut out, &rows[..1]).unwrap();
        table.print(&mut out, &rows[1..]).unwrap();
        let out = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert_eq!(out.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn what_does_not_fit_is_clipped_or_left_out() {
        let last = " x             1  1,000";
        check(99, &[" name      turns  n  title", " abcdefgh     12  3  some title", last]);
        check(28, &[" name      turns  n  title", " abcdefgh     12  3  some t…", last]);
        check(20, &[" name      n  title", " abcdefgh  3  some …", " x         1,000"]);
        check(16, &[" name   n  title", " abcd…  3  some…", " x      1,000"]);
    }
}
