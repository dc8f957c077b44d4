//! A request on its way to its upstream, and the answer on its way back.
//!
//! Invariant: credentials go to the one upstream of their API. A prompt is sent at most twice, and
//! the second time only where the first was refused before anything of an answer came: a smaller one
//! where it was too long, and the body as it came where our change may be what is refused. Called by
//! `handler`.

use std::sync::Arc;

use bytes::Bytes;
use epitome::RoutedPrompt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::access::Visitor;
use crate::app::App;
use crate::arrivals::ArrivingBody;
use crate::body::{Sending, Untaken, take};
use crate::count;
use crate::fault::{ProxyFault, translated};
use crate::headers::{self, Payload};
use crate::prepare::{Declined, IncomingRequest, Prepared};
use crate::response::{RelayedResponse, hear};
use crate::route::{RequestRoute, RouteTask};
use crate::skip::ProxySkip;
use crate::stream::{Outflow, Relay};
use crate::tee::{LedgerLineWriter, ResponseTee};
use crate::tether;
use crate::upstream::Unreachable;
use crate::url::UpstreamUrl;

/// A request on its way.
pub(crate) struct ProxiedRequest {
    pub(crate) app: Arc<App>,
    pub(crate) head: Parts,
    pub(crate) route: RequestRoute,
    pub(crate) visitor: Visitor,
    pub(crate) upstream: UpstreamUrl,
}

/// What an upstream answers.
enum UpstreamAnswer {
    /// The model speaks.
    Spoken(Response<Incoming>),
    /// An error, or a count.
    Heard(RelayedResponse),
}

impl ProxiedRequest {
    /// Passes everything through, both ways.
    pub(crate) async fn pass(
        self,
        body: ArrivingBody,
        skip: Option<ProxySkip>,
        line: &mut Option<LedgerLineWriter>,
    ) -> Result<Response<Outflow>, ProxyFault> {
        if let Some(skip) = skip {
            self.app.prepared(Some(skip));
        }
        let answer = self.send(Sending::Streamed(body), Payload::AsItCame, false).await?;
        let (mut head, from) = answer.into_parts();
        if let Some(mut line) = line.take() {
            if let Some(skip) = skip {
                line.skipped(skip);
            }
            self.app.put(&line.closed(head.status, self.app.now()));
        }
        head.headers = headers::downward(head.headers);
        tell(&mut head.headers, None, skip);
        Ok(Response::from_parts(head, Outflow::relayed(Relay::new(from))))
    }

    /// Sends what is made of a conversation, and relays what comes back.
    pub(crate) async fn converse(
        self,
        body: ArrivingBody,
        line: &mut Option<LedgerLineWriter>,
    ) -> Result<Response<Outflow>, ProxyFault> {
        let settings = &self.app.settings;
        let body = take(body, settings.limits.body, settings.deadlines.body);
        let came = IncomingRequest {
            body: body.await.map_err(|why| self.untaken(why))?,
            headers: self.head.headers.clone(),
            api: self.route.api,
            dialect: self.route.dialect,
            task: self.route.task,
            tenant: self.visitor.tenant.clone(),
        };
        let prepared = self.app.prepare.prepare(&came).await;
        let mut prepared = prepared.map_err(|why| match why {
            Declined::TooLarge(most) => self.too_large(most),
            Declined::Tethered => {
                let fault = ProxyFault::new(StatusCode::BAD_REQUEST, tether::MESSAGE);
                ProxyFault { code: Some(tether::CODE), ..fault }
            }
        })?;
        if let (Some(mcp), Some(sent)) = (&settings.own.mcp, prepared.sent()) {
            let profile = prepared.arm.as_ref().map(|arm| &*arm.paid.arm);
            mcp.heard(&self.visitor.tenant, profile, &sent.prompt.session);
        }
        if settings.shadow {
            prepared.watched(&came);
        }
        if let Some(line) = line {
            line.asked_by(&came.headers);
            line.prepared(&self.visitor.tenant, &prepared, self.app.now());
        }
        let answer = self.exchange(&mut prepared, line).await;
        if !prepared.side {
            self.app.prepared(prepared.skip);
        }
        let status = match &answer {
            Ok(UpstreamAnswer::Spoken(answer)) => answer.status(),
            Ok(UpstreamAnswer::Heard(heard)) => heard.head.status,
            Err(fault) => fault.status,
        };
        self.app.dump(&self.head, &self.upstream, &came, &prepared, status);
        Ok(match (answer?, line.take()) {
            (UpstreamAnswer::Spoken(answer), Some(line)) => self.relayed(answer, prepared, line),
            (UpstreamAnswer::Spoken(answer), None) => {
                answer.map(|from| Outflow::relayed(Relay::new(from)))
            }
            (UpstreamAnswer::Heard(heard), line) => {
                if let Some(line) = line {
                    self.app.put(&line.closed(status, self.app.now()));
                }
                self.told(heard, &prepared)
            }
        })
    }

