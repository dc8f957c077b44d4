//! Drives a run with summarisers.
//!
//! Invariant: all decisions are the run's; this only carries questions and answers.

use epitome_kernel::types::{Budget, SummaryKind};

use crate::ask::{Step, Wanted};
use crate::options::CompressOptions;
use crate::outcome::Outcome;
use crate::run::Run;
use epitome_kernel::Thread;
use epitome_kernel::{Counter, Summarizer, SummaryError, SummaryJob};

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
