//! One request, from its head to its way: who asks, what for, and where it goes.
//!
//! Invariant: a request ends in exactly one answer: its upstream's, a page of ours, or a fault in
//! the client's protocol; and in exactly one line of the ledger where it has an upstream. Nothing
//! is looked at before it is let in. Called by `server`, per request.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, UPGRADE, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Uri};

use crate::access::{Visitor, enter, is_for_document};
use crate::api::{Manner, UpstreamApi};
use crate::app::App;
use crate::arrivals::ArrivingBody;
use crate::call::ProxiedRequest;
use crate::fault::ProxyFault;
use crate::pages;
use crate::route::{Asked, Known, RequestRoute, RouteTask, addressed, asked};
use crate::settings::Unchosen;
use crate::skip::ProxySkip;
use crate::stray;
use crate::stream::Outflow;
use crate::tee::LedgerLineWriter;
use crate::url::UpstreamUrl;
use crate::{cockpit, controls};

/// By which clients of Amazon's APIs know an error.
const AMAZON_ERROR: HeaderName = HeaderName::from_static("x-amzn-errortype");

/// A request that was let in.
struct Entered {
    visitor: Visitor,
    head: Parts,
    /// The API whose address it came in at; none at the bare one.
    of: Option<UpstreamApi>,
    asked: Asked,
}

/// A request's line of the ledger, until somebody takes it. That of a client that goes away before its
/// answer begins is written as it is then: what was made for it may be in force.
struct OpenLine {
    app: Arc<App>,
    line: Option<LedgerLineWriter>,
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            self.app.put(&line.abandoned(self.app.now()));
        }
    }
}

/// Answers a request that came in at an address.
pub(crate) async fn handle(
    app: Arc<App>,
    address: SocketAddr,
    request: Request<ArrivingBody>,
) -> Response<Outflow> {
    let (mut head, body) = request.into_parts();
    if let Some(asked) = cockpit::asked(&app, address, &head) {
        return cockpit::answer(&app, asked, head, body).await;
    }
    cockpit::keep_secrets(&app, &mut head);
    let mut open = OpenLine { app: Arc::clone(&app), line: None };
    let entered = enter(&app.settings.access, &mut head);
    let of = addressed(&head.uri).map(|(api, inner)| {
        head.uri = inner;
        api
    });
    let asked = asked(of, &head.method, &head.uri, &head.headers);
    let answered = match entered {
        Ok(visitor) => {
            answer(&app, Entered { visitor, head, of, asked }, body, &mut open.line).await
        }
        Err(fault) => Err(fault),
    };
    answered.unwrap_or_else(|fault| {
        tracing::warn!(status = fault.status.as_u16(), "{}", fault.message);
        match open.line.take() {
            Some(line) => app.put(&line.refused(fault.status, app.now())),
            None => app.ledger.turned_away(fault.status),
        }
        refused(&fault, asked.manner())
    })
}

/// The answer to a request; what belongs to an upstream begins a line, and whoever answers that
/// takes it.
async fn answer(
    app: &Arc<App>,
    entered: Entered,
    body: ArrivingBody,
    line: &mut Option<LedgerLineWriter>,
) -> Result<Response<Outflow>, ProxyFault> {
    let Entered { visitor, head, of, asked } = entered;
    no_tunnel(&head)?;
    if of.is_none() {
        if let Some(page) = pages::page(app, &visitor, &head).await {
            return Ok(page);
        }
        if let Some(mcp) = controls::asked(app, &head) {
            return controls::answer(app, &mcp, &visitor, head, body).await;
        }
    }
    if !matches!(asked, Asked::Alive) {
        no_document(&head.headers)?;
    }
    let (route, upstream) = match asked {
        Asked::Alive => return Ok(pages::alive()),
        Asked::Of(route) => (route, own(app, route.api, &head)?),
        Asked::Bare(known) => bare(app, known, &head)?,
        Asked::Stray(stray) => {
            let message = stray.message(&head.method, &head.uri);
            return Err(ProxyFault::new(StatusCode::NOT_FOUND, message));
        }
    };
    let tenant = app.settings.access.holder(&visitor).map(str::to_owned);
    *line = Some(LedgerLineWriter::new(route.api, tenant, app.now()));
    let skip = is_signed(&head.headers).then_some(ProxySkip::Signed);
    let call = ProxiedRequest { app: Arc::clone(app), head, route, visitor, upstream };
    match route.task {
        RouteTask::Pass => call.pass(body, None, line).await,
        RouteTask::Prompt | RouteTask::Count if skip.is_some() => call.pass(body, skip, line).await,
        RouteTask::Prompt | RouteTask::Count => call.converse(body, line).await,
    }
}

