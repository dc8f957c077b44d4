//! One strategy on one conversation: what it would send, and what that took.
//!
//! Invariant: with a hard budget a conversation is compressed once, otherwise it is played turn by
//! turn; the same holds for a profile and for the baselines, so that their figures compare.

use std::sync::Arc;

use epitome::types::{Budget, BudgetUnit};
use epitome::{
    CompressionTarget, Error, Profile, RequestDocument, SessionArchive, SizeGauge, ThreadSizes,
    TokenCounter, UnaidedClient, scope, tool_format, tools,
};
use serde::{Deserialize, Serialize};

use super::truncate::Truncation;
use crate::replay::Replay;
use crate::sent::SentPrompt;
use crate::{CacheTraffic, Recording, ReplayError, ReplaySetup};

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// Nothing is ever cut.
    None,
    /// The newest messages that fit.
    Truncate,
    /// A profile.
    Profile(Box<Profile>),
}

/// What a strategy sends for a conversation.
#[derive(Debug, Default)]
pub(crate) struct Sends {
    /// The request, or the last prompt of a replay; none where it cannot fit.
    pub(crate) prompt: Option<Vec<u8>>,
    /// How much of the conversation it is about, in bytes of a request.
    pub(crate) of: Vec<u8>,
    pub(crate) played: Option<ReplayFigures>,
    pub(crate) faults: Vec<String>,
}

/// What a replay comes to; the keys are those of `replay`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayFigures {
    /// Requests.
    pub turns: usize,
    /// Requests that could not be sent.
    pub refused: usize,
    /// Prompts that exceed the limit.
    pub oversized: usize,
    /// Compressions; for truncation, prompts that begin elsewhere than the one before.
    pub compressions: usize,
    /// Tokens of all requests as they came.
    pub tokens_raw: u64,
    /// Tokens of all prompts as they were sent.
    pub tokens_sent: u64,
    /// Tokens of the largest prompt.
    pub max_tokens_sent: u64,
    /// The limit, in tokens.
    pub limit: u64,
    /// What the prompts cost, in tokens that are not cached.
    pub cache_cost: f64,
    /// What the requests as they came would have cost.
    pub cache_cost_uncompressed: f64,
    /// Tokens of each prompt as it was sent; 0 for one that could not be.
    #[serde(default)]
    pub prompts: Vec<u64>,
}

impl Strategy {
    /// Its name in tables and folders.
    pub fn name(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Truncate => "truncate",
            Self::Profile(profile) => profile.name(),
        }
    }

    /// The baseline of this name.
    pub fn baseline(name: &str) -> Option<Self> {
        [Self::None, Self::Truncate].into_iter().find(|one| one.name() == name)
    }

    /// The hash of what it does.
    pub fn config(&self) -> String {
        match self {
            Self::Profile(profile) => profile.config(),
            _ => self.name().to_owned(),
        }
    }

    /// The setup it runs with; a baseline takes the numbers of the one that is given.
    pub(crate) fn setup(&self, base: &ReplaySetup) -> ReplaySetup {
        let profile = match self {
            Self::Profile(profile) => (**profile).clone(),
            _ => base.profile.clone(),
        };
        ReplaySetup { profile, ..base.clone() }
    }

    /// What it sends for a conversation within a budget, or turn by turn without one. What leaves
    /// the prompt is kept in the store.
    ///
    /// # Errors
    ///
    /// When a compression fails for any reason but that it cannot fit.
    pub(crate) fn run(
        &self,
        recording: &Recording,
        setup: &ReplaySetup,
        budget: Option<Budget>,
        store: &Arc<dyn SessionArchive>,
    ) -> Result<Sends, ReplayError> {
        let document = recording.document().map_err(Error::from)?;
        let run = StrategyRun { recording, setup, store, document };
        match (self, budget) {
            (Self::Profile(_), None) => run.replayed(),
            (Self::Profile(_), Some(budget)) => run.compressed(budget),
            (_, None) => run.played(*self == Self::Truncate),
            (Self::None, Some(_)) => Ok(run.sends(Some(recording.request().to_vec()), None, None)),
            (Self::Truncate, Some(budget)) => run.truncated(budget),
        }
    }
}

struct StrategyRun<'a> {
    recording: &'a Recording,
    setup: &'a ReplaySetup,
    store: &'a Arc<dyn SessionArchive>,
    document: RequestDocument<'a>,
}

