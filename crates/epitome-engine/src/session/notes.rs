//! Notes at the end of a conversation that is pushed: what changed of its goals and augments since
//! it was last asked for a prompt, and what comes back into it (RULES 10, 40, 51).
//!
//! Invariant: a note is a message of the history like any other, so it is recorded and no prompt
//! changes before it; none stands between a call and its result. Called before a prompt is made.

use std::collections::BTreeMap;
use std::mem;

use epitome_kernel::{StoreError, goals};
use epitome_store::SessionArchive;
use epitome_types::{Actor, ContentId, RecordedAction, SessionAction, acts_in_force};

use super::Session;
use super::action_state::returning;
use crate::builder::CompressorBuilder;
use crate::error::Error;
use epitome_admin::records::chosen;

/// What opens and closes a note, so that nobody takes it for a person's words.
const TAG: &str = "epitome-note";

/// What a conversation was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostNotes {
    /// What the journal had seen then.
    seen: Option<u64>,
    /// How many acts there were.
    acts: usize,
    /// The augments that were chosen.
    chosen: Vec<String>,
    /// Excerpts that come back with this note.
    returning: Vec<String>,
    /// Those that were active: their titles and hashes of their texts.
    active: BTreeMap<String, (String, ContentId)>,
}

impl HostNotes {
    /// What a session was told that was last used at this time.
    pub(crate) fn until(
        last: &str,
        session: &str,
        journal: &dyn SessionArchive,
        scope: &str,
        settings: &CompressorBuilder,
    ) -> Result<Self, StoreError> {
        let mut acts = journal.acts(scope, session)?;
        acts.truncate(acts.partition_point(|acted| &*acted.at <= last));
        let count = acts.len();
        let chosen = chosen(&acts_in_force(acts));
        let mut notes = Self { acts: count, chosen, ..Self::default() };
        notes.switched(settings);
        Ok(notes)
    }

    /// What is to be told now.
    fn news(
        &mut self,
        session: &str,
        journal: &dyn SessionArchive,
        scope: &str,
        settings: &CompressorBuilder,
        goals: impl Fn(&[RecordedAction]) -> String,
    ) -> Result<Vec<String>, StoreError> {
        let mut news = Vec::new();
        let seen = journal.revision(scope, session)?;
        if self.seen.replace(seen) != Some(seen) {
            let acts = journal.acts(scope, session)?;
            let new = acts.get(self.acts..).unwrap_or_default();
            // What the model says itself it knows.
            let by_hand = |acted: &RecordedAction| match acted.act {
                SessionAction::Goal(_) => !matches!(acted.by, Actor::Model),
                SessionAction::Restored { .. } => true,
                _ => false,
            };
            let is_told = new.iter().any(by_hand);
            self.acts = acts.len();
            let acts = acts_in_force(acts);
            news.extend(is_told.then(|| goals(&acts)));
            self.chosen = chosen(&acts);
            self.returning = returning(&acts);
            news.extend(self.returning.iter().cloned());
        }
        news.extend(self.switched(settings));
        Ok(news)
    }

    /// What changed of the augments: texts that are new, and titles of what is gone.
    fn switched(&mut self, settings: &CompressorBuilder) -> Vec<String> {
        let library = settings.augments.read();
        let active = library.active(&self.chosen);
        let mut now = BTreeMap::new();
        let mut news = Vec::new();
        for one in active.augments.iter().map(|one| one.augment) {
            let stands = (one.title.clone(), ContentId::for_text(&one.text));
            if self.active.get(&one.name) != Some(&stands) {
                news.push(super::work_state::shown(one));
            }
            now.insert(one.name.clone(), stands);
        }
        let gone = self.active.iter().filter(|(name, _)| !now.contains_key(*name));
        let gone: Vec<_> = gone.map(|(name, (title, _))| format!("- {title} ({name})")).collect();
        if !gone.is_empty() {
            let heading = &settings.profile.options.work_state.gone;
            news.push(format!("{heading}\n{}", gone.join("\n")));
        }
        self.active = now;
        news
    }
}

/// A note as the model reads it.
pub(super) fn tagged(text: &str) -> String {
    format!("<{TAG}>\n{text}\n</{TAG}>")
}

impl Session {
    /// Adds what changed since the last prompt to the conversation, unless a call waits for its
    /// result or nothing is recorded yet.
    pub(super) fn note(&mut self) -> Result<(), Error> {
        let pushed = self.opened()?;
        let (awaits, model) = (pushed.awaits(), pushed.model.clone());
        let Some(name) = self.record.name.clone().filter(|_| !awaits) else { return Ok(()) };
        let counter = self.counter_for(model.as_deref());
        let options = &self.settings.profile.options.work_state;
        let goals = |acts: &[RecordedAction]| {
            let known = goals::project(acts).goals;
            let words = &goals::GoalWording::ENGLISH;
            match goals::render(&known, options.goals, &*counter, words) {
                none if none.is_empty() => options.idle.clone(),
                goals => goals,
            }
        };
        let mut notes = self.notes.clone();
        let news =
            notes.news(&name, &*self.record.journal, &self.record.scope, &self.settings, goals)?;
        let returned = !mem::take(&mut notes.returning).is_empty();
        for text in news {
            let content = tagged(&text);
            let note = serde_json::json!({ "role": "user", "content": content });
            self.push(note.to_string().as_bytes())?;
        }
        self.notes = notes;
        if returned {
            let by = Actor::Policy(self.settings.profile.name().to_owned());
            let acted = RecordedAction { act: SessionAction::Returned, by, at: self.now() };
            self.record.journal.act(&self.record.scope, &name, &[acted])?;
        }
        Ok(())
    }
}
