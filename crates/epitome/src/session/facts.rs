//! What policies are told of a request.
//!
//! Invariant: facts of the records and the request alone, so the same history is described in the
//! same words after a restart. Called by the turn, before each hook.

use epitome_kernel::{Thread, View};
use epitome_types::hook::{Columns, Common, ModelFacts, Place, Standing, Texts, Tokens};
use epitome_types::{Body, Entry, EntryId, Speaker};

use super::compress::Ground;
use super::state::State;
use crate::target::Window;

impl Ground<'_> {
    /// What every job says.
    pub(crate) fn common(&self, state: &State, window: Window, mode: Option<&str>) -> Common {
        let in_force = state.lineage.in_force(self.thread, &self.incoming.keys);
        let epoch = in_force.as_ref().map(|it| it.epoch);
        let size = match window {
            Window::Size(size) => Some(size),
            Window::Guessed | Window::Limit(_) => None,
        };
        let head = self.incoming.chains.last().copied().unwrap_or_default();
        let mut seed = [0; 8];
        seed.copy_from_slice(&head.0[..8]);
        Common {
            session: self.name.to_owned(),
            mode: mode.map(str::to_owned),
            class: None,
            model: ModelFacts {
                name: self.document.model().map(str::to_owned),
                size,
                limit: self.live.limit,
                stated: self.live.enforced,
            },
            tokens: self.sizes_of(&self.standing(state).0),
            compressions: state.lineage.compressions(epoch.map(|epoch| epoch.id)),
            confidence: epoch.map_or(1.0, |epoch| epoch.confidence),
            now: self.at.to_owned(),
            // Scripts read numbers as floats, which hold 53 bits.
            seed: u64::from_le_bytes(seed) >> 11,
            replies: Default::default(),
        }
    }

    /// The sizes of a prompt.
    pub(crate) fn sizes_of(&self, view: &View<'_>) -> Tokens {
        let by = view.breakdown(self.tokens);
        let (total, aside) = (by.sum(), by.system + by.tools + by.checkpoints);
        Tokens {
            total,
            system: by.system,
            tools: by.tools,
            checkpoints: by.checkpoints,
            conversation: total - aside,
        }
    }

    /// The checkpoints in the prompt, oldest first, each with the entries that it stands for.
    pub(crate) fn checkpoints(&self, state: &State) -> Vec<(Vec<EntryId>, Standing)> {
        let Some(in_force) = state.lineage.in_force(self.thread, &self.incoming.keys) else {
            return Vec::new();
        };
        let all = state.lineage.checkpoints(&in_force, self.tokens);
        let mut all: Vec<_> = all.into_iter().map(|(one, facts)| (one.covers, facts)).collect();
        all.sort_by_key(|(covers, _)| covers.last().copied());
        all
    }

    /// The messages of a thread with these entries, a list for each property.
    pub(crate) fn columns(
        &self,
        thread: &Thread,
        view: &View<'_>,
        checkpoints: &[(Vec<EntryId>, Standing)],
    ) -> Columns {
        let entries = thread.entries();
        let mut exchange = Vec::with_capacity(entries.len());
        for (number, one) in (1..).zip(thread.exchanges()) {
            exchange.resize(one.entries.end, number);
        }
        let mut checkpoint = vec![0; entries.len()];
        for (number, (covers, _)) in (1..).zip(checkpoints) {
            covers.iter().for_each(|id| checkpoint[id.index()] = number);
        }
        Columns {
            count: entries.len() as u32,
            role: entries.iter().map(|entry| entry.role.name()).collect(),
            speaker: entries.iter().map(|entry| speaker(entry).name()).collect(),
            tokens: entries.iter().map(|entry| self.tokens.entry(entry.id)).collect(),
            sent: entries.iter().map(|entry| view.sent(self.tokens, entry.id)).collect(),
            exchange,
            pinned: entries.iter().map(|entry| thread.pinned(entry.id).is_some()).collect(),
            tools: entries.iter().map(has_tools).collect(),
            checkpoint,
        }
    }
}

/// Reads what the messages of a thread say.
pub(crate) struct ThreadTexts<'a>(pub(crate) &'a Thread);

impl Texts for ThreadTexts<'_> {
    fn text(&self, place: Place) -> Option<String> {
        Some(self.0.entry(place.entry()?)?.readable())
    }
}

/// Who produced an entry; what a person typed counts before what stands beside it.
pub(crate) fn speaker(entry: &Entry) -> Speaker {
    if entry.has_speaker(Speaker::Human) {
        return Speaker::Human;
    }
    entry.parts.first().map_or(Speaker::Harness, |part| part.speaker)
}

fn has_tools(entry: &Entry) -> bool {
    let is_tool = |body: &Body| matches!(body, Body::Call(_) | Body::Result(_));
    entry.parts.iter().any(|part| is_tool(&part.body))
}
