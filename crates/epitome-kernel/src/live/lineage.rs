//! Which epoch is in force for a history, and which entries are held.
//!
//! Invariant: an epoch applies to every history of its session that contains its covered run, so
//! restart, rewind and fork need no rules of their own (RULES 62). Where several apply, the one
//! that reaches furthest does; taking it back leaves the one before.

use std::collections::BTreeSet;
use std::ops::Range;

use epitome_types::hook::Standing;
use epitome_types::{
    BoundReply, Checkpoint, Compaction, CompactionCause, CompactionId, CompactionOutcome,
    CompactionRange, EntryId, EntryKey, HistoryHash, Op, PartId, Plan, RecordedCompaction, Role,
};

use crate::apply::reapply;
use crate::size::ThreadSizes;
use crate::thread::Thread;
use crate::view::View;

/// The epochs that may apply to a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactionLineage {
    recorded: Vec<RecordedCompaction>,
}

/// The epoch that applies to a history.
#[derive(Clone, Debug)]
pub struct ActiveCompaction<'l, 't> {
    /// The epoch.
    pub epoch: &'l Compaction,
    /// Where its run begins in the history.
    pub start: usize,
    /// The history as it is sent.
    pub view: View<'t>,
}

impl ActiveCompaction<'_, '_> {
    /// Its plan, in the places of the history.
    pub fn plan(&self) -> Plan {
        moved(&self.epoch.plan, self.start as i64)
    }

    /// The entries that it takes out or changes, in the places of the history. Where one of them is
    /// pinned, or another one of its exchange, it is in force no longer.
    pub fn changed(&self) -> BTreeSet<EntryId> {
        self.plan().ops.iter().flat_map(changed).collect()
    }
}

impl CompactionLineage {
    /// A lineage of these epochs, oldest first.
    pub fn new(recorded: Vec<RecordedCompaction>) -> Self {
        Self { recorded }
    }

    /// The epochs, oldest first.
    pub fn recorded(&self) -> &[RecordedCompaction] {
        &self.recorded
    }

    /// Adds epochs; those that are known are passed over.
    pub fn extend(&mut self, recorded: impl IntoIterator<Item = RecordedCompaction>) {
        for one in recorded {
            if self.recorded.iter().all(|known| known.epoch.id != one.epoch.id) {
                self.recorded.push(one);
            }
        }
    }

    /// Whether an epoch may apply to a history with these keys that did not to the first `before` of
    /// them: its run ends behind those.
    pub fn ripens(&self, keys: &[EntryKey], before: usize) -> bool {
        self.recorded.iter().any(|RecordedCompaction { epoch, .. }| {
            let start = |end: usize| (end + 1).saturating_sub(epoch.covered.len as usize);
            let starts = keys.get(start(before)..start(keys.len()));
            starts.is_some_and(|starts| starts.contains(&epoch.covered.first))
        })
    }

