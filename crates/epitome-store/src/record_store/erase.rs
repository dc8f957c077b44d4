//! What goes for good: the content of a message with all that quotes it, or a whole session.
//!
//! Invariant: first it is recorded that nobody may say it again, then each line records what it
//! loses, and only then it loses it; so an erasure that was broken off shows nothing of what it was
//! to take, and is done again. Called by [`super::archive`].

use epitome_kernel::StoreError;
use epitome_kernel::types::{
    ArrivalRewrite, CompactionId, ContentId, EntryKey, HistoryHash, RecordedCompaction,
    ReplaceMethod,
};
use rustc_hash::FxHashSet;

use super::event::{ErasedBody, SessionEvent};
use super::fold::{AnswerNode, SessionFold};
use super::{RecordStore, SCOPE_LINE};
use crate::content::{self, ErasedContent};
use crate::lineage::{MessageForest, MessageNode};
use crate::log::{Erasure, RecordLog};

/// What is to be erased, and what was found to quote it.
struct ErasurePlan {
    key: EntryKey,
    told: ErasedContent,
    /// The bytes that say it, for what was made of their words.
    bytes: Vec<Vec<u8>>,
    forest: MessageForest,
    /// The sessions that may have led through it.
    hearers: FxHashSet<String>,
    /// The contents that go.
    gone: FxHashSet<ContentId>,
    /// The epochs that go from all sessions.
    epochs: Vec<CompactionId>,
}

/// What the sessions of a scope have, as far as an erasure asks.
#[derive(Default)]
struct ScopeSurvey {
    lines: Vec<String>,
    nodes: Vec<MessageNode>,
    /// The messages that sessions and their snapshots lead to.
    heads: Vec<(i64, i64)>,
    epochs: Vec<RecordedCompaction>,
    /// Of each rewrite: its message, and the contents that it leads to.
    rewrites: Vec<(EntryKey, [ContentId; 2])>,
    kept: Vec<(ContentId, String)>,
    /// Of what says it: the line, the addresses of its text and of its bytes.
    said: Vec<SaidContent>,
    /// How its sources begin.
    sources: Vec<String>,
    found: bool,
}

/// Something that a message or an answer says.
struct SaidContent {
    line: String,
    text: ContentId,
    bytes: Option<ContentId>,
    is_message: bool,
}

impl ScopeSurvey {
    fn look_at(&mut self, fold: &SessionFold, key: EntryKey) {
        let session = self.lines.len() as i64;
        let first = self.nodes.len() as i64;
        self.lines.push(fold.name().to_owned());
        let number = |at: usize| first + at as i64;
        for (id, node) in (first..).zip(&fold.history.said) {
            let (parent, key) = (node.parent.map(number), node.said.key);
            self.nodes.push(MessageNode { id, parent, session, key });
        }
        let heads = [fold.info().head].into_iter();
        let heads = heads.chain(fold.snapshots.iter().map(|node| node.snapshot.head));
        let found = heads.filter_map(|head: HistoryHash| fold.history.find(head));
        self.heads.extend(found.map(|at| (number(at), session)));
        self.epochs.extend(fold.decided.epochs.iter().map(|made| made.what.clone()));
        let of = |rewrite: &epitome_kernel::types::ArrivalRewrite| {
            (rewrite.key, [rewrite.original, ContentId::for_text(&rewrite.with)])
        };
        self.rewrites.extend(fold.decided.rewrites.values().map(|it| of(&it.what)));
        self.kept.extend(fold.kept.iter().map(|(id, source)| (*id, source.clone())));
        self.hear(fold, key);
    }

    /// Gathers what says it.
    fn hear(&mut self, fold: &SessionFold, key: EntryKey) {
        let line = || fold.name().to_owned();
        for node in fold.history.said.iter().filter(|node| node.said.key == key) {
            self.found = true;
            self.sources.push(content::source(fold.name(), node.said.place));
            let (text, bytes) = (node.said.text, node.said.bytes);
            self.said.push(SaidContent { line: line(), text, bytes, is_message: true });
        }
        for answer in fold.history.answers_like(key) {
            self.found |= answer.answered.key == Some(key);
            let (text, bytes) = (answer.answered.text, answer.answered.bytes);
            self.said.push(SaidContent { line: line(), text, bytes, is_message: false });
        }
    }
}

