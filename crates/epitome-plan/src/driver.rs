//! Carries questions to summarisers and answers back.
//!
//! Invariant: all decisions are the planner's.

use std::borrow::Cow;

use epitome_kernel::types::{Budget, Entry, SummaryKind};
use epitome_kernel::{
    SizeGauge, Summarizer, SummaryError, SummaryJob, TextMeasure, Thread, TokenCounter,
};

use crate::ask::{PlanStep, SummaryRequest, SummarySubject};
use crate::assembly::PlanAssembly;
use crate::ground::PlanMeans;
use crate::options::CompressOptions;
use crate::outcome::FitOutcome;

/// Compresses a thread to a budget. The summarisers are asked in their order, the next one where
/// one fails; with none left the last resort needs none.
pub async fn compress<'t>(
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    counter: &'t dyn TokenCounter,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    let means = PlanMeans { budget, counter, summarizers: summarizers.len() };
    let mut assembly = PlanAssembly::new_fit(thread, options, means);
    if let Some(first) = summarizers.first().filter(|_| assembly.is_needed()) {
        let entries: Vec<_> = thread.entries().iter().collect();
        assembly = assembly.outdated(&first.outdated(&entries));
    }
    assemble(assembly, thread, options, summarizers).await
}

/// Makes a plan: what was ordered, or what fits a budget.
pub async fn assemble<'t>(
    mut assembly: PlanAssembly<'t>,
    thread: &'t Thread,
    options: &'t CompressOptions,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    let gauge = *assembly.gauge();
    if let Some(first) = summarizers.first() {
        tell_ahead(&assembly.wanted(), *first, thread, &gauge, options).await;
    }
    loop {
        let ask = match assembly.step() {
            PlanStep::Summarize(ask) => ask,
            PlanStep::Done(outcome) => return outcome,
        };
        let shown = SummarizerInput::of(&ask, thread);
        let shown = shown.entries();
        let answer = match summarizers.get(ask.summarizer) {
            Some(summarizer) => summarizer.summarize(&job(&ask, &shown, &gauge, options)).await,
            None => Err(SummaryError::Failed("there is no such summariser".to_owned())),
        };
        assembly.answer(answer);
    }
}

/// Tells a summarizer of several summaries that it will be asked for one after the other.
async fn tell_ahead(
    wanted: &[SummaryRequest],
    summarizer: &dyn Summarizer,
    thread: &Thread,
    gauge: &SizeGauge<'_>,
    options: &CompressOptions,
) {
    let [_, _, ..] = wanted else { return };
    let shown: Vec<_> = wanted.iter().map(|ask| SummarizerInput::of(ask, thread)).collect();
    let shown: Vec<_> = shown.iter().map(SummarizerInput::entries).collect();
    let jobs = wanted.iter().zip(&shown);
    let jobs: Vec<_> = jobs.map(|(ask, shown)| job(ask, shown, gauge, options)).collect();
    summarizer.ahead(&jobs).await;
}

/// What a summariser is shown of the thread.
struct SummarizerInput<'a> {
    /// The entries that it sums up.
    entries: Vec<Cow<'a, Entry>>,
    /// For each: how it was said, where that was in other words.
    originals: Vec<Option<&'a Entry>>,
    /// Those that stay.
    kept: &'a [Entry],
}

impl<'a> SummarizerInput<'a> {
    fn of(ask: &'a SummaryRequest, thread: &'a Thread) -> Self {
        let (entries, originals) = match &ask.what {
            SummarySubject::Checkpoint(ids) => {
                let shown = |&id| Some((Cow::Borrowed(thread.entry(id)?), thread.original(id)));
                ids.iter().filter_map(shown).unzip()
            }
            SummarySubject::Digest(part) => {
                let whole = thread.entry(part.entry).filter(|entry| entry.parts.len() == 1);
                let alone = whole.map(Cow::Borrowed);
                let alone = alone.or_else(|| thread.alone(*part).map(Cow::Owned));
                alone.into_iter().map(|entry| (entry, None)).unzip()
            }
        };
        Self { entries, originals, kept: &ask.kept }
    }

    /// As a job refers to them: what is summed up, the same as it was said, and what stays.
    fn entries(&self) -> [Vec<&Entry>; 3] {
        let sent = || self.entries.iter().map(|entry| &**entry);
        let said = sent().zip(&self.originals).map(|(sent, original)| original.unwrap_or(sent));
        [sent().collect(), said.collect(), self.kept.iter().collect()]
    }
}

fn job<'a>(
    ask: &SummaryRequest,
    [entries, originals, kept]: &'a [Vec<&'a Entry>; 3],
    measure: &'a dyn TextMeasure,
    options: &CompressOptions,
) -> SummaryJob<'a> {
    let kind = match ask.what {
        SummarySubject::Checkpoint(_) => SummaryKind::Checkpoint,
        SummarySubject::Digest(_) => SummaryKind::Digest,
    };
    let (level, style, most, passages) = (ask.level, ask.style, ask.most, options.passages);
    SummaryJob { kind, level, entries, originals, kept, most, measure, style, passages }
}
