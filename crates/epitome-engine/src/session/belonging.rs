//! Which session a request belongs to, and how sure that is.

/// The session that a request belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Belonging {
    pub(crate) session: String,
    /// Whether it is told from others for good: what goes on from it needs no further proof.
    pub(crate) proven: bool,
    /// Where it was just begun and has what another one had: how many entries that one had sent, and
    /// whether these were all that it had come to.
    pub(crate) inherited: Option<(usize, bool)>,
}

impl Belonging {
    pub(crate) fn to(session: &str, proven: bool) -> Self {
        Self { session: session.to_owned(), proven, inherited: None }
    }
}
