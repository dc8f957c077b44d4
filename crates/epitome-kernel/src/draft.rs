//! The shape of a plan before its summary is written: what stays, what is cut, what is covered.
//!
//! Invariant: what a draft keeps, with its cuts and stubs, fits the budget; `left` is what remains
//! of it. Called by `Run`, once per rung of the ladder.

use std::collections::BTreeMap;

use epitome_types::{
    Body, Budget, Checkpoint, ContentId, EntryId, Level, MustKeep, Op, PartId, Role,
};

use crate::budget::rewritable;
use crate::cut::{Cutter, close};
use crate::departure::original_of;
use crate::lines;
use crate::options::CompressOptions;
use crate::port::Measure;
use crate::size::Sizes;
use crate::thread::{Exchange, Thread};

/// How hard the ladder presses by now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pressure {
    /// By what the wished-for recent part is multiplied.
    pub(crate) tail: f64,
    /// Whether results of the recent part are cut.
    pub(crate) results: bool,
    /// Whether exchanges of the recent part become stubs.
    pub(crate) stubs: bool,
    /// Whether user messages of the recent part are cut.
    pub(crate) fold_user: bool,
    /// Whether the kernel words the checkpoint itself.
    pub(crate) own_words: bool,
    /// Whether there is a checkpoint.
    pub(crate) checkpoint: bool,
}

impl Pressure {
    /// None: the main plan.
    pub(crate) const NONE: Self = Self {
        tail: 1.0,
        results: false,
        stubs: false,
        fold_user: false,
        own_words: false,
        checkpoint: true,
    };
    /// The last resort: as many of the newest messages as fit, and no checkpoint.
    pub(crate) const LAST: Self = Self { checkpoint: false, ..Self::NONE };
}

/// What a plan is drafted from.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) thread: &'a Thread,
    pub(crate) options: &'a CompressOptions,
    pub(crate) budget: Budget,
    /// In the budget's unit.
    pub(crate) sizes: &'a Sizes<'a>,
    pub(crate) tokens: &'a Sizes<'a>,
}

/// A plan without its summary.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Cuts and stubs.
    pub(crate) ops: Vec<Op>,
    /// What leaves, oldest first.
    pub(crate) covers: Vec<EntryId>,
    /// The address of their text.
    pub(crate) id: ContentId,
    /// What leaves and stands as a stub.
    pub(crate) stubbed: Vec<EntryId>,
    /// What remains of the budget for a checkpoint's whole message.
    pub(crate) left: u64,
}

impl<'a> Ground<'a> {
    pub(crate) fn cutter(&self) -> Cutter<'a> {
        Cutter {
            thread: self.thread,
            sizes: self.sizes,
            tokens: self.tokens,
            marker: &self.options.texts.marker,
        }
    }

    /// Drafts a plan; `None` where not even the floor fits.
    pub(crate) fn draft(&self, pressure: Pressure) -> Option<Draft> {
        let mut drafting = Drafting::of_pinned(*self)?;
        let want = drafting.want(pressure);
        drafting.take_tail(pressure, want);
        // Where what is older fits as it is, nothing needs to leave but what is cut from the rest.
        let older = drafting.older();
        if older > 0 && older <= drafting.room() {
            drafting.relax(drafting.room() - older);
            drafting.keep_older();
        }
        if !pressure.checkpoint {
            drafting.lead_with_user();
        }
        Some(drafting.finish())
    }
}

/// One exchange, as a draft keeps it.
#[derive(Default)]
struct Kept {
    ops: Vec<Op>,
    size: u64,
    stub: bool,
}

struct Drafting<'a> {
    ground: Ground<'a>,
    /// By exchange.
    kept: Vec<Option<Kept>>,
    /// By exchange.
    pinned: Vec<bool>,
    used: u64,
}

impl<'a> Drafting<'a> {
    /// Keeps what is pinned, with its results cut where it would not fit otherwise.
    fn of_pinned(ground: Ground<'a>) -> Option<Self> {
        let thread = ground.thread;
        let exchanges = thread.exchanges();
        let pinned: Vec<_> = exchanges
            .iter()
            .map(|exchange| ids(exchange).any(|id| thread.pinned(id).is_some()))
            .collect();
        let held = || exchanges.iter().zip(&pinned).filter(|(_, pinned)| **pinned);
        let whole: u64 = held().map(|(exchange, _)| ground.sizes.sum(ids(exchange))).sum();
        let over = ground.sizes.request(whole).saturating_sub(ground.budget.most);
        let mut ops = Vec::new();
        if over > 0 {
            let parts: Vec<_> = held()
                .flat_map(|(exchange, _)| ids(exchange))
                .flat_map(|id| rewritable(thread, id))
                .collect();
            let parts_size: u64 = parts.iter().map(|&part| ground.sizes.part(part)).sum();
            ops = ground.cutter().fit(&parts, parts_size.checked_sub(over)?)?;
        }
        let mut drafting =
            Self { ground, kept: exchanges.iter().map(|_| None).collect(), pinned, used: 0 };
        for at in 0..drafting.kept.len() {
            if drafting.pinned[at] {
                let kept = drafting.with_ops(at, &ops);
                drafting.put(at, kept);
            }
        }
        Some(drafting)
    }

