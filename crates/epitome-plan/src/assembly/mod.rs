//! A plan that a policy ordered, as a machine that is stepped.
//!
//! Invariant: what is made is complete, as every epoch is: what was in force before and is not
//! touched stays in it. An order that names what is not there is refused before anything is done;
//! a summary that comes to nothing leaves what it was for as it is (SPEC 2.7, 2.8).

use std::collections::{BTreeSet, VecDeque};

use epitome_kernel::types::hook::{Ageing, How as Shortened, Order, Orders, Place, Replace};
use epitome_kernel::types::{
    Budget, Checkpoint, ContentId, Entry, EntryId, Happened, How, Level, Op, PartId, Passage, Plan,
    Summary, Unit,
};
use epitome_kernel::{Counter, Gauge, Measure, Sizes, SummaryError, Thread, apply, rewrite};

use crate::ask::{Ask, Step, Wanted};
use crate::budget::rewritable;
use crate::cut::{Cut, Cutter};
use crate::departure::original_of;
use crate::lines::account;
use crate::options::CompressOptions;
use crate::order::OrderError;
use crate::outcome::{Made, Outcome};

/// How often a summary that came out too large is asked for again, smaller.
const RETRIES: u32 = 3;

/// A plan in the making.
#[derive(Debug)]
pub struct Assembly<'t> {
    thread: &'t Thread,
    options: &'t CompressOptions,
    tokens: Sizes<'t>,
    budget: Budget,
    summarizers: usize,
    /// What is done and needs no words.
    ops: Vec<Op>,
    /// What is to be worded, in order.
    wishes: VecDeque<Wish>,
    /// Which summariser is asked, by how much its summary must be smaller than the room that was
    /// computed, and how often that was found out.
    summarizer: usize,
    excess: u64,
    retries: u32,
    cuts: Vec<Cut>,
    left: Vec<Passage>,
    told_of: Vec<EntryId>,
    events: Vec<Happened>,
    warnings: Vec<String>,
    reason: Option<String>,
}

/// Something that is to be worded.
#[derive(Clone, Debug)]
enum Wish {
    Checkpoint(Worded),
    Digest { part: PartId, most: u64 },
}

/// A checkpoint that is to be worded.
#[derive(Clone, Debug)]
struct Worded {
    id: ContentId,
    covers: Vec<EntryId>,
    level: Level,
    /// The most that its message may take.
    most: u64,
    /// The checkpoints in whose place it stands.
    was: Vec<Checkpoint>,
}

