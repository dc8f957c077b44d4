//! A plan in the making, as a machine that is stepped: what a policy ordered, or what fits a budget.
//!
//! Invariant: the thread never changes, a bounded number of summaries is asked for, and what is made
//! is complete, as every compaction is. A fit ends within its budget, or in `CannotFit` exactly when
//! the floor exceeds it (RULES 6, 12). An order that names what is not there is refused before
//! anything is done; a summary that comes to nothing leaves what it was for as it is (RULES 7, 8).

use epitome_kernel::types::hook::{Ageing, Orders};
use epitome_kernel::types::{
    BudgetUnit, CheckpointLevel, ContentId, EntryId, Op, Plan, Summary, SummaryStyle,
};
use epitome_kernel::{PlanError, SizeGauge, SummaryError, TextMeasure, Thread, apply};

use crate::ask::{PlanStep, SummaryRequest, SummarySubject};
use crate::chain::SummarizerChain;
use crate::constraints::WorkStatement;
use crate::cut::ShortenedPart;
use crate::ground::{PlanBasis, PlanMeans};
use crate::kept::UnsentTexts;
use crate::ladder::DraftLadder;
use crate::lines::account;
use crate::options::CompressOptions;
use crate::order::OrderError;
use crate::orders::OrderReader;
use crate::outcome::{AppliedPlan, FitOutcome};
use crate::parts::PlanParts;
use crate::rules::{MeasuredText, OpOrder, PlanRules, ShownEntries, TooSmallRule, UnfitRule};
use crate::wording::{WordingPurpose, WordingRequest};
use crate::{checkpoint_role, ops, stale, state, unbind};

/// A plan in the making.
#[derive(Debug)]
pub struct PlanAssembly<'t> {
    basis: PlanBasis<'t>,
    rules: &'static PlanRules,
    /// What the parts of a fit are drafted by; orders are what they are.
    ladder: Option<DraftLadder<'t>>,
    parts: PlanParts,
    chain: SummarizerChain,
    reason: String,
    /// Whether checkpoints have given way to what the profile keeps.
    gave_way: bool,
}

/// Why a plan whose words are all there is none.
enum PlanMiss {
    /// It leaves so much, more than the budget.
    Over(u64),
    /// It breaks an invariant; of a summary, that it is no gain.
    Refused(PlanError),
}

impl<'t> PlanAssembly<'t> {
    /// Begins with what is in force (`standing`, in the places of this thread) and the orders.
    ///
    /// # Errors
    ///
    /// When an order names what is not there; see [`OrderError`].
    pub fn new(
        thread: &'t Thread,
        options: &'t CompressOptions,
        means: PlanMeans<'t>,
        standing: Plan,
        orders: &Orders,
    ) -> Result<Self, OrderError> {
        let mut basis = PlanBasis::measure(thread, options, means, BudgetUnit::Tokens);
        if !orders.ops.is_empty() {
            basis.restated = stale::restated(thread, options, basis.sizes());
        }
        let standing = standing.ops.into_iter().filter(|op| !is_stated_anew(op)).collect();
        let reason = orders.reason.clone();
        let mut assembly = Self {
            basis,
            rules: &PlanRules::ORDERED,
            ladder: None,
            parts: PlanParts { standing, ..PlanParts::default() },
            chain: SummarizerChain::new(means.summarizers),
            reason: reason.unwrap_or_else(|| "a policy ordered it".to_owned()),
            gave_way: false,
        };
        assembly.orders().read(&orders.ops)?;
        Ok(assembly)
    }

    /// Begins a plan that fits a budget, whatever is in force. A budget in tokens that has too
    /// little room for what was demanded gives way.
    pub fn new_fit(thread: &'t Thread, options: &'t CompressOptions, means: PlanMeans<'t>) -> Self {
        let mut basis = PlanBasis::measure(thread, options, means, means.budget.unit);
        basis.restated = stale::restated(thread, options, basis.sizes());
        let chain = SummarizerChain::new(means.summarizers);
        let mut ladder = DraftLadder::new(&basis);
        if basis.budget.unit == BudgetUnit::Tokens {
            basis.budget.most = basis.budget.most.max(ladder.least_budget(&basis));
        }
        ladder.draft_anew(&basis, &chain);
        let reason = format!("{} is more than {}", basis.sizes().total(), basis.budget);
        let (rules, ladder) = (&PlanRules::FIT, Some(ladder));
        let parts = PlanParts::default();
        Self { basis, rules, ladder, parts, chain, reason, gave_way: true }
    }

