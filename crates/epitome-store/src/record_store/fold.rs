//! What a session is: a fold over its records.
//!
//! Invariant: pure, and the same whether records are folded as they are made or read again. What
//! was erased leaves nothing but its place. Called by [`super`].

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_kernel::types::{
    ArrivalRewrite, ContentId, EntryKey, HistoryHash, JournalMark, MeterReading, PlacedMark,
    RecordedAction, RecordedCompaction, SessionBranch, SessionInfo, Snapshot,
};
use epitome_kernel::{MessageRecord, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event::{
    AnsweredBody, BegunBody, BroughtBody, CompactedBody, ErasedBody, MarkedBody, SaidBody,
    SessionEvent, TakenBody,
};
use super::freshness::Freshness;
use super::sift::DamagedRecord;
use crate::log::LinePosition;
use crate::marks;

/// Where a record stands in its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordOrder {
    /// The stamp of its batch.
    pub(super) stamp: u64,
    /// Its number in its line.
    pub(super) seq: u64,
}

/// A session as its records make it.
#[derive(Debug, Default)]
pub(super) struct SessionFold {
    /// The record up to which it is folded.
    pub(super) position: LinePosition,
    pub(super) freshness: Freshness,
    pub(super) used: UseStamps,
    pub(super) opened: u32,
    pub(super) meter: MeterReading,
    pub(super) memos: BTreeMap<String, String>,
    pub(super) history: HistoryFold,
    pub(super) decided: DecisionFold,
    pub(super) snapshots: Vec<SnapshotNode>,
    /// The originals that it keeps, with what they are called.
    pub(super) kept: FxHashMap<ContentId, String>,
    pub(super) scope: ScopeFold,
    info: SessionInfo,
}

/// When a session was used, as stamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UseStamps {
    /// When it began.
    pub(super) first: u64,
    pub(super) last: u64,
}

/// What holds for a whole scope; in its own line alone.
#[derive(Debug, Default)]
pub(super) struct ScopeFold {
    /// What nobody may say again.
    pub(super) banned: Arc<FxHashSet<EntryKey>>,
    pub(super) lessons: BTreeMap<String, String>,
}

/// What was said in a session.
#[derive(Debug, Default)]
pub(super) struct HistoryFold {
    pub(super) said: Vec<SaidNode>,
    by_chain: FxHashMap<HistoryHash, usize>,
    pub(super) answers: Vec<AnswerNode>,
    /// The records of the line that are not what was written.
    pub(super) damaged: Vec<DamagedRecord>,
}

/// What was decided of a session.
#[derive(Debug, Default)]
pub(super) struct DecisionFold {
    pub(super) acts: Vec<PlacedRecord<RecordedAction>>,
    pub(super) marks: Vec<PlacedRecord<JournalMark>>,
    pub(super) epochs: Vec<PlacedRecord<RecordedCompaction>>,
    pub(super) rewrites: BTreeMap<(EntryKey, u32), PlacedRecord<ArrivalRewrite>>,
    /// The records of titles and memos, which may quote.
    pub(super) titles: Vec<u64>,
    pub(super) notes: Vec<u64>,
    pub(super) revision: u64,
    /// The stamp of the batch that was counted last.
    counted: u64,
}

/// What one record decided, and where.
#[derive(Clone, Debug)]
pub(super) struct PlacedRecord<T> {
    pub(super) seq: u64,
    /// What the session had come to.
    pub(super) place: HistoryHash,
    pub(super) what: T,
}

/// A message.
#[derive(Debug)]
pub(super) struct SaidNode {
    pub(super) order: RecordOrder,
    pub(super) said: SaidBody,
    pub(super) parent: Option<usize>,
    pub(super) indexed: bool,
}

/// An answer.
#[derive(Debug)]
pub(super) struct AnswerNode {
    pub(super) order: RecordOrder,
    pub(super) answered: AnsweredBody,
    /// The place of the message that it will be.
    pub(super) place: u32,
    pub(super) indexed: bool,
}

/// A snapshot.
#[derive(Debug)]
pub(super) struct SnapshotNode {
    pub(super) order: RecordOrder,
    pub(super) snapshot: Snapshot,
}

impl SessionFold {
    /// The fold of a line that has no record yet.
    pub(super) fn named(name: &str) -> Self {
        let info = SessionInfo { name: name.to_owned(), ..SessionInfo::default() };
        Self { info, ..Self::default() }
    }

