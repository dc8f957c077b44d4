//! `/mcp`: the levers of sessions, for agents.
//!
//! Invariant: a visitor pulls the levers of the visitor's own tenant. Called by `handler`, once it
//! has let the visitor in.

use std::sync::Arc;

use epitome_mcp::McpHttp;
use http::request::Parts;
use http::{Request, Response, StatusCode};

use crate::access::Visitor;
use crate::app::App;
use crate::arrivals::ArrivingBody;
use crate::body::{Untaken, take};
use crate::fault::ProxyFault;
use crate::stream::Outflow;

/// Where they are.
const PATH: &str = "/mcp";

/// The largest call, in bytes.
const MOST: usize = 4 << 20;

/// The levers, where a request asks for them.
pub(crate) fn asked(app: &App, head: &Parts) -> Option<Arc<McpHttp>> {
    let path = head.uri.path();
    let path = path.strip_suffix('/').unwrap_or(path);
    app.settings.own.mcp.clone().filter(|_| path == PATH)
}

/// Answers a request for them.
pub(crate) async fn answer(
    app: &App,
    levers: &McpHttp,
    visitor: &Visitor,
    head: Parts,
    body: ArrivingBody,
) -> Result<Response<Outflow>, ProxyFault> {
    let body = take(body, MOST, app.settings.deadlines.body).await.map_err(|why| match why {
        Untaken::TooLarge => {
            let message = format!("the message takes more than {MOST} bytes; send a smaller one");
            ProxyFault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        Untaken::Hung => ProxyFault::new(
            StatusCode::REQUEST_TIMEOUT,
            "the message did not come to its end in time",
        ),
        Untaken::Broken => ProxyFault::new(StatusCode::BAD_REQUEST, "the message broke off"),
    })?;
    let answer = levers.answer(&visitor.tenant, Request::from_parts(head, body)).await;
    Ok(answer.map(Outflow::whole))
}
