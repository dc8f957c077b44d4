//! Who may look, and who may act.
//!
//! Invariant: no page that shows anything of a conversation is answered without a secret, and nothing
//! is done for a request that another page can have sent. Secrets are compared in constant time, as
//! hashes, and never shown.

use std::fmt;

use http::header::{COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::{Method, Request};

use crate::address::PageQuery;

/// What browsers say of who asks.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whoever may look at the page.
#[derive(Clone)]
pub struct PageHolder {
    /// The tenant whose sessions are shown.
    pub tenant: String,
    /// The hash of the secret.
    secret: blake3::Hash,
}

impl fmt::Debug for PageHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageHolder").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl PageHolder {
    /// Whoever knows a secret.
    pub fn new(tenant: impl Into<String>, secret: &str) -> Self {
        Self::with_hash(tenant, blake3::hash(secret.as_bytes()))
    }

    /// Whoever knows the secret with this hash.
    pub fn with_hash(tenant: impl Into<String>, secret: blake3::Hash) -> Self {
        Self { tenant: tenant.into(), secret }
    }

    /// What its browser keeps for a page on this port.
    fn cookie(&self, port: u16) -> blake3::Hash {
        blake3::keyed_hash(self.secret.as_bytes(), format!("epitome page {port}").as_bytes())
    }

    /// What only somebody who knows the secret can say of a store on a port, once.
    pub(crate) fn proof(&self, store: &str, port: u16, challenge: &str) -> blake3::Hash {
        let said = format!("epitome proof {store} {port} {challenge}");
        blake3::keyed_hash(self.secret.as_bytes(), said.as_bytes())
    }

    /// What its forms carry.
    pub(crate) fn form_token(&self, port: u16) -> String {
        let token = blake3::keyed_hash(self.cookie(port).as_bytes(), b"epitome form");
        token.to_hex().to_string()
    }
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageRefusal {
    /// It names another host.
    Host,
    /// It comes without a secret.
    NoToken,
    /// It comes with one that nobody holds.
    WrongToken,
    /// It may be another page's.
    Origin,
    /// Its form is not of this browser.
    Form,
}

/// A request that may look.
pub(crate) enum AdmittedRequest<'g> {
    /// It brings the secret, and is given a cookie.
    New(&'g PageHolder),
    /// A browser that is known.
    Known(&'g PageHolder),
}

/// The door of the page.
pub(crate) struct PageGate<'g> {
    /// Those who may look.
    pub(crate) holders: &'g [PageHolder],
    /// The port that the page stands on.
    pub(crate) port: u16,
    /// Whether it may be reached under any name.
    pub(crate) is_open: bool,
}

impl<'g> PageGate<'g> {
    /// Whether a request names this machine and this port, exactly: a name that somebody has resolved to
    /// it is another's.
    pub(crate) fn host(&self, headers: &HeaderMap) -> Result<(), PageRefusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(PageRefusal::Host);
        };
        let known = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{}", self.port));
        let is_known = |host: &HeaderValue| known.iter().any(|known| host == known.as_str());
        match self.is_open || is_known(host) {
            true => Ok(()),
            false => Err(PageRefusal::Host),
        }
    }

    /// Whether a request may look, and as whom.
    pub(crate) fn admit<T>(
        &self,
        request: &Request<T>,
        query: &PageQuery,
    ) -> Result<AdmittedRequest<'g>, PageRefusal> {
        self.host(request.headers())?;
        match query.get("token") {
            Some(token) if request.method() == Method::GET => {
                self.holder_of(token).map(AdmittedRequest::New)
            }
            _ => self.visitor(request.headers()).map(AdmittedRequest::Known),
        }
    }

    /// The holder of a secret.
    pub(crate) fn holder_of(&self, secret: &str) -> Result<&'g PageHolder, PageRefusal> {
        let secret = blake3::hash(secret.as_bytes());
        self.holders.iter().find(|holder| holder.secret == secret).ok_or(PageRefusal::WrongToken)
    }

    /// The holder whose browser asks.
    pub(crate) fn visitor(&self, headers: &HeaderMap) -> Result<&'g PageHolder, PageRefusal> {
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|value| value.split(';'));
        let own = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut own = own.filter(|(known, _)| *known == name).map(|(_, value)| value).peekable();
        own.peek().ok_or(PageRefusal::NoToken)?;
        let known = |value: &str| {
            let hash = blake3::Hash::from_hex(value).ok()?;
            self.holders.iter().find(|holder| holder.cookie(self.port) == hash)
        };
        own.find_map(known).ok_or(PageRefusal::WrongToken)
    }

    /// Whether a request to do something is one of the page's own.
    pub(crate) fn act(
        &self,
        holder: &PageHolder,
        headers: &HeaderMap,
        form: &PageQuery,
    ) -> Result<(), PageRefusal> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else {
            return Err(PageRefusal::Origin);
        };
        let origin = origin.to_str().unwrap_or_default();
        let scheme = origin.strip_prefix("http://").or_else(|| {
            // Behind a server that ends TLS.
            origin.strip_prefix("https://").filter(|_| self.is_open)
        });
        let is_own = scheme.is_some_and(|origin| headers.get(HOST).is_some_and(|it| it == origin));
        let mut sites = headers.get_all(FETCH_SITE).iter();
        if !is_own || !sites.all(|site| site == "same-origin") {
            return Err(PageRefusal::Origin);
        }
        let token = form.get("token").and_then(|it| blake3::Hash::from_hex(it).ok());
        let own = blake3::keyed_hash(holder.cookie(self.port).as_bytes(), b"epitome form");
        if token == Some(own) { Ok(()) } else { Err(PageRefusal::Form) }
    }

    /// The header that hands a browser its cookie. Cookies do not tell ports apart, so the name does.
    pub(crate) fn set_cookie(&self, holder: &PageHolder) -> String {
        let (name, value) = (self.cookie_name(), holder.cookie(self.port).to_hex());
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict")
    }

    fn cookie_name(&self) -> String {
        format!("epitome_{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 8787;

    fn holders() -> Vec<PageHolder> {
        vec![PageHolder::new("anna", "secret of anna"), PageHolder::new("ben", "secret of ben")]
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_names_of_this_machine_with_its_port_are_hosts() {
        let holders = holders();
        let gate = PageGate { holders: &holders, port: PORT, is_open: false };
        let host = |value: &str| gate.host(&headers(&[(HOST, value)])).is_ok();
        assert!(["127.0.0.1:8787", "localhost:8787", "[::1]:8787"].into_iter().all(host));
        let others =
            ["127.0.0.1", "127.0.0.1:80", "evil.example:8787", "localhost.evil.example:8787", ""];
        assert!(!others.into_iter().any(host));
        assert!(gate.host(&HeaderMap::new()).is_err());
        let two = headers(&[(HOST, "localhost:8787"), (HOST, "localhost:8787")]);
        assert!(gate.host(&two).is_err());
    }

    #[test]
    fn a_cookie_names_its_holder_on_its_own_port_alone() {
        let holders = holders();
        let gate = PageGate { holders: &holders, port: PORT, is_open: false };
        let set = gate.set_cookie(gate.holder_of("secret of ben").unwrap());
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set}");
        let pair = set.split(';').next().unwrap().to_owned();
        let who = |gate: &PageGate<'_>, cookie: &str| {
            gate.visitor(&headers(&[(COOKIE, cookie)])).map(|it| it.tenant.clone())
        };
        assert_eq!(who(&gate, &format!("other=1; {pair}")), Ok("ben".to_owned()));
        assert_eq!(who(&gate, "other=1"), Err(PageRefusal::NoToken));
        assert_eq!(who(&gate, "epitome_8787=00"), Err(PageRefusal::WrongToken));
        let elsewhere = PageGate { holders: &holders, port: 9999, is_open: false };
        let moved = pair.replace("8787", "9999");
        assert_eq!(who(&elsewhere, &moved), Err(PageRefusal::WrongToken));
        assert_eq!(gate.holder_of("secret").map(|it| &it.tenant), Err(PageRefusal::WrongToken));
        assert!(!format!("{:?}", holders[0]).contains("secret of"));
    }

    #[test]
    fn an_act_is_of_the_page_itself_and_of_this_browser() {
        let holders = holders();
        let gate = PageGate { holders: &holders, port: PORT, is_open: false };
        let form = |token: &str| PageQuery::parse(&format!("do=undo&token={token}"));
        let own = form(&holders[0].form_token(PORT));
        let act = |pairs: &[(HeaderName, &str)], form: &PageQuery| {
            let mut all = vec![(HOST, "127.0.0.1:8787")];
            all.extend(pairs.iter().cloned());
            gate.act(&holders[0], &headers(&all), form)
        };
        let origin = (ORIGIN, "http://127.0.0.1:8787");
        assert_eq!(act(std::slice::from_ref(&origin), &own), Ok(()));
        assert_eq!(act(&[origin.clone(), (FETCH_SITE, "same-origin")], &own), Ok(()));
        assert_eq!(
            act(&[origin.clone(), (FETCH_SITE, "same-site")], &own),
            Err(PageRefusal::Origin)
        );
        for other in ["null", "http://localhost:8787", "http://127.0.0.1", "https://127.0.0.1:8787"]
        {
            assert_eq!(act(&[(ORIGIN, other)], &own), Err(PageRefusal::Origin), "{other}");
        }
        assert_eq!(act(&[], &own), Err(PageRefusal::Origin));
        let of_ben = form(&holders[1].form_token(PORT));
        assert_eq!(act(std::slice::from_ref(&origin), &of_ben), Err(PageRefusal::Form));
        assert_eq!(act(&[origin], &form("")), Err(PageRefusal::Form));
    }
}
