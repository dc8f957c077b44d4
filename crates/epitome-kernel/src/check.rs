//! Whether a plan may be applied.
//!
//! Invariant: a plan that passes breaks none of RULES 1 to 18; one that does not is refused whole,
//! with the op and the invariant named. `apply` calls it; nothing is applied without it.

use std::collections::BTreeMap;

use epitome_types::{BoundReply, EntryId, Op, PartId, Plan, ReplaceMethod, Role};

use crate::size::ThreadSizes;
use crate::strip::{Gone, StripRemainder};
use crate::thread::{FreezeReason, PinReason, Thread};

/// A plan was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "op {} of the plan breaks the rule that {}: {fault}; nothing was changed",
    op + 1,
    fault.invariant()
)]
pub struct PlanError {
    /// The op, counted from 0; people are told of it counted from 1.
    pub op: usize,
    /// What is wrong with it.
    pub fault: PlanFault,
}

/// What an op does wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// The entry does not exist.
    #[error("{0} is not in the conversation")]
    UnknownEntry(EntryId),
    /// The part does not exist.
    #[error("{} has no part {}", .0.entry, .0.part)]
    UnknownPart(PartId),
    /// Arguments would be truncated where there are none.
    #[error("part {} of {} is no tool call: it has no arguments to truncate", .0.part, .0.entry)]
    NotCall(PartId),
    /// The part has no text to replace.
    #[error("part {} of {} is neither a text nor a tool result", .0.part, .0.entry)]
    NotText(PartId),
    /// Another op touches the same entry or part.
    #[error("{entry} is touched by op {} as well", other + 1)]
    TouchedTwice {
        /// The entry.
        entry: EntryId,
        /// The earlier op.
        other: usize,
    },
    /// A system prompt is touched.
    #[error("{0} is a system prompt")]
    System(EntryId),
    /// A pinned entry is touched.
    #[error("{entry} is pinned ({pin:?})")]
    Pinned {
        /// The entry.
        entry: EntryId,
        /// Why it is pinned.
        pin: PinReason,
    },
    /// An exchange would be torn.
    #[error("{entry} belongs to the exchange {first} to {last}, which stays or goes whole")]
    Torn {
        /// The entry that is taken.
        entry: EntryId,
        /// The first entry of its exchange.
        first: EntryId,
        /// The last entry of its exchange.
        last: EntryId,
    },
    /// A message would stand between a call and its result.
    #[error("a message behind {0} would stand between a call and its result")]
    InsideExchange(EntryId),
    /// A message would look like a tool result.
    #[error("a tool result cannot be inserted: no call asks for it")]
    LoneResult,
    /// The covered entries are not in order.
    #[error("{0} is not in the order of the conversation")]
    OutOfOrder(EntryId),
    /// The replacement is not smaller.
    #[error("the replacement takes {after}, its original {before}")]
    NotSmaller {
        /// Size of the original.
        before: u64,
        /// Size of the replacement.
        after: u64,
    },
    /// Reasoning would be changed.
    #[error("part {} of {} is reasoning or stands beside the latest reasoning", .0.part, .0.entry)]
    Thinking(PartId),
    /// A part that is no call, no result and not stated anew would leave its message.
    #[error("part {} of {} is neither a tool call nor a result nor stated anew", .0.part, .0.entry)]
    NotTool(PartId),
    /// Nothing that may stand alone would be left of a message.
    #[error(
        "{0} would be left with nothing, or with reasoning at its end; drop its exchange whole"
    )]
    Emptied(EntryId),
    /// There is a state of the work already.
    #[error("op {} states the work as well", other + 1)]
    StatedTwice {
        /// The earlier op.
        other: usize,
    },
    /// The new text is empty.
    #[error("the new text is empty")]
    Empty,
    /// No entry is named.
    #[error("no entry is named")]
    Nothing,
}

impl PlanFault {
    /// The invariant it breaks, in a clause.
    pub fn invariant(&self) -> &'static str {
        match self {
            Self::UnknownEntry(_)
            | Self::UnknownPart(_)
            | Self::NotText(_)
            | Self::NotCall(_)
            | Self::NotTool(_) => "an op names what is there",
            Self::TouchedTwice { .. } | Self::StatedTwice { .. } | Self::Nothing => {
                "one op changes a part"
            }
            Self::System(_) | Self::Pinned { .. } => "system prompt and pinned entries stay",
            Self::Torn { .. } | Self::InsideExchange(_) | Self::LoneResult => {
                "a call and its result go together"
            }
            Self::OutOfOrder(_) => "the order of entries stays",
            Self::NotSmaller { .. } => "a replacement is smaller than its original",
            Self::Thinking(_) | Self::Emptied(_) => "reasoning goes with its whole reply",
            Self::Empty => "a replacement says something",
        }
    }
}