    fn put(&mut self, at: usize, kept: Kept) {
        self.used += kept.size;
        self.kept[at] = Some(kept);
    }

    fn whole(&self, at: usize) -> u64 {
        self.ground.sizes.sum(ids(&self.ground.thread.exchanges()[at]))
    }

    fn saved(&self, op: &Op) -> u64 {
        let Op::Replace { part, with, .. } = op else { return 0 };
        let now = self.ground.sizes.gauge().size(with);
        self.ground.sizes.part(*part).saturating_sub(now)
    }

    /// How large the recent part is wished to be.
    fn want(&self, pressure: Pressure) -> u64 {
        let (room, options) = (self.room(), self.ground.options);
        if !pressure.checkpoint || options.keep_recent_messages.is_some() {
            return room;
        }
        let share = room as f64 * options.keep_recent_share * pressure.tail;
        (share.ceil() as u64).min(room)
    }

    /// Walks back from the newest exchange until the recent part is as large as wished.
    fn take_tail(&mut self, pressure: Pressure, want: u64) {
        // An exchange that cannot be cut small enough may take up to half of the summary's room.
        let most = want + (self.room() - want) / 2;
        let wish = self.ground.options.keep_recent_messages.filter(|_| pressure.checkpoint);
        let wish = wish.map(|count| (count as f64 * pressure.tail) as usize);
        let (mut tail, mut messages, mut newest) = (0, 0, true);
        for at in (0..self.kept.len()).rev() {
            let exchange = &self.ground.thread.exchanges()[at];
            if self.pinned[at] || exchange.broken {
                messages += if self.pinned[at] { exchange.entries.len() } else { 0 };
                continue;
            }
            if close(tail, want) || wish.is_some_and(|wish| messages >= wish) {
                break;
            }
            let Some(kept) = self.fitted(at, want.saturating_sub(tail), most - tail) else { break };
            // The recent part does not reach further back for what the ladder presses out of it.
            tail += kept.size;
            messages += exchange.entries.len();
            let kept = if newest { kept } else { self.pressed(at, kept, pressure) };
            newest = false;
            self.put(at, kept);
        }
    }

    /// The exchanges that nothing is decided about, but for broken ones: those leave.
    fn undecided(&self) -> impl Iterator<Item = usize> {
        let exchanges = self.ground.thread.exchanges();
        (0..exchanges.len()).filter(|&at| self.kept[at].is_none() && !exchanges[at].broken)
    }

    fn older(&self) -> u64 {
        self.undecided().map(|at| self.whole(at)).sum()
    }

    /// Cuts the recent part anew, so that it takes up to `spare` more.
    fn relax(&mut self, spare: u64) {
        let recent: Vec<_> = (0..self.kept.len())
            .filter(|&at| !self.pinned[at] && self.kept[at].as_ref().is_some_and(|kept| !kept.stub))
            .collect();
        let size = |kept: &Option<Kept>| kept.as_ref().map_or(0, |kept| kept.size);
        let now: u64 = recent.iter().map(|&at| size(&self.kept[at])).sum();
        let cut: u64 = recent.iter().map(|&at| self.whole(at)).sum::<u64>() - now;
        let parts: Vec<_> = recent.iter().flat_map(|&at| self.parts(at)).collect();
        let parts_size: u64 = parts.iter().map(|&part| self.ground.sizes.part(part)).sum();
        let room = (parts_size + spare).saturating_sub(cut);
        if let Some(ops) = self.ground.cutter().fit(&parts, room) {
            self.used -= now;
            recent.iter().for_each(|&at| self.put(at, self.with_ops(at, &ops)));
        }
    }

    fn keep_older(&mut self) {
        for at in self.undecided().collect::<Vec<_>>() {
            if self.whole(at) <= self.room() {
                self.put(at, self.with_ops(at, &[]));
            }
        }
    }

    fn room(&self) -> u64 {
        self.ground.budget.most.saturating_sub(self.ground.sizes.request(self.used))
    }

    /// An exchange in about `want` and never more than `most`: whole, cut, or as a stub.
    fn fitted(&self, at: usize, want: u64, most: u64) -> Option<Kept> {
        let (whole, parts, cutter) = (self.whole(at), self.parts(at), self.ground.cutter());
        // A cut that saves less than its marker takes is not worth its loss.
        let marker = parts.iter().map(|&part| cutter.least(part)).max().unwrap_or(0);
        if whole <= most.min(want.saturating_add(marker)) {
            return Some(Kept { ops: Vec::new(), size: whole, stub: false });
        }
        let fixed = whole - parts.iter().map(|&part| self.ground.sizes.part(part)).sum::<u64>();
        let least = fixed + parts.iter().map(|&part| cutter.least(part)).sum::<u64>();
        // The markers are no part of what was really said.
        let room = want.saturating_add(marker).max(least).min(most).checked_sub(fixed);
        match room.and_then(|room| cutter.fit(&parts, room)) {
            Some(ops) => Some(self.with_ops(at, &ops)),
            None => self.stub(at).filter(|stub| stub.size <= most),
        }
    }

