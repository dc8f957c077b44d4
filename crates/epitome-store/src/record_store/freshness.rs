//! How what is remembered of a line stands to the log.
//!
//! Invariant: the only place where this folder reads the clock. Nothing that is written depends on it.

use std::time::{Duration, Instant};

/// So long a request may go by what it began with.
const LENT_FOR: Duration = Duration::from_millis(250);

/// How a fold stands to its line in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It was asked for, or a batch behind it was taken, since a request went by it.
    #[default]
    Known,
    /// A request that is to be recorded behind it goes by it, since then, and does not ask again: its
    /// batch finds out whether others went on meanwhile.
    Lent(Instant),
    /// Others had gone on by then.
    Overtaken,
}

impl Freshness {
    /// Lent from now on.
    pub(super) fn lent() -> Self {
        Self::Lent(now())
    }

    /// Whether a request goes by it at present.
    pub(super) fn is_lent(self) -> bool {
        matches!(self, Self::Lent(since) if now().duration_since(since) < LENT_FOR)
    }

    /// What it is once the log was asked, where `moved` says whether others had gone on.
    pub(super) fn asked(self, moved: bool) -> Self {
        match self {
            Self::Lent(_) if moved => Self::Overtaken,
            Self::Lent(_) => Self::Known,
            told => told,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "what others do is to be seen soon")]
fn now() -> Instant {
    Instant::now()
}
