//! A plan that a policy ordered, as a machine that is stepped.
//!
//! Invariant: what is made is complete, as every epoch is: what was in force before and is not
//! touched stays in it. An order that names what is not there is refused before anything is done;
//! a summary that comes to nothing leaves what it was for as it is (RULES 7, 8).

mod ops;
mod wish;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use epitome_kernel::types::hook::{Ageing, OpRequest, Orders};
use epitome_kernel::types::{
    Budget, BudgetUnit, CheckpointLevel, ContentId, Entry, EntryId, EventKind, Op, Passage, Plan,
    Summary,
};
use epitome_kernel::{
    SizeGauge, SummaryError, Thread, ThreadSizes, TokenCounter, apply, rewrite, strip,
};

use self::wish::{WordingPurpose, WordingRequest};
use crate::ask::{FitStep, SummaryRequest, SummarySubject};
use crate::budget::prompt_floor;
use crate::constraints::{MeasuredConstraints, WorkStatement, unsaid};
use crate::cut::{PartShortener, ShortenedPart};
use crate::driver::PlanMachine;
use crate::lines::account;
use crate::options::CompressOptions;
use crate::order::OrderError;
use crate::outcome::{AppliedPlan, FitOutcome};
use crate::{checkpoint_role, stale, state, unbind};

/// How often a summary that came out too large is asked for again, smaller.
const RETRIES: u32 = 3;

/// What a plan is made with.
#[derive(Clone, Copy)]
pub struct PlanMeans<'t> {
    /// The room that the prompt has.
    pub budget: Budget,
    /// Measures texts.
    pub counter: &'t dyn TokenCounter,
    /// How many summarisers can be asked.
    pub summarizers: usize,
}

impl fmt::Debug for PlanMeans<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, counter, summarizers } = self;
        f.debug_struct("PlanMeans")
            .field("budget", budget)
            .field("counter", &counter.id())
            .field("summarizers", summarizers)
            .finish()
    }
}

