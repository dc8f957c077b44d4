//! Rows whose cells are parted by a sign: CSV, TSV, and what `sqlite3` and `psql -A` print.
//!
//! Invariant: each row has as many cells as the first, and a cell keeps its quotes. Called by the
//! digest.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::rows::{CellSpelling, TableRow, TableRows};
use epitome_plugin::text::shape;

use super::{FramedTable, unnamed};

const SIGNS: [&str; 4] = ["\t", "|", ",", ";"];
/// At least this share of the records has as many cells as the first.
const LIKE: f64 = 0.95;
/// A record is no longer than this many bytes.
const RECORD: usize = 16_384;
/// A column's name has at most this many bytes.
const NAME: usize = 40;

/// Reads the rows; lines that are none stand around them.
pub(super) fn read<'a>(text: &'a str, lines: &[Range<usize>]) -> Option<FramedTable<'a>> {
    let first = &text[lines.first()?.clone()];
    SIGNS.iter().filter(|sign| first.contains(**sign)).find_map(|sign| {
        let mut records = records(text, lines, sign)?;
        let names = records.first()?.1.clone();
        let width = names.len();
        let is_named = is_names(&names);
        // A sign that prose and logs have, too, parts nothing unless names say so.
        let certain = is_named || width > 2 && matches!(*sign, "\t" | "|") && !stamped(&records);
        let like = records.iter().filter(|(_, cells)| cells.len() == width).count();
        if width < 2 || !certain || (like as f64) < records.len() as f64 * LIKE {
            return None;
        }
        let columns = match is_named {
            true => records.remove(0).1.into_iter().map(|name| value(name).into()).collect(),
            false => unnamed(width),
        };
        let (mut rows, mut others) = (Vec::with_capacity(records.len()), Vec::new());
        for (span, cells) in records {
            if cells.len() == width {
                let cells = cells.into_iter().map(Cow::from).collect();
                rows.push(TableRow { span, cells, ..TableRow::default() });
            } else {
                others.push(span);
            }
        }
        let spelling = CellSpelling { separator: sign, cell: |cell| cell, value };
        Some(FramedTable { rows: TableRows { columns, rows, grouped: false, spelling }, others })
    })
}

/// The records of a text; a quoted cell may have several lines. `None` where a quote never ends.
fn records<'a>(
    text: &'a str,
    lines: &[Range<usize>],
    sign: &str,
) -> Option<Vec<(Range<usize>, Vec<&'a str>)>> {
    let mut out = Vec::with_capacity(lines.len());
    let mut start: Option<usize> = None;
    for line in lines {
        let begin = start.unwrap_or(line.start);
        let record = &text[begin..line.end];
        match cells(record, sign) {
            Some(cells) => {
                out.push((begin..line.end, cells));
                start = None;
            }
            None if record.len() > RECORD => return None,
            None => start = Some(begin),
        }
    }
    start.is_none().then_some(out)
}

/// The cells of a record; `None` where a quote is still open.
fn cells<'a>(record: &'a str, sign: &str) -> Option<Vec<&'a str>> {
    let mut out = Vec::new();
    let mut rest = record;
    loop {
        let mut end = 0;
        if rest.starts_with('"') {
            // Two quotes are one in the cell.
            end = 1;
            loop {
                end += rest[end..].find('"')? + 1;
                if !rest[end..].starts_with('"') {
                    break;
                }
                end += 1;
            }
        }
        match rest[end..].find(sign) {
            Some(at) => {
                out.push(&rest[..end + at]);
                rest = &rest[end + at + sign.len()..];
            }
            None => {
                out.push(rest);
                return Some(out);
            }
        }
    }
}

/// Whether cells name columns: short, different, and neither values nor hits of a search.
fn is_names(cells: &[&str]) -> bool {
    let is_name = |cell: &&str| {
        let name = value(cell).trim();
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.len() <= NAME
            && !name.contains([':', '=', '{', '}', '<', '>', '"', '`', '\\'])
            && name.split_whitespace().count() <= 4
    };
    let mut names = cells.to_vec();
    names.sort_unstable();
    names.dedup();
    names.len() == cells.len() && cells.iter().all(is_name)
}

fn stamped(records: &[(Range<usize>, Vec<&str>)]) -> bool {
    let first = |cells: &Vec<&str>| cells.first().is_some_and(|cell| shape::is_stamped(cell));
    records.iter().filter(|(_, cells)| first(cells)).count() * 2 > records.len()
}

/// A cell without its quotes; those in it stay doubled.
fn value(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}
