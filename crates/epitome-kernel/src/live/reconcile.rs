//! What an incoming history is to the one that is known.
//!
//! Invariant: a function of the keys alone; cache marks, times and names of sessions play no part
//! (RULES 115 and 116).

use epitome_types::EntryKey;

/// How an incoming history follows from the known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryMatch {
    /// Nothing was known.
    New,
    /// It is the known history and, from this place on, what is new.
    Extend {
        /// How many entries were known.
        from: usize,
    },
    /// It leaves the known history at this place: it was edited, rewound, forked or compacted by
    /// the client. What was known stays known.
    Branch {
        /// How many entries they share.
        at: usize,
    },
}

/// Compares an incoming history with the known one, by their keys.
pub fn reconcile(known: &[EntryKey], incoming: &[EntryKey]) -> HistoryMatch {
    let shared = known.iter().zip(incoming).take_while(|(known, incoming)| known == incoming);
    match shared.count() {
        _ if known.is_empty() => HistoryMatch::New,
        shared if shared == known.len() => HistoryMatch::Extend { from: shared },
        shared => HistoryMatch::Branch { at: shared },
    }
}

impl HistoryMatch {
    /// How many entries of the incoming history were known.
    pub fn shared(self) -> usize {
        match self {
            HistoryMatch::New => 0,
            HistoryMatch::Extend { from } => from,
            HistoryMatch::Branch { at } => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: &[u8], incoming: &[u8], expected: HistoryMatch) {
        let keys = |all: &[u8]| all.iter().map(|&one| EntryKey([one; 16])).collect::<Vec<_>>();
        assert_eq!(reconcile(&keys(known), &keys(incoming)), expected, "{known:?} {incoming:?}");
    }

    #[test]
    fn histories_extend_branch_or_are_new() {
        check(&[], &[1, 2], HistoryMatch::New);
        check(&[1, 2], &[1, 2], HistoryMatch::Extend { from: 2 });
        check(&[1, 2], &[1, 2, 3], HistoryMatch::Extend { from: 2 });
        check(&[1, 2, 3], &[1, 2], HistoryMatch::Branch { at: 2 });
        check(&[1, 2, 3], &[1, 9, 3], HistoryMatch::Branch { at: 1 });
        check(&[1, 2], &[7], HistoryMatch::Branch { at: 0 });
    }
}
