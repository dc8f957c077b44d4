//! Our own pages: `/status` and `/metrics`.
//!
//! Invariant: without tokens they are for whoever names this machine, so that no web page reads
//! them through a name of its own. Called by `handler`.

use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::access::names_loopback;
use crate::app::App;
use crate::fault::Fault;
use crate::stream::Outflow;

/// The page that a request asks for; none where it asks for no page of ours.
pub(crate) fn page(app: &App, head: &Parts) -> Option<Result<Response<Outflow>, Fault>> {
    let path = head.uri.path();
    if !matches!(path, "/status" | "/metrics") || !matches!(head.method, Method::GET | Method::HEAD)
    {
        return None;
    }
    if app.settings.tokens.is_none() && !names_loopback(&head.headers) {
        let message = "this page is shown under the name of this machine only: open it as \
            http://127.0.0.1 or http://localhost";
        return Some(Err(Fault::new(StatusCode::FORBIDDEN, message)));
    }
    None
}
