//! From what a policy found in a text to an act.
//!
//! Invariant: the grammar is the policy's; what a finding means is the same for all of them.

use epitome_types::hook::Found;
use epitome_types::{
    ArtifactChange, DecisionKind, GoalAct, GoalChange, Goals, MilestoneState, Priority,
};

use super::{GoalError, next_id};

/// The act that a finding stands for: a goal is set where none is active, else that one is worded
/// anew (SPEC 9). The case of a state does not matter.
///
/// # Errors
///
/// For a kind or a state that there is not.
pub fn act_of(goals: &Goals, found: &Found) -> Result<GoalAct, GoalError> {
    let text = found.text.clone();
    let state =
        found.state.as_deref().map(|state| state.trim().to_lowercase().replace(['-', ' '], "_"));
    let state = state.as_deref();
    let wrong = |kind, expected| {
        let state = found.state.clone().unwrap_or_default();
        GoalError::State { kind, state, expected }
    };
    Ok(match found.kind.as_str() {
        "goal" if goals.active().is_some() => GoalChange::Revise { text }.into(),
        "goal" => GoalAct {
            goal: Some(next_id(goals)),
            change: GoalChange::Set { text, priority: Priority::Medium },
        },
        "milestone" => {
            let state = match state {
                None | Some("pending") => MilestoneState::Pending,
                Some("in_progress") => MilestoneState::InProgress,
                Some("completed") => MilestoneState::Completed,
                Some(_) => {
                    return Err(wrong("a milestone", "`pending`, `in_progress` or `completed`"));
                }
            };
            GoalChange::Milestone { text, state }.into()
        }
        "decision" => {
            let (locked, kind) = match state {
                None => (false, DecisionKind::Plain),
                Some("locked") => (true, DecisionKind::Plain),
                Some("architecture") => (false, DecisionKind::Architecture),
                Some(_) => return Err(wrong("a decision", "`locked`, `architecture` or nothing")),
            };
            GoalChange::Decide { text, rationale: None, locked, kind }.into()
        }
        "artifact" => {
            let change = match state {
                Some("created") => ArtifactChange::Created,
                None | Some("modified") => ArtifactChange::Modified,
                Some("deleted") => ArtifactChange::Deleted,
                Some(_) => return Err(wrong("an artifact", "`created`, `modified` or `deleted`")),
            };
            GoalChange::Artifact { path: text, change }.into()
        }
        "next" => GoalChange::Next { text }.into(),
        kind => return Err(GoalError::Kind { kind: kind.to_owned() }),
    })
}
