//! Conversations that the tests of a policy play.
//!
//! Invariant: no model is asked over a network, and nothing is recorded. What is played stands beside
//! the tests or is made up.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use epitome::lua::{ConversationPlayer, ModelReplies};
use epitome::types::hook::{PlaySettings, PlayedConversation};
use epitome::{Config, ConfigSources, LanguageModel, ModelError, ModelQuestion, WindowSetting};
use epitome_lab::{ReplaySetup, ReplayWriters};

use super::choice::PolicyArgs;
use super::known_plays::KnownPlays;
use super::played::{FinishedPlay, NONE, PlayableConversation, share};
use super::sample_conversation::{SAMPLES, SampleConversation};
use super::saves::NewerSave;
use crate::fault::CliError;
use crate::settings;

/// The folder of a policy that tests stand in.
const TESTS: &str = "tests";

/// Plays conversations for the tests of one policy.
pub(super) struct TestPlayer {
    pub(super) args: PolicyArgs,
    pub(super) policy: String,
    /// Its folder, where it has one.
    pub(super) folder: Option<std::path::PathBuf>,
    /// What conversations came to under `none`.
    pub(super) known: Arc<KnownPlays>,
    /// Whether what is tested is no longer what the files say: then nobody reads what comes of it.
    pub(super) newer: NewerSave,
}

impl ConversationPlayer for TestPlayer {
    fn play(
        &self,
        recording: &str,
        settings: PlaySettings,
        replies: Option<ModelReplies>,
    ) -> Result<PlayedConversation, String> {
        let conversation = self.conversation(recording)?;
        let said = |error: CliError| error.line().to_owned();
        let config = self.config(&settings).map_err(said)?;
        let model =
            replies.map(|replies| Arc::new(ToldModel { replies, asked: AtomicU64::new(0) }));
        let models: Vec<Arc<dyn LanguageModel>> =
            model.iter().map(|model| Arc::clone(model) as Arc<dyn LanguageModel>).collect();
        let profile =
            |name: &str| config.profile_of_policy(name).map_err(|error| error.to_string());
        let profile_of_policy = profile(&self.policy)?;
        let extracts = Some(self.known.extracts(&conversation, &profile_of_policy));
        let writers = ReplayWriters { models, extracts };
        let mut own = ReplaySetup { profile: profile_of_policy, writers, ..ReplaySetup::default() };
        if own.profile.window() == WindowSetting::Guessed {
            own.window = conversation.tight(&own).map_err(said)?;
        }
        let played = conversation.play(&own, |_, _| Ok(!self.newer.is_there())).map_err(said)?;
        let none = self.known.play(&conversation, profile(NONE)?, own.window).map_err(said)?;
        let asked = model.map_or(0, |model| model.asked.load(Ordering::Relaxed));
        Ok(told(played, &none, asked))
    }
}

impl TestPlayer {
    /// The conversation of this name: a file beside the tests, or one that is made up.
    fn conversation(&self, name: &str) -> Result<PlayableConversation, String> {
        let said = |error: CliError| error.line().to_owned();
        let made_up = SampleConversation::find(name);
        let tests = self.folder.as_ref().map(|folder| folder.join(TESTS));
        let file = tests.as_ref().map(|tests| tests.join(name)).filter(|file| file.is_file());
        match (file.zip(tests), made_up) {
            (Some((file, tests)), _) if is_inside(&tests, &file) => {
                PlayableConversation::read(&file).map_err(said)
            }
            (_, Some(sample)) => PlayableConversation::sample(&sample).map_err(said),
            _ => {
                let names = SAMPLES.iter().map(|sample| format!("`{}`", sample.name));
                let names = names.collect::<Vec<_>>().join(", ");
                Err(format!(
                    "there is no recording `{name}`; expected a file in `{TESTS}`, or {names}"
                ))
            }
        }
    }

    /// The configuration with what a test says.
    fn config(&self, said: &PlaySettings) -> Result<Config, CliError> {
        let set = |sources| set(sources, &self.policy, said);
        Ok(self.args.find_with(set)?.config)
    }
}

fn is_inside(folder: &Path, file: &Path) -> bool {
    match (folder.canonicalize(), file.canonicalize()) {
        (Ok(folder), Ok(file)) => file.starts_with(folder),
        _ => false,
    }
}

/// Adds what a test says to a configuration.
fn set(sources: ConfigSources, policy: &str, said: &PlaySettings) -> ConfigSources {
    let at = |key: &str| format!("t.replay, `{key}`");
    let sources = settings::number(sources, &at("prompt_limit"), "prompt_limit", said.prompt_limit);
    let sources = settings::number(sources, &at("context_size"), "context_size", said.context_size);
    let sources = settings::text(sources, &at("mode"), "mode", said.mode.as_deref());
    let sources = match &said.keep {
        Some(keep) => sources.flag_of_profile(&at("keep"), "keep", keep.clone()),
        None => sources,
    };
    said.options.iter().flatten().fold(sources, |sources, (name, value)| {
        sources.flag_of_profile(&at(name), &format!("options.{policy}.{name}"), value)
    })
}

/// What a test is told.
fn told(played: FinishedPlay, none: &FinishedPlay, asked: u64) -> PlayedConversation {
    let at = |(turn, what): &(usize, String)| format!("turn {turn}: {what}");
    let all = |list: &[(usize, String)]| list.iter().map(at).collect::<Vec<_>>();
    let cost = share(played.cost(), none.cost()).unwrap_or(1.0);
    let [kept, facts] = played.facts();
    let FinishedPlay { outcome, figures, prompt } = played;
    let is_discarded = |error: &&(usize, String)| !outcome.discarded.contains(error);
    let errors = outcome.errors.iter().filter(is_discarded).chain(&outcome.refused).map(at);
    PlayedConversation {
        turns: outcome.turns as u64,
        compressions: outcome.compressions as u64,
        cost,
        limit: outcome.limit,
        largest: outcome.largest,
        kept: share(f64::from(kept), f64::from(facts)).unwrap_or(1.0),
        lost: figures.must_keep.lost.iter().map(|lost| lost.text.clone()).collect(),
        discarded: all(&outcome.discarded),
        errors: errors.collect(),
        bounded: all(&outcome.bounded),
        asked,
        prompt,
    }
}

/// A model that answers what a test says.
struct ToldModel {
    replies: ModelReplies,
    asked: AtomicU64,
}

#[async_trait]
impl LanguageModel for ToldModel {
    fn name(&self) -> &str {
        "t.reply"
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.replies)(ask).map_err(|cause| ModelError {
            model: self.name().to_owned(),
            cause,
            lack: epitome::ModelLimitHit::Other,
        })
    }
}
