//! A chain of policies, asked hook by hook.
//!
//! Invariant: the first opinion wins; what is said of goals is joined, and events reach every policy.
//! One that fails is noted and passed over, so that the next one answers, the built-in one at last
//! (RULES 9). For one job each is asked at most once, and whoever only passes on what those behind
//! it say changes nothing (RULES 18). What is given away is within its bounds (RULES 17).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_types::hook::{Export, Found, Noted};

use crate::gate::{self, Bounded, Exceeded};
use crate::policy::{Answer, HookInterrupt, HookResult, Job, Policy, PolicyError, PolicyTracer};
use crate::round::{ChainRound, GivenOpinion, KnownJob};

/// Policies in the order in which they are asked, and their notes on one session.
#[derive(Clone)]
pub struct PolicyChain {
    policies: Vec<Arc<dyn Policy>>,
    notes: Arc<Mutex<PolicyNotes>>,
    tracer: Option<Arc<dyn PolicyTracer>>,
}

/// What came up while policies were asked.
#[derive(Clone, Debug, Default)]
struct PolicyNotes {
    memos: BTreeMap<String, String>,
    errors: Vec<PolicyError>,
    /// The files that are wanted of events, each with its policy.
    exports: Vec<(String, Export)>,
    /// What was asked for beyond its bound.
    bounded: Vec<Bounded>,
    /// Who answered each hook last.
    winners: BTreeMap<&'static str, String>,
}

impl fmt::Debug for PolicyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.policies.iter().map(|policy| policy.name())).finish()
    }
}

impl PolicyChain {
    /// A chain of these policies, with what each of them noted earlier, as JSON.
    pub fn new(policies: Vec<Arc<dyn Policy>>, memos: BTreeMap<String, String>) -> Self {
        let notes = PolicyNotes { memos, ..PolicyNotes::default() };
        Self { policies, notes: Arc::new(Mutex::new(notes)), tracer: None }
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
        self.notes().memos.clone()
    }

    /// The policy that answered a hook last, or had a model asked for it.
    pub fn winner(&self, hook: &str) -> Option<String> {
        self.notes().winners.get(hook).cloned()
    }

    /// The line of a policy where one of its hooks begins, where it has lines.
    pub fn line(&self, policy: &str, hook: &str) -> Option<u32> {
        self.policies.iter().find(|one| one.name() == policy)?.line(hook)
    }

    /// Takes note of an error that came up beside the hooks.
    pub fn note(&self, error: PolicyError) {
        self.notes().errors.push(error);
    }

    /// The errors since this was last called.
    pub fn take_errors(&self) -> Vec<PolicyError> {
        std::mem::take(&mut self.notes().errors)
    }

    /// The files that policies wanted of events since this was last called, each with its policy.
    pub fn take_exports(&self) -> Vec<(String, Export)> {
        std::mem::take(&mut self.notes().exports)
    }

    /// Takes note of what a policy asked for beyond its bound beside the hooks' answers.
    pub fn bounded(&self, bounded: Bounded) {
        self.notes().bounded.push(bounded);
    }

    /// What policies asked for beyond its bound since this was last called.
    pub fn take_bounded(&self) -> Vec<Bounded> {
        std::mem::take(&mut self.notes().bounded)
    }

    /// Holds what is given away within its bounds.
    fn bound(&self, job: &Job<'_>, given: GivenOpinion) -> HookResult<Answer> {
        let mut answer = match given.opinion {
            Ok(Some(answer)) => answer,
            other => return other,
        };
        let exceeded = gate::bound(job, &mut answer);
        let policy = given.by.unwrap_or_default();
        let bounded = exceeded.into_iter().map(|Exceeded { what, asked, given }| Bounded {
            policy: policy.clone(),
            hook: job.hook(),
            what,
            asked,
            given,
        });
        self.notes().bounded.extend(bounded);
        Ok(Some(answer))
    }

    fn won(&self, hook: &'static str, policy: &str) {
        self.notes().winners.insert(hook, policy.to_owned());
    }

    /// Asks one of the policies, and takes note of what it failed at or wants written of an event.
    fn say(
        &self,
        policy: &dyn Policy,
        job: &Job<'_>,
        rest: &NextPolicies<'_>,
    ) -> HookResult<Answer> {
        let opinion = policy.answer(job, rest);
        if let Some(tracer) = &self.tracer {
            tracer.asked(job, policy.name(), &opinion);
        }
        match opinion {
            Ok(Some(Answer::Event(Noted { export }))) => {
                let export = export.map(|export| (policy.name().to_owned(), export));
                self.notes().exports.extend(export);
                Ok(None)
            }
            Err(HookInterrupt::Error(error)) => {
                self.note(error);
                Ok(None)
            }
            opinion => opinion,
        }
    }

    fn notes(&self) -> MutexGuard<'_, PolicyNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// The first opinion; what was given for this job before is given again.
    ///
    /// # Errors
    ///
    /// Where a policy wants a model to be asked first.
    pub fn call(&self, job: &Job<'_>) -> HookResult<Answer> {
        let fresh = ChainRound::default();
        let round = self.round.unwrap_or(&fresh);
        let Some(known) = &self.under else {
            let given = self.hear(self.from, KnownJob { job: *job, at: round.open(job) }, round);
            if let Some(by) = &given.by {
                self.chain.won(job.hook(), by);
            }
            return self.chain.bound(job, given);
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
            let (round, under) = (Some(round), Some(known));
            let rest = NextPolicies { chain: self.chain, from: place + 1, round, under };
            self.chain.say(&**policy, &known.job, &rest)
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
        self.chain.notes().memos.get(policy).cloned()
    }

    /// Notes something for the next time a policy is asked about the same session.
    pub fn set_memo(&self, policy: &str, memo: String) {
        self.chain.notes().memos.insert(policy.to_owned(), memo);
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
    use crate::policy::{HookJob, ModelQuestion};

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
        assert_eq!(chain.ask().budgets(&job), expected);
        let found: Vec<_> = chain.take_errors().iter().map(ToString::to_string).collect();
        assert_eq!(found, errors);
        assert_eq!(chain.take_errors(), []);
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
        assert_eq!(chain.winner("budgets").as_deref(), Some("last"));
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
