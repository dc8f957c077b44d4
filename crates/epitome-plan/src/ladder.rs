//! Drafts of a plan that fits a budget, one rung of the emergency ladder after the other.
//!
//! Invariant: each rung presses harder than the one before, and below the last is a plan without a
//! checkpoint (RULES 12). A digest is asked for once in each size, whatever the rung. Called by the
//! planner, which finds the words.

use std::collections::BTreeSet;

use epitome_kernel::ThreadSizes;
use epitome_kernel::types::{CheckpointLevel, EntryId, Op, PartId};

use crate::chain::SummarizerChain;
use crate::cut::ShortenedPart;
use crate::digest::Digests;
use crate::draft::PlanDraft;
use crate::ground::PlanBasis;
use crate::options::LadderRung;
use crate::outcome::FitOutcome;
use crate::parts::PlanParts;
use crate::pressure::Pressure;
use crate::wording::{WordingPurpose, WordingRequest};
use crate::{lead, state};

/// The way down the emergency ladder.
#[derive(Debug)]
pub(crate) struct DraftLadder<'t> {
    /// The sizes of what is left without the notes that newer ones state.
    fresh: ThreadSizes<'t>,
    /// By exchange: whether all it says is said anew by a newer one.
    outdated: Vec<bool>,
    pressure: Pressure,
    /// The rung that is climbed down next.
    rung: usize,
    digests: Digests,
    /// What the draft leaves to a checkpoint.
    left: u64,
    /// Whether there is a draft of this rung.
    is_drafted: bool,
}

impl<'t> DraftLadder<'t> {
    /// The ladder from its top, over a basis whose budget gives way for what was demanded.
    pub(crate) fn new(basis: &PlanBasis<'t>) -> Self {
        Self {
            fresh: basis.sizes().clone().without(&basis.restated),
            outdated: vec![false; basis.thread.exchanges().len()],
            pressure: Pressure::NONE,
            rung: 0,
            digests: Digests::default(),
            left: 0,
            is_drafted: false,
        }
    }

    /// The least budget that has room for what was demanded.
    pub(crate) fn least_budget(&self, basis: &PlanBasis<'_>) -> u64 {
        let ground = basis.measured_by(&self.fresh);
        ground.stating().budget(|| ground.floor().size)
    }

    /// Notes which entries say nothing but what a newer one says anew: they are not kept for being
    /// recent. Nothing follows for those that are pinned or part of a tool exchange.
    pub(crate) fn mark_outdated(&mut self, entries: &[EntryId], basis: &PlanBasis<'_>) {
        let thread = basis.thread;
        let mut named: BTreeSet<_> = entries.iter().map(|id| id.index()).collect();
        named.extend(basis.restated.entries.iter().map(|id| id.index()));
        let alone = |part: &PartId| thread.entry(part.entry).map_or(0, |it| it.parts.len()) == 1;
        named.extend(thread.stale().filter(alone).map(|part| part.entry.index()));
        let has_tools = |at: usize| thread.entries()[at].parts.iter().any(|it| it.body.is_tool());
        let leaves = |at: usize| named.contains(&at) && !has_tools(at);
        let exchanges = thread.exchanges().iter();
        self.outdated = exchanges.map(|one| one.entries.clone().all(leaves)).collect();
    }

    /// Whether this is the last resort, a plan without a checkpoint.
    pub(crate) fn is_last(&self) -> bool {
        self.pressure == Pressure::LAST
    }

    /// Whether there is a draft of the present rung.
    pub(crate) fn is_drafted(&self) -> bool {
        self.is_drafted
    }

    /// Expands the present rung into ops and wishes; `None` where not even the floor fits. Digests
    /// are wished for where `asks` says that a summarizer can write them.
    pub(crate) fn expand(&mut self, basis: &PlanBasis<'_>, asks: bool) -> Option<PlanParts> {
        let draft = basis.measured_by(&self.fresh).draft(&self.outdated, self.pressure)?;
        let PlanDraft { mut cuts, stubs, id, covers, left, state } = draft;
        let before = self.fresh.sum(covers.iter().copied());
        self.left = self.digests.put(&mut cuts, left);
        let mut parts = PlanParts {
            ops: stubs.into_iter().map(Op::Summarize).collect(),
            state: Some(state),
            ..PlanParts::default()
        };
        if asks && self.pressure.checkpoint {
            let digest = |cut: &ShortenedPart| WordingRequest {
                what: WordingPurpose::Digest(cut.part),
                most: cut.most,
                before: self.fresh.part(cut.part),
                was: Vec::new(),
            };
            parts.wishes.extend(self.digests.wanted(&cuts).map(digest));
        }
        parts.cuts = cuts;
        match (covers.is_empty(), self.pressure.checkpoint) {
            (true, _) => {}
            (false, false) => parts.ops.push(Op::Drop { entries: covers }),
            (false, true) => {
                let level = self.pressure.level;
                let what = WordingPurpose::Checkpoint { id, covers, level };
                let was = Vec::new();
                parts.wishes.push_back(WordingRequest { what, most: self.left, before, was });
            }
        }
        self.is_drafted = true;
        Some(parts)
    }

