//! The compression of a live conversation: proposed over a snapshot of the history, recorded by
//! compare-and-swap.
//!
//! Invariant: a proposal changes nothing; what a failed one leaves behind is an event. After a
//! commit the view is derived from the records, as after a restart.

use std::sync::Arc;

use epitome_extract::{KeepRules, must_keep};
use epitome_kernel::CommitOutcome;
use epitome_plan::{LeftFile, PASTE_AGAIN, PlannedCompression};
use epitome_types::{
    Actor, Compaction, Entry, EventKind, FactCounts, HookAuthor, JournalMark, OpReport,
    RecordedCompaction, SessionAction, Stage,
};

use super::Session;
use super::events::TurnEvents;
use super::proposal::Proposal;
use super::recall;
use super::state::ConversationState;
use super::turn::OVERTAKEN;
use super::turn_context::{FullHistory, TurnContext};
use crate::error::Error;

impl Session {
    /// What a compression keeps of what must be kept.
    pub(super) fn kept_facts(
        ground: &TurnContext<'_, '_>,
        compressed: &PlannedCompression<'_>,
        keep: &KeepRules,
    ) -> FactCounts {
        let sent = compressed.view.entries();
        let [all, sent] =
            [ground.tail.thread.entries(), &sent].map(|all| all.iter().collect::<Vec<&Entry>>());
        must_keep(&all, &sent, &compressed.departure.passages, keep)
    }

    /// A compression as it could be recorded.
    pub(super) fn proposal(
        &self,
        ground: &TurnContext<'_, '_>,
        compressed: PlannedCompression<'_>,
        mut epoch: Compaction,
        snapshot: Option<bool>,
    ) -> Proposal {
        let mut departure = compressed.departure;
        epoch.profile = self.settings.profile.name().to_owned();
        epoch.config = self.settings.profile.config();
        ground.at.clone_into(&mut epoch.at);
        self.departing(&mut departure, ground.name);
        self.redaction().plan(&mut epoch.plan);
        epoch.credits = compressed.ops.iter().map(credit).collect();
        epoch.id = epoch.hash();
        let beside = compressed.warnings.into_iter().map(unwritten).chain(compressed.events);
        let beside = beside.chain(without_room(&compressed.files));
        let (ops, beside) = (compressed.ops, beside.collect());
        let (moved, written, target, rewords, late) = (None, Vec::new(), 0, false, None);
        Proposal { epoch, departure, ops, beside, moved, written, snapshot, target, rewords, late }
    }

    /// Records a proposal, if what it was made from still stands. Gives whether it was recorded;
    /// otherwise it is discarded.
    pub(crate) fn commit(
        &self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        state: &mut ConversationState,
        proposal: Proposal,
        events: &mut TurnEvents,
    ) -> Result<bool, Error> {
        let Proposal { epoch, departure, ops, beside, moved, written, snapshot, rewords, .. } =
            proposal;
        let is_saved = self.settings.profile.options.snapshots.auto || snapshot == Some(true);
        if is_saved && !rewords {
            let made = self.snapshot_before(ground, whole, &epoch, events);
            made.into_iter().for_each(|id| state.mark_snapshot(id, &epoch.profile));
        }
        if self.record.has_moved(ground.name) {
            return Ok(false);
        }
        let (journal, scope) = (&*self.record.journal, &*self.record.scope);
        loop {
            match journal.commit(scope, ground.name, &epoch, &departure, state.seen)? {
                CommitOutcome::Done(seen) => {
                    state.seen = seen;
                    break;
                }
                CommitOutcome::Behind => {
                    let pinned = state.history.pinned(0);
                    let erased = Arc::clone(&state.history.erased);
                    state.reread(journal, scope)?;
                    // What was made of it must not come back.
                    if state.history.erased != erased {
                        return Ok(false);
                    }
                    let now = self.read_whole(
                        ground.source,
                        &state.lineage,
                        ground.tail,
                        &ground.incoming.keys,
                    )?;
                    // Who goes on pinning is heard at the next request: this one has to go out.
                    let heeds_pins = self.next.remade < OVERTAKEN;
                    if now.standing().epoch != whole.standing().epoch
                        || heeds_pins && state.history.pinned(0) != pinned
                    {
                        return Ok(false);
                    }
                }
            }
        }
        if let (true, Some(same)) = (rewords, whole.standing().epoch) {
            // It is said anew: whoever takes the one back takes back both.
            journal.record_mark(scope, ground.name, &JournalMark::Undo(same), ground.at)?;
        }
        state.work.written = written;
        if !rewords {
            events.stage(epoch.outcome.tokens, Stage::ContextUpdate);
            events.add(
                epoch.outcome.tokens,
                EventKind::Compressed {
                    compaction: epoch.id.short(),
                    number: epoch.number,
                    cause: epoch.cause,
                    ops,
                    must_keep: epoch.outcome.must_keep,
                },
            );
        }
        beside.into_iter().for_each(|one| events.add(epoch.outcome.tokens, one));
        if let Some((moved, by)) = moved {
            events.add(epoch.outcome.tokens, moved.event());
            state.work.doing.push((moved.act(), by));
        }
        let returning = state.acts.as_ref().map_or(&[][..], |acts| &acts.returning);
        if !returning.is_empty() && recall::says(&epoch.plan, returning) {
            state.work.doing.push((SessionAction::Returned, Actor::Policy(epoch.profile.clone())));
        }
        Arc::make_mut(&mut state.lineage).extend([RecordedCompaction::from(epoch)]);
        Ok(true)
    }
}

/// Who ordered an op, as its report says.
fn credit(op: &OpReport) -> HookAuthor {
    HookAuthor { policy: op.policy.clone(), hook: op.hook.clone(), line: op.line }
}

/// Files that had no room.
fn without_room(files: &[LeftFile]) -> Option<EventKind> {
    let tokens = files.iter().map(|file| file.tokens).sum();
    let names: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
    let remedy = PASTE_AGAIN.to_owned();
    (!names.is_empty()).then_some(EventKind::FilesLeft { files: names, tokens, remedy })
}

/// A summary that came to nothing; another one was made.
fn unwritten(cause: String) -> EventKind {
    let remedy = "the next summariser was asked in its place".to_owned();
    EventKind::CompressionError { stage: Stage::Summarisation, cause, remedy }
}
