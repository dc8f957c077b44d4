//! What left prompts, brought back.
//!
//! Invariant: what comes back is an excerpt with its source, for the caller to use as new text; it
//! leads into no prompt by itself (RULES 2).

use epitome_kernel::{
    MissedWord, OriginalStore, SearchAnswer, StoreError, StoredText, TokenCounter,
};

use super::SessionAdmin;

/// So many characters of a word are repeated, and so many words.
const WORD: usize = 60;
const WORDS: usize = 8;

/// What was found.
#[derive(Clone, Debug)]
pub enum RecallResult {
    /// The original that the query is the id of.
    Original(StoredText),
    /// What a search came to.
    Answer(SearchAnswer),
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
fn quoted(word: &String) -> String {
    match word.char_indices().nth(WORD) {
        Some((end, _)) => format!("`{}…`", &word[..end]),
        None => format!("`{word}`"),
    }
}

impl SessionAdmin {
    /// The original with this id in the store beside the journal, or with the only id that begins
    /// so; `catch_up` is called where it is not known yet.
    ///
    /// # Errors
    ///
    /// When there is none, more than one, or the store cannot be read.
    pub fn original(
        &self,
        store: &dyn OriginalStore,
        id: &str,
        catch_up: impl Fn(&Self),
    ) -> Result<StoredText, StoreError> {
        match self.kept(store, id) {
            Err(StoreError::Unknown { .. }) => {
                self.bring_up(catch_up)?;
                self.kept(store, id)
            }
            found => found,
        }
    }

    /// The original in the first scope that has one with this id.
    fn kept(&self, store: &dyn OriginalStore, id: &str) -> Result<StoredText, StoreError> {
        let unknown = || StoreError::Unknown { id: id.to_owned() };
        let mut found = Err(unknown());
        for scope in self.scopes()? {
            found = store.original(&scope, id);
            if !matches!(found, Err(StoreError::Unknown { .. })) {
                break;
            }
        }
        found
    }

    /// Has the search know what was said in every scope that is looked through.
    fn bring_up(&self, catch_up: impl Fn(&Self)) -> Result<(), StoreError> {
        self.readers()?.iter().for_each(catch_up);
        Ok(())
    }

    /// What answers a query in at most so many tokens, or the original that it is the id of, since
    /// that is what stands in a prompt. `catch_up` is called before the search.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn recall(
        &self,
        store: &dyn OriginalStore,
        query: &str,
        most: u64,
        counter: &dyn TokenCounter,
        catch_up: impl Fn(&Self),
    ) -> Result<RecallResult, StoreError> {
        self.bring_up(catch_up)?;
        if is_id(query)
            && let Ok(blob) = self.kept(store, query)
        {
            return Ok(RecallResult::Original(blob));
        }
        self.search(store, query, most, counter).map(RecallResult::Answer)
    }
}

/// Whether a query has the form of an id, as labels and markers write it. A word that happens to
/// have it is looked for all the same.
fn is_id(query: &str) -> bool {
    (8..=32).contains(&query.len()) && query.bytes().all(|byte| byte.is_ascii_hexdigit())
}