/// A plan in the making.
#[derive(Debug)]
pub struct PlanAssembly<'t> {
    thread: &'t Thread,
    options: &'t CompressOptions,
    tokens: ThreadSizes<'t>,
    budget: Budget,
    /// What is in force and not touched so far.
    standing: Vec<Op>,
    /// What is done anew and needs no words, or has them.
    ops: Vec<Op>,
    cuts: Vec<ShortenedPart>,
    /// What is to be worded, in order.
    wishes: VecDeque<WordingRequest>,
    /// How many summarisers there are, which one is asked, and which are not asked any more.
    summarizers: usize,
    summarizer: usize,
    given_up: BTreeSet<usize>,
    /// By how much a summary must be smaller than the room that was computed, and how often that
    /// was found out.
    excess: u64,
    retries: u32,
    /// What the summarisers were shown where they cut the pieces for search, and those pieces.
    told_of: Vec<EntryId>,
    left: Vec<Passage>,
    events: Vec<EventKind>,
    warnings: Vec<String>,
    reason: Option<String>,
    /// Whether anything is ordered: what is worded anew is else as it was.
    orders: bool,
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
        let PlanMeans { budget, counter, summarizers } = means;
        let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
        let mut assembly = Self {
            thread,
            options,
            tokens: ThreadSizes::measure(thread.entries(), gauge, options.envelope.tokens),
            budget,
            standing: standing.ops.into_iter().filter(|op| !is_restated(op)).collect(),
            ops: Vec::new(),
            cuts: Vec::new(),
            wishes: VecDeque::new(),
            summarizers,
            summarizer: 0,
            given_up: BTreeSet::new(),
            excess: 0,
            retries: 0,
            told_of: Vec::new(),
            left: Vec::new(),
            events: Vec::new(),
            warnings: Vec::new(),
            reason: orders.reason.clone(),
            orders: !orders.ops.is_empty(),
        };
        // What is covered by then is passed over.
        let last = |order: &&OpRequest| matches!(order, OpRequest::Strip(_));
        let (strips, others): (Vec<_>, Vec<_>) = orders.ops.iter().partition(last);
        others.into_iter().chain(strips).try_for_each(|order| assembly.take(order))?;
        Ok(assembly)
    }

    /// Writes checkpoints anew in the same plan.
    ///
    /// # Errors
    ///
    /// When there is no such checkpoint or level.
    pub fn age(&mut self, ageings: &[Ageing]) -> Result<(), OrderError> {
        ageings.iter().try_for_each(|one| self.lower(&one.checkpoint, one.to, one.target))
    }

    /// The checkpoints as the orders leave them, oldest first, each with its level and the most
    /// that it takes.
    pub fn checkpoints(&self) -> Vec<(&[EntryId], ContentId, CheckpointLevel, u64)> {
        let standing = self.standing.iter().filter_map(|op| match op {
            Op::Summarize(one) => {
                let size = self.tokens.gauge().message(&one.text);
                Some((&*one.covers, one.id, one.level, size))
            }
            _ => None,
        });
        let wished = self.wishes.iter().filter_map(|wish| match &wish.what {
            WordingPurpose::Checkpoint { id, covers, level } => {
                Some((&**covers, *id, *level, wish.limit()))
            }
            WordingPurpose::Digest(_) => None,
        });
        let mut all: Vec<_> = standing.chain(wished).collect();
        all.sort_by_key(|(covers, ..)| covers.last().copied());
        all
    }

    fn cutter(&self) -> PartShortener<'_> {
        PartShortener {
            thread: self.thread,
            sizes: &self.tokens,
            tokens: &self.tokens,
            marker: &self.options.texts.marker,
            digest_tokens: self.options.digest_tokens,
        }
    }

    /// The entries that stay, as they will stand there; for a digest those that are pinned.
    fn kept(&self, wish: &WordingRequest) -> Vec<Entry> {
        let entries = self.thread.entries().iter();
        if let WordingPurpose::Digest(_) = wish.what {
            let pinned = entries.filter(|one| self.thread.pinned(one.id).is_some()).cloned();
            let state = state::entry(self.thread, self.options.state.clone());
            return pinned.chain(state).collect();
        }
        let ops = || self.standing.iter().chain(&self.ops);
        let gone = ops().flat_map(|op| match op {
            Op::Summarize(one) => &one.covers[..],
            Op::Drop { entries } => entries,
            _ => &[],
        });
        let gone: BTreeSet<_> =
            gone.chain(self.wishes.iter().flat_map(WordingRequest::covers)).collect();
        let mut kept: Vec<_> = entries.filter(|entry| !gone.contains(&entry.id)).cloned().collect();
        let texts = ops().filter_map(|op| match op {
            Op::Replace { part, with, .. } => Some((*part, with)),
            _ => None,
        });
        for (part, with) in texts.chain(self.cuts.iter().map(|cut| (cut.part, &cut.with))) {
            if let Ok(at) = kept.binary_search_by_key(&part.entry, |entry| entry.id) {
                rewrite(&mut kept[at], part, with);
            }
        }
        for op in ops() {
            let Op::Strip { parts } = op else { continue };
            for parts in parts.chunk_by(|one, next| one.entry == next.entry) {
                if let Ok(at) = kept.binary_search_by_key(&parts[0].entry, |entry| entry.id) {
                    let gone: Vec<_> = parts.iter().map(|part| part.part).collect();
                    strip(&mut kept[at], &gone);
                }
            }
        }
        kept.extend(state::entry(self.thread, self.state(|id| gone.contains(&id)).text));
        kept
    }

    /// The state of the work, where the messages that `lacks` names are not sent as they were said.
    fn state(&self, lacks: impl Fn(EntryId) -> bool) -> WorkStatement {
        let (cutter, stating, thread) = (self.cutter(), self.stating(), self.thread);
        let floor = || prompt_floor(thread, &self.tokens, |part| cutter.least(part)).size;
        stating.state(lacks, stating.room(self.budget.most, floor))
    }

    fn stating(&self) -> MeasuredConstraints<'_> {
        MeasuredConstraints {
            thread: self.thread,
            options: self.options,
            gauge: self.tokens.gauge(),
        }
    }

    /// Whether the orders take out more that was demanded than can be stated in its place.
    fn loses(&self) -> bool {
        let wished = self.wishes.iter().flat_map(WordingRequest::covers);
        let mut unsaid = unsaid(self.thread, self.standing.iter().chain(&self.ops));
        unsaid.extend(wished);
        let state = self.state(|id| unsaid.contains(&id));
        !self.stating().allows(&state, self.budget.most)
    }

    fn ask(&self, wish: &WordingRequest, most: u64) -> SummaryRequest {
        let (what, level) = match &wish.what {
            WordingPurpose::Checkpoint { covers, level, .. } => {
                (SummarySubject::Checkpoint(covers.clone()), *level)
            }
            WordingPurpose::Digest(part) => {
                (SummarySubject::Digest(*part), CheckpointLevel::Detailed)
            }
        };
        let (style, summarizer) = (self.options.style, self.summarizer);
        SummaryRequest { what, level, style, summarizer, kept: self.kept(wish), most }
    }

    /// Turns to the first summariser from this one on that has not given up.
    fn turn_to(&mut self, from: usize) {
        let of_use = |number: &usize| !self.given_up.contains(number);
        self.summarizer = (from..self.summarizers).find(of_use).unwrap_or(self.summarizers);
        (self.excess, self.retries) = (0, 0);
    }

    /// The present summariser does no good: it is not asked again.
    fn give_up(&mut self, why: &str) {
        self.warnings.push(format!("summariser {} gave up: {why}", self.summarizer + 1));
        self.given_up.insert(self.summarizer);
        self.turn_to(self.summarizer + 1);
    }

    /// What the kernel itself can say: a line a message. It words no digest.
    fn own_words(&self, wish: &WordingRequest) -> Option<Summary> {
        let mut room = self.room(wish);
        for _ in 0..=RETRIES {
            let chars = self.options.texts.line_chars;
            let text = account(self.thread, wish.covers(), chars, room, self.tokens.gauge())?;
            match self.over(wish, &text) {
                0 => return Some(Summary { text, ..Summary::default() }),
                over => room = room.saturating_sub(over),
            }
        }
        None
    }

    fn settle(&mut self) -> FitOutcome<'t> {
        let mut ops = std::mem::take(&mut self.standing);
        ops.append(&mut self.ops);
        ops.extend(self.cuts.iter().map(ShortenedPart::op));
        if self.orders && !ops.is_empty() {
            ops.extend(stale::ops(&stale::restated(self.thread, self.options), &ops));
        }
        if ops.is_empty() {
            return FitOutcome::NothingToDo { size: self.tokens.total() };
        }
        let unsaid = unsaid(self.thread, ops.iter());
        let state = self.state(|id| unsaid.contains(&id));
        ops.extend(state::op(self.thread, state.text, &ops));
        ops.sort_by_key(place);
        ops.extend(self.options.unbind.then(|| unbind::op(self.thread, &ops)).flatten());
        checkpoint_role::settle(self.thread, &mut ops);
        let reason = self.reason.take().unwrap_or_else(|| "a policy ordered it".to_owned());
        let plan = Plan { ops, reason };
        let view = match apply(self.thread, &self.tokens, &plan) {
            Ok(view) => view,
            Err(error) => return FitOutcome::Refused(error),
        };
        let size = view.size(&self.tokens);
        if size > self.budget.most {
            return FitOutcome::Missed { size };
        }
        let made = AppliedPlan {
            thread: self.thread,
            options: self.options,
            sizes: &self.tokens,
            tokens: &self.tokens,
            plan,
            view,
            size,
            cuts: &self.cuts,
            told_of: std::mem::take(&mut self.told_of),
            left: std::mem::take(&mut self.left),
            warnings: std::mem::take(&mut self.warnings),
            events: std::mem::take(&mut self.events),
        };
        FitOutcome::Compressed(Box::new(made.compressed()))
    }
}

