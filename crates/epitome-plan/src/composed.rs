//! A plan that fits a budget, and what a policy wants done beside it to the messages that stay.
//!
//! Invariant: the fit decides what leaves; what is done beside it is done to what stays and no more,
//! and what that frees is room for messages that would have left. The whole is one checked plan.

use std::collections::BTreeSet;

use epitome_kernel::types::hook::{ClearToolsOp, Drop, FitOp, MessageNumber, OpRequest, Orders};
use epitome_kernel::types::{Budget, EntryId, Op, Plan};
use epitome_kernel::{Summarizer, Thread, TokenCounter};

use crate::assembly::PlanAssembly;
use crate::driver::{assemble, compress};
use crate::ground::PlanMeans;
use crate::options::CompressOptions;
use crate::order::OrderError;
use crate::outcome::FitOutcome;

/// The part of a budget that is too little to fit anew for: one part in so many.
const LITTLE: u64 = 50;

/// A fit with something beside it.
#[derive(Clone, Copy)]
pub struct ComposedFit<'t, 'a> {
    /// The conversation.
    pub thread: &'t Thread,
    /// How plans are made.
    pub options: &'t CompressOptions,
    /// Who counts.
    pub counter: &'t dyn TokenCounter,
    /// What is done beside it.
    pub also: &'a [FitOp],
}

impl<'t> ComposedFit<'t, '_> {
    /// Comes to a budget.
    ///
    /// # Errors
    ///
    /// When something is to be done to what is not there; see [`OrderError`].
    pub async fn compress(
        &self,
        budget: Budget,
        summarizers: &[&dyn Summarizer],
    ) -> Result<FitOutcome<'t>, OrderError> {
        if self.also.is_empty() {
            let Self { thread, options, counter, .. } = *self;
            return Ok(compress(thread, options, budget, counter, summarizers).await);
        }
        // What it comes to is known once it is made: nobody is asked for a summary to find out.
        let aim = match self.within(budget, budget, &[]).await? {
            FitOutcome::Compressed(made) => budget.most + budget.most.saturating_sub(made.size[1]),
            FitOutcome::Missed { size } => (2 * budget.most).saturating_sub(size),
            end => return Ok(end),
        };
        if aim.abs_diff(budget.most) > budget.most / LITTLE {
            let aim = Budget { most: aim, ..budget };
            let made = self.within(aim, budget, summarizers).await?;
            if let FitOutcome::Compressed(_) = made {
                return Ok(made);
            }
        }
        self.within(budget, budget, summarizers).await
    }

    /// Fits to `aim`, and holds what comes of all of it to `budget`.
    async fn within(
        &self,
        aim: Budget,
        budget: Budget,
        summarizers: &[&dyn Summarizer],
    ) -> Result<FitOutcome<'t>, OrderError> {
        let Self { thread, options, counter, also } = *self;
        let fitted = match compress(thread, options, aim, counter, summarizers).await {
            FitOutcome::Compressed(made) => made.plan,
            FitOutcome::NothingToDo { .. } => Plan::default(),
            end => return Ok(end),
        };
        let left = left(&fitted);
        let ops = also.iter().filter_map(|one| among_those_that_stay(one, &left)).collect();
        let orders = Orders { ops, reason: Some(fitted.reason.clone()), ..Orders::default() };
        let means = PlanMeans { budget, counter, summarizers: summarizers.len() };
        let assembly = PlanAssembly::new(thread, options, means, fitted, &orders)?;
        Ok(assemble(assembly, thread, options, summarizers).await)
    }
}

/// The entries that a plan takes out, whole or in part.
fn left(plan: &Plan) -> BTreeSet<EntryId> {
    let mut left = BTreeSet::new();
    for op in &plan.ops {
        match op {
            Op::Summarize(one) => left.extend(&one.covers),
            Op::Drop { entries } => left.extend(entries),
            Op::Strip { parts } => left.extend(parts.iter().map(|part| part.entry)),
            Op::Replace { .. } | Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
        }
    }
    left
}

/// What is done to the messages that stay; none where none of those stays that it is about.
fn among_those_that_stay(one: &FitOp, left: &BTreeSet<EntryId>) -> Option<OpRequest> {
    let stays = |place: &MessageNumber| place.entry().is_none_or(|id| !left.contains(&id));
    let those = |places: &[MessageNumber]| {
        let those: Vec<_> = places.iter().copied().filter(stays).collect();
        (!those.is_empty()).then_some(those)
    };
    match one {
        FitOp::Replace(one) => stays(&one.entry).then(|| OpRequest::Replace(one.clone())),
        FitOp::Drop(one) => those(&one.entries).map(|entries| OpRequest::Drop(Drop { entries })),
        FitOp::ClearTools(one) => {
            those(&one.entries).map(|entries| OpRequest::ClearTools(ClearToolsOp { entries }))
        }
        FitOp::Insert(one) => stays(&one.after).then(|| OpRequest::Insert(one.clone())),
    }
}
