//! Why a request went out otherwise than it should have.
//!
//! Invariant: every request that passes here unchanged though it holds a conversation, or larger than
//! its limit, has one of these words, in a header, in the log and in the figures (RULES 136).

/// A reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxySkip {
    /// The body cannot be read: its encoding, its JSON, or what it is made of.
    Unreadable,
    /// The provider keeps the conversation and is sent its end (RULES 126).
    Chained,
    /// The provider was asked to clear results by itself (RULES 127).
    ProviderEdits,
    /// A signature covers the body (RULES 133).
    Signed,
    /// What cannot shrink exceeds the limit, which may be a wrong figure (RULES 6).
    Oversized,
    /// Making the prompt took too long.
    Deadline,
    /// Making the prompt failed.
    Failed,
    /// Making the prompt met a fault in this program.
    Panicked,
    /// The provider took the body as it came, and not the prompt that was made of it.
    Refused,
}

impl ProxySkip {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ProxySkip::Unreadable => "unreadable",
            ProxySkip::Chained => "chained",
            ProxySkip::ProviderEdits => "provider-edits",
            ProxySkip::Signed => "signed",
            ProxySkip::Oversized => "oversized",
            ProxySkip::Deadline => "deadline",
            ProxySkip::Failed => "failed",
            ProxySkip::Panicked => "panicked",
            ProxySkip::Refused => "refused",
        }
    }

    /// The word of a reason, where it is one.
    pub(crate) fn known(word: &str) -> Option<&'static str> {
        let all = [
            ProxySkip::Unreadable,
            ProxySkip::Chained,
            ProxySkip::ProviderEdits,
            ProxySkip::Signed,
            ProxySkip::Oversized,
            ProxySkip::Deadline,
            ProxySkip::Failed,
            ProxySkip::Panicked,
            ProxySkip::Refused,
        ];
        all.into_iter().map(ProxySkip::word).find(|known| *known == word)
    }

    /// Whether its history is in the journal all the same: a prompt was made, and that one or the body
    /// itself was sent.
    pub(crate) fn is_recorded(self) -> bool {
        matches!(self, ProxySkip::Oversized | ProxySkip::Refused)
    }

    /// Whether something went wrong; otherwise it is as the request wants it.
    pub(crate) fn is_failure(self) -> bool {
        let as_wanted =
            [ProxySkip::Chained, ProxySkip::ProviderEdits, ProxySkip::Signed, ProxySkip::Oversized];
        !as_wanted.contains(&self)
    }
}
