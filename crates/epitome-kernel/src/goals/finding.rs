//! From what a policy found in a text to an act.
//!
//! Invariant: the grammar is the policy's; what a finding means is the same for all of them.

use epitome_types::hook::{Found, FoundKind};
use epitome_types::{
    ArtifactChange, DecisionKind, GoalAction, GoalChange, Goals, MilestoneState, Priority,
};

use super::{GoalError, addressed};
use crate::gate::kept_most;
use crate::port::TokenCounter;

/// Takes its lock from a decision that a model found, where all that is decided for good would exceed
/// the share of the limit that may be kept (RULES 17): a conversation that fills its window with locks
/// could not go on. What people locked counts, and is never bounded. Gives the bound, in tokens, where
/// it did.
pub fn bound_lock(
    goals: &Goals,
    found: &mut Found,
    limit: u64,
    counter: &dyn TokenCounter,
) -> Option<u64> {
    if found.kind != FoundKind::Decision || found.state.is_none() {
        return None;
    }
    let most = kept_most(limit);
    let of_goals = goals.goals.iter().flat_map(|goal| &goal.decisions);
    let stay = of_goals.chain(&goals.decisions).filter(|decision| decision.stays());
    let others = stay.filter(|decision| decision.text != found.text);
    let size = |text: &str| counter.count(text);
    let taken: u64 = others.map(|decision| size(&decision.text)).sum();
    if taken + size(&found.text) <= most {
        return None;
    }
    found.state = None;
    Some(most)
}

/// The act that a finding stands for: a goal is set where none is active, else that one is worded
/// anew (RULES 57). The case of a state does not matter.
///
/// # Errors
///
/// For a state that its kind does not have.
pub fn act_of(goals: &Goals, found: &Found) -> Result<GoalAction, GoalError> {
    let text = found.text.clone();
    let state =
        found.state.as_deref().map(|state| state.trim().to_lowercase().replace(['-', ' '], "_"));
    let state = state.as_deref();
    let wrong = |kind, expected| {
        let state = found.state.clone().unwrap_or_default();
        GoalError::State { kind, state, expected }
    };
    let change = match found.kind {
        FoundKind::Goal if goals.active().is_some() => GoalChange::Revise { text },
        FoundKind::Goal => GoalChange::Set { text, priority: Priority::Medium },
        FoundKind::Milestone => {
            let state = match state {
                None => MilestoneState::Pending,
                Some(word) => MilestoneState::of_word(word).ok_or_else(|| {
                    wrong("a milestone", "`pending`, `in_progress` or `completed`")
                })?,
            };
            GoalChange::Milestone { text, state }
        }
        FoundKind::Decision => {
            let (locked, kind) = match state {
                None => (false, DecisionKind::Plain),
                Some("locked") => (true, DecisionKind::Plain),
                Some("architecture") => (false, DecisionKind::Architecture),
                Some(_) => return Err(wrong("a decision", "`locked`, `architecture` or nothing")),
            };
            GoalChange::Decide { text, rationale: None, locked, kind }
        }
        FoundKind::Artifact => {
            let change = match state {
                None => ArtifactChange::Modified,
                Some(word) => ArtifactChange::of_word(word)
                    .ok_or_else(|| wrong("an artifact", "`created`, `modified` or `deleted`"))?,
            };
            GoalChange::Artifact { path: text, change }
        }
        FoundKind::Next => GoalChange::Next { text },
    };
    Ok(addressed(goals, change.into()))
}
