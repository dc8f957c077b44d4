//! A plan in the making: what is done, what is in force, and what is still to be worded.
//!
//! Invariant: what a wish takes out of what is in force comes back where it finds no words. Filled
//! from orders or from a draft, completed by the planner.

use std::collections::{BTreeSet, VecDeque};

use epitome_kernel::types::{Checkpoint, Entry, EntryId, Op, ReplaceMethod};
use epitome_kernel::{rewrite, strip};

use crate::constraints::WorkStatement;
use crate::cut::ShortenedPart;
use crate::ground::PlanGround;
use crate::kept::UnsentTexts;
use crate::ops::leaving;
use crate::rules::{OpOrder, ShownEntries};
use crate::state;
use crate::wording::{WordedCheckpoint, WordingPurpose, WordingRequest};

/// A plan in the making.
#[derive(Debug, Default)]
pub(crate) struct PlanParts {
    /// What is in force and not touched so far.
    pub(crate) standing: Vec<Op>,
    /// What is done anew and needs no words.
    pub(crate) ops: Vec<Op>,
    pub(crate) cuts: Vec<ShortenedPart>,
    /// What is to be worded, in order.
    pub(crate) wishes: VecDeque<WordingRequest>,
    pub(crate) worded: Vec<WordedCheckpoint>,
    /// The state of the work, where it does not follow from the ops.
    pub(crate) state: Option<WorkStatement>,
    /// What the user is to be told.
    pub(crate) warnings: Vec<String>,
}

impl PlanParts {
    /// All that is done, but for cuts and wishes.
    pub(crate) fn done(&self) -> impl Iterator<Item = &Op> {
        self.standing.iter().chain(&self.ops).chain(self.worded.iter().flat_map(|one| &one.ops))
    }

    /// The ops of the plan.
    pub(crate) fn ops(&self, order: OpOrder) -> Vec<Op> {
        let cuts = self.cuts.iter().map(ShortenedPart::op);
        match order {
            OpOrder::ByKind => cuts.chain(self.done().cloned()).collect(),
            OpOrder::ByPlace => self.done().cloned().chain(cuts).collect(),
        }
    }

    /// The entries that leave, also for what has no words yet.
    pub(crate) fn leaving(&self) -> BTreeSet<EntryId> {
        let mut gone = leaving(self.done());
        gone.extend(self.wishes.iter().flat_map(WordingRequest::covers));
        gone
    }

    /// The entries that stay beside what is worded, as they will stand there; for a digest those
    /// that are pinned.
    pub(crate) fn kept(&self, what: &WordingPurpose, ground: &PlanGround<'_>) -> Vec<Entry> {
        let (thread, entries) = (ground.thread, ground.thread.entries().iter());
        let settled = self.state.as_ref().map(|state| state.text.clone());
        if let WordingPurpose::Digest(_) = what {
            let pinned = entries.filter(|one| thread.pinned(one.id).is_some()).cloned();
            let text = settled.unwrap_or_else(|| ground.options.state.clone());
            return pinned.chain(state::entry(thread, text)).collect();
        }
        let gone = self.leaving();
        let mut kept: Vec<_> = entries.filter(|entry| !gone.contains(&entry.id)).cloned().collect();
        let texts = self.done().filter_map(|op| match op {
            Op::Replace { part, with, .. } => Some((*part, with)),
            _ => None,
        });
        for (part, with) in texts.chain(self.cuts.iter().map(|cut| (cut.part, &cut.with))) {
            if let Ok(at) = kept.binary_search_by_key(&part.entry, |entry| entry.id) {
                rewrite(&mut kept[at], part, with);
            }
        }
        for op in self.done() {
            let Op::Strip { parts } = op else { continue };
            for parts in parts.chunk_by(|one, next| one.entry == next.entry) {
                if let Ok(at) = kept.binary_search_by_key(&parts[0].entry, |entry| entry.id) {
                    let gone: Vec<_> = parts.iter().map(|part| part.part).collect();
                    strip(&mut kept[at], &gone);
                }
            }
        }
        let unsent = UnsentTexts::of_ops(thread, self.done()).and(gone);
        let text = settled.unwrap_or_else(|| ground.statement(&unsent, || 0).text);
        kept.extend(state::entry(thread, text));
        kept
    }

    /// The entries that summarizers were shown who cut the pieces for search.
    pub(crate) fn told_of(&self, shown: ShownEntries) -> BTreeSet<EntryId> {
        let told = self.worded.iter().filter(|one| !one.left.is_empty());
        match shown {
            ShownEntries::Covered => told.flat_map(|one| one.wish.covers()).copied().collect(),
            ShownEntries::AllThatLeave => told.flat_map(|_| self.leaving()).collect(),
        }
    }

    /// Takes the words of the last checkpoint back: it is to be worded again.
    pub(crate) fn take_back(&mut self) {
        self.wishes.extend(self.worded.pop().map(|last| last.wish));
    }

    /// Has a wish stay without words: what stood there stays. A checkpoint that cannot be said in
    /// fewer words has aged none the less, and a text without a digest is cut.
    pub(crate) fn leave(&mut self, wish: WordingRequest, ground: &PlanGround<'_>) {
        match wish.what {
            WordingPurpose::Checkpoint { id: aged, level: to, .. } => {
                self.standing.extend(wish.was.into_iter().map(|op| match op {
                    Op::Summarize(one) if one.id == aged => {
                        Op::Summarize(Checkpoint { level: to, ..one })
                    }
                    op => op,
                }));
            }
            WordingPurpose::Digest(part) => {
                let cut = ground.cutter().cut(part, wish.most);
                self.cut(cut, ReplaceMethod::Cut, wish.was);
            }
        }
    }

    /// Puts a cut in the place of what stands there (`was`), which stays where there is none.
    pub(crate) fn cut(&mut self, cut: Option<ShortenedPart>, how: ReplaceMethod, was: Vec<Op>) {
        match cut {
            Some(cut) => self.cuts.push(ShortenedPart { how, ..cut }),
            None => self.standing.extend(was),
        }
    }
}
