//! Why bytes were refused, or an edit of them.
//!
//! Invariant: every variant says where it happened and what was expected there, and no message
//! grows with the input: what it quotes goes through `quoted`.

use std::borrow::Cow;

use epitome_types::EntryId;

use crate::Format;

/// Why bytes could not be read, converted or edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes are not text.
    #[error("byte {at}: expected UTF-8 text")]
    Utf8 {
        /// Offset of the first byte that is no UTF-8.
        at: usize,
    },
    /// There are more bytes than places are written down for.
    #[error("{bytes} bytes: expected fewer than 4 GiB; split the conversation")]
    TooLarge {
        /// How many there are.
        bytes: usize,
    },
    /// The text is not JSON; a cut-off file ends here too.
    #[error("byte {at}: expected {expected}{}", within(place))]
    Syntax {
        /// Offset of the byte that does not fit.
        at: usize,
        /// What could have stood there.
        expected: &'static str,
        /// The array or object it stands in (`messages[3].content`); empty at the top.
        place: String,
    },
    /// Arrays and objects are nested deeper than any conversation needs.
    #[error("byte {at}: expected at most {most} nested arrays and objects")]
    Deep {
        /// Offset of the bracket that is one too many.
        at: usize,
        /// How many levels are read.
        most: u32,
    },
    /// The JSON is sound, but not of the expected shape.
    #[error("byte {at}: expected {expected}{}, found {found}", within(place))]
    Shape {
        /// Offset of the value.
        at: usize,
        /// What should stand there.
        expected: &'static str,
        /// The value's path (`messages[3].role`); empty at the top.
        place: String,
        /// What stands there.
        found: String,
    },
    /// One line of a recording is at fault; offsets count from the start of the line.
    #[error("line {line}: {source}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: Box<WireError>,
    },
    /// No known format looks like this.
    #[error("format not recognised: {found}; expected {}", known())]
    Unrecognised {
        /// What was found instead.
        found: String,
    },
    /// A format's name is not known.
    #[error("unknown format `{name}`; expected one of {}", known())]
    UnknownName {
        /// The name as given.
        name: String,
    },
    /// A recording was given where a request is needed, or the reverse.
    #[error("{format} is {is}; expected {expected}")]
    WrongKind {
        /// The format given.
        format: Format,
        /// What it is.
        is: &'static str,
        /// What was needed.
        expected: &'static str,
    },
    /// An edit cannot be made; nothing was changed.
    #[error("edit of {entry}{}: {why}", part.map_or_else(String::new, |part| format!(" part {part}")))]
    Edit {
        /// The entry aimed at.
        entry: EntryId,
        /// The part aimed at, where it was one.
        part: Option<u32>,
        /// Why it cannot be made, and what could be.
        why: &'static str,
    },
}

/// The most of a key, a value or an id that a message quotes, in bytes.
const MOST_QUOTED: usize = 128;

/// What a message quotes of a text from the input; a longer one is cut and ends with `…`.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let end = text.floor_char_boundary(MOST_QUOTED);
    let cut = &text[..end];
    match (end < text.len(), cut.contains(char::is_control)) {
        (false, false) => text.into(),
        (more, _) => {
            let escaped = cut
                .chars()
                .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] });
            escaped.chain(more.then_some('…')).collect::<String>().into()
        }
    }
}

/// A place as the end of a sentence.
fn within(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" in `{place}`") }
}

/// The names of all formats.
fn known() -> String {
    Format::ALL.map(|format| format!("`{format}`")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, RequestDocument, detect, validate};

    #[test]
    fn control_characters_are_quoted_escaped() {
        assert_eq!(quoted("a\nb\u{1b}[0m"), "a\\nb\\u{1b}[0m");
        assert_eq!(quoted("plain"), "plain");
    }

    #[test]
    fn what_is_quoted_is_cut_between_characters() {
        for text in ["", "short", &"k".repeat(MOST_QUOTED)] {
            assert_eq!(quoted(text), text);
        }
        for long in ["k", "é", "中", "😀"].map(|c| c.repeat(1000)) {
            for start in 0..4 {
                let text = format!("{}{long}", &"abcd"[..start]);
                let cut = quoted(&text).into_owned();
                let head = cut.strip_suffix('…').unwrap_or_else(|| panic!("not cut: {text:.20}"));
                assert!(text.starts_with(head) && head.len() <= MOST_QUOTED);
                assert!(head.len() + 4 > MOST_QUOTED, "{} bytes of {text:.20}", head.len());
            }
        }
    }

    #[test]
    fn messages_do_not_grow_with_the_input() {
        let check = |message: String| {
            assert!(message.len() < 1000, "{} bytes: {message:.80}", message.len());
        };
        let parse = |body: &str| {
            check(RequestDocument::parse(body.as_bytes(), Format::OpenAi).unwrap_err().to_string());
        };
        for long in ["k", "é", "9"].map(|c| c.repeat(100_000)) {
            parse(&format!(r#"{{"{long}":{{"x":tru}}}}"#));
            parse(&format!(r#"[{{"role":"{long}"}}]"#));
            check(detect(format!(r#"{{"{long}":1}}"#).as_bytes()).unwrap_err().to_string());
            check(detect(format!(r#"{{"type":"{long}"}}"#).as_bytes()).unwrap_err().to_string());
            let result = format!(r#"{{"role":"tool","tool_call_id":"{long}","content":"x"}}"#);
            let call = format!(
                r#"{{"role":"assistant","content":"x","tool_calls":[{{"id":"{long}","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
            );
            for body in [format!("[{result}]"), format!("[{call}]")] {
                for violation in validate(Format::OpenAi, body.as_bytes()).unwrap_err() {
                    check(violation.to_string());
                }
            }
        }
        parse(&format!(r#"[{{"role":{}}}]"#, "9".repeat(100_000)));
    }
}
