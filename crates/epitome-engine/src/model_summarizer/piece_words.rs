//! What a model wrote of pieces of the messages, where it did not write of all of them.
//!
//! Invariant: words stand for messages that they were written of whole, and are sound by themselves.
//! Called by the writer.

use std::future::Future;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use epitome_kernel::SummaryJob;
use epitome_types::hook::SummaryPrompt;

use super::ModelSummarizer;
use super::chunks::BETWEEN;
use super::known_words::KnownWords;

/// What was written of pieces, by their places.
#[derive(Default)]
pub(super) struct PieceWords(Mutex<Vec<(usize, String)>>);

impl PieceWords {
    /// Has the answer about a piece written down, whatever becomes of the others.
    pub(super) async fn note<E>(
        &self,
        place: usize,
        said: impl Future<Output = Result<String, E>>,
    ) -> Result<String, E> {
        let said = said.await?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((place, said.clone()));
        Ok(said)
    }

    /// Pieces in a row with what was written of them.
    fn runs(self) -> Vec<(Range<usize>, String)> {
        let mut all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort();
        let mut runs: Vec<(Range<usize>, String)> = Vec::new();
        for (place, said) in all {
            match runs.last_mut().filter(|(run, _)| run.end == place) {
                Some((run, text)) => {
                    run.end += 1;
                    text.push_str(BETWEEN);
                    text.push_str(&said);
                }
                None => runs.push((place..place + 1, said)),
            }
        }
        runs
    }
}

impl ModelSummarizer<'_> {
    /// The words that stand for the messages of these pieces: of a message that is cut only where all
    /// that holds it was written of.
    pub(super) fn words_of(
        &self,
        said: PieceWords,
        holders: &[Range<usize>],
        job: &SummaryJob<'_>,
        part: &SummaryPrompt,
    ) -> Vec<KnownWords> {
        let words = said.runs().into_iter().filter_map(|(run, text)| {
            let is_whole = |held: &Range<usize>| run.start <= held.start && held.end <= run.end;
            let held = job.entries.iter().zip(holders).filter(|(_, held)| is_whole(held));
            let covers = held.map(|(entry, _)| entry.id).collect();
            self.is_sound(&text, part, job).ok()?;
            let text = self.grounded(&text, part, job).ok()?;
            Some(KnownWords { covers, text, model: self.model.name().to_owned() })
        });
        words.filter(|words| !words.covers.is_empty()).collect()
    }
}
