//! Extracts of one conversation that were made before, while a policy is tried again and again.
//!
//! Invariant: what is told is what making it again would give. A job is known by all that it says, word for
//! word, and texts are sized by the counter of one conversation under one name.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use epitome::types::{CheckpointLevel, Entry, EntryId, Summary, SummaryKind, SummaryStyle};
use epitome::{ExtractiveSummarizer, Summarizer, SummaryError, SummaryJob};

/// So many jobs are known, the newest.
const KNOWN: usize = 1024;

/// The extractor, which tells again what it was asked before.
#[derive(Default)]
pub(super) struct KnownSummaries {
    extractor: ExtractiveSummarizer,
    known: Mutex<ExtractMemory>,
}

#[derive(Default)]
struct ExtractMemory {
    jobs: VecDeque<KnownExtract>,
    /// What jobs are about, each once.
    entries: BTreeMap<EntryId, Vec<Arc<Entry>>>,
}

struct KnownExtract {
    asked: AskedSummary,
    entries: [Vec<Arc<Entry>>; 3],
    said: Result<Summary, SummaryError>,
}

/// What a job asks, but for what it is about.
#[derive(PartialEq)]
struct AskedSummary {
    kind: SummaryKind,
    level: CheckpointLevel,
    most: u64,
    style: SummaryStyle,
    passages: bool,
}

impl KnownSummaries {
    fn known<T>(&self, read: impl FnOnce(&mut ExtractMemory) -> T) -> T {
        read(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Summarizer for KnownSummaries {
    fn name(&self) -> &str {
        self.extractor.name()
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        if let Some(said) = self.known(|known| known.find(job)) {
            return said;
        }
        let said = self.extractor.extract(job);
        self.known(|known| known.add(job, said.clone()));
        said
    }

    fn outdated(&self, entries: &[&Entry]) -> Vec<EntryId> {
        self.extractor.outdated(entries)
    }
}

impl ExtractMemory {
    fn find(&self, job: &SummaryJob<'_>) -> Option<Result<Summary, SummaryError>> {
        let asked = asked(job);
        let about = about(job);
        let is_it = |known: &&KnownExtract| {
            known.asked == asked
                && known.entries.iter().zip(about).all(|(known, about)| is_same(known, about))
        };
        self.jobs.iter().rev().find(is_it).map(|known| known.said.clone())
    }

    fn add(&mut self, job: &SummaryJob<'_>, said: Result<Summary, SummaryError>) {
        if self.jobs.len() == KNOWN {
            self.jobs.drain(..KNOWN / 2);
            self.entries.values_mut().for_each(|all| all.retain(|it| Arc::strong_count(it) > 1));
        }
        let entries = about(job).map(|all| all.iter().map(|entry| self.entry(entry)).collect());
        self.jobs.push_back(KnownExtract { asked: asked(job), entries, said });
    }

    fn entry(&mut self, entry: &Entry) -> Arc<Entry> {
        let all = self.entries.entry(entry.id).or_default();
        if let Some(known) = all.iter().find(|known| ***known == *entry) {
            return Arc::clone(known);
        }
        let known = Arc::new(entry.clone());
        all.push(Arc::clone(&known));
        known
    }
}

fn asked(job: &SummaryJob<'_>) -> AskedSummary {
    let &SummaryJob { kind, level, most, style, passages, .. } = job;
    AskedSummary { kind, level, most, style, passages }
}

fn about<'j>(job: &SummaryJob<'j>) -> [&'j [&'j Entry]; 3] {
    [job.entries, job.originals, job.kept]
}

fn is_same(known: &[Arc<Entry>], about: &[&Entry]) -> bool {
    known.len() == about.len() && known.iter().zip(about).all(|(known, about)| **known == **about)
}

#[cfg(test)]
mod tests {
    use epitome::{BudgetUnit, Format, RequestDocument, SizeGauge, VocabularyCounter};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_again_is_told_as_it_would_be_made() {
        let counter = VocabularyCounter::default();
        let gauge = SizeGauge { counter: &counter, unit: BudgetUnit::Tokens };
        let summaries = KnownSummaries::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let check = |said: &str, most: u64, known: usize| {
            let asked = json!({ "role": "user", "content": said });
            let answered = json!({ "role": "assistant", "content": "I read src/lib.rs first." });
            let request = json!({ "model": "m", "messages": [asked, answered] }).to_string();
            let request = RequestDocument::parse(request.as_bytes(), Format::Anthropic).unwrap();
            let entries: Vec<&Entry> = request.entries().iter().collect();
            let job = SummaryJob {
                kind: SummaryKind::Checkpoint,
                level: CheckpointLevel::Detailed,
                entries: &entries,
                originals: &entries,
                kept: &[],
                most,
                measure: &gauge,
                style: SummaryStyle::Verbatim,
                passages: true,
            };
            let told = runtime.block_on(summaries.summarize(&job));
            assert_eq!(told, ExtractiveSummarizer::default().extract(&job));
            assert_eq!(summaries.known(|it| it.jobs.len()), known);
        };
        check("The build of crate 7 fails.", 100, 1);
        check("The build of crate 7 fails.", 100, 1);
        check("The build of crate 8 fails.", 100, 2);
        check("The build of crate 7 fails.", 90, 3);
        check("The build of crate 7 fails.", 1, 4);
        check("The build of crate 7 fails.", 1, 4);
        // The older half leaves where there is no room.
        (5..=KNOWN).for_each(|known| check("Two.", known as u64, known));
        check("Two.", 2, KNOWN / 2 + 1);
        check("The build of crate 7 fails.", 100, KNOWN / 2 + 2);
    }
}
