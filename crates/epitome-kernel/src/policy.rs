//! The port behind every decision: a policy, and the chain of them that is asked hook by hook.
//!
//! Invariant: the first opinion wins; what is said of goals and of facts is joined, and events reach every policy.
//! One that fails is noted and passed over, so that the next one answers, the built-in one at last
//! (RULES 9). For one job each is asked at most once, and whoever only passes on what those behind
//! it say changes nothing (RULES 18). What is given away is within its bounds (RULES 17), and nothing
//! a policy does reaches the conversation but through its answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_types::HookAuthor;
use epitome_types::hook::*;

use crate::gate::{self, Exceeded};
use crate::hook::{
    Answer, Bounded, HookInterrupt, HookJob, HookResult, Job, ModelQuestion, each_hook,
};
use crate::round::{ChainRound, GivenOpinion, HookNotes, KnownJob, WantedFile};

/// Declares the port: a method for each hook, and one to ask those behind.
macro_rules! policy {
    ($($(#[doc = $doc:literal])+ $hook:ident $name:ident ($job:ident $(<$life:lifetime>)?) -> $answer:ty;)+) => {
        /// Makes decisions, hook by hook. Every hook is pure: the same job gives the same answer.
        pub trait Policy: Send + Sync {
            /// Its name, for reports and as the address of its options and its memo.
            fn name(&self) -> &str;

            /// The line of its `policy.lua` where a hook begins, counted from 1, where it has lines.
            fn line(&self, _hook: &str) -> Option<u32> {
                None
            }

            /// Whether it is worth asking about a hook by itself: not where it has no opinion on it,
            /// or where its answer is what is done unasked.
            fn takes(&self, _hook: &str) -> bool {
                true
            }

            /// Answers whatever hook: by the method of that hook, unless a policy has a way of its
            /// own. `rest` are the policies behind it.
            ///
            /// # Errors
            ///
            /// [`HookInterrupt`], as every hook.
            fn answer(&self, job: &Job<'_>, rest: &NextPolicies<'_>) -> HookResult<Answer> {
                match job {
                    $(Job::$name(job) => Ok(self.$hook(job, rest)?.map(Answer::$name))),+
                }
            }

            $(
                $(#[doc = $doc])+
                ///
                /// # Errors
                ///
                /// [`HookInterrupt`]: the next policy answers, or a model is asked first.
                fn $hook(&self, _job: &$job, _rest: &NextPolicies<'_>) -> HookResult<$answer> {
                    Ok(None)
                }
            )+
        }

        impl NextPolicies<'_> {
            $(
                #[doc = concat!("What the policies behind answer to `", stringify!($hook), "`.")]
                ///
                /// # Errors
                ///
                /// Where one of them wants a model to be asked first.
                pub fn $hook(&self, job: &$job) -> HookResult<$answer> {
                    Ok(self.call(&Job::$name(job))?.and_then(<$job as HookJob>::read))
                }
            )+
        }
    };
}

each_hook!(policy);

/// Watches a chain being asked.
pub trait PolicyTracer: Send + Sync {
    /// A policy was asked, and this is what came of it.
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &HookResult<Answer>);
}

impl<T: PolicyTracer + ?Sized> PolicyTracer for Arc<T> {
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &HookResult<Answer>) {
        (**self).asked(job, policy, opinion);
    }
}

/// Policies in the order in which they are asked, and their notes on one session.
#[derive(Clone)]
pub struct PolicyChain {
    policies: Vec<Arc<dyn Policy>>,
    memos: Arc<Mutex<BTreeMap<String, String>>>,
    tracer: Option<Arc<dyn PolicyTracer>>,
}

/// Result of asking a chain about one job: all that there is to know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookReply<T = Answer> {
    /// The answer, `None` where every policy defers, or the question that a model answers first.
    pub result: Result<Option<T>, Box<ModelQuestion>>,
    /// The policy that answers, or that has a model asked.
    pub by: Option<HookAuthor>,
    /// Everything else that came up.
    pub notes: HookNotes,
}

impl HookReply {
    /// The same, as an answer to the hook of a job.
    pub fn of_job<J: HookJob>(self) -> HookReply<J::Answer> {
        let result = self.result.map(|answer| answer.and_then(J::read));
        HookReply { result, by: self.by, notes: self.notes }
    }
}

