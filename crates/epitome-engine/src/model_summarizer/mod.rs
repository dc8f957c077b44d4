//! Summaries that a language model writes, where a policy says how it is asked.
//!
//! Invariant: nothing is asked of a model that no policy words, and what it writes is a candidate:
//! it is taken only within its room, as a summary can be, and past the policies' judgement;
//! otherwise the next summariser writes, and an event says why. All of it ends in the time that
//! there is for models. Called by the kernel through the port, before the other summarisers.

mod accepted;
mod ask;
mod candidate;
mod chunks;
mod judge;
mod known_words;
mod phrases;
mod piece_words;
mod question;
mod steering;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use epitome_extract::MustKeepFacts;
use epitome_kernel::{
    LanguageModel, LiveRequest, ModelLimitHit, Summarizer, SummaryError, SummaryJob,
};
use epitome_types::hook::{Common, Line, MessageNumber, OpRequest, Orders, Purpose, SummaryPrompt};
use epitome_types::{Entry, EntryId, Goals, Summary, SummaryKind};

use crate::at_once::at_once;
use crate::checkpoints::KnownCheckpoint;
use crate::policy_runner::PolicyRunner;
use crate::time_budget::ModelTimeBudget;
pub(crate) use accepted::{AcceptedSummaries, lines_unsaid, says};
use ask::NoModelAnswer;
use epitome_config::profile::ProfileOptions;
pub(crate) use known_words::{KnownWords, KnownWordsSummarizer};

/// How often a model is asked again, for less, where it wrote too much.
const AGAIN: u32 = 1;

/// The share of the messages that words must be of while another model may write of all of them.
const HALF: f64 = 0.5;

/// Writes the checkpoints of one compression, by one model.
pub(crate) struct ModelSummarizer<'a> {
    pub(crate) model: &'a dyn LanguageModel,
    /// All that may be asked, and its place among them.
    pub(crate) all: &'a [Arc<dyn LanguageModel>],
    pub(crate) place: usize,
    pub(crate) context: SummaryContext<'a>,
    pub(crate) patience: &'a ModelTimeBudget,
    /// The prompt as its provider has it, where that is known.
    pub(crate) underway: Option<&'a LiveRequest>,
    /// What was written before it was asked for.
    pub(crate) ahead: PrewrittenSummary,
}

/// What summaries of one compression are written and judged by, whoever writes them.
#[derive(Clone, Copy)]
pub(crate) struct SummaryContext<'a> {
    pub(crate) council: &'a PolicyRunner,
    pub(crate) common: &'a Common,
    pub(crate) orders: &'a Orders,
    pub(crate) goals: &'a Goals,
    pub(crate) checkpoints: &'a [KnownCheckpoint],
    /// Writes what no model is asked for.
    pub(crate) inner: &'a dyn Summarizer,
    pub(crate) terms: &'a ProfileOptions,
    pub(crate) taken: &'a AcceptedSummaries,
    /// What models wrote of the conversation before.
    pub(crate) known: &'a [KnownWords],
}

/// What was written ahead: for which messages, in which room.
#[derive(Default)]
pub(crate) struct PrewrittenSummary(Mutex<Vec<(PrewrittenKey, PrewrittenText)>>);

type PrewrittenKey = (Vec<EntryId>, u8, u64);
type PrewrittenText = Result<Summary, SummaryError>;

impl PrewrittenSummary {
    fn add(&self, key: PrewrittenKey, written: PrewrittenText) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((key, written));
    }

    fn take(&self, key: &PrewrittenKey) -> Option<PrewrittenText> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(known, _)| known == key)?;
        Some(all.swap_remove(at).1)
    }
}

fn key(job: &SummaryJob<'_>) -> PrewrittenKey {
    (job.entries.iter().map(|entry| entry.id).collect(), job.level.number(), job.most)
}

#[async_trait]
impl Summarizer for ModelSummarizer<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        if job.kind == SummaryKind::Digest {
            return self.context.inner.summarize(job).await;
        }
        match self.ahead.take(&key(job)) {
            Some(written) => written,
            None => self.write(job).await,
        }
    }

    /// Asks for several summaries at the same time.
    async fn ahead(&self, jobs: &[SummaryJob<'_>]) {
        let all = jobs.iter().filter(|job| job.kind != SummaryKind::Digest);
        let all = all.map(|job| async { self.ahead.add(key(job), self.write(job).await) });
        let all: Vec<_> = all.collect();
        let most = self.context.terms.summaries.max_concurrent;
        at_once(all, self.context.council.at_once(most)).await;
    }

    fn outdated(&self, entries: &[&Entry]) -> Vec<EntryId> {
        self.context.inner.outdated(entries)
    }
}