/// Refuses what a browser would show as a document: what an upstream answers would run beside our own
/// page, as a part of it. A client of an API never asks so.
fn no_document(headers: &HeaderMap) -> Result<(), ProxyFault> {
    if !is_for_document(headers) {
        return Ok(());
    }
    let message = "this address is there for clients of an API, and a browser shows nothing of it: the \
        page of this proxy is at the address that it printed";
    Err(ProxyFault::new(StatusCode::FORBIDDEN, message))
}

/// Refuses what would make another kind of connection of it, or asks for another host.
fn no_tunnel(head: &Parts) -> Result<(), ProxyFault> {
    let upgrade = head.headers.get(UPGRADE).map(HeaderValue::as_bytes).unwrap_or_default();
    let websocket = upgrade.eq_ignore_ascii_case(b"websocket");
    let elsewhere = head.method == Method::CONNECT || head.uri.authority().is_some();
    if !websocket && !elsewhere {
        return Ok(());
    }
    let message = "this proxy opens no tunnels and no websockets, and asks no host that a client \
        names: send plain HTTP requests to it, or turn websockets off in the client";
    // With this status Codex goes on without websockets at once, with any other it tries again for
    // seconds.
    let status = if websocket { StatusCode::UPGRADE_REQUIRED } else { StatusCode::NOT_IMPLEMENTED };
    Err(ProxyFault::new(status, message))
}

/// The upstream that an address belongs to.
fn own(app: &App, api: UpstreamApi, head: &Parts) -> Result<UpstreamUrl, ProxyFault> {
    let upstream = app.settings.upstreams.own(api);
    upstream.cloned().ok_or_else(|| unset(api, &head.method, &head.uri))
}

/// The way of what is asked at the bare address.
fn bare(app: &App, known: Known, head: &Parts) -> Result<(RequestRoute, UpstreamUrl), ProxyFault> {
    let Known { apis, dialect, task } = known;
    match (app.settings.upstreams.bare(apis), apis) {
        (Ok((api, url)), _) => Ok((RequestRoute { api, dialect, task }, url.clone())),
        (Err(Unchosen::Unset), &[api, ..]) => Err(unset(api, &head.method, &head.uri)),
        (Err(_), _) => {
            let message = stray::undecided(&head.method, &head.uri, apis);
            Err(ProxyFault::new(StatusCode::NOT_FOUND, message))
        }
    }
}

fn unset(api: UpstreamApi, method: &Method, uri: &Uri) -> ProxyFault {
    let message = format!(
        "no upstream is set for {0}, where {method} {1} belongs: start with `--{0}-upstream URL`",
        api.name(),
        uri.path()
    );
    ProxyFault::new(StatusCode::NOT_FOUND, message)
}

/// Whether a signature of AWS covers the body (RULES 133).
fn is_signed(headers: &HeaderMap) -> bool {
    let credential = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
    credential.starts_with(b"AWS4-HMAC-SHA256")
}

/// A fault as an answer.
fn refused(fault: &ProxyFault, manner: Manner) -> Response<Outflow> {
    let mut response = Response::new(Outflow::whole(fault.in_the_manner(manner)));
    *response.status_mut() = fault.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if manner == Manner::Amazon {
        let kind = match fault.status {
            StatusCode::NOT_FOUND => "ResourceNotFoundException",
            _ => "AccessDeniedException",
        };
        headers.insert(AMAZON_ERROR, HeaderValue::from_static(kind));
    }
    if fault.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
