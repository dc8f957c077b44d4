//! What left the prompt, brought back for the agent.
//!
//! Invariant: it fits the tokens allowed, whatever is asked for; where something was cut, it says
//! how to go on.

use epitome_count::for_model;
use epitome_kernel::{StoredText, TokenCounter};
use serde::Serialize;

use super::SessionControls;
use crate::admin::{LineRange, PassageOrigin, RecallResult, RecalledAnswer, RecalledPassage};
use crate::error::AdminError;

/// Counts tokens where the profile names no model.
const VOCABULARY: &str = "o200k_base";

/// What is to be brought back.
#[derive(Clone, Copy, Debug)]
pub enum RecallRequest<'a> {
    /// What answers a question, in any words.
    Query(&'a str),
    /// What answers several, which share the tokens.
    Queries(&'a [&'a str]),
    /// Lines of the original with an id, or with the only id that begins so.
    Original(&'a str, LineRange),
}

/// What was brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecallAnswer {
    /// What was found, best first; of several queries, one behind the other.
    pub found: Vec<RecallHit>,
    /// How to go on where not all of it is here: the lines that follow, or which words nothing holds
    /// and which are near to them; of several queries a line for each that this is said of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<String>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecallHit {
    /// The id of the original.
    pub id: String,
    /// What the original is.
    pub source: String,
    /// What it is called in other sessions that said the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// What it says.
    pub text: String,
    /// Who said it, when, and where.
    #[serde(flatten)]
    pub origin: PassageOrigin,
    /// Of several queries those that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// The name in another one that led to it, where it does not answer by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
}

impl From<RecalledPassage> for RecallHit {
    fn from(passage: RecalledPassage) -> Self {
        let RecalledPassage { excerpt, origin, queries, through } = passage;
        let (id, source, also, text) =
            (excerpt.id.short(), excerpt.source, excerpt.also, excerpt.text);
        Self { id, source, also, text, origin, queries, through }
    }
}

impl SessionControls {
    /// Brings back what is wanted, in at most so many tokens.
    ///
    /// # Errors
    ///
    /// For an id that is none or begins several, or when the journal cannot be read.
    pub fn recall(&self, wanted: RecallRequest<'_>, most: u64) -> Result<RecallAnswer, AdminError> {
        let counter = for_model(self.keeper.profile().model().unwrap_or(VOCABULARY));
        let catch_up = |keeper: &crate::admin::SessionAdmin| {
            if let Err(error) = keeper.index_new_entries(|_| {}) {
                tracing::warn!(%error, "what was said last may not be found yet");
            }
        };
        let recalled = match wanted {
            RecallRequest::Queries(queries) => {
                let found =
                    self.keeper.recall_several(&*self.store, queries, most, &counter, catch_up)?;
                return Ok(answer(found, true));
            }
            RecallRequest::Original(id, lines) => {
                let found = self.keeper.original(&*self.store, id, catch_up);
                let found = found.or_else(|error| self.found_elsewhere(id).ok_or(error));
                return Ok(original(&found?, lines, most, &counter));
            }
            RecallRequest::Query(query) => {
                let found = self.keeper.recall(&*self.store, query, most, &counter, catch_up)?;
                match &found {
                    RecallResult::Original(_) => found,
                    _ => self.found_elsewhere(query).map_or(found, RecallResult::Original),
                }
            }
        };
        Ok(match recalled {
            RecallResult::Original(blob) => original(&blob, LineRange::ALL, most, &counter),
            RecallResult::Answer(found) => answer(found, false),
        })
    }
}

fn answer(found: RecalledAnswer, several: bool) -> RecallAnswer {
    let more = found.note(several);
    RecallAnswer { found: found.found.into_iter().map(RecallHit::from).collect(), more }
}

impl SessionControls {
    /// The original with an id where the journal does not know it.
    fn found_elsewhere(&self, id: &str) -> Option<StoredText> {
        self.elsewhere.as_ref().and_then(|find| find(id.trim()))
    }
}

/// Whole lines of an original, as many as there is room for.
fn original(
    blob: &StoredText,
    lines: LineRange,
    most: u64,
    counter: &dyn TokenCounter,
) -> RecallAnswer {
    let wanted = lines.of(&blob.text);
    let all: Vec<&str> = wanted.split_inclusive('\n').collect();
    let fits = |count: &usize| counter.count(&all[..*count].concat()) <= most;
    // The most lines that fit, by halves; one line stays, cut where it is too long by itself.
    let (mut least, mut over) = (0, all.len() + 1);
    while over - least > 1 {
        let middle = usize::midpoint(least, over);
        if fits(&middle) { least = middle } else { over = middle }
    }
    let (text, more) = match least {
        count if count == all.len() => (wanted.clone(), None),
        0 => {
            let line = all.first().copied().unwrap_or_default();
            let text = shortened(line, most, counter);
            (text, Some(format!("line {} is cut; allow more tokens", lines.first())))
        }
        count => {
            let (next, last) = (lines.first() + count, lines.first() + all.len() - 1);
            (all[..count].concat(), Some(format!("go on with lines {next}-{last} of this id")))
        }
    };
    let found = RecallHit {
        id: blob.id.short(),
        source: blob.source.clone(),
        also: Vec::new(),
        text,
        origin: PassageOrigin::parse(&blob.source),
        queries: Vec::new(),
        through: None,
    };
    RecallAnswer { found: vec![found], more }
}

/// The beginning of a line that has room.
fn shortened(line: &str, most: u64, counter: &dyn TokenCounter) -> String {
    let mut end = line.len();
    while end > 0 && counter.count(&line[..end]) > most {
        end = line.floor_char_boundary(end / 2);
    }
    line[..end].to_owned()
}
