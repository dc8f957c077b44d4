//! The shape of a plan before its summary is written: what stays, what is cut, what is covered.
//!
//! Invariant: what a draft keeps, with its cuts and stubs, fits the budget; `left` is what remains
//! of it. Called by `Run`, once per rung of the ladder.

use epitome_types::{
    Body, Budget, Checkpoint, ContentId, EntryId, Level, MustKeep, Op, PartId, Role,
};

use crate::budget::rewritable;
use crate::cut::Cutter;
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
        drafting.take_tail(pressure);
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
        for (at, exchange) in exchanges.iter().enumerate() {
            if drafting.pinned[at] {
                let own = |op: &&Op| match op {
                    Op::Replace { part, .. } => exchange.entries.contains(&part.entry.index()),
                    _ => false,
                };
                drafting.keep(at, ops.iter().filter(own).cloned().collect());
            }
        }
        Some(drafting)
    }

    fn keep(&mut self, at: usize, ops: Vec<Op>) {
        let whole = self.whole(at);
        let saved: u64 = ops.iter().map(|op| self.saved(op)).sum();
        self.put(at, Kept { ops, size: whole.saturating_sub(saved), stub: false });
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

    /// Walks back from the newest exchange until the recent part is as large as wished.
    fn take_tail(&mut self, pressure: Pressure) {
        let options = self.ground.options;
        let room = self.room();
        let wish =
            options.keep_recent_messages.map(|count| (count as f64 * pressure.tail) as usize);
        let want = match wish {
            _ if !pressure.checkpoint => room,
            Some(_) => room,
            None => (room as f64 * options.keep_recent_share * pressure.tail).ceil() as u64,
        };
        // An exchange that cannot be cut small enough may take up to half of the summary's room.
        let most = want + room.saturating_sub(want) / 2;
        let (pinned, mut messages, mut newest) = (self.used, 0, true);
        for at in (0..self.kept.len()).rev() {
            let exchange = &self.ground.thread.exchanges()[at];
            if self.pinned[at] || exchange.broken {
                continue;
            }
            let tail = self.used - pinned;
            let enough = wish.filter(|_| pressure.checkpoint).is_some_and(|wish| messages >= wish);
            if enough || tail >= want {
                break;
            }
            let press =
                if newest { Pressure { tail: pressure.tail, ..Pressure::NONE } } else { pressure };
            let Some(kept) = self.fitted(at, want - tail, most - tail, press) else { break };
            messages += exchange.entries.len();
            newest = false;
            self.put(at, kept);
        }
    }

    fn room(&self) -> u64 {
        self.ground.budget.most.saturating_sub(self.ground.sizes.request(self.used))
    }

    /// An exchange in about `want` and never more than `most`: whole, cut, or as a stub.
    fn fitted(&self, at: usize, want: u64, most: u64, pressure: Pressure) -> Option<Kept> {
        let exchange = &self.ground.thread.exchanges()[at];
        let has_calls = ids(exchange)
            .filter_map(|id| self.ground.thread.entry(id))
            .any(|entry| entry.calls().next().is_some());
        let stub = || self.stub(at).filter(|stub| has_calls && stub.size <= most);
        if pressure.stubs
            && let Some(stub) = stub()
        {
            return Some(stub);
        }
        let cutter = self.ground.cutter();
        let parts: Vec<_> =
            ids(exchange).flat_map(|id| rewritable(self.ground.thread, id)).collect();
        let (whole, size) = (self.whole(at), |part: &PartId| self.ground.sizes.part(*part));
        let fixed = whole.saturating_sub(parts.iter().map(size).sum());
        let least = fixed + parts.iter().map(|&part| cutter.least(part)).sum::<u64>();
        let squeezed = parts.iter().filter(|part| self.is_squeezed(**part, pressure));
        let mut ops: Vec<_> =
            squeezed.filter_map(|&part| cutter.cut(part, 2 * cutter.least(part))).collect();
        if ops.is_empty() && whole > want {
            // A cut that saves less than its marker takes is not worth its loss.
            let marker = parts.iter().map(|&part| cutter.least(part)).max().unwrap_or(0);
            if whole > most || whole > want.saturating_add(marker) {
                let target = want.max(least).min(most);
                ops = match target.checked_sub(fixed).and_then(|room| cutter.fit(&parts, room)) {
                    Some(ops) => ops,
                    None => return stub(),
                };
            }
        }
        let saved: u64 = ops.iter().map(|op| self.saved(op)).sum();
        let size = whole.saturating_sub(saved);
        if size <= most { Some(Kept { ops, size, stub: false }) } else { stub() }
    }

    fn is_squeezed(&self, part: PartId, pressure: Pressure) -> bool {
        let Some(entry) = self.ground.thread.entry(part.entry) else { return false };
        let part = &entry.parts[part.part as usize];
        let result = part.within.is_some() || matches!(part.body, Body::Result(_));
        if result { pressure.results } else { pressure.fold_user && entry.role == Role::User }
    }

    fn stub(&self, at: usize) -> Option<Kept> {
        let exchange = &self.ground.thread.exchanges()[at];
        let covers: Vec<_> = ids(exchange).collect();
        let id = ContentId::of(&original_of(self.ground.thread, &covers));
        let text = lines::stub(
            &self.ground.thread.entries()[exchange.entries.clone()],
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
        let mut draft = Draft { ops: Vec::new(), covers: Vec::new(), stubbed: Vec::new(), left };
        for (exchange, kept) in self.ground.thread.exchanges().iter().zip(self.kept) {
            match kept {
                None => draft.covers.extend(ids(exchange)),
                Some(kept) => {
                    if kept.stub {
                        draft.stubbed.extend(ids(exchange));
                    }
                    draft.ops.extend(kept.ops);
                }
            }
        }
        draft
    }
}

fn ids(exchange: &Exchange) -> impl Iterator<Item = EntryId> + use<> {
    exchange.entries.clone().map(|place| EntryId(place as u32))
}