impl fmt::Debug for PolicyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.policies.iter().map(|policy| policy.name())).finish()
    }
}

impl PolicyChain {
    /// A chain of these policies, with what each of them noted earlier, as JSON.
    pub fn new(policies: Vec<Arc<dyn Policy>>, memos: BTreeMap<String, String>) -> Self {
        Self { policies, memos: Arc::new(Mutex::new(memos)), tracer: None }
    }

    /// The chain, watched.
    #[must_use]
    pub fn traced(self, tracer: Option<Arc<dyn PolicyTracer>>) -> Self {
        Self { tracer, ..self }
    }

    /// A round to ask in once: one policy is asked again only with the reply that it waits for.
    pub fn round(&self) -> ChainRound {
        ChainRound::passing(self.policies.len() == 1)
    }

    /// All of its policies, to be asked.
    pub fn ask(&self) -> NextPolicies<'_> {
        NextPolicies { chain: self, from: 0, round: None, under: None }
    }

    /// The policies behind one of them, to be asked: none behind one that is not there.
    pub fn call_after(&self, policy: &str) -> NextPolicies<'_> {
        let at = self.policies.iter().position(|one| one.name() == policy);
        NextPolicies { from: at.map_or(self.policies.len(), |at| at + 1), ..self.ask() }
    }

    /// Whether a policy of it is worth asking about a hook: what it costs to make some jobs is spared
    /// where none is.
    pub fn takes(&self, hook: &str) -> bool {
        self.policies.iter().any(|policy| policy.takes(hook))
    }

    /// What the policies noted, as JSON by policy.
    pub fn memos(&self) -> BTreeMap<String, String> {
        self.noted().clone()
    }

    /// A hook of a policy, with the line of its `policy.lua` where it begins, where it has lines.
    pub fn author(&self, policy: &str, hook: &str) -> HookAuthor {
        let known = self.policies.iter().find(|one| one.name() == policy);
        let line = known.and_then(|one| one.line(hook));
        HookAuthor { policy: policy.to_owned(), hook: hook.to_owned(), line }
    }

    /// Holds what is given away within its bounds.
    fn bound(&self, job: &Job<'_>, given: GivenOpinion, round: &ChainRound) -> HookResult<Answer> {
        let mut answer = match given.opinion {
            Ok(Some(answer)) => answer,
            other => return other,
        };
        let exceeded = gate::bound(job, &mut answer);
        let policy = given.by.unwrap_or_default();
        let bounded = exceeded.into_iter().map(|Exceeded { what, asked, given }| Bounded {
            policy: policy.clone(),
            hook: job.hook(),
            what: what.into(),
            asked,
            given,
        });
        round.note(|notes| notes.bounded.extend(bounded));
        Ok(Some(answer))
    }

    /// Asks one of the policies, and takes note of what it failed at or wants written of an event.
    fn say(
        &self,
        policy: &dyn Policy,
        job: &Job<'_>,
        rest: &NextPolicies<'_>,
        round: &ChainRound,
    ) -> HookResult<Answer> {
        let opinion = policy.answer(job, rest);
        if let Some(tracer) = &self.tracer {
            tracer.asked(job, policy.name(), &opinion);
        }
        match opinion {
            Ok(Some(Answer::Event(Noted { write_file }))) => {
                let policy = || policy.name().to_owned();
                let file = write_file.map(|export| WantedFile { policy: policy(), export });
                round.note(|notes| notes.files.extend(file));
                Ok(None)
            }
            Err(HookInterrupt::Error(error)) => {
                round.note(|notes| notes.errors.push(error));
                Ok(None)
            }
            opinion => opinion,
        }
    }

    fn noted(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.memos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The policies of a chain from one on.
#[derive(Clone, Copy, Debug)]
pub struct NextPolicies<'c> {
    chain: &'c PolicyChain,
    from: usize,
    /// What was given so far; nothing where nobody is asked yet.
    round: Option<&'c ChainRound>,
    /// The job that the policy before these is asked about.
    under: Option<KnownJob<'c>>,
}

impl<'c> NextPolicies<'c> {
    /// The same policies, asked about a job that they may be asked about again: what they gave stays
    /// in the round.
    #[must_use]
    pub fn within(self, round: &'c ChainRound) -> Self {
        Self { round: Some(round), ..self }
    }
}

