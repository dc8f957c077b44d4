//! The page: what is asked for, by whom, and what is answered.
//!
//! Invariant: everything is read from the store when it is asked for, so the page shows what other
//! processes record, and goes on over a restart. A holder is shown the sessions of its tenant alone.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use epitome::StoreOutage;
use http::header::{ALLOW, HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use maud::{PreEscaped, html};

use crate::address::{PagePath, PageQuery, without_values};
use crate::error::PageError;
use crate::gate::{AdmittedRequest, PageGate, PageHolder, PageRefusal};
use crate::layout::{self, PageContent, PageTab};
use crate::live::{LiveFeed, PageEvents};
use crate::money::MoneyMemo;
use crate::shown::line;
use crate::visit::{PageSource, PageVisit};
use crate::{acts, entry, experiments, policies, session, sessions};

/// Says which event a browser heard last.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The page.
#[derive(Debug)]
pub struct CockpitPage {
    source: PageSource,
    holders: Vec<PageHolder>,
    /// Whether it may be reached under any name, from other machines too.
    is_open: bool,
    feed: Arc<LiveFeed>,
    /// The name of its store; empty where it has none.
    id: String,
    money: Arc<MoneyMemo>,
    /// Held by whoever makes findable what was said last.
    indexing: Arc<Mutex<()>>,
}

impl CockpitPage {
    /// A page for these holders.
    pub fn new(source: PageSource, holders: Vec<PageHolder>) -> Self {
        Self {
            source,
            holders,
            is_open: false,
            feed: Arc::default(),
            id: String::new(),
            money: Arc::default(),
            indexing: Arc::default(),
        }
    }

    /// The same under any name, where other machines may reach it.
    #[must_use]
    pub fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// The same with a name of its store, for [`CockpitPage::proof`].
    #[must_use]
    pub fn named(self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self }
    }

    /// What the page of this user and store answers to a challenge on a port, in the header
    /// `x-epitome-page` of its icon: nobody else can say it, nor say it elsewhere or again.
    pub fn proof(&self, port: u16, challenge: &str) -> Option<String> {
        let holder = self.holders.first().filter(|_| !self.id.is_empty())?;
        Some(holder.proof(&self.id, port, challenge).to_hex().to_string())
    }

    /// Whether the page may be reached from other machines.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether a request asks for the page: a path of it, and at the bare address a browser.
    pub fn is_asked(head: &Parts) -> bool {
        let accepts = head.headers.get(http::header::ACCEPT);
        let accepts = accepts.and_then(|value| value.to_str().ok()).unwrap_or_default();
        match PagePath::parse(head.uri.path()) {
            Some(PagePath::Sessions) => {
                let query = PageQuery::parse(head.uri.query().unwrap_or_default());
                accepts.contains("text/html") || query.get("token").is_some()
            }
            found => found.is_some(),
        }
    }

    /// What stands behind the question mark of an address that is not the page's, without the secrets of
    /// its holders: whoever the request goes on to must not learn them. None where there is none of them.
    pub fn without_secrets(&self, query: &str) -> Option<String> {
        let gate = PageGate { holders: &self.holders, port: 0, is_open: self.is_open };
        without_values(query, |value| gate.holder_of(value).is_ok())
    }

    /// The events that a request on a port asks for; none where it asks for a page, or may not listen.
    /// Called within a runtime.
    pub fn events(&self, port: u16, head: &Parts) -> Option<PageEvents> {
        let is_asked = head.method == Method::GET
            && PagePath::parse(head.uri.path()) == Some(PagePath::Events);
        let gate = PageGate { holders: &self.holders, port, is_open: self.is_open };
        gate.host(&head.headers).ok().filter(|()| is_asked)?;
        let holder = gate.visitor(&head.headers).ok()?;
        let last = head.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
        Some(self.feed.listen(&self.source, &holder.tenant, last))
    }

    /// Ends all streams of events, for good: nobody waits for what comes no more.
    pub fn close(&self) {
        self.feed.close();
    }

    /// Answers a request on a port. `health` writes how the proxy does for a tenant, as HTML.
    pub fn answer(
        &self,
        port: u16,
        request: &Request<Bytes>,
        health: &dyn Fn(&str) -> String,
    ) -> Response<Bytes> {
        let gate = PageGate { holders: &self.holders, port, is_open: self.is_open };
        let path = request.uri().path();
        let Some(asked) = PagePath::parse(path) else {
            return layout::refusal(StatusCode::NOT_FOUND, "Not there", "There is no such page.");
        };
        let query = PageQuery::parse(request.uri().query().unwrap_or_default());
        if asked == PagePath::Icon && request.method() == Method::GET {
            let proof = query.get("challenge").and_then(|it| self.proof(port, it));
            return layout::icon(proof.as_deref());
        }
        let answered = gate.admit(request, &query).and_then(|admitted| {
            let holder = match admitted {
                AdmittedRequest::New(holder) => {
                    return Ok(welcome(
                        &gate,
                        holder,
                        &query.clone().without("token").behind(path),
                    ));
                }
                AdmittedRequest::Known(holder) => holder,
            };
            match &asked {
                PagePath::Act(name) if request.method() == Method::POST => {
                    let form = PageQuery::parse(&String::from_utf8_lossy(request.body()));
                    gate.act(holder, request.headers(), &form)?;
                    Ok(acted(&self.visit(&gate, holder, form), name))
                }
                _ => {
                    let visit = self.visit(&gate, holder, query);
                    Ok(looked_at(&visit, asked, request.method(), health))
                }
            }
        });
        answered.unwrap_or_else(refused)
    }

    fn visit(&self, gate: &PageGate<'_>, holder: &PageHolder, query: PageQuery) -> PageVisit<'_> {
        PageVisit {
            source: &self.source,
            admin: self.source.admin(&holder.tenant),
            query,
            money: Arc::clone(&self.money),
            indexing: Arc::clone(&self.indexing),
            form_token: holder.form_token(gate.port),
            now: epitome::system_time(),
        }
    }
}

/// Hands a browser its cookie, and leads it to where the secret does not stand in the address.
pub(crate) fn welcome(gate: &PageGate<'_>, holder: &PageHolder, to: &str) -> Response<Bytes> {
    let mut response = layout::plain(StatusCode::SEE_OTHER, "");
    let headers = response.headers_mut();
    // Both are ASCII.
    for (name, value) in [(SET_COOKIE, gate.set_cookie(holder)), (LOCATION, to.to_owned())] {
        headers.extend(HeaderValue::from_str(&value).ok().map(|value| (name, value)));
    }
    response
}

fn refused(refusal: PageRefusal) -> Response<Bytes> {
    let (status, title, why) = match refusal {
        PageRefusal::Host => (
            StatusCode::FORBIDDEN,
            "Another host",
            "This page answers under the name of this machine only: open the address that Epitome \
             printed when it started.",
        ),
        PageRefusal::NoToken => (
            StatusCode::UNAUTHORIZED,
            "Who are you?",
            "Open the address that `epitome serve` or `epitome run` printed when it started: it ends \
             with a token. This browser is remembered after that.",
        ),
        PageRefusal::WrongToken => (
            StatusCode::FORBIDDEN,
            "That token is not known",
            "Open the address that `epitome serve` or `epitome run` printed last: it ends with the \
             token that holds now.",
        ),
        PageRefusal::Origin | PageRefusal::Form => (
            StatusCode::FORBIDDEN,
            "Not done",
            "The request did not come from this page. Open the page anew and try again.",
        ),
    };
    layout::refusal(status, title, why)
}

/// The answer to whoever may look.
fn looked_at(
    visit: &PageVisit<'_>,
    asked: PagePath,
    method: &Method,
    health: &dyn Fn(&str) -> String,
) -> Response<Bytes> {
    if matches!(asked, PagePath::Act(_)) {
        return wrong_method("POST");
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return wrong_method("GET, HEAD");
    }
    let content = match &asked {
        PagePath::Sessions => sessions::page(visit),
        PagePath::Session(name) => session::page(visit, name),
        PagePath::Compaction(name, id) => session::compaction(visit, name, id),
        PagePath::Entry(name, id) => entry::page(visit, name, id),
        PagePath::Experiments => experiments::page(visit),
        PagePath::Policies => policies::page(visit),
        PagePath::Health => Ok(PageContent {
            title: "Health".to_owned(),
            tab: PageTab::Health,
            main: html! { (PreEscaped(health(visit.admin.tenant()))) },
        }),
        PagePath::Act(_) | PagePath::Events | PagePath::Icon => Err(PageError::NotThere),
    };
    match (content, visit.source.store.outage()) {
        // It says so itself.
        (Ok(content), _) if asked == PagePath::Health => layout::answer(StatusCode::OK, &content),
        (Ok(content), outage) => layout::answer(StatusCode::OK, &beside(outage.as_ref(), content)),
        (Err(_), Some(StoreOutage { cause, remedy })) => layout::refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "The store cannot be relied on",
            &format!("{cause}: {remedy}. What is recorded may be missing here until then."),
        ),
        (Err(error), None) => failed(&error),
    }
}

