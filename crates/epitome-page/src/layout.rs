//! The frame of every page, and the headers that it is answered with.
//!
//! Invariant: a page loads nothing. Its one style sheet and its one script stand in it, and the policy
//! names their hashes, so nothing else of it runs or colours anything.

use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// The style sheet.
pub const STYLE: &str = include_str!("style.css");

/// The script.
const SCRIPT: &str = include_str!("script.js");

/// Bands that become less.
const ICON: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>\
    <rect width='32' height='32' rx='7' fill='#0b7d6d'/>\
    <path d='M7 9h18M7 16h11M7 23h5' stroke='#fff' stroke-width='3.4' stroke-linecap='round'/></svg>";

/// The value of the header `content-security-policy`.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let [style, script] = [STYLE, SCRIPT].map(hash);
    format!(
        "default-src 'none'; style-src '{style}'; script-src '{script}'; connect-src 'self'; \
         img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types epitome"
    )
});

/// A part of the page that its head leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageTab {
    /// Sessions, and all of one.
    Sessions,
    /// Experiments.
    Experiments,
    /// Policies.
    Policies,
    /// How the proxy does.
    Health,
    /// None of these: the page of something else.
    Alone,
}

/// A page, without its frame.
#[derive(Debug)]
pub(crate) struct PageContent {
    pub(crate) title: String,
    pub(crate) tab: PageTab,
    pub(crate) main: Markup,
}

/// A hash as a policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - group.len()));
        for digit in 0..4 {
            let bits = word >> (18 - 6 * digit) & 63;
            out.push(if digit > group.len() { '=' } else { char::from(DIGITS[bits as usize]) });
        }
    }
    out
}

/// The value of the header `content-security-policy` of every page with this style sheet.
pub fn policy() -> &'static str {
    &POLICY
}

/// A page in its frame.
pub(crate) fn framed(page: &PageContent) -> Markup {
    let tabs = [
        (PageTab::Sessions, "/", "Sessions"),
        (PageTab::Experiments, "/experiments", "Experiments"),
        (PageTab::Policies, "/policies", "Policies"),
        (PageTab::Health, "/health", "Health"),
    ];
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="icon" type="image/svg+xml" href="/epitome.svg";
                title { (page.title) " · Epitome" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header.top {
                    a.brand href="/" { "Epitome" }
                    @if page.tab != PageTab::Alone {
                        nav aria-label="Pages" {
                            @for (tab, address, name) in tabs {
                                a href=(address) aria-current=[(page.tab == tab).then_some("page")] { (name) }
                            }
                        }
                    }
                    span #live .live role="status" {}
                    button #keys .ghost type="button" hidden { "Keys " kbd { "?" } }
                }
                main #main { (page.main) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// A page as an answer.
pub(crate) fn answer(status: StatusCode, page: &PageContent) -> Response<Bytes> {
    let mut response = plain(status, framed(page).into_string());
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

/// A text as an answer, with the headers of all answers.
pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, policy()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The icon, which anybody may see, with the answer to a challenge.
pub(crate) fn icon(proof: Option<&str>) -> Response<Bytes> {
    let mut response = plain(StatusCode::OK, ICON);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=86400"));
    let proof = proof.and_then(|proof| HeaderValue::from_str(proof).ok());
    headers.extend(proof.map(|proof| (HeaderName::from_static("x-epitome-page"), proof)));
    response
}

/// A page that says why there is nothing to see.
pub(crate) fn refusal(status: StatusCode, title: &str, why: &str) -> Response<Bytes> {
    let main = html! { section.card.narrow { h1 { (title) } p { (why) } } };
    answer(status, &PageContent { title: title.to_owned(), tab: PageTab::Sessions, main })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_policies_want_them() {
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!([base64(b"a"), base64(b"ab"), base64(b"abc")], ["YQ==", "YWI=", "YWJj"]);
    }

    #[test]
    fn the_policy_allows_what_stands_in_the_page_and_nothing_else() {
        for part in [STYLE, SCRIPT] {
            assert!(policy().contains(&hash(part)), "{}", policy());
            assert!(!part.contains("</"), "it would end there");
        }
        assert!(policy().starts_with("default-src 'none'") && !policy().contains("unsafe"));
        assert!(SCRIPT.len() < 10_000, "{} bytes", SCRIPT.len());
        for outer in ["url(", "@import", "http:", "https:"] {
            assert!(!STYLE.contains(outer) && !SCRIPT.contains(outer), "{outer}");
        }
    }
}
