//! A conversation played through a session, for what its policies do.
//!
//! Invariant: nothing is recorded but in memory. Where nobody states a window, one is taken in
//! which the conversation has to be compressed.

use std::path::Path;
use std::sync::Arc;

use epitome::types::{EventKind, Stage};
use epitome::{MemoryStore, PolicyTracer, WindowSetting};
use epitome_lab::{Recording, Replay, ReplaySetup, ReplayTurn};

use super::sample_conversation::talk;
use crate::fault::CliError;
use crate::replay::of_replay;
use crate::{files, recording};

/// The largest recording that is read, in bytes.
const MOST: u64 = 256 << 20;

/// Messages of the conversation that is played where no recording is named.
const MESSAGES: usize = 100;

/// The part of a conversation that the window is where nobody states one.
const SHARE: u64 = 4;

/// A conversation that can be played.
pub(super) struct PlayableConversation {
    /// What messages call it.
    pub(super) name: String,
    recording: Recording,
}

impl PlayableConversation {
    /// The recording, or what is played where none is named.
    pub(super) fn read(input: Option<&Path>) -> Result<Self, CliError> {
        let (name, bytes) = match input {
            Some(path) => (files::name(Some(path)), files::read(Some(path), MOST)?),
            None => ("a made-up session".to_owned(), talk(MESSAGES)),
        };
        let recording = recording::read(&name, &bytes, [None; 2])?;
        Ok(Self { name, recording })
    }

    /// The tokens that a window has in which it must be compressed.
    pub(super) fn tight(&self, setup: &ReplaySetup) -> Result<WindowSetting, CliError> {
        let replay = Replay::new(&self.recording, setup, Arc::new(MemoryStore::new()), None);
        let replay = replay.map_err(|error| CliError::of_compression(error, &self.name))?;
        Ok(WindowSetting::Limit((replay.tokens() / SHARE).max(1)))
    }

    /// Plays it; `each` is told of every turn and says whether to go on.
    pub(super) fn play(
        &self,
        setup: &ReplaySetup,
        mut each: impl FnMut(&ReplayTurn) -> Result<bool, CliError>,
    ) -> Result<PlayOutcome, CliError> {
        let fault = |error| CliError::of_compression(error, &self.name);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(CliError::internal)?;
        let mut replay = Replay::new(&self.recording, setup, Arc::new(MemoryStore::new()), None)
            .map_err(fault)?;
        let mut outcome = PlayOutcome::default();
        while let Some(turn) =
            runtime.block_on(replay.step()).map_err(|error| of_replay(error, &self.name))?
        {
            outcome.add(&turn);
            if !each(&turn)? {
                break;
            }
        }
        let figures = replay.figures();
        (outcome.turns, outcome.compressions) =
            (figures.requests.turns, figures.requests.compressions);
        outcome.oversized = figures.requests.oversized;
        Ok(outcome)
    }
}

/// A setup whose policies are watched.
pub(super) fn watched(setup: ReplaySetup, tracer: impl PolicyTracer + 'static) -> ReplaySetup {
    ReplaySetup { tracer: Some(Arc::new(tracer)), ..setup }
}

/// What a replay says of its policies.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct PlayOutcome {
    pub(super) turns: usize,
    pub(super) compressions: usize,
    /// Prompts that exceeded the limit.
    pub(super) oversized: usize,
    /// The largest limit that prompts were held to, in tokens.
    pub(super) limit: u64,
    /// Why prompts could not be sent at all, by turn.
    pub(super) refused: Vec<(usize, String)>,
    /// What policies failed at and which plans could not be made, by turn.
    pub(super) errors: Vec<(usize, String)>,
}

impl PlayOutcome {
    fn add(&mut self, turn: &ReplayTurn) {
        self.limit = self.limit.max(turn.limit);
        self.refused.extend(turn.refused.iter().map(|why| (turn.turn, why.clone())));
        self.errors.extend(turn.events.iter().filter_map(|event| match &event.what {
            // What people demanded takes room that no policy can know of; the next one answered.
            EventKind::CompressionError { stage: Stage::CheckpointCreation, .. } => None,
            EventKind::PolicyError { cause } | EventKind::CompressionError { cause, .. } => {
                Some((turn.turn, cause.clone()))
            }
            _ => None,
        }));
    }

    /// Everything that is wrong with it, a line each.
    pub(super) fn faults(&self) -> Vec<String> {
        let at = |(turn, what): &(usize, String)| format!("turn {turn}: {what}");
        let mut faults: Vec<_> = self.errors.iter().chain(&self.refused).map(at).collect();
        if self.oversized > 0 {
            let (over, all) = (self.oversized, self.turns);
            faults
                .push(format!("{over} of {all} prompts exceed the limit of {} tokens", self.limit));
        }
        faults
    }
}
