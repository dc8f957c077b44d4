//! One message by itself, as a host pushes it.
//!
//! Invariant: it says by itself what it says within a request. Called by live sessions.

use epitome_types::{Entry, EntryId};

use crate::json::{self, Cursor};
use crate::{Format, WireError, read};

/// Reads one encoded message; it is `e0`. A recording's format stands for its nearest provider's.
///
/// # Errors
///
/// When the bytes are not one UTF-8 JSON object of the format's shape; the error names the byte
/// and the path.
pub fn message(bytes: &[u8], format: Format) -> Result<Entry, WireError> {
    let mut cursor = Cursor::new(json::text(bytes)?, 0);
    let object = cursor.object()?;
    cursor.end()?;
    let (entry, _) = read::message(&object, format, EntryId(0))?;
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestDocument;

    #[track_caller]
    fn check(format: Format, bytes: &str) {
        let request = format!("{{\"{}\":[{bytes}]}}", format.messages());
        let document = RequestDocument::parse(request.as_bytes(), format).unwrap();
        assert_eq!(message(bytes.as_bytes(), format).as_ref(), Ok(&document.entries()[0]));
    }

    #[track_caller]
    fn check_refused(format: Format, bytes: &str, expected: &str) {
        assert_eq!(message(bytes.as_bytes(), format).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_message_says_the_same_within_a_request() {
        check(Format::OpenAi, r#"{"role":"user","content":"caf\u00e9", "x":1.0}"#);
        check(Format::OpenAi, r#"{"role":"tool","tool_call_id":"c","content":"done"}"#);
        let results =
            r#"[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"}]}]"#;
        check(Format::Anthropic, &format!(r#"{{"role":"user","content":{results}}}"#));
    }

    #[test]
    fn errors_name_their_place_in_the_message() {
        check_refused(Format::OpenAi, "hello", "byte 0: expected a value");
        check_refused(Format::OpenAi, "[]", "byte 0: expected an object");
        let two = r#"{"role":"user","content":"a"},{"role":"user","content":"b"}"#;
        check_refused(Format::OpenAi, two, "byte 29: expected the end of the input");
        let role = r#"{"role":"tool","content":"x"}"#;
        let expected = "byte 8: expected `user`, `assistant` or `system` in `role`, found \"tool\"";
        check_refused(Format::Anthropic, role, expected);
        let none = r#"{"role":"user"}"#;
        let expected = "byte 0: expected a message with `content`, found an object";
        check_refused(Format::OpenAi, none, expected);
    }
}
