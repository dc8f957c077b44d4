//! A conversation played through a session, for what its policies do.
//!
//! Invariant: nothing is recorded but in memory. Where nobody states a window, one is taken in
//! which the conversation has to be compressed.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use epitome::lua::NO_SUMMARY;
use epitome::types::hook::Observe;
use epitome::types::{EventKind, Stage};
use epitome::{Answer, HookResult, Job, MemoryStore, NO_MODEL, PolicyTracer, WindowSetting};
use epitome_lab::{Recording, Replay, ReplaySetup, ReplayTotals, ReplayTurn};
use serde_json::Value;

use super::sample_conversation::SampleConversation;
use crate::fault::CliError;
use crate::replay::of_replay;
use crate::{files, recording};

/// The largest recording that is read, in bytes.
const MOST: u64 = 256 << 20;

/// The profile that the cost of others is measured by: it makes a prompt smaller only where that no
/// longer fits.
pub(super) const NONE: &str = "none";

/// The part of a conversation that the window is where nobody states one.
const SHARE: u64 = 4;

/// A conversation that can be played.
pub(super) struct PlayableConversation {
    /// What messages call it.
    pub(super) name: String,
    recording: Recording,
    share: u64,
    /// What must be in the last prompt whatever a policy does.
    pub(super) stays: &'static [&'static str],
}

/// A conversation that was played to its end.
pub(super) struct FinishedPlay {
    pub(super) outcome: PlayOutcome,
    pub(super) figures: ReplayTotals,
    /// The last prompt.
    pub(super) prompt: String,
}

impl PlayableConversation {
    /// A recording.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        Self::of_bytes(files::name(Some(path)), &files::read(Some(path), MOST)?)
    }

    fn of_bytes(name: String, bytes: &[u8]) -> Result<Self, CliError> {
        let recording = recording::read(&name, bytes, [None; 2])?;
        Ok(Self { name, recording, share: SHARE, stays: &[] })
    }

    /// One that is made up.
    pub(super) fn sample(sample: &SampleConversation) -> Result<Self, CliError> {
        let read = Self::of_bytes(sample.name.to_owned(), &sample.request())?;
        Ok(Self { share: sample.share, stays: sample.stays, ..read })
    }

    /// The tokens that a window has in which it must be compressed.
    pub(super) fn tight(&self, setup: &ReplaySetup) -> Result<WindowSetting, CliError> {
        let replay = Replay::new(&self.recording, setup, Arc::new(MemoryStore::new()), None);
        let replay = replay.map_err(|error| CliError::of_compression(error, &self.name))?;
        Ok(WindowSetting::Limit((replay.tokens() / self.share).max(1)))
    }

    /// The whole of it, as one request.
    pub(super) fn request(&self) -> &[u8] {
        self.recording.request()
    }

    /// A prompt of it as people read it.
    pub(super) fn readable(&self, prompt: &[u8]) -> Result<String, CliError> {
        let fault = |error| CliError::of_compression(error, &self.name);
        self.recording.readable(prompt).map_err(fault)
    }

    /// Plays it; `each` is told of every turn, with the prompt that was sent last, and says whether to
    /// go on.
    pub(super) fn play(
        &self,
        setup: &ReplaySetup,
        mut each: impl FnMut(&ReplayTurn, &[u8]) -> Result<bool, CliError>,
    ) -> Result<FinishedPlay, CliError> {
        let fault = |error| CliError::of_compression(error, &self.name);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CliError::internal)?;
        let mut replay = Replay::new(&self.recording, setup, Arc::new(MemoryStore::new()), None)
            .map_err(fault)?;
        replay.leave_out_search();
        let mut outcome = PlayOutcome { conversation: self.name.clone(), ..PlayOutcome::default() };
        while let Some(turn) =
            runtime.block_on(replay.step()).map_err(|error| of_replay(error, &self.name))?
        {
            outcome.add(&turn);
            if !each(&turn, replay.prompt())? {
                break;
            }
        }
        let prompt = String::from_utf8_lossy(replay.prompt()).into_owned();
        let figures = replay.finish().map_err(fault)?;
        let requests = &figures.requests;
        (outcome.turns, outcome.compressions) = (requests.turns, requests.compressions);
        (outcome.oversized, outcome.largest) = (requests.oversized, figures.tokens.max_sent);
        Ok(FinishedPlay { outcome, figures, prompt })
    }
}

/// A part as a share of a whole, where there is one.
pub(super) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

