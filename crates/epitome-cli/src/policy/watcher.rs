//! Notes what policies are asked and answer, for a trace.
//!
//! Invariant: what is noted is what the chain did, in its order; a hook that policies hand on to
//! each other (`ep.next`) is one note, and who answered last in it decided: whoever says what those
//! behind it said only passes it on (RULES 18).

use std::sync::{Arc, Mutex, PoisonError};

use epitome::{Answer, HookInterrupt, HookResult, Job, PolicyTracer};
use serde::Serialize;
use serde_json::{Map, Value};

use super::short_form;

/// A hook that was asked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Note {
    pub(super) hook: &'static str,
    pub(super) job: Map<String, Value>,
    pub(super) asked: Vec<TracedAnswer>,
    /// The policy whose answer counts.
    pub(super) winner: Option<String>,
    /// What was answered last.
    #[serde(skip)]
    answer: Option<Answer>,
}

/// What a policy said.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TracedAnswer {
    pub(super) policy: String,
    #[serde(flatten)]
    pub(super) what: TracedOutcome,
}

/// What came of asking a policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TracedOutcome {
    Answer(Value),
    /// It has no opinion.
    Passed(bool),
    /// It wants a model to be asked this first.
    Ask(String),
    Error(String),
}

impl Note {
    /// Whether anybody had something to say.
    pub(super) fn is_told(&self) -> bool {
        self.asked.iter().any(|said| !matches!(said.what, TracedOutcome::Passed(_)))
    }
}

/// What was noted so far.
#[derive(Clone, Default)]
pub(super) struct Watcher(Arc<Mutex<Vec<Note>>>);

impl Watcher {
    /// What was noted since this was last called.
    pub(super) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PolicyTracer for Watcher {
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &HookResult<Answer>) {
        let what = match opinion {
            Ok(Some(answer)) => TracedOutcome::Answer(short_form::answer(answer)),
            Ok(None) => TracedOutcome::Passed(true),
            Err(HookInterrupt::Ask(ask)) => TracedOutcome::Ask(ask.id.clone()),
            Err(HookInterrupt::Error(error)) => TracedOutcome::Error(error.what.clone()),
        };
        let (hook, brief) = (job.hook(), short_form::job(job));
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = notes.last().is_some_and(|note| note.hook == hook && note.job == brief);
        if !same {
            notes.push(Note { hook, job: brief, asked: Vec::new(), winner: None, answer: None });
        }
        let Some(note) = notes.last_mut() else { return };
        if let Ok(Some(answer)) = opinion
            && note.answer.replace(answer.clone()).as_ref() != Some(answer)
        {
            note.winner = Some(policy.to_owned());
        }
        note.asked.push(TracedAnswer { policy: policy.to_owned(), what });
    }
}
