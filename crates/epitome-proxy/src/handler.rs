//! One request, from its head to the answer that is relayed.
//!
//! Invariant: a request ends in exactly one answer: its upstream's, or a fault in the client's
//! protocol. Its credentials go to the one upstream of its API. Called by `server`, per request.

use std::sync::Arc;
use std::time::SystemTime;

use epitome::Sent;
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, UPGRADE,
    WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::access::{Visitor, visitor};
use crate::app::App;
use crate::body::{Sending, Untaken, take};
use crate::fault::Fault;
use crate::headers::{self, Payload};
use crate::prepare::{Came, Prepared, TooLarge};
use crate::refusal::{Refusal, refusal};
use crate::route::{Dialect, Route, Task, route};
use crate::skip::Skip;
use crate::stream::{Outflow, Relay};
use crate::tee::{Line, Tee};
use crate::upstream::Unreachable;
use crate::url::Url;
use crate::{count, pages};

/// Answers a request.
pub(crate) async fn handle(app: Arc<App>, request: Request<Incoming>) -> Response<Outflow> {
    let (head, body) = request.into_parts();
    let route = route(&head.method, head.uri.path(), &head.headers);
    match answer(&app, head, body, route).await {
        Ok(response) => response,
        Err(fault) => {
            tracing::warn!(status = fault.status.as_u16(), message = fault.message, "refused");
            refused(&fault, route.dialect)
        }
    }
}

async fn answer(
    app: &Arc<App>,
    head: Parts,
    body: Incoming,
    route: Route,
) -> Result<Response<Outflow>, Fault> {
    let Some(visitor) = visitor(app.settings.tokens.as_deref(), &head.headers) else {
        let message = "this proxy needs an access token: send one of its token file as \
            `authorization: Bearer TOKEN`, or as `x-epitome-token: TOKEN` beside your own credential";
        return Err(Fault::new(StatusCode::UNAUTHORIZED, message));
    };
    if let Some(page) = pages::page(app, &head) {
        return page;
    }
    let upgrade = head.headers.get(UPGRADE).map(HeaderValue::as_bytes).unwrap_or_default();
    if head.method == Method::CONNECT || upgrade.eq_ignore_ascii_case(b"websocket") {
        let message = "this proxy opens no tunnels and no websockets: send plain HTTP requests, or \
            turn websockets off in the client";
        return Err(Fault::new(StatusCode::NOT_IMPLEMENTED, message));
    }
    let Some(upstream) = app.settings.upstreams.of(route.api).cloned() else {
        let message = format!(
            "no upstream is set for {0}, where {1} {2} belongs: start with `--{0}-upstream URL`",
            route.api.name(),
            head.method,
            head.uri.path()
        );
        return Err(Fault::new(StatusCode::NOT_FOUND, message));
    };
    let started = app.now();
    let call = Call { app: Arc::clone(app), head, route, visitor, upstream, started };
    match route.task {
        Task::Pass => call.pass(body, None).await,
        _ if is_signed(&call.head.headers) => call.pass(body, Some(Skip::Signed)).await,
        Task::Prompt | Task::Count => call.converse(body).await,
    }
}

/// Whether a signature of AWS covers the body (hazard 33).
fn is_signed(headers: &HeaderMap) -> bool {
    let credential = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
    credential.starts_with(b"AWS4-HMAC-SHA256")
}

