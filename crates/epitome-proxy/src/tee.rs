//! What is learned of a request and its answer on the way: for the ledger, and for the journal.
//!
//! Invariant: it only listens. A fault in it ends the listening and nothing else; what it holds of
//! an answer is bounded. Called by `handler` and, chunk by chunk, by `stream`.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use epitome::{Ask, Format, Sent};
use epitome_wire::Reply;
use http::StatusCode;

use crate::app::App;
use crate::ledger::{Acts, Exchange};
use crate::prepare::Prepared;
use crate::route::Route;
use crate::stream::Listener;

/// A request's line in the ledger, while it is being written.
pub(crate) struct Line(Exchange);

impl Line {
    /// A request that is ready to be sent.
    pub(crate) fn new(
        route: &Route,
        tenant: &str,
        prepared: &Prepared,
        started: SystemTime,
        now: SystemTime,
    ) -> Self {
        let mut line = Self(Exchange {
            session: None,
            api: route.api,
            model: prepared.model.clone(),
            raw: Default::default(),
            sent: Default::default(),
            acts: Acts::default(),
            overflowed: false,
            usage: None,
            status: 0,
            skip: prepared.skip,
            side: prepared.side,
            started,
            prepared: since(started, now),
            first_byte: None,
            ended: now,
            bytes_in: prepared.plain.len() as u64,
            bytes_sent: 0,
        });
        line.made(tenant, prepared);
        line
    }

    /// A smaller prompt was made, since the first was refused as too long.
    pub(crate) fn overflowed(&mut self, tenant: &str, prepared: &Prepared) {
        self.0.overflowed = true;
        self.made(tenant, prepared);
    }

    fn made(&mut self, tenant: &str, prepared: &Prepared) {
        let Self(line) = self;
        line.bytes_sent = prepared.body.len() as u64;
        let Some((_, Sent { prompt, .. })) = &prepared.made else { return };
        line.session = Some(match tenant {
            "local" => prompt.session.clone(),
            _ => format!("{tenant}/{}", prompt.session),
        });
        [line.raw, line.sent] = prompt.by;
        line.acts = Acts::of(&prompt.events);
    }

    /// The head of its answer is there.
    pub(crate) fn answered(mut self, status: StatusCode, now: SystemTime) -> Self {
        self.0.status = status.as_u16();
        let ready = self.0.started + self.0.prepared;
        self.0.first_byte = Some(since(ready, now));
        self
    }

    /// It ends with an answer that nobody needs to listen to.
    pub(crate) fn closed(self, status: StatusCode, now: SystemTime) -> Exchange {
        let Self(line) = self.answered(status, now);
        Exchange { ended: now, ..line }
    }
}

fn since(earlier: SystemTime, later: SystemTime) -> std::time::Duration {
    later.duration_since(earlier).unwrap_or_default()
}

/// Listens to an answer of the model.
pub(crate) struct Tee {
    app: Arc<App>,
    /// None where the answer cannot be read, or what reads it failed.
    reply: Option<Reply>,
    /// What the answer is for, where the journal wants it.
    made: Option<(Ask, Sent)>,
    line: Option<Line>,
}

impl Tee {
    pub(crate) fn new(
        app: Arc<App>,
        prepared: Prepared,
        format: Format,
        plain: bool,
        line: Line,
    ) -> Self {
        // Where a prompt could not be made, its history is not in the journal either.
        let made = prepared.made.filter(|_| prepared.skip.is_none());
        Self { app, reply: plain.then(|| Reply::new(format)), made, line: Some(line) }
    }

    /// Does something with what reads the answer; a fault in that is its end.
    fn with<T>(&mut self, work: impl FnOnce(Reply) -> T) -> Option<T> {
        let reply = self.reply.take()?;
        let done = panic::catch_unwind(AssertUnwindSafe(|| work(reply)));
        done.inspect_err(|_| tracing::error!("an answer cannot be listened to")).ok()
    }
}

impl Listener for Tee {
    fn heard(&mut self, bytes: &Bytes) {
        self.reply = self.with(|mut reply| {
            reply.hear(bytes);
            reply
        });
    }

    fn ended(&mut self, whole: bool) {
        let Some(Line(mut line)) = self.line.take() else { return };
        let answer = self.with(Reply::end).unwrap_or_default();
        tracing::debug!(whole, complete = answer.complete, "an answer ended");
        line.usage = answer.usage;
        line.ended = self.app.now();
        self.app.put(&line);
        if let Some((ask, sent)) = self.made.take() {
            self.app.answered(ask, sent, answer);
        }
    }
}
