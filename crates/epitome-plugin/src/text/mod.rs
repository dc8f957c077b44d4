//! What digests of texts are made with.
//!
//! Invariant: pure functions of their arguments; what is not the text's own is written in `[… ]`.
//! Called by plugins.

pub mod code;
pub mod kind;
pub mod outline;
pub mod query;
pub mod rows;
pub mod shape;
pub mod tape;

use std::ops::Range;

use rustc_hash::FxHashSet;

/// The lines of a text that its digest does not hold, for a plugin that does not say what it left
/// out.
#[must_use]
pub fn unsaid(text: &str, digest: &str) -> Vec<Range<usize>> {
    let said: FxHashSet<&str> = digest.lines().map(str::trim).collect();
    shape::lines(text)
        .filter(|line| {
            let line = text[line.clone()].trim();
            !line.is_empty() && !said.contains(line)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_held_are_left_out() {
        let text = "one\n\n  two\r\nthree";
        let left: Vec<&str> =
            unsaid(text, "[… 3 lines]\ntwo").into_iter().map(|line| &text[line]).collect();
        assert_eq!(left, ["one", "three"]);
    }
}
