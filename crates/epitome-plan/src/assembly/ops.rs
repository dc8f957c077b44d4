//! What each order comes to: something that is done, or words that are wished for.
//!
//! Invariant: an order that names what is not there changes nothing. Called once for each order,
//! before anything is worded.

use std::collections::BTreeSet;

use epitome_kernel::TextMeasure;
use epitome_kernel::types::hook::{How as Shortened, MessageNumber, OpRequest, Replace};
use epitome_kernel::types::{
    CheckpointLevel, ContentId, EntryId, Op, PartBody, PartId, ReplaceMethod, ToolCall,
};

use super::PlanAssembly;
use super::wish::{WordingPurpose, WordingRequest, is_called};
use crate::budget::rewritable;
use crate::cut::fill;
use crate::eviction::original_of;
use crate::input::truncated;
use crate::options::newest_from;
use crate::order::OrderError;

impl<'t> PlanAssembly<'t> {
    pub(super) fn take(&mut self, order: &OpRequest) -> Result<(), OrderError> {
        match order {
            OpRequest::Fit(_) => return Err(OrderError::FitIsNotAlone),
            OpRequest::Summarize(one) => {
                let level = level(one.level.unwrap_or(CheckpointLevel::Detailed.number()))?;
                let covers = self.entries(&one.entries)?;
                self.cover(covers, level, one.target);
            }
            OpRequest::FoldUser(one) => {
                let covers = self.entries(&one.entries)?;
                self.cover(covers, CheckpointLevel::Detailed, one.target);
            }
            OpRequest::Rollover(one) => self.start_over(one.target),
            OpRequest::Age(one) => self.lower(&one.checkpoint, one.to, one.target)?,
            OpRequest::Merge(one) => self.merge(&one.checkpoints, one.to, one.target)?,
            OpRequest::Replace(one) if one.how == Shortened::TruncateInput => self.truncate(one)?,
            OpRequest::Replace(one) => self.replace(one)?,
            OpRequest::Drop(one) => {
                let entries = self.entries(&one.entries)?;
                if !entries.is_empty() {
                    self.vacate(&entries);
                    self.ops.push(Op::Drop { entries });
                }
            }
            OpRequest::Strip(one) => {
                let entries = self.entries(&one.entries)?;
                self.strip(&entries);
            }
            OpRequest::Insert(one) => {
                let after = match one.after {
                    MessageNumber(0) => None,
                    place => Some(self.entry(place)?),
                };
                self.ops.push(Op::Insert { after, role: one.role, text: one.text.clone() });
            }
            OpRequest::Warn(one) => self.warnings.push(one.text.clone()),
            // The host's: pins are records of the journal, the others leave the plan as it is.
            OpRequest::Pin(one) => drop(self.entries(&one.entries)?),
            OpRequest::Export(_) | OpRequest::Handover(_) => {}
        }
        Ok(())
    }

    fn entry(&self, place: MessageNumber) -> Result<EntryId, OrderError> {
        let id = place.entry().filter(|id| self.thread.entry(*id).is_some());
        id.ok_or(OrderError::NoEntry { place: place.0, count: self.thread.entries().len() })
    }

    fn entries(&self, places: &[MessageNumber]) -> Result<Vec<EntryId>, OrderError> {
        let found: Result<BTreeSet<_>, _> = places.iter().map(|&place| self.entry(place)).collect();
        Ok(found?.into_iter().collect())
    }

    /// Takes what something new stands in the place of out of what is in force.
    fn displace(&mut self, leaves: impl Fn(&Op) -> bool) -> Vec<Op> {
        self.standing.extract_if(.., |op| leaves(op)).collect()
    }

    /// Takes what is done to entries out of what is in force. Of calls and results, and of entries
    /// without a substitute, those are meant that are among them, whatever else one op names.
    fn vacate(&mut self, entries: &[EntryId]) -> Vec<Op> {
        let is_in = |id: &EntryId| entries.binary_search(id).is_ok();
        let mut was = self.displace(|op| lies_within(op, entries));
        for op in &mut self.standing {
            match op {
                Op::Drop { entries } => {
                    let gone: Vec<_> = entries.extract_if(.., |id| is_in(id)).collect();
                    was.extend((!gone.is_empty()).then_some(Op::Drop { entries: gone }));
                }
                Op::Strip { parts } => {
                    let gone: Vec<_> = parts.extract_if(.., |part| is_in(&part.entry)).collect();
                    was.extend((!gone.is_empty()).then_some(Op::Strip { parts: gone }));
                }
                _ => {}
            }
        }
        was
    }

