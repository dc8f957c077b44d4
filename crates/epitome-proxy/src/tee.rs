//! What is learned of a request and its answer on the way: for the ledger, and for the journal.
//!
//! Invariant: it only listens. A fault in it ends the listening and nothing else; what it holds of
//! an answer is bounded. Called by `call` and, chunk by chunk, by `stream`.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use epitome::{Format, RoutedPrompt, keeps_an_hour};
use epitome_wire::ResponseParser;
use http::header::USER_AGENT;
use http::{HeaderMap, StatusCode};

use crate::api::UpstreamApi;
use crate::app::App;
use crate::clients;
use crate::ledger::{
    FinishedRequest, RequestAnswer, RequestEffects, RequestSizes, RequestTerms, RequestTimes,
    clipped,
};
use crate::prepare::{Prepared, ReadyPrompt};
use crate::recording::{AnswerRecorded, RecordingTicket};
use crate::skip::ProxySkip;
use crate::stream::RelayListener;

/// Names the span that a request is a part of, in W3C's words.
const PARENT: &str = "traceparent";

/// A request's line in the ledger, while it is being written.
pub(crate) struct LedgerLineWriter(FinishedRequest);

impl LedgerLineWriter {
    /// A request that has arrived.
    pub(crate) fn new(api: UpstreamApi, tenant: Option<String>, started: SystemTime) -> Self {
        Self(FinishedRequest {
            tenant,
            session: None,
            side: false,
            asks: RequestTerms {
                api,
                model: None,
                client: None,
                window: None,
                limit: 0,
                hour: false,
                parent: None,
            },
            sizes: RequestSizes::default(),
            acts: RequestEffects::default(),
            skip: None,
            answer: RequestAnswer::default(),
            times: RequestTimes {
                started,
                prepared: Duration::ZERO,
                first_byte: None,
                ended: started,
            },
            arm: None,
        })
    }

    /// It is left alone.
    pub(crate) fn skipped(&mut self, skip: ProxySkip) {
        self.0.skip = Some(skip);
    }

    /// Its head says who asks.
    pub(crate) fn asked_by(&mut self, headers: &HeaderMap) {
        let client = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        self.0.asks.client = client.map(|client| clipped(client).to_owned());
        self.0.asks.window = clients::window(headers);
        let parent = headers.get(PARENT).and_then(|parent| parent.to_str().ok());
        self.0.asks.parent = parent.map(|parent| clipped(parent).to_owned());
    }

    /// It is ready to be sent.
    pub(crate) fn prepared(&mut self, tenant: &str, prepared: &Prepared, now: SystemTime) {
        let Self(line) = self;
        line.asks.model.clone_from(&prepared.model);
        (line.skip, line.side) = (prepared.skip, prepared.side);
        line.arm = prepared.arm.as_ref().map(|arm| arm.paid.clone());
        line.times.prepared = since(line.times.started, now);
        line.sizes.bytes_in = prepared.plain.len() as u64;
        line.asks.hour = match prepared.sent() {
            Some(sent) => sent.keeps_an_hour(),
            None => keeps_an_hour(&prepared.plain),
        };
        self.made(tenant, prepared);
    }

    /// Its provider refused it as too long.
    pub(crate) fn too_long(&mut self) {
        self.0.answer.too_long = true;
    }

    /// A smaller prompt was made, since the first was refused as too long.
    pub(crate) fn overflowed(&mut self, tenant: &str, prepared: &Prepared) {
        self.0.answer.overflowed = true;
        self.made(tenant, prepared);
    }

    /// The body went out as it came, since the prompt that was made of it was refused.
    pub(crate) fn refused_as_made(&mut self, prepared: &Prepared) {
        let Self(line) = self;
        line.skip = prepared.skip;
        line.sizes.bytes_sent = prepared.body.len() as u64;
        line.sizes.sent = line.sizes.raw;
        line.acts = RequestEffects::default();
    }

    fn made(&mut self, tenant: &str, prepared: &Prepared) {
        let Self(line) = self;
        line.sizes.bytes_sent = prepared.body.len() as u64;
        let Some(RoutedPrompt { prompt, .. }) = prepared.sent() else { return };
        line.session = Some(match tenant {
            "local" => prompt.session.clone(),
            _ => format!("{tenant}/{}", prompt.session),
        });
        [line.sizes.raw, line.sizes.sent] = prompt.by;
        let acts = RequestEffects::of(&prompt.events);
        line.acts = RequestEffects { overtaken: prompt.overtaken, ..acts };
        line.asks.limit = prompt.limit;
    }

