//! One request, from its head to its way: who asks, what for, and where it goes.
//!
//! Invariant: a request ends in exactly one answer: its upstream's, or a fault in the client's
//! protocol, and in exactly one line of the ledger. Called by `server`, per request.

use std::sync::Arc;

use http::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, UPGRADE, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::access::visitor;
use crate::app::App;
use crate::call::Call;
use crate::fault::Fault;
use crate::levers;
use crate::pages;
use crate::route::{Dialect, Route, Task, route};
use crate::skip::Skip;
use crate::stream::Outflow;
use crate::tee::Line;

/// Answers a request.
pub(crate) async fn handle(app: Arc<App>, request: Request<Incoming>) -> Response<Outflow> {
    let (head, body) = request.into_parts();
    let route = route(&head.method, head.uri.path(), &head.headers);
    let mut line = Some(Line::new(route.api, app.now()));
    match answer(&app, head, body, route, &mut line).await {
        Ok(response) => response,
        Err(fault) => {
            tracing::warn!(status = fault.status.as_u16(), "{}", fault.message);
            if let Some(line) = line {
                app.put(&line.refused(fault.status, app.now()));
            }
            refused(&fault, route.dialect)
        }
    }
}

/// The answer to a request; whoever gives one takes the line.
async fn answer(
    app: &Arc<App>,
    head: Parts,
    body: Incoming,
    route: Route,
    line: &mut Option<Line>,
) -> Result<Response<Outflow>, Fault> {
    let Some(visitor) = visitor(app.settings.tokens.as_deref(), &head.headers) else {
        let message = "this proxy needs an access token: send one of its token file as \
            `authorization: Bearer TOKEN`, or as `x-epitome-token: TOKEN` beside your own credential";
        return Err(Fault::new(StatusCode::UNAUTHORIZED, message));
    };
    if let Some(page) = pages::page(app, &head) {
        *line = None;
        return page;
    }
    if let Some(mcp) = levers::asked(app, &head) {
        *line = None;
        return levers::answer(app, &mcp, &visitor, head, body).await;
    }
    let upgrade = head.headers.get(UPGRADE).map(HeaderValue::as_bytes).unwrap_or_default();
    let websocket = upgrade.eq_ignore_ascii_case(b"websocket");
    if head.method == Method::CONNECT || websocket {
        let message = "this proxy opens no tunnels and no websockets: send plain HTTP requests, or \
            turn websockets off in the client";
        // With this status Codex goes on without websockets at once, with any other it tries again
        // for seconds.
        let status =
            if websocket { StatusCode::UPGRADE_REQUIRED } else { StatusCode::NOT_IMPLEMENTED };
        return Err(Fault::new(status, message));
    }
    let Some(upstream) = app.settings.upstreams.of(route.api) else {
        let message = format!(
            "no upstream is set for {0}, where {1} {2} belongs: start with `--{0}-upstream URL`",
            route.api.name(),
            head.method,
            head.uri.path()
        );
        return Err(Fault::new(StatusCode::NOT_FOUND, message));
    };
    let upstream = upstream.clone();
    let skip = is_signed(&head.headers).then_some(Skip::Signed);
    let call = Call { app: Arc::clone(app), head, route, visitor, upstream };
    match route.task {
        Task::Pass => call.pass(body, None, line).await,
        Task::Prompt | Task::Count if skip.is_some() => call.pass(body, skip, line).await,
        Task::Prompt | Task::Count => call.converse(body, line).await,
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