    /// Whether nobody began it.
    pub(super) fn is_new(&self) -> bool {
        self.position.seq == 0
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.info.name
    }

    /// What was recorded of it, without what is counted.
    pub(super) fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// What people are told of it.
    pub(super) fn summed_up(&self) -> SessionInfo {
        let mut info = self.info.clone();
        let standing = self.decided.epochs.iter().filter(|made| !made.what.undone);
        info.figures.compressions = u32::try_from(standing.count()).unwrap_or(u32::MAX);
        for answer in &self.history.answers {
            info.figures.answers += 1;
            info.figures.usage += answer.answered.usage;
        }
        info
    }

    /// Takes one event in.
    pub(super) fn apply(&mut self, order: RecordOrder, event: SessionEvent) {
        let RecordOrder { stamp, seq } = order;
        if self.used.first == 0 {
            self.used.first = stamp;
        }
        self.count(stamp, event.kind());
        match event {
            SessionEvent::Begun(begun) => self.begin(begun),
            SessionEvent::Said(said) => self.history.say(order, said),
            SessionEvent::Rewritten(rewrite) => {
                let place = (rewrite.key, rewrite.part);
                let placed = PlacedRecord { seq, place: self.info.head, what: rewrite };
                self.decided.rewrites.entry(place).or_insert(placed);
            }
            SessionEvent::Titled(title) => {
                self.decided.titles.push(seq);
                self.info.title = title;
            }
            SessionEvent::Brought(brought) => self.bring(stamp, brought),
            SessionEvent::Answered(answered) => {
                if answered.is_whole {
                    let figures = &mut self.info.figures;
                    let [raw, sent] = figures.tokens;
                    figures.total[1] = figures.total[1].saturating_add(raw.saturating_sub(sent));
                    figures.tokens[1] = raw;
                }
                self.history.answer(order, answered);
            }
            SessionEvent::Compacted(made) => self.compact(seq, *made),
            SessionEvent::Marked(marked) => self.mark(seq, marked),
            SessionEvent::Acted(acted) => {
                let place = acted.place.unwrap_or(self.info.head);
                self.decided.acts.push(PlacedRecord { seq, place, what: acted.act });
            }
            SessionEvent::Noted(memos) => {
                self.decided.notes.push(seq);
                self.memos = memos;
            }
            SessionEvent::Measured(meter) => self.meter = meter,
            SessionEvent::Moved(head) => self.lead_to(head),
            SessionEvent::Trashed(trashed) => self.info.trashed = trashed,
            SessionEvent::Snapped(snapped) => {
                let snapshot = snapped.snapshot(&self.info.name);
                self.snapshots.push(SnapshotNode { order, snapshot });
            }
            SessionEvent::Unsnapped(gone) => {
                self.snapshots.retain(|node| !gone.contains(&node.snapshot.id));
            }
            SessionEvent::Unnamed(epochs) => self.unname(&epochs),
            SessionEvent::Kept(kept) => {
                for one in kept {
                    self.kept.entry(one.id).or_insert(one.source);
                }
            }
            SessionEvent::Indexed(chains) => self.history.index(&chains),
            SessionEvent::Erased(erased) => self.erase(&erased),
            SessionEvent::Taken(taken) => self.take(stamp, *taken),
            SessionEvent::Learned { about, lesson } => {
                self.scope.lessons.insert(about, lesson);
            }
            SessionEvent::Banned(key) => {
                Arc::make_mut(&mut self.scope.banned).insert(key);
            }
        }
    }

    /// Counts a batch that decides something.
    pub(super) fn count(&mut self, stamp: u64, kind: u16) {
        if SessionEvent::decides(kind) && self.decided.counted != stamp {
            self.decided.counted = stamp;
            self.decided.revision += 1;
        }
    }

    fn begin(&mut self, begun: BegunBody) {
        let BegunBody { at, label, opened } = begun;
        self.opened = opened;
        self.info.label = label;
        self.info.started.clone_from(&at);
        self.info.last = at;
    }

    fn bring(&mut self, stamp: u64, brought: BroughtBody) {
        self.used.last = stamp;
        let info = &mut self.info;
        info.format = brought.format;
        if brought.model.is_some() {
            info.model = brought.model;
        }
        info.last = brought.at;
        (info.head, info.figures.messages) = (brought.head, brought.messages);
        let Some(turn) = brought.turn else { return };
        info.trashed = false;
        info.figures.turns += 1;
        info.figures.tokens = turn.tokens;
        for (total, tokens) in info.figures.total.iter_mut().zip(turn.tokens) {
            *total = total.saturating_add(tokens);
        }
        info.figures.limit = turn.limit;
        self.meter = turn.meter;
    }

