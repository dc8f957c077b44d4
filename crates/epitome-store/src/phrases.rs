//! Which passages say the phrases of a query.
//!
//! Invariant: a phrase is found wherever its original says it, also where that was cut in two: then
//! each passage with a part of it says it. Called by the relevance.

use crate::piece::Piece;
use crate::query::{flat, said_at};

/// For each phrase: which passages say it, or a part of it that their neighbours go on with.
pub(crate) fn saying(pieces: &[Piece<'_>], phrases: &[String]) -> Vec<Vec<bool>> {
    let mut said = vec![vec![false; pieces.len()]; phrases.len()];
    if phrases.is_empty() {
        return said;
    }
    let mut first = 0;
    for run in pieces.chunk_by(|one, next| one.precedes(next)) {
        let joined = Joined::of(run);
        for (phrase, said) in phrases.iter().zip(&mut said) {
            joined.mark(phrase, &mut said[first..first + run.len()]);
        }
        first += run.len();
    }
    said
}

/// Passages of one original that follow each other, as one text.
struct Joined {
    flat: String,
    /// Where each passage begins.
    starts: Vec<usize>,
}

impl Joined {
    fn of(run: &[Piece<'_>]) -> Self {
        let mut joined = Self { flat: String::new(), starts: Vec::with_capacity(run.len()) };
        let mut ends_apart = true;
        for piece in run {
            let is_apart =
                ends_apart || !piece.goes_on || piece.text.starts_with(char::is_whitespace);
            if is_apart && !joined.flat.is_empty() {
                joined.flat.push(' ');
            }
            joined.starts.push(joined.flat.len());
            joined.flat.push_str(&flat(piece.text));
            ends_apart = piece.text.ends_with(char::is_whitespace);
        }
        joined
    }

    /// Marks the passages in which a phrase stands, or a part of it.
    fn mark(&self, phrase: &str, said: &mut [bool]) {
        for at in said_at(&self.flat, phrase) {
            let first = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
            let last = self.starts.partition_point(|start| *start < at + phrase.len());
            said[first..last].fill(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;

    /// Passages of one original; `+` stands before what goes on within a line.
    #[track_caller]
    fn check(texts: &[&str], phrase: &str, expected: &[bool]) {
        let origin = ContentId::for_text("the one");
        let pieces: Vec<_> = texts
            .iter()
            .zip(0..)
            .map(|(text, order)| match text.strip_prefix('+') {
                Some(text) => Piece { goes_on: true, ..Piece::alone(text, origin, order) },
                None => Piece::alone(text, origin, order),
            })
            .collect();
        assert_eq!(saying(&pieces, &[phrase.to_owned()]), [expected]);
    }

    #[test]
    fn a_phrase_is_found_where_it_was_cut() {
        check(&["the connection was", "refused"], "was refused", &[true, true]);
        check(&["the connec", "+tion was"], "the connection", &[true, true]);
        check(&["the connection ", "+was"], "connection was", &[true, true]);
        check(&["one ", "two", "three four"], "one two three", &[true, true, true]);
        check(&["one", "two", "one"], "one", &[true, false, true]);
    }

    #[test]
    fn lines_make_no_new_words() {
        check(&["foo", "bar"], "foobar", &[false, false]);
        check(&["foo", "+bar"], "foo", &[false, false]);
    }

    #[test]
    fn what_is_of_another_original_does_not_go_on() {
        let pieces = [("was", "a", 0), ("refused", "b", 1)];
        let pieces = pieces
            .map(|(text, origin, order)| Piece::alone(text, ContentId::for_text(origin), order));
        assert_eq!(saying(&pieces, &["was refused".to_owned()]), [[false, false]]);
    }
}
