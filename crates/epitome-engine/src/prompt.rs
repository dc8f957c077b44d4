//! What a request became.
//!
//! Invariant: the bytes keep every rule of their provider that the request kept. Made by `send`.

use bytes::Bytes;
use epitome_types::hook::Status;
use epitome_types::{CompactionId, Event, HistoryHash, TokenBreakdown, TokenUsage};
use epitome_wire::Format;

use epitome_admin::learned::AnsweredPrompt;

use crate::limit_subject::LimitSubject;

/// A prompt, ready to be sent.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The request; the bytes that came in where nothing was to do.
    pub bytes: Bytes,
    /// The session it belongs to.
    pub session: String,
    /// Tokens of the request as it came, and as it is sent, tool schemas included.
    pub tokens: [u64; 2],
    /// The same by category.
    pub by: [TokenBreakdown; 2],
    /// The provider's limit that it was held to, in tokens.
    pub limit: u64,
    /// Whether it is within the limit. It is not only where the limit was guessed and what cannot
    /// shrink exceeds it.
    pub fits: bool,
    /// The history that it is made of.
    pub head: HistoryHash,
    /// The epoch in force.
    pub epoch: Option<CompactionId>,
    /// How far the conversation can be relied on, where a policy says so.
    pub status: Option<Status>,
    /// Whether another process made a prompt of the session since the last one of this.
    pub overtaken: bool,
    /// What happened on the way.
    pub events: Vec<Event>,
    /// Whom it is for, and who counted it.
    pub(crate) about: LimitSubject,
}

impl Prompt {
    /// What an answer says of it.
    pub(crate) fn counted(&self, format: Format, usage: TokenUsage) -> AnsweredPrompt {
        let [_, by] = self.by;
        AnsweredPrompt {
            tokens: self.tokens[1],
            images: by.images,
            counted: usage.prompt(),
            cuts: format == Format::Ollama,
        }
    }
}
