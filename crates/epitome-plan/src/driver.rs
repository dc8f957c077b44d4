//! Carries questions to summarisers and answers back.
//!
//! Invariant: all decisions are the machine's.

use epitome_kernel::types::{Budget, Summary, SummaryKind};
use epitome_kernel::{Counter, Gauge, Summarizer, SummaryError, SummaryJob, Thread};

use crate::ask::{Step, Wanted};
use crate::assembly::Assembly;
use crate::options::CompressOptions;
use crate::outcome::Outcome;
use crate::run::Run;

/// Something that makes a plan, step by step.
pub(crate) trait Machine<'t> {
    /// Goes on until a summary is needed or it is over.
    fn step(&mut self) -> Step<'t>;

    /// Takes the answer to the last step. `Some` ends it; otherwise it is stepped on.
    fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<Outcome<'t>>;

    /// What sizes the summaries.
    fn gauge(&self) -> &Gauge<'t>;
}

/// Compresses a thread to a budget. The summarisers are asked in their order, the next one where
/// one fails; with none left the last resort needs none.
pub async fn compress<'t>(
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    counter: &'t dyn Counter,
    summarizers: &[&dyn Summarizer],
) -> Outcome<'t> {
    let mut run = Run::new(thread, options, budget, counter, summarizers.len());
    if let Some(first) = summarizers.first().filter(|_| run.is_needed()) {
        run = run.outdated(&first.outdated(&thread.entries().iter().collect::<Vec<_>>()));
    }
    drive(run, thread, options, summarizers).await
}

/// Makes what a policy ordered.
pub async fn assemble<'t>(
    assembly: Assembly<'t>,
    thread: &'t Thread,
    options: &'t CompressOptions,
    summarizers: &[&dyn Summarizer],
) -> Outcome<'t> {
    drive(assembly, thread, options, summarizers).await
}

async fn drive<'t>(
    mut run: impl Machine<'t>,
    thread: &'t Thread,
    options: &'t CompressOptions,
    summarizers: &[&dyn Summarizer],
) -> Outcome<'t> {
    loop {
        let ask = match run.step() {
            Step::Summarize(ask) => ask,
            Step::Done(outcome) => return outcome,
        };
        let gauge = *run.gauge();
        let alone;
        let (kind, entries) = match &ask.what {
            Wanted::Checkpoint(ids) => {
                let entries: Vec<_> = ids.iter().filter_map(|&id| thread.entry(id)).collect();
                (SummaryKind::Checkpoint, entries)
            }
            Wanted::Digest(part) => {
                alone = thread.alone(*part);
                (SummaryKind::Digest, alone.iter().collect())
            }
        };
        let kept: Vec<_> = ask.kept.iter().collect();
        let job = SummaryJob {
            kind,
            level: ask.level,
            entries: &entries,
            kept: &kept,
            most: ask.most,
            measure: &gauge,
            style: options.style,
            passages: options.passages,
        };
        let answer = match summarizers.get(ask.summarizer) {
            Some(summarizer) => summarizer.summarize(&job).await,
            None => Err(SummaryError::Failed("there is no such summariser".to_owned())),
        };
        if let Some(outcome) = run.answer(answer) {
            return outcome;
        }
    }
}
