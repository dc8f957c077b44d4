//! Carries questions to summarisers and answers back.
//!
//! Invariant: all decisions are the planner's.

use epitome_kernel::types::{Budget, Entry, PartId, SummaryKind};
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
        let alone = alone(&ask, thread);
        let shown = shown(&ask, alone.as_ref(), thread);
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
    let alone: Vec<_> = wanted.iter().map(|ask| alone(ask, thread)).collect();
    let shown = wanted.iter().zip(&alone).map(|(ask, alone)| shown(ask, alone.as_ref(), thread));
    let shown: Vec<_> = shown.collect();
    let jobs = wanted.iter().zip(&shown);
    let jobs: Vec<_> = jobs.map(|(ask, shown)| job(ask, shown, gauge, options)).collect();
    summarizer.ahead(&jobs).await;
}

/// A part of an entry that is summed up by itself, as an entry.
fn alone(ask: &SummaryRequest, thread: &Thread) -> Option<Entry> {
    match &ask.what {
        SummarySubject::Digest(part) if whole(*part, thread).is_none() => thread.alone(*part),
        SummarySubject::Digest(_) | SummarySubject::Checkpoint(_) => None,
    }
}

/// The entry that a part is all of.
fn whole(part: PartId, thread: &Thread) -> Option<&Entry> {
    thread.entry(part.entry).filter(|entry| entry.parts.len() == 1)
}

/// What a summariser is shown of the thread: what is summed up, the same as it was said, and what stays.
/// A conversation may have more messages than words in each.
fn shown<'a>(
    ask: &'a SummaryRequest,
    alone: Option<&'a Entry>,
    thread: &'a Thread,
) -> [Vec<&'a Entry>; 3] {
    let entries: Vec<&Entry> = match &ask.what {
        SummarySubject::Checkpoint(ids) => {
            let mut entries = Vec::with_capacity(ids.len());
            entries.extend(ids.iter().filter_map(|id| thread.entry(*id)));
            entries
        }
        SummarySubject::Digest(part) => alone.or(whole(*part, thread)).into_iter().collect(),
    };
    let said = match &ask.what {
        SummarySubject::Checkpoint(_) => {
            entries.iter().map(|entry| thread.original(entry.id).unwrap_or(entry)).collect()
        }
        SummarySubject::Digest(_) => entries.clone(),
    };
    [entries, said, ask.kept.iter().collect()]
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
