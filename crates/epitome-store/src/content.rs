//! What a message says, wherever pieces of it may have been copied to.
//!
//! Invariant: pure; both stores look for the same copies. Called when something is to go for good.

use epitome_kernel::types::{
    Actor, Compaction, ContentId, EntryId, GoalAction, Op, RecordedAction, SessionAction,
};
use rustc_hash::FxHashSet;
use serde_json::Value;

/// The shortest line, in bytes, that tells a quotation from a common word.
const LEAST_QUOTE: usize = 8;

/// What messages told that are to go for good.
#[derive(Debug, Default)]
pub(crate) struct ErasedContent {
    texts: FxHashSet<ContentId>,
    strings: Vec<String>,
}

impl ErasedContent {
    /// Adds a message: the address of its readable text, and its bytes.
    pub(crate) fn add(&mut self, text: ContentId, bytes: Option<&[u8]>) {
        self.texts.insert(text);
        self.strings.extend(strings(bytes));
    }

    /// The addresses under which copies may be kept: of readable texts, and of every string, since
    /// parts are kept under their own.
    pub(crate) fn addresses(&self) -> FxHashSet<ContentId> {
        let strings = self.strings.iter().map(|string| ContentId::for_text(string));
        self.texts.iter().copied().chain(strings).collect()
    }

    /// Whether an act was taken from a message: it holds words of it, and is not the user's own,
    /// who did it by hand. A system prompt holds what was said of goals in its lines. Excerpts and
    /// what policies noted may be, whatever they hold: they are put together anew.
    pub(crate) fn quoted_by(&self, acted: &RecordedAction) -> bool {
        match acted.act.clone() {
            SessionAction::Goal(GoalAction { mut change, .. }) => {
                let said =
                    |text: &mut String| self.strings.iter().any(|string| holds(string, text));
                acted.by != Actor::User && change.texts_mut().any(said)
            }
            SessionAction::System { around, .. } => {
                let lines = self.strings.iter().flat_map(|string| string.lines()).map(stated);
                let mut lines = lines.filter(|line| line.len() >= LEAST_QUOTE);
                lines.any(|line| around.iter().any(|text| text.contains(line)))
            }
            SessionAction::Recall { .. } | SessionAction::Noted { .. } => true,
            _ => false,
        }
    }
}

/// A line without the marker before it and the state behind it (RULES 57).
fn stated(line: &str) -> &str {
    let line = line.trim();
    let marked = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let line = marked.map_or(line, |(_, text)| text);
    line.rsplit_once(" - ").map_or(line, |(text, _)| text).trim()
}

/// The addresses under which copies of a message may be kept.
pub(crate) fn addresses(text: ContentId, bytes: Option<&[u8]>) -> FxHashSet<ContentId> {
    let mut told = ErasedContent::default();
    told.add(text, bytes);
    told.addresses()
}

/// How the sources of what left a prompt begin that was a message's, in the words that it was sent in.
pub(crate) fn source(session: &str, place: u32) -> String {
    format!("{session}: {}", EntryId(place))
}

/// Whether a source is that of a message.
pub(crate) fn is_of(source: &str, message: &str) -> bool {
    source.strip_prefix(message).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether a title was made of the message.
pub(crate) fn made(title: &str, bytes: Option<&[u8]>) -> bool {
    let title = title.trim_end_matches(['…', '.']);
    strings(bytes).iter().any(|string| holds(string, title))
}

/// Whether a text holds these words in their order, however they are spaced.
fn holds(text: &str, words: &str) -> bool {
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = spaced(words);
    !words.is_empty() && spaced(text).contains(&words)
}

/// The addresses of what an epoch sends, and of the lists that its checkpoints lead to.
pub(crate) fn of_epoch(epoch: &Compaction) -> FxHashSet<ContentId> {
    let mut found = FxHashSet::default();
    for op in &epoch.plan.ops {
        match op {
            Op::Replace { with: text, .. } | Op::Insert { text, .. } | Op::State { text, .. } => {
                found.insert(ContentId::for_text(text));
            }
            Op::Summarize(checkpoint) => {
                found.extend([checkpoint.id, ContentId::for_text(&checkpoint.text)]);
            }
            Op::Drop { .. } | Op::Strip { .. } | Op::Unbind { .. } => {}
        }
    }
    found
}

/// Every string of an encoded message; all of it where it is no JSON.
fn strings(bytes: Option<&[u8]>) -> Vec<String> {
    let Some(bytes) = bytes else { return Vec::new() };
    let mut found = Vec::new();
    match serde_json::from_slice(bytes) {
        Ok(value) => gather(value, &mut found),
        Err(_) => found.extend(String::from_utf8(bytes.to_vec())),
    }
    found
}

fn gather(value: Value, found: &mut Vec<String>) {
    match value {
        Value::String(string) => found.push(string),
        Value::Array(values) => values.into_iter().for_each(|value| gather(value, found)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| gather(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_a_place_to_look() {
        let bytes = br#"{"role":"user","content":[{"type":"text","text":"one \u00e9"},{"n":1}]}"#;
        let found = addresses(ContentId::for_text("whole"), Some(bytes));
        for text in ["whole", "one é", "user", "text"] {
            assert!(found.contains(&ContentId::for_text(text)), "{text}");
        }
        assert_eq!(found.len(), 4);
        assert!(
            addresses(ContentId::for_text(""), Some(b"plain"))
                .contains(&ContentId::for_text("plain"))
        );
    }

    #[test]
    fn a_system_prompt_that_states_a_goal_quotes_it() {
        let around =
            ["Help.\n\nGoal (high): Mend the parser\n- Keep the lexer".to_owned(), "".into()];
        let act = SessionAction::System { epoch: None, of: ContentId::for_text(""), around };
        let acted = RecordedAction { act, by: Actor::Policy("staged".into()), at: String::new() };
        let quoted = |said: &str| {
            let mut told = ErasedContent::default();
            let bytes = serde_json::json!({"role": "system", "content": said}).to_string();
            told.add(ContentId::for_text(said), Some(bytes.as_bytes()));
            told.quoted_by(&acted)
        };
        assert!(quoted("So be it.\n[GOAL] Mend the parser"));
        assert!(quoted("[DECISION] Keep the lexer - LOCKED"));
        assert!(!quoted("[GOAL] Mend the printer") && !quoted("Help."));
    }

    #[test]
    fn a_title_is_told_from_others() {
        let bytes = br#"{"content":"My password  is\nhunter2, remember it"}"#;
        assert!(made("My password is hunter2…", Some(bytes)));
        assert!(made("My password is", Some(bytes)));
        assert!(!made("Your password", Some(bytes)));
        assert!(!made("", Some(bytes)));
        assert!(!made("My password", None));
    }
}