    /// Takes calls and results out of whole exchanges. With what left before they become one op of
    /// either kind; what stands in the place of a result that leaves goes with it.
    fn strip(&mut self, entries: &[EntryId]) {
        let leaves = |op: &mut Op| matches!(op, Op::Drop { .. } | Op::Strip { .. });
        let was: Vec<_> = self.standing.extract_if(.., leaves).collect();
        let was = was.into_iter().chain(self.ops.extract_if(.., leaves));
        let (mut gone, mut parts) = (BTreeSet::new(), BTreeSet::new());
        for op in was {
            match op {
                Op::Drop { entries } => gone.extend(entries),
                Op::Strip { parts: before } => parts.extend(before),
                _ => {}
            }
        }
        let mut past = 0;
        for &entry in entries {
            let exchange = self.thread.exchange_of(entry);
            let run = &exchange.entries;
            if run.start < past {
                continue;
            }
            past = run.end;
            let mut whole = run.clone().map(|place| EntryId(place as u32));
            if self.is_covered(entry) || whole.all(|id| gone.contains(&id)) {
                continue;
            }
            if let Some(stripped) = self.thread.stripped(exchange) {
                parts.extend(stripped.parts);
                gone.extend(stripped.entries);
            }
        }
        let outer = |part: &PartId| {
            let within = self.thread.part(*part).and_then(|it| it.within);
            PartId { part: within.unwrap_or(part.part), ..*part }
        };
        let left = |part: &PartId| gone.contains(&part.entry) || parts.contains(&outer(part));
        self.standing.retain(|op| !matches!(op, Op::Replace { part, .. } if left(part)));
        if !gone.is_empty() {
            self.ops.push(Op::Drop { entries: gone.into_iter().collect() });
        }
        if !parts.is_empty() {
            self.ops.push(Op::Strip { parts: parts.into_iter().collect() });
        }
    }

    /// Whether a checkpoint stands for an entry, or will.
    fn is_covered(&self, entry: EntryId) -> bool {
        let standing = self.standing.iter().filter_map(|op| match op {
            Op::Summarize(one) => Some(&one.covers[..]),
            _ => None,
        });
        let mut covers = standing.chain(self.wishes.iter().map(WordingRequest::covers));
        covers.any(|covers| covers.binary_search(&entry).is_ok())
    }

    /// Whether a part has left, with its message or alone.
    fn has_left(&self, part: PartId) -> bool {
        self.standing.iter().any(|op| match op {
            Op::Drop { entries } => entries.binary_search(&part.entry).is_ok(),
            Op::Strip { parts } => {
                let gone = parts.iter().filter(|one| one.entry == part.entry);
                gone.flat_map(|&one| self.thread.with_inner(one)).any(|one| one == part)
            }
            _ => false,
        })
    }

    /// Wishes for a checkpoint of entries, and of the checkpoints that stand for some of them.
    fn cover(&mut self, covers: Vec<EntryId>, level: CheckpointLevel, most: u64) {
        let was = self.vacate(&covers);
        self.wish_for(covers, level, most, was);
    }

    /// One checkpoint for all that is not pinned or to be left alone; what was done to those stays.
    fn start_over(&mut self, most: u64) {
        let alone = newest_from(self.thread, self.options.keep_recent_messages);
        let free = |id: &EntryId| self.thread.pinned(*id).is_none() && id.index() < alone;
        let entries = self.thread.entries().iter();
        let covers: Vec<_> = entries.map(|entry| entry.id).filter(free).collect();
        if covers.is_empty() {
            return;
        }
        let is_note = |op: &Op| matches!(op, Op::Insert { .. });
        let mut was = self.displace(is_note);
        was.extend(self.vacate(&covers));
        self.wish_for(covers, CheckpointLevel::Merged, most, was);
    }

