//! The texts of a history, each with the call that brought it.

use std::borrow::Cow;

use epitome_types::{Entry, PartBody, Role};
use serde_json::Value;

use crate::names::opening;

/// Arguments that say what a call is about.
const SUBJECTS: &[&str] =
    &["file_path", "path", "filename", "file", "command", "cmd", "url", "query", "pattern"];
/// The longest name of a text, in characters.
const NAME: usize = 80;

/// A text that was said or returned.
pub(super) struct KnownText<'e> {
    /// The place of its message.
    pub(super) entry: usize,
    /// The text.
    pub(super) text: Cow<'e, str>,
    /// Its tokens.
    pub(super) tokens: u64,
    /// The tool that returned it, and what it was called with.
    pub(super) call: Option<(&'e str, &'e str)>,
    /// Who says it, where no tool does.
    pub(super) role: Role,
    /// The compression that it left with, and the turn; none where it is in the prompt.
    pub(super) left: Option<(usize, u32)>,
}

/// A text of a message.
pub(super) struct PartText<'e> {
    /// The part that it is known by.
    pub(super) part: u32,
    /// The text.
    pub(super) text: Cow<'e, str>,
    /// Its share of the tokens of its message.
    pub(super) tokens: u64,
}

impl KnownText<'_> {
    /// What it is, for people.
    pub(super) fn name(&self) -> String {
        let Some((tool, arguments)) = self.call else {
            return match self.role {
                Role::Assistant => "an answer".to_owned(),
                _ => "a message".to_owned(),
            };
        };
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let known = SUBJECTS.iter().find_map(|key| arguments[*key].as_str());
        let first = || arguments.as_object()?.values().find_map(Value::as_str);
        match known.or_else(first) {
            Some(subject) => opening(&format!("{tool} {subject}"), NAME),
            None => opening(tool, NAME),
        }
    }
}

/// The texts of a message, whose size in tokens this is. What stands within a result belongs to it.
pub(super) fn texts_of(entry: &Entry, tokens: u64) -> Vec<PartText<'_>> {
    let mut texts = Vec::<(u32, Cow<'_, str>)>::new();
    for (place, part) in (0..).zip(&entry.parts) {
        if part.within.is_some() {
            continue;
        }
        let text = match &part.body {
            PartBody::Text(text) => Cow::Borrowed(text.as_str()),
            PartBody::Result(result) if result.text.is_empty() => {
                let inner = entry.parts.iter().filter(|it| it.within == Some(place));
                let inner: Vec<_> = inner.filter_map(|it| it.text()).collect();
                Cow::Owned(inner.join("\n"))
            }
            PartBody::Result(result) => Cow::Borrowed(result.text.as_str()),
            _ => continue,
        };
        texts.push((place, text));
    }
    // The size of a message is recorded, that of its parts is not.
    let said = |part: &epitome_types::Part| part.original().map_or(0, str::len);
    let all: usize = entry.parts.iter().map(said).sum();
    let share = |text: &str| (tokens as f64 * text.len() as f64 / all.max(1) as f64) as u64;
    let mut sized = Vec::with_capacity(texts.len());
    for (part, text) in texts {
        let tokens = share(&text);
        sized.push(PartText { part, text, tokens });
    }
    sized
}
