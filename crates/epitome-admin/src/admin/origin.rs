//! Where a passage is from: who said it, when, and in which message.
//!
//! Invariant: what the text itself says of its turn goes before what was recorded, since a talk that
//! is pasted or imported was held before. Called where something is recalled.

use std::collections::HashMap;

use epitome_extract::turn_at;
use epitome_kernel::{Excerpt, OriginalStore, StoreError};
use epitome_store::SessionArchive;
use epitome_types::{EntryId, SessionInfo};
use serde::Serialize;

use super::SessionAdmin;
use super::ranking::parted;

/// Where a passage is from, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassageOrigin {
    /// Who said it: `user`, `assistant`, `tool NAME`, or the name that the text gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// When: the time that the text states, else that of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its message: `e4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The scope of the session: another project may have one of the same name.
    #[serde(skip)]
    pub scope: Option<String>,
}

impl PassageOrigin {
    /// What a source says by itself: `SESSION: e4 read_file result`.
    pub fn parse(source: &str) -> Self {
        let (session, place) = parted(source);
        let (entry, what) = place.split_once(' ').unwrap_or((place, ""));
        let tool = what.strip_suffix(" result").map(|tool| format!("tool {tool}"));
        let speaker = match (tool, what) {
            (Some(tool), _) => Some(tool),
            (None, "") => None,
            (None, "tool results") => Some("tool".to_owned()),
            (None, what) => Some(what.to_owned()),
        };
        let entry = Some(entry.to_owned()).filter(|entry| !entry.is_empty());
        Self { speaker, at: None, session: session.map(str::to_owned), entry, scope: None }
    }

    /// Who and when in a few words, beyond what its source says.
    pub fn beyond(&self, source: &str) -> Option<String> {
        let said = Self::parse(source).speaker;
        let named = self.speaker.as_deref().filter(|name| Some(*name) != said.as_deref());
        let words: Vec<&str> = named.into_iter().chain(self.at.as_deref()).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Whether a person or a model said it, whose texts may tell of several.
    fn is_of_talk(&self) -> bool {
        !self.speaker.as_deref().is_some_and(|name| name.starts_with("tool"))
    }
}

/// Finds where passages are from; each session is read once.
pub(super) struct OriginFinder<'a> {
    keeper: &'a SessionAdmin,
    store: &'a dyn OriginalStore,
    readers: Vec<SessionAdmin>,
    sessions: HashMap<String, Vec<(usize, SessionInfo)>>,
}

impl<'a> OriginFinder<'a> {
    /// For what one keeper may read.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub(super) fn new(
        keeper: &'a SessionAdmin,
        store: &'a dyn OriginalStore,
    ) -> Result<Self, StoreError> {
        Ok(Self { keeper, store, readers: keeper.readers()?, sessions: HashMap::new() })
    }

    /// Where an excerpt is from. What cannot be read is not known.
    pub(super) fn find(&mut self, excerpt: &Excerpt) -> PassageOrigin {
        let mut origin = PassageOrigin::parse(&excerpt.source);
        let original = self.keeper.kept(self.store, &excerpt.id.to_string());
        let original = original.ok().filter(|_| origin.is_of_talk());
        let text = original.as_ref().map_or("", |original| &*original.text);
        if let Some(turn) = place_in(text, &excerpt.text).and_then(|at| turn_at(text, at)) {
            origin.speaker = turn.name.map(str::to_owned).or(origin.speaker);
            origin.at = turn.time.map(str::to_owned);
        }
        if let Some((scope, at)) = self.recorded(&origin, excerpt) {
            origin.scope = Some(scope);
            origin.at = origin.at.or(at);
        }
        origin
    }

    /// The scope that the message of an excerpt was recorded in, and when.
    fn recorded(
        &mut self,
        origin: &PassageOrigin,
        excerpt: &Excerpt,
    ) -> Option<(String, Option<String>)> {
        let (session, entry) = (origin.session.as_deref()?, origin.entry.as_deref()?);
        let EntryId(place) = entry.strip_prefix('e')?.parse().ok().map(EntryId)?;
        let readers = &self.readers;
        let known = self.sessions.entry(session.to_owned()).or_insert_with(|| {
            let of = |reader: &SessionAdmin| reader.journal.session(&reader.scope, session).ok();
            readers.iter().map(of).enumerate().filter_map(|(at, info)| Some((at, info?))).collect()
        });
        let said = |(at, info): &(usize, SessionInfo)| {
            let SessionAdmin { journal, scope, .. } = &readers[*at];
            let said = said_at(&**journal, scope, info, place)?;
            // On another branch something else may stand at that place.
            (said.text == excerpt.id).then(|| (scope.clone(), said.at))
        };
        // Where nothing of that name is anywhere else, it is from there.
        let alone = || match &known[..] {
            [(at, _)] => Some((readers[*at].scope.clone(), None)),
            _ => None,
        };
        known.iter().find_map(said).or_else(alone)
    }
}

/// The message of a session at a place, its answer among them.
fn said_at(
    journal: &dyn SessionArchive,
    scope: &str,
    info: &SessionInfo,
    place: u32,
) -> Option<epitome_kernel::MessageRecord> {
    let page = journal.history(scope, &info.name, info.head, place, 1).ok()?;
    let said = page.into_iter().find(|said| said.place == place);
    said.or_else(|| journal.answer(scope, &info.name).ok()?.filter(|said| said.place == place))
}

/// Where the first line of a passage stands in its original.
fn place_in(original: &str, passage: &str) -> Option<usize> {
    let line = passage.lines().map(str::trim).find(|line| !line.is_empty())?;
    original.find(passage.trim()).or_else(|| original.find(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, speaker: Option<&str>, session: Option<&str>, entry: &str) {
        let origin = PassageOrigin::parse(source);
        assert_eq!(origin.speaker.as_deref(), speaker, "{source}");
        assert_eq!(origin.session.as_deref(), session, "{source}");
        assert_eq!(origin.entry.as_deref(), Some(entry), "{source}");
    }

    #[test]
    fn a_source_tells_who_and_where() {
        check("e4 user", Some("user"), None, "e4");
        check("talk: e12 assistant", Some("assistant"), Some("talk"), "e12");
        check("x: y: e3 read_file result", Some("tool read_file"), Some("x: y"), "e3");
        check("e5 tool results", Some("tool"), None, "e5");
        check("e1-e9", None, None, "e1-e9");
    }

    #[test]
    fn only_what_a_source_does_not_say_is_said_beside_it() {
        let mut origin = PassageOrigin::parse("e4 user");
        assert_eq!(origin.beyond("e4 user"), None);
        origin.at = Some("2024-03-02 18:03".to_owned());
        assert_eq!(origin.beyond("e4 user").as_deref(), Some("2024-03-02 18:03"));
        origin.speaker = Some("Nora".to_owned());
        assert_eq!(origin.beyond("e4 user").as_deref(), Some("Nora, 2024-03-02 18:03"));
    }
}
