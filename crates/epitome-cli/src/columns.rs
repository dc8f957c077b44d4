//! How many columns a line may take.
//!
//! Invariant: on standard output what the user states goes before what the terminal says, and where
//! there is neither a line has no bound. Called by whoever lays out text for people.

use std::io::{self, IsTerminal};

use terminal_size::{Width, terminal_size_of};

/// Width of a terminal that does not say another.
pub(crate) const COLUMNS: usize = 80;

/// The cells that a line on standard output may take.
pub(crate) fn output_width() -> usize {
    let terminal = || match terminal_size_of(io::stdout()) {
        Some((Width(columns), _)) if columns > 0 => usize::from(columns),
        _ if io::stdout().is_terminal() => COLUMNS,
        _ => usize::MAX,
    };
    stated_width().unwrap_or_else(terminal)
}

/// The columns that `COLUMNS` states.
pub(crate) fn stated_width() -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    stated.filter(|columns| *columns > 0)
}