impl<'t> Assembly<'t> {
    /// Begins with what is in force (`standing`, in the places of this thread) and the orders.
    ///
    /// # Errors
    ///
    /// When an order names what is not there; see [`OrderError`].
    pub fn new(
        thread: &'t Thread,
        options: &'t CompressOptions,
        budget: Budget,
        counter: &'t dyn Counter,
        summarizers: usize,
        standing: Plan,
        orders: &Orders,
    ) -> Result<Self, OrderError> {
        let gauge = Gauge { counter, unit: Unit::Tokens };
        let mut assembly = Self {
            thread,
            options,
            tokens: Sizes::of(thread.entries(), gauge, options.envelope.tokens),
            budget,
            summarizers,
            ops: standing.ops,
            wishes: VecDeque::new(),
            summarizer: 0,
            excess: 0,
            retries: 0,
            cuts: Vec::new(),
            left: Vec::new(),
            told_of: Vec::new(),
            events: Vec::new(),
            warnings: Vec::new(),
            reason: orders.reason.clone(),
        };
        orders.ops.iter().try_for_each(|order| assembly.take(order))?;
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
    pub fn checkpoints(&self) -> Vec<(&[EntryId], ContentId, Level, u64)> {
        let standing = self.ops.iter().filter_map(|op| match op {
            Op::Summarize(one) => {
                let size = self.gauge().message(&one.text);
                Some((&*one.covers, one.id, one.level, size))
            }
            _ => None,
        });
        let wished = self.wishes.iter().filter_map(|wish| match wish {
            Wish::Checkpoint(one) => Some((&*one.covers, one.id, one.level, one.most)),
            Wish::Digest { .. } => None,
        });
        let mut all: Vec<_> = standing.chain(wished).collect();
        all.sort_by_key(|(covers, ..)| covers.last().copied());
        all
    }

    fn take(&mut self, order: &Order) -> Result<(), OrderError> {
        match order {
            Order::Fit(_) => Err(OrderError::FitIsNotAlone),
            Order::Summarize(one) => {
                let level = level(one.level.unwrap_or(Level::Detailed.number()))?;
                let covers = self.entries(&one.entries)?;
                self.cover(covers, level, one.target);
                Ok(())
            }
            Order::FoldUser(one) => {
                let covers = self.entries(&one.entries)?;
                self.cover(covers, Level::Detailed, one.target);
                Ok(())
            }
            Order::Rollover(one) => {
                let free = |id: &EntryId| self.thread.pinned(*id).is_none();
                let covers = self.thread.entries().iter().map(|entry| entry.id).filter(free);
                let covers: Vec<_> = covers.collect();
                self.ops.clear();
                self.cover(covers, Level::Merged, one.target);
                Ok(())
            }
            Order::Age(one) => self.lower(&one.checkpoint, one.to, one.target),
            Order::Merge(one) => self.merge(&one.checkpoints, one.to, one.target),
            Order::Replace(one) => self.replace(one),
            Order::Drop(one) => {
                let entries = self.entries(&one.entries)?;
                if !entries.is_empty() {
                    self.forget(&entries);
                    self.ops.push(Op::Drop { entries });
                }
                Ok(())
            }
            Order::Insert(one) => {
                let after = match one.after {
                    Place(0) => None,
                    place => Some(self.entry(place)?),
                };
                self.ops.push(Op::Insert { after, role: one.role, text: one.text.clone() });
                Ok(())
            }
            Order::Warn(one) => {
                self.warnings.push(one.text.clone());
                Ok(())
            }
            // The host's: pins are records of the journal.
            Order::Pin(_) => Ok(()),
        }
    }

    fn entry(&self, place: Place) -> Result<EntryId, OrderError> {
        let id = place.entry().filter(|id| self.thread.entry(*id).is_some());
        id.ok_or(OrderError::NoEntry { place: place.0, count: self.thread.entries().len() })
    }

    fn entries(&self, places: &[Place]) -> Result<Vec<EntryId>, OrderError> {
        let found: Result<BTreeSet<_>, _> = places.iter().map(|&place| self.entry(place)).collect();
        Ok(found?.into_iter().collect())
    }

    /// Wishes for a checkpoint of entries that none stands for yet.
    fn cover(&mut self, covers: Vec<EntryId>, level: Level, most: u64) {
        if covers.is_empty() {
            return;
        }
        self.forget(&covers);
        let id = self.address(&covers);
        self.wishes.push_back(Wish::Checkpoint(Worded {
            id,
            covers,
            level,
            most,
            was: Vec::new(),
        }));
    }

    /// What was done to the texts of entries that leave is no longer done.
    fn forget(&mut self, leaving: &[EntryId]) {
        let leaves = |id: &EntryId| leaving.binary_search(id).is_ok();
        self.ops.retain(|op| !matches!(op, Op::Replace { part, .. } if leaves(&part.entry)));
        self.cuts.retain(|cut| !leaves(&cut.part.entry));
    }

    /// Takes a standing checkpoint out of the plan, by its id or the beginning of it.
    fn standing(&mut self, name: &str) -> Result<Checkpoint, OrderError> {
        let is_it = |op: &Op| matches!(op, Op::Summarize(one) if !name.is_empty() && one.id.to_string().starts_with(name));
        let at = self.ops.iter().position(is_it);
        match at.map(|at| self.ops.remove(at)) {
            Some(Op::Summarize(checkpoint)) => Ok(checkpoint),
            _ => Err(OrderError::NoCheckpoint {
                name: name.to_owned(),
                known: self.checkpoints().iter().map(|(_, id, ..)| id.short()).collect(),
            }),
        }
    }

    fn lower(&mut self, name: &str, to: u8, most: u64) -> Result<(), OrderError> {
        let level = level(to)?;
        let was = self.standing(name)?;
        let (id, covers) = (was.id, was.covers.clone());
        self.wishes.push_back(Wish::Checkpoint(Worded { id, covers, level, most, was: vec![was] }));
        Ok(())
    }

    fn merge(&mut self, names: &[String], to: Option<u8>, most: u64) -> Result<(), OrderError> {
        let level = level(to.unwrap_or(Level::Merged.number()))?;
        let was: Result<Vec<_>, _> = names.iter().map(|name| self.standing(name)).collect();
        let was = was?;
        let covers: BTreeSet<_> = was.iter().flat_map(|one| &one.covers).copied().collect();
        let covers: Vec<_> = covers.into_iter().collect();
        if covers.is_empty() {
            return Ok(());
        }
        let id = self.address(&covers);
        self.wishes.push_back(Wish::Checkpoint(Worded { id, covers, level, most, was }));
        Ok(())
    }

    fn replace(&mut self, order: &Replace) -> Result<(), OrderError> {
        let entry = self.entry(order.entry)?;
        let parts: Vec<_> = rewritable(self.thread, entry).collect();
        let how = match order.how {
            Shortened::Digest => How::Digest,
            Shortened::Offload => How::Offload,
            Shortened::Mask => How::Mask,
            Shortened::Cut => How::Cut,
        };
        match (&order.with, &parts[..]) {
            (_, []) => return Err(OrderError::NoText { place: order.entry.0 }),
            (Some(with), &[part]) => {
                self.forget(&[entry]);
                self.ops.push(Op::Replace { part, with: with.clone(), how });
            }
            (Some(_), _) => return Err(OrderError::ManyTexts { place: order.entry.0 }),
            (None, parts) => {
                self.forget(&[entry]);
                let all: u64 = parts.iter().map(|&part| self.tokens.part(part)).sum();
                let most = |part| {
                    let size = self.tokens.part(part);
                    let target = order.target.unwrap_or(all / 2);
                    (target as f64 * size as f64 / all.max(1) as f64) as u64
                };
                let wished: Vec<_> = parts.iter().map(|&part| (part, most(part))).collect();
                for (part, most) in wished {
                    match how {
                        How::Digest => self.wishes.push_back(Wish::Digest { part, most }),
                        _ => self.cut(part, most, how),
                    }
                }
            }
        }
        Ok(())
    }

    fn cut(&mut self, part: PartId, most: u64, how: How) {
        if let Some(cut) = self.cutter().cut(part, most) {
            self.cuts.push(Cut { how, ..cut });
        }
    }

    fn cutter(&self) -> Cutter<'_> {
        Cutter {
            thread: self.thread,
            sizes: &self.tokens,
            tokens: &self.tokens,
            marker: &self.options.texts.marker,
            digest_tokens: self.options.digest_tokens,
        }
    }