/// Checks a plan against the invariants; `sizes` are the thread's, in the unit that must shrink.
///
/// # Errors
///
/// The first fault found, in the order of the ops.
pub fn check(thread: &Thread, sizes: &ThreadSizes<'_>, plan: &Plan) -> Result<(), PlanError> {
    checked(thread, Some(sizes), plan)
}

/// Checks a plan; without sizes, one that was found to be a gain when it was made.
pub(crate) fn checked(
    thread: &Thread,
    sizes: Option<&ThreadSizes<'_>>,
    plan: &Plan,
) -> Result<(), PlanError> {
    let mut checker = Checker {
        thread,
        sizes,
        gone: Gone::of(plan),
        entries: BTreeMap::new(),
        parts: BTreeMap::new(),
        state: None,
    };
    for (op, what) in plan.ops.iter().enumerate() {
        checker.op(op, what).map_err(|fault| PlanError { op, fault })?;
    }
    Ok(())
}

struct Checker<'a> {
    thread: &'a Thread,
    sizes: Option<&'a ThreadSizes<'a>>,
    /// What the plan takes out without a summary.
    gone: Gone,
    /// Entries that are taken out, and by which op.
    entries: BTreeMap<EntryId, usize>,
    /// Parts that are rewritten or taken out, and by which op.
    parts: BTreeMap<PartId, usize>,
    /// Which op states the work.
    state: Option<usize>,
}

