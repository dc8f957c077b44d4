//! Who may use the proxy.
//!
//! Invariant: whatever a request asks for, it is let in first. A token is compared in constant time
//! and never shown; without tokens only this machine gets in, under its own name. No web page of
//! somebody else's gets in, whichever name it reaches us by (DNS rebinding). Called by `handler`.

use std::fmt;
use std::net::IpAddr;

use epitome_page::PageHolder;
use http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{Method, StatusCode};

use crate::fault::ProxyFault;
use crate::headers::TOKEN;
use crate::route::behind;

/// The tenant of whoever reaches a proxy that needs no token.
const LOCAL: &str = "local";

/// What browsers say of who asks, and how.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The first folder of every address of a proxy that is there for one client alone. Whoever does
/// not know it gets in nowhere, other programs of this machine included.
#[derive(Clone)]
pub struct PathToken(blake3::Hash);

impl PathToken {
    /// The token that is written so.
    pub fn new(secret: &str) -> Self {
        Self(blake3::hash(secret.as_bytes()))
    }

    fn is(&self, folder: &str) -> bool {
        // Hashes are compared in constant time.
        self.0 == blake3::hash(folder.as_bytes())
    }
}

impl fmt::Debug for PathToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathToken").finish_non_exhaustive()
    }
}

/// Whoever holds it may use the proxy. Each is a tenant of its own: nothing is shared between two.
#[derive(Clone)]
pub struct AccessToken {
    tenant: String,
    secret: blake3::Hash,
}

impl AccessToken {
    /// The token of a tenant.
    pub fn new(tenant: impl Into<String>, secret: &str) -> Self {
        Self { tenant: tenant.into(), secret: blake3::hash(secret.as_bytes()) }
    }

    /// The tokens of a file: one a line, `NAME TOKEN` or the token alone, which is then a tenant
    /// without a name of its own. Blank lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    ///
    /// For a line that has more words, or a token that is too short to be a secret.
    pub fn read(file: &str) -> Result<Vec<Self>, TokenError> {
        let lines = (1..).zip(file.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|(line, text)| {
                let words: Vec<_> = text.split_whitespace().collect();
                let (tenant, secret) = match words[..] {
                    [secret] => (None, secret),
                    [tenant, secret] => (Some(tenant.to_owned()), secret),
                    _ => return Err(TokenError { line, reason: "there are more than two words" }),
                };
                if secret.len() < 16 {
                    let reason = "the token is shorter than 16 characters";
                    return Err(TokenError { line, reason });
                }
                let tenant = tenant.unwrap_or_else(|| {
                    let hash = blake3::derive_key("epitome tenant of a token", secret.as_bytes());
                    let hex: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
                    format!("token-{hex}")
                });
                Ok(Self::new(tenant, secret))
            })
            .collect()
    }
}

impl AccessToken {
    /// Its holder, as the page for people knows them.
    pub fn page_holder(&self) -> PageHolder {
        PageHolder::with_hash(&self.tenant, self.secret)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// A line of a token file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}; expected `NAME TOKEN` or a token alone")]
#[non_exhaustive]
pub struct TokenError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) tenant: String,
    /// Whether `authorization` holds our token, and so no upstream may see it.
    pub(crate) spent: bool,
}

/// Who may use a proxy.
#[derive(Clone, Default)]
pub struct ProxyAccess {
    /// The tokens that clients show. None: whoever reaches it may use it, which is allowed on a
    /// loopback address only.
    pub tokens: Option<Vec<AccessToken>>,
    /// What every path must begin with, where the proxy is there for one client alone.
    pub path_token: Option<PathToken>,
}

impl ProxyAccess {
    /// The holder of the token that a visitor came with; none where no token is needed.
    pub(crate) fn holder<'v>(&self, visitor: &'v Visitor) -> Option<&'v str> {
        self.tokens.as_ref().map(|_| &*visitor.tenant)
    }
}

