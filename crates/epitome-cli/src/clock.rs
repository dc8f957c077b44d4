//! The machine's clock.
//!
//! Invariant: the only place of the command that asks what time it is.

use std::time::Instant;

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "the command owns the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How long ago that was, in milliseconds.
pub(crate) fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