/// A page with what is wrong with the store that it is read from.
fn beside(outage: Option<&StoreOutage>, content: PageContent) -> PageContent {
    let Some(StoreOutage { cause, remedy }) = outage else { return content };
    let main = html! {
        div.card.alarm role="alert" {
            strong { "The store cannot be relied on" } ": " (line(cause, 400)) ". Conversations go on \
             from memory, and what is recorded may be missing here: " (remedy) "."
        }
        (content.main)
    };
    PageContent { main, ..content }
}

/// The answer to whoever did something: the way back to where it was done.
fn acted(visit: &PageVisit<'_>, name: &str) -> Response<Bytes> {
    let to = match acts::perform(visit, name) {
        Ok(to) => to,
        Err(error) => return failed(&error),
    };
    let mut response = layout::plain(StatusCode::SEE_OTHER, "");
    // It is ASCII.
    let to = HeaderValue::from_str(&to).ok();
    response.headers_mut().extend(to.map(|to| (LOCATION, to)));
    response
}

fn failed(error: &PageError) -> Response<Bytes> {
    let (status, title) = error.status();
    if status.is_server_error() {
        tracing::warn!(%error, "the page cannot be shown");
    }
    layout::refusal(status, title, &error.to_string())
}

pub(crate) fn wrong_method(allowed: &'static str) -> Response<Bytes> {
    let mut response =
        layout::plain(StatusCode::METHOD_NOT_ALLOWED, "another method is expected\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
