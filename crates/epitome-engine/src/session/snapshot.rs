//! Restore points: before each compression, and by hand.
//!
//! Invariant: a snapshot names a recorded history and the epoch in force; nothing of it is copied. Its
//! place among the acts says what holds with it, and is recorded with what else the request does.

use std::collections::BTreeMap;

use epitome_types::{
    Actor, Compaction, CompactionCause, EventKind, SessionAction, Snapshot, SnapshotPurpose,
    SnapshotSize,
};

use epitome_kernel::StoreError;

use super::Session;
use super::events::TurnEvents;
use super::state::ConversationState;
use super::turn_context::{FullHistory, TurnContext};
use epitome_admin::records::{addressed, snapshot_acts, undone};

impl Session {
    /// Makes the restore point of a compression (RULES 7, 24). Gives its id, where it was kept.
    pub(crate) fn snapshot_before(
        &self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        epoch: &Compaction,
        events: &mut TurnEvents,
    ) -> Option<String> {
        let options = &self.settings.profile.options.snapshots;
        let purpose = match epoch.cause {
            CompactionCause::Hard => SnapshotPurpose::Emergency,
            CompactionCause::Soft | CompactionCause::Manual => SnapshotPurpose::Rollback,
        };
        let tokens = [ground.size()[0], epoch.outcome.tokens[0]];
        let snapshot = addressed(Snapshot {
            id: String::new(),
            session: ground.name.to_owned(),
            name: None,
            purpose,
            at: events.at.clone(),
            size: SnapshotSize {
                messages: ground.incoming.keys.len() as u32,
                checkpoints: whole.view().checkpoints() as u32,
                tokens,
                limit: ground.live.limit,
            },
            model: ground.source.model().map(str::to_owned),
            profile: self.settings.profile.name().to_owned(),
            head: ground.incoming.chains.last().copied().unwrap_or_default(),
            epoch: ground.standing.epoch,
        });
        let id = snapshot.id.clone();
        match self.record.journal.save_snapshot(&self.record.scope, &snapshot, options.keep) {
            // A host's own store that keeps none is not asked for them by anybody else.
            Err(StoreError::NotOffered { .. }) => None,
            Ok(()) => {
                events.add(tokens, EventKind::AutoSnapshotCreated { id: id.clone(), purpose });
                Some(id)
            }
            Err(error) => {
                events.add(tokens, EventKind::SnapshotError { cause: error.to_string() });
                None
            }
        }
    }
}

impl ConversationState {
    /// Has it recorded among the acts that a snapshot was made.
    pub(crate) fn mark_snapshot(&mut self, id: String, profile: &str) {
        let none = BTreeMap::new();
        let noted = self.acts.as_ref().map_or(&none, |acts| &acts.noted);
        let memos = self.chain.as_ref().map_or(&none, |known| &known.recorded);
        let made = SessionAction::Snapshot {
            id,
            pins: self.history.pins.clone(),
            meter: Some(self.meter.reading()),
            undone: undone(self.lineage.recorded()),
        };
        let acts = snapshot_acts(made, memos, noted);
        let by = Actor::Policy(profile.to_owned());
        self.work.doing.extend(acts.into_iter().map(|act| (act, by.clone())));
    }
}
