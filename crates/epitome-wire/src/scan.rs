//! Where the messages of a request stand, and a hash of each: the hot path of a proxy.
//!
//! Invariant: one linear pass, no text decoded, no allocation but the list of spans. The whole
//! body is checked to be sound JSON on the way.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::WireError;
use crate::json::{self, Cursor, Kind, Span};

/// The messages of a request body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The messages, in order.
    pub messages: Vec<MessageSpan>,
}

impl Scan {
    /// The scanned body with new bytes for some messages, by place; all else is copied.
    ///
    /// Places must grow; one that is out of order or out of range is passed over.
    pub fn splice(&self, body: &[u8], messages: &[(usize, &[u8])]) -> Vec<u8> {
        let added: usize = messages.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(body.len() + added);
        let mut at = 0;
        for (place, with) in messages {
            let Some(MessageSpan { range, .. }) = self.messages.get(*place) else { continue };
            let Some(between) = body.get(at..range.start) else { continue };
            out.extend_from_slice(between);
            out.extend_from_slice(with);
            at = range.end;
        }
        out.extend_from_slice(body.get(at..).unwrap_or_default());
        out
    }
}

/// One message in a request body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSpan {
    /// Its bytes, as a range of the body.
    pub range: Range<usize>,
    /// xxh3-128 of those bytes: an identity within this process, never stored (PERF 2).
    pub hash: u128,
}

/// Finds and hashes the messages of a body: the items of its `messages`, or of a bare array.
///
/// # Errors
///
/// When the body is not UTF-8, not JSON, nested too deeply, or holds no array of messages; the
/// error names the byte.
pub fn scan(bytes: &[u8]) -> Result<Scan, WireError> {
    let text = json::text(bytes)?;
    let mut cursor = Cursor::new(text, 0);
    let mut found = None;
    match cursor.peek_kind()? {
        Kind::Array => found = Some(messages(text, &mut cursor)?),
        Kind::Object => cursor.members(|key, cursor| {
            if key.str()? == "messages" {
                found = Some(messages(text, cursor)?);
            } else {
                cursor.value()?;
            }
            Ok(())
        })?,
        _ => {}
    }
    match found {
        Some(messages) => {
            cursor.end()?;
            Ok(Scan { messages })
        }
        None => Err(json::parse(text)?.unexpected("an object with `messages`, or an array")),
    }
}

/// The items of the array that begins at the cursor.
fn messages(text: &str, cursor: &mut Cursor<'_>) -> Result<Vec<MessageSpan>, WireError> {
    let mut messages = Vec::new();
    cursor.items(|cursor| {
        let Span { start, end } = cursor.value()?.span();
        let hash = xxh3_128(Span::new(start, end).of(text).as_bytes());
        messages.push(MessageSpan { range: start..end, hash });
        Ok(())
    })?;
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, messages: &[&str]) {
        let scan = scan(body.as_bytes()).unwrap();
        let found: Vec<_> =
            scan.messages.iter().map(|message| &body[message.range.clone()]).collect();
        assert_eq!(found, messages);
        let hashes = messages.iter().map(|message| xxh3_128(message.as_bytes()));
        assert!(scan.messages.iter().map(|message| message.hash).eq(hashes));
    }

    #[test]
    fn finds_the_messages_of_a_body_and_of_a_bare_array() {
        check(
            r#"{"tools":[{"a":1}],"messages":[ {"role":"user"} , {"x":[1.0]}],"n":2}"#,
            &[r#"{"role":"user"}"#, r#"{"x":[1.0]}"#],
        );
        check(r#" [{"role":"user"},{}] "#, &[r#"{"role":"user"}"#, "{}"]);
        check("[]", &[]);
        check(r#"{"messages":[1],"messages":[2]}"#, &["2"]);
        check(r#"{"m\u0065ssages":[1]}"#, &["1"]);
    }

    #[test]
    fn splices_whole_messages() {
        let body = br#"{"messages":[{"a":1.0}, {"b":2} ,{}]}"#;
        let scan = scan(body).unwrap();
        assert_eq!(scan.splice(body, &[]), body);
        let spliced = scan.splice(body, &[(1, b"B"), (2, b"C"), (0, b"late"), (9, b"far")]);
        assert_eq!(spliced, br#"{"messages":[{"a":1.0}, B ,C]}"#);
    }

    #[test]
    fn refuses_what_is_no_body() {
        let check = |body: &[u8], expected: &str| {
            assert_eq!(scan(body).unwrap_err().to_string(), expected);
        };
        check(b"{\"messages\":[{}]", "byte 16: expected `,` or `}`");
        check(b"{}", "byte 0: expected an object with `messages`, or an array, found an object");
        check(b"{\"messages\":3}", "byte 12: expected an array");
        check(b"[\"\xff\"]", "byte 2: expected UTF-8 text");
        check(b"[1]]", "byte 3: expected the end of the input");
        check(b"", "byte 0: expected a value");
    }
}
