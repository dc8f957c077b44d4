//! How what is remembered of a line stands to the log.
//!
//! Invariant: the only place where this folder reads the clock. Nothing that is written depends on it.

use std::time::{Duration, Instant};

/// So long a request may go by what it began with.
const LENT_FOR: Duration = Duration::from_millis(250);

/// How a fold stands to its line in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Who goes by it asks the log first.
    #[default]
    Known,
    /// The log was asked then for whoever begins a turn, who need not ask once more.
    Asked(Instant),
    /// A turn that is to be recorded behind it goes by it, since then, and does not ask again: its batch
    /// finds out whether others went on meanwhile.
    Lent(Instant),
    /// Others had gone on by then.
    Overtaken,
}

impl Freshness {
    /// Asked for just now.
    pub(super) fn asked() -> Self {
        Self::Asked(now())
    }

    /// Lent from now on.
    pub(super) fn lent() -> Self {
        Self::Lent(now())
    }

    /// Whether a turn goes by it at present.
    pub(super) fn is_lent(self) -> bool {
        matches!(self, Self::Lent(since) if is_recent(since))
    }

    /// Whether the log was asked for it just now, or a turn goes by it.
    pub(super) fn is_recent(self) -> bool {
        matches!(self, Self::Asked(since) | Self::Lent(since) if is_recent(since))
    }

    /// What it is once the log was asked, where `moved` says whether others had gone on.
    pub(super) fn after(self, moved: bool) -> Self {
        match self {
            Self::Lent(_) if moved => Self::Overtaken,
            Self::Overtaken => Self::Overtaken,
            Self::Known | Self::Asked(_) | Self::Lent(_) => Self::Known,
        }
    }
}

fn is_recent(since: Instant) -> bool {
    now().duration_since(since) < LENT_FOR
}

#[expect(clippy::disallowed_methods, reason = "what others do is to be seen soon")]
fn now() -> Instant {
    Instant::now()
}
