//! What people do to goals after an answer was asked for: the model did not know of it.
//!
//! Invariant: it stands over what that answer says of the same, although the answer is heard later, with
//! the request that brings it back. Called by [`super::observe`].

use epitome_kernel::goals;
use epitome_types::{EntryKey, EventKind, GoalAction, GoalChange, Goals, Role};

use super::HistorySource;
use super::Session;
use super::state::ConversationState;
use super::turn_context::TurnContext;

impl Session {
    /// What people did to the goals between the request for an answer and the one that brings it back.
    /// A host that pushes messages has an answer heard before anybody acts upon it.
    pub(super) fn done_meanwhile(
        &self,
        ground: &TurnContext<'_, '_>,
        answer: EntryKey,
        state: &ConversationState,
    ) -> Vec<GoalAction> {
        let by_people = state.acts.as_ref().map(|acts| acts.facts.by_people.as_slice());
        let by_people = by_people.unwrap_or_default();
        if by_people.is_empty() || matches!(self.given, HistorySource::Pushed(_)) {
            return Vec::new();
        }
        // What cannot be read is refused elsewhere.
        let Ok(document) = ground.source.document() else { return Vec::new() };
        let keys = &ground.incoming.keys;
        let Some(place) = keys.iter().rposition(|key| *key == answer) else { return Vec::new() };
        let mut before = document.entries().iter().take(place);
        let known = before.rfind(|entry| entry.role == Role::Assistant);
        let known = known.map(|entry| keys[entry.id.index()]);
        by_people.iter().filter(|act| act.said_in == known).cloned().collect()
    }
}

/// Whether an act of a model would undo what people did: what they do once more changes something behind
/// it. A goal that they ended or put aside is not worded anew.
pub(super) fn undoes(goals: &Goals, act: &GoalAction, done: &[GoalAction], at: &str) -> bool {
    let words = matches!(act.change, GoalChange::Set { .. } | GoalChange::Revise { .. });
    let ends = |done: &GoalAction| matches!(done.change, GoalChange::Complete | GoalChange::Pause);
    if words && done.iter().any(ends) {
        return true;
    }
    let mut behind = goals.clone();
    goals::enact(&mut behind, act, at).is_ok()
        && done.iter().any(|done| goals::enact(&mut behind, done, at).unwrap_or_default())
}

/// That an answer said something that people changed since.
pub(super) fn told(text: &str, by: String) -> EventKind {
    let text = format!(
        "`{text}` of an answer is passed over: a person changed that since it was asked for"
    );
    EventKind::PolicyWarning { policy: by, text, level: None }
}
