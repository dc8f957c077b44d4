//! The port for people who look after a store, over a log.
//!
//! Invariant: lists are made of the folds of all lines, in the order that the log's stamps give.
//! Called through [`SessionArchive`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use epitome_kernel::types::{
    EntryKey, HistoryHash, MeterReading, PlacedMark, RecordedCompaction, SessionBranch,
    SessionInfo, Snapshot, SnapshotPurpose, TokenUsage, WordMentions,
};
use epitome_kernel::{Eviction, MessageRecord, SearchRange, StoreError};

use super::event::{SaidBody, SessionEvent, SnappedBody};
use super::fold::{HistoryFold, RecordOrder, SessionFold, SnapshotNode};
use super::{RecordStore, SCOPE_LINE};
use crate::log::RecordLog;
use crate::mentions::mentions;
use crate::{SessionArchive, StoreFinding};

impl<L: RecordLog> SessionArchive for RecordStore<L> {
    fn mentions(
        &self,
        range: SearchRange<'_>,
        words: &[String],
        query: &str,
        most: usize,
    ) -> Result<Vec<WordMentions>, StoreError> {
        Ok(mentions(&self.proposed_within(range, &words.join(" "))?, words, query, most))
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        self.log.scopes()
    }

    fn sessions(
        &self,
        scope: &str,
        skip: usize,
        most: usize,
        trashed: bool,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        let wanted = |fold: &SessionFold| {
            let info = fold.info();
            let is_wanted = info.figures.messages > 0 && (trashed || !info.trashed);
            is_wanted.then(|| (Reverse((fold.used.last, fold.used.first)), fold.summed_up()))
        };
        let mut all: Vec<_> = self.each_session(scope, wanted)?.into_iter().flatten().collect();
        all.sort_by_key(|(used, _)| *used);
        Ok(all.into_iter().skip(skip).take(most).map(|(_, info)| info).collect())
    }

    fn learn_once(&self, scope: &str, about: &str, lesson: &str) -> Result<String, StoreError> {
        self.write(scope, SCOPE_LINE, |fold, draft| {
            if let Some(known) = fold.scope.lessons.get(about) {
                return Ok(known.clone());
            }
            let (about, lesson) = (about.to_owned(), lesson.to_owned());
            draft.push(SessionEvent::Learned { about, lesson: lesson.clone() });
            Ok(lesson)
        })
    }