    /// Takes what a wish for a digest came to: where that is nothing, the cut of its part stays.
    pub(crate) fn keep_digest(
        &mut self,
        part: PartId,
        most: u64,
        digest: Option<ShortenedPart>,
        parts: &mut PlanParts,
    ) {
        self.digests.keep(part, most, digest);
        self.put_digests(parts);
    }

    /// Has all drafts go without the digests that are not there yet.
    pub(crate) fn stop_digests(&mut self, parts: &mut PlanParts) {
        self.digests.stop();
        parts.wishes.retain(|wish| !matches!(wish.what, WordingPurpose::Digest(_)));
        self.put_digests(parts);
    }

    /// Forgets the digests: what they leave out is as large as what they were made of.
    pub(crate) fn forget_digests(&mut self) {
        self.digests = Digests::default();
    }

    /// Puts the digests that are there in the place of their cuts. What they spare is the
    /// checkpoint's.
    pub(crate) fn put_digests(&mut self, parts: &mut PlanParts) {
        self.left = self.digests.put(&mut parts.cuts, self.left);
        for wish in &mut parts.wishes {
            if let WordingPurpose::Checkpoint { .. } = wish.what {
                wish.most = self.left;
            }
        }
    }

    /// Has the present rung be drafted anew. With no summarizer left, the kernel words the
    /// checkpoint itself where the ladder lets it, or there is none.
    pub(crate) fn draft_anew(&mut self, basis: &PlanBasis<'_>, chain: &SummarizerChain) {
        self.is_drafted = false;
        if chain.asked().is_none() && !basis.options.ladder.contains(&LadderRung::Chunks) {
            self.pressure = Pressure::LAST;
        }
    }

    /// Goes down to the next rung that changes something.
    pub(crate) fn descend(&mut self, basis: &PlanBasis<'_>, chain: &mut SummarizerChain) {
        self.is_drafted = false;
        chain.restart();
        let before = (self.pressure, chain.asked());
        while (self.pressure, chain.asked()) == before {
            let Some(&rung) = basis.options.ladder.get(self.rung) else {
                self.pressure = Pressure::LAST;
                return;
            };
            if rung == LadderRung::SmallerTail && self.pressure.tail > 0.0 {
                let half = self.pressure.tail / 2.0;
                self.pressure.tail = if half < 0.25 { 0.0 } else { half };
                return;
            }
            self.rung += 1;
            let lowest = |level: CheckpointLevel| self.pressure.level.min(level);
            match rung {
                LadderRung::Results => self.pressure.results = true,
                LadderRung::Inputs => self.pressure.inputs = !basis.options.inputs.is_empty(),
                LadderRung::Stubs => self.pressure.stubs = true,
                LadderRung::Lower => self.pressure.level = lowest(CheckpointLevel::Moderate),
                LadderRung::Merge => self.pressure.level = lowest(CheckpointLevel::Merged),
                LadderRung::FoldUser => self.pressure.fold_user = true,
                LadderRung::Chunks => chain.stop(),
                LadderRung::SmallerTail => {}
            }
        }
    }

    /// What cannot shrink, where that exceeds the budget.
    pub(crate) fn cannot_fit(&self, basis: &PlanBasis<'_>) -> FitOutcome<'t> {
        let ground = basis.measured_by(&self.fresh);
        let mut floor = ground.floor();
        if let Some((id, size)) = ground.lead() {
            floor = floor.and(id, lead::NAME, size);
        }
        let floor = match ground.stating().rest() {
            0 => floor,
            size => floor.and(EntryId(basis.thread.entries().len() as u32), state::NAME, size),
        };
        FitOutcome::CannotFit { budget: basis.budget, floor }
    }
}
