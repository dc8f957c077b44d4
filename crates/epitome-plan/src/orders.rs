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

use crate::budget::rewritable;
use crate::cut::fill;
use crate::eviction::address_of;
use crate::ground::PlanGround;
use crate::input::truncated;
use crate::ops::{checkpoints, leaving};
use crate::options::newest_from;
use crate::order::OrderError;
use crate::parts::PlanParts;
use crate::wording::{WordingPurpose, WordingRequest, is_called};

/// Puts what is ordered into a plan in the making.
pub(crate) struct OrderReader<'a, 'p> {
    pub(crate) ground: PlanGround<'a>,
    pub(crate) parts: &'p mut PlanParts,
}

impl<'a> OrderReader<'a, '_> {
    /// Begins with what is in force: the orders stand on top of it.
    ///
    /// # Errors
    ///
    /// When an order names what is not there.
    pub(crate) fn read(&mut self, orders: &[OpRequest]) -> Result<(), OrderError> {
        // What is covered by then is passed over.
        let last = |order: &&OpRequest| matches!(order, OpRequest::ClearTools(_));
        let (strips, others): (Vec<_>, Vec<_>) = orders.iter().partition(last);
        others.into_iter().chain(strips).try_for_each(|order| self.take(order))
    }

    fn take(&mut self, order: &OpRequest) -> Result<(), OrderError> {
        match order {
            OpRequest::Fit(_) => return Err(OrderError::FitIsNotAlone),
            OpRequest::Summarize(one) => {
                let level = level(one.level.unwrap_or(CheckpointLevel::Detailed.number()))?;
                let covers = self.entries(&one.entries)?;
                self.cover(covers, level, one.target);
            }
            OpRequest::SummarizeUser(one) => {
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
                    self.parts.ops.push(Op::Drop { entries });
                }
            }
            OpRequest::ClearTools(one) => {
                let entries = self.entries(&one.entries)?;
                self.strip(&entries);
            }
            OpRequest::Insert(one) => {
                let after = match one.after {
                    MessageNumber(0) => None,
                    place => Some(self.entry(place)?),
                };
                self.parts.ops.push(Op::Insert { after, role: one.role, text: one.text.clone() });
            }
            OpRequest::Warn(one) => self.parts.warnings.push(one.text.clone()),
            // The host's: pins are records of the journal, the others leave the plan as it is.
            OpRequest::Pin(one) => drop(self.entries(&one.entries)?),
            OpRequest::WriteFile(_) | OpRequest::Handover(_) => {}
        }
        Ok(())
    }

    fn entry(&self, place: MessageNumber) -> Result<EntryId, OrderError> {
        let id = place.entry().filter(|id| self.ground.thread.entry(*id).is_some());
        id.ok_or(OrderError::NoEntry { place: place.0, count: self.ground.thread.entries().len() })
    }

    fn entries(&self, places: &[MessageNumber]) -> Result<Vec<EntryId>, OrderError> {
        let found: Result<BTreeSet<_>, _> = places.iter().map(|&place| self.entry(place)).collect();
        Ok(found?.into_iter().collect())
    }

    /// Takes what something new stands in the place of out of what is in force.
    fn displace(&mut self, leaves: impl Fn(&Op) -> bool) -> Vec<Op> {
        self.parts.standing.extract_if(.., |op| leaves(op)).collect()
    }

    /// Takes what is done to entries out of what is in force. Of calls and results, and of entries
    /// without a substitute, those are meant that are among them, whatever else one op names.
    fn vacate(&mut self, entries: &[EntryId]) -> Vec<Op> {
        let is_in = |id: &EntryId| entries.binary_search(id).is_ok();
        let mut was = self.displace(|op| lies_within(op, entries));
        for op in &mut self.parts.standing {
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
        let was: Vec<_> = self.parts.standing.extract_if(.., leaves).collect();
        let was = was.into_iter().chain(self.parts.ops.extract_if(.., leaves));
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
            let exchange = self.ground.thread.exchange_of(entry);
            let run = &exchange.entries;
            if run.start < past {
                continue;
            }
            past = run.end;
            let mut whole = run.clone().map(|place| EntryId(place as u32));
            if self.is_covered(entry) || whole.all(|id| gone.contains(&id)) {
                continue;
            }
            if let Some(stripped) = self.ground.thread.stripped(exchange) {
                parts.extend(stripped.parts);
                gone.extend(stripped.entries);
            }
        }
        let outer = |part: &PartId| {
            let within = self.ground.thread.part(*part).and_then(|it| it.within);
            PartId { part: within.unwrap_or(part.part), ..*part }
        };
        let left = |part: &PartId| gone.contains(&part.entry) || parts.contains(&outer(part));
        self.parts.standing.retain(|op| !matches!(op, Op::Replace { part, .. } if left(part)));
        if !gone.is_empty() {
            self.parts.ops.push(Op::Drop { entries: gone.into_iter().collect() });
        }
        if !parts.is_empty() {
            self.parts.ops.push(Op::Strip { parts: parts.into_iter().collect() });
        }
    }

    /// Whether a checkpoint stands for an entry, or will.
    fn is_covered(&self, entry: EntryId) -> bool {
        let standing = checkpoints(&self.parts.standing).map(|one| &one.covers[..]);
        let mut covers = standing.chain(self.parts.wishes.iter().map(WordingRequest::covers));
        covers.any(|covers| covers.binary_search(&entry).is_ok())
    }

    /// Whether a part has left, with its message or alone.
    fn has_left(&self, part: PartId) -> bool {
        self.parts.standing.iter().any(|op| match op {
            Op::Drop { entries } => entries.binary_search(&part.entry).is_ok(),
            Op::Strip { parts } => {
                let gone = parts.iter().filter(|one| one.entry == part.entry);
                gone.flat_map(|&one| self.ground.thread.with_inner(one)).any(|one| one == part)
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
        let alone = newest_from(self.ground.thread, self.ground.options.keep_recent_messages);
        let free = |id: &EntryId| self.ground.thread.pinned(*id).is_none() && id.index() < alone;
        let entries = self.ground.thread.entries().iter();
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
        let chars = self.ground.options.texts.line_chars;
        let id = address_of(self.ground.thread, &covers, chars);
        let before = self.size_now(&covers, &was);
        let what = WordingPurpose::Checkpoint { id, covers, level };
        self.parts.wishes.push_back(WordingRequest { what, most, before, was });
    }

    /// What entries take as they are sent now, where `was` is done to them.
    fn size_now(&self, covers: &[EntryId], was: &[Op]) -> u64 {
        let gauge = self.ground.tokens.gauge();
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
                    let now = self.ground.tokens.rewritten(self.ground.thread, *part, with);
                    spared += self.ground.tokens.part(*part).saturating_sub(now);
                }
                Op::Strip { parts } => {
                    let gone = parts.iter().flat_map(|&part| self.ground.thread.with_inner(part));
                    spared += gone.map(|part| self.ground.tokens.part(part)).sum::<u64>();
                }
                Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
            }
        }
        (self.ground.tokens.sum(whole) + checkpoints).saturating_sub(spared)
    }

    /// The place of a checkpoint among what is in force.
    fn standing(&self, name: &str) -> Result<usize, OrderError> {
        let is_it = |op: &Op| matches!(op, Op::Summarize(one) if is_called(one.id, name));
        self.parts.standing.iter().position(is_it).ok_or_else(|| {
            let known = checkpoints(&self.parts.standing).map(|one| one.id.short()).collect();
            OrderError::NoCheckpoint { name: name.to_owned(), known }
        })
    }

    pub(crate) fn lower(&mut self, name: &str, to: u8, target: u64) -> Result<(), OrderError> {
        let to = level(to)?;
        // One that this plan makes is made as small at once.
        if let Some(wish) = self.parts.wishes.iter_mut().find(|wish| wish.is_called(name)) {
            if let WordingPurpose::Checkpoint { level, .. } = &mut wish.what {
                *level = to;
            }
            wish.most = wish.most.min(target);
            return Ok(());
        }
        let at = self.standing(name)?;
        let size = self.size_now(&[], &self.parts.standing[at..=at]);
        match &mut self.parts.standing[at] {
            // As small as it shall be: its words stay.
            Op::Summarize(one) if size <= target => one.level = to,
            Op::Summarize(one) => {
                let covers = one.covers.clone();
                let was = vec![self.parts.standing.remove(at)];
                self.wish_for(covers, to, target, was);
            }
            _ => {}
        }
        Ok(())
    }

    /// Has checkpoints take less, so that others have `room`: those that are still to be worded up to half of
    /// it, in proportion, then the oldest that stand, each a level lower and by up to half.
    pub(crate) fn give_way(&mut self, room: u64) {
        let gauge = self.ground.tokens.gauge();
        let is_checkpoint = |wish: &&mut WordingRequest| !wish.covers().is_empty();
        let wished = self.parts.wishes.iter_mut().filter(is_checkpoint);
        let all: u64 = wished.map(|wish| wish.limit()).sum();
        let given = room.min(all / 2);
        for wish in self.parts.wishes.iter_mut().filter(is_checkpoint) {
            wish.most = wish.limit() - (wish.limit() * given).div_ceil(all.max(1));
        }
        let mut left = room - given;
        let mut gives_way = |op: &mut Op| match op {
            Op::Summarize(one) if left > 0 && one.level > CheckpointLevel::Compact => {
                left = left.saturating_sub(gauge.message(&one.text) / 2);
                true
            }
            _ => false,
        };
        for op in self.parts.standing.extract_if(.., &mut gives_way).collect::<Vec<_>>() {
            let Op::Summarize(one) = &op else { continue };
            let (covers, size) = (one.covers.clone(), gauge.message(&one.text));
            let lower = match one.level {
                CheckpointLevel::Detailed => CheckpointLevel::Moderate,
                _ => CheckpointLevel::Compact,
            };
            self.wish_for(covers, lower, size - size / 2, vec![op]);
        }
    }

    fn merge(&mut self, names: &[String], to: Option<u8>, most: u64) -> Result<(), OrderError> {
        let level = level(to.unwrap_or(CheckpointLevel::Merged.number()))?;
        let mut was = Vec::with_capacity(names.len());
        for name in names {
            let at = self.standing(name)?;
            was.push(self.parts.standing.remove(at));
        }
        self.wish_for(leaving(&was).into_iter().collect(), level, most, was);
        Ok(())
    }

    fn replace(&mut self, order: &Replace) -> Result<(), OrderError> {
        let entry = self.entry(order.entry)?;
        let parts = rewritable(self.ground.thread, entry).filter(|&part| !self.has_left(part));
        let parts: Vec<_> = parts.collect();
        let how = match order.how {
            Shortened::Digest => ReplaceMethod::Digest,
            Shortened::Offload => ReplaceMethod::Offload,
            Shortened::Mask => ReplaceMethod::Mask,
            Shortened::Cut => ReplaceMethod::Cut,
            Shortened::TruncateInput => ReplaceMethod::TruncateInput,
        };
        match (&order.text, &parts[..]) {
            (_, []) => return Err(OrderError::NoText { place: order.entry.0 }),
            (Some(with), &[part]) => {
                self.displace(|op| rewrites(op, part));
                let with = match how {
                    // What is masked may be a secret.
                    ReplaceMethod::Mask => with.clone(),
                    _ => self.ground.thread.with_failure(part, with).into_owned(),
                };
                self.parts.ops.push(Op::Replace { part, with, how });
            }
            (Some(_), _) => return Err(OrderError::ManyTexts { place: order.entry.0 }),
            (None, parts) => {
                let all: u64 = parts.iter().map(|&part| self.ground.tokens.part(part)).sum();
                let target = order.target.unwrap_or(all / 2) as f64;
                for &part in parts {
                    let share = self.ground.tokens.part(part) as f64 / all.max(1) as f64;
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
        let with = order.text.as_deref().ok_or(OrderError::NoWith { place })?;
        let id = ContentId::for_text(&call.arguments).short();
        let tokens = self.ground.tokens.part(part).to_string();
        let with = fill(with, &[("id", &id), ("tokens", &tokens)]);
        let Some(with) = truncated(&call.arguments, &with) else { return Ok(()) };
        let standing = self.parts.standing.iter().find_map(|op| match op {
            Op::Replace { with, .. } if rewrites(op, part) => Some(with),
            _ => None,
        });
        let size = |text: &String| self.ground.tokens.rewritten(self.ground.thread, part, text);
        let before = standing.map_or_else(|| self.ground.tokens.part(part), size);
        let there = !self.is_covered(part.entry) && !self.has_left(part);
        if there && size(&with) < before {
            self.displace(|op| rewrites(op, part));
            self.parts.ops.push(Op::Replace { part, with, how: ReplaceMethod::TruncateInput });
        }
        Ok(())
    }

    /// A call of a message, by its number there.
    fn call(
        &self,
        place: MessageNumber,
        number: u32,
    ) -> Result<(PartId, &'a ToolCall), OrderError> {
        let entry = self.entry(place)?;
        let found = self.ground.thread.entry(entry).and_then(|entry| {
            let part = entry.call_at(number)?;
            match &self.ground.thread.part(part)?.body {
                PartBody::Call(call) => Some((part, call)),
                _ => None,
            }
        });
        let count = || self.ground.thread.entry(entry).map_or(0, |entry| entry.calls().count());
        found.ok_or_else(|| OrderError::NoCall { place: place.0, number, count: count() })
    }

    /// Shortens a part, unless what stands in its place is as small already.
    fn shorten(&mut self, part: PartId, most: u64, how: ReplaceMethod) {
        let was = self.displace(|op| rewrites(op, part));
        let now = was.iter().find_map(|op| match op {
            Op::Replace { with, .. } => Some(self.ground.tokens.gauge().size(with)),
            _ => None,
        });
        let before = now.unwrap_or_else(|| self.ground.tokens.part(part));
        match how {
            _ if before <= most => self.parts.standing.extend(was),
            ReplaceMethod::Digest => {
                self.parts.wishes.push_back(WordingRequest {
                    what: WordingPurpose::Digest(part),
                    most,
                    before,
                    was,
                });
            }
            _ => self.parts.cut(self.ground.cutter().cut(part, most), how, was),
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
        // What was put behind a message is about it.
        Op::Insert { after, .. } => after.as_ref().is_some_and(is_in),
        Op::State { .. } | Op::Unbind { .. } => false,
    }
}

fn level(number: u8) -> Result<CheckpointLevel, OrderError> {
    CheckpointLevel::from_number(number).ok_or(OrderError::NoLevel { number })
}
