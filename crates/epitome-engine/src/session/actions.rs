//! What was done to a session beside what was said, as far as its requests need it.
//!
//! Invariant: a projection of the acts in the journal, read again when the journal has moved; what
//! a request does itself is recorded once, behind what it is about. Called by the turn.

use std::mem;

use epitome_kernel::goals::GoalError;
use epitome_kernel::{StoreError, goals};
use epitome_types::hook::Found;
use epitome_types::{
    Actor, EntryId, EntryKey, EventKind, GoalAction, Goals, RecordedAction, SessionAction,
};

use super::Session;
use super::recall::returning;
use super::state::ConversationState;
use super::system::Assembled;
use epitome_admin::controls::chosen;

/// Who warns of what is said of goals.
const GOALS: &str = "goals";

/// What the acts of a session come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionState {
    /// The session that they belong to.
    session: String,
    /// How many there are.
    count: usize,
    /// Whether the journal has moved since they were read.
    pub(crate) stale: bool,
    /// Who asked for a compression that no request has looked at yet.
    pub(crate) asked: Option<String>,
    /// The messages that a model was asked about without an answer yet, and who asked.
    pub(crate) open: Vec<(EntryKey, Actor)>,
    /// The message that holds the watermark.
    mark: Option<EntryKey>,
    pub(crate) goals: Goals,
    /// The names of the augments that were chosen.
    pub(crate) augments: Vec<String>,
    /// The excerpts that are to come back into the conversation.
    pub(crate) returning: Vec<String>,
    /// The system prompts that were put together, oldest first.
    pub(crate) systems: Vec<Assembled>,
}

/// Something that a request does, and who decided so.
pub(crate) type Doing = (SessionAction, Actor);

impl ActionState {
    fn of(session: &str, acts: &[RecordedAction]) -> Self {
        let mut found = Self {
            session: session.to_owned(),
            count: acts.len(),
            goals: goals::project(acts).goals,
            augments: chosen(acts),
            returning: returning(acts),
            systems: acts.iter().filter_map(Assembled::done).collect(),
            ..Self::default()
        };
        for RecordedAction { act, by, .. } in acts {
            match act {
                SessionAction::Ask { tool } => found.asked = Some(tool.clone()),
                SessionAction::Met => found.asked = None,
                SessionAction::Mark { entry, .. } => found.mark = Some(*entry),
                SessionAction::Question { entry, open } => {
                    found.open.retain(|(known, _)| known != entry);
                    found.open.extend(open.then(|| (*entry, by.clone())));
                }
                _ => {}
            }
        }
        found
    }

    /// The place of the watermark in a history; `Some(None)` where it is not in it.
    pub(crate) fn mark(&self, keys: &[EntryKey]) -> Option<Option<EntryId>> {
        let mark = self.mark?;
        let place = keys.iter().rposition(|key| *key == mark);
        Some(place.map(|place| EntryId(place as u32)))
    }
}

impl Session {
    /// Reads the acts of a session, unless they are known. Gives what somebody did to its goals
    /// since they were read.
    pub(crate) fn meet_acts(
        &self,
        state: &mut ConversationState,
        name: &str,
    ) -> Result<Vec<EventKind>, StoreError> {
        let known = state.acts.as_ref().filter(|acts| acts.session == name);
        if known.is_some_and(|acts| !acts.stale) {
            return Ok(Vec::new());
        }
        let acts = self.journal.acts(&self.scope, name)?;
        let new = known.and_then(|known| acts.get(known.count..)).unwrap_or_default();
        let updated = new.iter().filter_map(|acted| match &acted.act {
            SessionAction::Goal(act) => Some(updated(act, &acted.by)),
            _ => None,
        });
        let updated = updated.collect();
        state.acts = Some(ActionState::of(name, &acts));
        Ok(updated)
    }

    /// Takes up what a text says of goals, and gives what the host is told of it. What changes
    /// nothing is not recorded again.
    pub(crate) fn said_of_goals(
        &self,
        mut found: Found,
        by: &Actor,
        state: &mut ConversationState,
        at: &str,
    ) -> Option<EventKind> {
        let acts = state.acts.as_mut()?;
        found.text = self.redaction.text(&found.text).into_owned();
        let act = goals::act_of(&acts.goals, &found);
        let act = act.map(|act| goals::addressed(&acts.goals, act));
        let act = act.and_then(|act| Ok((goals::enact(&mut acts.goals, &act, at)?, act)));
        match act {
            Ok((true, act)) => {
                let told = updated(&act, by);
                state.doing.push((SessionAction::Goal(act), by.clone()));
                Some(told)
            }
            Err(error @ (GoalError::Locked { .. } | GoalError::State { .. })) => {
                let (policy, text) = (GOALS.to_owned(), error.to_string());
                Some(EventKind::PolicyWarning { policy, text, level: None })
            }
            // A marker that is about nothing is a text like any other.
            Ok((false, _)) | Err(_) => None,
        }
    }

    /// Records what a request did. The next one finds that the journal has moved, and reads it.
    pub(crate) fn enact(
        &self,
        state: &mut ConversationState,
        name: &str,
        at: &str,
    ) -> Result<(), StoreError> {
        let mut doing = mem::take(&mut state.doing);
        if doing.iter().any(|(act, _)| *act == SessionAction::Met) {
            // What somebody asked for meanwhile is still to be looked at.
            let known = state.acts.as_ref().map_or(0, |acts| acts.count);
            if self.journal.acts(&self.scope, name)?.len() != known {
                doing.retain(|(act, _)| *act != SessionAction::Met);
            }
        }
        if doing.is_empty() {
            return Ok(());
        }
        let acted = |(act, by)| RecordedAction { act, by, at: at.to_owned() };
        let acts: Vec<_> = doing.into_iter().map(acted).collect();
        self.journal.act(&self.scope, name, &acts)?;
        if let Some(known) = &mut state.acts {
            known.count += acts.len();
        }
        Ok(())
    }
}

fn updated(act: &GoalAction, by: &Actor) -> EventKind {
    EventKind::GoalUpdated { act: act.clone(), by: by.clone() }
}
