//! Answers on their way down, chunk by chunk.
//!
//! Invariant: the bytes of an answer are never changed or put together, and only the last of them are
//! held back: until the answer is recorded, since its client's next request may come to another
//! process. Where an upstream breaks off a stream, its last words are an error event of the client's
//! protocol (RULES 130). A client that goes away drops the answer, and with it the upstream's connection.
//! Polled by the server.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use epitome_page::PageEvents;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::api::ApiDialect;
use crate::fault::ProxyFault;
use crate::recording::AnswerRecorded;
use crate::upstream::innermost;

/// So many bytes of an answer tell which one it is.
const OPENING: usize = 512;

/// What a client is sent.
pub(crate) enum Outflow {
    /// All of it, until it is handed over.
    Whole(Option<Bytes>),
    /// As it comes from the upstream.
    Relayed(Box<Relay>),
    /// What changes, as it does, until the browser leaves.
    Events(PageEvents),
}

impl Outflow {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Outflow::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty()))
    }

    pub(crate) fn relayed(relay: Relay) -> Self {
        Outflow::Relayed(Box::new(relay))
    }
}

/// Who is told of an answer that is relayed, and may have what is told wait for something.
pub(crate) trait RelayListener: Send {
    /// Some of its bytes.
    fn heard(&mut self, bytes: &Bytes) -> Option<AnswerRecorded>;
    /// It came to its end; `whole` says that this was the end that the upstream meant.
    fn ended(&mut self, whole: bool) -> Option<AnswerRecorded>;
}

/// What is next for the client.
type RelayStep = Option<Result<Frame<Bytes>, hyper::Error>>;

/// What the client gets once the answer is recorded.
struct HeldEnd {
    step: RelayStep,
    until: AnswerRecorded,
}

/// An answer that is passed on as it comes.
pub(crate) struct Relay {
    /// What was read of it already.
    before: VecDeque<Bytes>,
    from: Incoming,
    listener: Option<Box<dyn RelayListener>>,
    /// How an unfinished answer can be ended; none where it can only be cut off.
    words: Option<StreamEnding>,
    held: Option<HeldEnd>,
    over: bool,
}

/// How a stream of events or lines is ended.
struct StreamEnding {
    dialect: ApiDialect,
    upstream: String,
    /// The last two bytes that were passed on.
    last: [u8; 2],
    /// How the answer began, where its end must say which one it is.
    opening: Vec<u8>,
}

impl Relay {
    /// An answer that nobody here listens to.
    pub(crate) fn new(from: Incoming) -> Self {
        Self { before: VecDeque::new(), from, listener: None, words: None, held: None, over: false }
    }

    /// An answer of a model; `upstream` is named where it breaks off.
    pub(crate) fn answer(
        from: Incoming,
        headers: &HeaderMap,
        dialect: ApiDialect,
        upstream: String,
        listener: Box<dyn RelayListener>,
    ) -> Self {
        let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        let is_stream =
            kind.starts_with(b"text/event-stream") || kind.starts_with(b"application/x-ndjson");
        let can_end = is_stream && !headers.contains_key(CONTENT_LENGTH);
        let words = StreamEnding { dialect, upstream, last: *b"\n\n", opening: Vec::new() };
        let words = can_end.then_some(words);
        let mut relay = Self::new(from);
        (relay.words, relay.listener) = (words, Some(listener));
        relay
    }

    /// The same with what was read of it already put back.
    pub(crate) fn after(mut self, before: VecDeque<Bytes>) -> Self {
        self.before = before;
        self
    }

    /// What comes of the bytes that are next.
    fn pass(&mut self, bytes: Bytes, context: &mut Context<'_>) -> Poll<RelayStep> {
        let mut until = self.listener.as_mut().and_then(|listener| listener.heard(&bytes));
        if let Some(words) = &mut self.words {
            words.hear(&bytes);
        }
        // Where the length is known, the server does not come back for the end.
        if self.before.is_empty() && self.from.is_end_stream() {
            until = self.end(true).or(until);
        }
        self.hold(Some(Ok(Frame::data(bytes))), until, context)
    }

