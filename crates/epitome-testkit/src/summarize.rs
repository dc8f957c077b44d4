//! Summarisers that do as they are told, well or badly, and a way to run them without a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use epitome_kernel::types::{Entry, EntryId, Passage, Summary, SummaryKind};
use epitome_kernel::{Summarizer, SummaryError, SummaryJob};

/// What a scripted summariser does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    /// Says the first words of what it is shown, as many as fit, and names what it left.
    Fill,
    /// Says this.
    Say(String),
    /// Fails.
    Fail,
    /// Says nothing.
    Empty,
    /// Says this many words more than fit, whatever the limit.
    TooLarge(usize),
    /// Asks for at least this much room, then fills it.
    Least(u64),
    /// Fails the first times, then fills.
    FailFirst(usize),
}

/// The entries and the limit of a job.
type Asked = (Vec<EntryId>, u64);

/// A summariser with a script; it remembers what it was asked.
#[derive(Debug)]
pub struct ScriptedSummarizer {
    script: Script,
    digests: Script,
    outdated: Vec<EntryId>,
    asked: Mutex<Vec<Asking>>,
}

/// A job that a summariser was given.
#[derive(Debug)]
struct Asking {
    kind: SummaryKind,
    asked: Asked,
    kept: Vec<Entry>,
}

impl ScriptedSummarizer {
    /// A summariser that follows a script.
    pub fn new(script: Script) -> Self {
        let digests = script.clone();
        Self { script, digests, outdated: Vec::new(), asked: Mutex::default() }
    }

    /// Follows another script for digests.
    #[must_use]
    pub fn digests(mut self, script: Script) -> Self {
        self.digests = script;
        self
    }

    /// Says that these entries are outdated, whatever it is shown.
    #[must_use]
    pub fn outdates(mut self, entries: &[EntryId]) -> Self {
        self.outdated = entries.to_vec();
        self
    }

    /// One like it that was asked nothing yet.
    #[must_use]
    pub fn anew(&self) -> Self {
        let Self { script, digests, outdated, .. } = self;
        Self::new(script.clone()).digests(digests.clone()).outdates(outdated)
    }

    /// The entries and the limit of each job so far.
    pub fn asked(&self, kind: SummaryKind) -> Vec<Asked> {
        self.jobs(kind, |one| one.asked.clone())
    }

    /// What stays in the prompt beside each job so far.
    pub fn kept(&self, kind: SummaryKind) -> Vec<Vec<Entry>> {
        self.jobs(kind, |one| one.kept.clone())
    }

    fn jobs<T>(&self, kind: SummaryKind, told: impl Fn(&Asking) -> T) -> Vec<T> {
        let Ok(asked) = self.asked.lock() else { return Vec::new() };
        asked.iter().filter(|one| one.kind == kind).map(told).collect()
    }
}

#[async_trait]
impl Summarizer for ScriptedSummarizer {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        let turn = self.asked(job.kind).len();
        if let Ok(mut asked) = self.asked.lock() {
            let entries = job.entries.iter().map(|entry| entry.id).collect();
            let kept = job.kept.iter().map(|&entry| entry.clone()).collect();
            asked.push(Asking { kind: job.kind, asked: (entries, job.most), kept });
        }
        let failed = || Err(SummaryError::Failed("scripted".to_owned()));
        let script = match job.kind {
            SummaryKind::Checkpoint => &self.script,
            SummaryKind::Digest => &self.digests,
        };
        match script {
            Script::Fill => Ok(fill(job)),
            Script::Say(text) => Ok(Summary { text: text.clone(), ..Summary::default() }),
            Script::Fail => failed(),
            Script::Empty => Ok(Summary { text: " \n".to_owned(), ..Summary::default() }),
            Script::TooLarge(words) => {
                let text = (0..job.most as usize + words).map(|_| "word ").collect();
                Ok(Summary { text, ..Summary::default() })
            }
            Script::Least(least) if job.most < *least => {
                Err(SummaryError::TooSmall { most: job.most, least: *least })
            }
            Script::FailFirst(times) if turn < *times => failed(),
            Script::Least(_) | Script::FailFirst(_) => Ok(fill(job)),
        }
    }

    fn outdated(&self, _entries: &[&Entry]) -> Vec<EntryId> {
        self.outdated.clone()
    }
}

/// The first words that fit; the rest of each entry is a passage.
fn fill(job: &SummaryJob<'_>) -> Summary {
    let texts: Vec<_> = job.entries.iter().map(|entry| (entry.id, entry.readable())).collect();
    let words: Vec<_> = texts
        .iter()
        .flat_map(|(id, text)| text.split_whitespace().map(move |word| (*id, word)))
        .collect();
    let said =
        |count: usize| words[..count].iter().map(|word| word.1).collect::<Vec<_>>().join(" ");
    let (mut fits, mut too_many) = (0, words.len() + 1);
    while too_many - fits > 1 {
        let middle = fits.midpoint(too_many);
        let small = job.measure.size(&said(middle)) <= job.most;
        if small { fits = middle } else { too_many = middle }
    }
    let mut left: Vec<Passage> = Vec::new();
    for (entry, word) in words[fits..].iter().filter(|_| job.passages) {
        match left.last_mut().filter(|passage| passage.entry == *entry) {
            Some(passage) => {
                passage.text.push(' ');
                passage.text.push_str(word);
            }
            None => left.push(Passage { entry: *entry, text: (*word).to_owned() }),
        }
    }
    Summary { text: said(fits), left, ..Summary::default() }
}

/// The value of a future that never waits.
///
/// # Panics
///
/// When it does wait.
#[expect(clippy::panic, reason = "a test double is allowed to fail the test")]
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::{BudgetUnit, CheckpointLevel, SummaryStyle};
    use epitome_kernel::{SizeGauge, TextMeasure};

    use super::*;
    use crate::{FixedCounter, chat};

    #[test]
    fn filling_says_as_much_as_fits_and_names_the_rest() {
        let entries = chat().user("one two three").assistant("four five").entries();
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let job = SummaryJob {
            level: CheckpointLevel::Detailed,
            kind: SummaryKind::Checkpoint,
            entries: &entries.iter().collect::<Vec<_>>(),
            originals: &entries.iter().collect::<Vec<_>>(),
            kept: &[],
            most: 4,
            measure: &gauge,
            style: SummaryStyle::Verbatim,
            passages: true,
        };
        let filler = ScriptedSummarizer::new(Script::Fill);
        let summary = now(filler.summarize(&job)).unwrap();
        assert_eq!(summary.text, "one two three four");
        assert_eq!(gauge.size(&summary.text), 4);
        assert_eq!(summary.left, [Passage { entry: EntryId(1), text: "five".to_owned() }]);
        assert_eq!(filler.asked(SummaryKind::Checkpoint), [(vec![EntryId(0), EntryId(1)], 4)]);
        assert_eq!(filler.asked(SummaryKind::Digest), []);
    }
}
