//! Which session a request belongs to, and how sure that is.

/// The session that a request belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Belonging {
    pub(crate) session: String,
    /// Whether it is told from others for good: what goes on from it needs no further proof.
    pub(crate) proven: bool,
    pub(crate) origin: HistoryOrigin,
    /// Whether the request is recorded in it.
    pub(crate) is_recorded: bool,
}

/// Where the history of a request comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HistoryOrigin {
    /// It is its session's own.
    #[default]
    Own,
    /// Its session was just begun and has what another one had.
    Branched {
        /// How many entries that one had sent.
        sent: usize,
        /// Whether these were all that it had come to.
        ends: bool,
    },
    /// It begins with a summary that its client has in place of the session's.
    Compacted,
}

impl Belonging {
    pub(crate) fn to(session: &str, proven: bool) -> Self {
        Self { session: session.to_owned(), proven, ..Self::default() }
    }
}
