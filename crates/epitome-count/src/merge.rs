//! Byte-pair merges of one piece. Invariant: the tokens are those of the reference algorithm
//! (merge the pair of the smallest rank, the leftmost first, until none is left), in time that grows
//! with the length of the piece, not with its square. Called by the tokenizer.
//!
//! A long piece is merged window by window. What makes that exact: a row of tokens is *the* encoding
//! of its bytes if and only if every two neighbours in it are the encoding of their own bytes,
//! because the first merge across a boundary would also happen with these two alone. So the windows
//! overlap in one token, the anchor; where both windows have it, all neighbours are in order.

use crate::table::Tables;

/// The rank of a pair that does not merge.
const NEVER: u32 = u32::MAX;
/// Bytes merged at a time, where that suffices.
const WINDOW: usize = 64;

/// Merges pieces; keeps its memory from piece to piece.
#[derive(Default)]
pub(crate) struct Merger {
    now: Window,
    next: Window,
}

impl Merger {
    /// Calls `emit` with the tokens of `piece` in order.
    pub(crate) fn each(&mut self, tables: &Tables, piece: &[u8], mut emit: impl FnMut(&[u32])) {
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
                width = 2 * (end - start);
                end = upto(start + width);
                self.now.merge(tables, &piece[start..end]);
            }
        }
        emit(&self.now.ids);
    }
}

/// The tokens of a window, with room to merge them.
#[derive(Default)]
struct Window {
    ids: Vec<u32>,
    /// Rank of each token's merge with the next one.
    ranks: Vec<u32>,
    /// Byte offset of each token in the window.
    starts: Vec<u32>,
}

impl Window {
    /// The last token that what follows the window's `len` bytes will hardly change.
    fn anchor(&self, len: usize) -> usize {
        let stable = (len - len / 4) as u32;
        self.starts.partition_point(|&start| start <= stable) - 1
    }

    /// Merges `bytes`; afterwards `ids` and `starts` hold its tokens.
    fn merge(&mut self, tables: &Tables, bytes: &[u8]) {
        self.ids.clear();
        self.ids.extend(bytes.iter().map(|&byte| tables.byte(byte)));
        self.starts.clear();
        self.starts.extend(0..bytes.len() as u32);
        self.ranks.clear();
        self.ranks
            .extend(self.ids.windows(2).map(|two| tables.pair(two[0], two[1]).unwrap_or(NEVER)));
        self.ranks.push(NEVER);
        while let Some(&least) = self.ranks.iter().min()
            && least != NEVER
        {
            self.merge_all(tables, least);
        }
    }

    /// Merges every pair of this rank, left to right, in one sweep. The pairs this makes have
    /// larger ranks, since a token's parts have smaller ids than the token.
    fn merge_all(&mut self, tables: &Tables, rank: u32) {
        let count = self.ids.len();
        let mut read = self.ranks.iter().position(|&other| other == rank).unwrap_or(count);
        let mut write = read;
        let mut changed = false;
        while read < count {
            let merges = self.ranks[read] == rank;
            self.starts[write] = self.starts[read];
            self.ids[write] = if merges { rank } else { self.ids[read] };
            if (merges || changed) && write > 0 {
                let pair = tables.pair(self.ids[write - 1], self.ids[write]);
                self.ranks[write - 1] = pair.unwrap_or(NEVER);
            }
            self.ranks[write] = if merges { NEVER } else { self.ranks[read] };
            changed = merges;
            read += if merges { 2 } else { 1 };
            write += 1;
        }
        self.ids.truncate(write);
        self.ranks.truncate(write);
        self.starts.truncate(write);
    }
}
