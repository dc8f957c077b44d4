//! What was done to a session beside what was said, as far as its requests need it.
//!
//! Invariant: a projection of the acts in the journal, read again when the journal has moved; what
//! a request does itself is recorded once, behind what it is about. Called by the turn.

use std::collections::BTreeSet;
use std::mem;

use epitome_kernel::goals::GoalError;
use epitome_kernel::{StoreError, goals};
use epitome_types::hook::Found;
use epitome_types::{
    Actor, EntryKey, EventKind, GoalAction, HeldMessages, HistoryHash, RecordedAction,
    SessionAction, SnapshotPurpose, acts_in_force,
};

use super::Session;
use super::action_state::{ActionState, Doing};
use super::belonging::HistoryOrigin;
use super::overruled;
use super::state::{ConversationState, IncomingHistory};

/// So many messages of a history are read at once.
const PAGE: usize = 1024;

/// Who warns of what is said of goals.
pub(crate) const GOALS: &str = "goals";

/// Who said something, and in which message.
#[derive(Clone, Copy)]
pub(crate) struct Saying<'a> {
    pub(crate) by: &'a Actor,
    pub(crate) said_in: EntryKey,
    /// What people did that whoever said it did not know of.
    pub(crate) meanwhile: &'a [GoalAction],
}

impl Session {
    /// Reads the acts of a session that concern a history, unless they are known: all of them where
    /// its messages are not told. Gives what somebody did to its goals since they were read.
    pub(crate) fn meet_acts(
        &self,
        state: &mut ConversationState,
        incoming: &IncomingHistory,
        tells_all: bool,
    ) -> Result<Vec<EventKind>, StoreError> {
        let name = &*incoming.session;
        let known = state.acts.as_ref().filter(|acts| acts.session == name);
        if known.is_some_and(|acts| !acts.stale) {
            return Ok(Vec::new());
        }
        let all = self.record.journal.acts(&self.record.scope, name)?;
        let count = all.len();
        let new = all[known.map_or(count, |known| known.count).min(count)..].to_vec();
        let mut acts = acts_in_force(all);
        if known.is_some() && new.iter().any(goes_back) {
            // The policies go on from what they had noted then.
            state.chain = None;
        }
        if let Some(act) = self.client_compaction(incoming, &acts)? {
            acts.push(RecordedAction { act: act.clone(), by: Actor::Model, at: self.now() });
            state.work.doing.push((act, Actor::Model));
        }
        let keys: Option<BTreeSet<_>> = tells_all.then(|| incoming.keys.iter().collect());
        let holds = |key: &EntryKey| keys.as_ref().is_none_or(|keys| keys.contains(key));
        let held = HeldMessages::new(&acts, holds);
        let new = new.iter().filter(|acted| held.concerns(acted));
        let mut told = Vec::new();
        for acted in new {
            told.extend(self.told_of(name, acted)?);
        }
        let acts: Vec<_> = acts.iter().filter(|acted| held.concerns(acted)).cloned().collect();
        state.acts = Some(ActionState::of(name, &acts, count));
        Ok(told)
    }

    /// What is told of something that was done meanwhile.
    fn told_of(&self, name: &str, acted: &RecordedAction) -> Result<Option<EventKind>, StoreError> {
        let by_hand = acted.by == Actor::User;
        Ok(match &acted.act {
            SessionAction::Goal(act) => Some(updated(act, &acted.by)),
            // A policy's own are told where they are made.
            SessionAction::Snapshot { id, .. } if by_hand => {
                let (id, purpose) = (id.clone(), SnapshotPurpose::Recovery);
                Some(EventKind::SnapshotCreated { id, purpose })
            }
            SessionAction::Restored { snapshot, .. } => {
                let all = self.record.journal.snapshots(&self.record.scope, Some(name))?;
                let purpose = all.iter().find(|one| one.id == *snapshot).map(|one| one.purpose);
                let purpose = purpose.unwrap_or(SnapshotPurpose::Recovery);
                Some(EventKind::SnapshotRestored { id: snapshot.clone(), purpose })
            }
            _ => None,
        })
    }

    /// What to record where a history begins with the summary of one that its client compacted: what
    /// messages of that one decided holds in this one, too.
    fn client_compaction(
        &self,
        incoming: &IncomingHistory,
        acts: &[RecordedAction],
    ) -> Result<Option<SessionAction>, StoreError> {
        let name = &*incoming.session;
        let named: BTreeSet<_> = acts.iter().filter_map(RecordedAction::said_in).collect();
        if incoming.origin != HistoryOrigin::Compacted || named.is_empty() {
            return Ok(None);
        }
        let head = self.record.journal.session(&self.record.scope, name)?.head;
        if incoming.chains.contains(&head) {
            return Ok(None);
        }
        let before = self.keys_up_to(name, head)?;
        let held = HeldMessages::new(acts, |key: &EntryKey| before.contains(key));
        let said = acts.iter().filter(|acted| held.concerns(acted));
        let said: BTreeSet<_> = said.filter_map(RecordedAction::said_in).copied().collect();
        let summary =
            incoming.keys.iter().skip(incoming.recorded).find(|key| !before.contains(key));
        Ok(summary.filter(|_| !said.is_empty()).map(|&summary| SessionAction::ClientCompaction {
            summary,
            said: said.into_iter().collect(),
        }))
    }