    fn address(&self, covers: &[EntryId]) -> ContentId {
        ContentId::of(&original_of(self.thread, covers, self.options.texts.line_chars))
    }

    fn label(&self, wish: &Worded) -> String {
        let (texts, messages) = (&self.options.texts, wish.covers.len());
        texts.opening(wish.id, messages, wish.most, self.gauge())
    }

    /// The most that the words of a wish may take.
    fn most(&self, wish: &Wish) -> u64 {
        match wish {
            Wish::Digest { part, most } => self.cutter().digest_room(*part, *most),
            Wish::Checkpoint(one) => {
                let covered = self.tokens.sum(one.covers.iter().copied());
                let frame = self.gauge().message(&self.label(one));
                one.most.min(covered.saturating_sub(1)).saturating_sub(frame + self.excess)
            }
        }
    }

    /// The entries that stay, as they will stand there.
    fn kept(&self) -> Vec<Entry> {
        let standing = self.ops.iter().flat_map(|op| match op {
            Op::Summarize(one) => &one.covers[..],
            Op::Drop { entries } => entries,
            Op::Replace { .. } | Op::Insert { .. } => &[],
        });
        let wished = self.wishes.iter().flat_map(|wish| match wish {
            Wish::Checkpoint(one) => &one.covers[..],
            Wish::Digest { .. } => &[],
        });
        let gone: BTreeSet<_> = standing.chain(wished).collect();
        let entries = self.thread.entries().iter();
        let mut kept: Vec<_> = entries.filter(|entry| !gone.contains(&entry.id)).cloned().collect();
        for op in &self.ops {
            let Op::Replace { part, with, .. } = op else { continue };
            if let Ok(at) = kept.binary_search_by_key(&part.entry, |entry| entry.id) {
                rewrite(&mut kept[at], *part, with);
            }
        }
        kept
    }

