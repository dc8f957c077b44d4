//! What policies are told of a request.
//!
//! Invariant: facts of the records and the request alone, so the same history is described in the
//! same words after a restart. Called by the turn, before each hook.

use epitome_types::hook::{Common, ModelFacts};

use super::compress::Ground;
use super::state::State;
use crate::facts;
use crate::planning::Known;
use crate::target::Window;

impl Ground<'_> {
    /// What every job says.
    pub(crate) fn common(&self, state: &State, window: Window, mode: Option<&str>) -> Common {
        let in_force = state.lineage.in_force(self.thread, &self.incoming.keys);
        let epoch = in_force.as_ref().map(|it| it.epoch);
        let head = self.incoming.chains.last().copied().unwrap_or_default();
        let mut seed = [0; 8];
        seed.copy_from_slice(&head.0[..8]);
        Common {
            session: self.name.to_owned(),
            mode: mode.map(str::to_owned),
            class: None,
            model: ModelFacts {
                name: self.document.model().map(str::to_owned),
                size: window.size(),
                limit: self.live.limit,
                stated: self.live.stated,
            },
            tokens: facts::sizes(&self.standing(state).0, self.tokens),
            compressions: state.lineage.compressions(epoch.map(|epoch| epoch.id)),
            confidence: epoch.map_or(1.0, |epoch| epoch.confidence),
            now: self.at.to_owned(),
            // Scripts read numbers as floats, which hold 53 bits.
            seed: u64::from_le_bytes(seed) >> 11,
            replies: Default::default(),
        }
    }

    /// The checkpoints in the prompt, oldest first, each with the entries that it stands for.
    pub(crate) fn checkpoints(&self, state: &State) -> Vec<Known> {
        let Some(in_force) = state.lineage.in_force(self.thread, &self.incoming.keys) else {
            return Vec::new();
        };
        let all = state.lineage.checkpoints(&in_force, self.tokens);
        let mut all: Vec<_> = all.into_iter().map(|(one, facts)| (one.covers, facts)).collect();
        all.sort_by_key(|(covers, _)| covers.last().copied());
        all
    }
}