impl Checker<'_> {
    fn op(&mut self, number: usize, op: &Op) -> Result<(), PlanFault> {
        match op {
            Op::Replace { part, with, how } => self.replace(number, *part, with, *how),
            Op::Drop { entries } => {
                self.take(number, entries, "")?;
                self.untorn(entries.iter().copied())
            }
            Op::Strip { parts } => self.strip(number, parts),
            Op::Unbind { replies } => self.unbind(replies),
            Op::Insert { after, role, text } => self.insert(*after, *role, text),
            Op::State { after, text } => {
                if let Some(other) = self.state.replace(number) {
                    return Err(PlanFault::StatedTwice { other });
                }
                self.insert(*after, Role::User, text)
            }
            Op::Summarize(checkpoint) => {
                filled(&checkpoint.text)?;
                let covers = &checkpoint.covers;
                self.take(number, covers, &checkpoint.text)?;
                covers.iter().try_for_each(|&entry| self.whole(entry, covers))?;
                let Some(sizes) = self.sizes else { return Ok(()) };
                let before = sizes.sum(checkpoint.covers.iter().copied());
                smaller(before, sizes.gauge().message(&checkpoint.text))
            }
        }
    }

    fn replace(
        &mut self,
        number: usize,
        part: PartId,
        with: &str,
        how: ReplaceMethod,
    ) -> Result<(), PlanFault> {
        self.known(part.entry)?;
        if self.thread.part(part).is_none() {
            return Err(PlanFault::UnknownPart(part));
        }
        let input = how == ReplaceMethod::TruncateInput;
        let frozen = match input {
            true => self.thread.frozen_input(part),
            false => self.thread.frozen(part),
        };
        match frozen {
            Some(FreezeReason::System) => return Err(PlanFault::System(part.entry)),
            // What else is said beside a file may be in other words.
            Some(FreezeReason::Pinned(PinReason::File)) if self.thread.holds_files(part, with) => {}
            Some(FreezeReason::Pinned(pin)) => {
                return Err(PlanFault::Pinned { entry: part.entry, pin });
            }
            Some(FreezeReason::Thinking) => return Err(PlanFault::Thinking(part)),
            Some(FreezeReason::NotText) if input => return Err(PlanFault::NotCall(part)),
            Some(FreezeReason::NotText) => return Err(PlanFault::NotText(part)),
            None => {}
        }
        filled(with)?;
        let earlier = self.parts.insert(part, number).or(self.entries.get(&part.entry).copied());
        if let Some(other) = earlier {
            return Err(PlanFault::TouchedTwice { entry: part.entry, other });
        }
        let Some(sizes) = self.sizes else { return Ok(()) };
        smaller(sizes.part(part), sizes.rewritten(self.thread, part, with))
    }

    /// Takes entries out: none of them pinned, in order. What stands for them names the files of
    /// which the newest copy leaves.
    fn take(&mut self, number: usize, entries: &[EntryId], text: &str) -> Result<(), PlanFault> {
        if entries.is_empty() {
            return Err(PlanFault::Nothing);
        }
        for (at, &entry) in entries.iter().enumerate() {
            self.known(entry)?;
            if at > 0 && entries[at - 1] >= entry {
                return Err(PlanFault::OutOfOrder(entry));
            }
            let named = self.thread.names_files(entry, text);
            match self.free(entry) {
                Err(_) if named && self.thread.is_kept_for_files(entry) => {}
                Ok(()) if !named => {
                    return Err(PlanFault::Pinned { entry, pin: PinReason::File });
                }
                other => other?,
            }
            let parts = PartId { entry, part: 0 }..=PartId { entry, part: u32::MAX };
            let rewritten = self.parts.range(parts).next().map(|(_, &other)| other);
            if let Some(other) = self.entries.insert(entry, number).or(rewritten) {
                return Err(PlanFault::TouchedTwice { entry, other });
            }
        }
        Ok(())
    }

    /// Takes calls, results and what is stated anew out of messages that stay: none of them pinned,
    /// in order.
    fn strip(&mut self, number: usize, parts: &[PartId]) -> Result<(), PlanFault> {
        if parts.is_empty() {
            return Err(PlanFault::Nothing);
        }
        for (at, &part) in parts.iter().enumerate() {
            let entry = self.thread.entry(part.entry).ok_or(PlanFault::UnknownEntry(part.entry))?;
            let found = entry.parts.get(part.part as usize).ok_or(PlanFault::UnknownPart(part))?;
            if at > 0 && parts[at - 1] >= part {
                return Err(PlanFault::OutOfOrder(part.entry));
            }
            // Whatever else an entry says, what is stated anew leaves it.
            if !self.thread.is_stale(part) || self.thread.holds(entry.id) {
                self.free(entry.id)?;
            }
            let leaves = found.body.is_tool() || self.thread.is_stale(part);
            if !leaves || found.within.is_some() {
                return Err(PlanFault::NotTool(part));
            }
            if self.thread.thinks_last(entry.id) {
                return Err(PlanFault::Thinking(part));
            }
            for part in self.thread.with_inner(part) {
                let taken = self.entries.get(&entry.id).copied();
                if let Some(other) = self.parts.insert(part, number).or(taken) {
                    return Err(PlanFault::TouchedTwice { entry: entry.id, other });
                }
            }
            if self.gone.rest(entry) != StripRemainder::Talk {
                return Err(PlanFault::Emptied(entry.id));
            }
        }
        self.untorn(parts.iter().map(|part| part.entry))
    }

    /// Takes reasoning out of replies, in order. One that is not there, or says something else, is
    /// another branch's, and nothing is done to it.
    fn unbind(&self, replies: &[BoundReply]) -> Result<(), PlanFault> {
        if replies.is_empty() {
            return Err(PlanFault::Nothing);
        }
        match replies.windows(2).find(|pair| pair[0].entry >= pair[1].entry) {
            Some(pair) => Err(PlanFault::OutOfOrder(pair[1].entry)),
            None => Ok(()),
        }
    }

    fn free(&self, entry: EntryId) -> Result<(), PlanFault> {
        match self.thread.pinned(entry) {
            Some(PinReason::System) => Err(PlanFault::System(entry)),
            Some(pin) => Err(PlanFault::Pinned { entry, pin }),
            None => Ok(()),
        }
    }

    /// A checkpoint stands for whole exchanges.
    fn whole(&self, entry: EntryId, taken: &[EntryId]) -> Result<(), PlanFault> {
        let run = &self.thread.exchange_of(entry).entries;
        let torn = run.clone().any(|at| taken.binary_search(&EntryId(at as u32)).is_err());
        if torn { Err(self.torn(entry)) } else { Ok(()) }
    }

    /// What leaves without one leaves whole too, or its talk stays.
    fn untorn(&self, entries: impl Iterator<Item = EntryId>) -> Result<(), PlanFault> {
        let mut sound = 0;
        for entry in entries {
            let exchange = self.thread.exchange_of(entry);
            if exchange.entries.end <= sound {
                continue;
            }
            if !self.gone.takes(exchange) && self.gone.tears(self.thread, exchange) {
                return Err(self.torn(entry));
            }
            sound = exchange.entries.end;
        }
        Ok(())
    }

    fn torn(&self, entry: EntryId) -> PlanFault {
        let run = &self.thread.exchange_of(entry).entries;
        let (first, last) = (EntryId(run.start as u32), EntryId(run.end as u32 - 1));
        PlanFault::Torn { entry, first, last }
    }

    fn insert(&self, after: Option<EntryId>, role: Role, text: &str) -> Result<(), PlanFault> {
        filled(text)?;
        if role == Role::Tool {
            return Err(PlanFault::LoneResult);
        }
        let Some(after) = after else { return Ok(()) };
        self.known(after)?;
        let last = self.thread.exchange_of(after).entries.end - 1;
        if after.index() == last { Ok(()) } else { Err(PlanFault::InsideExchange(after)) }
    }

    fn known(&self, entry: EntryId) -> Result<(), PlanFault> {
        self.thread.entry(entry).map(|_| ()).ok_or(PlanFault::UnknownEntry(entry))
    }
}

fn filled(text: &str) -> Result<(), PlanFault> {
    if text.trim().is_empty() { Err(PlanFault::Empty) } else { Ok(()) }
}

fn smaller(before: u64, after: u64) -> Result<(), PlanFault> {
    if after < before { Ok(()) } else { Err(PlanFault::NotSmaller { before, after }) }
}
