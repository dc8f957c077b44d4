//! A session of another store, taken up here.
//!
//! Invariant: what was recorded of it says here what it said there. Called by
//! [`crate::FallbackStore`].

use epitome_kernel::types::HistoryHash;
use epitome_kernel::{Beginning, StoreError};

use super::RecordStore;
use super::draft::LineDraft;
use super::event::{
    ActedBody, BroughtBody, CompactedBody, MarkedBody, SaidBody, SessionEvent, TakenBody,
};
use super::journal::begun;
use crate::copied::SessionCopy;
use crate::log::RecordLog;

impl<L: RecordLog> RecordStore<L> {
    /// Sessions whose numbers of [`epitome_kernel::Journal::revision`] begin here.
    pub(crate) fn counting_from(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// Takes a session up; one that is there already stays as it is.
    pub(crate) fn take(&self, scope: &str, copy: SessionCopy) -> Result<(), StoreError> {
        let name = copy.info.name.clone();
        self.write(scope, super::SCOPE_LINE, |fold, draft| {
            let new = copy.erased.iter().filter(|key| !fold.scope.banned.contains(key));
            draft.extend(new.map(|key| SessionEvent::Banned(*key)));
            Ok(())
        })?;
        self.write(scope, &name, |fold, draft| {
            if fold.is_new() {
                taken(&name, &copy, draft);
            }
            Ok(())
        })?;
        match copy.answer.filter(|_| !copy.said.is_empty()) {
            // It is only known for what it proves; where its place is missing it proves nothing.
            Some(answer) => self.add_answer(scope, &name, &answer).or(Ok(())),
            None => Ok(()),
        }
    }
}

fn taken(name: &str, copy: &SessionCopy, draft: &mut LineDraft) {
    let info = &copy.info;
    let (label, opened) = (info.label.clone(), copy.opened);
    let beginning = Beginning { label, opened, from: None };
    draft.push(SessionEvent::Begun(begun(&beginning, &info.started)));
    let mut after = HistoryHash::default();
    for said in &copy.said {
        let bytes = said.bytes.as_deref().map(|bytes| draft.put_bytes(name, bytes));
        let before = std::mem::replace(&mut after, said.chain);
        // The search of the store that it came from knows it, or will.
        let body = SaidBody { indexed: true, ..SaidBody::of(said, before, bytes) };
        draft.push(SessionEvent::Said(body));
    }
    draft.extend(copy.rewrites.iter().cloned().map(SessionEvent::Rewritten));
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
    draft.push(SessionEvent::Noted(copy.memos.clone()));
    draft.push(SessionEvent::Measured(copy.meter));
    draft.push(SessionEvent::Titled(info.title.clone()));
    // What is missing of it comes with its next request.
    let is_whole = copy.said.len() >= info.figures.messages as usize;
    let (head, messages) =
        if is_whole { (info.head, info.figures.messages) } else { Default::default() };
    let (format, model, at) = (info.format.clone(), info.model.clone(), info.last.clone());
    let brought = BroughtBody { head, messages, format, model, at, turn: None };
    draft.push(SessionEvent::Brought(brought));
    draft.push(SessionEvent::Taken(Box::new(TakenBody {
        last: info.last.clone(),
        turns: info.figures.turns,
        answers: info.figures.answers,
        tokens: info.figures.tokens,
        total: info.figures.total,
        limit: info.figures.limit,
        usage: info.figures.usage,
        trashed: info.trashed,
    })));
}
