//! Going back to a snapshot: the session stands as it stood then (RULES 24).
//!
//! Invariant: going back deletes nothing. The newest message of the session is an earlier one from then
//! on; of what was done, that holds which held then; what was compressed since stays on the branch that
//! is left, which a snapshot of its own leads back to.

use std::collections::BTreeMap;

use epitome_kernel::StoreError;
use epitome_types::{
    Actor, CompactionId, EntryKey, JournalMark, MeterReading, RecordedAction, SessionAction,
    Snapshot, acts_in_force,
};
use serde::Serialize;

use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;

/// What going back to a snapshot did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestoreReport {
    /// The snapshot gone back to.
    pub snapshot: Snapshot,
    /// How many compressions were taken back.
    pub undone: usize,
    /// How many were put in force again.
    pub redone: usize,
    /// How many changes of goals, augments and pins do not hold any longer.
    pub dropped: usize,
    /// How many of them hold again.
    pub revived: usize,
    /// The snapshot that was made of what stood before, where that was something else.
    pub before: Option<Snapshot>,
}

/// What held when a snapshot was made, beside its history and its compression.
pub(super) struct SnapshotState {
    pub(super) acts: Vec<RecordedAction>,
    pub(super) pins: Vec<EntryKey>,
    memos: BTreeMap<String, String>,
    meter: Option<MeterReading>,
    undone: Vec<CompactionId>,
}

/// The compressions of a session that turn when it goes back.
#[derive(Default)]
struct TurnedCompactions {
    undone: Vec<CompactionId>,
    redone: Vec<CompactionId>,
}

impl SessionAdmin {
    /// Goes back to a snapshot: its history is the session's again, the compression that was in force
    /// then is in force, and so are goals, decisions, locks, augments, pins, what policies had noted and
    /// what the trigger went by.
    /// A snapshot of a version that did not record these brings back the first two alone.
    ///
    /// # Errors
    ///
    /// When there is no such snapshot, or the journal cannot be written.
    pub fn restore(
        &self,
        session: Option<&str>,
        named: &str,
        at: &str,
    ) -> Result<RestoreReport, AdminError> {
        let snapshot = self.find_snapshot(session, named)?;
        let session = snapshot.session.as_str();
        let now = self.history(Some(session))?;
        let recorded = self.journal.acts(&self.scope, session)?;
        let then = SnapshotState::from_acts(&recorded, &snapshot.id);
        let acts = acts_in_force(recorded);
        let place = (now.info.head, now.in_force().map(|epoch| epoch.id));
        let same = then.as_ref().is_none_or(|then| then.is_now(&acts, now.pins()));
        let mut report =
            RestoreReport { snapshot, undone: 0, redone: 0, dropped: 0, revived: 0, before: None };
        if same && place == (report.snapshot.head, report.snapshot.epoch) {
            return Ok(report);
        }
        report.before = Some(self.keep_snapshot(&now, None, at)?);
        let turned = self.turn_compactions(&report.snapshot, then.as_ref(), at)?;
        (report.undone, report.redone) = (turned.undone.len(), turned.redone.len());
        let (session, head) = (&*report.snapshot.session, report.snapshot.head);
        let meter = then.as_ref().and_then(|then| then.meter);
        self.journal.set_head(&self.scope, session, head, meter.as_ref())?;
        if let Some(then) = &then {
            [report.dropped, report.revived] = then.told(&acts, now.pins());
            self.take_up(then, &now, at)?;
        }
        let restored = SessionAction::Restored {
            snapshot: report.snapshot.id.clone(),
            left: turned.left(&acts, then.as_ref()),
        };
        let acted = RecordedAction { act: restored, by: Actor::User, at: at.to_owned() };
        self.journal.act(&self.scope, &report.snapshot.session, &[acted])?;
        Ok(report)
    }

    /// Takes back what was compressed since a snapshot and what was taken back when it was made, and
    /// puts in force what was in force then, with the compressions that it followed: an undo leads to
    /// the same one as then.
    fn turn_compactions(
        &self,
        snapshot: &Snapshot,
        then: Option<&SnapshotState>,
        at: &str,
    ) -> Result<TurnedCompactions, StoreError> {
        let (scope, session) = (&*self.scope, &*snapshot.session);
        let all = self.journal.compactions_of_session(scope, session)?;
        let place = all.iter().position(|one| Some(one.epoch.id) == snapshot.epoch);
        let mut followed = snapshot.epoch;
        let mut turned = TurnedCompactions::default();
        for (number, one) in all.into_iter().enumerate().rev() {
            let id = one.epoch.id;
            let is_later = place.map_or(one.epoch.at >= snapshot.at, |place| number > place);
            let was_undone = then.is_some_and(|then| then.undone.contains(&id));
            let is_followed = followed == Some(id);
            if is_followed {
                followed = one.epoch.parent;
            }
            let mark = if one.undone && is_followed && !was_undone {
                turned.redone.push(id);
                JournalMark::Redo(id)
            } else if !one.undone && (is_later || was_undone) {
                turned.undone.push(id);
                JournalMark::Undo(id)
            } else {
                continue;
            };
            self.journal.record_mark(scope, session, &mark, at)?;
        }
        Ok(turned)
    }

