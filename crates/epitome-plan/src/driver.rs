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
    /// For each: how it was said, where that was in other words.
    originals: Vec<Option<&'a Entry>>,
    /// Those that stay.
    kept: &'a [Entry],
}

impl<'a> Shown<'a> {
    fn of(ask: &'a Ask, thread: &'a Thread) -> Self {
        let (entries, originals) = match &ask.what {
            Wanted::Checkpoint(ids) => {
                let shown = |&id| Some((Cow::Borrowed(thread.entry(id)?), thread.original(id)));
                ids.iter().filter_map(shown).unzip()
            }
            Wanted::Digest(part) => {
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
    ask: &Ask,
    [entries, originals, kept]: &'a [Vec<&'a Entry>; 3],
    measure: &'a dyn Measure,
    options: &CompressOptions,
) -> SummaryJob<'a> {
    let kind = match ask.what {
        Wanted::Checkpoint(_) => SummaryKind::Checkpoint,
        Wanted::Digest(_) => SummaryKind::Digest,
    };
    let (level, style, most, passages) = (ask.level, ask.style, ask.most, options.passages);
    SummaryJob { kind, level, entries, originals, kept, most, measure, style, passages }
}
