//! Goals of a session, as people and hosts look at them and set them (RULES 56).
//!
//! Invariant: what the kernel refuses is an error, and then nothing is recorded; what the profile's
//! patterns match is not recorded either (RULES 1).

use std::collections::BTreeSet;

use epitome_kernel::{StoreError, goals};
use epitome_types::{
    Actor, EntryKey, GoalAction, Goals, HeldMessages, RecordedAction, Role, SessionAction,
};
use serde::Serialize;

use super::SessionAdmin;
use crate::error::AdminError;

/// The goals of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionGoals {
    /// The session.
    pub session: String,
    /// Its goals.
    #[serde(flatten)]
    pub goals: Goals,
}

impl SessionAdmin {
    /// The goals of a session; without a name, of the one used last.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn goals(&self, session: Option<&str>) -> Result<SessionGoals, AdminError> {
        let session = self.session(session)?.name;
        let acts = self.acts_in_force(&session)?;
        Ok(SessionGoals { session, goals: goals::project(&acts).goals })
    }

    /// What was done to a session, as far as it concerns the history that it stands at (RULES 13).
    pub(crate) fn acts_in_force(&self, session: &str) -> Result<Vec<RecordedAction>, AdminError> {
        let mut acts = self.journal.acts_in_force(&self.scope, session)?;
        // Most sessions have nothing that hangs on a message.
        if acts.iter().any(|acted| acted.said_in().is_some()) {
            let history = self.history(Some(session))?;
            let keys: BTreeSet<_> = history.keys().iter().collect();
            let held = HeldMessages::new(&acts, |key: &EntryKey| keys.contains(key));
            acts.retain(|acted| held.concerns(acted));
        }
        Ok(acts)
    }

    /// Changes goals of a session: all of this or nothing. What changes nothing is not recorded. It
    /// holds from the last answer on that is recorded: whoever goes back behind that answer leaves it.
    ///
    /// # Errors
    ///
    /// [`AdminError::NotBegun`] for a session that has no message yet, [`AdminError::Goal`] for a change that
    /// cannot be made, or when the journal cannot be written.
    pub fn change_goals(
        &self,
        session: Option<&str>,
        acts: Vec<GoalAction>,
        by: &Actor,
        at: &str,
    ) -> Result<SessionGoals, AdminError> {
        let mut known = self.goals(session).map_err(|error| match error {
            AdminError::Store(StoreError::NoSession { name, nearest }) => {
                AdminError::NotBegun { name, nearest }
            }
            error => error,
        })?;
        let place = self.last_answer(&known.session)?;
        let mut done = Vec::new();
        for act in acts {
            let mut act = goals::addressed(&known.goals, act);
            act.said_in = act.said_in.or(place);
            for text in act.change.texts_mut() {
                *text = self.profile.redaction.text(text).into_owned();
            }
            if goals::enact(&mut known.goals, &act, at)? {
                done.push(RecordedAction {
                    act: SessionAction::Goal(act),
                    by: by.clone(),
                    at: at.to_owned(),
                });
            }
        }
        if done.is_empty() {
            return Ok(known);
        }
        self.journal.act(&self.scope, &known.session, &done)?;
        self.goals(Some(&known.session))
    }

    /// The last answer in the history that a session stands at. What the user says may be worded
    /// otherwise with the next request, since clients put notes beside it; an answer is not.
    pub(super) fn last_answer(&self, session: &str) -> Result<Option<EntryKey>, AdminError> {
        let history = self.history(Some(session))?;
        let mut messages = history.messages.iter().rev();
        Ok(messages.find(|message| message.role == Role::Assistant).map(|message| message.key))
    }
}
