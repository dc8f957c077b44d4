//! From what a policy found in a text to an act.
//!
//! Invariant: the grammar is the policy's; what a finding means is the same for all of them.

use epitome_types::hook::{Found, FoundKind};
use epitome_types::{
    ArtifactChange, DecisionKind, GoalAction, GoalChange, Goals, MilestoneState, Priority,
};

use super::{GoalError, addressed};

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