    /// The epoch in force for a thread with these keys. One that the kernel would refuse now, since
    /// an entry it takes was pinned later, is passed over.
    pub fn in_force<'t>(
        &self,
        thread: &'t Thread,
        keys: &[EntryKey],
    ) -> Option<ActiveCompaction<'_, 't>> {
        let mut found = self.matching(keys, false);
        found.sort_by_key(|(epoch, start)| start + epoch.covered.len as usize);
        found.into_iter().rev().find_map(|(epoch, start)| {
            let view = reapply(thread, &moved(&epoch.plan, start as i64)).ok()?;
            Some(ActiveCompaction { epoch, start, view })
        })
    }

    /// Where reasoning is void: an epoch that took reasoning out was taken back, and what was thought
    /// while it stood is bound to a prompt that is sent no more (RULES 139). A run that ends with
    /// the history goes on with the next answer, if that is still one of then.
    pub fn void(
        &self,
        thread: &Thread,
        keys: &[EntryKey],
        in_force: Option<&ActiveCompaction<'_, '_>>,
    ) -> Vec<Range<usize>> {
        let end = |epoch: &Compaction, start: usize| start + epoch.covered.len as usize;
        let reach = in_force.map_or(0, |it| end(it.epoch, it.start));
        let unbinds =
            |epoch: &Compaction| epoch.plan.ops.iter().any(|op| matches!(op, Op::Unbind { .. }));
        let mut runs = Runs { keys, chains: Vec::new() };
        let undone = self.recorded.iter().filter(|one| one.undone && unbinds(&one.epoch));
        let void = undone.filter_map(|RecordedCompaction { epoch, undone_at, .. }| {
            let from = end(epoch, runs.find(&epoch.covered)?);
            let until = undone_at.and_then(|at| place_of(keys, at)).unwrap_or(keys.len());
            // What had been answered by then comes with the next request.
            let reply = thread.entries().iter().skip(until);
            let reply = reply.take_while(|entry| entry.role == Role::Assistant).count();
            (from > reach).then_some(from..until + reply)
        });
        void.filter(|void| !void.is_empty() || void.end == keys.len()).collect()
    }

    /// The epoch that reaches furthest into a history with these keys and touches none of the
    /// pinned ones.
    pub fn furthest(&self, keys: &[EntryKey], pins: &[EntryKey]) -> Option<&Compaction> {
        let is_free = |(epoch, start): &(&Compaction, usize)| {
            let mut touched = touched(&epoch.plan).into_iter();
            touched.all(|id| keys.get(start + id.index()).is_none_or(|key| !pins.contains(key)))
        };
        let found = self.matching(keys, false).into_iter().filter(is_free);
        found
            .max_by_key(|(epoch, start)| start + epoch.covered.len as usize)
            .map(|(epoch, _)| epoch)
    }

    /// The entries that epochs which were taken back had touched, but for those that the epoch in
    /// force touches. They are held, so that the same cut does not come back by itself; what was
    /// `left` on another branch may.
    pub fn held(
        &self,
        keys: &[EntryKey],
        in_force: Option<&ActiveCompaction<'_, '_>>,
        left: &[CompactionId],
    ) -> Vec<EntryId> {
        let of = |epoch: &Compaction, start| touched(&moved(&epoch.plan, start as i64));
        let undone = self.matching(keys, true).into_iter();
        let undone = undone.filter(|(epoch, _)| !left.contains(&epoch.id));
        let held: BTreeSet<_> = undone.flat_map(|(epoch, start)| of(epoch, start)).collect();
        let free = in_force.map(|in_force| of(in_force.epoch, in_force.start)).unwrap_or_default();
        held.difference(&free).copied().collect()
    }

    /// The epochs that were taken back and whose parent is in force, oldest first.
    pub fn redoable(&self, keys: &[EntryKey], in_force: Option<CompactionId>) -> Vec<CompactionId> {
        let undone = self.matching(keys, true).into_iter().map(|(epoch, _)| epoch);
        undone.filter(|epoch| epoch.parent == in_force).map(|epoch| epoch.id).collect()
    }

    /// How many compressions led to an epoch, itself included.
    pub fn compressions(&self, mut epoch: Option<CompactionId>) -> u32 {
        let mut count = 0;
        for recorded in self.recorded.iter().rev() {
            if Some(recorded.epoch.id) == epoch {
                count += 1;
                epoch = recorded.epoch.parent;
            }
        }
        count
    }

    /// What is known of the checkpoints of an epoch: when and in which compression each was made,
    /// and how often it was written anew since. `tokens` sizes a message, `original` what entries
    /// took; places count from the beginning of the epoch's run.
    pub fn checkpoints(
        &self,
        in_force: &ActiveCompaction<'_, '_>,
        tokens: &ThreadSizes<'_>,
    ) -> Vec<(Checkpoint, Standing)> {
        let way = self.way(in_force.epoch);
        let plan = in_force.plan();
        let checkpoints = plan.ops.iter().filter_map(|op| match op {
            Op::Summarize(checkpoint) => Some(checkpoint),
            _ => None,
        });
        let of = |checkpoint: &Checkpoint| {
            let texts = way.iter().filter_map(|epoch| Some((epoch, text_of(epoch, checkpoint)?)));
            let mut texts: Vec<_> = texts.collect();
            let made = texts.last().map_or(in_force.epoch, |(epoch, _)| epoch);
            let (number, created) = (made.number, made.at.clone());
            texts.dedup_by_key(|(_, text)| *text);
            let standing = Standing {
                id: checkpoint.id.short(),
                level: checkpoint.level.number(),
                number,
                age: in_force.epoch.number.saturating_sub(number),
                tokens: tokens.gauge().message(&checkpoint.text),
                original: tokens.sum(checkpoint.covers.iter().copied()),
                covers: checkpoint.covers.len() as u32,
                created,
                rewritten: texts.len().saturating_sub(1) as u32,
            };
            (checkpoint.clone(), standing)
        };
        checkpoints.map(of).collect()
    }

    /// An epoch and those that it followed, the newest first.
    fn way<'l>(&'l self, epoch: &'l Compaction) -> Vec<&'l Compaction> {
        let mut way = vec![epoch];
        for recorded in self.recorded.iter().rev() {
            if way.last().is_some_and(|last| last.parent == Some(recorded.epoch.id)) {
                way.push(&recorded.epoch);
            }
        }
        way
    }

    /// The epochs whose run stands in a history, oldest first, and where it begins.
    fn matching(&self, keys: &[EntryKey], undone: bool) -> Vec<(&Compaction, usize)> {
        let mut runs = Runs { keys, chains: Vec::new() };
        let recorded = self.recorded.iter().filter(|recorded| recorded.undone == undone);
        recorded
            .filter_map(|RecordedCompaction { epoch, .. }| {
                Some((epoch, runs.find(&epoch.covered)?))
            })
            .collect()
    }
}