    pub(super) fn lead_to(&mut self, head: HistoryHash) {
        let end = self.history.find(head);
        let messages = end.map_or(0, |end| self.history.said[end].said.place + 1);
        (self.info.head, self.info.figures.messages) = (head, messages);
    }

    fn compact(&mut self, seq: u64, made: CompactedBody) {
        let place = made.place.unwrap_or(self.info.head);
        self.decided.epochs.push(PlacedRecord { seq, place, what: made.recorded() });
    }

    fn mark(&mut self, seq: u64, MarkedBody { mark, place }: MarkedBody) {
        let here = place.unwrap_or(self.info.head);
        let turned = match mark {
            JournalMark::Undo(epoch) => Some((epoch, true)),
            JournalMark::Redo(epoch) => Some((epoch, false)),
            JournalMark::Pin(_) | JournalMark::Unpin(_) => None,
        };
        let mut epochs = self.decided.epochs.iter_mut().map(|made| &mut made.what);
        if let Some((id, undone)) = turned
            && let Some(recorded) = epochs.find(|recorded| recorded.epoch.id == id)
        {
            recorded.undone = undone;
            recorded.undone_at = undone.then_some(here);
        }
        self.decided.marks.push(PlacedRecord { seq, place: here, what: mark });
    }

    fn unname(&mut self, epochs: &[ContentId]) {
        for node in &mut self.snapshots {
            node.snapshot.epoch = node.snapshot.epoch.filter(|id| !epochs.contains(id));
        }
    }

    fn erase(&mut self, erased: &ErasedBody) {
        let gone: FxHashSet<u64> = erased.records.iter().copied().collect();
        if self.decided.titles.iter().any(|seq| gone.contains(seq)) {
            self.info.title.clear();
        }
        if self.decided.notes.iter().any(|seq| gone.contains(seq)) {
            self.memos.clear();
        }
        self.decided.forget(&gone);
        self.history.erase(erased.key, &erased.answers);
        erased.originals.iter().for_each(|id| drop(self.kept.remove(id)));
        self.unname(&erased.epochs);
    }

    fn take(&mut self, stamp: u64, taken: TakenBody) {
        self.used.last = stamp;
        let TakenBody { last, turns, answers, tokens, total, limit, usage, trashed } = taken;
        let info = &mut self.info;
        (info.last, info.trashed) = (last, trashed);
        (info.figures.turns, info.figures.answers, info.figures.usage) = (turns, answers, usage);
        (info.figures.tokens, info.figures.total, info.figures.limit) = (tokens, total, limit);
    }

    /// What was taken back, done again, pinned and unpinned, oldest first.
    pub(super) fn marks(&self) -> Vec<PlacedMark> {
        let marks = self.decided.marks.iter();
        marks.map(|it| PlacedMark { mark: it.what, place: Some(it.place) }).collect()
    }

    /// The entries that are pinned.
    pub(super) fn pins(&self) -> Vec<EntryKey> {
        let mut pins = Vec::new();
        for marked in &self.decided.marks {
            match marked.what {
                JournalMark::Pin(key) => marks::pin(&mut pins, key, true),
                JournalMark::Unpin(key) => marks::pin(&mut pins, key, false),
                JournalMark::Undo(_) | JournalMark::Redo(_) => {}
            }
        }
        pins
    }
}

impl DecisionFold {
    /// Drops what these records decided.
    fn forget(&mut self, gone: &FxHashSet<u64>) {
        self.acts.retain(|acted| !gone.contains(&acted.seq));
        self.epochs.retain(|made| !gone.contains(&made.seq));
        self.rewrites.retain(|_, rewrite| !gone.contains(&rewrite.seq));
        self.titles.retain(|seq| !gone.contains(seq));
        self.notes.retain(|seq| !gone.contains(seq));
    }
}

impl HistoryFold {
    /// The message that a history ends with.
    pub(super) fn find(&self, chain: HistoryHash) -> Option<usize> {
        self.by_chain.get(&chain).copied()
    }

    /// The message that a history ends with; `None` for the empty history.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] for a history that is not recorded.
    pub(super) fn end_of(&self, chain: HistoryHash) -> Result<Option<usize>, StoreError> {
        if chain == HistoryHash::default() {
            return Ok(None);
        }
        let what = || format!("the history {chain} is not recorded");
        self.find(chain).map(Some).ok_or_else(|| StoreError::Damaged { what: what() })
    }

