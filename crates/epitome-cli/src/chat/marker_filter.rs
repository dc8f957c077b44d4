//! Hides the markers of goals in what a model says, while it says it (RULES 68, 57).
//!
//! Invariant: only whole lines are hidden, and only those that the built-in grammar reads as markers;
//! a line that may still become one waits for its end, everything else passes at once. What is
//! recorded keeps them. Called by the view.

use std::mem;

use epitome::{MarkerWords, markers};

/// What is left of an answer without its markers.
#[derive(Default)]
pub(super) struct MarkerFilter {
    /// How markers begin.
    words: MarkerWords,
    /// All lines that have ended, hidden ones too: code fences are known by them.
    lines: String,
    /// The line that has not.
    line: String,
    /// How much of it passed.
    passed: usize,
}

impl MarkerFilter {
    /// Hides markers that begin with these words.
    pub(super) fn new(words: &MarkerWords) -> Self {
        Self { words: words.clone(), ..Self::default() }
    }

    /// What can be shown of the answer's next piece.
    pub(super) fn hear(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for piece in piece.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                shown += &self.ended();
            } else if self.passed > 0 || !self.may_be_marker(&self.line) {
                shown += &self.line[self.passed..];
                self.passed = self.line.len();
            }
        }
        shown
    }

    /// What was still waiting when the answer ended.
    pub(super) fn end(mut self) -> String {
        self.ended()
    }

    /// What can be shown of the line, which is at its end.
    fn ended(&mut self) -> String {
        let (line, passed) = (mem::take(&mut self.line), mem::take(&mut self.passed));
        let hidden = passed == 0 && self.may_be_marker(&line) && {
            let before = markers(&self.lines, &self.words).len();
            markers(&(self.lines.clone() + &line), &self.words).len() > before
        };
        self.lines.push_str(&line);
        if hidden { String::new() } else { line[passed..].to_owned() }
    }

    /// Whether a line is a marker, as far as its beginning tells.
    fn may_be_marker(&self, line: &str) -> bool {
        let begins = line.trim_start_matches(' ');
        let is_it = |word: &str| word.starts_with(begins) || begins.starts_with(word);
        self.words.kinds().iter().any(|(word, _)| is_it(word))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(pieces: &[&str]) -> String {
        let mut veil = MarkerFilter::default();
        let shown: String = pieces.iter().map(|piece| veil.hear(piece)).collect();
        shown + &veil.end()
    }

    #[test]
    fn markers_are_hidden_however_they_come() {
        let check = |pieces: &[&str], expected: &str| assert_eq!(shown(pieces), expected);
        check(&["a\n[GO", "AL] Ship it\n", "b"], "a\nb");
        check(&["[NEXT] Write tests"], "");
        check(&["  [DECISION] Use SQLite - LOCKED\nDone."], "Done.");
        check(&["[GOALS] are fine, [NEXT] too\n"], "[GOALS] are fine, [NEXT] too\n");
        check(&["[CHECKPOINT] without a state\n"], "[CHECKPOINT] without a state\n");
        check(&["```\n[GOAL] in code\n```\n[GOAL] not in code\n"], "```\n[GOAL] in code\n```\n");
    }

    #[test]
    fn what_is_no_marker_does_not_wait() {
        let mut veil = MarkerFilter::default();
        assert_eq!(veil.hear("[1] first"), "[1] first");
        assert_eq!(veil.hear(", and"), ", and");
        assert_eq!(veil.hear("\n[NE"), "\n");
        assert_eq!(veil.hear("W] x"), "[NEW] x");
    }

    proptest! {
        #[test]
        fn the_cuts_of_a_stream_change_nothing(
            lines in prop::collection::vec("\\[?(GOAL|NEXT|a)?\\]? ?[a`é]{0,4}", 0..8),
            cut in 1_usize..7,
        ) {
            let text = lines.join("\n");
            let letters: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = letters.chunks(cut).map(|it| it.iter().collect()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(shown(&pieces), shown(&[&text]));
        }
    }
}
