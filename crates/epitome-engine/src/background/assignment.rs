//! What models are asked in the background: summaries in the place of extracts, of a snapshot.
//!
//! Invariant: it owns all that it is made from, so the conversation goes on meanwhile. What models
//! write is judged as everywhere, and what fails is told. Made by sessions, run by the task.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome_admin::clock::Clock;
use epitome_kernel::{InsertedKind, ViewItem};
use epitome_kernel::{
    LiveRequest, SizeGauge, Summarizer, SummaryError, SummaryJob, TextMeasure, Thread,
    TokenCounter, View,
};
use epitome_plan::KernelTexts;
use epitome_types::hook::{Common, Orders};
use epitome_types::{
    BudgetUnit, Checkpoint, CheckpointLevel, Entry, EntryId, EntryKey, EventKind, Goals, Op, Plan,
    SummaryKind, SummaryStyle,
};

use super::candidates::{SummaryKey, WrittenSummary};
use super::{BackgroundResults, locked};
use crate::at_once::at_once;
use crate::checkpoints::KnownCheckpoint;
use crate::model_summarizer::{
    AcceptedSummaries, KnownWords, ModelSummarizer, PrewrittenSummary, SummaryContext,
};
use crate::policy_runner::PolicyRunner;
use crate::time_budget::ModelTimeBudget;
use epitome_config::profile::ProfileOptions;

/// No model is asked for fewer tokens: no sentence has room in them.
const LEAST: u64 = 16;

/// One summary that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct SummaryTask {
    pub(crate) key: SummaryKey,
    /// Whether it is of all that its checkpoint stands for.
    pub(crate) is_whole: bool,
    /// The id of its checkpoint.
    id: String,
    level: CheckpointLevel,
    /// The room that it has, in tokens.
    most: u64,
    /// The entries that it stands for, with their keys.
    entries: Vec<Entry>,
    covers: Vec<(EntryId, EntryKey)>,
    /// For each: how it was said, where that was in other words.
    originals: Vec<Option<Entry>>,
    /// Those that stay beside it.
    kept: Vec<Entry>,
}

/// All that is wanted, and what models are told of it.
pub(crate) struct SummaryTasks {
    pub(crate) council: PolicyRunner,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) common: Common,
    pub(crate) orders: Orders,
    pub(crate) goals: Goals,
    pub(crate) checkpoints: Vec<KnownCheckpoint>,
    pub(crate) manner: WriterManner,
    pub(crate) underway: Option<LiveRequest>,
    pub(crate) errands: Vec<SummaryTask>,
}

/// How models write.
pub(crate) struct WriterManner {
    /// Writes what a model is compared with.
    pub(crate) inner: Arc<dyn Summarizer>,
    pub(crate) terms: ProfileOptions,
    pub(crate) style: SummaryStyle,
    pub(crate) clock: Clock,
    /// How long all of them may take.
    pub(crate) within: Duration,
}

impl WriterManner {
    /// The time that they have, from now on.
    fn patience(&self) -> ModelTimeBudget {
        ModelTimeBudget::new(&self.clock, self.within)
    }
}

/// What the keys of extracts are made of beside the extracts.
#[derive(Clone, Copy)]
pub(crate) struct ExtractKeys<'a> {
    /// The words that checkpoints are written in.
    pub(crate) texts: &'a KernelTexts,
    pub(crate) gauge: &'a SizeGauge<'a>,
    /// Those of the messages.
    pub(crate) keys: &'a [EntryKey],
    /// What models wrote of them before.
    pub(crate) known: &'a [KnownWords],
    /// The share of a checkpoint's messages that one is asked about, at least.
    pub(crate) ask_from: f64,
}

impl SummaryTask {
    /// The messages that it is about.
    pub(super) fn messages(&self) -> impl ExactSizeIterator<Item = EntryKey> {
        self.covers.iter().map(|(_, key)| *key)
    }

    /// What models are to write of a plan: of the messages of its checkpoints, what they did not write
    /// of before, where that is a share of them.
    pub(crate) fn all_of(
        plan: &Plan,
        thread: &Thread,
        view: &View<'_>,
        with: ExtractKeys<'_>,
    ) -> Vec<Self> {
        let stays = |item: &ViewItem<'_>| match item {
            ViewItem::Kept(_) => true,
            ViewItem::Inserted(inserted) => inserted.kind != InsertedKind::Checkpoint,
        };
        let wanted = plan.ops.iter().filter_map(|op| match op {
            Op::Summarize(one) => with.wanted(one, thread),
            _ => None,
        });
        let mut wanted: Vec<_> = wanted.collect();
        if !wanted.is_empty() {
            let kept = view.items().zip(view.entries()).filter(|(item, _)| stays(item));
            let kept: Vec<_> = kept.map(|(_, entry)| entry).collect();
            wanted.iter_mut().for_each(|task| task.kept.clone_from(&kept));
        }
        wanted
    }
}

