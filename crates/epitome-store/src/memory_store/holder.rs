//! The sessions that hold the first messages of a request, and what one has that leaves another.
//!
//! Invariant: the same as on disk. Called by the journal in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, JournalMark};
use epitome_kernel::{Clue, Holder, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{MemorySessionId, ScopeRecords};
use crate::marks::Way;
use crate::{batch, content};

impl ScopeRecords {
    /// The index of the deepest of these histories that a session recorded.
    pub(super) fn deepest(
        &self,
        session: MemorySessionId,
        chains: &[HistoryHash],
    ) -> Option<usize> {
        let find = |chain| Ok::<_, Infallible>(self.tree.find(session, chain));
        let Ok(found) = batch::deepest(chains, find);
        found.map(|(index, _)| index)
    }

    /// The sessions that may be the one that a request goes on from.
    pub(super) fn holders(&self, clue: &Clue<'_>) -> Vec<Holder> {
        let mut found: BTreeMap<MemorySessionId, usize> = BTreeMap::new();
        for (&id, session) in &self.sessions {
            let info = &session.info;
            let is_labeled = clue.label.is_some() && info.label.as_deref() == clue.label;
            if is_labeled && (info.format.is_empty() || info.format == clue.format) {
                found.insert(id, self.deepest(id, clue.chains).map_or(0, |index| index + 1));
            }
        }
        let holding = |chain| {
            let all = self.tree.holding(chain);
            all.filter(|id| self.sessions.get(id).is_some_and(|it| it.info.format == clue.format))
        };
        let (from, most) = batch::reach(clue);
        let any = |chain| Ok::<_, Infallible>(holding(chain).next());
        let Ok(others) = batch::deepest(&clue.chains[from..], any);
        if let Some((index, _)) = others {
            let deepest = from + index;
            for index in (from..=deepest).rev().take(most) {
                // The newest, since a client goes on from what it began last.
                for session in holding(clue.chains[index]).rev().take(64) {
                    found.entry(session).or_insert(index + 1);
                }
            }
        }
        found.into_iter().filter_map(|(id, shared)| self.holder(id, shared, clue)).collect()
    }

    fn holder(&self, id: MemorySessionId, shared: usize, clue: &Clue<'_>) -> Option<Holder> {
        let session = self.sessions.get(&id)?;
        let last =
            shared.checked_sub(1).map_or_else(HistoryHash::default, |last| clue.chains[last]);
        let next = clue.chains.get(shared).map(|chain| (chain, (clue.answers)(shared)));
        let answered = next.map(|(chain, next)| self.was_answered(id, last, *chain, next.as_ref()));
        let (answered, has_drawn) = answered.unwrap_or_default();
        Some(Holder {
            session: session.info.name.clone(),
            label: session.info.label.clone(),
            shared,
            ends: session.info.head == last,
            answered,
            has_drawn,
            opened: session.opened as usize,
        })
    }

    /// Gives a new session what another one had when it came to a place.
    pub(super) fn inherit(
        &mut self,
        heir: MemorySessionId,
        parent: &str,
        place: HistoryHash,
    ) -> Result<(), StoreError> {
        let parent = self.named(parent)?;
        let end = self.tree.end_of(parent, place)?;
        let said = end.map(|end| self.tree.history(end, 0, usize::MAX)).unwrap_or_default();
        let Some(session) = self.sessions.get(&parent) else { return Ok(()) };
        let way = Way::of(&said, session.info.head == place);
        let had = |place: &HistoryHash| way.had(Some(*place), "");
        let acts = session.acts.iter().filter(|(place, _)| had(place)).cloned().collect();
        let marks: Vec<_> = session.marks.iter().filter(|(place, _)| had(place)).copied().collect();
        let (memos, meter) = (session.memos.clone(), session.meter);
        let mut undone = FxHashMap::default();
        for (place, mark) in &marks {
            match mark {
                JournalMark::Undo(epoch) => drop(undone.insert(*epoch, *place)),
                JournalMark::Redo(epoch) => drop(undone.remove(epoch)),
                JournalMark::Pin(_) | JournalMark::Unpin(_) => {}
            }
        }
        let made = self.epochs.iter().filter(|made| made.session == parent && had(&made.place));
        let made: Vec<_> = made.cloned().collect();
        let mut shared: FxHashSet<ContentId> = FxHashSet::default();
        shared.extend(made.iter().flat_map(|made| content::of_epoch(&made.recorded.epoch)));
        for mut made in made {
            made.session = heir;
            made.recorded.undone_at = undone.get(&made.recorded.epoch.id).copied();
            made.recorded.undone = made.recorded.undone_at.is_some();
            self.epochs.push(made);
        }
        let addresses =
            said.iter().flat_map(|said| content::addresses(said.text, said.bytes.as_deref()));
        shared.extend(addresses);
        for id in shared {
            if let Some(original) = self.originals.get_mut(&id)
                && original.held.contains(&parent)
            {
                original.held.insert(heir);
            }
        }
        let keys: FxHashSet<EntryKey> = said.iter().map(|said| said.key).collect();
        let own = self
            .rewrites
            .range((parent, EntryKey([0; 16]), 0)..=(parent, EntryKey([255; 16]), u32::MAX));
        let own = own.filter(|((_, key, _), _)| keys.contains(key));
        let own: Vec<_> =
            own.map(|((_, key, part), it)| ((heir, *key, *part), it.clone())).collect();
        for (_, rewrite) in &own {
            if let Some(original) = self.originals.get_mut(&rewrite.original) {
                original.held.insert(heir);
            }
        }
        self.rewrites.extend(own);
        if let Some(session) = self.sessions.get_mut(&heir) {
            (session.acts, session.marks) = (acts, marks);
            if way.is_whole {
                (session.memos, session.meter) = (memos, meter);
            }
        }
        self.seen += 1;
        Ok(())
    }
}
