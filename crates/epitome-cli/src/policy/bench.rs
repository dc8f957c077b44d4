//! `epitome policy bench`: what asking policies takes.
//!
//! Invariant: every policy is asked as it stands in its chain, with those behind it, about the same
//! made-up conversation of 400 messages; a figure is the median of all calls.

mod jobs;

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome::{
    HOOKS, Job, Policy, PolicyChain, PolicyError, PolicyRef, TokenCounter, VocabularyCounter,
};
use serde::Serialize;

use self::jobs::Jobs;
use super::choice::{PolicyArgs, none};
use crate::clock::{now, since};
use crate::fault::CliError;
use crate::files;
use crate::journal;
use crate::table::{Column, TextTable, left, right};

/// How often each hook is asked.
const CALLS: usize = 300;

/// Calls before those that count.
const WARM: usize = 20;

const COLUMNS: [Column; 5] =
    [left("policy"), left("hook"), right("µs, median"), right("µs, 99 %"), left("").least(20)];

/// Measures what asking each hook of policies takes, over 400 messages
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy bench ollm")]
pub(crate) struct Args {
    #[command(flatten)]
    choice: PolicyArgs,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
}

/// What asking a hook takes.
#[derive(Serialize)]
struct HookCost {
    policy: String,
    hook: &'static str,
    /// Microseconds.
    median: f64,
    /// What all but a hundredth of the calls stay below.
    most: f64,
    /// Why the policy has no answer; then the figures say little.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let chosen = args.choice.find()?;
    let mut costs = Vec::new();
    for policy in &chosen.policies {
        let profile = chosen.config.profile_of_policy(policy.name())?;
        profile.permitted()?;
        costs.extend(measured(&profile, policy)?);
    }
    if args.json {
        return journal::json(&costs);
    }
    if costs.is_empty() {
        none();
        return Ok(());
    }
    let figure = |micros: f64| format!("{micros:.1}");
    let row = |cost: &HookCost| {
        let error = cost.error.clone().unwrap_or_default();
        let (median, most) = (figure(cost.median), figure(cost.most));
        vec![cost.policy.clone(), cost.hook.to_owned(), median, most, error]
    };
    let rows: Vec<_> = costs.iter().map(row).collect();
    files::to_stdout(|out| TextTable::new(&COLUMNS).print(out, &rows))
}

/// What each hook of a policy takes.
fn measured(profile: &epitome::Profile, policy: &PolicyRef) -> Result<Vec<HookCost>, CliError> {
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    let loaded = profile.load(&counter)?;
    let Some(own) = loaded.lua().find(|one| one.name() == policy.name()) else {
        return Ok(Vec::new());
    };
    let hooks = own.current().0.declared().hooks.clone();
    let mut policies = loaded.current();
    policies.push(Arc::new(profile.built_in()));
    let chain = PolicyChain::new(policies, BTreeMap::new());
    let jobs = Jobs::new(&chain);
    let asked = HOOKS.iter().filter(|hook| hooks.contains(&hook.name));
    let mut costs = Vec::new();
    for hook in asked {
        let (mut calls, mut error) = (Vec::with_capacity(CALLS), None::<PolicyError>);
        jobs.with(hook.name, |job: &Job<'_>| {
            for call in 0..WARM + CALLS {
                let start = now();
                // The answer does not matter here, the first error does.
                let reply = chain.ask().reply(job);
                if call >= WARM {
                    calls.push(since(start) * 1000.0);
                }
                error = error.take().or(reply.notes.errors.into_iter().next());
            }
        });
        calls.sort_by(f64::total_cmp);
        let at = |share: f64| calls.get((CALLS as f64 * share) as usize).copied();
        let error = error.map(|error| error.what);
        let (median, most) = (at(0.5).unwrap_or_default(), at(0.99).unwrap_or_default());
        let policy = policy.name().to_owned();
        costs.push(HookCost { policy, hook: hook.name, median, most, error });
    }
    Ok(costs)
}