impl<L: RecordLog> RecordStore<L> {
    /// Erases all messages that say this; gives how many epochs went.
    pub(super) fn erase_message(&self, scope: &str, key: EntryKey) -> Result<u32, StoreError> {
        let mut survey = ScopeSurvey::default();
        self.each_session(scope, |fold| survey.look_at(fold, key))?;
        if !survey.found {
            return Err(StoreError::Unknown { id: key.to_string() });
        }
        let outside = |fold: &SessionFold| -> Vec<_> {
            fold.kept.iter().map(|(id, source)| (*id, source.clone())).collect()
        };
        survey.kept.extend(self.read(scope, SCOPE_LINE, |fold| Ok(outside(fold)))?);
        self.write(scope, SCOPE_LINE, |_, draft| {
            draft.push(SessionEvent::Banned(key));
            Ok(())
        })?;
        let lines: Vec<String> =
            survey.lines.iter().cloned().chain([SCOPE_LINE.to_owned()]).collect();
        let plan = self.planned(scope, key, survey)?;
        let mut count = 0;
        for line in lines {
            count += self.erase_in(scope, &line, &plan)?;
        }
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn planned(
        &self,
        scope: &str,
        key: EntryKey,
        survey: ScopeSurvey,
    ) -> Result<ErasurePlan, StoreError> {
        let ScopeSurvey { lines, nodes, heads, epochs, rewrites, kept, said, sources, .. } = survey;
        let (mut told, mut bytes) = (ErasedContent::default(), Vec::new());
        for SaidContent { line, text, bytes: id, is_message } in said {
            let found = self.bytes(scope, &line, id)?.into_values().next();
            told.add(text, found.as_deref());
            bytes.extend(found.filter(|_| is_message));
        }
        let forest = MessageForest::new(nodes);
        let hearers = forest.hearers(key, &heads);
        let hearers = hearers.into_iter().filter_map(|at| lines.get(usize::try_from(at).ok()?));
        let hearers = hearers.cloned().collect();
        let mut gone = told.addresses();
        let is_of = |source: &str| sources.iter().any(|it| content::is_of(source, it));
        gone.extend(kept.iter().filter(|(_, source)| is_of(source)).map(|(id, _)| *id));
        let mut needed: FxHashSet<ContentId> = FxHashSet::default();
        for (of, leads_to) in rewrites {
            if of == key { &mut gone } else { &mut needed }.extend(leads_to);
        }
        let quotes = |it: &RecordedCompaction| forest.may_hold(&it.epoch.covered, key);
        let (quoting, left): (Vec<_>, Vec<_>) = epochs.into_iter().partition(quotes);
        gone.extend(quoting.iter().flat_map(|it| content::of_epoch(&it.epoch)));
        needed.extend(left.iter().flat_map(|it| content::of_epoch(&it.epoch)));
        gone.retain(|id| !needed.contains(id));
        let is_left = |id| left.iter().any(|it| it.epoch.id == id);
        let epochs = quoting.iter().map(|it| it.epoch.id).filter(|&id| !is_left(id)).collect();
        Ok(ErasurePlan { key, told, bytes, forest, hearers, gone, epochs })
    }

    /// Erases in one line; gives how many epochs went.
    fn erase_in(&self, scope: &str, line: &str, plan: &ErasurePlan) -> Result<usize, StoreError> {
        let (what, count) = self.write(scope, line, |fold, draft| {
            let loss = plan.loss(fold);
            let what = Erasure::Contents {
                records: loss.erased.records.clone(),
                blobs: plan.gone.iter().copied().chain(loss.bytes).collect(),
            };
            if loss.is_any {
                draft.push(SessionEvent::Erased(loss.erased));
            }
            Ok((what, loss.epochs))
        })?;
        self.log.erase(scope, line, &what)?;
        Ok(count)
    }

    /// Deletes a session; gives how many messages went.
    pub(super) fn delete_session(&self, scope: &str, name: &str) -> Result<u32, StoreError> {
        let of = |fold: &SessionFold| -> Vec<CompactionId> {
            fold.decided.epochs.iter().map(|made| made.what.epoch.id).collect()
        };
        let (gone, own) =
            self.in_session(scope, name, |fold| Ok((fold.history.said.len(), of(fold))))?;
        let all = self.each_session(scope, |fold| (fold.name().to_owned(), of(fold)))?;
        let others = all.iter().filter(|(other, _)| other != name);
        let left: FxHashSet<CompactionId> = others.flat_map(|(_, ids)| ids).copied().collect();
        let unnamed: Vec<CompactionId> = own.into_iter().filter(|id| !left.contains(id)).collect();
        for (other, _) in all.iter().filter(|(other, _)| other != name && !unnamed.is_empty()) {
            self.write(scope, other, |fold, draft| {
                if names_any(fold, &unnamed) {
                    draft.push(SessionEvent::Unnamed(unnamed.clone()));
                }
                Ok(())
            })?;
        }
        self.remove(scope, name)?;
        Ok(u32::try_from(gone).unwrap_or(u32::MAX))
    }
}

/// What one line loses.
struct LineLoss {
    erased: ErasedBody,
    /// The addresses of bytes.
    bytes: Vec<ContentId>,
    epochs: usize,
    is_any: bool,
}

impl ErasurePlan {
    fn loss(&self, fold: &SessionFold) -> LineLoss {
        let decided = &fold.decided;
        let quoting = decided.epochs.iter();
        let quoting =
            quoting.filter(|made| self.forest.may_hold(&made.what.epoch.covered, self.key));
        let mut records: Vec<u64> = quoting.map(|made| made.seq).collect();
        let epochs = records.len();
        if self.bytes.iter().any(|bytes| content::made(&fold.info().title, Some(bytes))) {
            records.extend(&decided.titles);
        }
        if self.hearers.contains(fold.name()) {
            records.extend(&decided.notes);
        }
        let acts = decided.acts.iter().filter(|acted| self.told.quoted_by(&acted.what));
        records.extend(acts.map(|acted| acted.seq));
        let quotes =
            |made: &ArrivalRewrite| made.key == self.key || made.how == ReplaceMethod::Append;
        let rewrites = decided.rewrites.values().filter(|it| quotes(&it.what));
        records.extend(rewrites.map(|rewrite| rewrite.seq));
        let answers: Vec<_> = fold.history.answers_like(self.key).collect();
        let said: Vec<_> =
            fold.history.said.iter().filter(|node| node.said.key == self.key).collect();
        let bytes = answers.iter().filter_map(|answer| answer.answered.bytes);
        let bytes = bytes.chain(said.iter().filter_map(|node| node.said.bytes));
        // What is left may have been said in the very same bytes.
        let needed = self.needed(fold, &answers);
        let bytes = bytes.filter(|id| !needed.contains(id)).collect();
        let originals = fold.kept.keys().filter(|id| self.gone.contains(id)).copied().collect();
        let unnamed = if names_any(fold, &self.epochs) { &self.epochs[..] } else { &[] };
        let erased = ErasedBody {
            key: self.key,
            records,
            answers: answers.iter().map(|answer| answer.order.seq).collect(),
            originals,
            epochs: unnamed.to_vec(),
        };
        let is_any = !(said.is_empty()
            && erased.records.is_empty()
            && erased.answers.is_empty()
            && erased.originals.is_empty()
            && erased.epochs.is_empty());
        LineLoss { erased, bytes, epochs, is_any }
    }
}

impl ErasurePlan {
    /// The bytes of what a line still says once these answers are gone.
    fn needed(&self, fold: &SessionFold, gone: &[&AnswerNode]) -> FxHashSet<ContentId> {
        let said = fold.history.said.iter().filter(|node| node.said.key != self.key);
        let is_left = |answer: &&AnswerNode| !gone.iter().any(|it| it.order == answer.order);
        let answers = fold.history.answers.iter().filter(is_left);
        let said = said.filter_map(|node| node.said.bytes);
        said.chain(answers.filter_map(|answer| answer.answered.bytes)).collect()
    }
}

/// Whether a snapshot of a session names any of these epochs.
fn names_any(fold: &SessionFold, epochs: &[CompactionId]) -> bool {
    let mut named = fold.snapshots.iter().filter_map(|node| node.snapshot.epoch);
    named.any(|epoch| epochs.contains(&epoch))
}
