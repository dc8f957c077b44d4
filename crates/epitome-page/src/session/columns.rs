//! The turns of a session as columns of a drawing.
//!
//! Invariant: a long session is drawn in at most [`MOST`] columns, each the largest prompt of its turns;
//! what one drawing shows of a turn stands above what another shows of it.

use std::fmt::Write;
use std::ops::Range;

use epitome::TimelineTurn;

/// The most columns.
const MOST: usize = 240;

/// Turns that share a column.
pub(super) struct ChartColumn<'t> {
    pub(super) turns: Range<usize>,
    /// The one with the largest prompt.
    pub(super) largest: &'t TimelineTurn,
}

/// The columns of all turns.
pub(super) fn columns(turns: &[TimelineTurn]) -> Vec<ChartColumn<'_>> {
    let count = turns.len().min(MOST);
    let column = |at: usize| {
        let turns_of = at * turns.len() / count..(at + 1) * turns.len() / count;
        let largest = turns[turns_of.clone()].iter().max_by_key(|turn| turn.sent.sum())?;
        Some(ChartColumn { turns: turns_of, largest })
    };
    (0..count).filter_map(column).collect()
}

/// A line that keeps its height over the width of each column.
pub(super) fn steps(columns: &[ChartColumn<'_>], y: impl Fn(&TimelineTurn) -> f64) -> String {
    let mut out = String::new();
    for (at, column) in columns.iter().enumerate() {
        let (move_to, height) = (if at == 0 { "M0 " } else { "V" }, y(column.largest));
        // Writing to a string does not fail.
        write!(out, "{move_to}{height:.1}H{}", at + 1).unwrap_or_default();
    }
    out
}

/// The area under such a line, down to `base`.
pub(super) fn area(
    columns: &[ChartColumn<'_>],
    base: f64,
    y: impl Fn(&TimelineTurn) -> f64,
) -> String {
    format!("{}V{base}H0Z", steps(columns, y))
}
