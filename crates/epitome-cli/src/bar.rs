//! Bars of tokens: what is still there, and what was.
//!
//! Invariant: readable without colours; a category that is not empty shows at least one cell.

use std::fmt;

use anstyle::{AnsiColor, Style};

const THERE: char = '█';
const GONE: char = '░';

/// One category before and after.
#[derive(Clone, Copy)]
pub(crate) struct BeforeAfterBar {
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// What the whole width stands for.
    pub(crate) whole: u64,
    /// In cells.
    pub(crate) width: usize,
}

impl BeforeAfterBar {
    fn cells(&self, tokens: u64) -> usize {
        match tokens {
            0 => 0,
            _ => ((tokens as f64 / self.whole.max(1) as f64 * self.width as f64).round() as usize)
                .clamp(1, self.width),
        }
    }
}

impl fmt::Display for BeforeAfterBar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.cells(self.after);
        let gone = self.cells(self.before).saturating_sub(there);
        let repeat = |cell: char, times: usize| cell.to_string().repeat(times);
        let green = Style::new().fg_color(Some(AnsiColor::Green.into()));
        let dim = Style::new().dimmed();
        write!(f, "{green}{}{green:#}", repeat(THERE, there))?;
        if gone > 0 {
            write!(f, "{dim}{}{dim:#}", repeat(GONE, gone))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: u64, after: u64, bar: &str) {
        let text = BeforeAfterBar { before, after, whole: 100, width: 10 }.to_string();
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), bar, "{before} {after}");
    }

    #[test]
    fn bars_show_what_is_there_and_what_was() {
        check(0, 0, "");
        check(100, 100, "██████████");
        check(100, 30, "███░░░░░░░");
        check(0, 20, "██");
        check(1, 1, "█");
        check(50, 0, "░░░░░");
    }
}
