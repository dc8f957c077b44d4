//! What refusals and answers taught of models: how large a prompt they take, and how they count.
//!
//! Invariant: a lesson holds for the prompts of one tenant with one profile to one model through one
//! API, counted by one counter, in whichever project; it outlives the process, holds nothing that was
//! said, and changes what prompts are held to, never one that was made. What is known is what is
//! recorded, so that a process that takes a conversation over holds it to the same. Fed by sessions and the hub, asked where a prompt's bounds are
//! worked out.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use epitome_config::scope::of_no_project;
use epitome_kernel::{Journal, StoreError};
use epitome_types::ContextOverflow;

use crate::limit_subject::LimitSubject;
use crate::locks::locked;
use crate::prompt::Prompt;
pub(crate) use epitome_admin::learned::{AnsweredPrompt, LearnedModel, SilentTruncation};

/// What was learned, of whatever was asked about.
#[derive(Default)]
pub(crate) struct LearnedLimits {
    known: Mutex<HashMap<Arc<str>, BTreeMap<String, LearnedModel>>>,
    /// What is still to be told, by scope and session.
    untold: Mutex<HashMap<(Arc<str>, String), SilentTruncation>>,
}

impl LearnedLimits {
    /// What is known of it.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub(crate) fn of(
        &self,
        journal: &dyn Journal,
        about: &LimitSubject,
    ) -> Result<LearnedModel, StoreError> {
        self.with(journal, about, |learned| learned.clone())
    }

    /// Learns from the refusal of a prompt. Gives what the next prompt may take; `share` of the
    /// refused one where nobody knows more.
    pub(crate) fn refused(
        &self,
        journal: &dyn Journal,
        prompt: &Prompt,
        told: ContextOverflow,
        share: f64,
    ) -> u64 {
        let tokens = prompt.tokens[1];
        self.learn(journal, &prompt.about, |learned| learned.refuse(tokens, told, share))
            .unwrap_or((tokens as f64 * share) as u64)
    }

    /// What the server of a model told of its window.
    pub(crate) fn told(&self, journal: &dyn Journal, about: &LimitSubject, window: u64) {
        self.learn(journal, about, |learned| learned.window = Some(window));
    }

    /// Learns from what was counted for a prompt that was answered. Where it was cut, and that was
    /// not told before, the next prompt of its session tells of it.
    pub(crate) fn answered(&self, journal: &dyn Journal, prompt: &Prompt, sent: AnsweredPrompt) {
        let cut = self.learn(journal, &prompt.about, |learned| learned.answer(sent)).flatten();
        if let Some(cut) = cut {
            let session = (prompt.about.scope.clone(), prompt.session.clone());
            locked(&self.untold).insert(session, cut);
        }
    }

    /// What is to be told of a session, once.
    pub(crate) fn untold(&self, scope: &str, session: &str) -> Option<SilentTruncation> {
        let mut untold = locked(&self.untold);
        match untold.is_empty() {
            true => None,
            false => untold.remove(&(scope.into(), session.to_owned())),
        }
    }

    /// Has all be read anew that is known of a scope: others may have learned since.
    pub(crate) fn forget(&self, scope: &str) {
        locked(&self.known).remove(of_no_project(scope));
    }

    /// Changes what is known, and records it where that is another than before, beside what others
    /// recorded meanwhile. What cannot be recorded is a line of the log, and holds as long as the process.
    fn learn<T>(
        &self,
        journal: &dyn Journal,
        about: &LimitSubject,
        work: impl Fn(&mut LearnedModel) -> T,
    ) -> Option<T> {
        let learned = self.with(journal, about, |known| {
            let mut learned = known.clone();
            let done = work(&mut learned);
            (learned == *known).then_some(done)
        });
        let learned = learned.and_then(|same| match same {
            Some(done) => Ok((done, None)),
            None => {
                self.forget(&about.scope);
                self.with(journal, about, |known| (work(known), Some(known.record().written())))
            }
        });
        let failed = |error: StoreError| {
            tracing::warn!(target: "epitome", "what a provider taught was not recorded: {error}");
        };
        match learned {
            Ok((done, changed)) => {
                if let Some(written) = changed {
                    let kept = journal.learn(&about.shelf, &about.key, &written);
                    kept.unwrap_or_else(failed);
                }
                Some(done)
            }
            Err(error) => {
                failed(error);
                None
            }
        }
    }

    fn with<T>(
        &self,
        journal: &dyn Journal,
        about: &LimitSubject,
        work: impl FnOnce(&mut LearnedModel) -> T,
    ) -> Result<T, StoreError> {
        let mut known = locked(&self.known);
        if !known.contains_key(&about.shelf) {
            let recorded = journal.lessons(&about.shelf)?.into_iter();
            let read =
                recorded.filter_map(|(key, written)| Some((key, LearnedModel::of(&written)?)));
            known.insert(about.shelf.clone(), read.collect());
        }
        let of_shelf = known.entry(about.shelf.clone()).or_default();
        Ok(work(of_shelf.entry(about.key.to_string()).or_default()))
    }
}

