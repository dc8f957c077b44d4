//! Links in Lua that pass on what those behind them say change nothing (RULES 18).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use epitome_kernel::{
    Answer, HookNotes, HookReply, HookResult, Job, NextPolicies, Policy, PolicyChain, PolicyTracer,
};
use epitome_types::hook::{Budgets, BudgetsJob, Common, EventJob, GoalsJob, TriggerJob};
use epitome_types::{Event, EventKind, Speaker};
use proptest::prelude::*;

use crate::support::{load, trigger_job};

/// Ways to pass on, of every hook that is asked here.
const LINKS: [&str; 5] = [
    "return ep.next(job)",
    "local behind = ep.next(job) return behind",
    "ep.next(job) ep.next(job) return nil",
    "local first = ep.next(job) if type(first) == 'table' then first.soft = 1 end
     return ep.next(job)",
    "return nil",
];

/// Policies that do something, each with its name.
const POLICIES: [(&str, &str); 6] = [
    (
        "counts",
        "local function f(job) job.memo.n = (job.memo.n or 0) + 1 end
      return { budgets = f, trigger = f, goals = f, on_event = f }",
    ),
    (
        "adds",
        "return { budgets = function(job)
        local bounds = ep.next(job) or {}
        bounds.soft = (bounds.soft or 0) + 1
        return bounds
      end }",
    ),
    (
        "breaks",
        "return { trigger = function(job) ep.next(job) error('broken') end,
      budgets = function(job) error('broken') end }",
    ),
    (
        "finds",
        "return { goals = function(job)
        job.memo.n = (job.memo.n or 0) + 1
        return { { kind = 'goal', text = 'Mend it.' } }
      end }",
    ),
    (
        "logs",
        "return { on_event = function(job)
        job.memo.n = (job.memo.n or 0) + 1
        return { write_file = { name = 'log.md', text = tostring(job.memo.n), append = true } }
      end }",
    ),
    (
        "drifts",
        "return { trigger = function(job)
        job.memo.n = (job.memo.n or 0) + 1
        return job.memo.n > 1 and { level = 'soft', reason = 'again' } or nil
      end }",
    ),
];

/// The last of a chain, in Rust, with a figure that Lua cannot hold.
struct Last;

impl Policy for Last {
    fn name(&self) -> &str {
        "last"
    }

    fn budgets(&self, _: &BudgetsJob, _: &NextPolicies<'_>) -> HookResult<Budgets> {
        Ok(Some(Budgets { hard: Some(u64::MAX - 1), ..Budgets::default() }))
    }
}

/// Who was asked what, but for links.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl PolicyTracer for Asked {
    fn asked(&self, job: &Job<'_>, policy: &str, _: &HookResult<Answer>) {
        if !policy.starts_with("link") {
            self.0.lock().unwrap().push(format!("{policy} {}", job.hook()));
        }
    }
}

/// All that is seen of a chain.
type Seen = (Vec<String>, Vec<String>, BTreeMap<String, String>, Vec<String>, Vec<String>);

fn seen(policies: Vec<Arc<dyn Policy>>) -> Seen {
    let asked = Arc::new(Asked::default());
    let chain = PolicyChain::new(policies, BTreeMap::new()).traced(Some(asked.clone()));
    let common = Common::default;
    let (mut answers, mut notes) = (Vec::new(), HookNotes::default());
    for _ in 0..2 {
        let budgets = BudgetsJob { common: common() };
        let trigger = TriggerJob { common: common(), ..trigger_job() };
        let (speaker, text, goals) = (Speaker::Model.into(), "Done.".to_owned(), <_>::default());
        let goals = GoalsJob { common: common(), speaker, text, goals };
        let what = EventKind::ContextWarning { percent: 70 };
        let event = Event { session: String::new(), at: String::new(), tokens: [0; 2], what };
        let event = EventJob { common: common(), event };
        let jobs = [
            Job::Budgets(&budgets),
            Job::Trigger(&trigger),
            Job::Goals(&goals),
            Job::Event(&event),
        ];
        for job in jobs {
            let HookReply { result, by, notes: more } = chain.ask().reply(&job);
            answers.push(format!("{result:?} by {:?}", by.map(|by| by.policy)));
            notes.add(more);
        }
    }
    let mut asked = asked.0.lock().unwrap().clone();
    // One that asks those behind it is done after them.
    asked.sort();
    let errors = notes.errors.iter().map(ToString::to_string).collect();
    let exports = notes.files.iter().map(|file| format!("{} {:?}", file.policy, file.export));
    let exports = exports.collect();
    (answers, asked, chain.memos(), errors, exports)
}

/// All links and policies, loaded once.
fn shelf() -> [Vec<Arc<dyn Policy>>; 2] {
    let hook = |name: &str, body: &str| format!("{name} = function(job) {body} end,");
    let links = LINKS.iter().enumerate().map(|(at, body)| {
        let hooks = ["budgets", "trigger", "goals", "on_event"].map(|name| hook(name, body));
        load(&format!("link{at}"), &format!("return {{ {} }}", hooks.concat())) as Arc<dyn Policy>
    });
    let policies = POLICIES.iter().map(|(name, text)| load(name, text) as Arc<dyn Policy>);
    [links.collect(), policies.collect()]
}

#[test]
fn a_chain_of_links_is_the_chain_without_them() {
    let [links, policies] = shelf();
    let all =
        prop::sample::subsequence((0..POLICIES.len()).collect::<Vec<_>>(), 0..=POLICIES.len());
    let all = all.prop_shuffle();
    let some = prop::collection::vec((any::<prop::sample::Index>(), 0..LINKS.len()), 1..8);
    let cases = ProptestConfig::with_cases(200);
    proptest!(cases, |(chosen in all, inserted in some)| {
        let last = || Arc::new(Last) as Arc<dyn Policy>;
        let plain = chosen.iter().map(|at| policies[*at].clone()).chain([last()]);
        let plain: Vec<_> = plain.collect();
        let mut linked = plain.clone();
        for (at, link) in &inserted {
            linked.insert(at.index(linked.len()), links[*link].clone());
        }
        prop_assert_eq!(seen(linked), seen(plain));
    });
}

/// A policy that nobody behind has an opinion for was asked 2^n times behind n links.
#[test]
fn ten_links_ask_the_policy_behind_them_once() {
    let [links, policies] = shelf();
    for link in &links {
        let chain = vec![link.clone(); 10].into_iter().chain([policies[0].clone()]);
        let (_, asked, memos, ..) = seen(chain.collect());
        assert_eq!((asked.len(), &*memos["counts"]), (8, "{\"n\":8}"), "{}", link.name());
    }
}

/// What was given counts where the policy that asked for it fails or takes too long.
#[test]
fn what_was_given_counts_where_the_link_fails_behind_it() {
    let chain: Vec<Arc<dyn Policy>> = vec![
        load("fails", "return { budgets = function(job) ep.next(job) error('no') end }"),
        load(
            "slow",
            "return { budgets = function(job) job.memo.n = (job.memo.n or 0) + 1
            return { soft = job.memo.n } end }",
        ),
    ];
    let (answers, _, memos, errors, _) = seen(chain);
    assert!(answers[0].contains("soft: Some(1)") && answers[4].contains("soft: Some(2)"));
    assert_eq!(memos["slow"], "{\"n\":2}");
    assert_eq!(errors.len(), 2);
}