    /// Names entries that say nothing but what a newer one says anew: a fit does not keep them for
    /// being recent. Nothing follows for those that are pinned or part of a tool exchange.
    #[must_use]
    pub fn outdated(mut self, entries: &[EntryId]) -> Self {
        if let Some(ladder) = &mut self.ladder {
            ladder.mark_outdated(entries, &self.basis);
        }
        self
    }

    /// Writes checkpoints anew in the same plan.
    ///
    /// # Errors
    ///
    /// When there is no such checkpoint or level.
    pub fn age(&mut self, ageings: &[Ageing]) -> Result<(), OrderError> {
        let mut orders = self.orders();
        ageings.iter().try_for_each(|one| orders.lower(&one.checkpoint, one.to, one.target))
    }

    /// The checkpoints as the orders leave them, oldest first, each with its level and the most
    /// that it takes.
    pub fn checkpoints(&self) -> Vec<(&[EntryId], ContentId, CheckpointLevel, u64)> {
        let standing = ops::checkpoints(&self.parts.standing)
            .map(|one| (&*one.covers, one.id, one.level, self.gauge().message(&one.text)));
        let wished = self.parts.wishes.iter().filter_map(|wish| match &wish.what {
            WordingPurpose::Checkpoint { id, covers, level } => {
                Some((&**covers, *id, *level, wish.limit()))
            }
            WordingPurpose::Digest(_) => None,
        });
        let mut all: Vec<_> = standing.chain(wished).collect();
        all.sort_by_key(|(covers, ..)| covers.last().copied());
        all
    }

    /// Whether the conversation is larger than its budget.
    pub fn is_needed(&self) -> bool {
        self.basis.sizes().total() > self.basis.budget.most
    }