    /// Notes that the present summariser does no good; false when there is no further one.
    fn next_summarizer(&mut self, why: &str) -> bool {
        self.warnings.push(format!("summariser {} gave up: {why}", self.summarizer + 1));
        self.summarizer += 1;
        (self.excess, self.retries) = (0, 0);
        self.summarizer < self.summarizers
    }

    /// Takes the words for a wish.
    fn fulfil(&mut self, wish: Wish, summary: Option<Summary>) {
        match wish {
            Wish::Checkpoint(one) => self.checkpoint(one, summary),
            Wish::Digest { part, most } => {
                let text = summary.as_ref().map(|summary| summary.text.trim());
                let with = text.and_then(|text| self.cutter().digested(part, text));
                let size = with.as_ref().map(|with| self.gauge().size(with));
                match with.zip(size).filter(|(_, size)| *size <= most) {
                    Some((with, size)) => {
                        let left = summary.map(|summary| summary.left).unwrap_or_default();
                        let how = How::Digest;
                        self.cuts.push(Cut { part, with, how, size, most, digest: false, left });
                    }
                    None => self.cut(part, most, How::Cut),
                }
            }
        }
        (self.excess, self.retries) = (0, 0);
    }

    fn checkpoint(&mut self, wish: Worded, summary: Option<Summary>) {
        let label = self.label(&wish);
        let Worded { id, covers, level, was, .. } = wish;
        let text = summary.as_ref().map(|summary| label + summary.text.trim());
        let before: u64 = was.iter().map(|one| self.gauge().message(&one.text)).sum();
        let size = text.as_ref().map_or(u64::MAX, |text| self.gauge().message(text));
        let levels = |was: &[Checkpoint]| [was[0].level.number(), level.number()];
        match (text, &was[..]) {
            (Some(text), []) => {
                self.told_of.extend(&covers);
                self.left.extend(summary.map(|summary| summary.left).unwrap_or_default());
                self.ops.push(Op::Summarize(Checkpoint { id, covers, text, level }));
            }
            (Some(text), was) if size < before => {
                let event = match was {
                    [_] => Happened::CheckpointAged {
                        checkpoint: id.short(),
                        levels: levels(was),
                        saved: before - size,
                    },
                    _ => Happened::CheckpointMerged {
                        checkpoint: id.short(),
                        merged: was.iter().map(|one| one.id.short()).collect(),
                        saved: before - size,
                    },
                };
                self.events.push(event);
                self.told_of.extend(&covers);
                self.left.extend(summary.map(|summary| summary.left).unwrap_or_default());
                self.ops.push(Op::Summarize(Checkpoint { id, covers, text, level }));
            }
            // What cannot be said in fewer words has aged none the less.
            (_, [_]) => {
                let kept = was.into_iter().map(|one| Op::Summarize(Checkpoint { level, ..one }));
                self.ops.extend(kept);
            }
            _ => self.ops.extend(was.into_iter().map(Op::Summarize)),
        }
    }

