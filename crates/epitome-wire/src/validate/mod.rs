//! The last word before a body goes out: what its provider would refuse (RULES 101 to 110).
//!
//! Invariant: looks at one body alone and changes nothing; an empty list means that no rule known
//! here is broken. Called by the facade after
//! every compression, and by the proxy.

mod anthropic;
mod markers;
mod ollama;
mod openai;
mod responses;

use std::fmt;

use crate::site::{Home, Site};
use crate::{Format, RequestDocument, WireError};

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleViolation {
    /// The rule of the provider, its number less 100; 0 where the body cannot be read at all.
    pub hazard: u8,
    /// Where: a path into the body (`messages[3].content[0]`).
    pub at: String,
    /// What is wrong there, and what the provider expects.
    pub message: String,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// Checks a request against its provider's rules.
///
/// # Errors
///
/// Every violation found, in no particular order. A body that cannot be read is one violation
/// with 0, and so is a recording.
pub fn validate(format: Format, bytes: &[u8]) -> Result<(), Vec<RuleViolation>> {
    let document =
        RequestDocument::parse(bytes, format).map_err(|error| vec![unreadable(&error)])?;
    let found = violations(&document);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

impl RequestDocument<'_> {
    /// The rules of its provider that the request breaks: what [`crate::validate`] finds in its
    /// bytes, without reading them again.
    pub fn violations(&self) -> Vec<RuleViolation> {
        violations(self)
    }
}

/// What of its provider's rules a request breaks that was read already.
fn violations(document: &RequestDocument<'_>) -> Vec<RuleViolation> {
    let mut found = Findings::default();
    match document.format() {
        Format::Anthropic => {
            anthropic::check(document, &mut found);
            if let Err(error) = markers::check(document, &mut found) {
                return vec![unreadable(&error)];
            }
        }
        Format::Responses => responses::check(document, &mut found),
        Format::Ollama => ollama::check(document, &mut found),
        _ => openai::check(document, &mut found),
    }
    found.0
}

fn unreadable(error: &WireError) -> RuleViolation {
    RuleViolation { hazard: 0, at: "body".to_owned(), message: error.to_string() }
}

/// Collects violations.
#[derive(Default)]
struct Findings(Vec<RuleViolation>);

impl Findings {
    fn add(&mut self, hazard: u8, at: impl Into<String>, message: impl Into<String>) {
        self.0.push(RuleViolation { hazard, at: at.into(), message: message.into() });
    }
}

/// The path of a part of the message at `place`.
fn path(place: usize, site: &Site, part: usize) -> String {
    let mut path = format!("messages[{place}]");
    match site.parts.get(part).map(|part| part.home) {
        Some(Home::Block(block)) => path += &format!(".content[{block}]"),
        Some(Home::Inner { item, .. }) => path += &format!(".content[{item}]"),
        Some(Home::Call(call)) => path += &format!(".tool_calls[{call}]"),
        Some(Home::Image(image)) => path += &format!(".images[{image}]"),
        Some(Home::Content | Home::Member(_) | Home::Message) | None => {}
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules and places that are found in a body.
    pub(super) fn check(format: Format, body: &str, expected: &[(u8, &str)]) {
        let found = validate(format, body.as_bytes()).err().unwrap_or_default();
        let short: Vec<_> = found.iter().map(|found| (found.hazard, found.at.as_str())).collect();
        assert_eq!(short, expected, "{body}: {found:?}");
    }

    #[test]
    fn what_cannot_be_read_is_one_violation() {
        for format in Format::ALL {
            check(format, "{", &[(0, "body")]);
        }
        check(Format::Anthropic, "[]", &[(0, "body")]);
        check(Format::OpenAi, "[]", &[]);
    }
}
