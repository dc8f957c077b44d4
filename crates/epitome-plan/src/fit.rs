//! One compression attempt, as a machine that is stepped.
//!
//! Invariant: a run never changes its thread, asks for a bounded number of summaries, and ends
//! within the budget, or in `CannotFit` exactly when the floor exceeds it (RULES 6, 12). Tests
//! step it by hand; the driver does with summarisers.

use std::collections::BTreeSet;

use epitome_kernel::types::{
    Budget, BudgetUnit, Checkpoint, CheckpointLevel, Entry, EntryId, Op, PartId, Plan, Summary,
    SummaryStyle,
};

use crate::ask::{FitStep, SummaryRequest, SummarySubject};
use crate::digest::{Digests, MarkedDigest};
use crate::draft::{DraftInput, PlanDraft};
use crate::driver::PlanMachine;
use crate::lines::account;
use crate::options::{CompressOptions, LadderRung};
use crate::outcome::{AppliedPlan, FitOutcome};
use crate::pressure::Pressure;
use crate::{checkpoint_role, lead, stale, state, unbind};
use epitome_kernel::Thread;
use epitome_kernel::apply;
use epitome_kernel::rewrite;
use epitome_kernel::{SizeGauge, SummaryError, TextMeasure, TokenCounter};
use epitome_kernel::{StrippedExchange, ThreadSizes};

/// How often a summary that came out too large is asked for again, smaller.
const RETRIES: u32 = 3;

/// One compression of one thread to a hard budget.
#[derive(Debug)]
pub struct FitRun<'t> {
    thread: &'t Thread,
    options: &'t CompressOptions,
    budget: Budget,
    sizes: ThreadSizes<'t>,
    tokens: ThreadSizes<'t>,
    /// The notes that newer ones state anew, and the sizes of what is left without them.
    restated: StrippedExchange,
    fresh: ThreadSizes<'t>,
    /// How many summarisers there are, and which one is asked.
    summarizers: usize,
    summarizer: usize,
    pressure: Pressure,
    /// The rung that is climbed down next.
    rung: usize,
    draft: Option<PlanDraft>,
    digests: Digests,
    /// By exchange: whether all it says is said anew by a newer one.
    outdated: Vec<bool>,
    /// By how much the summary must be smaller than the room that was computed, and how often
    /// that was found out.
    excess: u64,
    retries: u32,
    warnings: Vec<String>,
}

impl<'t> FitRun<'t> {
    /// Starts a run over a thread. Texts are counted here, once.
    pub fn new(
        thread: &'t Thread,
        options: &'t CompressOptions,
        budget: Budget,
        counter: &'t dyn TokenCounter,
        summarizers: usize,
    ) -> Self {
        let envelope = options.envelope;
        let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
        let tokens = ThreadSizes::measure(thread.entries(), gauge, envelope.tokens);
        let gauge = SizeGauge::for_unit(&budget, counter);
        let sizes = match budget.unit {
            BudgetUnit::Tokens => tokens.clone(),
            BudgetUnit::Chars => ThreadSizes::measure(thread.entries(), gauge, 0),
            BudgetUnit::Bytes => ThreadSizes::measure(thread.entries(), gauge, envelope.bytes),
        };
        let restated = stale::restated(thread, options);
        let (summarizer, fresh) = (0, sizes.clone().without(&restated));
        let mut run = Self {
            thread,
            options,
            budget,
            sizes,
            tokens,
            restated,
            fresh,
            summarizers,
            summarizer,
            pressure: Pressure::NONE,
            rung: 0,
            draft: None,
            digests: Digests::default(),
            outdated: vec![false; thread.exchanges().len()],
            excess: 0,
            retries: 0,
            warnings: Vec::new(),
        };
        run.give_way();
        run.seek_words();
        run
    }

    /// Raises a budget that has too little room for what was demanded.
    fn give_way(&mut self) {
        if self.budget.unit == BudgetUnit::Tokens {
            let ground = self.ground();
            let least = ground.stating().budget(|| ground.floor().size);
            self.budget.most = self.budget.most.max(least);
        }
    }

