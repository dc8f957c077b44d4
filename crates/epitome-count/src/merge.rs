//! Byte-pair merges of one piece. Invariant: the tokens are those of the reference algorithm
//! (merge the pair of the smallest rank, the leftmost first, until none is left), in time that grows
//! with the length of the piece, not with its square. Called by the tokenizer.
//!
//! A long piece is merged window by window. What makes that exact: a row of tokens is *the* encoding
//! of its bytes if and only if every two neighbours in it are the encoding of their own bytes,
//! because the first merge across a boundary would also happen with these two alone. So the windows
//! overlap in one token, the anchor; where both windows have it, all neighbours are in order. Where
//! they have not, the window is too narrow there and is doubled.

use crate::table::VocabularyTables;

/// The rank of a pair that does not merge.
const NEVER: u32 = u32::MAX;
/// Bytes merged at a time, where that suffices.
const WINDOW: usize = 64;
/// Ranks looked through at a time.
const BLOCK: usize = 16;

/// Merges pieces; keeps its memory from piece to piece.
#[derive(Default)]
pub(crate) struct Merger {
    now: MergeWindow,
    next: MergeWindow,
}

impl Merger {
    /// Calls `emit` with the tokens of `piece` in order.
    pub(crate) fn each(
        &mut self,
        tables: &VocabularyTables,
        piece: &[u8],
        mut emit: impl FnMut(&[u32]),
    ) {
        let upto = |end: usize| end.min(piece.len());
        let mut width = WINDOW;
        let (mut start, mut end) = (0, upto(width));
        self.now.merge(tables, &piece[..end]);
        while end < piece.len() {
            let anchor = self.now.anchor(end - start);
            let from = start + self.now.starts[anchor] as usize;
            self.next.merge(tables, &piece[from..upto(from + width)]);
            if anchor > 0 && self.next.ids[0] == self.now.ids[anchor] {
                emit(&self.now.ids[..anchor]);
                std::mem::swap(&mut self.now, &mut self.next);
                (start, end) = (from, upto(from + width));
                width = WINDOW.max(width / 2);
            } else {
                // What follows changes tokens further back than this window shows.
                width = 2 * (end - start);
                end = upto(start + width);
                self.now.merge(tables, &piece[start..end]);
            }
        }
        emit(&self.now.ids);
    }
}

/// The tokens of a window. While it merges, a token sits at the offset of its first byte and the
/// offsets of its other bytes lie idle; afterwards the tokens stand in a row.
#[derive(Default)]
struct MergeWindow {
    ids: Vec<u32>,
    /// Rank of each token's merge with the next one.
    ranks: Vec<u32>,
    /// Offset of the token before.
    before: Vec<u32>,
    /// Offset of the token after.
    after: Vec<u32>,
    /// Offsets of the tokens in the row.
    starts: Vec<u32>,
}

impl MergeWindow {
    /// The last token that what follows the window's `len` bytes will hardly change.
    fn anchor(&self, len: usize) -> usize {
        let stable = (len - len / 4) as u32;
        self.starts.partition_point(|&start| start <= stable) - 1
    }

    /// Merges `bytes`; afterwards `ids` and `starts` hold its tokens.
    fn merge(&mut self, tables: &VocabularyTables, bytes: &[u8]) {
        let len = bytes.len() as u32;
        self.ids.clear();
        self.ids.extend(bytes.iter().map(|&byte| tables.byte(byte)));
        self.before.clear();
        self.before.extend((0..len).map(|at| at.wrapping_sub(1)));
        self.after.clear();
        self.after.extend(1..=len);
        self.ranks.clear();
        self.ranks.extend(self.ids.windows(2).map(|two| pair(tables, two[0], two[1])));
        self.ranks.push(NEVER);
        loop {
            let least = self.ranks.iter().fold(NEVER, |least, &rank| least.min(rank));
            if least == NEVER {
                break;
            }
            self.merge_all(tables, least);
        }
        self.close_ranks();
    }

    /// Merges every pair of this rank, left to right. The pairs this makes have larger ranks, since
    /// a token's parts have smaller ids than the token: so one sweep does them all.
    fn merge_all(&mut self, tables: &VocabularyTables, rank: u32) {
        let len = self.ranks.len();
        for block in (0..len).step_by(BLOCK) {
            let block = block..len.min(block + BLOCK);
            if self.ranks[block.clone()].contains(&rank) {
                for at in block {
                    if self.ranks[at] == rank {
                        self.merge_at(tables, at, rank);
                    }
                }
            }
        }
    }

    /// Merges the token at `at` with the next one.
    fn merge_at(&mut self, tables: &VocabularyTables, at: usize, rank: u32) {
        let right = self.after[at] as usize;
        let after = self.after[right] as usize;
        self.ids[at] = rank;
        self.ranks[right] = NEVER;
        self.after[at] = after as u32;
        self.ranks[at] = NEVER;
        if let Some(before) = self.before.get_mut(after) {
            *before = at as u32;
            self.ranks[at] = pair(tables, rank, self.ids[after]);
        }
        if at > 0 {
            let before = self.before[at] as usize;
            self.ranks[before] = pair(tables, self.ids[before], rank);
        }
    }

    /// Moves the tokens into a row.
    fn close_ranks(&mut self) {
        self.starts.clear();
        let mut at = 0;
        while let Some(&after) = self.after.get(at) {
            self.ids[self.starts.len()] = self.ids[at];
            self.starts.push(at as u32);
            at = after as usize;
        }
        self.ids.truncate(self.starts.len());
    }
}

fn pair(tables: &VocabularyTables, left: u32, right: u32) -> u32 {
    tables.pair(left, right).unwrap_or(NEVER)
}

#[cfg(test)]
#[cfg(all(feature = "o200k", feature = "cl100k"))]
mod tests {
    use super::*;
    use crate::table::{CL100K, O200K};

    /// Window by window comes out as all at once.
    fn check(piece: &str) {
        for tables in [&O200K, &CL100K] {
            let mut found: Vec<u32> = Vec::new();
            Merger::default().each(tables, piece.as_bytes(), |row| found.extend(row));
            let mut whole = MergeWindow::default();
            whole.merge(tables, piece.as_bytes());
            assert_eq!(found, whole.ids, "{piece:.80?}");
        }
    }

    #[test]
    fn short_pieces() {
        check("a");
        check("qzxv");
        check("antidisestablishmentarianism");
    }

    #[test]
    fn windows_meet() {
        for unit in ["a", "ab", "xyz", "ing", "中", "Жж", "\u{301}"] {
            for len in 60..200 {
                check(&unit.repeat(len));
            }
        }
    }

    /// A token of 128 spaces does not fit into the first window.
    #[test]
    fn windows_widen() {
        for len in [64, 128, 129, 200, 1000, 1023] {
            check(&" ".repeat(len));
            check(&format!("{}-{}", "=".repeat(len), " ".repeat(len)));
        }
    }
}