    /// Wishes for a checkpoint in the place of what was in force.
    fn wish_for(&mut self, covers: Vec<EntryId>, level: CheckpointLevel, most: u64, was: Vec<Op>) {
        if covers.is_empty() {
            return;
        }
        let chars = self.options.texts.line_chars;
        let id = ContentId::for_text(&original_of(self.thread, &covers, chars));
        let before = self.size_now(&covers, &was);
        let what = WordingPurpose::Checkpoint { id, covers, level };
        self.wishes.push_back(WordingRequest { what, most, before, was });
    }

    /// What entries take as they are sent now, where `was` is done to them.
    fn size_now(&self, covers: &[EntryId], was: &[Op]) -> u64 {
        let gauge = self.tokens.gauge();
        let mut whole: BTreeSet<_> = covers.iter().copied().collect();
        let (mut checkpoints, mut spared) = (0, 0);
        for op in was {
            match op {
                Op::Summarize(one) => {
                    whole.retain(|id| one.covers.binary_search(id).is_err());
                    checkpoints += gauge.message(&one.text);
                }
                Op::Drop { entries } => whole.retain(|id| entries.binary_search(id).is_err()),
                Op::Replace { part, with, .. } => {
                    let now = self.tokens.rewritten(self.thread, *part, with);
                    spared += self.tokens.part(*part).saturating_sub(now);
                }
                Op::Strip { parts } => {
                    let gone = parts.iter().flat_map(|&part| self.thread.with_inner(part));
                    spared += gone.map(|part| self.tokens.part(part)).sum::<u64>();
                }
                Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
            }
        }
        (self.tokens.sum(whole) + checkpoints).saturating_sub(spared)
    }

    /// The place of a checkpoint among what is in force.
    fn standing(&self, name: &str) -> Result<usize, OrderError> {
        let is_it = |op: &Op| matches!(op, Op::Summarize(one) if is_called(one.id, name));
        self.standing.iter().position(is_it).ok_or_else(|| {
            let known = self.standing.iter().filter_map(|op| match op {
                Op::Summarize(one) => Some(one.id.short()),
                _ => None,
            });
            OrderError::NoCheckpoint { name: name.to_owned(), known: known.collect() }
        })
    }

    pub(super) fn lower(&mut self, name: &str, to: u8, target: u64) -> Result<(), OrderError> {
        let to = level(to)?;
        // One that this plan makes is made as small at once.
        if let Some(wish) = self.wishes.iter_mut().find(|wish| wish.is_called(name)) {
            if let WordingPurpose::Checkpoint { level, .. } = &mut wish.what {
                *level = to;
            }
            wish.most = wish.most.min(target);
            return Ok(());
        }
        let at = self.standing(name)?;
        let size = self.size_now(&[], &self.standing[at..=at]);
        match &mut self.standing[at] {
            // As small as it shall be: its words stay.
            Op::Summarize(one) if size <= target => one.level = to,
            Op::Summarize(one) => {
                let covers = one.covers.clone();
                let was = vec![self.standing.remove(at)];
                self.wish_for(covers, to, target, was);
            }
            _ => {}
        }
        Ok(())
    }

    fn merge(&mut self, names: &[String], to: Option<u8>, most: u64) -> Result<(), OrderError> {
        let level = level(to.unwrap_or(CheckpointLevel::Merged.number()))?;
        let mut was = Vec::with_capacity(names.len());
        for name in names {
            let at = self.standing(name)?;
            was.push(self.standing.remove(at));
        }
        let covers = was.iter().flat_map(|op| match op {
            Op::Summarize(one) => &one.covers[..],
            _ => &[],
        });
        let covers: BTreeSet<_> = covers.copied().collect();
        self.wish_for(covers.into_iter().collect(), level, most, was);
        Ok(())
    }