    /// The messages of a recorded history.
    fn keys_up_to(&self, name: &str, head: HistoryHash) -> Result<BTreeSet<EntryKey>, StoreError> {
        let (journal, scope) = (&self.record.journal, &*self.record.scope);
        let (mut keys, mut from) = (BTreeSet::new(), 0);
        loop {
            let page = journal.history(scope, name, head, from, PAGE)?;
            let Some(last) = page.last() else { return Ok(keys) };
            from = last.place + 1;
            keys.extend(page.iter().map(|said| said.key));
        }
    }

    /// Takes up what a text says of goals, and gives what the host is told of it. What changes
    /// nothing is not recorded again.
    pub(crate) fn said_of_goals(
        &self,
        mut found: Found,
        message: Saying<'_>,
        state: &mut ConversationState,
        at: &str,
    ) -> Option<EventKind> {
        let Saying { by, said_in, meanwhile } = message;
        let acts = state.acts.as_mut()?;
        found.text = self.redaction().text(&found.text).into_owned();
        let act = goals::act_of(&acts.goals, &found);
        let act = act.map(|act| goals::addressed(&acts.goals, act));
        if act.as_ref().is_ok_and(|act| overruled::undoes(&acts.goals, act, meanwhile, at)) {
            return Some(overruled::told(&found.text, GOALS.to_owned()));
        }
        let act = act.and_then(|act| Ok((goals::enact(&mut acts.goals, &act, at)?, act)));
        match act {
            Ok((true, act)) => {
                acts.facts.goals_from.insert(said_in);
                let told = updated(&act, by);
                let act = GoalAction { said_in: Some(said_in), ..act };
                state.work.doing.push((SessionAction::Goal(act), by.clone()));
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

    /// Records what messages decide that are recorded already, before anything takes long: they are heard
    /// once.
    pub(crate) fn enact_said(
        &self,
        state: &mut ConversationState,
        name: &str,
        at: &str,
    ) -> Result<(), StoreError> {
        let said = state.said(at);
        self.record_acts(&said, state, name)
    }

    /// Records what a request did. The next one finds that the journal has moved, and reads it.
    pub(crate) fn enact(
        &self,
        state: &mut ConversationState,
        name: &str,
        at: &str,
    ) -> Result<(), StoreError> {
        let mut doing = mem::take(&mut state.work.doing);
        if doing.iter().any(|(act, _)| *act == SessionAction::Met) {
            // What somebody asked for meanwhile is still to be looked at.
            let known = state.acts.as_ref().map_or(0, |acts| acts.count);
            if self.record.journal.acts(&self.record.scope, name)?.len() != known {
                doing.retain(|(act, _)| *act != SessionAction::Met);
            }
        }
        self.record_acts(&recorded(doing, at), state, name)
    }

    fn record_acts(
        &self,
        acts: &[RecordedAction],
        state: &mut ConversationState,
        name: &str,
    ) -> Result<(), StoreError> {
        if acts.is_empty() {
            return Ok(());
        }
        self.record.journal.act(&self.record.scope, name, acts)?;
        state.acted(acts.len());
        Ok(())
    }
}

impl ConversationState {
    /// Takes out what the new messages of a request decide, to be recorded with them: as soon as they are
    /// recorded nobody hears them again.
    pub(crate) fn said(&mut self, at: &str) -> Vec<RecordedAction> {
        let is_said = |act: &SessionAction| {
            matches!(act, SessionAction::Goal(_) | SessionAction::ClientCompaction { .. })
        };
        let doing = mem::take(&mut self.work.doing);
        let (said, rest) = doing.into_iter().partition(|(act, _)| is_said(act));
        self.work.doing = rest;
        recorded(said, at)
    }

    /// Takes note that so many acts more are recorded.
    pub(crate) fn acted(&mut self, count: usize) {
        self.acts.iter_mut().for_each(|known| known.count += count);
    }
}

fn recorded(doing: Vec<Doing>, at: &str) -> Vec<RecordedAction> {
    let acted = |(act, by)| RecordedAction { act, by, at: at.to_owned() };
    doing.into_iter().map(acted).collect()
}

fn goes_back(acted: &RecordedAction) -> bool {
    matches!(acted.act, SessionAction::Restored { .. })
}

fn updated(act: &GoalAction, by: &Actor) -> EventKind {
    EventKind::GoalUpdated { act: GoalAction { said_in: None, ..act.clone() }, by: by.clone() }
}
