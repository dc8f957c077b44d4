//! What of a line is not what was written, and how it is folded all the same.
//!
//! Invariant: a damaged record is passed over, and told of; what stands behind it is folded as if it were
//! there. A message that is lost keeps its place. Called by [`super`] and the ports of this folder.

use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::StoreError;
use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event::{SaidBody, SessionEvent};
use super::fold::{HistoryFold, RecordOrder, SessionFold};
use super::sift::{SiftedRecord, sift};
use super::{RecordStore, SCOPE_LINE};
use crate::log::{LineEnd, LogRecord, RecordLog};
use crate::outage::{PARTLY, StoreOutage};

/// The address of bytes that are lost: nothing is kept there.
pub(super) const LOST: ContentId = ContentId([0; 16]);

/// The damage that was met, each told once.
#[derive(Debug, Default)]
pub(super) struct DamageNews(Mutex<NewsList>);

#[derive(Debug, Default)]
struct NewsList {
    known: FxHashSet<String>,
    untold: Vec<StoreOutage>,
    /// What was left out of what was handed over, by scope and line.
    left_out: FxHashMap<String, FxHashMap<String, Vec<String>>>,
}

impl DamageNews {
    fn lock(&self) -> MutexGuard<'_, NewsList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what is left out of what is handed over of a line.
    pub(super) fn leave_out(&self, scope: &str, line: &str, what: Vec<String>) {
        let mut list = self.lock();
        list.left_out.entry(scope.to_owned()).or_default().insert(line.to_owned(), what);
    }

    /// What was left out of what was handed over of a line last.
    pub(super) fn left_out(&self, scope: &str, line: &str) -> Vec<String> {
        let list = self.lock();
        let lines = list.left_out.get(scope);
        lines.and_then(|lines| lines.get(line)).cloned().unwrap_or_default()
    }

    fn add(&self, cause: String, remedy: &'static str) {
        let mut list = self.lock();
        if list.known.insert(cause.clone()) {
            list.untold.push(StoreOutage { cause, remedy });
        }
    }
}

/// Which line it is, for people.
pub(super) fn line_name(scope: &str, line: &str) -> String {
    match line {
        SCOPE_LINE => format!("what {scope} keeps outside of sessions"),
        _ => format!("the session `{line}` of {scope}"),
    }
}

impl<L: RecordLog> RecordStore<L> {
    /// What was met of damage since this was asked last.
    pub(crate) fn take_damage(&self) -> Vec<StoreOutage> {
        std::mem::take(&mut self.news.lock().untold)
    }

    /// The damaged records of a line, in words.
    pub(super) fn damage_of(&self, scope: &str, line: &str) -> Result<Vec<String>, StoreError> {
        self.read(scope, line, |fold| {
            Ok(fold.history.damaged.iter().map(|it| it.named()).collect())
        })
    }

    /// Folds what a line has from its known end on.
    pub(super) fn take(
        &self,
        scope: &str,
        fold: &mut SessionFold,
        mut tail: Vec<LogRecord>,
    ) -> Result<(), StoreError> {
        let mut before = None;
        if fold.position.seq > 0 {
            match tail.first().is_some_and(|last| last.position() == fold.position) {
                true => drop(tail.remove(0)),
                // It went, and maybe began anew, or went back.
                false => {
                    before = Some(std::mem::replace(fold, SessionFold::named(fold.name())));
                    tail = self.anew(scope, fold)?;
                }
            }
        }
        let is_damaged = |it: &SiftedRecord| matches!(it, SiftedRecord::Damaged(_));
        let mut last = tail.last().map(LogRecord::position);
        let mut sifted = sift(fold.position, tail);
        // What is wrong with a record the next one tells, which may have come later.
        if fold.position.seq > 0 && sifted.iter().any(is_damaged) {
            let all = self.anew(scope, fold)?;
            last = all.last().map(LogRecord::position);
            sifted = sift(fold.position, all);
        }
        for one in sifted {
            match one {
                SiftedRecord::Whole { record, event: Some(event), .. } => {
                    fold.apply(RecordOrder { stamp: record.stamp, seq: record.seq }, event);
                }
                SiftedRecord::Whole { record, event: None, .. } => {
                    fold.count(record.stamp, record.kind);
                }
                SiftedRecord::Damaged(damaged) => {
                    let (what, line) = (damaged.named(), line_name(scope, fold.name()));
                    self.tell(
                        format!("{what} of {line} {}, and is passed over", damaged.cause),
                        PARTLY,
                    );
                    fold.history.damaged.push(damaged);
                }
            }
        }
        fold.position = last.unwrap_or(fold.position);
        fold.settle();
        before.map_or(Ok(()), |before| self.say_again(scope, fold, &before))
    }

    /// Has it be told once.
    pub(super) fn tell(&self, cause: String, remedy: &'static str) {
        self.news.add(cause, remedy);
    }

    /// All records of a line, to be folded anew.
    fn anew(&self, scope: &str, fold: &mut SessionFold) -> Result<Vec<LogRecord>, StoreError> {
        *fold = SessionFold::named(fold.name());
        self.tail(scope, &LineEnd::for_line(fold))
    }

    /// Has a line end where its records do: the log takes nothing that is added there.
    pub(super) fn mend_end(&self, scope: &str, fold: &SessionFold) -> Result<(), StoreError> {
        if fold.history.damaged.is_empty() {
            let of = line_name(scope, fold.name());
            self.tell(format!("{of} does not end where it did, what was last may be lost"), PARTLY);
        }
        self.log.rebuild(scope, fold.name())
    }
}

impl SessionFold {
    /// Has it end with a message that is there, or whose place is.
    fn settle(&mut self) {
        if let Some(newest) = self.unled_to() {
            self.lead_to(newest);
        }
        let info = self.info();
        let (head, messages) = (info.head, info.figures.messages);
        if !self.history.damaged.is_empty() && messages > 0 {
            self.history.stand_in(RecordOrder { stamp: 0, seq: 0 }, head, messages);
        }
    }

    /// Its newest message, where the record that it goes on to there is lost.
    fn unled_to(&self) -> Option<HistoryHash> {
        let lost = self.history.damaged.last()?;
        let newest = self.history.said.last()?;
        let may_lead = lost.kind.is_none_or(|kind| kind == SessionEvent::BROUGHT);
        let is_behind = self.history.is_one_way(self.info().head, newest.said.chain);
        let is_newer = newest.said.place >= self.info().figures.messages;
        let is_lost = may_lead && lost.seqs[0] > newest.order.seq;
        (is_lost && is_behind && is_newer).then_some(newest.said.chain)
    }
}

impl HistoryFold {
    /// Puts something in the place of messages that are lost, so that what follows `chain` follows
    /// something: as many as there have to be up to there.
    pub(super) fn stand_in(&mut self, order: RecordOrder, chain: HistoryHash, length: u32) {
        if chain == HistoryHash::default() || self.find(chain).is_some() {
            return;
        }
        let is_before = |it: &&super::fold::SaidNode| it.said.place + 1 < length;
        let known = self.said.iter().rev().find(is_before);
        let mut after = known.map_or_else(HistoryHash::default, |it| it.said.chain);
        for place in known.map_or(0, |it| it.said.place + 1)..length {
            let key = EntryKey(LOST.0);
            let own = if place + 1 == length { chain } else { after.append(key) };
            let (bytes, text, role) = (Some(LOST), LOST, Role::User);
            let (tokens, at, indexed) = (0, None, true);
            let said =
                SaidBody { after, chain: own, key, place, role, bytes, text, tokens, at, indexed };
            self.add(order, said);
            after = own;
        }
    }
}
