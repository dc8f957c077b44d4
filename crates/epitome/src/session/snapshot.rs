//! Restore points: before each compression, and by hand.
//!
//! Invariant: a snapshot names a recorded history and the epoch in force; nothing of it is copied.

use epitome_types::{Cause, Epoch, Happened, Purpose, Snapshot};

use epitome_kernel::StoreError;

use super::Session;
use super::events::Events;
use super::ground::{Ground, Whole};
use crate::recorded::addressed;

impl Session {
    /// Makes the restore point of a compression (RULES 7, 24).
    pub(crate) fn snapshot_before(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        epoch: &Epoch,
        events: &mut Events,
    ) {
        let options = &self.settings.profile.options.snapshots;
        let purpose = match epoch.cause {
            Cause::Hard => Purpose::Emergency,
            Cause::Soft | Cause::Manual => Purpose::Rollback,
        };
        let tokens = [ground.size()[0], epoch.tokens[0]];
        let snapshot = addressed(Snapshot {
            id: String::new(),
            session: ground.name.to_owned(),
            name: None,
            purpose,
            at: events.at.clone(),
            messages: ground.incoming.keys.len() as u32,
            checkpoints: whole.view().checkpoints() as u32,
            tokens,
            limit: ground.live.limit,
            model: ground.source.model().map(str::to_owned),
            profile: self.settings.profile.name().to_owned(),
            head: ground.incoming.chains.last().copied().unwrap_or_default(),
            epoch: ground.standing.epoch,
        });
        let id = snapshot.id.clone();
        match self.journal.snap(&self.scope, &snapshot, options.keep) {
            // A host's own store that keeps none is not asked for them by anybody else.
            Err(StoreError::NotOffered { .. }) => {}
            Ok(()) => events.add(tokens, Happened::AutoSnapshotCreated { id, purpose }),
            Err(error) => events.add(tokens, Happened::SnapshotError { cause: error.to_string() }),
        }
    }
}
