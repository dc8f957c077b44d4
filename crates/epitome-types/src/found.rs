//! What a search for things that were said comes to.
//!
//! Invariant: plain data; what is found is an excerpt of an original, with its source. Filled in by
//! stores, read by whoever brings something back.

use serde::{Deserialize, Serialize};

use crate::ContentId;

/// One hit of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Address of the original it was cut from.
    pub id: ContentId,
    /// The excerpt.
    pub text: String,
    /// What the original is called.
    pub source: String,
    /// What it is called where others said the same: one for each, in the order in which they did.
    pub also: Vec<String>,
}

impl Excerpt {
    /// What the original is called in a session; `None` where that one did not say it.
    pub fn place_in(&self, session: &str) -> Option<&str> {
        let within = |source: &'_ str| -> bool {
            source.strip_prefix(session).is_some_and(|rest| rest.starts_with(": "))
        };
        let mut all = std::iter::once(&self.source).chain(&self.also).map(String::as_str);
        all.find(|source| within(source)).and_then(|source| source.get(session.len() + 2..))
    }
}

/// A passage that answers a query, by itself: before those that follow each other are put together,
/// and before what has no room is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedPassage {
    /// It, with the original that it was cut from.
    #[serde(flatten)]
    pub excerpt: Excerpt,
    /// Its place: it follows the passage of the same original whose place is one less.
    pub place: i64,
    /// How well it answers; 1 is as well as the best by its own words.
    pub score: f64,
    /// How many of the passages that were searched were said after it.
    pub age: u64,
}

/// Where something is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchRange<'a> {
    /// In scopes that the caller may read.
    Scopes(&'a [String]),
    /// In what one session said alone.
    Session(SessionOf<'a>),
}

/// One session of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOf<'a> {
    /// The scope.
    pub scope: &'a str,
    /// The session's name in it.
    pub session: &'a str,
}

/// A word that was looked for and that nothing kept holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedWord {
    /// The word, or the phrase in its quotes.
    pub word: String,
    /// The nearest words that are there, as they are written, the nearest first.
    pub near: Vec<String>,
}

/// A word, and the passages that hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WordMentions {
    /// The word.
    pub word: String,
    /// The passages, those first that answer best what was looked for, then the newest.
    pub passages: Vec<RankedPassage>,
}

/// What a search in several scopes came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchAnswer {
    /// What answers the query, best first.
    pub found: Vec<Excerpt>,
    /// The words and phrases of the query that nothing kept there holds, where that is known: a few
    /// of them, and none of a pasted text that something answers.
    pub missed: Vec<MissedWord>,
}
