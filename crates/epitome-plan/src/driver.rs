//! Carries questions to summarisers and answers back.
//!
//! Invariant: all decisions are the machine's.

use std::borrow::Cow;

use epitome_kernel::types::{Budget, Entry, Summary, SummaryKind};
use epitome_kernel::{
    SizeGauge, Summarizer, SummaryError, SummaryJob, TextMeasure, Thread, TokenCounter,
};

use crate::ask::{FitStep, SummaryRequest, SummarySubject};
use crate::assembly::PlanAssembly;
use crate::fit::FitRun;
use crate::options::CompressOptions;
use crate::outcome::FitOutcome;

/// Something that makes a plan, step by step.
pub(crate) trait PlanMachine<'t> {
    /// Goes on until a summary is needed or it is over.
    fn step(&mut self) -> FitStep<'t>;

    /// Takes the answer to the last step. `Some` ends it; otherwise it is stepped on.
    fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<FitOutcome<'t>>;

    /// The summaries that will be wanted if each comes out as it is wanted, where that is known.
    fn wanted(&self) -> Vec<SummaryRequest> {
        Vec::new()
    }

    /// What sizes the summaries.
    fn gauge(&self) -> &SizeGauge<'t>;
}

/// Compresses a thread to a budget. The summarisers are asked in their order, the next one where
/// one fails; with none left the last resort needs none.
pub async fn compress<'t>(
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    counter: &'t dyn TokenCounter,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    let mut run = FitRun::new(thread, options, budget, counter, summarizers.len());
    if let Some(first) = summarizers.first().filter(|_| run.is_needed()) {
        run = run.outdated(&first.outdated(&thread.entries().iter().collect::<Vec<_>>()));
    }
    drive(run, thread, options, summarizers).await
}

/// Makes what a policy ordered.
pub async fn assemble<'t>(
    assembly: PlanAssembly<'t>,
    thread: &'t Thread,
    options: &'t CompressOptions,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    drive(assembly, thread, options, summarizers).await
}

async fn drive<'t>(
    mut run: impl PlanMachine<'t>,
    thread: &'t Thread,
    options: &'t CompressOptions,
    summarizers: &[&dyn Summarizer],
) -> FitOutcome<'t> {
    let gauge = *run.gauge();
    let wanted = run.wanted();
    if let (Some(first), [_, _, ..]) = (summarizers.first(), &wanted[..]) {
        let shown: Vec<_> = wanted.iter().map(|ask| SummarizerInput::of(ask, thread)).collect();
        let shown: Vec<_> = shown.iter().map(SummarizerInput::entries).collect();
        let jobs = wanted.iter().zip(&shown);
        let jobs: Vec<_> = jobs.map(|(ask, shown)| job(ask, shown, &gauge, options)).collect();
        first.ahead(&jobs).await;
    }
    loop {
        let ask = match run.step() {
            FitStep::Summarize(ask) => ask,
            FitStep::Done(outcome) => return outcome,
        };
        let shown = SummarizerInput::of(&ask, thread);
        let shown = shown.entries();
        let answer = match summarizers.get(ask.summarizer) {
            Some(summarizer) => summarizer.summarize(&job(&ask, &shown, &gauge, options)).await,
            None => Err(SummaryError::Failed("there is no such summariser".to_owned())),
        };
        if let Some(outcome) = run.answer(answer) {
            return outcome;
        }
    }
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