    /// Sends a prompt, and where that is refused another one, if there is one.
    async fn exchange(
        &self,
        prepared: &mut Prepared,
        line: &mut Option<LedgerLineWriter>,
    ) -> Result<UpstreamAnswer, ProxyFault> {
        let body = Sending::whole(prepared.body.clone());
        let answer = self.send(body, prepared.payload, true).await?;
        let is_spoken = |answer: &Response<Incoming>| {
            self.route.task == RouteTask::Prompt && answer.status().as_u16() < 400
        };
        if is_spoken(&answer) {
            return Ok(UpstreamAnswer::Spoken(answer));
        }
        let heard = hear(answer, self.app.settings.hub.signatures()).await;
        if heard.overflow.is_none() {
            return Ok(self.once_more(prepared, heard, line).await);
        }
        if let Some(line) = line.as_mut() {
            line.too_long();
        }
        let Some(body) = self.smaller(prepared, &heard).await else {
            return Ok(UpstreamAnswer::Heard(heard));
        };
        if let Some(line) = line.as_mut() {
            line.overflowed(&self.visitor.tenant, prepared);
        }
        let answer = self.send(Sending::whole(body), prepared.payload, true).await?;
        if is_spoken(&answer) {
            return Ok(UpstreamAnswer::Spoken(answer));
        }
        let heard = hear(answer, self.app.settings.hub.signatures()).await;
        Ok(UpstreamAnswer::Heard(heard))
    }

    /// What comes of a request whose prompt was refused: where its provider calls that invalid, what we
    /// changed may be what it does not take, so the body goes out as it came (RULES 136). Where that is
    /// no better, the first refusal is told, which is of what we sent.
    async fn once_more(
        &self,
        prepared: &mut Prepared,
        refusal: RelayedResponse,
        line: &mut Option<LedgerLineWriter>,
    ) -> UpstreamAnswer {
        let is_invalid = matches!(
            refusal.head.status,
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY
        );
        let is_changed = prepared.made.is_some() && prepared.body != prepared.plain;
        if !is_invalid || !is_changed || self.is_watched(prepared) {
            return UpstreamAnswer::Heard(refusal);
        }
        let body = Sending::whole(prepared.plain.clone());
        let answer = self.send(body, prepared.payload, true).await;
        let Some(answer) = answer.ok().filter(|answer| answer.status().as_u16() < 400) else {
            prepared.skip = Some(ProxySkip::Refused);
            if let Some(line) = line {
                line.skipped(ProxySkip::Refused);
            }
            return UpstreamAnswer::Heard(refusal);
        };
        prepared.refused();
        if let Some(line) = line {
            line.refused_as_made(prepared);
        }
        match self.route.task {
            RouteTask::Prompt => UpstreamAnswer::Spoken(answer),
            _ => UpstreamAnswer::Heard(hear(answer, self.app.settings.hub.signatures()).await),
        }
    }

    /// Sends a request up; `heard` says that its answer is read here.
    async fn send(
        &self,
        body: Sending,
        payload: Payload,
        heard: bool,
    ) -> Result<Response<Incoming>, ProxyFault> {
        let uri = self.upstream.join(&self.head.uri).ok_or_else(|| {
            let message = format!(
                "`{}` is no path that can be sent on: ask for one that begins with a slash",
                self.head.uri.path()
            );
            ProxyFault::new(StatusCode::BAD_REQUEST, message)
        })?;
        let mut request = Request::new(body);
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = uri;
        let came = self.head.headers.clone();
        *request.headers_mut() = headers::upward(came, payload, self.visitor.spent, heard);
        self.app.upstream.send(request).await.map_err(|error| self.unreachable(&error))
    }

