//! The terms of passages, read once for all that looks at them.
//!
//! Invariant: the terms of a passage stand in the order of its text, repeated as often as it says
//! them. Made by the ranking.

use crate::piece::Piece;
use crate::terms::{Term, TermFilter, term};

/// The terms of passages, in their order.
pub(crate) struct PieceTerms {
    all: Vec<Term>,
    /// Where those of each passage end.
    ends: Vec<usize>,
}

impl PieceTerms {
    /// Reads all of them.
    pub(crate) fn read(pieces: &[Piece<'_>]) -> Self {
        let terms = TermFilter::new();
        let mut read = Self { all: Vec::new(), ends: Vec::with_capacity(pieces.len()) };
        for piece in pieces {
            terms.each(piece.text, |word| read.all.push(term(word)));
            read.ends.push(read.all.len());
        }
        read
    }

    /// The terms of a passage, by its index.
    pub(crate) fn get(&self, at: usize) -> &[Term] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[at]]
    }

    /// The terms of every passage.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Term]> {
        (0..self.ends.len()).map(|at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;

    #[test]
    fn each_passage_has_its_own() {
        let texts = ["red blue red", "", "and", "green"];
        let origin = ContentId::for_text("all");
        let pieces: Vec<_> =
            texts.iter().zip(0..).map(|(text, order)| Piece::alone(text, origin, order)).collect();
        let terms = PieceTerms::read(&pieces);
        let [red, blue, green] = ["red", "blu", "green"].map(term);
        let expected: [&[Term]; 4] = [&[red, blue, red], &[], &[], &[green]];
        assert_eq!(terms.iter().collect::<Vec<_>>(), expected);
        assert_eq!(terms.get(3), [green]);
    }
}