impl<'t> PlanMachine<'t> for PlanAssembly<'t> {
    fn step(&mut self) -> FitStep<'t> {
        if self.loses() {
            return FitStep::Done(FitOutcome::Missed { size: self.tokens.total() });
        }
        while let Some(wish) = self.wishes.front() {
            let most = self.room(wish).saturating_sub(self.excess);
            if most > 0 && self.summarizer < self.summarizers {
                return FitStep::Summarize(self.ask(wish, most));
            }
            let words = self.own_words(wish);
            self.fulfil(words);
        }
        FitStep::Done(self.settle())
    }

    fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<FitOutcome<'t>> {
        let wish = self.wishes.front()?;
        match answer {
            Ok(summary) if summary.text.trim().is_empty() => self.give_up("the summary is empty"),
            Ok(summary) => match self.over(wish, &summary.text) {
                0 => self.fulfil(Some(summary)),
                over if self.excess + over < self.room(wish) && self.retries < RETRIES => {
                    (self.excess, self.retries) = (self.excess + over, self.retries + 1);
                }
                _ => self.give_up("its summaries are larger than allowed"),
            },
            // It may have more room the next time, and the next one may need less.
            Err(SummaryError::TooSmall { .. }) => self.turn_to(self.summarizer + 1),
            Err(error) => self.give_up(&error.to_string()),
        }
        None
    }

    fn wanted(&self) -> Vec<SummaryRequest> {
        let rooms = self.wishes.iter().map(|wish| (wish, self.room(wish)));
        rooms.filter(|(_, room)| *room > 0).map(|(wish, room)| self.ask(wish, room)).collect()
    }

    fn gauge(&self) -> &SizeGauge<'t> {
        self.tokens.gauge()
    }
}

/// Whether a new plan says anew what an op says: the state of the work, and which reasoning leaves.
fn is_restated(op: &Op) -> bool {
    matches!(op, Op::State { .. } | Op::Unbind { .. })
}

/// Where an op stands in the conversation.
fn place(op: &Op) -> EntryId {
    let first = match op {
        Op::Replace { part, .. } => Some(part.entry),
        Op::Drop { entries } => entries.first().copied(),
        Op::Strip { parts } => parts.first().map(|part| part.entry),
        Op::Insert { after, .. } | Op::State { after, .. } => *after,
        Op::Summarize(checkpoint) => checkpoint.covers.first().copied(),
        Op::Unbind { replies } => replies.first().map(|reply| reply.entry),
    };
    first.unwrap_or(EntryId(0))
}
