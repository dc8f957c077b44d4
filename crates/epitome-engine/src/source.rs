//! A request over its own bytes, read as far as somebody needs it.
//!
//! Invariant: its messages are scanned once; all of it is decoded only where that is asked for.
//! Made at the door, read by the turn.

use std::borrow::Cow;
use std::sync::OnceLock;

use bytes::Bytes;
use epitome_types::Entry;
use epitome_wire::{Format, RequestDocument, RequestScan, WireError, scan};
use memchr::memmem;

/// A request.
pub(crate) struct RequestSource<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) format: Format,
    pub(crate) scan: Cow<'a, RequestScan>,
    /// Its buffer, where the host shares it.
    shared: Option<&'a Bytes>,
    /// When each message was said, where a recording tells.
    at: &'a [Option<String>],
    document: OnceLock<RequestDocument<'a>>,
}

impl<'a> RequestSource<'a> {
    /// A request whose messages a recording gives times.
    pub(crate) fn of(
        body: &'a [u8],
        format: Format,
        at: &'a [Option<String>],
    ) -> Result<Self, WireError> {
        let scan = Cow::Owned(scan(body, format)?);
        Ok(Self { body, format, scan, shared: None, at, document: OnceLock::new() })
    }

    /// A request that the host shares and has scanned.
    pub(crate) fn shared(body: &'a Bytes, format: Format, scan: &'a RequestScan) -> Self {
        let (shared, scan) = (Some(body), Cow::Borrowed(scan));
        Self { body, format, scan, shared, at: &[], document: OnceLock::new() }
    }

    /// All of it, read when this is first asked for.
    pub(crate) fn document(&self) -> Result<&RequestDocument<'a>, WireError> {
        if let Some(read) = self.document.get() {
            return Ok(read);
        }
        let read = RequestDocument::parse(self.body, self.format)?.with_times(self.at);
        Ok(self.document.get_or_init(|| read))
    }

    /// How many entries stand before the first message.
    pub(crate) fn lead(&self) -> usize {
        usize::from(self.scan.system.is_some())
    }

    /// The bytes of an entry, by its place.
    pub(crate) fn message(&self, place: usize) -> &'a [u8] {
        match (place.checked_sub(self.lead()), &self.scan.system) {
            (Some(place), _) => self.scan.message(self.body, place),
            (None, system) => {
                let range = system.as_ref().map(|system| system.range.clone());
                range.and_then(|range| self.body.get(range)).unwrap_or_default()
            }
        }
    }

    /// One message, read by itself.
    pub(crate) fn entry(&self, place: usize) -> Result<Entry, WireError> {
        epitome_wire::message(self.message(place), self.format)
    }

    /// The model asked for.
    pub(crate) fn model(&self) -> Option<&str> {
        self.scan.model.as_deref()
    }

    /// Whether a recording tells when its messages were said.
    pub(crate) fn is_recorded(&self) -> bool {
        !self.at.is_empty()
    }

    /// The request as it came.
    pub(crate) fn unchanged(&self) -> Bytes {
        self.shared.cloned().unwrap_or_else(|| Bytes::copy_from_slice(self.body))
    }
}

/// Whether a request asks for a cache of an hour, which costs more to write (RULES 114); for one
/// that nobody scans. In a text the quotes would be escaped.
pub fn keeps_an_hour(body: &[u8]) -> bool {
    /// What may stand between the mark and its time to live.
    const NEAR: usize = 80;
    memmem::find_iter(body, b"\"1h\"").any(|at| {
        let before = &body[at.saturating_sub(NEAR)..at];
        memmem::find(before, b"\"cache_control\"").is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_asked_for_by_a_mark() {
        let check = |body: &str, expected| assert_eq!(keeps_an_hour(body.as_bytes()), expected);
        check(r#"{"cache_control": {"type": "ephemeral", "ttl": "1h"}}"#, true);
        check(r#"{"cache_control":{"type":"ephemeral"}}"#, false);
        check(r#"{"cache_control":{"ttl":"5m"},"text":"\"1h\""}"#, false);
        check(r#"{"text":"{\"cache_control\":{\"ttl\":\"1h\"}}"}"#, false);
    }
}
