//! Exact counts by scanning, looking pieces up and merging the unknown ones. Invariant: counts equal
//! those of the reference implementation for text read as plain text (special tokens are not
//! recognised); no input panics or takes more than linear time. Called by the counters.

use std::cell::RefCell;

use crate::merge::Merger;
use crate::scan;
#[cfg(feature = "cl100k")]
use crate::table::CL100K;
#[cfg(feature = "o200k")]
use crate::table::O200K;
use crate::table::VocabularyTables;

thread_local! {
    static MERGER: RefCell<Merger> = RefCell::default();
}

/// A vocabulary that is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// `o200k_base`, of GPT-4o and later.
    #[cfg(feature = "o200k")]
    O200k,
    /// `cl100k_base`, of GPT-4 and GPT-3.5.
    #[cfg(feature = "cl100k")]
    Cl100k,
}

impl Vocabulary {
    /// The name its publisher gave it.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "o200k")]
            Self::O200k => "o200k_base",
            #[cfg(feature = "cl100k")]
            Self::Cl100k => "cl100k_base",
        }
    }

    #[cfg(test)]
    fn tables(self) -> &'static VocabularyTables {
        match self {
            #[cfg(feature = "o200k")]
            Self::O200k => &O200K,
            #[cfg(feature = "cl100k")]
            Self::Cl100k => &CL100K,
        }
    }
}

/// Counts the tokens of texts in one vocabulary. Needs no set-up and no memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
}

impl Tokenizer {
    /// A tokenizer for this vocabulary.
    pub const fn new(vocabulary: Vocabulary) -> Self {
        Self { vocabulary }
    }

    /// Its vocabulary.
    pub const fn vocabulary(self) -> Vocabulary {
        self.vocabulary
    }

    /// Tokens of a text, read as plain text.
    pub fn count(self, text: &str) -> u64 {
        match self.vocabulary {
            #[cfg(feature = "o200k")]
            Vocabulary::O200k => count(&O200K, text, scan::o200k),
            #[cfg(feature = "cl100k")]
            Vocabulary::Cl100k => count(&CL100K, text, scan::cl100k),
        }
    }

    /// The ids of the tokens, all of them merged from bytes: the oracle's tests compare them.
    #[cfg(test)]
    pub(crate) fn encode(self, text: &str) -> Vec<u32> {
        let piece = match self.vocabulary {
            #[cfg(feature = "o200k")]
            Vocabulary::O200k => scan::o200k,
            #[cfg(feature = "cl100k")]
            Vocabulary::Cl100k => scan::cl100k,
        };
        let mut ids = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = piece(text, start);
            let bytes = &text.as_bytes()[start..end];
            Merger::default().each(self.vocabulary.tables(), bytes, |row| ids.extend(row));
            start = end;
        }
        ids
    }
}

#[inline]
fn count(tables: &VocabularyTables, text: &str, piece: impl Fn(&str, usize) -> usize) -> u64 {
    let bytes = text.as_bytes();
    let mut total = 0;
    let mut start = 0;
    while start < text.len() {
        let end = piece(text, start);
        total +=
            if tables.is_token(bytes, start, end) { 1 } else { merged(tables, &bytes[start..end]) };
        start = end;
    }
    total
}

/// Tokens of a piece that is not one token itself.
fn merged(tables: &VocabularyTables, piece: &[u8]) -> u64 {
    let mut total = 0;
    MERGER.with_borrow_mut(|merger| {
        merger.each(tables, piece, |row| total += row.len() as u64);
    });
    total
}
