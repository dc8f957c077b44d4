//! A JSON text as a flat list of values that remember where they stand.
//!
//! Invariant: values are in the order of the text, each names the place behind its last descendant,
//! and nothing recurses, so that no depth is too deep. Called by plugins.

use std::ops::Range;

use serde_json::value::RawValue;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `{…}`.
    Object,
    /// `[…]`.
    Array,
    /// `"…"`.
    String,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

/// One value.
#[derive(Clone, Debug)]
pub struct JsonNode {
    /// What it is.
    pub kind: JsonKind,
    /// Where it stands, brackets and quotes included.
    pub span: Range<u32>,
    /// The key with its quotes, where it is a field of an object.
    key: Range<u32>,
    /// The place behind its last descendant.
    next: u32,
    /// How many values it holds.
    pub count: u32,
}

/// The values of a text; the first holds all others.
#[derive(Debug)]
pub struct JsonTape<'a> {
    text: &'a str,
    nodes: Vec<JsonNode>,
}

impl<'a> JsonTape<'a> {
    /// Reads a text that is one object or array, or one of them on each of its lines.
    pub fn read(text: &'a str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let valid = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
        if valid(text) {
            return Some(scan(text, false));
        }
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        lines
            .all(|line| line.trim_start().starts_with(['{', '[']) && valid(line))
            .then(|| scan(text, true))
    }

    /// The text of a value.
    pub fn raw(&self, node: usize) -> &'a str {
        &self.text[self.span(node)]
    }

    /// Where a value stands.
    pub fn span(&self, node: usize) -> Range<usize> {
        let Range { start, end } = self.nodes[node].span;
        start as usize..end as usize
    }

    /// The key of a field with its quotes, empty for any other value.
    pub fn key(&self, node: usize) -> &'a str {
        let Range { start, end } = self.nodes[node].key;
        &self.text[start as usize..end as usize]
    }

    /// A value by its place.
    pub fn node(&self, node: usize) -> &JsonNode {
        &self.nodes[node]
    }

    /// How many values there are.
    #[expect(clippy::len_without_is_empty, reason = "a text that was read holds a value")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The place behind a value's last descendant.
    pub fn next(&self, node: usize) -> usize {
        self.nodes[node].next as usize
    }

    /// The values that a value holds.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let (mut at, end) = (node + 1, self.next(node));
        std::iter::from_fn(move || {
            let child = (at < end).then_some(at)?;
            at = self.next(child);
            Some(child)
        })
    }
}

/// Reads valid JSON. `lines` says that there are several texts, which become one array.
fn scan(text: &str, lines: bool) -> JsonTape<'_> {
    let bytes = text.as_bytes();
    let mut nodes: Vec<JsonNode> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut key = 0..0;
    if lines {
        nodes.push(JsonNode {
            kind: JsonKind::Array,
            span: 0..bytes.len() as u32,
            key: 0..0,
            next: 0,
            count: 0,
        });
        open.push(0);
    }
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at = match byte {
            b'"' => end_of_string(bytes, at),
            b'}' | b']' => {
                if let Some(closed) = open.pop() {
                    nodes[closed].span.end = at as u32 + 1;
                    nodes[closed].next = nodes.len() as u32;
                }
                at += 1;
                continue;
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {
                at += 1;
                continue;
            }
            b'{' | b'[' => at + 1,
            _ => end_of_scalar(bytes, at),
        };
        let span = start as u32..at as u32;
        let in_object = open.last().is_some_and(|last| nodes[*last].kind == JsonKind::Object);
        if in_object && key.is_empty() {
            key = span;
            continue;
        }
        if let Some(parent) = open.last() {
            nodes[*parent].count += 1;
        }
        let kind = match byte {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::String,
            _ => JsonKind::Scalar,
        };
        if matches!(kind, JsonKind::Object | JsonKind::Array) {
            open.push(nodes.len());
        }
        let next = nodes.len() as u32 + 1;
        nodes.push(JsonNode { kind, span, key: std::mem::take(&mut key), next, count: 0 });
    }
    if lines {
        nodes[0].next = nodes.len() as u32;
    }
    JsonTape { text, nodes }
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_scalar(bytes: &[u8], start: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
    bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let tape = JsonTape::read(text).unwrap();
        let found: Vec<(&str, &str)> =
            (0..tape.len()).map(|node| (tape.key(node), tape.raw(node))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn values_remember_where_they_stand() {
        check(
            r#"{"a": [1e2, "x\"}"], "b": {}}"#,
            &[
                ("", r#"{"a": [1e2, "x\"}"], "b": {}}"#),
                (r#""a""#, r#"[1e2, "x\"}"]"#),
                ("", "1e2"),
                ("", r#""x\"}""#),
                (r#""b""#, "{}"),
            ],
        );
    }

    #[test]
    fn lines_become_one_array() {
        let tape = JsonTape::read("{\"a\": 1}\n\n{\"a\": 2}\n").unwrap();
        assert_eq!(
            tape.children(0).map(|row| tape.raw(row)).collect::<Vec<_>>(),
            ["{\"a\": 1}", "{\"a\": 2}"]
        );
        assert_eq!(tape.node(0).count, 2);
    }

    #[test]
    fn what_is_not_json_is_left_alone() {
        assert!(JsonTape::read("{not json").is_none());
        assert!(JsonTape::read("plain").is_none());
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert_eq!(JsonTape::read(&deep).unwrap().len(), 200_000);
    }
}
