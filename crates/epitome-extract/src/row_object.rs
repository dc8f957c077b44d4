//! What tells the objects of a JSON text apart: a field, the key that a map has them under, or their place
//! in a list.
//!
//! Invariant: two objects of one text never have one name within the same object around them. Called by
//! [`crate::rows`], and by whoever writes rows down.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use crate::keys;

/// A name of fewer bytes says nothing without its key.
const PLAIN_NAME: usize = 4;

/// An object of a JSON text, by what names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowObject {
    /// The field that tells it from others; none where its place does.
    pub(crate) key: Option<String>,
    /// What that field says, or the path to it from the object around it.
    pub(crate) value: String,
    /// The object around it that has a name.
    pub(crate) outer: Option<Rc<Self>>,
}

impl RowObject {
    /// Its name; with its key where that alone would say nothing.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        let Some(key) = &self.key else { return Cow::Borrowed(&self.value) };
        let is_plain = self.value.chars().all(|c| c.is_ascii_digit() || !c.is_alphanumeric());
        match is_plain || self.value.len() < PLAIN_NAME {
            true => format!("{key} {}", self.value).into(),
            false => Cow::Borrowed(&self.value),
        }
    }

    /// Whether its place names it.
    pub(crate) fn is_place(&self) -> bool {
        self.key.is_none()
    }

    /// Whether one of these fields of a row is that which names it.
    pub(crate) fn is_said(&self, fields: &[(String, Range<usize>)], text: &str) -> bool {
        let names = |(key, value): &(String, Range<usize>)| {
            Some(key) == self.key.as_ref() && text.get(value.clone()) == Some(&*self.value)
        };
        fields.iter().any(names)
    }
}

/// The path that leads on from `path` to a key.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() || key.is_empty() || key.starts_with('[') {
        format!("{path}{key}")
    } else {
        format!("{path}.{key}")
    }
}

/// Names what follows, from the outermost of `objects` that is not told yet to the key below the innermost.
pub(crate) fn tell(objects: &[&Rc<RowObject>], path: Option<&str>, out: &mut String) {
    for (at, object) in objects.iter().enumerate() {
        out.push_str(&object.name());
        let goes_on =
            object.is_place() && objects.get(at + 1).map_or(path.is_some(), |next| next.is_place());
        out.push_str(match (goes_on, object.is_place() && at + 1 == objects.len()) {
            (true, _) => ".",
            (false, true) => ": ",
            (false, false) => "; ",
        });
    }
    if let Some(path) = path {
        out.extend([path, ": "]);
    }
}

/// Whether the keys of an object are data: most of its values are objects, and these are of one kind.
pub(crate) fn is_map(map: &Map<String, Value>) -> bool {
    let inner: Vec<&Map<String, Value>> =
        map.values().filter_map(Value::as_object).filter(|it| !it.is_empty()).collect();
    let [first, rest @ ..] = &inner[..] else { return false };
    let is_like = |other: &&Map<String, Value>| {
        let shared = other.keys().filter(|key| first.contains_key(*key)).count();
        shared * 2 >= first.len().min(other.len())
    };
    !rest.is_empty() && inner.len() * 2 >= map.len() && rest.iter().all(is_like)
}

/// The field that tells an object from others, by its key.
pub(crate) fn telling_field(
    map: &Map<String, Value>,
    is_name: fn(&Value) -> bool,
) -> Option<(&String, &Value)> {
    let fields = map.iter().filter(|(_, value)| is_name(value));
    let ranked = fields.filter_map(|field| Some((keys::telling(field.0)?, field)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, field)| field)
}

/// The key whose values tell the objects of a list from each other; where none does by its name, that of
/// the first field.
pub(crate) fn naming_key(items: &[Value], is_name: fn(&Value) -> bool) -> Option<&str> {
    let first = items.iter().find_map(Value::as_object)?;
    let is_telling = |key: &&String| {
        let mut seen = FxHashSet::default();
        let mut objects = items.iter().filter_map(Value::as_object);
        objects
            .all(|map| map.get(*key).is_some_and(|it| is_name(it) && seen.insert(it.to_string())))
    };
    let ranked = first.keys().filter_map(|key| Some((keys::telling(key)?, key)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let named = ranked.into_iter().map(|(_, key)| key).find(|key| is_telling(key));
    named.or_else(|| first.keys().next().filter(is_telling)).map(String::as_str)
}
