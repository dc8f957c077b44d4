//! Snapshots by hand: made, gone back to, pruned (RULES 24).
//!
//! Invariant: going back deletes nothing: the newest message of the session is an earlier one from
//! then on, and what was compressed since is taken back as an undo is.

use epitome_kernel::StoreError;
use epitome_types::{
    JournalMark, Op, SessionFigures, SessionInfo, Snapshot, SnapshotPurpose, SnapshotSize,
};
use serde::Serialize;

use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::records::addressed;

/// What going back to a snapshot did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestoreReport {
    /// The snapshot gone back to.
    pub snapshot: Snapshot,
    /// How many compressions were taken back.
    pub undone: usize,
    /// How many were put in force again.
    pub redone: usize,
    /// The snapshot that was made of what stood before, where that was something else.
    pub before: Option<Snapshot>,
}

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
        let snapshot = self.snapshot_of(&history, name, at);
        self.journal.save_snapshot(&self.scope, &snapshot, self.profile.options.snapshots.keep)?;
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

    /// Goes back to a snapshot: its history is the session's again, and the epoch that was in
    /// force then is in force.
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
        let in_force = now.in_force().map(|epoch| epoch.id);
        let before = if (now.info.head, in_force) == (snapshot.head, snapshot.epoch) {
            None
        } else {
            let before = self.snapshot_of(&now, None, at);
            self.journal.save_snapshot(
                &self.scope,
                &before,
                self.profile.options.snapshots.keep,
            )?;
            Some(before)
        };
        let (mut undone, mut redone) = (0, 0);
        for one in self.journal.compactions_of_session(&self.scope, session)?.into_iter().rev() {
            let id = one.epoch.id;
            if Some(id) == snapshot.epoch {
                if one.undone {
                    self.journal.record_mark(&self.scope, session, &JournalMark::Redo(id), at)?;
                    redone += 1;
                }
            } else if !one.undone && one.epoch.at >= snapshot.at {
                self.journal.record_mark(&self.scope, session, &JournalMark::Undo(id), at)?;
                undone += 1;
            }
        }
        self.journal.set_head(&self.scope, session, snapshot.head)?;
        Ok(RestoreReport { snapshot, undone, redone, before })
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
