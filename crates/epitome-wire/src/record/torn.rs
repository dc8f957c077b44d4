//! A recording in JSON lines whose last line is torn: its client, or its machine, went down while it
//! was written.
//!
//! Invariant: nothing but the last line is ever left out, only where what stands before it is such a
//! recording, and whoever reads on is told. A line in the middle that is no JSON stays an error.

use std::fmt;

use super::object;
use crate::{Format, detect, json};

/// The mark of the order of bytes, in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The last line of a recording, which is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for TornLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line } = self;
        write!(
            f,
            "line {line}: the recording breaks off in the middle of its last line, as a crash leaves \
             it; it is read up to there"
        )
    }
}

/// The lines of a recording that are whole, and the last one where it is not. Other bytes are given
/// back as they are, but for the mark that some editors put before a text in UTF-8.
pub fn untorn(bytes: &[u8]) -> (&[u8], Option<TornLine>) {
    let bytes = unmarked(bytes);
    let start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (whole, last) = bytes.split_at(start);
    // What a line break ends was written to its end.
    if last.trim_ascii().is_empty() || json::text(last).is_ok_and(|last| object(last).is_ok()) {
        return (bytes, None);
    }
    match detect(whole) {
        Ok(Format::ClaudeCode | Format::Codex | Format::Pi) => {
            let line = whole.iter().filter(|byte| **byte == b'\n').count() + 1;
            (whole, Some(TornLine { line }))
        }
        _ => (bytes, None),
    }
}

/// The bytes without the mark that some editors put before a text in UTF-8.
pub(crate) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert;

    const LINE: &str =
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"caf\u{e9}\"}}\n";

    #[track_caller]
    fn check(text: &[u8], expected: Option<usize>) {
        let (whole, torn) = untorn(text);
        assert_eq!(torn.map(|torn| torn.line), expected);
        if expected.is_none() {
            assert_eq!(whole, text);
        }
    }

    #[test]
    fn the_last_line_may_be_torn_anywhere() {
        let whole = [LINE, LINE, "\n"].concat();
        for end in 1..LINE.len() - 1 {
            let text = [whole.as_bytes(), &LINE.as_bytes()[..end]].concat();
            check(&text, Some(4));
            let (text, _) = untorn(&text);
            assert_eq!(text, whole.as_bytes());
            assert_eq!(detect(text), Ok(Format::Pi));
            assert!(convert(text, Format::Pi, Format::Anthropic).is_ok());
        }
        check(&[LINE.as_bytes(), LINE.trim_end().as_bytes()].concat(), None);
        check(&[LINE.as_bytes(), b"\0\0\0\0"].concat(), Some(2));
    }

    #[test]
    fn a_mark_before_the_text_is_none_of_it() {
        for text in [LINE, "[]", ""] {
            let marked = [MARK, text.as_bytes()].concat();
            assert_eq!(untorn(&marked), (text.as_bytes(), None));
        }
    }

    #[test]
    fn what_is_no_recording_or_torn_elsewhere_stays_as_it_is() {
        check(b"", None);
        check([LINE, &LINE[..9], "\n"].concat().as_bytes(), None);
        check(&LINE.as_bytes()[..20], None);
        check(b"{\n \"messages\": [\n", None);
        check(b"{\"messages\":[]}\n{\"mess", None);
        check([&LINE[..9], "\n", LINE].concat().as_bytes(), None);
        check([LINE, &LINE[..9], "\n", LINE].concat().as_bytes(), None);
    }
}
