//! What is said beside what a search found.
//!
//! Invariant: short, however long a query is. Called where something is recalled.

use epitome_kernel::{MissedWord, SearchAnswer};

/// So many characters of a word are repeated, and so many words.
const WORD: usize = 60;
const WORDS: usize = 8;

/// Which words of a query nothing holds, or that nothing answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryNote {
    /// The query.
    pub query: String,
    /// What is said.
    pub note: String,
}

/// What is said beside what a search found: which words nothing holds, and which others are near to
/// them; `None` where it found something and missed no word.
pub fn search_note(SearchAnswer { found, missed }: &SearchAnswer) -> Option<String> {
    if missed.is_empty() {
        let nothing = || "nothing found; try other words, or allow more tokens".to_owned();
        return found.is_empty().then(nothing);
    }
    let one = |MissedWord { word, near }: &MissedWord| match &near[..] {
        [] => format!("nothing on {}", quoted(word)),
        near => {
            let near: Vec<String> = near.iter().map(quoted).collect();
            format!("nothing on {}; near: {}", quoted(word), near.join(", "))
        }
    };
    let mut all: Vec<String> = missed.iter().take(WORDS).map(one).collect();
    match missed.len().saturating_sub(WORDS) {
        0 => {}
        1 => all.push("nor on one other word".to_owned()),
        more => all.push(format!("nor on {more} other words")),
    }
    Some(all.join("; "))
}

/// A word, as much of it as a reader needs to know it by.
pub(super) fn quoted(word: &String) -> String {
    match word.char_indices().nth(WORD) {
        Some((end, _)) => format!("`{}…`", &word[..end]),
        None => format!("`{word}`"),
    }
}
