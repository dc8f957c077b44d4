//! What policies gave while they were asked about one job.
//!
//! Invariant: for one job each policy has its say at most once, whoever asks it and how often; what
//! came of that is given again (RULES 18). Who waits for a model is asked again with its reply, and
//! nobody else is. Written and read by `policy`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_types::hook::{MessageNumber, WriteFile};

use crate::hook::{Answer, Bounded, HookInterrupt, HookResult, Job, PolicyError};

/// What came up while policies were asked, beside their answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookNotes {
    /// Policies that failed and were passed over.
    pub errors: Vec<PolicyError>,
    /// Files that policies want written.
    pub files: Vec<WantedFile>,
    /// Answers that were held to their bounds.
    pub bounded: Vec<Bounded>,
}

/// A file that a policy wants written for an event.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedFile {
    /// The policy.
    pub policy: String,
    /// The file.
    pub export: WriteFile,
}

impl HookNotes {
    /// Adds what came up at another hook.
    pub fn add(&mut self, more: Self) {
        self.errors.extend(more.errors);
        self.files.extend(more.files);
        self.bounded.extend(more.bounded);
    }
}

/// What the policies of a chain gave for one job, as far as they were asked. Whoever asks them about
/// the same job more than once, with a reply of a model or after a plan that came to nothing, keeps
/// it in between.
#[derive(Debug, Default)]
pub struct ChainRound {
    /// Whether nothing is kept, since nobody asks for it again.
    passes: bool,
    hearings: Mutex<Vec<JobHearing>>,
    notes: Mutex<HookNotes>,
}

/// What the policies from one on came to, with the name of the one that said so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenOpinion {
    pub(crate) opinion: HookResult<Answer>,
    pub(crate) by: Option<String>,
}

/// A job, and which of its round's it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownJob<'a> {
    pub(crate) job: Job<'a>,
    pub(crate) at: usize,
}

/// What was given for one job. The first of a round is the round's own; the others are jobs that
/// policies made up to ask those behind them about.
#[derive(Debug, Default)]
struct JobHearing {
    /// What tells it from others, where that was needed.
    print: Option<String>,
    /// How many replies of models it had last.
    replies: usize,
    /// By the places of the policies.
    heard: Vec<PolicyHearing>,
}

/// What was heard of one policy.
#[derive(Clone, Debug, Default)]
struct PolicyHearing {
    /// What it said, once it has; a failure is no opinion.
    said: Option<Option<Answer>>,
    /// What it and those behind it came to.
    given: Option<GivenOpinion>,
    /// Whether it asked those behind it.
    handed_on: bool,
}

impl ChainRound {
    /// One of which nothing is kept, where it `passes`.
    pub(crate) fn passing(passes: bool) -> Self {
        Self { passes, ..Self::default() }
    }

    /// The round's own job is asked about, maybe once more. What waited for a model is forgotten
    /// where there is another reply.
    pub(crate) fn open(&self, job: &Job<'_>) -> usize {
        let mut hearings = self.hearings();
        let jobs = hearings.len().max(1);
        hearings.resize_with(jobs, JobHearing::default);
        let own = &mut hearings[0];
        let replies = job.common().replies.len();
        if own.replies != replies {
            let waits = |it: &mut GivenOpinion| matches!(it.opinion, Err(HookInterrupt::Ask(_)));
            own.heard.iter_mut().for_each(|one| drop(one.given.take_if(waits)));
        }
        (own.print, own.replies) = (None, replies);
        0
    }

    /// The job that a policy asks those behind it about while it is asked about another: that very
    /// one, or one that says the same as one before, or a new one.
    pub(crate) fn find(&self, job: &Job<'_>, known: &KnownJob<'_>) -> usize {
        if known.job.is(job) {
            return known.at;
        }
        let print = print(job);
        let mut hearings = self.hearings();
        if let Some(hearing) = hearings.get_mut(known.at) {
            hearing.print.get_or_insert_with(|| self::print(&known.job));
        }
        let same = hearings.iter().position(|one| one.print.as_deref() == Some(&*print));
        same.unwrap_or_else(|| {
            hearings.push(JobHearing { print: Some(print), ..JobHearing::default() });
            hearings.len() - 1
        })
    }

    /// What the policies from this place on came to.
    pub(crate) fn given(&self, job: usize, place: usize) -> Option<GivenOpinion> {
        self.heard(job, place, |heard| heard.given.clone())
    }

    pub(crate) fn give(&self, job: usize, place: usize, given: &GivenOpinion) {
        self.heard(job, place, |heard| heard.given = Some(given.clone()));
    }

    /// What the policy in this place said, where it has said something or that it has no opinion.
    pub(crate) fn said(&self, job: usize, place: usize) -> Option<Option<Answer>> {
        self.heard(job, place, |heard| heard.said.clone())
    }

    pub(crate) fn say(&self, job: usize, place: usize, said: Option<&Answer>) {
        self.heard(job, place, |heard| heard.said = Some(said.cloned()));
    }

    /// The policy in this place asks those behind it.
    pub(crate) fn hand_on(&self, job: usize, place: usize) {
        self.heard(job, place, |heard| heard.handed_on = true);
    }

    /// What a policy got of those behind it, where it asked them about the job that it was asked.
    pub(crate) fn got(&self, job: usize, place: usize) -> Option<GivenOpinion> {
        self.heard(job, place, |heard| heard.handed_on).then(|| self.given(job, place + 1))?
    }

    fn heard<T: Default>(&self, job: usize, at: usize, of: impl Fn(&mut PolicyHearing) -> T) -> T {
        if self.passes {
            return T::default();
        }
        let mut hearings = self.hearings();
        let jobs = hearings.len().max(job + 1);
        hearings.resize_with(jobs, JobHearing::default);
        let heard = &mut hearings[job].heard;
        heard.resize_with(heard.len().max(at + 1), PolicyHearing::default);
        of(&mut heard[at])
    }

    fn hearings(&self) -> MutexGuard<'_, Vec<JobHearing>> {
        self.hearings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what came up.
    pub(crate) fn note(&self, change: impl FnOnce(&mut HookNotes)) {
        change(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What came up since this was last called.
    pub(crate) fn take_notes(&self) -> HookNotes {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All that a job says, in one text: two that say the same are one job.
fn print(job: &Job<'_>) -> String {
    let mut print = format!("{job:?}");
    let (texts, count) = match job {
        Job::Plan(job) => (job.texts, job.entries.count),
        Job::SummaryPrompt(job) => (job.texts, job.covered.count),
        Job::Verify(job) => (job.texts, job.covered.count),
        _ => return print,
    };
    print.extend((1..=count).map(|place| format!("\n{:?}", texts.text(MessageNumber(place)))));
    print
}