impl NextPolicies<'_> {
    /// Asks these policies about a job on behalf of a turn, with who answered and all that came up.
    /// What was given for this job before is given again.
    pub fn reply(&self, job: &Job<'_>) -> HookReply {
        let fresh = ChainRound::default();
        let round = self.round.unwrap_or(&fresh);
        let given = self.hear(self.from, KnownJob { job: *job, at: round.open(job) }, round);
        let by = given.by.as_deref().map(|policy| self.chain.author(policy, job.hook()));
        let result = match self.chain.bound(job, given, round) {
            Ok(answer) => Ok(answer),
            Err(HookInterrupt::Ask(question)) => Err(question),
            Err(HookInterrupt::Error(error)) => {
                round.note(|notes| notes.errors.push(error));
                Ok(None)
            }
        };
        HookReply { result, by, notes: round.take_notes() }
    }

    /// The first opinion, for the policy that asks those behind it; what was given for this job
    /// before is given again.
    ///
    /// # Errors
    ///
    /// Where a policy wants a model to be asked first.
    pub fn call(&self, job: &Job<'_>) -> HookResult<Answer> {
        let (Some(known), Some(round)) = (&self.under, self.round) else {
            return self.reply(job).result.map_err(HookInterrupt::Ask);
        };
        let at = round.find(job, known);
        if at == known.at {
            round.hand_on(at, self.from.saturating_sub(1));
        }
        self.hear(self.from, KnownJob { job: *job, at }, round).opinion
    }

    /// What the policies from this place on come to.
    fn hear(&self, place: usize, known: KnownJob<'_>, round: &ChainRound) -> GivenOpinion {
        let Some(policy) = self.chain.policies.get(place) else {
            return GivenOpinion { opinion: Ok(None), by: None };
        };
        if let Some(given) = round.given(known.at, place) {
            return given;
        }
        let opinion = round.said(known.at, place).map(Ok).unwrap_or_else(|| {
            let (behind, under) = (Some(round), Some(known));
            let rest = NextPolicies { chain: self.chain, from: place + 1, round: behind, under };
            self.chain.say(&**policy, &known.job, &rest, round)
        });
        if let Ok(said) = &opinion {
            round.say(known.at, place, said.as_ref());
        }
        let behind = || self.hear(place + 1, known, round);
        let by = || Some(policy.name().to_owned());
        let given = match (opinion, round.got(known.at, place)) {
            // It passes on what it got, and the one that said it is named.
            (opinion, Some(got)) if opinion == got.opinion => got,
            (Ok(None), got) => got.unwrap_or_else(behind),
            (Ok(Some(own)), None) if said_with_others(&own).is_some() => {
                let GivenOpinion { opinion, by: other } = behind();
                let by = if said_with_others(&own) == Some(0) { other } else { by() };
                GivenOpinion { opinion: opinion.map(|behind| Some(joined(own, behind))), by }
            }
            (opinion, _) => GivenOpinion { opinion, by: by() },
        };
        round.give(known.at, place, &given);
        given
    }

    /// What a policy noted of the session that it is asked about, as JSON.
    pub fn memo(&self, policy: &str) -> Option<String> {
        self.chain.noted().get(policy).cloned()
    }

    /// Notes something for the next time a policy is asked about the same session.
    pub fn set_memo(&self, policy: &str, memo: String) {
        self.chain.noted().insert(policy.to_owned(), memo);
    }
}

/// How much an answer says to which is added what the policies behind say; `None` of any other.
fn said_with_others(own: &Answer) -> Option<usize> {
    match own {
        Answer::Goals(found) => Some(found.len()),
        Answer::Facts(lines) => Some(lines.len()),
        _ => None,
    }
}

/// What a policy says, and behind it what others say that it does not.
fn joined(own: Answer, behind: Option<Answer>) -> Answer {
    match (own, behind) {
        (Answer::Goals(own), Some(Answer::Goals(behind))) => Answer::Goals(both(own, behind)),
        (Answer::Facts(own), Some(Answer::Facts(behind))) => Answer::Facts(both(own, behind)),
        (own, _) => own,
    }
}

fn both<T: PartialEq>(mut own: Vec<T>, behind: Vec<T>) -> Vec<T> {
    let more: Vec<_> = behind.into_iter().filter(|one| !own.contains(one)).collect();
    own.extend(more);
    own
}

#[cfg(test)]
mod tests;
