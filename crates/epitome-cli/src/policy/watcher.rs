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
pub(super) struct Watcher {
    notes: Arc<Mutex<NotedHooks>>,
    /// Whether a hook of which nobody has an opinion is noted, too.
    all: bool,
}

#[derive(Default)]
struct NotedHooks {
    notes: Vec<Note>,
    /// Whether the last note stands before a hook that is not noted, so that nothing more belongs to it.
    is_closed: bool,
}

impl Watcher {
    /// Notes also what nobody has an opinion of.
    pub(super) fn of_all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// What was noted since this was last called.
    pub(super) fn take(&self) -> Vec<Note> {
        let mut noted = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        noted.is_closed = false;
        std::mem::take(&mut noted.notes)
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
        let hook = job.hook();
        let mut noted = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let NotedHooks { notes, is_closed } = &mut *noted;
        // What a job says is most of the work; a hook that is not noted is told from the last by its name.
        let is_other = *is_closed || notes.last().is_none_or(|note| note.hook != hook);
        if is_other && !self.all && matches!(what, TracedOutcome::Passed(_)) {
            *is_closed = true;
            return;
        }
        let brief = short_form::job(job);
        let same = notes.last().is_some_and(|note| note.hook == hook && note.job == brief);
        if *is_closed || !same {
            *is_closed = false;
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
