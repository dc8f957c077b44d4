//! Tests of a chain of policies.

use epitome_types::{Goals, Speaker};

use super::*;
use crate::hook::PolicyError;

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
    let round = chain.round();
    assert_eq!(chain.ask().within(&round).reply(&Job::Budgets(&job)), reply);
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

/// Finds this in whatever is said.
struct Finds(Option<Vec<Found>>);

impl Policy for Finds {
    fn name(&self) -> &str {
        "finds"
    }

    fn goals(&self, job: &GoalsJob, rest: &NextPolicies<'_>) -> HookResult<Vec<Found>> {
        assert_eq!(rest.goals(job), Ok(None));
        Ok(self.0.clone())
    }
}

#[test]
fn one_policy_says_the_same_whether_it_is_kept_or_not() {
    let found = Found { kind: FoundKind::Goal, text: "Mend it.".to_owned(), state: None };
    for (says, by) in [(None, None), (Some(vec![]), None), (Some(vec![found]), Some("finds"))] {
        let chain = PolicyChain::new(vec![Arc::new(Finds(says.clone()))], BTreeMap::new());
        let (common, text) = (Common::default(), "Mend it.".to_owned());
        let (speaker, goals) = (Speaker::Human.into(), Goals::default());
        let job = GoalsJob { common, speaker, text, goals };
        let reply = chain.ask().reply(&Job::Goals(&job));
        assert_eq!(reply.by.as_ref().map(|by| &*by.policy), by);
        assert_eq!(reply.result, Ok(says.map(Answer::Goals)));
        assert_eq!(chain.ask().within(&chain.round()).reply(&Job::Goals(&job)), reply);
    }
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
    let chain =
        PolicyChain::new(vec![first, policy("last", |_, _| Ok(Some(soft(2))))], BTreeMap::new());
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
        Err(HookInterrupt::Ask(Box::new(ModelQuestion { id, user, ..ModelQuestion::default() })))
    });
    check(vec![asking, Fixed("broken", failing)], Err(HookInterrupt::Ask(Box::new(ask))), &[]);
    assert_eq!(BudgetsJob::HOOK, "budgets");
}

#[test]
fn memos_are_kept_by_policy() {
    let chain = PolicyChain::new(Vec::new(), BTreeMap::from([("a".to_owned(), "{}".to_owned())]));
    chain.ask().set_memo("b", "[1]".to_owned());
    assert_eq!(chain.ask().memo("a").as_deref(), Some("{}"));
    let memos = chain.memos();
    assert_eq!(memos.keys().collect::<Vec<_>>(), ["a", "b"]);
}
