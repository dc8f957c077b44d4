//! What people demanded, stated word for word where its message is no longer sent as it was said.
//!
//! Invariant: what is stated takes no more than the room that it is given, each demand stands in it
//! whole or not at all, and one that its message still says is not said twice. Called when a plan is
//! drafted and when it is put together.

use std::collections::BTreeSet;

use epitome_kernel::types::{EntryId, Op, PartBody, PartId};
use epitome_kernel::{SizeGauge, TextMeasure, Thread};

use crate::options::{CompressOptions, ConstraintState, StatedConstraint};

/// The state of the work as a plan states it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkStatement {
    pub(crate) text: Option<String>,
    /// How many demands are left out.
    pub(crate) without: usize,
}

/// The demands of a compression, measured.
#[derive(Clone, Copy)]
pub(crate) struct MeasuredConstraints<'a> {
    pub(crate) thread: &'a Thread,
    pub(crate) options: &'a CompressOptions,
    /// In the unit of the budget.
    pub(crate) gauge: &'a SizeGauge<'a>,
}

impl MeasuredConstraints<'_> {
    /// What it takes to state all that a plan may take out.
    fn need(&self) -> u64 {
        let free = |one: &&StatedConstraint| {
            self.thread.pinned(one.entry).is_none() || self.is_unshown(one)
        };
        let lines = self.options.demands.all.iter().filter(free).map(|one| self.size(one));
        match lines.sum() {
            0 => 0,
            lines => self.head() + lines,
        }
    }

    /// What they may take within a budget; `floor` is what cannot shrink beside the state.
    pub(crate) fn room(&self, most: u64, floor: impl FnOnce() -> u64) -> u64 {
        match self.need() {
            0 => 0,
            need => {
                let free = most.saturating_sub(floor() + self.rest());
                need.min((free as f64 * self.options.demands.share) as u64)
            }
        }
    }

    /// The least budget in which all of them may be stated, as far as budgets give way for them.
    pub(crate) fn budget(&self, floor: impl FnOnce() -> u64) -> u64 {
        let ConstraintState { share, most, .. } = self.options.demands;
        match self.need() {
            need if need > 0 && share > 0.0 => {
                (floor() + self.rest() + (need as f64 / share).ceil() as u64).min(most)
            }
            _ => 0,
        }
    }

    /// What the rest of the state takes.
    pub(crate) fn rest(&self) -> u64 {
        self.options.state.as_deref().map_or(0, |text| self.gauge.message(text))
    }

    /// The state of the work, with what was demanded in the messages that `lacks` names, as much of
    /// it as `room` takes.
    pub(crate) fn state(&self, lacks: impl Fn(EntryId) -> bool, room: u64) -> WorkStatement {
        let (state, demands) = (self.options.state.as_deref(), &self.options.demands);
        let is_wanted = |one: &&StatedConstraint| lacks(one.entry) || self.is_unshown(one);
        let mut wanted: Vec<_> = demands.all.iter().filter(is_wanted).collect();
        wanted.sort_by_key(|one| one.rank);
        let mut left = room.saturating_sub(self.head());
        let mut fits = |one: &&StatedConstraint| {
            let rest = left.checked_sub(self.size(one));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let (taken, left): (Vec<_>, Vec<_>) = wanted.into_iter().partition(&mut fits);
        let taken: BTreeSet<_> = taken.into_iter().map(|one| one.rank).collect();
        // What its provider took away is no loss of ours.
        let without = left.iter().filter(|one| !self.is_unshown(one)).count();
        if taken.is_empty() {
            return WorkStatement { text: state.map(ToOwned::to_owned), without };
        }
        let lines = demands.all.iter().filter(|one| taken.contains(&one.rank)).map(line);
        let lines: String = lines.collect();
        WorkStatement { text: Some(self.opening(state) + lines.trim_end()), without }
    }

    /// Whether a plan within a budget may state the work like this.
    pub(crate) fn allows(&self, state: &WorkStatement, most: u64) -> bool {
        state.without == 0 || most >= self.options.demands.whole_below
    }

    /// Whether the message that demands it stands before what the provider made of the conversation:
    /// nobody knows whether that says it.
    fn is_unshown(&self, one: &StatedConstraint) -> bool {
        one.entry.index() < self.thread.shown_from()
    }

    fn opening(&self, state: Option<&str>) -> String {
        let ConstraintState { label, heading, .. } = &self.options.demands;
        let before = state.map_or_else(|| format!("{label}\n"), |state| format!("{state}\n\n"));
        format!("{before}{heading}:\n")
    }

    fn head(&self) -> u64 {
        match &self.options.state {
            Some(_) => self.gauge.size(&self.opening(Some(""))),
            None => self.gauge.message(&self.opening(None)),
        }
    }

    fn size(&self, one: &StatedConstraint) -> u64 {
        self.gauge.size(&line(one))
    }
}

fn line(one: &StatedConstraint) -> String {
    format!("- {}\n", one.text)
}

/// The messages whose own words are not sent as they were said.
pub(crate) fn unsaid<'o>(thread: &Thread, ops: impl Iterator<Item = &'o Op>) -> BTreeSet<EntryId> {
    let mut unsaid = BTreeSet::new();
    for op in ops {
        match op {
            Op::Summarize(one) => unsaid.extend(&one.covers),
            Op::Drop { entries } => unsaid.extend(entries),
            Op::Replace { part, .. } if is_said(thread, *part) => _ = unsaid.insert(part.entry),
            _ => {}
        }
    }
    unsaid
}

/// Whether a part is what its speaker said, and no call or result.
pub(crate) fn is_said(thread: &Thread, part: PartId) -> bool {
    thread.part(part).is_some_and(|part| matches!(part.body, PartBody::Text(_)))
}