#[cfg(test)]
mod tests {
    use epitome_store::MemoryStore;

    use epitome_admin::learned::{CountCalibration, taught};

    use super::*;

    fn about(scope: &str, model: &str) -> LimitSubject {
        LimitSubject::new(scope, "openai", Some(model), "words")
    }

    fn limit(lessons: &LearnedLimits, journal: &MemoryStore, about: &LimitSubject) -> Option<u64> {
        lessons.of(journal, about).unwrap().limit
    }

    #[test]
    fn lessons_hold_for_one_model_of_one_scope_and_outlive_the_process() {
        let (journal, lessons) = (MemoryStore::new(), LearnedLimits::default());
        let told = ContextOverflow { limit: Some(800), size: None };
        lessons.learn(&journal, &about("a", "m"), |learned| learned.refuse(1000, told, 0.75));
        for lessons in [lessons, LearnedLimits::default()] {
            assert_eq!(limit(&lessons, &journal, &about("a", "m")), Some(800));
            assert_eq!(limit(&lessons, &journal, &about("a", "n")), None);
            assert_eq!(limit(&lessons, &journal, &about("b", "m")), None);
        }
        let taught = taught(&journal, "a").unwrap();
        assert_eq!((taught.len(), taught[0].model.as_deref()), (1, Some("m")));
        assert_eq!((taught[0].limit, taught[0].counted), (Some(800), None));
    }

    #[test]
    fn counting_is_learned_from_answers_and_outlives_the_process() {
        let (journal, lessons) = (MemoryStore::new(), LearnedLimits::default());
        for tokens in [1000, 2000, 3000] {
            let sent =
                AnsweredPrompt { tokens, images: 0, counted: tokens + tokens / 4, cuts: false };
            lessons.learn(&journal, &about("a", "m"), |learned| learned.answer(sent));
        }
        for lessons in [lessons, LearnedLimits::default()] {
            assert_eq!(lessons.of(&journal, &about("a", "m")).unwrap().in_ours(1000), 727);
        }
        let counted = taught(&journal, "a").unwrap()[0].counted.unwrap();
        assert_eq!(counted, CountCalibration { factor: 1.25, band: 0.1, samples: 3 });
    }

    /// Two processes learn of one model at the same time.
    #[test]
    fn what_another_process_learned_stands_beside_it() {
        let journal = MemoryStore::new();
        let (one, other) = (LearnedLimits::default(), LearnedLimits::default());
        let about = about("a", "m");
        assert_eq!(limit(&other, &journal, &about), None);
        let told = ContextOverflow { limit: Some(800), size: None };
        one.learn(&journal, &about, |learned| learned.refuse(1000, told, 0.75));
        let sent = AnsweredPrompt { tokens: 700, images: 0, counted: 710, cuts: false };
        other.learn(&journal, &about, |learned| learned.answer(sent));
        for lessons in [other, LearnedLimits::default()] {
            assert_eq!(limit(&lessons, &journal, &about), Some(800));
        }
        // The first one has it once it looks again.
        one.forget("a");
        let known = |lessons: &LearnedLimits| lessons.of(&journal, &about).unwrap();
        assert_eq!(known(&one), known(&LearnedLimits::default()));
    }
}