impl StrategyRun<'_> {
    /// A profile, at once.
    fn compressed(&self, budget: Budget) -> Result<Sends, ReplayError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let builder = self.setup.builder(self.recording.format()).target(match budget.unit {
            BudgetUnit::Tokens => CompressionTarget::Tokens(budget.most),
            BudgetUnit::Chars => CompressionTarget::Chars(budget.most),
            BudgetUnit::Bytes => CompressionTarget::Bytes(budget.most),
        });
        let builder = builder.store(self.store.clone(), &self.scope());
        let request = self.recording.request();
        let compressed = runtime.block_on(builder.build().compress(request));
        self.fits(compressed.map(|compressed| Some(compressed.bytes)))
    }

    /// A profile, turn by turn.
    fn replayed(&self) -> Result<Sends, ReplayError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut replay = Replay::new(self.recording, self.setup, self.store.clone(), None)?;
        let mut prompts = Vec::new();
        while let Some(turn) = runtime.block_on(replay.step())? {
            prompts.push(turn.tokens_sent);
        }
        let prompt = Some(replay.prompt().to_vec()).filter(|prompt| !prompt.is_empty());
        let figures = replay.finish()?;
        let played = ReplayFigures {
            turns: figures.requests.turns,
            refused: figures.requests.refused.len(),
            oversized: figures.requests.oversized,
            compressions: figures.requests.compressions,
            tokens_raw: figures.tokens.raw,
            tokens_sent: figures.tokens.sent,
            max_tokens_sent: figures.tokens.max_sent,
            limit: figures.limit,
            cache_cost: figures.cache.cost,
            cache_cost_uncompressed: figures.cache.cost_uncompressed,
            prompts,
        };
        let faults =
            figures.requests.refused.last().filter(|last| last.turn == figures.requests.turns);
        let faults = faults.map(|last| last.reason.clone());
        Ok(self.sends(prompt, Some(played), faults))
    }

    /// Truncation, at once.
    fn truncated(&self, budget: Budget) -> Result<Sends, ReplayError> {
        let counter = self.setup.counter(None);
        let gauge = SizeGauge { counter: &*counter, unit: budget.unit };
        let envelope = match budget.unit {
            BudgetUnit::Bytes => around(&self.document),
            _ => 0,
        };
        let truncated = Truncation::new(&self.document, envelope).within(budget, gauge);
        let kept = truncated.and_then(|truncated| {
            let Some(truncated) = truncated else { return Ok(None) };
            self.store.keep(&self.scope(), &truncated.departure)?;
            Ok(Some(truncated.bytes))
        });
        self.fits(kept)
    }

    /// Truncation turn by turn, or no compression at all.
    fn played(&self, truncates: bool) -> Result<Sends, ReplayError> {
        let format = self.document.format();
        let counter = self.setup.counter(self.document.model());
        let gauge = SizeGauge { counter: &*counter, unit: BudgetUnit::Tokens };
        let schemas = tools(&*counter, tool_format(format), &self.document.tool_schemas());
        let limit = self.setup.limit(&self.document);
        let budget = Budget { unit: BudgetUnit::Tokens, most: limit };
        let mut played = ReplayFigures { limit, ..ReplayFigures::default() };
        let (mut raw_traffic, mut traffic) = (CacheTraffic::default(), CacheTraffic::default());
        let own = self.setup.unaided(&self.document, format.name());
        let mut unaided = UnaidedClient::default();
        let (mut before, mut gone) = (None::<SentPrompt>, Vec::new());
        let (mut departure, mut fault) = (None, None);
        for messages in self.document.turns() {
            let request = self.document.prefix(messages);
            let document = RequestDocument::parse(&request, format).map_err(Error::from)?;
            let raw = ThreadSizes::measure(document.entries(), gauge, schemas).total();
            played.turns += 1;
            let bytes = match truncates {
                false => request.clone(),
                true => match Truncation::new(&document, schemas).within(budget, gauge)? {
                    Some(truncated) => {
                        played.compressions += usize::from(truncated.gone != gone);
                        gone = truncated.gone;
                        departure = Some(truncated.departure);
                        fault = None;
                        truncated.bytes
                    }
                    None => {
                        played.refused += 1;
                        played.prompts.push(0);
                        fault = Some(cannot_fit(budget));
                        continue;
                    }
                },
            };
            let after = RequestDocument::parse(&bytes, format).map_err(Error::from)?;
            let tokens = ThreadSizes::measure(after.entries(), gauge, schemas).total();
            let sent = SentPrompt::new(bytes.into(), format, tokens).map_err(Error::from)?;
            let shared = before.as_ref().map(|before| sent.shared(before, format, gauge));
            let shared = shared.transpose().map_err(Error::from)?.unwrap_or_default();
            traffic.prompt(tokens, shared);
            raw_traffic.unaided(unaided.ask(raw, own));
            played.tokens_raw += raw;
            played.tokens_sent += tokens;
            played.prompts.push(tokens);
            played.max_tokens_sent = played.max_tokens_sent.max(tokens);
            played.oversized += usize::from(tokens > limit);
            before = Some(sent);
        }
        if let Some(departure) = departure {
            self.store.keep(&self.scope(), &departure).map_err(Error::from)?;
        }
        let prices = self.setup.profile.cache_rule();
        played.cache_cost = traffic.cost(prices);
        played.cache_cost_uncompressed = raw_traffic.cost(prices);
        Ok(self.sends(before.map(|sent| sent.bytes.into()), Some(played), fault))
    }

    /// The last request of a replay is what its last prompt is about.
    fn sends(
        &self,
        prompt: Option<Vec<u8>>,
        played: Option<ReplayFigures>,
        fault: Option<String>,
    ) -> Sends {
        let last = self.document.turns().last().copied().unwrap_or_default();
        let of = match played {
            Some(_) => self.document.prefix(last),
            None => self.document.bytes().to_vec(),
        };
        let prompt = prompt.filter(|_| fault.is_none());
        Sends { prompt, of, played, faults: fault.into_iter().collect() }
    }

    fn fits(&self, done: Result<Option<Vec<u8>>, Error>) -> Result<Sends, ReplayError> {
        match done {
            Ok(Some(bytes)) => Ok(self.sends(Some(bytes), None, None)),
            Ok(None) => Ok(self.sends(None, None, Some("cannot fit".to_owned()))),
            Err(error @ Error::CannotFit { .. }) => {
                Ok(self.sends(None, None, Some(error.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn scope(&self) -> String {
        scope(self.setup.profile.name())
    }
}

fn cannot_fit(budget: Budget) -> String {
    format!("what is pinned cannot fit into {budget}")
}

/// The bytes of a request beside its messages, each of which brings one separator but the last.
fn around(document: &RequestDocument<'_>) -> u64 {
    let messages = document.entries().iter().map(|entry| u64::from(entry.bytes) + 1);
    (document.bytes().len() as u64).saturating_sub(messages.sum::<u64>().saturating_sub(1))
}

/// The counter that scores are counted with.
pub(crate) fn counter() -> Arc<dyn TokenCounter> {
    ReplaySetup::default().counter(None)
}