    /// The head of its answer is there.
    pub(crate) fn answered(mut self, status: StatusCode, now: SystemTime) -> Self {
        self.0.answer.status = status.as_u16();
        let ready = self.0.times.started + self.0.times.prepared;
        self.0.times.first_byte = Some(since(ready, now));
        self
    }

    /// It ends with an answer that nobody needs to listen to.
    pub(crate) fn closed(self, status: StatusCode, now: SystemTime) -> FinishedRequest {
        let Self(mut line) = self.answered(status, now);
        line.times.ended = now;
        line
    }

    /// It ends with a fault of ours; no answer came.
    pub(crate) fn refused(self, status: StatusCode, now: SystemTime) -> FinishedRequest {
        let Self(mut line) = self;
        (line.answer.status, line.times.ended) = (status.as_u16(), now);
        line
    }

    /// Its client went away before there was an answer.
    pub(crate) fn abandoned(self, now: SystemTime) -> FinishedRequest {
        let Self(mut line) = self;
        line.times.ended = now;
        line
    }
}

fn since(earlier: SystemTime, later: SystemTime) -> Duration {
    later.duration_since(earlier).unwrap_or_default()
}

/// Listens to an answer of the model.
pub(crate) struct ResponseTee {
    app: Arc<App>,
    /// None where the answer cannot be read, or what reads it failed.
    reply: Option<ResponseParser>,
    /// What the answer is for, where the journal wants it.
    made: Option<ReadyPrompt>,
    /// Held from before the client has the whole answer until it is recorded.
    ticket: Option<RecordingTicket>,
    line: Option<LedgerLineWriter>,
}

impl ResponseTee {
    pub(crate) fn new(
        app: Arc<App>,
        prepared: Prepared,
        format: Format,
        plain: bool,
        line: LedgerLineWriter,
    ) -> Self {
        // Where a prompt could not be made, its history is not in the journal either.
        let is_recorded = prepared.skip.is_none_or(ProxySkip::is_recorded);
        let made = prepared.made.filter(|_| is_recorded);
        Self {
            app,
            reply: plain.then(|| ResponseParser::new(format)),
            made,
            ticket: None,
            line: Some(line),
        }
    }

    /// Does something with what reads the answer; a fault in that is its end.
    fn with<T>(&mut self, work: impl FnOnce(ResponseParser) -> T) -> Option<T> {
        let reply = self.reply.take()?;
        let done = panic::catch_unwind(AssertUnwindSafe(|| work(reply)));
        done.inspect_err(|_| tracing::error!("an answer cannot be listened to")).ok()
    }
}

impl RelayListener for ResponseTee {
    fn heard(&mut self, bytes: &Bytes) -> Option<AnswerRecorded> {
        self.reply = self.with(|mut reply| {
            reply.hear(bytes);
            reply
        });
        let is_complete = self.reply.as_ref().is_some_and(ResponseParser::is_complete);
        if is_complete && self.ticket.is_none() && self.made.is_some() {
            self.ticket = Some(self.app.recording());
        }
        let is_closed = self.reply.as_ref().is_some_and(ResponseParser::is_closed);
        if is_closed { self.ended(true) } else { None }
    }

    fn ended(&mut self, whole: bool) -> Option<AnswerRecorded> {
        let LedgerLineWriter(mut line) = self.line.take()?;
        let answer = self.with(ResponseParser::end).unwrap_or_default();
        tracing::debug!(whole, complete = answer.complete, "an answer ended");
        line.answer.usage = answer.usage;
        line.answer.written_for_hour = answer.written_for_hour;
        line.answer.model = answer.model.as_deref().map(|model| clipped(model).to_owned());
        line.answer.transformed = answer.transformed;
        if answer.transformed > 0 {
            tracing::warn!(
                session = line.session.as_deref().unwrap_or_default(),
                count = answer.transformed,
                "the provider left out reasoning of the prompt (`input_transformations`)"
            );
        }
        line.times.ended = self.app.now();
        self.app.put(&line);
        let made = self.made.take()?;
        let ticket = self.ticket.take().unwrap_or_else(|| self.app.recording());
        let recorded = ticket.recorded();
        self.app.answered(made, answer, ticket);
        Some(recorded)
    }
}