impl ModelSummarizer<'_> {
    async fn write(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        let context = &self.context;
        let must_keep = context.must_keep(job);
        let mut most = job.most;
        let mut first = context.prompt(job, &must_keep, most).await;
        let least = 1.0 - context.terms.summaries.ahead.ask_from;
        if let Some(prompt) = &first
            && let Some(known) = context.known_words(job, prompt, &must_keep, least).await
        {
            return Ok(known);
        }
        let (mut why, mut written) = (String::new(), Vec::new());
        for _ in 0..=AGAIN {
            let prompt = match first.take() {
                Some(prompt) => Some(prompt),
                None => context.prompt(job, &must_keep, most).await,
            };
            let Some(prompt) = prompt.filter(|prompt| prompt.style != Line::None) else {
                return self.context.inner.summarize(job).await;
            };
            let writer = self.chosen(&prompt);
            match writer.said(&prompt, job, &must_keep, most).await {
                Ok(text) => {
                    let size = job.measure.size(&text);
                    if size <= job.most {
                        writer.is_sound(&text, &prompt, job)?;
                        let text = writer.grounded(&text, &prompt, job)?;
                        let text = writer.completed(text, &prompt, job)?;
                        let text = context.judged(text, &prompt, job, &must_keep).await?;
                        let model = Some(writer.name().to_owned());
                        return Ok(Summary { text, model, ..Summary::default() });
                    }
                    why = format!("`{}` writes more than {} tokens", writer.name(), job.most);
                    most = (u128::from(most) * u128::from(job.most) / u128::from(size)) as u64;
                }
                Err(NoModelAnswer { why: what, lack: ModelLimitHit::Answer, written: more }) => {
                    why = what;
                    most /= 2;
                    written.extend(more);
                }
                Err(NoModelAnswer { why: what, written: more, .. }) => {
                    why = what;
                    written.extend(more);
                    break;
                }
            }
        }
        match self.in_part(job, &must_keep, written).await {
            Some(summary) => Ok(summary),
            None => Err(failed(why)),
        }
    }

    /// A summary in what was written of some of the messages, with an extract of the others. Where
    /// another model is left to ask, it must be of at least half of them.
    async fn in_part(
        &self,
        job: &SummaryJob<'_>,
        must_keep: &MustKeepFacts,
        written: Vec<KnownWords>,
    ) -> Option<Summary> {
        if written.is_empty() {
            return None;
        }
        let prompt = self.context.prompt(job, must_keep, job.most).await?;
        let is_last = self.place + 1 >= self.all.len();
        let least = if is_last { 0.0 } else { HALF };
        let known: Vec<_> = self.context.known.iter().cloned().chain(written).collect();
        let context = SummaryContext { known: &known, ..self.context };
        context.known_words(job, &prompt, must_keep, least).await
    }

    /// The writer with the model whose turn it is: the one that a policy chose comes first, the others
    /// behind it in their order.
    fn chosen(&self, prompt: &SummaryPrompt) -> ModelSummarizer<'_> {
        let is_named =
            |model: &Arc<dyn LanguageModel>| Some(model.name()) == prompt.model.as_deref();
        let moves = self.all.iter().position(is_named).filter(|at| self.place <= *at);
        let at = moves.map(|at| self.place.checked_sub(1).unwrap_or(at));
        let model = at.and_then(|at| self.all.get(at)).map_or(self.model, |model| &**model);
        ModelSummarizer { model, ahead: PrewrittenSummary::default(), ..*self }
    }
}

impl SummaryContext<'_> {
    /// What a summary must not lose: what stands nowhere else in the prompt, as much of it as a share
    /// of the room can hold, lines of the profile and orders of people first.
    fn must_keep(&self, job: &SummaryJob<'_>) -> MustKeepFacts {
        let mut room = (job.most as f64 * self.terms.summaries.must_keep_share) as u64;
        let lines = self.council.rules.keep.lost(job.originals, job.kept);
        let lost = MustKeepFacts::of(job.entries).lost(job.kept).shortened();
        lost.with_lines(lines).filter(|fact| {
            let size = job.measure.size(fact);
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
    }

    /// What a summary of these messages is for.
    fn purpose(&self, job: &SummaryJob<'_>) -> Purpose {
        let asked: BTreeSet<EntryId> = job.entries.iter().map(|entry| entry.id).collect();
        let is_fold = |order: &OpRequest| match order {
            OpRequest::SummarizeUser(fold) => fold
                .entries
                .iter()
                .filter_map(|place: &MessageNumber| place.entry())
                .eq(asked.clone()),
            _ => false,
        };
        if self.orders.ops.iter().any(is_fold) {
            return Purpose::SummarizeUser;
        }
        let covers = self.checkpoints.iter().map(|(covers, _)| covers);
        let within: Vec<_> =
            covers.filter(|covers| covers.iter().all(|id| asked.contains(id))).collect();
        match within[..] {
            [one] if one.len() == asked.len() => Purpose::Age,
            [_, _, ..] if within.iter().map(|one| one.len()).sum::<usize>() == asked.len() => {
                Purpose::Merge
            }
            _ => Purpose::Summarize,
        }
    }
}

fn failed(why: String) -> SummaryError {
    SummaryError::Failed(why)
}