    /// Names entries that say nothing but what a newer one says anew: they are not kept for being
    /// recent. Nothing follows for those that are pinned or part of a tool exchange.
    #[must_use]
    pub fn outdated(mut self, entries: &[EntryId]) -> Self {
        let mut named: BTreeSet<_> = entries.iter().map(|id| id.index()).collect();
        named.extend(self.restated.entries.iter().map(|id| id.index()));
        let stale = self.thread.stale().filter(|part| {
            let parts = self.thread.entry(part.entry).map_or(0, |entry| entry.parts.len());
            parts == 1
        });
        named.extend(stale.map(|part| part.entry.index()));
        let all = self.thread.entries();
        let has_tools = |at: usize| all[at].parts.iter().any(|part| part.body.is_tool());
        let leaves = |at: usize| named.contains(&at) && !has_tools(at);
        let exchanges = self.thread.exchanges().iter();
        self.outdated = exchanges.map(|one| one.entries.clone().all(leaves)).collect();
        self
    }

    /// Whether there is anything to do.
    pub fn is_needed(&self) -> bool {
        self.sizes.total() > self.budget.most
    }

    /// The gauge of the budget: what sizes the summaries.
    pub fn gauge(&self) -> &SizeGauge<'t> {
        self.sizes.gauge()
    }

    /// Goes on until a summary is needed or the run is over. Asked again before its answer, it
    /// says the same.
    pub fn step(&mut self) -> FitStep<'t> {
        if !self.is_needed() {
            return FitStep::Done(FitOutcome::NothingToDo { size: self.sizes.total() });
        }
        loop {
            let Some(draft) = self.draft.take().or_else(|| self.drafted()) else {
                return FitStep::Done(self.cannot_fit());
            };
            if let Some(ask) = self.ask_digest(&draft) {
                self.draft = Some(draft);
                return FitStep::Summarize(ask);
            }
            if draft.covers.is_empty() || !self.pressure.checkpoint {
                match self.settle(&draft, None) {
                    Ok(outcome) => return FitStep::Done(outcome),
                    Err(DraftFailure::Refused(error)) if !self.pressure.checkpoint => {
                        return FitStep::Done(FitOutcome::Refused(error));
                    }
                    Err(_) if self.pressure == Pressure::LAST => {
                        return FitStep::Done(self.cannot_fit());
                    }
                    Err(_) => self.descend(),
                }
                continue;
            }
            let most = self.most(&draft);
            if most == 0 {
                self.descend();
                continue;
            }
            if !self.pressure.own_words {
                let ask = self.ask(&draft, most);
                self.draft = Some(draft);
                return FitStep::Summarize(ask);
            }
            let chars = self.options.texts.line_chars;
            let text = account(self.thread, &draft.covers, chars, most, self.gauge());
            let summary = text.map(|text| Summary { text, ..Summary::default() });
            match summary.map(|summary| self.settle(&draft, Some(summary))) {
                Some(Ok(outcome)) => return FitStep::Done(outcome),
                Some(Err(DraftFailure::Over(excess))) if self.retry(excess) => {
                    self.draft = Some(draft)
                }
                _ => self.descend(),
            }
        }
    }

    /// Takes the answer to the last step. `Some` ends the run; otherwise it is stepped on.
    pub fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<FitOutcome<'t>> {
        let draft = self.draft.take()?;
        if let Some(part) = self.wanted_digest(&draft) {
            self.draft = Some(self.digested(draft, part, answer));
            return None;
        }
        let most = self.most(&draft);
        let summary = answer.and_then(|summary| {
            if summary.text.trim().is_empty() {
                return Err(SummaryError::Failed("the summary is empty".to_owned()));
            }
            Ok(summary)
        });
        let missed = match summary {
            Ok(summary) => match self.gauge().size(&summary.text).saturating_sub(most) {
                0 => match self.settle(&draft, Some(summary)) {
                    Ok(outcome) => return Some(outcome),
                    Err(miss) => miss,
                },
                over => DraftFailure::Over(over),
            },
            Err(SummaryError::TooSmall { .. }) => DraftFailure::NoRoom,
            Err(error) => DraftFailure::Failed(error),
        };
        match missed {
            DraftFailure::Over(excess) if self.retry(excess) => self.draft = Some(draft),
            DraftFailure::Over(_) => self.next_summarizer("its summaries are larger than allowed"),
            DraftFailure::Failed(error) => self.next_summarizer(&error.to_string()),
            DraftFailure::NoRoom | DraftFailure::Refused(_) => self.descend(),
        }
        None
    }

    fn ground(&self) -> DraftInput<'_> {
        DraftInput {
            thread: self.thread,
            options: self.options,
            budget: self.budget,
            sizes: &self.fresh,
            tokens: &self.tokens,
            restated: &self.restated,
            outdated: &self.outdated,
        }
    }

    fn drafted(&self) -> Option<PlanDraft> {
        let mut draft = self.ground().draft(self.pressure)?;
        self.digests.put(&mut draft);
        Some(draft)
    }

    fn cannot_fit(&self) -> FitOutcome<'t> {
        let ground = self.ground();
        let mut floor = ground.floor();
        if let Some((id, size)) = ground.lead() {
            floor = floor.and(id, lead::NAME, size);
        }
        let floor = match ground.stating().rest() {
            0 => floor,
            size => floor.and(EntryId(self.thread.entries().len() as u32), state::NAME, size),
        };
        FitOutcome::CannotFit { budget: self.budget, floor }
    }

    fn ask(&self, draft: &PlanDraft, most: u64) -> SummaryRequest {
        let entries = draft.leaving();
        let stays = |entry: &&Entry| entries.binary_search(&entry.id).is_err();
        let mut kept: Vec<_> = self.thread.entries().iter().filter(stays).cloned().collect();
        for cut in &draft.cuts {
            if let Ok(at) = kept.binary_search_by_key(&cut.part.entry, |entry| entry.id) {
                rewrite(&mut kept[at], cut.part, &cut.with);
            }
        }
        kept.extend(state::entry(self.thread, draft.state.text.clone()));
        let (what, level) = (SummarySubject::Checkpoint(entries), self.pressure.level);
        let style = if level < CheckpointLevel::Detailed {
            SummaryStyle::Brief
        } else {
            self.options.style
        };
        SummaryRequest { what, level, style, summarizer: self.summarizer, kept, most }
    }

    /// The part whose digest is wanted next, and the most that may take with its marker.
    fn wanted_digest(&self, draft: &PlanDraft) -> Option<(PartId, u64)> {
        let asks = self.pressure.checkpoint && !self.pressure.own_words;
        let cut = self.digests.wanted(draft).filter(|_| asks)?;
        Some((cut.part, cut.most))
    }

    fn ask_digest(&self, draft: &PlanDraft) -> Option<SummaryRequest> {
        let (part, most) = self.wanted_digest(draft)?;
        let pinned = |entry: &&Entry| self.thread.pinned(entry.id).is_some();
        let kept = self.thread.entries().iter().filter(pinned).cloned();
        let kept = kept.chain(state::entry(self.thread, draft.state.text.clone())).collect();
        let most = self.ground().cutter().digest_room(part, most);
        let (what, level, style) =
            (SummarySubject::Digest(part), CheckpointLevel::Detailed, self.options.style);
        Some(SummaryRequest { what, level, style, summarizer: self.summarizer, kept, most })
    }

    /// A draft with the answer for one of its texts. A summariser that fails is not asked for
    /// another digest: the next one is, and without one the cuts stay.
    fn digested(
        &mut self,
        mut draft: PlanDraft,
        wanted: (PartId, u64),
        answer: Result<Summary, SummaryError>,
    ) -> PlanDraft {
        let (part, most) = wanted;
        match answer {
            Ok(summary) => {
                let digest = MarkedDigest::of(summary, part, most, self.ground().cutter());
                self.digests.keep(wanted, digest);
            }
            Err(SummaryError::TooSmall { .. }) => self.digests.keep(wanted, None),
            Err(error) if self.summarizer + 1 < self.summarizers => {
                self.next_summarizer(&error.to_string());
            }
            Err(error) => {
                self.warnings.push(format!("large texts are cut, not digested: {error}"));
                self.digests.stop();
            }
        }
        self.digests.put(&mut draft);
        draft
    }

    /// The most a summary's text may take: what the draft leaves, less the message and its label,
    /// and less than what it covers.
    fn most(&self, draft: &PlanDraft) -> u64 {
        let covered = self.fresh.sum(draft.covers.iter().copied());
        let frame = self.gauge().message(&self.label(draft));
        let room = draft.left.min(covered.saturating_sub(1));
        room.saturating_sub(frame + self.excess)
    }

    fn label(&self, draft: &PlanDraft) -> String {
        self.options.texts.opening(draft.id, draft.covers.len(), draft.left, self.gauge())
    }

    /// Completes a draft with its summary and measures the result.
    fn settle(
        &mut self,
        draft: &PlanDraft,
        summary: Option<Summary>,
    ) -> Result<FitOutcome<'t>, DraftFailure> {
        let mut ops = draft.ops();
        let mut left = Vec::new();
        if let Some(summary) = summary {
            let own = if self.pressure.own_words {
                CheckpointLevel::Compact
            } else {
                CheckpointLevel::Detailed
            };
            left = summary.left;
            ops.push(Op::Summarize(Checkpoint {
                id: draft.id,
                covers: draft.covers.clone(),
                text: self.label(draft) + summary.text.trim(),
                level: own.min(self.pressure.level),
                stand: self.options.stand,
                model: summary.model,
            }));
        } else if !draft.covers.is_empty() {
            ops.push(Op::Drop { entries: draft.covers.clone() });
        }
        ops.extend(stale::ops(&self.restated, &ops));
        ops.extend(state::op(self.thread, draft.state.text.clone(), &ops));
        ops.extend(self.options.unbind.then(|| unbind::op(self.thread, &ops)).flatten());
        checkpoint_role::settle(self.thread, &mut ops);
        let reason = format!("{} is more than {}", self.sizes.total(), self.budget);
        let plan = Plan { ops, reason };
        let view = apply(self.thread, &self.sizes, &plan).map_err(DraftFailure::Refused)?;
        let size = view.size(&self.sizes);
        if size > self.budget.most {
            return Err(DraftFailure::Over(size - self.budget.most));
        }
        let warnings = std::mem::take(&mut self.warnings);
        let made = AppliedPlan {
            thread: self.thread,
            options: self.options,
            sizes: &self.sizes,
            tokens: &self.tokens,
            plan,
            view,
            size,
            cuts: &draft.cuts,
            told_of: draft.leaving(),
            left,
            warnings,
            events: Vec::new(),
        };
        Ok(FitOutcome::Compressed(Box::new(made.compressed())))
    }

    /// Notes that a summary was too large; false when that happened too often.
    fn retry(&mut self, excess: u64) -> bool {
        self.excess += excess;
        self.retries += 1;
        self.retries <= RETRIES
    }

    fn next_summarizer(&mut self, why: &str) {
        self.warnings.push(format!("summariser {} gave up: {why}", self.summarizer + 1));
        self.summarizer += 1;
        (self.excess, self.retries) = (0, 0);
        self.seek_words();
    }

    /// With no summariser left, the kernel words the checkpoint itself where the ladder lets it,
    /// or there is none.
    fn seek_words(&mut self) {
        if self.summarizer >= self.summarizers {
            if self.options.ladder.contains(&LadderRung::Chunks) {
                self.pressure.own_words = true;
            } else {
                self.pressure = Pressure::LAST;
            }
        }
    }

    /// Goes down to the next rung that changes something.
    fn descend(&mut self) {
        self.draft = None;
        (self.excess, self.retries) = (0, 0);
        let before = self.pressure;
        while self.pressure == before {
            let Some(rung) = self.options.ladder.get(self.rung) else {
                self.pressure = Pressure::LAST;
                return;
            };
            if *rung == LadderRung::SmallerTail && self.pressure.tail > 0.0 {
                let half = self.pressure.tail / 2.0;
                self.pressure.tail = if half < 0.25 { 0.0 } else { half };
                return;
            }
            self.rung += 1;
            let lowest = |level: CheckpointLevel| self.pressure.level.min(level);
            match rung {
                LadderRung::Results => self.pressure.results = true,
                LadderRung::Inputs => self.pressure.inputs = !self.options.inputs.is_empty(),
                LadderRung::Stubs => self.pressure.stubs = true,
                LadderRung::Lower => self.pressure.level = lowest(CheckpointLevel::Moderate),
                LadderRung::Merge => self.pressure.level = lowest(CheckpointLevel::Merged),
                LadderRung::FoldUser => self.pressure.fold_user = true,
                LadderRung::Chunks => self.pressure.own_words = true,
                LadderRung::SmallerTail => {}
            }
        }
    }
}

impl<'t> PlanMachine<'t> for FitRun<'t> {
    fn step(&mut self) -> FitStep<'t> {
        self.step()
    }

    fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<FitOutcome<'t>> {
        self.answer(answer)
    }

    fn gauge(&self) -> &SizeGauge<'t> {
        self.gauge()
    }
}

/// Why a draft did not come to anything.
enum DraftFailure {
    /// The view is larger than the budget, by this.
    Over(u64),
    /// Nothing worth keeping fits into the room.
    NoRoom,
    /// The summariser failed.
    Failed(SummaryError),
    /// The plan broke an invariant; of a summary, that it is no gain.
    Refused(epitome_kernel::PlanError),
}
