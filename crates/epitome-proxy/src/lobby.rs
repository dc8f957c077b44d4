//! Connections on which nothing is asked.
//!
//! Invariant: they hold no place that a request needs. There are never more of them than the bound:
//! for each one more, the one that waits longest is closed. Used by `server`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::task::AbortHandle;

/// Those that wait, by when they began to.
#[derive(Debug)]
pub(crate) struct Lobby {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    seats: BTreeMap<u64, AbortHandle>,
}

/// One connection's seat, taken while nothing is asked on it.
#[derive(Debug)]
pub(crate) struct Seat {
    lobby: Arc<Lobby>,
    /// What ends the connection.
    end: OnceLock<AbortHandle>,
    /// Since when it waits.
    since: Mutex<Option<u64>>,
}

impl Lobby {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), waiting: Mutex::default() })
    }

    /// A seat for a connection that is about to be served.
    pub(crate) fn seat(self: &Arc<Self>) -> Arc<Seat> {
        let lobby = Arc::clone(self);
        Arc::new(Seat { lobby, end: OnceLock::new(), since: Mutex::default() })
    }

    /// Closes half of those that wait, the ones that do longest.
    pub(crate) fn thin_out(&self) {
        let most = self.locked().seats.len() / 2;
        self.keep(most);
    }

    /// Closes those that wait longest until no more than so many do.
    fn keep(&self, most: usize) {
        let mut waiting = self.locked();
        while waiting.seats.len() > most {
            if let Some((_, end)) = waiting.seats.pop_first() {
                end.abort();
            }
        }
    }

    /// Each change under this lock is whole, so a panic elsewhere leaves what it guards sound.
    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// The connection is served by the task that this ends, and waits for its first request.
    pub(crate) fn served_by(&self, end: AbortHandle) {
        let mut since = self.since();
        // Where a request came before this was said, the connection does not wait.
        if self.end.set(end).is_ok() && since.is_none() {
            *since = self.waits();
        }
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        if let Some(end) = self.end.get() {
            end.abort();
        }
    }

    /// A request came.
    pub(crate) fn rise(&self) {
        // Where it has none any more, what ends the connection is on its way.
        let since = self.since().replace(u64::MAX);
        if let Some(since) = since {
            self.lobby.locked().seats.remove(&since);
        }
    }

    /// The request has its answer, and the connection waits again.
    pub(crate) fn sit(&self) {
        let mut since = self.since();
        *since = self.waits();
    }

    fn waits(&self) -> Option<u64> {
        let end = self.end.get()?.clone();
        let mut waiting = self.lobby.locked();
        waiting.next += 1;
        let now = waiting.next;
        waiting.seats.insert(now, end);
        drop(waiting);
        self.lobby.keep(self.lobby.most);
        Some(now)
    }

    fn since(&self) -> MutexGuard<'_, Option<u64>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.rise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_longest_leaves_and_whoever_is_served_stays() {
        let lobby = Lobby::new(2);
        let tasks: Vec<_> = (0..5).map(|_| tokio::spawn(std::future::pending::<()>())).collect();
        let seats: Vec<_> = tasks.iter().map(|_| lobby.seat()).collect();
        // Its request came before it was known who serves it.
        seats[4].rise();
        for (seat, task) in seats.iter().zip(&tasks) {
            seat.served_by(task.abort_handle());
            if Arc::ptr_eq(seat, &seats[0]) {
                seat.rise();
            }
        }
        tokio::task::yield_now().await;
        let ended: Vec<_> = tasks.iter().map(|task| task.is_finished()).collect();
        assert_eq!(ended, [false, true, false, false, false]);
        // The first one has its answer: now it waits least.
        seats[0].sit();
        tokio::task::yield_now().await;
        let ended: Vec<_> = tasks.iter().map(|task| task.is_finished()).collect();
        assert_eq!(ended, [false, true, true, false, false]);
        lobby.thin_out();
        tokio::task::yield_now().await;
        assert!(tasks[3].is_finished() && !tasks[0].is_finished() && !tasks[4].is_finished());
    }
}
