//! The page for people, as the proxy serves it.
//!
//! Invariant: who may look is the page's own to say: nothing that lets a client in lets a browser in. It
//! is served on a loopback address alone, unless it was opened. Called by `handler`, before anybody is
//! let in.

use std::net::SocketAddr;
use std::sync::Arc;

use epitome_page::{CockpitPage, PageEvents};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};

use crate::app::App;
use crate::arrivals::ArrivingBody;
use crate::body::take;
use crate::page;
use crate::stream::Outflow;

/// The largest form, in bytes.
const MOST: usize = 64 << 10;

/// The page, and the port that it stands on.
pub(crate) struct AskedPage {
    page: Arc<CockpitPage>,
    port: u16,
}

/// The page, where a request asks for it at an address.
pub(crate) fn asked(app: &App, address: SocketAddr, head: &Parts) -> Option<AskedPage> {
    let page = app.settings.own.page.clone()?;
    let is_here = address.ip().is_loopback() || page.is_open();
    // Whoever names a host in the address asks a proxy for another page.
    let is_asked = head.uri.authority().is_none() && CockpitPage::is_asked(head);
    (is_here && is_asked && head.method != Method::CONNECT)
        .then(|| AskedPage { page, port: address.port() })
}

/// Takes the secrets of the page out of an address that is a client's: whoever copied the page's own
/// address before a path would show them to the upstream.
pub(crate) fn keep_secrets(app: &App, head: &mut Parts) {
    let page = app.settings.own.page.as_ref();
    let Some(left) = page.zip(head.uri.query()).and_then(|(page, it)| page.without_secrets(it))
    else {
        return;
    };
    let path = head.uri.path();
    let address = if left.is_empty() { path.to_owned() } else { format!("{path}?{left}") };
    let mut parts = std::mem::take(&mut head.uri).into_parts();
    parts.path_and_query = address.parse().ok();
    head.uri = parts.try_into().unwrap_or_default();
}

/// Answers a request for it.
pub(crate) async fn answer(
    app: &Arc<App>,
    asked: AskedPage,
    head: Parts,
    body: ArrivingBody,
) -> Response<Outflow> {
    let AskedPage { page, port } = asked;
    if let Some(events) = page.events(port, &head) {
        return stream(events);
    }
    let Ok(body) = take(body, MOST, app.settings.deadlines.body).await else {
        return failed(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let (request, app) = (Request::from_parts(head, body), Arc::clone(app));
    let answered = tokio::task::spawn_blocking(move || {
        let health = |tenant: &str| {
            let books = match app.settings.access.tokens {
                Some(_) => app.ledger.snapshot_of(tenant),
                None => app.ledger.snapshot(),
            };
            page::fragment(&books, app.settings.hub.outage().as_ref(), app.now())
        };
        page.answer(port, &request, &health)
    });
    match answered.await {
        Ok(answer) => answer.map(Outflow::whole),
        Err(error) => {
            tracing::error!(%error, "the page cannot be shown");
            failed(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// Events as an answer.
pub(crate) fn stream(events: PageEvents) -> Response<Outflow> {
    let mut response = Response::new(Outflow::Events(events));
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn failed(status: StatusCode) -> Response<Outflow> {
    let mut response = Response::new(Outflow::whole(""));
    *response.status_mut() = status;
    response
}
