//! Answers that come to their end and are not in the journal yet.
//!
//! Invariant: the last of an answer waits for its record, and a request that only answers prove for
//! those that were there before it came; neither waits for a store that hangs. An answer proves that
//! a request goes on from a conversation, so it has to be recorded before the request behind it is
//! looked up, by this process or by another one. Called by `tee` and `prepare`.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// A record takes some milliseconds. A request that does not wait for one may be taken for another
/// conversation, so a slow disk is waited for, and a store that hangs is not.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last of an answer waits no longer than this: whoever reads it sees the end of it late, and only
/// another process would not know it yet.
const HELD: Duration = Duration::from_secs(1);

/// What the last of an answer waits for.
pub(crate) type AnswerRecorded = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The answers that are being recorded.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    open: watch::Sender<BTreeSet<u64>>,
    next: AtomicU64,
}

/// An answer that is being recorded, until this is dropped.
#[derive(Debug)]
pub(crate) struct RecordingTicket {
    recordings: Arc<Recordings>,
    number: u64,
}

impl Recordings {
    /// A client is about to have the whole of an answer.
    pub(crate) fn begin(self: &Arc<Self>) -> RecordingTicket {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.send_modify(|open| {
            open.insert(number);
        });
        RecordingTicket { recordings: Arc::clone(self), number }
    }

    /// Waits until the answers are recorded that are under way now, or patience ends.
    pub(crate) async fn settled(&self) {
        let before = self.next.load(Ordering::Relaxed);
        let mut open = self.open.subscribe();
        let earlier = open.wait_for(|open| open.first().is_none_or(|first| *first >= before));
        if tokio::time::timeout(PATIENCE, earlier).await.is_err() {
            tracing::warn!("answers are slow to be recorded; a request did not wait for them");
        }
    }
}

impl RecordingTicket {
    /// Waits until the answer is recorded, or patience ends.
    pub(crate) fn recorded(&self) -> AnswerRecorded {
        let (number, mut open) = (self.number, self.recordings.open.subscribe());
        Box::pin(async move {
            let gone = open.wait_for(|open| !open.contains(&number));
            if tokio::time::timeout(HELD, gone).await.is_err() {
                tracing::warn!("an answer is slow to be recorded; its end did not wait for it");
            }
        })
    }
}

impl Drop for RecordingTicket {
    fn drop(&mut self) {
        self.recordings.open.send_modify(|open| {
            open.remove(&self.number);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_waits_for_answers_before_it_and_for_no_later_one() {
        let recordings = Arc::new(Recordings::default());
        recordings.settled().await;
        let earlier = recordings.begin();
        let waiting = tokio::spawn({
            let recordings = Arc::clone(&recordings);
            async move { recordings.settled().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let later = recordings.begin();
        drop(earlier);
        waiting.await.unwrap();
        let recorded = tokio::spawn(later.recorded());
        tokio::task::yield_now().await;
        assert!(!recorded.is_finished());
        drop(later);
        recorded.await.unwrap();
        assert!(recordings.open.borrow().is_empty());
    }
}
