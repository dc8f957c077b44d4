//! Copies of files in JSON: a map from paths to texts, or objects with a path and a text.
//!
//! Invariant: the JSON is read where it stands in a text, and nothing of it is changed. Called by
//! the scanner of file copies.

use std::ops::Range;

use super::body::{self, FileBody, LeastLines};
use super::label::{self, Binding, FileLabel};
use crate::json::{Cursor, JsonValue, JsonValueKind, Object};

/// How deep maps are looked into.
const DEPTH: u32 = 4;

/// A copy that a map holds.
pub(super) struct MappedCopy {
    pub(super) path: String,
    /// Where its text stands, quotes included.
    pub(super) range: Range<usize>,
    pub(super) body: FileBody,
}

/// The copies in the JSON that begins at a place of a text, and where that ends.
pub(super) fn at(text: &str, start: usize, least: LeastLines) -> Option<(Vec<MappedCopy>, usize)> {
    let mut cursor = Cursor::new(text, start);
    let value = cursor.value().ok()?;
    let mut map = CopyMap { least, found: Vec::new() };
    map.value(value, DEPTH);
    Some((map.found, value.span().end()))
}

struct CopyMap {
    least: LeastLines,
    found: Vec<MappedCopy>,
}

impl CopyMap {
    fn value(&mut self, value: JsonValue<'_>, depth: u32) {
        match value.kind() {
            _ if depth == 0 => {}
            JsonValueKind::Object => {
                if let Some(object) = value.as_object() {
                    self.object(&object, depth);
                }
            }
            JsonValueKind::Array => {
                let items = value.items().unwrap_or_default();
                items.into_iter().for_each(|item| self.value(item, depth - 1));
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &Object<'_>, depth: u32) {
        let texts = object.members.iter().filter_map(|(_, value)| Some((*value, value.as_str()?)));
        let texts: Vec<_> = texts.collect();
        let named = texts.iter().find_map(|(_, text)| label::of_value(text));
        for (key, value) in &object.members {
            let key = key.as_str().and_then(|key| label::of_value(&key));
            match (value.as_str(), key.or_else(|| named.clone())) {
                (Some(text), Some(path)) => self.text(path, *value, &text),
                _ => self.value(*value, depth - 1),
            }
        }
    }

    fn text(&mut self, path: String, value: JsonValue<'_>, text: &str) {
        let label = FileLabel { path, binding: Binding::File };
        let Some(body) = body::of(text, &label, true, self.least) else { return };
        let span = value.span();
        self.found.push(MappedCopy { path: label.path, range: span.range(), body });
    }
}