    /// How many messages there are up to one.
    pub(super) fn length(&self, end: Option<usize>) -> u32 {
        end.map_or(0, |end| self.said[end].said.place + 1)
    }

    /// The way to a message, its first one first.
    pub(super) fn way(&self, end: Option<usize>) -> Vec<usize> {
        let mut way: Vec<usize> = std::iter::successors(end, |&at| self.said[at].parent).collect();
        way.reverse();
        way
    }

    /// The ways through it in the order of their ends, the one to `head` last.
    pub(super) fn branches(&self, head: HistoryHash) -> Vec<SessionBranch> {
        let mut is_end = vec![true; self.said.len()];
        for parent in self.said.iter().filter_map(|node| node.parent) {
            is_end[parent] = false;
        }
        let current = self.find(head);
        let on_way: FxHashSet<usize> = self.way(current).into_iter().collect();
        let ends = (0..self.said.len()).filter(|&at| is_end[at] && Some(at) != current);
        let branch = |at: usize| {
            let mut way = std::iter::successors(Some(at), |&at| self.said[at].parent);
            let shared = self.length(way.find(|at| on_way.contains(at)));
            let said = &self.said[at].said;
            SessionBranch { head: said.chain, messages: said.place + 1, shared }
        };
        ends.chain(current).map(branch).collect()
    }

    /// Whether one of two histories goes on from the other one.
    pub(super) fn is_one_way(&self, one: HistoryHash, other: HistoryHash) -> bool {
        let (Some(one), Some(other)) = (self.find(one), self.find(other)) else { return true };
        let place = |at: &usize| self.said[*at].said.place;
        let (first, last) = if place(&one) <= place(&other) { (one, other) } else { (other, one) };
        let mut way = std::iter::successors(Some(last), |&at| self.said[at].parent);
        way.find(|at| place(at) <= place(&first)) == Some(first)
    }

    fn say(&mut self, order: RecordOrder, said: SaidBody) {
        if !self.damaged.is_empty() {
            self.stand_in(order, said.after, said.place);
        }
        self.add(order, said);
    }

    /// Adds a message behind the one that it follows.
    pub(super) fn add(&mut self, order: RecordOrder, said: SaidBody) {
        let parent = self.find(said.after);
        let indexed = said.indexed || said.bytes.is_none();
        self.by_chain.insert(said.chain, self.said.len());
        self.said.push(SaidNode { order, said, parent, indexed });
    }

    fn answer(&mut self, order: RecordOrder, answered: AnsweredBody) {
        let place = self.length(self.find(answered.after)) + answered.ahead;
        let indexed = answered.bytes.is_none();
        self.answers.push(AnswerNode { order, answered, place, indexed });
    }

    fn index(&mut self, chains: &[HistoryHash]) {
        for &chain in chains {
            if let Some(at) = self.find(chain) {
                self.said[at].indexed = true;
            }
        }
        let known =
            |answer: &&mut AnswerNode| answer.chain().is_some_and(|it| chains.contains(&it));
        self.answers.iter_mut().filter(known).for_each(|answer| answer.indexed = true);
    }

    fn erase(&mut self, key: EntryKey, answers: &[u64]) {
        for node in self.said.iter_mut().filter(|node| node.said.key == key) {
            (node.said.bytes, node.indexed) = (None, true);
        }
        for answer in self.answers.iter_mut().filter(|it| answers.contains(&it.order.seq)) {
            (answer.answered.bytes, answer.indexed) = (None, true);
        }
    }
}

impl AnswerNode {
    /// The history that ends with it.
    pub(super) fn chain(&self) -> Option<HistoryHash> {
        let AnsweredBody { after, chain, key, .. } = self.answered;
        key.map(|key| chain.unwrap_or_else(|| after.append(key)))
    }

    /// The message that it will be, with its bytes.
    pub(super) fn said(&self, bytes: Option<Vec<u8>>) -> Option<MessageRecord> {
        let AnsweredBody { key, text, usage, ref at, .. } = self.answered;
        Some(MessageRecord {
            chain: self.chain()?,
            key: key?,
            place: self.place,
            role: epitome_kernel::types::Role::Assistant,
            bytes,
            text,
            tokens: usage.output,
            at: Some(at.clone()),
        })
    }
}
