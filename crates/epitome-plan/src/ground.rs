//! What a plan is made from: a conversation, its sizes, and what is decided about it.
//!
//! Invariant: nothing in here changes while a plan is made, and texts are counted once. Held by the
//! planner, lent to all that put a plan together.

use std::fmt;

use epitome_kernel::types::{Budget, BudgetUnit, EntryId};
use epitome_kernel::{Exchange, SizeGauge, StrippedExchange, Thread, ThreadSizes, TokenCounter};

use crate::budget::{PromptFloor, prompt_floor};
use crate::constraints::{MeasuredConstraints, StatementRoom, WorkStatement};
use crate::cut::PartShortener;
use crate::kept::UnsentTexts;
use crate::options::CompressOptions;

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

/// A conversation with its sizes, counted once.
#[derive(Debug)]
pub(crate) struct PlanBasis<'t> {
    pub(crate) thread: &'t Thread,
    pub(crate) options: &'t CompressOptions,
    pub(crate) budget: Budget,
    pub(crate) restated: StrippedExchange,
    tokens: ThreadSizes<'t>,
    /// In the unit that must shrink, where that is not tokens.
    other: Option<ThreadSizes<'t>>,
}

impl<'t> PlanBasis<'t> {
    /// Measures a thread in tokens, and in the unit that must shrink.
    pub(crate) fn measure(
        thread: &'t Thread,
        options: &'t CompressOptions,
        means: PlanMeans<'t>,
        unit: BudgetUnit,
    ) -> Self {
        let PlanMeans { budget, counter, .. } = means;
        let measure = |unit, envelope| {
            ThreadSizes::measure(thread.entries(), SizeGauge { counter, unit }, envelope)
        };
        let other = match unit {
            BudgetUnit::Tokens => None,
            BudgetUnit::Chars => Some(measure(unit, options.envelope.chars)),
            BudgetUnit::Bytes => Some(measure(unit, options.envelope.bytes)),
        };
        let tokens = measure(BudgetUnit::Tokens, options.envelope.tokens);
        let restated = StrippedExchange::default();
        Self { thread, options, budget, restated, tokens, other }
    }

    /// The sizes in the unit that must shrink.
    pub(crate) fn sizes(&self) -> &ThreadSizes<'t> {
        self.other.as_ref().unwrap_or(&self.tokens)
    }

    pub(crate) fn ground(&self) -> PlanGround<'_> {
        self.measured_by(self.sizes())
    }

    /// The ground with other sizes in the unit that must shrink.
    pub(crate) fn measured_by<'a>(&'a self, sizes: &'a ThreadSizes<'a>) -> PlanGround<'a> {
        let Self { thread, options, budget, ref restated, ref tokens, .. } = *self;
        PlanGround { thread, options, budget, restated, sizes, tokens }
    }
}

/// A conversation and what is decided about it, for those who put a plan together.
#[derive(Clone, Copy)]
pub(crate) struct PlanGround<'a> {
    pub(crate) thread: &'a Thread,
    pub(crate) options: &'a CompressOptions,
    pub(crate) budget: Budget,
    /// The notes that newer ones state anew: they leave with what else is done.
    pub(crate) restated: &'a StrippedExchange,
    /// In the unit that must shrink.
    pub(crate) sizes: &'a ThreadSizes<'a>,
    pub(crate) tokens: &'a ThreadSizes<'a>,
}

impl<'a> PlanGround<'a> {
    pub(crate) fn gauge(&self) -> &'a SizeGauge<'a> {
        self.sizes.gauge()
    }

    pub(crate) fn cutter(&self) -> PartShortener<'a> {
        PartShortener {
            thread: self.thread,
            sizes: self.sizes,
            tokens: self.tokens,
            marker: &self.options.texts.marker,
            digest_tokens: self.options.digest_tokens,
        }
    }

    /// Whether an exchange is a note that leaves alone.
    pub(crate) fn has_left(&self, exchange: &Exchange) -> bool {
        let first = EntryId(exchange.entries.start as u32);
        exchange.entries.len() == 1 && self.restated.entries.binary_search(&first).is_ok()
    }

    /// What cannot shrink, but for the state of the work.
    pub(crate) fn floor(&self) -> PromptFloor {
        let cutter = self.cutter();
        prompt_floor(self.thread, self.sizes, |part| cutter.least(part))
    }

    pub(crate) fn stating(&self) -> MeasuredConstraints<'a> {
        MeasuredConstraints { thread: self.thread, options: self.options, gauge: self.gauge() }
    }

    /// The state of the work, where these texts are not sent as they were said. `taken` is what all
    /// else comes to.
    pub(crate) fn statement(
        &self,
        unsent: &UnsentTexts,
        taken: impl FnOnce() -> u64,
    ) -> WorkStatement {
        let (stating, room) = (self.stating(), self.statement_room());
        stating.state(unsent, stating.beside(room, taken))
    }

    /// What more lines of the profile would take in it, were there less of all else.
    pub(crate) fn crowded_out(&self, unsent: &UnsentTexts, taken: impl FnOnce() -> u64) -> u64 {
        self.stating().crowded_out(unsent, self.statement_room(), taken)
    }

    fn statement_room(&self) -> StatementRoom {
        self.stating().room(self.budget.most, || self.floor().size)
    }
}

/// The entries of an exchange.
pub(crate) fn ids(exchange: &Exchange) -> impl Iterator<Item = EntryId> + use<> {
    exchange.entries.clone().map(|place| EntryId(place as u32))
}
