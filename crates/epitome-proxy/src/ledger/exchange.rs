//! One request, from its arrival to the last byte of its answer, as the ledger is told of it.
//!
//! Invariant: plain data, filled in by the server as the request goes along; times are passed in.

use std::time::{Duration, SystemTime};

use epitome::PaidArm;
use epitome_types::{Event, EventKind, TokenBreakdown, TokenUsage};

use crate::api::UpstreamApi;
use crate::skip::ProxySkip;

/// A finished request.
#[derive(Clone, Debug)]
pub(crate) struct FinishedRequest {
    /// Whose token it came with; none where the proxy needs no token.
    pub(crate) tenant: Option<String>,
    /// The conversation that it belongs to; none where it passed through untouched, or where that
    /// was not found out.
    pub(crate) session: Option<String>,
    /// Whether it is none of the conversation's turns: a title, a count, the client's own summary.
    pub(crate) side: bool,
    /// What it asks for.
    pub(crate) asks: RequestTerms,
    /// How large it was.
    pub(crate) sizes: RequestSizes,
    /// What was done to the conversation.
    pub(crate) acts: RequestEffects,
    /// Why the prompt was not sent as it should have been.
    pub(crate) skip: Option<ProxySkip>,
    /// What came back.
    pub(crate) answer: RequestAnswer,
    /// When all that was.
    pub(crate) times: RequestTimes,
    /// The arm of an experiment that its conversation belongs to, if any.
    pub(crate) arm: Option<PaidArm>,
}

/// What a request asks for, and on whose behalf.
#[derive(Clone, Debug)]
pub(crate) struct RequestTerms {
    /// The API that it is made to.
    pub(crate) api: UpstreamApi,
    /// The model.
    pub(crate) model: Option<String>,
    /// What the client calls itself.
    pub(crate) client: Option<String>,
    /// The window, in tokens, where it names one.
    pub(crate) window: Option<u64>,
    /// The largest prompt that was to be sent, in tokens, as far as that is known; 0 where it is not.
    pub(crate) limit: u64,
    /// Whether it asks for a cache of an hour, which costs more to write. Goes where the answer does not
    /// say for how long what was written is kept.
    pub(crate) hour: bool,
    /// The span that it is a part of, as the client's header names it, where it does.
    pub(crate) parent: Option<String>,
}

/// How large a request was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestSizes {
    /// Tokens of the prompt as it came, in our count.
    pub(crate) raw: TokenBreakdown,
    /// Tokens of the prompt as it was sent, in our count.
    pub(crate) sent: TokenBreakdown,
    /// Bytes of the body as it came, decoded.
    pub(crate) bytes_in: u64,
    /// Bytes of the body as it was sent.
    pub(crate) bytes_sent: u64,
}

/// What the provider made of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestAnswer {
    /// The model that answered, as the answer says.
    pub(crate) model: Option<String>,
    /// The status of the answer; 0 where there was none.
    pub(crate) status: u16,
    /// What the provider counted, where it said so.
    pub(crate) usage: Option<TokenUsage>,
    /// Of what was written to its cache, tokens that it keeps for an hour, where it says how long.
    pub(crate) written_for_hour: Option<u64>,
    /// Whether the provider refused a first prompt as too long, and a smaller one was sent.
    pub(crate) overflowed: bool,
    /// Whether the provider refused the prompt as too long, whatever came of that.
    pub(crate) too_long: bool,
    /// How much of the request the provider says that it left out, such as reasoning that was bound
    /// to another prompt.
    pub(crate) transformed: u64,
}

/// When a request came, and how long its parts took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestTimes {
    /// When it arrived.
    pub(crate) started: SystemTime,
    /// How long it took from there until it was ready to be sent.
    pub(crate) prepared: Duration,
    /// How long the provider took from there until the first byte of its answer.
    pub(crate) first_byte: Option<Duration>,
    /// When the last byte of the answer was passed on.
    pub(crate) ended: SystemTime,
}

/// What was done to a conversation with one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestEffects {
    /// Compressions that were applied: tokens of the prompt before and after each.
    pub(crate) compressions: Vec<[u64; 2]>,
    /// Tool results that were made smaller before they were first sent.
    pub(crate) arrivals: u64,
    /// Whether the prompt no longer begins as the one before it, by our doing.
    pub(crate) rewritten: bool,
    /// Whether another process made a prompt of the conversation since the last one of this.
    pub(crate) overtaken: bool,
}

impl RequestEffects {
    /// What these events tell.
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut acts = Self::default();
        for event in events {
            match event.what {
                EventKind::Compressed { .. } => {
                    acts.compressions.push(event.tokens);
                    acts.rewritten = true;
                }
                EventKind::CompactionChanged { .. } => acts.rewritten = true,
                EventKind::ToolResultOffloaded { .. } | EventKind::ToolResultDigested { .. } => {
                    acts.arrivals += 1;
                }
                _ => {}
            }
        }
        acts
    }
}

impl RequestAnswer {
    /// Whether the provider took the prompt: what it refuses, nobody pays for.
    pub(crate) fn was_taken(&self) -> bool {
        (200..400).contains(&self.status)
    }

    /// What the provider counted; a count of nothing is none.
    pub(crate) fn counted(&self) -> Option<TokenUsage> {
        self.usage.filter(|usage| self.was_taken() && usage.prompt() > 0)
    }
}
