//! Carries questions to summarisers and answers back.
//!
//! Invariant: all decisions are the machine's.

use std::borrow::Cow;

use epitome_kernel::types::{Budget, Entry, Summary, SummaryKind};
use epitome_kernel::{Counter, Gauge, Measure, Summarizer, SummaryError, SummaryJob, Thread};

use crate::ask::{Ask, Step, Wanted};
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

    /// The summaries that will be wanted if each comes out as it is wanted, where that is known.
    fn wanted(&self) -> Vec<Ask> {
        Vec::new()
    }

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
    let gauge = *run.gauge();
    let wanted = run.wanted();
    if let (Some(first), [_, _, ..]) = (summarizers.first(), &wanted[..]) {
        let shown: Vec<_> = wanted.iter().map(|ask| Shown::of(ask, thread)).collect();
        let shown: Vec<_> = shown.iter().map(Shown::entries).collect();
        let jobs = wanted.iter().zip(&shown);
        let jobs: Vec<_> = jobs.map(|(ask, shown)| job(ask, shown, &gauge, options)).collect();
        first.ahead(&jobs).await;
    }
    loop {
        let ask = match run.step() {
            Step::Summarize(ask) => ask,
            Step::Done(outcome) => return outcome,
        };
        let shown = Shown::of(&ask, thread);
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
struct Shown<'a> {
    /// The entries that it sums up.
    entries: Vec<Cow<'a, Entry>>,
    /// Those that stay.
    kept: &'a [Entry],
}

impl<'a> Shown<'a> {
    fn of(ask: &'a Ask, thread: &'a Thread) -> Self {
        let entries = match &ask.what {
            Wanted::Checkpoint(ids) => {
                ids.iter().filter_map(|&id| thread.entry(id)).map(Cow::Borrowed).collect()
            }
            Wanted::Digest(part) => thread.alone(*part).into_iter().map(Cow::Owned).collect(),
        };
        Self { entries, kept: &ask.kept }
    }

    /// Both, as a job refers to them.
    fn entries(&self) -> [Vec<&Entry>; 2] {
        [self.entries.iter().map(|entry| &**entry).collect(), self.kept.iter().collect()]
    }
}

fn job<'a>(
    ask: &Ask,
    [entries, kept]: &'a [Vec<&'a Entry>; 2],
    measure: &'a dyn Measure,
    options: &CompressOptions,
) -> SummaryJob<'a> {
    let kind = match ask.what {
        Wanted::Checkpoint(_) => SummaryKind::Checkpoint,
        Wanted::Digest(_) => SummaryKind::Digest,
    };
    let (level, most) = (ask.level, ask.most);
    let CompressOptions { style, passages, .. } = *options;
    SummaryJob { kind, level, entries, kept, most, measure, style, passages }
}
