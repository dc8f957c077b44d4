//! Going over to another way through the history of a session (RULES 24).
//!
//! Invariant: what is left is kept: a snapshot leads back to it. Called by the command.

use epitome_types::{Snapshot, SnapshotPurpose};
use serde::Serialize;

use super::SessionAdmin;
use crate::error::AdminError;

/// What going over to another branch did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchReport {
    /// The session.
    pub session: String,
    /// How many messages the branch has on which it stands now.
    pub messages: u32,
    /// The snapshot of that branch which was gone back to; none where it was left without one, and
    /// what was done on it beside its messages is as it is.
    pub restored: Option<Snapshot>,
    /// The snapshot that was made of what stood before; none where it stood there already.
    pub before: Option<Snapshot>,
}

impl SessionAdmin {
    /// Has a session stand on another one of its branches, named by its number or its id, as it stood
    /// when that was left.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::branch`], or when the journal cannot be written.
    pub fn switch(
        &self,
        session: Option<&str>,
        branch: &str,
        at: &str,
    ) -> Result<SwitchReport, AdminError> {
        let now = self.history(session)?;
        let session = now.info.name.clone();
        let there = self.branch(&session, branch)?.info;
        let (head, messages) = (there.head, there.figures.messages);
        let report = SwitchReport { session, messages, restored: None, before: None };
        if head == now.info.head {
            return Ok(report);
        }
        // Those that were made before a compression would take that back.
        let is_left = |one: &Snapshot| one.head == head && one.purpose == SnapshotPurpose::Recovery;
        let all = self.journal.snapshots(&self.scope, Some(&report.session))?;
        if let Some(left) = all.into_iter().find(is_left) {
            let done = self.restore(Some(&report.session), &left.id, at)?;
            return Ok(SwitchReport { restored: Some(left), before: done.before, ..report });
        }
        let before = self.keep_snapshot(&now, None, at)?;
        self.journal.set_head(&self.scope, &report.session, head, None)?;
        Ok(SwitchReport { before: Some(before), ..report })
    }
}
