//! Our own pages: `/status`, `/status.json` and `/metrics`, and what stands at the bare address.
//!
//! Invariant: they show figures and names, and nothing that was said. Where tokens are needed, each
//! is shown what was asked with it, and nothing of others. Called by `handler`.

use std::sync::Arc;

use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::access::Visitor;
use crate::app::App;
use crate::stream::Outflow;
use crate::{metrics, page, status};

/// What a page of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusPage {
    Html,
    Json,
    Metrics,
}

impl StatusPage {
    /// The page of a path. `/status` is for people, unless JSON is asked for.
    fn of(path: &str, headers: &HeaderMap) -> Option<Self> {
        let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let wants = |kind: &str| accepted.is_some_and(|accepted| accepted.contains(kind));
        match path {
            "/status" if wants("application/json") && !wants("text/html") => Some(StatusPage::Json),
            "/status" => Some(StatusPage::Html),
            "/status.json" => Some(StatusPage::Json),
            "/metrics" => Some(StatusPage::Metrics),
            _ => None,
        }
    }

    /// The page of all figures, or of a tenant's. The store is read for some of them.
    fn text(self, app: &App, tenant: Option<&str>) -> String {
        if self == Self::Metrics {
            return app.metrics(tenant);
        }
        let outage = app.settings.hub.outage();
        let books = match tenant {
            Some(tenant) => app.ledger.snapshot_of(tenant),
            None => app.ledger.snapshot(),
        };
        match self {
            Self::Html => page::page(&books, outage.as_ref(), app.now()),
            _ => status::json(&books, outage.as_ref(), app.now()),
        }
    }

    fn answer(self, text: String) -> Response<Outflow> {
        let kind = match self {
            Self::Html => page::TYPE,
            Self::Json => status::TYPE,
            Self::Metrics => metrics::TYPE,
        };
        let mut response = Response::new(Outflow::whole(text));
        for (name, value) in [
            (CONTENT_TYPE, kind),
            (CACHE_CONTROL, "no-store"),
            (VARY, "accept"),
            (CONTENT_SECURITY_POLICY, epitome_page::policy()),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// What whoever looks at the bare address is told.
const HERE: &str = "Epitome is here. What it does is shown at /status of this address.\n\
    Upstreams have addresses of their own: /to/anthropic, /to/openai/v1, /to/ollama.\n";

/// The page that a request asks for; none where it asks for no page of ours.
pub(crate) async fn page(
    app: &Arc<App>,
    visitor: &Visitor,
    head: &Parts,
) -> Option<Response<Outflow>> {
    let asked = StatusPage::of(head.uri.path(), &head.headers)?;
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return None;
    }
    let tenant = app.settings.access.holder(visitor).map(str::to_owned);
    let of_app = Arc::clone(app);
    let text = tokio::task::spawn_blocking(move || asked.text(&of_app, tenant.as_deref()));
    match text.await {
        Ok(text) => Some(asked.answer(text)),
        Err(error) => {
            tracing::error!(%error, "the figures cannot be shown");
            let mut response = Response::new(Outflow::whole(""));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            Some(response)
        }
    }
}

/// The answer to whoever asks whether somebody is here, as clients do when they start.
pub(crate) fn alive() -> Response<Outflow> {
    let mut response = Response::new(Outflow::whole(HERE));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, accept: Option<&'static str>, expected: Option<StatusPage>) {
        let mut headers = HeaderMap::new();
        headers.extend(accept.map(|value| (ACCEPT, HeaderValue::from_static(value))));
        assert_eq!(StatusPage::of(path, &headers), expected, "{path} {accept:?}");
    }

    #[test]
    fn people_and_programs_are_shown_their_own() {
        check("/status", None, Some(StatusPage::Html));
        check("/status", Some("text/html,application/xhtml+xml,*/*;q=0.8"), Some(StatusPage::Html));
        check("/status", Some("application/json"), Some(StatusPage::Json));
        check("/status.json", Some("text/html"), Some(StatusPage::Json));
        check("/metrics", None, Some(StatusPage::Metrics));
        check("/", None, None);
        check("/v1/status", None, None);
    }
}
