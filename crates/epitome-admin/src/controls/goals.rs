//! Goals, as levers set and show them (RULES 56).
//!
//! Invariant: changes go through [`crate::admin::SessionAdmin::change_goals`], as the command's do.

use epitome_types::{Decision, Goal, GoalAction};
use serde::Serialize;

use super::{Addressed, SessionControls};
use crate::admin::SessionGoals;
use crate::error::AdminError;

/// The goals of a session, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoalsView {
    /// The session.
    pub session: String,
    /// The goals, in the order in which they were set; at most one is active.
    pub goals: Vec<GoalView>,
    /// What was decided outside of them.
    pub decisions: Vec<String>,
}

/// A goal, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoalView {
    /// Its id.
    pub id: String,
    /// What is to be reached.
    pub text: String,
    /// What was first asked for, where it was worded anew since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// `active`, `paused` or `completed`.
    pub status: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// The steps, each with its state.
    pub milestones: Vec<String>,
    /// What was decided, with what keeps it.
    pub decisions: Vec<String>,
    /// What is to be done next.
    pub next: Vec<String>,
}

impl From<&Goal> for GoalView {
    fn from(goal: &Goal) -> Self {
        let milestones = goal.milestones.iter();
        Self {
            id: goal.id.clone(),
            text: goal.text.clone(),
            objective: (goal.objective != goal.text).then(|| goal.objective.clone()),
            status: goal.status.word().to_owned(),
            priority: goal.priority.word().to_owned(),
            milestones: milestones
                .map(|one| format!("{} ({})", one.text, one.state.word()))
                .collect(),
            decisions: goal.decisions.iter().map(decision).collect(),
            next: goal.next.clone(),
        }
    }
}

fn decision(one: &Decision) -> String {
    let kept = match (one.locked, one.stays()) {
        (true, _) => " (locked)",
        (false, true) => " (architecture)",
        (false, false) => "",
    };
    format!("{}{kept}", one.text)
}

impl SessionControls {
    /// The goals of a session.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`].
    pub fn goals(&self, session: Option<&str>) -> Result<GoalsView, AdminError> {
        let Addressed { keeper, info } = self.addressed(session)?;
        Ok(view(keeper.goals(Some(&info.name))?))
    }

    /// Changes goals: all of it or nothing.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`], [`AdminError::Goal`] for a change that cannot be made, or when the journal
    /// cannot be written; then nothing is changed.
    pub fn change_goals(
        &self,
        session: Option<&str>,
        acts: Vec<GoalAction>,
    ) -> Result<GoalsView, AdminError> {
        let Addressed { keeper, info } = self.addressed(session)?;
        let at = (self.clock)();
        Ok(view(keeper.change_goals(Some(&info.name), acts, &self.by, &at)?))
    }
}

fn view(SessionGoals { session, goals }: SessionGoals) -> GoalsView {
    GoalsView {
        session,
        goals: goals.goals.iter().map(GoalView::from).collect(),
        decisions: goals.decisions.iter().map(decision).collect(),
    }
}
