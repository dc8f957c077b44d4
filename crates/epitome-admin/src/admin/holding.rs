//! The turns that a compression holds in, as the marks of its session tell.
//!
//! Invariant: whatever is done by hand holds from the next turn on. A compression that took something out
//! holds in no turn in which that is pinned.

use std::collections::BTreeSet;
use std::ops::Range;

use epitome_kernel::touched;
use epitome_types::{EntryId, HistoryHash, JournalMark, PlacedMark, RecordedCompaction};

use super::SessionHistory;

/// A session with what was done to it by hand.
pub(super) struct HoldGround<'h> {
    pub(super) history: &'h SessionHistory,
    /// The place of the first message of each turn.
    pub(super) turn_starts: Vec<usize>,
}

impl HoldGround<'_> {
    /// The turns that a compression holds in, which was made in `turn` and whose run begins at `start`.
    pub(super) fn holds(
        &self,
        recorded: &RecordedCompaction,
        turn: usize,
        start: Option<usize>,
    ) -> Vec<Range<usize>> {
        let epoch = &recorded.epoch;
        let key = |id: EntryId| self.history.keys().get(start?.checked_add(id.index())?).copied();
        let touched: BTreeSet<_> = touched(&epoch.plan).into_iter().filter_map(key).collect();
        let (mut undone, mut pinned) = (false, BTreeSet::new());
        let (mut holds, mut from) = (Vec::new(), Some(turn));
        for PlacedMark { mark, place } in self.history.marks() {
            match mark {
                JournalMark::Undo(id) if *id == epoch.id => undone = true,
                JournalMark::Redo(id) if *id == epoch.id => undone = false,
                JournalMark::Pin(key) if touched.contains(key) => drop(pinned.insert(*key)),
                JournalMark::Unpin(key) => drop(pinned.remove(key)),
                _ => continue,
            }
            // Of what was done on another branch nobody knows in which turn that was.
            let Some(next) = place.and_then(|place| self.turn_behind(place)) else { continue };
            match (from, undone || !pinned.is_empty()) {
                (Some(since), true) => {
                    holds.push(since..next.max(since));
                    from = None;
                }
                (None, false) => from = Some(next.max(turn)),
                _ => {}
            }
        }
        let end = match recorded.undone {
            // An older program recorded no place of it.
            true => recorded.undone_at.and_then(|at| self.turn_behind(at)).unwrap_or(turn),
            false => usize::MAX,
        };
        holds.extend(from.map(|since| since..end.max(since)));
        holds
    }

    /// The first turn behind a message.
    fn turn_behind(&self, message: HistoryHash) -> Option<usize> {
        let place = self.history.messages.iter().position(|it| it.chain == message)?;
        Some(self.turn_starts.partition_point(|start| *start <= place))
    }
}
