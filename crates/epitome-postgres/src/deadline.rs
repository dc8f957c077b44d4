//! Until when something is waited for.
//!
//! Invariant: the only place where this crate reads the clock. Nothing that is written depends on it.

use std::time::{Duration, Instant};

/// The end of somebody's patience.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So far from now.
    pub(crate) fn within(patience: Duration) -> Self {
        Self(now() + patience)
    }

    /// Whether it lies beyond a pause.
    pub(crate) fn leaves(self, pause: Duration) -> bool {
        now() + pause < self.0
    }
}

/// When something was done last.
#[derive(Debug, Default)]
pub(crate) struct LastTime(Option<Instant>);

impl LastTime {
    /// Takes note that it is done now, unless it was within `pause`.
    pub(crate) fn is_due(&mut self, pause: Duration) -> bool {
        let now = now();
        let is_due = self.0.is_none_or(|last| now.duration_since(last) >= pause);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that does not answer is not waited for long"
)]
fn now() -> Instant {
    Instant::now()
}