/// A fault as an answer.
fn refused(fault: &Fault, dialect: Dialect) -> Response<Outflow> {
    let mut response = Response::new(Outflow::whole(fault.body(dialect)));
    *response.status_mut() = fault.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if fault.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A request on its way.
struct Call {
    app: Arc<App>,
    head: Parts,
    route: Route,
    visitor: Visitor,
    upstream: Url,
    started: SystemTime,
}

impl Call {
    /// Passes everything through, both ways.
    async fn pass(self, body: Incoming, skip: Option<Skip>) -> Result<Response<Outflow>, Fault> {
        let answer = self.send(Sending::Streamed(body), Payload::AsItCame, false).await?;
        if let Some(skip) = skip {
            self.app.prepared(Some(skip));
        }
        let (mut head, from) = answer.into_parts();
        head.headers = headers::downward(head.headers);
        tell(&mut head.headers, None, skip);
        Ok(Response::from_parts(head, Outflow::Relayed(Relay::new(from))))
    }

    /// Sends what is made of a conversation, and relays what comes back.
    async fn converse(self, body: Incoming) -> Result<Response<Outflow>, Fault> {
        let settings = &self.app.settings;
        let body = take(body, settings.max_body, settings.body_within);
        let body = body.await.map_err(|why| self.untaken(why))?;
        let came = Came {
            headers: self.head.headers.clone(),
            body,
            dialect: self.route.dialect,
            task: self.route.task,
            tenant: self.visitor.tenant.clone(),
        };
        let prepared = self.app.prepare.prepare(&came).await;
        let mut prepared = prepared.map_err(|TooLarge(most)| self.too_large(most))?;
        if !prepared.side {
            self.app.prepared(prepared.skip);
        }
        if settings.shadow {
            prepared.body = came.body.clone();
            prepared.payload = Payload::AsItCame;
        }
        let mut line =
            Line::new(&self.route, &self.visitor.tenant, &prepared, self.started, self.app.now());
        let body = Sending::whole(prepared.body.clone());
        let answer = self.send(body, prepared.payload, true).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(fault) => {
                self.dump(&came, &prepared, fault.status);
                self.app.put(&line.closed(fault.status, self.app.now()));
                return Err(fault);
            }
        };
        if self.route.task == Task::Count && answer.status().is_success() {
            return Ok(self.counted(answer, &came, &prepared, line).await);
        }
        if answer.status().is_client_error() || answer.status().is_server_error() {
            let mut refusal = refusal(answer).await;
            if let Some(smaller) = self.smaller(&mut prepared, &refusal).await {
                line.overflowed(&self.visitor.tenant, &prepared);
                answer = self.send(smaller, Payload::Plain, true).await?;
                if answer.status().is_success() {
                    return Ok(self.relayed(answer, &came, prepared, line));
                }
                refusal = self::refusal(answer).await;
            }
            return Ok(self.refused(refusal, &came, prepared, line));
        }
        Ok(self.relayed(answer, &came, prepared, line))
    }

    /// Sends a request up; `heard` says that its answer is read here.
    async fn send(
        &self,
        body: Sending,
        payload: Payload,
        heard: bool,
    ) -> Result<Response<Incoming>, Fault> {
        let uri = self.upstream.join(&self.head.uri).map_err(|error| {
            let message =
                format!("`{}` is no path that can be sent on: {error}", self.head.uri.path());
            Fault::new(StatusCode::BAD_REQUEST, message)
        })?;
        let mut request = Request::new(body);
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = uri;
        let came = self.head.headers.clone();
        *request.headers_mut() = headers::upward(came, payload, self.visitor.spent, heard);
        self.app.upstream.send(request).await.map_err(|error| self.unreachable(&error))
    }

    /// A smaller prompt for one that was refused as too long, where there is one (hazard 28).
    async fn smaller(&self, prepared: &mut Prepared, refusal: &Refusal) -> Option<Sending> {
        let told = refusal.overflow?;
        let Some((ask, sent)) = &prepared.made else { return None };
        if self.app.settings.shadow || self.route.task == Task::Count {
            return None;
        }
        let again = self.app.prepare.again(ask, sent, told).await?;
        if again.prompt.bytes == prepared.body {
            return None;
        }
        prepared.body = again.prompt.bytes.clone();
        prepared.made = Some((ask.clone(), again));
        Some(Sending::whole(prepared.body.clone()))
    }

    /// An answer of the model, relayed as it comes.
    fn relayed(
        &self,
        answer: Response<Incoming>,
        came: &Came,
        prepared: Prepared,
        line: Line,
    ) -> Response<Outflow> {
        let (mut head, from) = answer.into_parts();
        self.dump(came, &prepared, head.status);
        head.headers = headers::downward(head.headers);
        tell(&mut head.headers, prepared.made.as_ref().map(|(_, sent)| sent), prepared.skip);
        let line = line.answered(head.status, self.app.now());
        let encoding = head.headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
        let plain = encoding.is_none_or(|encoding| encoding.eq_ignore_ascii_case(b"identity"));
        let format = self.route.dialect.format();
        let tee = Tee::new(Arc::clone(&self.app), prepared, format, plain, line);
        let (dialect, upstream) = (self.route.dialect, self.upstream.to_string());
        let relay = Relay::answer(from, &head.headers, dialect, upstream, Box::new(tee));
        Response::from_parts(head, Outflow::Relayed(relay))
    }

    /// An error of the upstream: as it is, or in the client's protocol.
    fn refused(
        &self,
        refusal: Refusal,
        came: &Came,
        prepared: Prepared,
        line: Line,
    ) -> Response<Outflow> {
        let Refusal { mut head, before, rest, whole, overflow } = refusal;
        self.dump(came, &prepared, head.status);
        self.app.put(&line.closed(head.status, self.app.now()));
        head.headers = headers::downward(head.headers);
        tell(&mut head.headers, prepared.made.as_ref().map(|(_, sent)| sent), prepared.skip);
        let dialect = self.route.dialect;
        let translated = whole
            .as_ref()
            .and_then(|whole| crate::fault::translated(dialect, head.status, whole, overflow));
        let body = match translated {
            Some(translated) => {
                head.headers.remove(CONTENT_LENGTH);
                Outflow::whole(translated)
            }
            None => Outflow::Relayed(Relay::new(rest).after(before)),
        };
        Response::from_parts(head, body)
    }

    /// The size of a conversation, so that the client's own compaction still begins.
    async fn counted(
        &self,
        answer: Response<Incoming>,
        came: &Came,
        prepared: &Prepared,
        line: Line,
    ) -> Response<Outflow> {
        let refusal = refusal(answer).await;
        let Refusal { mut head, before, rest, whole, .. } = refusal;
        self.dump(came, prepared, head.status);
        self.app.put(&line.closed(head.status, self.app.now()));
        head.headers = headers::downward(head.headers);
        let sent = prepared.made.as_ref().map(|(_, sent)| sent);
        tell(&mut head.headers, sent, prepared.skip);
        let raised = match (sent, whole) {
            (Some(sent), Some(whole)) if !self.app.settings.shadow => {
                count::raised(&whole, &sent.prompt, self.app.settings.floor_share)
            }
            _ => None,
        };
        let body = match raised {
            Some(raised) => {
                head.headers.remove(CONTENT_LENGTH);
                Outflow::whole(raised)
            }
            None => Outflow::Relayed(Relay::new(rest).after(before)),
        };
        Response::from_parts(head, body)
    }

    fn dump(&self, came: &Came, prepared: &Prepared, status: StatusCode) {
        self.app.dump(&self.head, &self.upstream, came, prepared, status);
    }

    fn untaken(&self, why: Untaken) -> Fault {
        let settings = &self.app.settings;
        match why {
            Untaken::TooLarge => self.too_large(settings.max_body),
            Untaken::Hung => {
                let seconds = settings.body_within.as_secs();
                let message = format!(
                    "the body of the request stopped in the middle for {seconds} seconds: send it \
                     again"
                );
                Fault::new(StatusCode::REQUEST_TIMEOUT, message)
            }
            Untaken::Broken => {
                let message = "the body of the request broke off or is malformed: send it again";
                Fault::new(StatusCode::BAD_REQUEST, message)
            }
        }
    }

    fn too_large(&self, most: usize) -> Fault {
        let message = format!(
            "the body of the request is larger than the {most} bytes that this proxy takes: compact \
             the conversation or begin a new one"
        );
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    fn unreachable(&self, error: &Unreachable) -> Fault {
        let Unreachable { connected, reason } = error;
        let (upstream, api) = (&self.upstream, self.route.api.name());
        let message = match connected {
            false => format!(
                "the upstream {upstream} cannot be reached: {reason}; check that it runs and that \
                 `--{api}-upstream` names it"
            ),
            true => format!(
                "the upstream {upstream} hung up before it answered: {reason}; send the request \
                 again, and look into the upstream's log where that does not help"
            ),
        };
        Fault::new(StatusCode::BAD_GATEWAY, message)
    }
}

/// Says in the head of an answer what was done to its request.
fn tell(headers: &mut HeaderMap, sent: Option<&Sent>, skip: Option<Skip>) {
    if let Some(sent) = sent {
        let [raw, now] = sent.prompt.tokens;
        if let Ok(session) = HeaderValue::from_str(&sent.prompt.session) {
            headers.insert(headers::SESSION, session);
        }
        if let Ok(tokens) = HeaderValue::from_str(&format!("{raw}/{now}")) {
            headers.insert(headers::TOKENS, tokens);
        }
    }
    if let Some(skip) = skip {
        headers.insert(headers::SKIP, HeaderValue::from_static(skip.word()));
    }
}