impl FinishedPlay {
    /// What its prompts cost, in tokens that are not cached.
    pub(super) fn cost(&self) -> f64 {
        self.figures.cache.cost
    }

    /// How many of the facts that must be kept the last prompt holds, and how many there are.
    pub(super) fn facts(&self) -> [u32; 2] {
        let kinds = self.figures.must_keep.kept.kinds();
        kinds.fold([0, 0], |[kept, facts], (_, [here, all])| [kept + here, facts + all])
    }

    /// Whether the last prompt says a text.
    pub(super) fn says(&self, text: &str) -> bool {
        let prompt = serde_json::from_str(&self.prompt).unwrap_or(Value::Null);
        let mut texts = Vec::new();
        collect(&prompt, &mut texts);
        texts.iter().any(|said| said.contains(text))
    }
}

/// All texts of a value.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        _ => {}
    }
}

/// A setup whose policies are watched.
pub(super) fn watched(setup: ReplaySetup, tracer: impl PolicyTracer + 'static) -> ReplaySetup {
    ReplaySetup { tracer: Some(Arc::new(tracer)), ..setup }
}

/// Several that watch.
pub(super) struct Tracers(pub(super) Vec<Arc<dyn PolicyTracer>>);

impl PolicyTracer for Tracers {
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &HookResult<Answer>) {
        self.0.iter().for_each(|tracer| tracer.asked(job, policy, opinion));
    }
}

/// The messages that policies pin when they come.
#[derive(Clone, Default)]
pub(super) struct PinnedTexts(Arc<Mutex<Vec<String>>>);

impl PinnedTexts {
    /// What they say.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PolicyTracer for PinnedTexts {
    fn asked(&self, job: &Job<'_>, _: &str, opinion: &HookResult<Answer>) {
        if let (Job::Observe(job), Ok(Some(Answer::Observe(Observe { pin: Some(true), .. })))) =
            (job, opinion)
        {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(job.text.to_owned());
        }
    }
}

/// What a replay says of its policies.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct PlayOutcome {
    /// What was played.
    pub(super) conversation: String,
    pub(super) turns: usize,
    pub(super) compressions: usize,
    /// Prompts that exceeded the limit.
    pub(super) oversized: usize,
    /// The largest limit that prompts were held to, in tokens.
    pub(super) limit: u64,
    /// The largest prompt, in tokens.
    pub(super) largest: u64,
    /// What the prompts cost, as a share of what they would have cost otherwise, where that was
    /// worked out.
    pub(super) cost: Option<f64>,
    /// Why prompts could not be sent at all, by turn.
    pub(super) refused: Vec<(usize, String)>,
    /// What policies failed at and which plans could not be made, by turn.
    pub(super) errors: Vec<(usize, String)>,
    /// Those of the errors that are plans which another policy's took the place of.
    #[serde(skip)]
    pub(super) discarded: Vec<(usize, String)>,
    /// Which answers were held to a bound, by turn.
    pub(super) bounded: Vec<(usize, String)>,
    /// The turns with a compression.
    #[serde(skip)]
    pub(super) compressed: Vec<usize>,
}

impl PlayOutcome {
    fn add(&mut self, turn: &ReplayTurn) {
        self.limit = self.limit.max(turn.limit);
        self.refused.extend(turn.refused.iter().map(|why| (turn.turn, why.clone())));
        for event in &turn.events {
            match &event.what {
                EventKind::Compressed { .. } => self.compressed.push(turn.turn),
                // What people demanded takes room that no policy can know of; the next one answered.
                EventKind::CompressionError { stage: Stage::CheckpointCreation, .. } => {}
                // That no model is asked here is no fault of a policy, which goes on without one.
                EventKind::PolicyError { cause } if cause.ends_with(NO_MODEL) => {}
                // A test that says nothing for it leaves summaries to the extractor.
                EventKind::CompressionError { cause, .. } if cause.ends_with(NO_SUMMARY) => {}
                EventKind::PolicyError { cause } => self.errors.push((turn.turn, cause.clone())),
                EventKind::CompressionError { stage, cause, .. } => {
                    self.errors.push((turn.turn, cause.clone()));
                    if *stage == Stage::Preparation {
                        self.discarded.push((turn.turn, cause.clone()));
                    }
                }
                EventKind::AnswerBounded { policy, hook, what, asked, given } => {
                    let what =
                        format!("{policy}: `{hook}`: `{what}` of {asked} is held to {given}");
                    self.bounded.push((turn.turn, what));
                }
                _ => {}
            }
        }
    }
}
