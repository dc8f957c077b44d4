//! How far a copy is, on a terminal.
//!
//! Invariant: nothing is written on a pipe. Called by [`super::outcome`].

use epitome::TransferProgress;

use crate::figure::{middle, short};
use crate::screen::{Screen, To};
use crate::text::{counted, grouped, plain};

/// A bar that is drawn again in place.
pub(super) struct TransferBar(Screen);

impl TransferBar {
    pub(super) fn new(quiet: bool) -> Self {
        Self(Screen::new(To::Err, !quiet))
    }

    /// Shows where the copy is. Nobody is left to tell where that fails.
    pub(super) fn show(&mut self, progress: TransferProgress<'_>) {
        if self.0.is_due() {
            let width = self.0.columns().saturating_sub(1);
            drop(self.0.draw(&block(progress, width)));
        }
    }

    pub(super) fn end(&mut self) {
        drop(self.0.clear());
    }
}

/// The lines of the bar: sessions and bytes, and the session that is on its way.
fn block(progress: TransferProgress<'_>, width: usize) -> Vec<String> {
    const CELLS: usize = 24;
    let TransferProgress { done, of, comparing, session, bytes } = progress;
    let full = done * CELLS / of.max(1);
    let bar = "█".repeat(full) + &"░".repeat(CELLS - full);
    let what = if comparing { "compared" } else { "copied" };
    let sessions = format!("{} of {}", grouped(done as u64), counted(of as u64, "session"));
    let line = format!("{bar} {sessions} {what}, {}B", short(bytes));
    vec![middle(&line, width), middle(&plain(session), width)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_said_in_two_lines_that_fit() {
        let check = |comparing, width, lines: [&str; 2]| {
            let session = "the\nsession";
            let progress = TransferProgress { done: 1, of: 4, comparing, session, bytes: 41_230 };
            assert_eq!(block(progress, width), lines);
        };
        let bar = "██████░░░░░░░░░░░░░░░░░░ 1 of 4 sessions copied, 41.2kB";
        check(false, 79, [bar, "the session"]);
        check(true, 11, ["█████…1.2kB", "the session"]);
    }
}
