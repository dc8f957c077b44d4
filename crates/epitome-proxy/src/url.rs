//! The address of an upstream.
//!
//! Invariant: http or https, with a host and no credential in it, so that it may be printed.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

/// The address of an upstream: `http` or `https`, a host, and perhaps a path before every path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end.
    prefix: String,
}

/// An address that no upstream can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{address}` is no address of an upstream: {reason}; expected something like \
    `https://api.example.com`"
)]
#[non_exhaustive]
pub struct UrlError {
    /// The address, without what looks like a password.
    pub address: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl UpstreamUrl {
    /// Where a request goes that asked for this path here. `/v1` at the end of the address and at
    /// the beginning of the path is the same one. None for what is
    /// no path, such as `*`.
    pub(crate) fn join(&self, asked: &Uri) -> Option<Uri> {
        let path = asked.path();
        let path = match self.prefix.ends_with("/v1") {
            true => path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path),
            false => path,
        };
        if !path.starts_with('/') {
            return None;
        }
        let query = asked.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = PathAndQuery::try_from(format!("{}{path}{query}", self.prefix)).ok()?;
        let uri = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        uri.path_and_query(path).build().ok()
    }

    /// Whether it is reached over TLS.
    pub(crate) fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

impl FromStr for UpstreamUrl {
    type Err = UrlError;

    fn from_str(address: &str) -> Result<Self, UrlError> {
        let wrong = |reason| {
            let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
            UrlError { address: host.to_owned(), reason }
        };
        let parts = address.parse::<Uri>().map_err(|_| wrong("it cannot be read"))?.into_parts();
        let scheme = parts.scheme.ok_or_else(|| wrong("it names no scheme"))?;
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(wrong("its scheme is neither http nor https"));
        }
        let authority = parts.authority.ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("credentials come from the client, never from an address"));
        }
        let path = parts.path_and_query;
        if path.as_ref().is_some_and(|path| path.query().is_some()) {
            return Err(wrong("it has a query"));
        }
        let prefix = path.map(|path| path.path().trim_end_matches('/').to_owned());
        Ok(Self { scheme, authority, prefix: prefix.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, path: &str, expected: &str) {
        let url: UpstreamUrl = address.parse().unwrap();
        assert_eq!(url.join(&path.parse().unwrap()).unwrap().to_string(), expected);
        assert_eq!(url.to_string().parse::<UpstreamUrl>().unwrap(), url);
    }

    #[test]
    fn paths_are_put_behind_the_prefix() {
        check("https://a.b", "/v1/messages?beta=true", "https://a.b/v1/messages?beta=true");
        check("http://127.0.0.1:1/", "/", "http://127.0.0.1:1/");
        check("https://a.b/x/y/", "/v1/models", "https://a.b/x/y/v1/models");
    }

    #[test]
    fn only_a_path_is_asked_of_an_upstream() {
        let url: UpstreamUrl = "https://a.b".parse().unwrap();
        assert_eq!(url.join(&"*".parse().unwrap()), None);
        let absolute = "http://c.d/x?y".parse().unwrap();
        assert_eq!(url.join(&absolute).unwrap().to_string(), "https://a.b/x?y");
        assert_eq!(url.join(&"//c.d/x".parse().unwrap()).unwrap().authority().unwrap(), "a.b");
    }

    #[test]
    fn a_version_is_not_said_twice() {
        check("https://a.b/v1", "/v1/responses", "https://a.b/v1/responses");
        check("https://a.b/v1/", "/responses", "https://a.b/v1/responses");
        check("https://a.b/v1", "/v1beta/x", "https://a.b/v1/v1beta/x");
        check("https://a.b", "/responses", "https://a.b/responses");
    }

    #[test]
    fn what_is_no_address_is_told() {
        for (address, word) in [
            ("a.b", "scheme"),
            ("ftp://a.b", "neither"),
            ("/x", "scheme"),
            ("https://user:pass@a.b", "credentials"),
            ("https://a.b?key=1", "query"),
            ("https:// a", "cannot be read"),
        ] {
            let error = address.parse::<UpstreamUrl>().unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains("pass@"), "{error}");
        }
    }
}