    fn settle(&mut self) -> Outcome<'t> {
        let mut ops = std::mem::take(&mut self.ops);
        ops.extend(self.cuts.iter().map(Cut::op));
        if ops.is_empty() {
            return Outcome::NothingToDo { size: self.tokens.total() };
        }
        ops.sort_by_key(place);
        let reason = self.reason.take().unwrap_or_else(|| "a policy ordered it".to_owned());
        let plan = Plan { ops, reason };
        let view = match apply(self.thread, &self.tokens, &plan) {
            Ok(view) => view,
            Err(error) => return Outcome::Refused(error),
        };
        let size = view.size(&self.tokens);
        if size > self.budget.most {
            return Outcome::Missed { size };
        }
        let made = Made {
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
        Outcome::Compressed(Box::new(made.compressed()))
    }
}

impl<'t> crate::driver::Machine<'t> for Assembly<'t> {
    fn step(&mut self) -> Step<'t> {
        loop {
            let Some(wish) = self.wishes.front() else { return Step::Done(self.settle()) };
            let most = self.most(wish);
            if most > 0 && self.summarizer < self.summarizers {
                let what = match wish {
                    Wish::Checkpoint(one) => Wanted::Checkpoint(one.covers.clone()),
                    Wish::Digest { part, .. } => Wanted::Digest(*part),
                };
                let kept = self.kept();
                return Step::Summarize(Ask { what, summarizer: self.summarizer, kept, most });
            }
            let Some(wish) = self.wishes.pop_front() else { continue };
            let chars = self.options.texts.line_chars;
            let text = match &wish {
                Wish::Checkpoint(one) => {
                    account(self.thread, &one.covers, chars, most, self.gauge())
                }
                Wish::Digest { .. } => None,
            };
            self.fulfil(wish, text.map(|text| Summary { text, ..Summary::default() }));
        }
    }

    fn answer(&mut self, answer: Result<Summary, SummaryError>) -> Option<Outcome<'t>> {
        let most = self.wishes.front().map(|wish| self.most(wish))?;
        let over = |summary: &Summary| self.gauge().size(&summary.text).saturating_sub(most);
        let words = match answer {
            Ok(summary) if summary.text.trim().is_empty() => None,
            Ok(summary) => match over(&summary) {
                0 => Some(summary),
                excess if self.retries < RETRIES => {
                    (self.excess, self.retries) = (self.excess + excess, self.retries + 1);
                    return None;
                }
                _ => {
                    if self.next_summarizer("its summaries are larger than allowed") {
                        return None;
                    }
                    None
                }
            },
            Err(SummaryError::TooSmall { .. }) => None,
            Err(error) => {
                self.next_summarizer(&error.to_string());
                return None;
            }
        };
        let wish = self.wishes.pop_front()?;
        self.fulfil(wish, words);
        None
    }

    fn gauge(&self) -> &Gauge<'t> {
        self.tokens.gauge()
    }
}

impl<'t> Assembly<'t> {
    fn gauge(&self) -> &Gauge<'t> {
        self.tokens.gauge()
    }
}

fn level(number: u8) -> Result<Level, OrderError> {
    Level::of_number(number).ok_or(OrderError::NoLevel { number })
}

/// Where an op stands in the conversation.
fn place(op: &Op) -> EntryId {
    let first = match op {
        Op::Replace { part, .. } => Some(part.entry),
        Op::Drop { entries } => entries.first().copied(),
        Op::Insert { after, .. } => *after,
        Op::Summarize(checkpoint) => checkpoint.covers.first().copied(),
    };
    first.unwrap_or(EntryId(0))
}
