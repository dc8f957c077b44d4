//! A chain of policies, asked hook by hook.
//!
//! Invariant: the first opinion wins; what is said of goals is joined, and events reach every policy.
//! One that fails is noted and passed over, so that the next one answers, the built-in one at last
//! (RULES 9). For one job each is asked at most once, and whoever only passes on what those behind
//! it say changes nothing (RULES 18). What is given away is within its bounds (RULES 17).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_types::HookAuthor;
use epitome_types::hook::{Found, Noted};

use crate::gate::{self, Exceeded};
use crate::policy::{
    Answer, Bounded, HookInterrupt, HookJob, HookResult, Job, ModelQuestion, Policy, PolicyTracer,
};
use crate::round::{ChainRound, GivenOpinion, HookNotes, KnownJob, WantedFile};

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

    /// All of its policies, to be asked.
    pub fn ask(&self) -> NextPolicies<'_> {
        NextPolicies { chain: self, from: 0, round: None, under: None }
    }

    /// The policies behind one of them, to be asked: none behind one that is not there.
    pub fn call_after(&self, policy: &str) -> NextPolicies<'_> {
        let at = self.policies.iter().position(|one| one.name() == policy);
        NextPolicies { from: at.map_or(self.policies.len(), |at| at + 1), ..self.ask() }
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
            (Ok(Some(Answer::Goals(own))), None) => {
                let GivenOpinion { opinion, by: other } = behind();
                let by = if own.is_empty() { other } else { by() };
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

/// What a policy says of goals, and behind it what others say that it does not.
fn joined(mut own: Vec<Found>, behind: Option<Answer>) -> Answer {
    if let Some(Answer::Goals(behind)) = behind {
        let more: Vec<_> = behind.into_iter().filter(|one| !own.contains(one)).collect();
        own.extend(more);
    }
    Answer::Goals(own)
}

#[cfg(test)]
mod tests {
    use epitome_types::hook::*;

    use super::*;
    use crate::policy::PolicyError;

    /// Answers `budgets` with this warning bound, or as `how` says.
    struct Fixed(&'static str, fn(&BudgetsJob, &NextPolicies<'_>) -> HookResult<Budgets>);

    impl Policy for Fixed {
        fn name(&self) -> &str {
            self.0
        }

        fn budgets(&self, job: &BudgetsJob, rest: &NextPolicies<'_>) -> HookResult<Budgets> {
            (self.1)(job, rest)
        }
    }

    fn soft(soft: u64) -> Budgets {
        Budgets { soft: Some(soft), ..Budgets::default() }
    }

    fn failing(_: &BudgetsJob, _: &NextPolicies<'_>) -> HookResult<Budgets> {
        let what = "line 3: no such function".to_owned();
        Err(HookInterrupt::Error(PolicyError { policy: "broken".into(), hook: "budgets", what }))
    }

    fn check(policies: Vec<Fixed>, expected: HookResult<Budgets>, errors: &[&str]) {
        let policies = policies.into_iter().map(|one| Arc::new(one) as Arc<dyn Policy>).collect();
        let chain = PolicyChain::new(policies, BTreeMap::new());
        let job = BudgetsJob { common: Common::default() };
        let reply = chain.ask().reply(&Job::Budgets(&job));
        let found: Vec<_> = reply.notes.errors.iter().map(ToString::to_string).collect();
        assert_eq!(found, errors);
        let said = reply.of_job::<BudgetsJob>().result;
        assert_eq!(said.map_err(HookInterrupt::Ask), expected);
    }

    #[test]
    fn the_first_opinion_wins() {
        check(vec![], Ok(None), &[]);
        let silent = || Fixed("silent", |_, _| Ok(None));
        let last = || Fixed("last", |_, _| Ok(Some(soft(7))));
        check(vec![silent()], Ok(None), &[]);
        check(vec![silent(), last()], Ok(Some(soft(7))), &[]);
        check(vec![Fixed("first", |_, _| Ok(Some(soft(1)))), last()], Ok(Some(soft(1))), &[]);
    }

    #[test]
    fn a_policy_may_change_what_the_rest_answers() {
        let over = Fixed("over", |job, rest| {
            Ok(rest.budgets(job)?.map(|other| soft(1 + other.soft.unwrap_or_default())))
        });
        check(vec![over, Fixed("last", |_, _| Ok(Some(soft(7))))], Ok(Some(soft(8))), &[]);
    }

    #[test]
    fn those_behind_a_policy_are_asked_without_it() {
        let policy = |name, soft: fn(&BudgetsJob, &NextPolicies<'_>) -> HookResult<Budgets>| {
            Arc::new(Fixed(name, soft)) as Arc<dyn Policy>
        };
        let first = policy("first", |_, _| Ok(Some(soft(1))));
        let chain = PolicyChain::new(
            vec![first, policy("last", |_, _| Ok(Some(soft(2))))],
            BTreeMap::new(),
        );
        let job = BudgetsJob { common: Common::default() };
        let behind = |name| chain.call_after(name).budgets(&job);
        let all = [Ok(Some(soft(2))), Ok(None), Ok(None)];
        assert_eq!(["first", "last", "nobody"].map(behind), all);
        let by = chain.ask().reply(&Job::Budgets(&job)).by.map(|by| by.policy);
        assert_eq!(by.as_deref(), Some("first"));
    }

    #[test]
    fn what_fails_is_noted_and_passed_over() {
        let line = "broken: `budgets`: line 3: no such function";
        let last = Fixed("last", |_, _| Ok(Some(soft(7))));
        check(vec![Fixed("broken", failing), last], Ok(Some(soft(7))), &[line]);
    }

    #[test]
    fn a_question_for_a_model_stops_the_chain() {
        let ask = ModelQuestion { id: "a".into(), user: "?".into(), ..ModelQuestion::default() };
        let asking = Fixed("asking", |_, _| {
            let (id, user) = ("a".to_owned(), "?".to_owned());
            Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                id,
                user,
                ..ModelQuestion::default()
            })))
        });
        check(vec![asking, Fixed("broken", failing)], Err(HookInterrupt::Ask(Box::new(ask))), &[]);
        assert_eq!(BudgetsJob::HOOK, "budgets");
    }

    #[test]
    fn memos_are_kept_by_policy() {
        let chain =
            PolicyChain::new(Vec::new(), BTreeMap::from([("a".to_owned(), "{}".to_owned())]));
        chain.ask().set_memo("b", "[1]".to_owned());
        assert_eq!(chain.ask().memo("a").as_deref(), Some("{}"));
        let memos = chain.memos();
        assert_eq!(memos.keys().collect::<Vec<_>>(), ["a", "b"]);
    }
}