/// The runs of one history. The chains from a place on are worked out once, however many epochs
/// begin there.
struct Runs<'k> {
    keys: &'k [EntryKey],
    chains: Vec<(usize, Vec<HistoryHash>)>,
}

impl Runs<'_> {
    fn find(&mut self, covered: &CompactionRange) -> Option<usize> {
        let places = (0..self.keys.len()).filter(|&place| self.keys[place] == covered.first);
        places
            .into_iter()
            .find(|&start| self.chain(start, covered.len as usize) == Some(covered.chain))
    }

    fn chain(&mut self, start: usize, len: usize) -> Option<HistoryHash> {
        let known = self.chains.iter().position(|(place, _)| *place == start);
        let at = known.unwrap_or_else(|| {
            let chain = |chain: &mut HistoryHash, &key: &EntryKey| {
                *chain = chain.append(key);
                Some(*chain)
            };
            let chains = self.keys[start..].iter().scan(HistoryHash::default(), chain).collect();
            self.chains.push((start, chains));
            self.chains.len() - 1
        });
        self.chains[at].1.get(len.checked_sub(1)?).copied()
    }
}

/// What the record of a plan is made of beside the plan.
#[derive(Clone, Copy, Debug)]
pub struct EpochGround<'a> {
    /// The whole history.
    pub keys: &'a [EntryKey],
    /// The first and the last message for whose sake it is made or that it tells of.
    pub tells: Option<[EntryId; 2]>,
    /// The epoch in force before it.
    pub parent: Option<&'a ActiveCompaction<'a, 'a>>,
    /// The how-manieth compression of its history it is, counted from 1.
    pub number: u32,
    /// Why it was made.
    pub cause: CompactionCause,
}

