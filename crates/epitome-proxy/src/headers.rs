//! What of a request's and an answer's head goes on, and what stays between two neighbours.
//!
//! Invariant: nothing is added; what is no business of the next hop, or ours alone, is left out,
//! and everything else stays as it came, repeated fields too. Called by `call`.

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, EXPECT,
    HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, REFERER, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// The access token of this proxy, where the client's own credential has to stay in place.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-epitome-token");
/// A name for the conversation.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("x-epitome-session");
/// Tokens of the request as it came and as it was sent, `RAW/SENT`.
pub(crate) const TOKENS: HeaderName = HeaderName::from_static("x-epitome-tokens");
/// Why a request was not compressed.
pub(crate) const SKIP: HeaderName = HeaderName::from_static("x-epitome-skip");

/// What the names of our own cookies begin with.
const COOKIES: &str = "epitome_";

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// The fields that belong to one connection (RFC 9110, 7.6.1).
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    PROXY_CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// How the body of a request goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// As it came, with what its head says about it.
    AsItCame,
    /// Decoded, or made anew.
    Plain,
}

/// The head of a request for its upstream. `spent` says that `authorization` was our own token;
/// `heard` that we read the answer, which then must not be compressed.
pub(crate) fn upward(
    mut headers: HeaderMap,
    payload: Payload,
    spent: bool,
    heard: bool,
) -> HeaderMap {
    drop_hop_by_hop(&mut headers);
    // The client of `upstream` names host and length itself; it has the body whole when it asks. The
    // address that a request was referred from is one of ours, and may be a secret.
    for name in [HOST, CONTENT_LENGTH, EXPECT, REFERER, TOKEN, SESSION] {
        headers.remove(name);
    }
    drop_own_cookies(&mut headers);
    if payload == Payload::Plain {
        headers.remove(CONTENT_ENCODING);
    }
    if spent {
        headers.remove(AUTHORIZATION);
    }
    if heard && headers.contains_key(ACCEPT_ENCODING) {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    headers
}

/// Takes out the cookies of our own page, which open it.
fn drop_own_cookies(headers: &mut HeaderMap) {
    let others = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        let pairs = text.split(';').map(str::trim);
        let others: Vec<_> = pairs.filter(|pair| !pair.starts_with(COOKIES)).collect();
        HeaderValue::from_str(&others.join("; ")).ok().filter(|value| !value.is_empty())
    };
    let is_own = |value: &HeaderValue| {
        value.as_bytes().windows(COOKIES.len()).any(|bytes| bytes == COOKIES.as_bytes())
    };
    if !headers.get_all(COOKIE).iter().any(is_own) {
        return;
    }
    let kept: Vec<_> = headers.get_all(COOKIE).iter().filter_map(others).collect();
    headers.remove(COOKIE);
    kept.into_iter().for_each(|value| _ = headers.append(COOKIE, value));
}

/// The head of an answer for the client.
pub(crate) fn downward(mut headers: HeaderMap) -> HeaderMap {
    drop_hop_by_hop(&mut headers);
    headers
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &str) -> HeaderMap {
        let fields = lines.split('\n').filter_map(|line| line.split_once(": "));
        let field = |(name, value): (&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields.map(field) {
            headers.append(name, value);
        }
        headers
    }

    #[track_caller]
    fn check(came: &str, payload: Payload, spent: bool, heard: bool, goes: &str) {
        assert_eq!(upward(map(came), payload, spent, heard), map(goes));
    }

    const CAME: &str = "host: 127.0.0.1:8787\nconnection: keep-alive, X-Hop\nx-hop: 1\n\
        keep-alive: 5\nte: trailers\ntransfer-encoding: chunked\nexpect: 100-continue\n\
        upgrade: h2c\nproxy-authorization: Basic x\ncontent-encoding: gzip\ncontent-length: 5\n\
        authorization: Bearer a\nx-epitome-token: t\nx-epitome-session: s\n\
        accept-encoding: gzip, br\nanthropic-beta: a\nanthropic-beta: b";

    #[test]
    fn what_belongs_to_a_connection_or_to_us_stays_here() {
        let rest = "anthropic-beta: a\nanthropic-beta: b\n";
        let kept = "content-encoding: gzip\nauthorization: Bearer a\naccept-encoding: gzip, br\n";
        check(CAME, Payload::AsItCame, false, false, &format!("{kept}{rest}"));
        let plain = "authorization: Bearer a\naccept-encoding: identity\n";
        check(CAME, Payload::Plain, false, true, &format!("{plain}{rest}"));
    }

    #[test]
    fn our_own_cookies_are_not_shown_to_an_upstream() {
        let cookie = |came: &str, goes: &str| check(came, Payload::AsItCame, false, false, goes);
        cookie("cookie: epitome_8787=secret", "");
        cookie("cookie: a=1; epitome_8787=secret; b=2", "cookie: a=1; b=2");
        cookie("cookie: a=epitome; b=2", "cookie: a=epitome; b=2");
    }

    #[test]
    fn our_own_token_is_not_shown_to_an_upstream() {
        check(
            "authorization: Bearer ours\nx-api-key: k",
            Payload::Plain,
            true,
            true,
            "x-api-key: k",
        );
    }

    #[test]
    fn no_preference_for_an_encoding_is_made_up() {
        check("accept: */*", Payload::Plain, false, true, "accept: */*");
    }

    #[test]
    fn answers_keep_all_but_what_belongs_to_the_connection() {
        let came = "connection: x-a\nx-a: 1\ntransfer-encoding: chunked\nset-cookie: a=1\n\
            set-cookie: b=2\ncontent-length: 3\nretry-after: 1";
        let goes = "set-cookie: a=1\nset-cookie: b=2\ncontent-length: 3\nretry-after: 1";
        assert_eq!(downward(map(came)), map(goes));
    }
}
