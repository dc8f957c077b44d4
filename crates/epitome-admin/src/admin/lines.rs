//! Which lines of a text are meant: `3`, `3-8` or `3-`.
//!
//! Invariant: lines are counted from 1, and a range that is read holds at least one.

use std::str::FromStr;

/// Some lines that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    first: usize,
    last: Option<usize>,
}

impl LineRange {
    /// All from the first one on.
    pub const ALL: Self = Self { first: 1, last: None };

    /// These lines of a text, with their line ends.
    pub fn of(self, text: &str) -> String {
        let lines = text.split_inclusive('\n').skip(self.first - 1);
        match self.last {
            Some(last) => lines.take(last + 1 - self.first).collect(),
            None => lines.collect(),
        }
    }

    /// The number of the first line.
    pub fn first(self) -> usize {
        self.first
    }

    /// Whether a line is among them.
    pub fn hold(self, line: usize) -> bool {
        line >= self.first && !self.are_before(line)
    }

    /// Whether all of them stand before a line.
    pub fn are_before(self, line: usize) -> bool {
        self.last.is_some_and(|last| last < line)
    }
}

impl FromStr for LineRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0);
        let lines = number(first).and_then(|first| {
            let last = if last.is_empty() { None } else { Some(number(last)?) };
            last.is_none_or(|last| last >= first).then_some(Self { first, last })
        });
        lines.ok_or_else(|| "expected lines counted from 1, like 3, 3-8 or 3-".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_out() {
        let check = |range: &str, cut: &str| {
            let found = range.parse::<LineRange>().map(|range| range.of("a\nb\r\n\nd"));
            assert_eq!(found, Ok(cut.to_owned()), "{range}");
        };
        check("1", "a\n");
        check("2-3", "b\r\n\n");
        check("3-", "\nd");
        check("4-9", "d");
        check("7-9", "");
        for range in ["", "0", "0-3", "3-2", "-3", "a-b"] {
            assert!(range.parse::<LineRange>().is_err(), "{range}");
        }
    }

    #[test]
    fn lines_hold_those_from_the_first_to_the_last() {
        let check = |range: &str, held: &[usize]| {
            let range = range.parse::<LineRange>().unwrap();
            let found: Vec<_> = (1..6).filter(|line| range.hold(*line)).collect();
            assert_eq!(found, held);
        };
        check("2", &[2]);
        check("2-4", &[2, 3, 4]);
        check("4-", &[4, 5]);
        check("7-9", &[]);
    }
}
