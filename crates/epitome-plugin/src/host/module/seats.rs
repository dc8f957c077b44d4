//! How many calls run at a time.
//!
//! Invariant: a seat that was taken is free again when its holder falls, by a panic too.

use std::sync::{Condvar, Mutex, PoisonError};

/// Seats, some of which are free.
#[derive(Debug)]
pub(super) struct Seats {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A seat that is taken.
pub(super) struct TakenSeat<'s>(&'s Seats);

impl Seats {
    pub(super) fn new(all: usize) -> Self {
        Self { free: Mutex::new(all.max(1)), freed: Condvar::new() }
    }

    /// Takes a seat, once one is free.
    pub(super) fn take(&self) -> TakenSeat<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.freed.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        TakenSeat(self)
    }
}

impl Drop for TakenSeat<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
