//! Names the place of an offset (`messages[3].content`), for errors.
//!
//! Invariant: works on any text up to the offset, sound JSON or not. Walks the text again, so that
//! the scanner need not keep track; called only when an error is made.

use std::fmt::Write;

use super::MOST_NESTED;
use crate::error::quoted;

/// How many steps at either end of a path are named, however long it is.
const ENDS: usize = 4;

/// One open bracket and how far it has got.
enum OpenBracket<'a> {
    Object { key: &'a str },
    Array { index: usize },
}

/// The path of the innermost array or object that is open at `offset`.
pub(super) fn container(text: &str, offset: usize) -> String {
    let mut frames = frames(text, offset);
    frames.pop();
    path(&frames)
}

/// The path of the value that begins at `offset`.
pub(super) fn value(text: &str, offset: usize) -> String {
    path(&frames(text, offset))
}

fn frames(text: &str, offset: usize) -> Vec<OpenBracket<'_>> {
    #[cfg(test)]
    tests::WALKS.set(tests::WALKS.get() + 1);
    let bytes = text.as_bytes();
    let mut frames: Vec<OpenBracket<'_>> = Vec::new();
    let mut expects_key = false;
    let mut at = 0;
    while at < offset {
        match bytes.get(at) {
            Some(b'"') => {
                let end = string_end(bytes, at);
                if let (true, Some(OpenBracket::Object { key })) = (expects_key, frames.last_mut())
                {
                    *key = text.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                    expects_key = false;
                }
                at = end;
                continue;
            }
            Some(b'{') if frames.len() < MOST_NESTED as usize => {
                frames.push(OpenBracket::Object { key: "" });
                expects_key = true;
            }
            Some(b'[') if frames.len() < MOST_NESTED as usize => {
                frames.push(OpenBracket::Array { index: 0 });
                expects_key = false;
            }
            Some(b'}' | b']') => {
                frames.pop();
                expects_key = false;
            }
            Some(b',') => match frames.last_mut() {
                Some(OpenBracket::Array { index }) => *index += 1,
                _ => expects_key = true,
            },
            _ => {}
        }
        at += 1;
    }
    frames
}

/// The offset behind the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The steps of a path; of a long one the first and the last, which name the message and the
/// member.
fn path(frames: &[OpenBracket<'_>]) -> String {
    let left_out = ENDS..frames.len().saturating_sub(ENDS);
    let mut out = String::new();
    for (place, frame) in frames.iter().enumerate() {
        if left_out.contains(&place) {
            if place == ENDS {
                out.push_str(".…");
            }
            continue;
        }
        match frame {
            OpenBracket::Object { key } => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(&quoted(key));
            }
            OpenBracket::Array { index } => write!(out, "[{index}]").unwrap_or_default(),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::{Format, RequestDocument, convert, validate};

    thread_local! {
        /// How often a text was walked by this thread.
        pub(super) static WALKS: Cell<u32> = const { Cell::new(0) };
    }

    #[track_caller]
    fn check(name: &str, read: impl FnOnce()) {
        let before = WALKS.get();
        read();
        assert_eq!(WALKS.get() - before, 0, "{name}: errors were made and dropped");
    }

    #[test]
    fn long_paths_lose_their_middle() {
        let check = |levels: usize, expected: &str| {
            let text: String = (0..levels).map(|level| format!(r#"{{"k{level}":"#)).collect();
            assert_eq!(super::value(&text, text.len()), expected);
        };
        check(0, "");
        check(1, "k0");
        check(8, "k0.k1.k2.k3.k4.k5.k6.k7");
        check(9, "k0.k1.k2.k3.….k5.k6.k7.k8");
        check(128, "k0.k1.k2.k3.….k124.k125.k126.k127");
        assert_eq!(super::value("[[[[[[[[[[1", 10), "[0][0][0][0].…[0][0][0][0]");
    }

    /// A walk costs as much as the text is long, so one for each message is too many.
    #[test]
    fn what_is_sound_is_read_without_a_walk() {
        let anthropic = |message: &str| {
            let body = format!(r#"{{"messages":[{message}]}}"#);
            check(message, || {
                RequestDocument::parse(body.as_bytes(), Format::Anthropic).unwrap();
                validate(Format::Anthropic, body.as_bytes()).unwrap();
            });
        };
        anthropic(r#"{"role":"user","content":"plain"}"#);
        anthropic(
            r#"{"role":"user","content":[{"type":"document","title":null,"citations":{"enabled":true},"source":{"type":"base64","media_type":"application/pdf","data":"AA=="}}]}"#,
        );
        anthropic(r#"{"role":"user","content":[{"type":"text","text":"x","cache_control":null}]}"#);
        anthropic(r#"{"role":"user","content":[{"type":"text","text":"x","cache_control":true}]}"#);
        anthropic(r#"{"role":"user","content":[{"type":"image","source":"elsewhere"}]}"#);
        anthropic(
            r#"{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u","page_age":null,"encrypted_content":"x"}]}]}"#,
        );

        let openai = |message: &str| {
            check(message, || {
                RequestDocument::parse(format!("[{message}]").as_bytes(), Format::OpenAi).unwrap();
            });
        };
        openai(r#"{"role":"function","name":"f","tool_call_id":null,"content":"x"}"#);
        openai(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":null,"function":{"name":"f","arguments":"{}"}}]}"#,
        );
        openai(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":7,"function":{"name":"f","arguments":"{}"}}]}"#,
        );
        openai(r#"{"role":"user","content":[{"type":"image_url","image_url":null}]}"#);

        let history = r#"{"history":[{"role":"user","content":"x"},{"role":"assistant","content":"","thought":null}]}"#;
        check(history, || {
            convert(history.as_bytes(), Format::SweAgent, Format::OpenAi).unwrap();
        });
    }
}