/// Lets a request in, and takes out of its address what only lets it in.
///
/// # Errors
///
/// When it may not come in.
pub(crate) fn enter(access: &ProxyAccess, head: &mut Parts) -> Result<Visitor, ProxyFault> {
    let tokens = access.tokens.as_deref();
    // A request to a proxy names its host in the address, too. A tunnel goes to whatever it names, and
    // nowhere from here.
    let host = head.uri.authority().filter(|_| head.method != Method::CONNECT);
    let aimed = host.is_none_or(|host| is_loopback(host.as_str()));
    let named = tokens.is_some() || aimed && names_loopback(&head.headers);
    if !named || !is_from_no_page(&head.headers, tokens.is_some()) {
        let message = "this proxy answers under the name of this machine only, and to no web page: \
            use http://127.0.0.1 or http://localhost";
        return Err(ProxyFault::new(StatusCode::FORBIDDEN, message));
    }
    if let Some(token) = &access.path_token {
        let inner = behind(&head.uri, |folder| token.is(folder));
        head.uri = inner.ok_or_else(|| {
            let message = "this proxy is there for the client that `epitome run` started, and only \
                the address that it was given leads in: use `epitome serve` for others";
            ProxyFault::new(StatusCode::FORBIDDEN, message)
        })?;
    }
    visitor(tokens, &head.headers).ok_or_else(|| {
        let message = "this proxy needs an access token: send one of its token file as \
            `authorization: Bearer TOKEN`, or as `x-epitome-token: TOKEN` beside your own credential";
        ProxyFault::new(StatusCode::UNAUTHORIZED, message)
    })
}

/// Who sent these headers; none is somebody without a token that is known.
fn visitor(tokens: Option<&[AccessToken]>, headers: &HeaderMap) -> Option<Visitor> {
    let Some(tokens) = tokens else {
        return Some(Visitor { tenant: LOCAL.to_owned(), spent: false });
    };
    let holder = |secret: &[u8]| {
        let secret = blake3::hash(secret);
        // Hashes are compared in constant time.
        tokens.iter().find(|token| token.secret == secret).map(|token| token.tenant.clone())
    };
    if let Some(token) = headers.get(&TOKEN) {
        return holder(token.as_bytes()).map(|tenant| Visitor { tenant, spent: false });
    }
    let (scheme, secret) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    holder(secret.trim_ascii()).map(|tenant| Visitor { tenant, spent: true })
}

/// Whether a request names this machine, not a name that a web page had resolved to it. Where it names
/// several hosts, one that is somebody else's is enough.
fn names_loopback(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter().map(HeaderValue::to_str).peekable();
    hosts.peek().is_some() && hosts.all(|host| host.is_ok_and(is_loopback))
}

/// Whether no web page of somebody else's sent a request: a browser names the origin of the page,
/// which must be this machine, or where there are tokens the host that it asks. Where it names none
/// it says at least that the page is another site's; following a link from there is the user's act.
fn is_from_no_page(headers: &HeaderMap, tokens: bool) -> bool {
    let says = |name, value: &str| headers.get_all(name).iter().any(|found| found == value);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let is_own = |origin: &HeaderValue| {
        let authority = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
        authority.is_some_and(|authority| match tokens {
            true => host == Some(authority),
            false => is_loopback(authority),
        })
    };
    match headers.contains_key(ORIGIN) {
        true => headers.get_all(ORIGIN).iter().all(is_own),
        false => !says(FETCH_SITE, "cross-site") || says(FETCH_MODE, "navigate"),
    }
}

/// Whether a browser asks for what it will show as a document, in a window or within a page.
pub(crate) fn is_for_document(headers: &HeaderMap) -> bool {
    const DOCUMENTS: [&str; 5] = ["document", "iframe", "frame", "object", "embed"];
    let says = |name, values: &[&str]| {
        headers.get_all(name).iter().any(|found| values.iter().any(|value| found == value))
    };
    says(FETCH_MODE, &["navigate", "nested-navigate"]) || says(FETCH_DEST, &DOCUMENTS)
}

