//! A session of another store, taken up here.
//!
//! Invariant: what was recorded of it says here what it said there. Called by
//! [`crate::FallbackStore`], and by [`super::transfer`].

use epitome_kernel::types::{ArrivalRewrite, EntryKey, HistoryHash, TokenUsage};
use epitome_kernel::{Beginning, StoreError};
use rustc_hash::FxHashSet;

use super::RecordStore;
use super::draft::LineDraft;
use super::event::{
    ActedBody, AnsweredBody, BroughtBody, CompactedBody, MarkedBody, SaidBody, SessionEvent,
    TakenBody,
};
use super::fold::SessionFold;
use super::journal::begun;
use crate::copied::{SessionCopy, SessionFacts};
use crate::log::RecordLog;

impl<L: RecordLog> RecordStore<L> {
    /// Sessions whose numbers of [`epitome_kernel::Journal::revision`] begin here.
    pub(crate) fn counting_from(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// Takes a session up, of which maybe not all could be read, with what was erased in its scope;
    /// one that is there already stays as it is.
    pub(crate) fn take_up(
        &self,
        scope: &str,
        copy: &SessionCopy,
        erased: &[EntryKey],
    ) -> Result<(), StoreError> {
        let Some(facts) = &copy.facts else { return Ok(()) };
        self.bar(scope, erased)?;
        self.write(scope, &facts.info.name, |fold, draft| {
            if fold.is_new() {
                let (label, opened) = (facts.info.label.clone(), facts.opened);
                let beginning = Beginning { label, opened, from: None };
                draft.push(SessionEvent::Begun(begun(&beginning, &facts.info.started)));
                taken(fold, copy, draft);
            }
            Ok(())
        })
    }
}

/// Adds what a copy brings that a session does not have.
pub(super) fn taken(fold: &SessionFold, copy: &SessionCopy, draft: &mut LineDraft) {
    let mut known: FxHashSet<HistoryHash> = FxHashSet::default();
    for it in &copy.said {
        known.insert(it.said.chain);
        if fold.history.find(it.said.chain).is_none() {
            let bytes = it.said.bytes.as_deref();
            let bytes = bytes.map(|bytes| draft.put_bytes(fold.name(), bytes));
            let body = SaidBody { indexed: it.indexed, ..SaidBody::of(&it.said, it.after, bytes) };
            draft.push(SessionEvent::Said(body));
        }
    }
    let is_there = |chain: HistoryHash| {
        chain == HistoryHash::default()
            || known.contains(&chain)
            || fold.history.find(chain).is_some()
    };
    let answers = answered(fold.name(), copy, is_there, draft);
    let is_new = |rewrite: &&ArrivalRewrite| {
        !fold.decided.rewrites.contains_key(&(rewrite.key, rewrite.part))
    };
    let rewrites = copy.rewrites.iter().filter(is_new).cloned();
    draft.extend(rewrites.map(SessionEvent::Rewritten));
    for &(place, mark) in &copy.marks {
        draft.push(SessionEvent::Marked(MarkedBody { mark, place: Some(place) }));
    }
    for (place, recorded) in &copy.epochs {
        let made = CompactedBody::of(recorded, Some(*place));
        draft.push(SessionEvent::Compacted(Box::new(made)));
    }
    for (place, act) in &copy.acts {
        let (act, place) = (act.clone(), Some(*place));
        draft.push(SessionEvent::Acted(ActedBody { act, place }));
    }
    draft.put_texts(fold, &copy.kept);
    if let Some(facts) = &copy.facts {
        // What is missing of it comes with its next request.
        let is_whole = is_there(facts.info.head);
        stated(fold, facts, is_whole, draft);
        draft.push(SessionEvent::Taken(Box::new(figures(fold, facts, answers))));
    }
}

/// How many answers there are, and what was counted for them.
#[derive(Clone, Copy, Default)]
struct AnswerCount {
    count: u64,
    usage: TokenUsage,
}

/// Adds the answers whose places are there: where its place is missing one proves nothing.
fn answered(
    line: &str,
    copy: &SessionCopy,
    is_there: impl Fn(HistoryHash) -> bool,
    draft: &mut LineDraft,
) -> AnswerCount {
    let (mut all, mut indexed) = (AnswerCount::default(), Vec::new());
    for it in copy.answers.iter().filter(|it| is_there(it.answer.after)) {
        let answer = &it.answer;
        let bytes = answer.bytes.as_deref().map(|bytes| draft.put_bytes(line, bytes));
        draft.push(SessionEvent::Answered(AnsweredBody {
            after: answer.after,
            ahead: answer.ahead,
            chain: (answer.ahead > 0 && answer.key.is_some()).then_some(answer.chain),
            key: answer.key,
            bytes,
            text: answer.text,
            usage: answer.usage,
            stop: answer.stop.clone(),
            at: answer.at.clone(),
            // What was counted is taken over as a whole.
            is_whole: false,
        }));
        all.count += 1;
        all.usage += answer.usage;
        if it.indexed && bytes.is_some() {
            indexed.push(answer.chain);
        }
    }
    if !indexed.is_empty() {
        draft.push(SessionEvent::Indexed(indexed));
    }
    all
}

/// Adds what is known of a session beside what is counted.
fn stated(fold: &SessionFold, facts: &SessionFacts, is_whole: bool, draft: &mut LineDraft) {
    let info = &facts.info;
    if fold.memos != facts.memos {
        draft.push(SessionEvent::Noted(facts.memos.clone()));
    }
    draft.push(SessionEvent::Measured(facts.meter));
    if fold.info().title != info.title {
        draft.push(SessionEvent::Titled(info.title.clone()));
    }
    let (head, messages) =
        if is_whole { (info.head, info.figures.messages) } else { Default::default() };
    let (format, model, at) = (info.format.clone(), info.model.clone(), info.last.clone());
    let brought = BroughtBody { head, messages, format, model, at, turn: None };
    draft.push(SessionEvent::Brought(brought));
}

/// What was counted, but for the answers that are there, and for the new ones.
fn figures(fold: &SessionFold, facts: &SessionFacts, new: AnswerCount) -> TakenBody {
    let there = &fold.history.answers;
    let mut counted = new.usage;
    there.iter().for_each(|answer| counted += answer.answered.usage);
    let (figures, usage) = (&facts.info.figures, facts.info.figures.usage);
    TakenBody {
        last: facts.info.last.clone(),
        turns: figures.turns,
        answers: figures.answers.saturating_sub(new.count + there.len() as u64),
        tokens: figures.tokens,
        total: figures.total,
        limit: figures.limit,
        usage: TokenUsage {
            input: usage.input.saturating_sub(counted.input),
            cache_read: usage.cache_read.saturating_sub(counted.cache_read),
            cache_written: usage.cache_written.saturating_sub(counted.cache_written),
            output: usage.output.saturating_sub(counted.output),
        },
        trashed: facts.info.trashed,
    }
}
