//! Rows that stand one below the other, a line for each cell: `psql` with `\x`, `mysql` with `\G`.
//!
//! Invariant: a line is part of the cell above it unless it names a column. Called by the digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::rows::{CellSpelling, TableRow, TableRows};

use super::FramedTable;

/// Reads the records and what stands around them.
pub(super) fn read<'a>(text: &'a str, lines: &[Range<usize>]) -> Option<FramedTable<'a>> {
    let line = |span: &Range<usize>| &text[span.clone()];
    let first = lines.iter().take(40).position(|span| sign(line(span)).is_some())?;
    let sign_of_names = sign(line(&lines[first]))?;
    let mut columns: Vec<Cow<'a, str>> = Vec::new();
    let mut rows: Vec<TableRow<'a>> = Vec::new();
    let mut others: Vec<Range<usize>> = lines[..first].to_vec();
    let last = lines.iter().rposition(|span| named(line(span), sign_of_names).is_some())?;
    for span in lines.get(first..=last)? {
        let text = line(span);
        if sign(text).is_some() {
            rows.push(TableRow { span: span.clone(), ..TableRow::default() });
            continue;
        }
        // The first record names the columns.
        let opens = rows.len() == 1;
        let row = rows.last_mut()?;
        row.span.end = span.end;
        let known = named(text, sign_of_names)
            .filter(|(name, _)| opens || columns.iter().any(|column| column == name));
        let Some((name, value)) = known else {
            row.partial = true;
            continue;
        };
        let place = columns.iter().position(|column| *column == name).unwrap_or_else(|| {
            columns.push(name.into());
            columns.len() - 1
        });
        row.cells.resize(row.cells.len().max(place + 1), Cow::from(""));
        row.cells[place] = value.into();
    }
    others.extend(lines[last + 1..].iter().cloned());
    let rows = TableRows { columns, rows, grouped: false, spelling: CellSpelling::bare("|") };
    Some(FramedTable { rows, others })
}

/// What stands behind the names below the line that opens a record.
fn sign(line: &str) -> Option<char> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    let psql = line.strip_prefix("-[ RECORD ").and_then(|rest| rest.split_once(' '));
    if psql.is_some_and(|(count, _)| number(count)) {
        return Some('|');
    }
    let bare = line.trim_matches('*');
    let count = bare.trim().strip_suffix(". row")?;
    (line.starts_with("***") && line.ends_with("***") && number(count)).then_some(':')
}

/// The name and the value of a cell.
fn named(line: &str, sign: char) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(sign)?;
    let name = name.trim();
    (!name.is_empty() && !name.contains(' ')).then_some((name, value.trim()))
}
