//! What two snapshots of a session differ in (RULES 24).
//!
//! Invariant: nothing is changed; both sides are what going back to the one or the other would bring.

use std::collections::BTreeSet;

use epitome_kernel::goals;
use epitome_types::{
    Decision, EntryId, EntryKey, Goal, Goals, HeldMessages, RecordedAction, Snapshot,
};
use serde::Serialize;

use super::restore::SnapshotState;
use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::records::{chosen, mode_of};

/// What two snapshots of a session differ in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SnapshotDiff {
    /// The one.
    pub from: Snapshot,
    /// The other one.
    pub to: Snapshot,
    /// Their messages.
    pub messages: MessageDiff,
    /// Compressions in force: how many lead to each.
    pub compressions: ListDiff,
    /// Goals with all that belongs to them.
    pub goals: ListDiff,
    /// The mode that was set by hand.
    pub modes: ListDiff,
    /// Augments that were chosen.
    pub augments: ListDiff,
    /// Messages that were pinned by hand, by their places.
    pub pins: ListDiff,
    /// Whether the last four are known of both: older versions recorded them for no snapshot.
    pub is_whole: bool,
}

/// How many messages two histories have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MessageDiff {
    /// How many both begin with.
    pub shared: usize,
    /// How many the one alone goes on with.
    pub only_from: usize,
    /// How many the other one alone goes on with.
    pub only_to: usize,
}

/// What stands in one list and not in another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ListDiff {
    /// What is in the first list alone.
    pub gone: Vec<String>,
    /// What is in the second list alone.
    pub new: Vec<String>,
}

/// What one snapshot stands for.
struct SnapshotSide {
    keys: Vec<EntryKey>,
    compressions: Vec<String>,
    goals: Vec<String>,
    modes: Vec<String>,
    augments: Vec<String>,
    pins: Vec<String>,
    is_whole: bool,
}

impl SessionAdmin {
    /// What two snapshots of one session differ in.
    ///
    /// # Errors
    ///
    /// When one of them is not there, [`AdminError::SnapshotsApart`] where they are of two sessions, or
    /// when the journal cannot be read.
    pub fn snapshot_diff(
        &self,
        session: Option<&str>,
        from: &str,
        to: &str,
    ) -> Result<SnapshotDiff, AdminError> {
        let (from, to) = (self.find_snapshot(session, from)?, self.find_snapshot(session, to)?);
        if from.session != to.session {
            let sessions = [from.session, to.session];
            return Err(AdminError::SnapshotsApart { sessions });
        }
        let recorded = self.journal.acts(&self.scope, &from.session)?;
        let (one, other) = (self.side(&from, &recorded)?, self.side(&to, &recorded)?);
        let shared = one.keys.iter().zip(&other.keys).take_while(|(one, other)| one == other);
        let shared = shared.count();
        Ok(SnapshotDiff {
            from,
            to,
            messages: MessageDiff {
                shared,
                only_from: one.keys.len() - shared,
                only_to: other.keys.len() - shared,
            },
            compressions: ListDiff::between(&one.compressions, &other.compressions),
            goals: ListDiff::between(&one.goals, &other.goals),
            modes: ListDiff::between(&one.modes, &other.modes),
            augments: ListDiff::between(&one.augments, &other.augments),
            pins: ListDiff::between(&one.pins, &other.pins),
            is_whole: one.is_whole && other.is_whole,
        })
    }

    fn side(
        &self,
        snapshot: &Snapshot,
        recorded: &[RecordedAction],
    ) -> Result<SnapshotSide, AdminError> {
        let mut info = self.session(Some(&snapshot.session))?;
        (info.head, info.figures.messages) = (snapshot.head, snapshot.size.messages);
        let history = SessionHistory::read(&*self.journal, &self.scope, info)?;
        let keys = history.keys().to_vec();
        let state = SnapshotState::from_acts(recorded, &snapshot.id);
        let is_whole = state.is_some();
        let mut acts = state.as_ref().map_or_else(Vec::new, |state| state.acts.clone());
        let known: BTreeSet<_> = keys.iter().collect();
        let held = HeldMessages::new(&acts, |key: &EntryKey| known.contains(key));
        acts = acts.iter().filter(|acted| held.concerns(acted)).cloned().collect();
        let place = |key: &EntryKey| match keys.iter().position(|known| known == key) {
            Some(at) => EntryId(at as u32).to_string(),
            None => key.short(),
        };
        let pins = state.iter().flat_map(|state| &state.pins).map(place).collect();
        let way = history.way_to(snapshot.epoch);
        Ok(SnapshotSide {
            compressions: way.into_iter().map(|id| id.short()).collect(),
            goals: lines(&goals::project(&acts).goals),
            modes: mode_of(&acts).into_iter().collect(),
            augments: chosen(&acts),
            keys,
            pins,
            is_whole,
        })
    }
}

impl ListDiff {
    fn between(from: &[String], to: &[String]) -> Self {
        let only = |one: &[String], other: &[String]| {
            one.iter().filter(|line| !other.contains(line)).cloned().collect()
        };
        Self { gone: only(from, to), new: only(to, from) }
    }

    /// Whether both lists hold the same.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }
}

/// Goals as lines, each of which stands for itself.
fn lines(goals: &Goals) -> Vec<String> {
    let of_goals = goals.goals.iter().flat_map(of_goal);
    of_goals.chain(goals.decisions.iter().map(|one| of_decision(one, None))).collect()
}

fn of_goal(goal: &Goal) -> Vec<String> {
    let (id, priority, status) = (&goal.id, goal.priority.word(), goal.status.word());
    let mut lines = vec![format!("{id} ({priority}, {status}): {}", goal.text)];
    let steps = goal.milestones.iter();
    lines.extend(steps.map(|step| format!("{id} milestone {}: {}", step.state.word(), step.text)));
    lines.extend(goal.next.iter().map(|text| format!("{id} next: {text}")));
    lines.extend(goal.decisions.iter().map(|one| of_decision(one, Some(id))));
    lines
}

fn of_decision(decision: &Decision, goal: Option<&String>) -> String {
    let of = goal.map(|id| format!("{id} ")).unwrap_or_default();
    let locked = if decision.locked { "locked" } else { "open" };
    format!("{of}decision ({locked}): {}", decision.text)
}
