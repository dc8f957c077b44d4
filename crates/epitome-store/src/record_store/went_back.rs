//! A line that ends before what this process knows of it: the log was put back to an earlier state.
//!
//! Invariant: what was decided is said again, what was said its client brings again with its next request.
//! Compressions are not: the originals that they lead to went with the log. Called by [`super::damage`].

use epitome_kernel::StoreError;
use epitome_kernel::types::JournalMark;

use super::RecordStore;
use super::damage::line_name;
use super::draft::LineDraft;
use super::event::{ActedBody, MarkedBody, SessionEvent};
use super::fold::{PlacedRecord, SessionFold};
use crate::log::RecordLog;

/// What becomes of it, and what is to be done.
const WENT_BACK: &str = "what was decided since is added again, and clients bring what was said; if the log \
                         was not put back on purpose, look for its newer state";

impl<L: RecordLog> RecordStore<L> {
    /// Tells of a line that went back, and adds what this process knows beyond it.
    pub(super) fn say_again(
        &self,
        scope: &str,
        fold: &mut SessionFold,
        before: &SessionFold,
    ) -> Result<(), StoreError> {
        let (ends, known) = (fold.position.seq, before.position.seq);
        if fold.used.first != before.used.first || ends >= known {
            return Ok(());
        }
        let of = line_name(scope, fold.name());
        let cause = format!("{of} went back: it ends with the record {ends}, and had {known}");
        self.tell(cause, WENT_BACK);
        let mut draft = LineDraft::seeded(self.log.passing_seed());
        draft.extend(beyond(fold, before));
        match draft.is_empty() {
            true => Ok(()),
            // Where others write there meanwhile, they know as much.
            false => self.add(scope, fold, draft).map(drop),
        }
    }
}

/// What was decided beyond what a line has.
fn beyond(fold: &SessionFold, before: &SessionFold) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    let (has, had) = (&fold.decided, &before.decided);
    let is_new = |act: &&PlacedRecord<_>| {
        has.acts.iter().all(|it| (it.place, &it.what) != (act.place, &act.what))
    };
    for act in had.acts.iter().filter(is_new) {
        let (act, place) = (act.what.clone(), Some(act.place));
        events.push(SessionEvent::Acted(ActedBody { act, place }));
    }
    let pins = |it: &&PlacedRecord<JournalMark>| {
        matches!(it.what, JournalMark::Pin(_) | JournalMark::Unpin(_))
    };
    let known = has.marks.iter().filter(pins).count();
    for mark in had.marks.iter().filter(pins).skip(known) {
        let (mark, place) = (mark.what, Some(mark.place));
        events.push(SessionEvent::Marked(MarkedBody { mark, place }));
    }
    if fold.memos != before.memos {
        events.push(SessionEvent::Noted(before.memos.clone()));
    }
    for (about, lesson) in &before.scope.lessons {
        if fold.scope.lessons.get(about) != Some(lesson) {
            let (about, lesson) = (about.clone(), lesson.clone());
            events.push(SessionEvent::Learned { about, lesson });
        }
    }
    let banned = before.scope.banned.iter().filter(|key| !fold.scope.banned.contains(key));
    events.extend(banned.map(|key| SessionEvent::Banned(*key)));
    events
}