    /// Pins what was pinned then and nothing else, and hands policies their notes of then.
    fn take_up(
        &self,
        then: &SnapshotState,
        now: &SessionHistory,
        at: &str,
    ) -> Result<(), StoreError> {
        let (scope, session) = (&*self.scope, &*now.info.name);
        let marks = missing(now.pins(), &then.pins).map(JournalMark::Unpin);
        let marks = marks.chain(missing(&then.pins, now.pins()).map(JournalMark::Pin));
        for mark in marks {
            self.journal.record_mark(scope, session, &mark, at)?;
        }
        self.journal.note(scope, session, &then.memos)
    }
}

impl SnapshotState {
    /// What the acts of a session say of one of its snapshots.
    pub(super) fn from_acts(recorded: &[RecordedAction], snapshot: &str) -> Option<Self> {
        let made = |acted: &RecordedAction| match &acted.act {
            SessionAction::Snapshot { id, pins, meter, undone } if id == snapshot => {
                Some((pins.clone(), *meter, undone.clone()))
            }
            _ => None,
        };
        let mut places = recorded.iter().enumerate().rev();
        let (place, (pins, meter, undone)) =
            places.find_map(|(place, acted)| Some((place, made(acted)?)))?;
        let acts = acts_in_force(recorded[..=place].to_vec());
        let memos = noted(&acts);
        Some(Self { acts, pins, memos, meter, undone })
    }

    /// Whether nothing has changed since.
    fn is_now(&self, acts: &[RecordedAction], pins: &[EntryKey]) -> bool {
        let [then, now] = [&*self.acts, acts].map(|acts| acts.iter().filter(|it| !is_place(it)));
        then.eq(now) && self.told(acts, pins) == [0, 0]
    }

    /// How many changes that people are told of do not hold then but now, and the other way round.
    fn told(&self, acts: &[RecordedAction], pins: &[EntryKey]) -> [usize; 2] {
        let [then, now] = [&*self.acts, acts]
            .map(|acts| acts.iter().filter(|it| is_told(it)).collect::<Vec<_>>());
        let common = then.iter().zip(&now).take_while(|(one, other)| one == other).count();
        let pinned = [missing(pins, &self.pins).count(), missing(&self.pins, pins).count()];
        [now.len() - common + pinned[0], then.len() - common + pinned[1]]
    }
}

impl TurnedCompactions {
    /// The compressions that stay on branches which were left, with those of earlier times. What a
    /// person had taken back then is held as it was.
    fn left(&self, acts: &[RecordedAction], then: Option<&SnapshotState>) -> Vec<CompactionId> {
        let undone_then = then.map_or(&[][..], |then| &then.undone);
        let left_then = then.map_or(&[][..], |then| left_in(&then.acts));
        let again = undone_then.iter().filter(|id| left_then.contains(id));
        let all = left_in(acts).iter().chain(&self.undone).chain(again);
        let is_left = |id: &&CompactionId| {
            let is_held = undone_then.contains(id) && !left_then.contains(id);
            !is_held && !self.redone.contains(id)
        };
        let mut left = Vec::new();
        for id in all.filter(is_left) {
            if !left.contains(id) {
                left.push(*id);
            }
        }
        left
    }
}

/// The compressions that stay on branches which were left, as these acts say.
fn left_in(acts: &[RecordedAction]) -> &[CompactionId] {
    let found = acts.iter().rev().find_map(|acted| match &acted.act {
        SessionAction::Restored { left, .. } => Some(&**left),
        _ => None,
    });
    found.unwrap_or_default()
}

/// What policies had noted with the newest of these acts that says so.
pub(super) fn noted(acts: &[RecordedAction]) -> BTreeMap<String, String> {
    let found = acts.iter().rev().find_map(|acted| match &acted.act {
        SessionAction::Noted { memos } => Some(memos.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

/// Those of some entries that are not among others.
fn missing(some: &[EntryKey], others: &[EntryKey]) -> impl Iterator<Item = EntryKey> {
    some.iter().filter(|key| !others.contains(key)).copied()
}

/// Whether an act marks a place and changes nothing.
fn is_place(acted: &RecordedAction) -> bool {
    use SessionAction::{Noted, Restored, Snapshot};
    matches!(acted.act, Snapshot { .. } | Noted { .. } | Restored { .. })
}

/// Whether an act changes what people set.
fn is_told(acted: &RecordedAction) -> bool {
    use SessionAction::{Augment, Goal, Mode};
    matches!(acted.act, Goal(_) | Augment { .. } | Mode { .. })
}