    /// A step, or the wait for it.
    fn hold(
        &mut self,
        step: RelayStep,
        until: Option<AnswerRecorded>,
        context: &mut Context<'_>,
    ) -> Poll<RelayStep> {
        let Some(until) = until else { return Poll::Ready(step) };
        self.held = Some(HeldEnd { step, until });
        self.release(context)
    }

    /// What was held back, once it may go.
    fn release(&mut self, context: &mut Context<'_>) -> Poll<RelayStep> {
        let Some(held) = &mut self.held else { return Poll::Ready(None) };
        if held.until.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(self.held.take().and_then(|held| held.step))
    }

    fn is_over(&self) -> bool {
        self.held.is_none() && self.is_read()
    }

    fn is_read(&self) -> bool {
        self.over || self.before.is_empty() && self.from.is_end_stream()
    }

    fn end(&mut self, whole: bool) -> Option<AnswerRecorded> {
        self.over = true;
        self.listener.take().and_then(|mut listener| listener.ended(whole))
    }
}

impl StreamEnding {
    fn hear(&mut self, bytes: &Bytes) {
        for byte in bytes.iter().rev().take(2).rev() {
            self.last = [self.last[1], *byte];
        }
        if self.dialect == ApiDialect::Responses {
            let room = OPENING - self.opening.len();
            self.opening.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    fn spoken(&self, error: &hyper::Error) -> Bytes {
        let message = format!(
            "the upstream {} broke off its answer: {}; what came before is all there is, send the \
             request again",
            self.upstream,
            innermost(error)
        );
        let inside = match self.dialect {
            ApiDialect::Ollama => self.last[1] != b'\n',
            _ => self.last != *b"\n\n",
        };
        let id = named(&self.opening);
        ProxyFault::new(StatusCode::BAD_GATEWAY, message).last_words(self.dialect, inside, id)
    }
}

/// The id that an answer gives itself in its first event.
fn named(opening: &[u8]) -> Option<&str> {
    let (_, after) = str::from_utf8(opening).ok()?.split_once("\"id\":")?;
    after.trim_start().strip_prefix('"')?.split_once('"').map(|(id, _)| id)
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl Body for Outflow {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RelayStep> {
        let relay = match self.get_mut() {
            Outflow::Whole(bytes) => {
                return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))));
            }
            Outflow::Events(events) => {
                return events.poll_next(context).map(|bytes| bytes.map(|it| Ok(Frame::data(it))));
            }
            Outflow::Relayed(relay) => relay,
        };
        if relay.held.is_some() {
            return relay.release(context);
        }
        if relay.over {
            return Poll::Ready(None);
        }
        if let Some(bytes) = relay.before.pop_front() {
            return relay.pass(bytes, context);
        }
        match Pin::new(&mut relay.from).poll_frame(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                let until = relay.end(true);
                relay.hold(None, until, context)
            }
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(bytes) => relay.pass(bytes, context),
                Err(trailers) => Poll::Ready(Some(Ok(trailers))),
            },
            Poll::Ready(Some(Err(error))) => {
                let until = relay.end(false);
                let step = match &relay.words {
                    Some(words) => Ok(Frame::data(words.spoken(&error))),
                    None => Err(error),
                };
                relay.hold(Some(step), until, context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Outflow::Whole(bytes) => bytes.is_none(),
            // Whoever listens is told of the end by a poll.
            Outflow::Relayed(relay) => relay.listener.is_none() && relay.is_over(),
            Outflow::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outflow::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Outflow::Relayed(relay) if relay.before.is_empty() && relay.words.is_none() => {
                relay.from.size_hint()
            }
            Outflow::Relayed(_) | Outflow::Events(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_first_event() {
        let check = |opening: &str, id| assert_eq!(named(opening.as_bytes()), id, "{opening}");
        let first = r#"data: {"type":"response.created","response":{"id":"resp_1","object""#;
        check(first, Some("resp_1"));
        check(&first.replace(":\"resp", ": \"resp"), Some("resp_1"));
        check(&first[..first.len() - 12], None);
        check("", None);
    }
}
