//! Tables in plain text: which line names their columns, and which lines are their rows.
//!
//! Invariant: rows begin behind the line that names the columns. Called by [`crate::sections`].

use std::ops::Range;

use crate::section::SectionLine;

/// A table of values parted by signs has so many rows at least.
const LEAST_ROWS: usize = 3;
/// So many rows tell whether it is one.
const LOOKED_AT: usize = 20;
/// The name of a column has no more words.
const NAME_WORDS: usize = 4;

/// Where a table that begins with the first line has its names and its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableHead {
    /// The line that names the columns.
    pub(crate) header: usize,
    pub(crate) rows: Range<usize>,
}

/// The table that begins with the first of these lines.
pub(crate) fn table(lines: &[SectionLine<'_>]) -> Option<TableHead> {
    let first = lines.first()?.text;
    if first.contains('|') {
        return ruled(lines);
    }
    delimited(lines).or_else(|| aligned(lines))
}

/// One whose names a drawn line parts from its rows.
fn ruled(lines: &[SectionLine<'_>]) -> Option<TableHead> {
    let is_rule = |line: &SectionLine<'_>| {
        let text = line.text.trim();
        let signs = |c: char| matches!(c, '-' | '|' | '+' | ':' | '=' | ' ');
        text.chars().all(signs) && text.matches('-').count() > 2 && text.contains(['|', '+'])
    };
    is_rule(lines.get(1)?).then_some(())?;
    let rows = lines[2..].iter().take_while(|line| line.text.contains('|') || is_rule(line));
    let rows = rows.count();
    (rows > 0).then_some(TableHead { header: 0, rows: 2..2 + rows })
}

/// One whose values are parted by a sign, as often in each line.
fn delimited(lines: &[SectionLine<'_>]) -> Option<TableHead> {
    let first = lines.first()?.text;
    let sign = [';', '\t', ','].into_iter().find(|sign| first.matches(*sign).count() > 1)?;
    let count = first.matches(sign).count();
    let is_name = |cell: &str| {
        let cell = cell.trim().trim_matches('"');
        cell.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && cell.split_whitespace().count() <= NAME_WORDS
            && !cell.contains(['=', '(', '{', ':'])
    };
    if !first.split(sign).all(is_name) || first.ends_with(sign) {
        return None;
    }
    // Values may hold the sign in quotes.
    let is_row = |line: &&SectionLine<'_>| {
        let signs = line.text.matches(sign).count();
        signs == count || signs > count && line.text.contains('"')
    };
    let holds_values = |line: &SectionLine<'_>| line.text.bytes().any(|byte| byte.is_ascii_digit());
    let first: Vec<_> = lines[1..].iter().take(LOOKED_AT).take_while(is_row).collect();
    let is_table = first.len() >= LEAST_ROWS && first.into_iter().any(holds_values);
    let rows = if is_table { lines[1..].iter().take_while(is_row).count() } else { 0 };
    is_table.then_some(TableHead { header: 0, rows: 1..rows + 1 })
}

/// One whose values stand below each other, under names in capitals.
fn aligned(lines: &[SectionLine<'_>]) -> Option<TableHead> {
    let first = lines.first()?.text.trim();
    let is_capital = |c: char| c.is_uppercase() || c.is_ascii_digit() || " _-%()/#:.".contains(c);
    let cells = cells(first);
    let is_header = cells > 2 && first.chars().all(is_capital);
    let is_row = |line: &&SectionLine<'_>| self::cells(line.text.trim()) > 1;
    let rows = if is_header { lines[1..].iter().take_while(is_row).count() } else { 0 };
    (rows > 0).then_some(TableHead { header: 0, rows: 1..rows + 1 })
}

/// How many texts with two spaces between them stand in a line.
fn cells(line: &str) -> usize {
    line.split("  ").filter(|cell| !cell.trim().is_empty()).count()
}