    fn replace(&mut self, order: &Replace) -> Result<(), OrderError> {
        let entry = self.entry(order.entry)?;
        let parts = rewritable(self.thread, entry).filter(|&part| !self.has_left(part));
        let parts: Vec<_> = parts.collect();
        let how = match order.how {
            Shortened::Digest => ReplaceMethod::Digest,
            Shortened::Offload => ReplaceMethod::Offload,
            Shortened::Mask => ReplaceMethod::Mask,
            Shortened::Cut => ReplaceMethod::Cut,
            Shortened::TruncateInput => ReplaceMethod::TruncateInput,
        };
        match (&order.with, &parts[..]) {
            (_, []) => return Err(OrderError::NoText { place: order.entry.0 }),
            (Some(with), &[part]) => {
                self.displace(|op| rewrites(op, part));
                self.ops.push(Op::Replace { part, with: with.clone(), how });
            }
            (Some(_), _) => return Err(OrderError::ManyTexts { place: order.entry.0 }),
            (None, parts) => {
                let all: u64 = parts.iter().map(|&part| self.tokens.part(part)).sum();
                let target = order.target.unwrap_or(all / 2) as f64;
                for &part in parts {
                    let share = self.tokens.part(part) as f64 / all.max(1) as f64;
                    self.shorten(part, (target * share) as u64, how);
                }
            }
        }
        Ok(())
    }

    /// Truncates the arguments of a call. Those that have no long text, or would not be smaller than
    /// they are sent, and those that left, stay as they are.
    fn truncate(&mut self, order: &Replace) -> Result<(), OrderError> {
        let (place, number) = (order.entry.0, order.call.unwrap_or(1));
        let (part, call) = self.call(order.entry, number)?;
        let with = order.with.as_deref().ok_or(OrderError::NoWith { place })?;
        let id = ContentId::for_text(&call.arguments).short();
        let tokens = self.tokens.part(part).to_string();
        let with = fill(with, &[("id", &id), ("tokens", &tokens)]);
        let Some(with) = truncated(&call.arguments, &with) else { return Ok(()) };
        let standing = self.standing.iter().find_map(|op| match op {
            Op::Replace { with, .. } if rewrites(op, part) => Some(with),
            _ => None,
        });
        let size = |text: &String| self.tokens.rewritten(self.thread, part, text);
        let before = standing.map_or_else(|| self.tokens.part(part), size);
        let there = !self.is_covered(part.entry) && !self.has_left(part);
        if there && size(&with) < before {
            self.displace(|op| rewrites(op, part));
            self.ops.push(Op::Replace { part, with, how: ReplaceMethod::TruncateInput });
        }
        Ok(())
    }

    /// A call of a message, by its number there.
    fn call(
        &self,
        place: MessageNumber,
        number: u32,
    ) -> Result<(PartId, &'t ToolCall), OrderError> {
        let entry = self.entry(place)?;
        let found = self.thread.entry(entry).and_then(|entry| {
            let part = entry.call_at(number)?;
            match &self.thread.part(part)?.body {
                PartBody::Call(call) => Some((part, call)),
                _ => None,
            }
        });
        let count = || self.thread.entry(entry).map_or(0, |entry| entry.calls().count());
        found.ok_or_else(|| OrderError::NoCall { place: place.0, number, count: count() })
    }

    /// Shortens a part, unless what stands in its place is as small already.
    fn shorten(&mut self, part: PartId, most: u64, how: ReplaceMethod) {
        let was = self.displace(|op| rewrites(op, part));
        let now = was.iter().find_map(|op| match op {
            Op::Replace { with, .. } => Some(self.tokens.gauge().size(with)),
            _ => None,
        });
        let before = now.unwrap_or_else(|| self.tokens.part(part));
        match how {
            _ if before <= most => self.standing.extend(was),
            ReplaceMethod::Digest => {
                self.wishes.push_back(WordingRequest {
                    what: WordingPurpose::Digest(part),
                    most,
                    before,
                    was,
                });
            }
            _ => self.cut(part, most, how, was),
        }
    }
}

fn rewrites(op: &Op, wanted: PartId) -> bool {
    matches!(op, Op::Replace { part, .. } if *part == wanted)
}

/// Whether all that an op touches is among these entries, which are in order.
fn lies_within(op: &Op, entries: &[EntryId]) -> bool {
    let is_in = |id: &EntryId| entries.binary_search(id).is_ok();
    match op {
        Op::Replace { part, .. } => is_in(&part.entry),
        Op::Drop { entries } => entries.iter().all(is_in),
        Op::Summarize(one) => one.covers.iter().all(is_in),
        Op::Strip { parts } => parts.iter().all(|part| is_in(&part.entry)),
        Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => false,
    }
}

fn level(number: u8) -> Result<CheckpointLevel, OrderError> {
    CheckpointLevel::from_number(number).ok_or(OrderError::NoLevel { number })
}