    /// The gauge of the budget: what sizes the summaries.
    pub fn gauge(&self) -> &SizeGauge<'t> {
        self.basis.sizes().gauge()
    }

    /// The summaries that orders wish for, if each comes out as it is wished.
    pub(crate) fn wanted(&self) -> Vec<SummaryRequest> {
        let ground = self.basis.ground();
        let rooms = self.parts.wishes.iter().map(|wish| (wish, wish.room(&ground)));
        let summarizer = self.chain.asked().unwrap_or_default();
        rooms
            .filter(|(_, room)| *room > 0)
            .map(|(wish, room)| self.request(wish, summarizer, room))
            .collect()
    }

    /// Goes on until a summary is needed or it is over. Asked again before its answer, it says the
    /// same.
    pub fn step(&mut self) -> PlanStep<'t> {
        self.give_way();
        if let Some(end) = self.ends_at_once() {
            return PlanStep::Done(end);
        }
        loop {
            if !self.expand()
                && let Some(ladder) = &self.ladder
            {
                return PlanStep::Done(ladder.cannot_fit(&self.basis));
            }
            let Some(wish) = self.parts.wishes.front() else {
                match self.settle() {
                    Ok(outcome) => return PlanStep::Done(outcome),
                    Err(miss) => match self.missed(miss) {
                        Some(outcome) => return PlanStep::Done(outcome),
                        None => continue,
                    },
                }
            };
            let most = wish.room(&self.basis.ground()).saturating_sub(self.chain.excess());
            match self.chain.asked() {
                _ if most == 0 => self.leave(),
                Some(summarizer) => {
                    return PlanStep::Summarize(self.request(wish, summarizer, most));
                }
                None => self.say(most),
            }
        }
    }

    /// Takes the answer to the last step.
    pub fn answer(&mut self, answer: Result<Summary, SummaryError>) {
        let Some(wish) = self.parts.wishes.front() else { return };
        let rules = self.rules.of_wording(&wish.what);
        let words = match answer {
            Ok(words) => words,
            Err(SummaryError::TooSmall { .. }) => {
                return match rules.too_small {
                    TooSmallRule::Unworded => self.leave(),
                    TooSmallRule::NextSummarizer => self.chain.turn_to_next(),
                };
            }
            Err(error) => return self.failed(&error, rules.spares_last),
        };
        let is_empty = words.text.trim().is_empty();
        match self.over(wish, &words) {
            0 if !is_empty => self.fulfil(words),
            _ if rules.unfit == UnfitRule::Unworded => self.leave(),
            _ if is_empty => self.give_up("the summary is empty"),
            over => self.shrink(over),
        }
    }

    /// By how much the answer of a summarizer is too large.
    fn over(&self, wish: &WordingRequest, words: &Summary) -> u64 {
        let ground = self.basis.ground();
        match self.rules.of_wording(&wish.what).measured {
            MeasuredText::Placed => wish.over(words, &ground),
            MeasuredText::Words => {
                let asked = wish.room(&ground).saturating_sub(self.chain.excess());
                ground.gauge().size(&words.text).saturating_sub(asked)
            }
        }
    }

    /// What the end is before anything is done.
    fn ends_at_once(&self) -> Option<FitOutcome<'t>> {
        let size = self.basis.sizes().total();
        match self.ladder {
            Some(_) => (!self.is_needed()).then_some(FitOutcome::NothingToDo { size }),
            None => self.loses().then_some(FitOutcome::Missed { size }),
        }
    }

    /// Has checkpoints give way to the lines that the profile keeps, since those were promised word for
    /// word. A fit leaves room for them before it drafts any.
    fn give_way(&mut self) {
        if !std::mem::replace(&mut self.gave_way, true) {
            let ground = self.basis.ground();
            let lines = ground.crowded_out(&self.unsent(), || self.taken());
            self.orders().give_way(lines);
        }
    }

    /// The texts that are not sent once the orders are done.
    fn unsent(&self) -> UnsentTexts {
        let wished = self.parts.wishes.iter().flat_map(WordingRequest::covers).copied();
        UnsentTexts::of_ops(self.basis.thread, self.parts.done()).and(wished)
    }

    /// Whether the orders take out more that was demanded than can be stated in its place.
    fn loses(&self) -> bool {
        let ground = self.basis.ground();
        let state = ground.statement(&self.unsent(), || self.taken());
        !ground.stating().allows(&state, ground.budget.most)
    }

    /// What the orders come to without the state, with summaries as large as they may become.
    fn taken(&self) -> u64 {
        let Self { basis, parts, rules, .. } = self;
        let plan = Plan { ops: parts.ops(rules.order), reason: String::new() };
        let wished = || parts.wishes.iter();
        let covered: u64 =
            wished().map(|wish| basis.sizes().sum(wish.covers().iter().copied())).sum();
        match apply(basis.thread, basis.sizes(), &plan) {
            Ok(view) => {
                let limits: u64 = wished().map(WordingRequest::limit).sum();
                (view.size(basis.sizes()) + limits).saturating_sub(covered)
            }
            Err(_) => basis.ground().floor().size,
        }
    }

    fn orders(&mut self) -> OrderReader<'_, '_> {
        OrderReader { ground: self.basis.ground(), parts: &mut self.parts }
    }

    /// Drafts the parts where they are not there; false where not even the floor fits.
    fn expand(&mut self) -> bool {
        let Some(ladder) = self.ladder.as_mut().filter(|ladder| !ladder.is_drafted()) else {
            return true;
        };
        let parts = ladder.expand(&self.basis, self.chain.asked().is_some());
        let fits = parts.is_some();
        self.parts = parts.unwrap_or_default();
        fits
    }

    fn request(&self, wish: &WordingRequest, summarizer: usize, most: u64) -> SummaryRequest {
        let (what, level) = match &wish.what {
            WordingPurpose::Checkpoint { covers, level, .. } => {
                let shown = match self.rules.shown {
                    ShownEntries::AllThatLeave => self.parts.leaving().into_iter().collect(),
                    ShownEntries::Covered => covers.clone(),
                };
                (SummarySubject::Checkpoint(shown), *level)
            }
            WordingPurpose::Digest(part) => {
                (SummarySubject::Digest(*part), CheckpointLevel::Detailed)
            }
        };
        let brief = self.rules.brief_below_detailed && level < CheckpointLevel::Detailed;
        let style = if brief { SummaryStyle::Brief } else { self.basis.options.style };
        let kept = self.parts.kept(&wish.what, &self.basis.ground());
        SummaryRequest { what, level, style, summarizer, kept, most }
    }

    /// Words the first wish without a summarizer: a line a message, and no digest.
    fn say(&mut self, most: u64) {
        let Some(wish) = self.parts.wishes.front() else { return };
        let ground = self.basis.ground();
        let chars = ground.options.texts.line_chars;
        let words = account(ground.thread, wish.covers(), chars, most, ground.gauge());
        let Some(words) = words else { return self.leave() };
        let measured = self.rules.own_words.measured;
        match if measured { wish.over(&words, &ground) } else { 0 } {
            0 => self.fulfil(words),
            over => self.shrink(over),
        }
    }

    /// Takes the words for the first wish.
    fn fulfil(&mut self, words: Summary) {
        let Some(wish) = self.parts.wishes.pop_front() else { return };
        let ground = self.basis.ground();
        if let WordingPurpose::Digest(part) = wish.what {
            let digest = wish.digest(part, words, &ground);
            return self.put_digest(wish, digest);
        }
        let level = match self.chain.asked() {
            Some(_) => CheckpointLevel::Detailed,
            None => self.rules.own_words.level,
        };
        self.parts.worded.extend(wish.checkpoint(words, level, &ground));
        self.go_on();
    }

    /// Finds no words for the first wish.
    fn leave(&mut self) {
        let Some(wish) = self.parts.wishes.pop_front() else { return };
        match (&wish.what, &mut self.ladder) {
            (WordingPurpose::Digest(_), _) => self.put_digest(wish, None),
            (WordingPurpose::Checkpoint { .. }, Some(ladder)) => {
                ladder.descend(&self.basis, &mut self.chain);
            }
            (WordingPurpose::Checkpoint { .. }, None) => {
                match wish.with_more_room(&self.basis.ground()) {
                    Ok(wish) => self.parts.wishes.push_front(wish),
                    Err(wish) => self.parts.leave(wish, &self.basis.ground()),
                }
                self.go_on();
            }
        }
    }

    /// Puts a digest in the place of its part; without one the part is cut.
    fn put_digest(&mut self, wish: WordingRequest, digest: Option<ShortenedPart>) {
        let WordingPurpose::Digest(part) = wish.what else { return };
        match (&mut self.ladder, digest) {
            (Some(ladder), digest) => {
                ladder.keep_digest(part, wish.most, digest, &mut self.parts);
            }
            (None, Some(digest)) => self.parts.cuts.push(digest),
            (None, None) => self.parts.leave(wish, &self.basis.ground()),
        }
        self.go_on();
    }

    /// Turns to the next wish, for which all summarizers that have not given up can be asked.
    fn go_on(&mut self) {
        if !self.parts.wishes.is_empty() {
            self.chain.restart();
        }
    }

    /// Has the first wish said in less. A summarizer that cannot do that gives up, and what the
    /// kernel cannot say in less stays without words.
    fn shrink(&mut self, over: u64) {
        let Some(wish) = self.parts.wishes.front() else { return };
        let unfit = self.rules.of_wording(&wish.what).unfit;
        let has_room = unfit != UnfitRule::AskAgain { within_room: true }
            || self.chain.excess() + over < wish.room(&self.basis.ground());
        if has_room && self.chain.ask_less(over) {
            return;
        }
        match self.chain.asked() {
            Some(_) => self.give_up("its summaries are larger than allowed"),
            None => self.leave(),
        }
    }

    /// A summarizer failed. Where the last one is spared, texts of the same kind go without it.
    fn failed(&mut self, error: &SummaryError, spares_last: bool) {
        match &mut self.ladder {
            Some(ladder) if spares_last && self.chain.is_last() => {
                let warning = format!("large texts are cut, not digested: {error}");
                self.chain.warnings.push(warning);
                ladder.stop_digests(&mut self.parts);
            }
            _ => self.give_up(&error.to_string()),
        }
    }

    /// The present summarizer does no good: it is not asked again.
    fn give_up(&mut self, why: &str) {
        self.chain.give_up(why);
        let Some(ladder) = &mut self.ladder else { return };
        match self.parts.wishes.front().map(|wish| &wish.what) {
            Some(WordingPurpose::Digest(_)) => ladder.put_digests(&mut self.parts),
            _ => ladder.draft_anew(&self.basis, &self.chain),
        }
    }

    /// What the end is where a plan came to nothing; `None` where it goes on with a smaller summary
    /// or down the ladder.
    fn missed(&mut self, miss: PlanMiss) -> Option<FitOutcome<'t>> {
        match (&mut self.ladder, miss) {
            (None, PlanMiss::Over(size)) => Some(FitOutcome::Missed { size }),
            (None, PlanMiss::Refused(error)) => Some(FitOutcome::Refused(error)),
            (Some(_), PlanMiss::Over(size)) if !self.parts.worded.is_empty() => {
                self.parts.take_back();
                self.shrink(size - self.basis.budget.most);
                None
            }
            (Some(ladder), PlanMiss::Over(_)) if ladder.is_last() => {
                Some(ladder.cannot_fit(&self.basis))
            }
            (Some(ladder), PlanMiss::Refused(error)) if ladder.is_last() => {
                Some(FitOutcome::Refused(error))
            }
            (Some(ladder), _) => {
                ladder.descend(&self.basis, &mut self.chain);
                None
            }
        }
    }

    /// Puts a plan together whose words are all there, and measures what it leaves.
    fn settle(&mut self) -> Result<FitOutcome<'t>, PlanMiss> {
        let (ops, state) = self.ops();
        let Self { basis, parts, .. } = self;
        let (sizes, ground) = (basis.sizes(), basis.ground());
        if ops.is_empty() && self.ladder.is_none() {
            return Ok(FitOutcome::NothingToDo { size: sizes.total() });
        }
        let plan = Plan { ops, reason: self.reason.clone() };
        let view = apply(basis.thread, sizes, &plan).map_err(PlanMiss::Refused)?;
        let size = view.size(sizes);
        if size > basis.budget.most {
            return Err(PlanMiss::Over(size));
        }
        if let Some(ladder) = &mut self.ladder {
            ladder.forget_digests();
        }
        let told_of = parts.told_of(self.rules.shown);
        let mut parts = PlanParts { state, ..std::mem::take(parts) };
        parts.warnings.append(&mut self.chain.warnings);
        let made = AppliedPlan { ground, parts, plan, size, told_of };
        Ok(FitOutcome::Compressed(Box::new(made.compressed(view))))
    }

    /// The ops of a plan whose words are all there: with what else leaves, and what is said of it.
    fn ops(&self) -> (Vec<Op>, Option<WorkStatement>) {
        let Self { basis, parts, rules, .. } = self;
        let thread = basis.thread;
        let mut all = parts.ops(rules.order);
        if all.is_empty() && !rules.notes_leave_alone {
            return (all, None);
        }
        all.extend(stale::ops(&basis.restated, &all));
        let state = parts.state.clone().unwrap_or_else(|| {
            let unsent = UnsentTexts::of_ops(thread, all.iter());
            basis.ground().statement(&unsent, || self.taken())
        });
        all.extend(state::op(thread, state.text.clone(), &all));
        if rules.order == OpOrder::ByPlace {
            all.sort_by_key(ops::place);
        }
        all.extend(basis.options.unbind.then(|| unbind::op(thread, &all)).flatten());
        checkpoint_role::settle(thread, &mut all);
        (all, Some(state))
    }
}

/// Whether a new plan says anew what an op says: the state of the work, and which reasoning leaves.
fn is_stated_anew(op: &Op) -> bool {
    matches!(op, Op::State { .. } | Op::Unbind { .. })
}
