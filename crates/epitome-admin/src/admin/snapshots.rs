//! Snapshots by hand: made, found, pruned (RULES 24).
//!
//! Invariant: a snapshot copies nothing. It names a recorded history and the epoch in force, and its
//! place among the acts of its session says what else held then.

use epitome_kernel::StoreError;
use epitome_types::{
    Actor, Op, RecordedAction, SessionAction, SessionFigures, SessionInfo, Snapshot,
    SnapshotPurpose, SnapshotSize,
};

use super::restore::noted;
use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::records::{addressed, snapshot_acts, undone};

impl SessionAdmin {
    /// Makes a snapshot of a session as it stands.
    ///
    /// # Errors
    ///
    /// When there is no such session, another snapshot of it has this name, or the journal cannot
    /// be written.
    pub fn snapshot(
        &self,
        session: Option<&str>,
        name: Option<&str>,
        at: &str,
    ) -> Result<Snapshot, AdminError> {
        let history = self.history(session)?;
        if let Some(name) = name {
            let all = self.journal.snapshots(&self.scope, Some(&history.info.name))?;
            if all.iter().any(|one| one.name.as_deref() == Some(name)) {
                let (name, session) = (name.to_owned(), history.info.name);
                return Err(AdminError::SnapshotNamed { name, session });
            }
        }
        Ok(self.keep_snapshot(&history, name, at)?)
    }

    /// Records a snapshot of a session as it stands.
    pub(super) fn keep_snapshot(
        &self,
        history: &SessionHistory,
        name: Option<&str>,
        at: &str,
    ) -> Result<Snapshot, StoreError> {
        let snapshot = self.snapshot_of(history, name, at);
        self.journal.save_snapshot(&self.scope, &snapshot, self.profile.options.snapshots.keep)?;
        let session = &*snapshot.session;
        let memos = self.journal.memos(&self.scope, session)?;
        let acts = self.journal.acts_in_force(&self.scope, session)?;
        let noted = noted(&acts);
        let meter = self.journal.meter(&self.scope, session)?;
        let made = SessionAction::Snapshot {
            id: snapshot.id.clone(),
            pins: history.pins().to_vec(),
            meter: Some(meter),
            undone: undone(history.epochs()),
        };
        let acts = snapshot_acts(made, &memos, &noted);
        let by_hand = |act| RecordedAction { act, by: Actor::User, at: at.to_owned() };
        let acts: Vec<_> = acts.into_iter().map(by_hand).collect();
        self.journal.act(&self.scope, session, &acts)?;
        Ok(snapshot)
    }

    fn snapshot_of(&self, history: &SessionHistory, name: Option<&str>, at: &str) -> Snapshot {
        let SessionInfo { name: session, figures, model, head, .. } = history.info.clone();
        let SessionFigures { messages, tokens, limit, .. } = figures;
        let epoch = history.in_force();
        let ops = epoch.map(|epoch| &epoch.plan.ops).into_iter().flatten();
        let checkpoints = ops.filter(|op| matches!(op, Op::Summarize(_))).count() as u32;
        let (name, at) = (name.map(str::to_owned), at.to_owned());
        let (purpose, epoch) = (SnapshotPurpose::Recovery, epoch.map(|epoch| epoch.id));
        let profile = self.profile.name().to_owned();
        addressed(Snapshot {
            id: String::new(),
            session,
            name,
            purpose,
            at,
            size: SnapshotSize { messages, checkpoints, tokens, limit },
            model,
            profile,
            head,
            epoch,
        })
    }

    /// The snapshot with this id, a beginning of it, or this name; of several with a name the
    /// newest.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshot`], or when the journal cannot be read.
    pub fn find_snapshot(
        &self,
        session: Option<&str>,
        named: &str,
    ) -> Result<Snapshot, StoreError> {
        let all = self.journal.snapshots(&self.scope, session)?;
        let begins: Vec<_> =
            all.iter().filter(|one| named.len() >= 4 && one.id.starts_with(named)).collect();
        let found = match begins[..] {
            [one] => Some(one),
            _ => all.iter().find(|one| one.id == named || one.name.as_deref() == Some(named)),
        };
        found.cloned().ok_or_else(|| StoreError::NoSnapshot { name: named.to_owned() })
    }

    /// Drops the oldest automatic snapshots of each session until `keep` of them are left; those
    /// made by hand stay. Gives what went.
    ///
    /// # Errors
    ///
    /// When the journal cannot be written.
    pub fn prune(&self, session: Option<&str>, keep: usize) -> Result<Vec<Snapshot>, StoreError> {
        let mut kept: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        let mut gone = Vec::new();
        for snapshot in self.journal.snapshots(&self.scope, session)? {
            if snapshot.purpose == SnapshotPurpose::Recovery {
                continue;
            }
            let kept = kept.entry(snapshot.session.clone()).or_default();
            *kept += 1;
            if *kept > keep {
                self.journal.delete_snapshot(&self.scope, &snapshot.id)?;
                gone.push(snapshot);
            }
        }
        Ok(gone)
    }
}