/// The record of a plan over a whole history. It covers at least what its parent covered, so that
/// the newest epoch is the one that reaches furthest; and the messages for whose sake it is made or
/// that it tells of, from the first to the last, so that it is in force only where they were said.
pub fn epoch_of(plan: &Plan, ground: &EpochGround<'_>) -> Option<Compaction> {
    let EpochGround { keys, tells, parent, number, cause } = *ground;
    let touched = touched(plan);
    let (mut start, mut end) = (touched.first()?.index(), touched.last()?.index() + 1);
    if let Some([first, last]) = tells {
        (start, end) = (start.min(first.index()), end.max(last.index() + 1));
    }
    if let Some(parent) = parent {
        start = start.min(parent.start);
        end = end.max(parent.start + parent.epoch.covered.len as usize);
    }
    let run = keys.get(start..end)?;
    Some(Compaction {
        id: CompactionId::for_text(""),
        parent: parent.map(|parent| parent.epoch.id),
        covered: CompactionRange {
            first: *run.first()?,
            len: run.len() as u32,
            chain: HistoryHash::for_entries(run),
        },
        plan: moved(plan, -(start as i64)),
        credits: Vec::new(),
        cause,
        number,
        outcome: CompactionOutcome::default(),
        profile: String::new(),
        config: String::new(),
        at: String::new(),
    })
}

/// How many entries of a history lead to a place in it.
fn place_of(keys: &[EntryKey], at: HistoryHash) -> Option<usize> {
    let mut chain = HistoryHash::default();
    if chain == at {
        return Some(0);
    }
    let found = keys.iter().position(|key| {
        chain = chain.append(*key);
        chain == at
    });
    found.map(|place| place + 1)
}

/// What a checkpoint of the same entries says in an epoch.
fn text_of<'e>(epoch: &'e Compaction, checkpoint: &Checkpoint) -> Option<&'e str> {
    epoch.plan.ops.iter().find_map(|op| match op {
        Op::Summarize(one) if one.id == checkpoint.id => Some(&*one.text),
        _ => None,
    })
}

/// The entries that a plan touches, in order.
pub fn touched(plan: &Plan) -> BTreeSet<EntryId> {
    let of = |op: &Op| match op {
        Op::Insert { after, .. } | Op::State { after, .. } => after.iter().copied().collect(),
        _ => changed(op),
    };
    plan.ops.iter().flat_map(of).collect()
}

/// The entries that an op takes out or changes.
fn changed(op: &Op) -> Vec<EntryId> {
    match op {
        Op::Replace { part, .. } => vec![part.entry],
        Op::Drop { entries } => entries.clone(),
        Op::Strip { parts } => parts.iter().map(|part| part.entry).collect(),
        Op::Summarize(checkpoint) => checkpoint.covers.clone(),
        // What goes on in another way keeps the epoch, and has its own reasoning.
        Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => Vec::new(),
    }
}

/// A plan with all its entries moved by so many places.
fn moved(plan: &Plan, by: i64) -> Plan {
    let place = |id: EntryId| EntryId((i64::from(id.0) + by) as u32);
    let part = |part: PartId| PartId { entry: place(part.entry), ..part };
    let op = |op: &Op| match op.clone() {
        Op::Replace { part: of, with, how } => Op::Replace { part: part(of), with, how },
        Op::Strip { parts } => Op::Strip { parts: parts.into_iter().map(part).collect() },
        Op::State { after, text } => Op::State { after: after.map(place), text },
        Op::Drop { entries } => Op::Drop { entries: entries.into_iter().map(place).collect() },
        Op::Insert { after, role, text } => Op::Insert { after: after.map(place), role, text },
        Op::Unbind { replies } => {
            let here = |reply: BoundReply| BoundReply { entry: place(reply.entry), ..reply };
            Op::Unbind { replies: replies.into_iter().map(here).collect() }
        }
        Op::Summarize(mut checkpoint) => {
            checkpoint.covers.iter_mut().for_each(|id| *id = place(*id));
            Op::Summarize(checkpoint)
        }
    };
    Plan { ops: plan.ops.iter().map(op).collect(), reason: plan.reason.clone() }
}
