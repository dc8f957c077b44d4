//! JSON string literals: decoding and encoding.
//!
//! Invariant: `decode(literal(x)) == x` for every text. A lone surrogate decodes to U+FFFD, since
//! no Rust string can hold it; its bytes stay as they are.

use std::borrow::Cow;
use std::fmt::Write;

/// The text inside a literal whose quotes have been taken off.
pub(super) fn decode(inner: &str) -> Cow<'_, str> {
    let Some(first) = backslash(inner) else {
        return Cow::Borrowed(inner);
    };
    let mut out = String::with_capacity(inner.len());
    out.push_str(&inner[..first]);
    let mut rest = &inner[first..];
    while let Some(escape) = rest.strip_prefix('\\') {
        let (decoded, used) = unescape(escape);
        out.push(decoded);
        let plain = &escape[used..];
        let next = backslash(plain).unwrap_or(plain.len());
        out.push_str(&plain[..next]);
        rest = &plain[next..];
    }
    Cow::Owned(out)
}

/// Where the next escape begins. Escapes stand close together in code and listings, where a plain
/// loop beats a search that first has to be set up.
fn backslash(text: &str) -> Option<usize> {
    text.bytes().position(|byte| byte == b'\\')
}

/// One escape, its backslash taken off: the character and how many bytes it used.
fn unescape(escape: &str) -> (char, usize) {
    let simple = match escape.as_bytes().first() {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(escape),
        Some(other) => char::from(*other),
        None => return (char::REPLACEMENT_CHARACTER, 0),
    };
    (simple, 1)
}

/// One `uXXXX`, or the two that make a surrogate pair.
fn unicode(escape: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(1).unwrap_or(0xFFFD);
    if (0xD800..0xDC00).contains(&first)
        && escape.get(5..7) == Some("\\u")
        && let Some(second @ 0xDC00..0xE000) = unit(7)
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

/// Appends a text as it stands inside quotes. It may be most of a request: the room for it is known before,
/// so that what it is written to takes no more than that.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    out.reserve(escaped_len(text));
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x8 => "\\b",
            0xC => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if short.is_empty() {
            write!(out, "\\u{byte:04x}").unwrap_or_default();
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[plain..]);
}

/// Bytes that a text takes inside quotes.
pub(crate) fn escaped_len(text: &str) -> usize {
    let more = |byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x8 | 0xC => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(more).sum::<usize>()
}

/// A text as a JSON string, quotes included.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(escaped_len(text) + 2);
    out.push('"');
    escape_into(&mut out, text);
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(inner: &str, decoded: &str) {
        assert_eq!(decode(inner), decoded);
    }

    #[test]
    fn decodes_every_escape() {
        check("plain é", "plain é");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"\u00e9\u4e2D", "é中");
        check(r"\ud83d\ude00!", "😀!");
        check(r"\ud83dx", "\u{fffd}x");
        check(r"\ud83d\u0041", "\u{fffd}A");
        check(r"\ude00\ud83d", "\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(text in any::<String>()) {
            let written = literal(&text);
            prop_assert_eq!(decode(&written[1..written.len() - 1]), text.as_str());
            prop_assert_eq!(written.len(), escaped_len(&text) + 2);
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }
}