    /// Makes a smaller prompt of one that was refused as too long, where that can be (RULES 128).
    async fn smaller(&self, prepared: &mut Prepared, heard: &RelayedResponse) -> Option<Bytes> {
        let told = heard.overflow?;
        let made = prepared.made.as_ref().filter(|_| self.may_change(prepared))?;
        let again = self.app.prepare.again(made, told).await?;
        if again.sent.prompt.bytes == made.sent.prompt.bytes {
            return None;
        }
        prepared.body = again.outgoing(self.route.dialect);
        prepared.made = Some(again);
        Some(prepared.body.clone())
    }

    /// Whether what is sent may differ from what came.
    fn may_change(&self, prepared: &Prepared) -> bool {
        !self.is_watched(prepared) && self.route.task != RouteTask::Count
    }

    /// Whether what came goes out, whatever would be made of it.
    fn is_watched(&self, prepared: &Prepared) -> bool {
        self.app.settings.shadow || prepared.is_held_out()
    }

    /// An answer of the model, relayed as it comes.
    fn relayed(
        &self,
        answer: Response<Incoming>,
        prepared: Prepared,
        line: LedgerLineWriter,
    ) -> Response<Outflow> {
        let (mut head, from) = answer.into_parts();
        head.headers = headers::downward(head.headers);
        tell(&mut head.headers, prepared.sent(), prepared.skip);
        let line = line.answered(head.status, self.app.now());
        let encoding = head.headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
        let plain = encoding.is_none_or(|encoding| encoding.eq_ignore_ascii_case(b"identity"));
        let dialect = self.route.dialect;
        let tee = ResponseTee::new(Arc::clone(&self.app), prepared, dialect.format(), plain, line);
        let upstream = self.upstream.to_string();
        let relay = Relay::answer(from, &head.headers, dialect, upstream, Box::new(tee));
        Response::from_parts(head, Outflow::relayed(relay))
    }

    /// An error or a count, as it is or in the words that the client needs.
    fn told(&self, heard: RelayedResponse, prepared: &Prepared) -> Response<Outflow> {
        let RelayedResponse { mut head, before, rest, whole, overflow } = heard;
        head.headers = headers::downward(head.headers);
        tell(&mut head.headers, prepared.sent(), prepared.skip);
        let settings = &self.app.settings;
        let other = match (whole, prepared.sent()) {
            (Some(whole), _) if !head.status.is_success() => {
                translated(self.route.dialect, head.status, &whole, overflow)
            }
            (Some(whole), Some(sent)) if !self.is_watched(prepared) => {
                count::raised(&whole, &sent.prompt, settings.floor_share)
            }
            _ => None,
        };
        let body = match other {
            Some(other) => {
                head.headers.remove(CONTENT_LENGTH);
                head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Outflow::whole(other)
            }
            None => Outflow::relayed(Relay::new(rest).after(before)),
        };
        Response::from_parts(head, body)
    }

    fn untaken(&self, why: Untaken) -> ProxyFault {
        let settings = &self.app.settings;
        match why {
            Untaken::TooLarge => self.too_large(settings.limits.body),
            Untaken::Hung => {
                let seconds = settings.deadlines.body.as_secs();
                let message = format!(
                    "the body of the request stopped in the middle, or hardly came, for {seconds} \
                     seconds: send it again"
                );
                ProxyFault::new(StatusCode::REQUEST_TIMEOUT, message)
            }
            Untaken::Broken => {
                let message = "the body of the request broke off or is malformed: send it again";
                ProxyFault::new(StatusCode::BAD_REQUEST, message)
            }
        }
    }

    fn too_large(&self, most: usize) -> ProxyFault {
        let message = format!(
            "the body of the request is larger than the {most} bytes that this proxy takes: compact \
             the conversation or begin a new one"
        );
        ProxyFault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    fn unreachable(&self, error: &Unreachable) -> ProxyFault {
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
        ProxyFault::new(StatusCode::BAD_GATEWAY, message)
    }
}

/// Says in the head of an answer what was done to its request.
fn tell(headers: &mut HeaderMap, sent: Option<&RoutedPrompt>, skip: Option<ProxySkip>) {
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
