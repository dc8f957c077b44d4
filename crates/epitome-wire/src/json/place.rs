//! Names the place of an offset (`messages[3].content`), for errors.
//!
//! Invariant: works on any text up to the offset, sound JSON or not. Walks the text again, so that
//! the scanner need not keep track; called only when an error is made.

use std::fmt::Write;

use super::MOST_NESTED;

/// One open bracket and how far it has got.
enum Frame<'a> {
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

fn frames(text: &str, offset: usize) -> Vec<Frame<'_>> {
    let bytes = text.as_bytes();
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut expects_key = false;
    let mut at = 0;
    while at < offset {
        match bytes.get(at) {
            Some(b'"') => {
                let end = string_end(bytes, at);
                if let (true, Some(Frame::Object { key })) = (expects_key, frames.last_mut()) {
                    *key = text.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                    expects_key = false;
                }
                at = end;
                continue;
            }
            Some(b'{') if frames.len() < MOST_NESTED as usize => {
                frames.push(Frame::Object { key: "" });
                expects_key = true;
            }
            Some(b'[') if frames.len() < MOST_NESTED as usize => {
                frames.push(Frame::Array { index: 0 });
                expects_key = false;
            }
            Some(b'}' | b']') => {
                frames.pop();
                expects_key = false;
            }
            Some(b',') => match frames.last_mut() {
                Some(Frame::Array { index }) => *index += 1,
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

fn path(frames: &[Frame<'_>]) -> String {
    let mut out = String::new();
    for frame in frames {
        match frame {
            Frame::Object { key } if out.is_empty() => out.push_str(key),
            Frame::Object { key } => {
                out.push('.');
                out.push_str(key);
            }
            Frame::Array { index } => write!(out, "[{index}]").unwrap_or_default(),
        }
    }
    out
}