    fn lessons_about(
        &self,
        scope: &str,
        prefix: &str,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(scope, SCOPE_LINE, |fold| {
            let behind =
                fold.scope.lessons.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
            let known = behind.take_while(|(about, _)| about.starts_with(prefix));
            Ok(known.map(|(about, lesson)| (about.clone(), lesson.clone())).collect())
        })
    }

    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        self.in_session(scope, name, |fold| Ok(fold.summed_up()))
    }

    fn history(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError> {
        self.in_session(scope, session, |fold| {
            let way = fold.history.way(fold.history.end_of(head)?);
            let page: Vec<&SaidBody> = way
                .into_iter()
                .map(|at| &fold.history.said[at].said)
                .filter(|said| said.place >= from)
                .take(most)
                .collect();
            self.with_bytes(scope, session, &page)
        })
    }

    fn answer(&self, scope: &str, session: &str) -> Result<Option<MessageRecord>, StoreError> {
        self.newest_answer(scope, session, |fold| fold.info().head)
    }

    fn answer_to(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
    ) -> Result<Option<MessageRecord>, StoreError> {
        self.newest_answer(scope, session, |_| head)
    }

    fn answer_usage(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<BTreeMap<HistoryHash, TokenUsage>, StoreError> {
        self.in_session(scope, session, |fold| {
            let mut by = BTreeMap::<HistoryHash, TokenUsage>::new();
            for answer in &fold.history.answers {
                *by.entry(answer.answered.after).or_default() += answer.answered.usage;
            }
            Ok(by)
        })
    }

    fn marks(&self, scope: &str, session: &str) -> Result<Vec<PlacedMark>, StoreError> {
        self.in_session(scope, session, |fold| Ok(fold.marks()))
    }

    fn branches(&self, scope: &str, session: &str) -> Result<Vec<SessionBranch>, StoreError> {
        self.in_session(scope, session, |fold| Ok(fold.history.branches(fold.info().head)))
    }

    fn compactions_of_session(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError> {
        self.in_session(scope, session, |fold| {
            Ok(fold.decided.epochs.iter().map(|made| made.what.clone()).collect())
        })
    }

    fn save_snapshot(
        &self,
        scope: &str,
        snapshot: &Snapshot,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.write_session(scope, &snapshot.session, |fold, draft| {
            let known = || fold.snapshots.iter().map(|node| &node.snapshot);
            let is_known = known().any(|other| other.id == snapshot.id);
            if !is_known {
                draft.push(SessionEvent::Snapped(Box::new(SnappedBody::of(snapshot))));
            }
            let new = (!is_known).then_some(snapshot);
            let all = known().chain(new);
            let spare = all.filter(|other| other.purpose != SnapshotPurpose::Recovery);
            let mut spare: Vec<String> = spare.map(|other| other.id.clone()).collect();
            spare.truncate(spare.len().saturating_sub(keep));
            if !spare.is_empty() {
                draft.push(SessionEvent::Unsnapped(spare));
            }
            Ok(())
        })
    }

    fn snapshots(&self, scope: &str, session: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        let own = |fold: &SessionFold| -> Vec<_> {
            let told = |node: &SnapshotNode| (Reverse(node.order), node.snapshot.clone());
            fold.snapshots.iter().map(told).collect()
        };
        let mut all = match session {
            Some(name) => self.read(scope, name, |fold| Ok(own(fold)))?,
            None => self.each_session(scope, own)?.into_iter().flatten().collect(),
        };
        all.sort_by_key(|(order, _)| *order);
        Ok(all.into_iter().map(|(_, snapshot)| snapshot).collect())
    }

    fn delete_snapshot(&self, scope: &str, id: &str) -> Result<(), StoreError> {
        let holds = |fold: &SessionFold| {
            let known = fold.snapshots.iter().any(|node| node.snapshot.id == id);
            known.then(|| fold.name().to_owned())
        };
        let holders = self.each_session(scope, holds)?;
        let Some(name) = holders.into_iter().flatten().next() else {
            return Err(StoreError::NoSnapshot { name: id.to_owned() });
        };
        self.write(scope, &name, |_, draft| {
            draft.push(SessionEvent::Unsnapped(vec![id.to_owned()]));
            Ok(())
        })
    }

    fn set_head(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        meter: Option<&MeterReading>,
    ) -> Result<(), StoreError> {
        self.write_session(scope, session, |fold, draft| {
            fold.history.end_of(head)?;
            draft.push(SessionEvent::Moved(head));
            draft.extend(meter.map(|meter| SessionEvent::Measured(*meter)));
            Ok(())
        })
    }

    fn set_trashed(&self, scope: &str, session: &str, trashed: bool) -> Result<(), StoreError> {
        self.write_session(scope, session, |fold, draft| {
            if fold.info().trashed != trashed {
                draft.push(SessionEvent::Trashed(trashed));
            }
            Ok(())
        })
    }

    fn delete(&self, scope: &str, session: &str) -> Result<u32, StoreError> {
        self.delete_session(scope, session)
    }

    fn erase(&self, scope: &str, key: EntryKey) -> Result<u32, StoreError> {
        self.erase_message(scope, key)
    }

    fn erased(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        Ok(self.banned(scope)?.iter().copied().collect())
    }

    fn unindexed(
        &self,
        scope: &str,
        most: usize,
    ) -> Result<Vec<(String, MessageRecord)>, StoreError> {
        let mut open: Vec<OpenRecord> = Vec::new();
        self.each_session(scope, |fold| open.extend(OpenRecord::all_of(fold)))?;
        open.sort_by_key(|one| (one.is_answer, one.order));
        open.truncate(most);
        let mut found = Vec::with_capacity(open.len());
        for one in open {
            let told = self.read(scope, &one.session, |fold| self.opened(scope, fold, &one))?;
            found.extend(told.map(|said| (one.session, said)));
        }
        Ok(found)
    }

    fn index(
        &self,
        scope: &str,
        session: &str,
        messages: &[HistoryHash],
        departure: &Eviction,
    ) -> Result<(), StoreError> {
        self.write(scope, session, |fold, draft| {
            // What was erased or deleted since it was read must not come back. The others are
            // offered again.
            let is_there = |chain: &HistoryHash| match fold.history.find(*chain) {
                Some(at) => fold.history.said[at].said.bytes.is_some(),
                None => fold.history.has_open_answer(*chain),
            };
            if !fold.is_new() && messages.iter().all(is_there) {
                draft.push(SessionEvent::Indexed(messages.to_vec()));
                draft.keep(fold, departure);
            }
            Ok(())
        })
    }

    fn damage(&self, scope: &str, session: &str) -> Result<Vec<String>, StoreError> {
        self.damage_of(scope, session)
    }

    fn verify(&self, _repair: bool) -> Result<Vec<StoreFinding>, StoreError> {
        self.findings()
    }

    fn rebuild(&self) -> Result<Vec<StoreFinding>, StoreError> {
        self.forget_folds();
        for scope in self.log.scopes()? {
            for line in self.log.lines(&scope)? {
                self.log.rebuild(&scope, &line)?;
            }
        }
        Ok(Vec::new())
    }
}

/// A message, or an answer, that the search does not know.
struct OpenRecord {
    is_answer: bool,
    order: RecordOrder,
    session: String,
    /// Its place among those of its session.
    at: usize,
}

impl OpenRecord {
    fn all_of(fold: &SessionFold) -> Vec<Self> {
        let of = |is_answer, order, at| {
            let session = fold.name().to_owned();
            Self { is_answer, order, session, at }
        };
        let HistoryFold { said, answers, .. } = &fold.history;
        let said = (0..).zip(said).filter(|(_, node)| !node.indexed);
        let mut open: Vec<Self> = said.map(|(at, node)| of(false, node.order, at)).collect();
        let wanted: Vec<RecordOrder> = fold.history.open_answers().map(|it| it.order).collect();
        let answers = (0..).zip(answers).filter(|(_, answer)| wanted.contains(&answer.order));
        open.extend(answers.map(|(at, answer)| of(true, answer.order, at)));
        open
    }
}

impl<L: RecordLog> RecordStore<L> {
    /// Messages of a session with their bytes.
    fn with_bytes(
        &self,
        scope: &str,
        session: &str,
        page: &[&SaidBody],
    ) -> Result<Vec<MessageRecord>, StoreError> {
        let bytes = self.bytes(scope, session, page.iter().filter_map(|said| said.bytes))?;
        let told = |said: &&SaidBody| {
            // No byte where those that are kept are not those that were recorded.
            let found = said.bytes.map(|id| bytes.get(&id).cloned().unwrap_or_default());
            said.with_bytes(found)
        };
        Ok(page.iter().map(told).collect())
    }

    /// What the search is to learn; none of an answer that broke off.
    fn opened(
        &self,
        scope: &str,
        fold: &SessionFold,
        one: &OpenRecord,
    ) -> Result<Option<MessageRecord>, StoreError> {
        let HistoryFold { said, answers, .. } = &fold.history;
        if !one.is_answer {
            let Some(node) = said.get(one.at) else { return Ok(None) };
            return Ok(self.with_bytes(scope, fold.name(), &[&node.said])?.pop());
        }
        let Some(answer) = answers.get(one.at) else { return Ok(None) };
        let mut bytes = self.bytes(scope, fold.name(), answer.answered.bytes)?;
        Ok(answer.said(answer.answered.bytes.and_then(|id| bytes.remove(&id))))
    }
}