impl ExtractKeys<'_> {
    /// What is to be written for a checkpoint, beside which nothing is known to stand yet.
    fn wanted(&self, one: &Checkpoint, thread: &Thread) -> Option<SummaryTask> {
        let (_, words) = self.texts.parted(one)?;
        let open = match one.model {
            Some(_) => self.unwritten(&one.covers),
            None => one.covers.clone(),
        };
        let shown =
            |id: &EntryId| Some((thread.entry(*id)?.clone(), thread.original(*id).cloned()));
        let (entries, originals): (Vec<Entry>, Vec<_>) = open.iter().filter_map(shown).unzip();
        let bytes = |ids: &[EntryId]| {
            let entries = ids.iter().filter_map(|id| thread.entry(*id));
            entries.map(|entry| entry.readable().len()).sum::<usize>()
        };
        let share = bytes(&open) as f64 / bytes(&one.covers).max(1) as f64;
        let most = (self.gauge.size(words) as f64 * share) as u64;
        if share < self.ask_from || most < LEAST {
            return None;
        }
        let covers: Option<Vec<_>> =
            open.iter().map(|id| Some((*id, *self.keys.get(id.index())?))).collect();
        let covers = covers?;
        Some(SummaryTask {
            key: SummaryKey::for_messages(&covers),
            is_whole: open.len() == one.covers.len(),
            id: one.id.short(),
            level: one.level,
            most,
            entries,
            covers,
            originals,
            kept: Vec::new(),
        })
    }

    /// Those of these messages that no model wrote of yet.
    fn unwritten(&self, covers: &[EntryId]) -> Vec<EntryId> {
        let written = self.known.iter().flat_map(|words| &words.covers);
        let written: BTreeSet<EntryId> = written.copied().collect();
        covers.iter().copied().filter(|id| !written.contains(id)).collect()
    }
}

impl SummaryTasks {
    /// Asks for all of it.
    pub(super) async fn write(mut self, desk: &Mutex<BackgroundResults>) {
        self.council = self.council.anew();
        let patience = self.manner.patience();
        let all = self.errands.iter().map(|errand| self.one(errand, &patience, desk));
        let all: Vec<_> = all.collect();
        at_once(all, self.manner.terms.summaries.max_concurrent).await;
        let errors = self.council.take_notes().errors.into_iter();
        let errors = errors.map(|error| EventKind::PolicyError { cause: error.to_string() });
        locked(desk).told.extend(self.council.failures.take().into_iter().chain(errors));
    }

    /// Asks one model after the other, until one writes what is taken.
    async fn one(
        &self,
        errand: &SummaryTask,
        patience: &ModelTimeBudget,
        desk: &Mutex<BackgroundResults>,
    ) {
        let gauge = SizeGauge { counter: &*self.counter, unit: BudgetUnit::Tokens };
        let [entries, kept] =
            [&errand.entries, &errand.kept].map(|all| all.iter().collect::<Vec<_>>());
        let said = errand.entries.iter().zip(&errand.originals);
        let said: Vec<_> = said.map(|(sent, said)| said.as_ref().unwrap_or(sent)).collect();
        let job = SummaryJob {
            kind: SummaryKind::Checkpoint,
            level: errand.level,
            entries: &entries,
            originals: &said,
            kept: &kept,
            most: errand.most,
            measure: &gauge,
            style: self.manner.style,
            passages: false,
        };
        for (place, model) in self.council.models.all.iter().enumerate() {
            let taken = AcceptedSummaries::default();
            let context = SummaryContext {
                council: &self.council,
                common: &self.common,
                orders: &self.orders,
                goals: &self.goals,
                checkpoints: &self.checkpoints,
                inner: &*self.manner.inner,
                terms: &self.manner.terms,
                taken: &taken,
                known: &[],
            };
            let writer = ModelSummarizer {
                model: &**model,
                all: &self.council.models.all,
                place,
                context,
                patience,
                underway: self.underway.as_ref(),
                ahead: PrewrittenSummary::default(),
            };
            let written = writer.summarize(&job).await;
            let mut desk = locked(desk);
            match written {
                Ok(summary) => {
                    // A policy may have no model asked; then nothing is wanted.
                    let Some(model) = summary.model else { break };
                    let accepted = taken.of_text(&summary.text).unwrap_or_default();
                    let (words, confidence) = (accepted.words, accepted.confidence);
                    let (checkpoint, text) = (errand.id.clone(), summary.text);
                    let size = [gauge.size(&text), job.most];
                    desk.told.push(EventKind::SummaryWrittenInBackground {
                        checkpoint,
                        model: model.clone(),
                        size,
                    });
                    let covers = errand.covers.clone();
                    let written = WrittenSummary { covers, text, words, model, confidence };
                    desk.candidates.push((errand.key, written));
                    return;
                }
                Err(SummaryError::Failed(why)) => desk.failed(Vec::new(), why),
                Err(error) => desk.failed(Vec::new(), error.to_string()),
            }
        }
        locked(desk).vain.push(errand.key);
    }
}