/// Whether a host, perhaps with a port, is this machine by its own name.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[track_caller]
    fn check(name: &'static str, value: &str, expected: Option<(&str, bool)>) {
        let tokens =
            AccessToken::read("# ours\n\nanna 0123456789abcdef\nben fedcba9876543210").unwrap();
        let found = visitor(Some(&tokens), &headers(name, value));
        let found = found.as_ref().map(|found| (found.tenant.as_str(), found.spent));
        assert_eq!(found, expected, "{name}: {value}");
    }

    #[test]
    fn a_token_names_its_tenant() {
        check("authorization", "Bearer 0123456789abcdef", Some(("anna", true)));
        check("authorization", "bearer fedcba9876543210", Some(("ben", true)));
        check("x-epitome-token", "fedcba9876543210", Some(("ben", false)));
    }

    #[test]
    fn nobody_else_gets_in() {
        check("authorization", "Bearer 0123456789abcde", None);
        check("authorization", "Basic 0123456789abcdef", None);
        check("authorization", "x", None);
        check("x-epitome-token", "", None);
        check("x-api-key", "0123456789abcdef", None);
        assert_eq!(visitor(Some(&[]), &headers("authorization", "Bearer x")), None);
        assert_eq!(visitor(None, &HeaderMap::new()).unwrap().tenant, "local");
    }

    #[test]
    fn pages_of_others_are_known_by_their_origin() {
        let check = |host: &str, origin: Option<&str>, expected: [bool; 2]| {
            let mut headers = headers("host", host);
            headers.extend(origin.map(|origin| (ORIGIN, origin.parse().unwrap())));
            let found = [false, true].map(|tokens| is_from_no_page(&headers, tokens));
            assert_eq!(found, expected, "{host} {origin:?}");
        };
        check("127.0.0.1:8787", None, [true, true]);
        check("127.0.0.1:8787", Some("http://localhost:5173"), [true, false]);
        check("127.0.0.1:8787", Some("http://[::1]:5173"), [true, false]);
        check("127.0.0.1:8787", Some("http://evil.example"), [false, false]);
        check("127.0.0.1:8787", Some("http://localhost.evil.example"), [false, false]);
        check("127.0.0.1:8787", Some("null"), [false, false]);
        check("gate.example", Some("https://gate.example"), [false, true]);
        let mut several = headers("origin", "http://localhost:5173");
        several.append(ORIGIN, "http://evil.example".parse().unwrap());
        assert!(!is_from_no_page(&several, false));
        let mut headers = headers("sec-fetch-site", "cross-site");
        assert!(!is_from_no_page(&headers, false));
        headers.insert(FETCH_MODE, "navigate".parse().unwrap());
        assert!(is_from_no_page(&headers, false), "a link to the status page");
    }

    #[test]
    fn documents_are_told_by_what_browsers_say_of_a_request() {
        let check = |name: &'static str, value: &str, expected: bool| {
            assert_eq!(is_for_document(&headers(name, value)), expected, "{name} {value}");
        };
        check("sec-fetch-mode", "navigate", true);
        check("sec-fetch-mode", "cors", false);
        check("sec-fetch-dest", "iframe", true);
        check("sec-fetch-dest", "empty", false);
        check("accept", "text/html", false);
    }

    #[test]
    fn the_token_of_a_path_is_right_or_wrong() {
        let token = PathToken::new("0123456789abcdef");
        assert!(token.is("0123456789abcdef"));
        assert!(!token.is("0123456789abcde") && !token.is(""));
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn a_token_is_never_shown() {
        let tokens = AccessToken::read("0123456789abcdef").unwrap();
        let shown = format!("{tokens:?}");
        assert!(shown.contains("token-") && !shown.contains("0123456789"), "{shown}");
        let error = AccessToken::read("anna 0123456789abcdef x").unwrap_err().to_string();
        assert_eq!(
            error,
            "line 1: there are more than two words; expected `NAME TOKEN` or a token alone"
        );
        assert!(
            AccessToken::read("\nshort").unwrap_err().to_string().starts_with("line 2: the token")
        );
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for host in ["127.0.0.1:8787", "localhost", "LOCALHOST:1", "[::1]:80", "127.9.9.9"] {
            assert!(names_loopback(&headers("host", host)), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]"] {
            assert!(!names_loopback(&headers("host", host)), "{host}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
        let mut several = headers("host", "localhost");
        several.append(HOST, "evil.example".parse().unwrap());
        assert!(!names_loopback(&several));
    }
}
