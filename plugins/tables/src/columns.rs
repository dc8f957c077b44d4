//! Tables whose columns are aligned below names that dashes underline: `sqlite3` in the mode
//! column, and the printers of many other tools.
//!
//! Invariant: a cell stands where the dashes of its column do. Called by the digest.

use std::ops::Range;

use epitome_plugin::text::rows::{CellSpelling, TableRow, TableRows};

use super::FramedTable;

/// Reads a table and what stands around it.
pub(super) fn read<'a>(text: &'a str, lines: &[Range<usize>]) -> Option<FramedTable<'a>> {
    let line = |index: usize| &text[lines[index].clone()];
    let (rule, places) = (1..lines.len().min(40))
        .find_map(|index| dashes(line(index)).map(|places| (index, places)))?;
    let columns = cells(line(rule - 1), &places)?.into_iter().map(Into::into).collect();
    let mut rows: Vec<TableRow<'a>> = Vec::new();
    let mut others: Vec<Range<usize>> = lines[..rule - 1].to_vec();
    for span in &lines[rule + 1..] {
        match cells(&text[span.clone()], &places) {
            Some(cells) => {
                let cells = cells.into_iter().map(Into::into).collect();
                rows.push(TableRow { span: span.clone(), cells, ..TableRow::default() });
            }
            None => others.push(span.clone()),
        }
    }
    let rows = TableRows { columns, rows, grouped: false, spelling: CellSpelling::bare("|") };
    Some(FramedTable { rows, others })
}

/// Where the columns begin, in characters, of a line of dashes that stand apart.
fn dashes(line: &str) -> Option<Vec<usize>> {
    let line = line.trim_end();
    if !line.bytes().all(|byte| byte == b'-' || byte == b' ') || !line.contains("- ") {
        return None;
    }
    let starts =
        line.char_indices().filter(|(at, sign)| *sign == '-' && !line[..*at].ends_with('-'));
    Some(starts.map(|(at, _)| at).collect())
}

/// The cells of a line; `None` where a word stands across the beginning of a column.
fn cells<'a>(line: &'a str, places: &[usize]) -> Option<Vec<&'a str>> {
    let mut bounds: Vec<usize> = Vec::with_capacity(places.len() + 1);
    let mut chars = line.char_indices().enumerate();
    let mut before = ' ';
    for place in places {
        let mut at = line.len();
        for (index, (byte, sign)) in chars.by_ref() {
            if index == *place {
                if !before.is_whitespace() {
                    return None;
                }
                (at, before) = (byte, sign);
                break;
            }
            before = sign;
        }
        bounds.push(at);
    }
    if bounds.get(1).is_none_or(|second| *second == line.len()) {
        return None;
    }
    bounds.push(line.len());
    Some(bounds.windows(2).map(|pair| line[pair[0]..pair[1]].trim()).collect())
}
