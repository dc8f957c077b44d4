//! The page: what is asked for, by whom, and what is answered.
//!
//! Invariant: everything is read from the store when it is asked for, so the page shows what other
//! processes record, and goes on over a restart. A holder is shown the sessions of its tenant alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use epitome::{ExperimentConfig, Profile, ScopeOwner, SessionAdmin, SessionArchive};
use http::header::{ALLOW, HeaderValue, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use maud::{PreEscaped, html};

use crate::address::{PagePath, Query, SessionLink};
use crate::error::PageError;
use crate::gate::{Gate, PageHolder, Refusal};
use crate::layout::{self, PageContent, PageTab};
use crate::{entry, experiments, policies, session, sessions};

/// The profiles that sessions are recorded with, by their names.
type ProfilesByName = dyn Fn(&str) -> Option<Profile> + Send + Sync;

/// What the page is about.
#[derive(Clone)]
pub struct PageSource {
    /// The store.
    pub store: Arc<dyn SessionArchive>,
    /// Whose sessions are shown, but for the tenant.
    pub owner: ScopeOwner,
    /// The usual profile.
    pub profile: Profile,
    /// All others.
    pub profiles: Arc<ProfilesByName>,
    /// The experiments that are configured.
    pub experiments: BTreeMap<String, ExperimentConfig>,
}

impl fmt::Debug for PageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, profile, .. } = self;
        f.debug_struct("PageSource")
            .field("owner", owner)
            .field("profile", &profile.name())
            .finish_non_exhaustive()
    }
}

impl PageSource {
    /// The keeper of all sessions of a tenant, whichever project they belong to: the page is for people.
    pub(crate) fn admin(&self, tenant: &str) -> SessionAdmin {
        let owner = self.owner.of_tenant(tenant).everywhere();
        SessionAdmin::of(Arc::clone(&self.store), self.profile.clone(), owner)
    }

    /// A keeper that goes by the profile which recorded its sessions, where that is configured still.
    fn as_recorded(&self, admin: SessionAdmin) -> SessionAdmin {
        let recorder = admin.recorder();
        match (recorder == admin.profile().name(), (self.profiles)(recorder)) {
            (false, Some(profile)) => admin.as_of(profile),
            _ => admin,
        }
    }
}

/// The page.
#[derive(Debug)]
pub struct CockpitPage {
    source: PageSource,
    holders: Vec<PageHolder>,
    /// Whether it may be reached under any name, from other machines too.
    is_open: bool,
}

/// Whoever looks, and what at.
pub(crate) struct PageVisit<'p> {
    pub(crate) source: &'p PageSource,
    /// The keeper of all that may be seen.
    pub(crate) admin: SessionAdmin,
    pub(crate) query: Query,
    /// What forms carry.
    pub(crate) form_token: String,
    /// The time, ISO 8601.
    pub(crate) now: String,
}

impl PageVisit<'_> {
    /// The keeper of a session, and its links.
    pub(crate) fn session(&self, name: &str) -> Result<(SessionAdmin, SessionLink), PageError> {
        let tenant = self.admin.tenant();
        let keeper = match self.query.get("in") {
            Some(scope) => {
                let scope = format!("{tenant}/{scope}");
                let mut readers = self.admin.readers()?.into_iter();
                readers.find(|reader| reader.scope() == scope).ok_or(PageError::NotThere)?
            }
            None => self.admin.clone().of_session(Some(name))?,
        };
        let link = SessionLink::new(tenant, keeper.scope(), name);
        Ok((self.source.as_recorded(keeper), link))
    }
}

impl CockpitPage {
    /// A page for these holders.
    pub fn new(source: PageSource, holders: Vec<PageHolder>) -> Self {
        Self { source, holders, is_open: false }
    }

    /// The same under any name, where other machines may reach it.
    #[must_use]
    pub fn open(self) -> Self {
        Self { is_open: true, ..self }
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
                let query = Query::parse(head.uri.query().unwrap_or_default());
                accepts.contains("text/html") || query.get("token").is_some()
            }
            found => found.is_some(),
        }
    }

    /// Answers a request on a port. `health` writes how the proxy does for a tenant, as HTML.
    pub fn answer(
        &self,
        port: u16,
        request: &Request<Bytes>,
        health: &dyn Fn(&str) -> String,
    ) -> Response<Bytes> {
        let gate = Gate { holders: &self.holders, port, is_open: self.is_open };
        let path = request.uri().path();
        let Some(asked) = PagePath::parse(path) else {
            return layout::refusal(StatusCode::NOT_FOUND, "Not there", "There is no such page.");
        };
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let answered = match gate.host(request.headers()) {
            Err(refusal) => Err(refusal),
            Ok(()) => match query.get("token") {
                Some(token) if request.method() == Method::GET => {
                    gate.holder_of(token).map(|holder| {
                        welcome(&gate, holder, &query.clone().without("token").behind(path))
                    })
                }
                _ => gate.visitor(request.headers()).map(|holder| {
                    let visit = self.visit(&gate, holder, query);
                    looked_at(&visit, asked, request.method(), health)
                }),
            },
        };
        answered.unwrap_or_else(refused)
    }

    fn visit(&self, gate: &Gate<'_>, holder: &PageHolder, query: Query) -> PageVisit<'_> {
        PageVisit {
            source: &self.source,
            admin: self.source.admin(&holder.tenant),
            query,
            form_token: holder.form_token(gate.port),
            now: epitome::system_time(),
        }
    }
}

/// Hands a browser its cookie, and leads it to where the secret does not stand in the address.
fn welcome(gate: &Gate<'_>, holder: &PageHolder, to: &str) -> Response<Bytes> {
    let mut response = layout::plain(StatusCode::SEE_OTHER, "");
    let headers = response.headers_mut();
    // Both are ASCII.
    for (name, value) in [(SET_COOKIE, gate.set_cookie(holder)), (LOCATION, to.to_owned())] {
        headers.extend(HeaderValue::from_str(&value).ok().map(|value| (name, value)));
    }
    response
}

fn refused(refusal: Refusal) -> Response<Bytes> {
    let (status, title, why) = match refusal {
        Refusal::Host => (
            StatusCode::FORBIDDEN,
            "Another host",
            "This page answers under the name of this machine only: open the address that Epitome \
             printed when it started.",
        ),
        Refusal::NoToken => (
            StatusCode::UNAUTHORIZED,
            "Who are you?",
            "Open the address that `epitome serve` or `epitome run` printed when it started: it ends \
             with a token. This browser is remembered after that.",
        ),
        Refusal::WrongToken => (
            StatusCode::FORBIDDEN,
            "That token is not known",
            "Open the address that `epitome serve` or `epitome run` printed last: it ends with the \
             token that holds now.",
        ),
        Refusal::Origin | Refusal::Form => (
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
    if !matches!(*method, Method::GET | Method::HEAD) || matches!(asked, PagePath::Act(_)) {
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
        PagePath::Act(_) | PagePath::Events => Err(PageError::NotThere),
    };
    match content {
        Ok(content) => layout::answer(StatusCode::OK, &content),
        Err(error) => failed(&error),
    }
}

fn failed(error: &PageError) -> Response<Bytes> {
    let (status, title) = error.status();
    if status.is_server_error() {
        tracing::warn!(%error, "the page cannot be shown");
    }
    layout::refusal(status, title, &error.to_string())
}

fn wrong_method(allowed: &'static str) -> Response<Bytes> {
    let mut response = layout::plain(StatusCode::METHOD_NOT_ALLOWED, "another method is expected\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
