//! How the state that threads share is locked.
//!
//! Invariant: each change under such a lock is whole, so a panic elsewhere leaves what it guards sound.
//! Used by whatever outlives one request.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a lock guards, once nobody else has it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