    /// An exchange as the ladder leaves it.
    fn pressed(&self, at: usize, kept: Kept, pressure: Pressure) -> Kept {
        if kept.stub {
            return kept;
        }
        if pressure.stubs
            && let Some(stub) = self.stub(at).filter(|stub| stub.size < kept.size)
        {
            return stub;
        }
        let cutter = self.ground.cutter();
        let mut ops: BTreeMap<_, _> =
            kept.ops.iter().filter_map(|op| Some((part_of(op)?, op.clone()))).collect();
        for part in self.parts(at).into_iter().filter(|&part| self.is_squeezed(part, pressure)) {
            ops.extend(cutter.cut(part, 2 * cutter.least(part)).map(|op| (part, op)));
        }
        let pressed = self.with_ops(at, &ops.into_values().collect::<Vec<_>>());
        if pressed.size < kept.size { pressed } else { kept }
    }

    fn parts(&self, at: usize) -> Vec<PartId> {
        let thread = self.ground.thread;
        ids(&thread.exchanges()[at]).flat_map(|id| rewritable(thread, id)).collect()
    }

    /// An exchange with those of the cuts that are its own.
    fn with_ops(&self, at: usize, ops: &[Op]) -> Kept {
        let entries = &self.ground.thread.exchanges()[at].entries;
        let own = |op: &&Op| part_of(op).is_some_and(|part| entries.contains(&part.entry.index()));
        let ops: Vec<_> = ops.iter().filter(own).cloned().collect();
        let saved: u64 = ops.iter().map(|op| self.saved(op)).sum();
        Kept { ops, size: self.whole(at).saturating_sub(saved), stub: false }
    }

    fn is_squeezed(&self, part: PartId, pressure: Pressure) -> bool {
        let Some(entry) = self.ground.thread.entry(part.entry) else { return false };
        let part = &entry.parts[part.part as usize];
        let result = part.within.is_some() || matches!(part.body, Body::Result(_));
        if result { pressure.results } else { pressure.fold_user && entry.role == Role::User }
    }

    /// A tool exchange as one line, where that is smaller.
    fn stub(&self, at: usize) -> Option<Kept> {
        let exchange = &self.ground.thread.exchanges()[at];
        let entries = &self.ground.thread.entries()[exchange.entries.clone()];
        entries.iter().find(|entry| entry.calls().next().is_some())?;
        let covers: Vec<_> = ids(exchange).collect();
        let id = ContentId::of(&original_of(self.ground.thread, &covers));
        let text = lines::stub(
            entries,
            &self.ground.options.texts,
            self.ground.tokens.sum(covers.iter().copied()),
            &id.short(),
        );
        let size = self.ground.sizes.gauge().message(&text);
        let stub =
            Checkpoint { id, covers, text, level: Level::Merged, must_keep: MustKeep::default() };
        let smaller = size < self.whole(at);
        smaller.then(|| Kept { ops: vec![Op::Summarize(stub)], size, stub: true })
    }

    /// Gives up the oldest messages of the recent part until one of the user's side leads
    /// (hazard 6).
    fn lead_with_user(&mut self) {
        let entries = self.ground.thread.entries();
        let opening = entries.iter().find(|entry| entry.role != Role::System);
        if opening.is_none_or(|entry| entry.role != Role::User) {
            return;
        }
        for (at, exchange) in self.ground.thread.exchanges().iter().enumerate() {
            let leads = entries[exchange.entries.start].role;
            let Some(kept) = &self.kept[at] else { continue };
            if leads == Role::System {
                continue;
            }
            if leads == Role::User || kept.stub || self.pinned[at] {
                break;
            }
            self.used -= kept.size;
            self.kept[at] = None;
        }
    }

    fn finish(self) -> Draft {
        let left = self.room();
        let (mut ops, mut covers, mut stubbed) = (Vec::new(), Vec::new(), Vec::new());
        for (exchange, kept) in self.ground.thread.exchanges().iter().zip(self.kept) {
            match kept {
                None => covers.extend(ids(exchange)),
                Some(kept) => {
                    stubbed.extend(ids(exchange).filter(|_| kept.stub));
                    ops.extend(kept.ops);
                }
            }
        }
        let id = ContentId::of(&original_of(self.ground.thread, &covers));
        Draft { ops, covers, id, stubbed, left }
    }
}

fn part_of(op: &Op) -> Option<PartId> {
    match op {
        Op::Replace { part, .. } => Some(*part),
        _ => None,
    }
}

fn ids(exchange: &Exchange) -> impl Iterator<Item = EntryId> + use<> {
    exchange.entries.clone().map(|place| EntryId(place as u32))
}
