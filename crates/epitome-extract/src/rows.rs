//! JSON texts as rows: one line of `key: value` fields for each object.
//!
//! Invariant: keys and scalars keep their spelling and order; what is not JSON is left to
//! [`crate::split`].

use std::ops::Range;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::split;
use crate::words::word_count;

/// A row longer than this is cut between fields.
const ROW_WORDS: usize = 12;
/// A string longer than this is cut like any other text instead of standing in a row.
const FIELD_WORDS: usize = 24;

/// What names an object has no more words.
const NAME_WORDS: usize = 3;

/// So many characters of what a tool was told name a call.
const NAME_CHARS: usize = 60;

/// One line of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldRow {
    /// The line.
    pub(crate) text: String,
    /// The key of each field and where its value stands in the line.
    pub(crate) fields: Vec<(String, Range<usize>)>,
    /// What names the object of a list that it is a row of.
    pub(crate) object: Option<Rc<str>>,
}

impl FieldRow {
    /// A line without fields.
    pub(crate) fn plain(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// The row of a call with what came of it, where that is a failure.
    pub(crate) fn followed_by(mut self, failure: Option<&str>) -> Self {
        self.text.extend(failure.into_iter().flat_map(|line| [": ", line]));
        self
    }
}

/// The rows of a JSON object or array; `None` where the text is neither.
pub(crate) fn of(text: &str) -> Option<Vec<FieldRow>> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    let mut rows = FieldRows::default();
    rows.value("", &value);
    rows.close();
    Some(rows.out)
}

/// A call as `tool(key: value, …)`; long text arguments follow as pieces of their own.
pub(crate) fn call(tool: &str, arguments: &str) -> Option<Vec<FieldRow>> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    let mut rows = FieldRows::default();
    match &value {
        Value::Object(map) => rows.fields(map),
        other => rows.value("", other),
    }
    rows.close();
    // What the tool was told in a word stands before what it was given to write.
    let head = rows.out.iter().position(|row| !row.fields.is_empty()).unwrap_or(0);
    let mut first = if rows.out.is_empty() { FieldRow::default() } else { rows.out.remove(head) };
    let shift = tool.len() + 1;
    first.fields.iter_mut().for_each(|(_, range)| *range = range.start + shift..range.end + shift);
    first.text = format!("{tool}({})", first.text);
    let mut out = vec![first];
    out.append(&mut rows.out);
    // Nothing stands before what a model called.
    out.iter_mut().for_each(|row| row.object = None);
    Some(out)
}

/// Whether arguments state a whole list: one of their fields is a list of objects, and none says that it
/// is merged with what was there.
pub(crate) fn is_list(arguments: &str) -> bool {
    let Ok(Value::Object(map)) = serde_json::from_str(arguments) else { return false };
    let states = |value: &Value| value.as_array().is_some_and(|it| it.iter().any(Value::is_object));
    map.values().any(states) && map.get("merge") != Some(&Value::Bool(true))
}

/// A call in short: its tool, and the first of what that was told.
pub(crate) fn call_name(tool: &str, arguments: &str) -> String {
    let rows = call(tool, arguments).unwrap_or_default();
    let first = rows.first().and_then(|row| Some(&row.text[row.fields.first()?.1.clone()]));
    let told = first.unwrap_or_default();
    match told.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{tool}({}…)", &told[..end]),
        None => format!("{tool}({told})"),
    }
}

#[derive(Default)]
struct FieldRows {
    out: Vec<FieldRow>,
    row: FieldRow,
    words: usize,
    /// What names the object of a list that is read.
    object: Option<Rc<str>>,
}

impl FieldRows {
    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(map) => {
                self.close();
                if !key.is_empty() && !repeats_key(key, map) {
                    self.row.text.push_str(key);
                    self.row.text.push_str(": ");
                }
                self.fields(map);
                self.close();
            }
            Value::Array(items)
                if items.iter().all(|item| !item.is_object() && !item.is_array()) =>
            {
                self.list(key, items);
            }
            Value::Array(items) => {
                // What was read before belongs to the object around the list.
                self.close();
                for item in items {
                    let outer = self.object.clone();
                    self.object = item.as_object().and_then(name).or_else(|| outer.clone());
                    self.value(key, item);
                    self.object = outer;
                }
            }
            Value::String(text) if is_long(text) => {
                self.close();
                let inner = of(text).unwrap_or_else(|| {
                    split::pieces(text, true)
                        .into_iter()
                        .map(|piece| FieldRow::plain(piece.text.into_owned()))
                        .collect()
                });
                self.out.extend(inner);
            }
            scalar => self.field(key, &spelled(scalar)),
        }
    }

    /// Scalars first, in one row; then long texts and nested objects, each in rows of their own.
    fn fields(&mut self, map: &Map<String, Value>) {
        for place in [FieldPlace::Row, FieldPlace::Text, FieldPlace::Nested] {
            for (key, value) in
                map.iter().filter(|(_, value)| FieldPlace::for_value(value) == place)
            {
                self.value(key, value);
            }
        }
    }

    fn list(&mut self, key: &str, items: &[Value]) {
        if items.is_empty() {
            return;
        }
        let mut line = String::new();
        let mut words = 0;
        for item in items {
            let text = spelled(item);
            words += word_count(&text);
            if !line.is_empty() {
                line.push_str(", ");
            }
            line.push_str(&text);
            if words > FIELD_WORDS {
                self.field(key, &line);
                line.clear();
                words = 0;
            }
        }
        if !line.is_empty() {
            self.field(key, &line);
        }
    }

    fn field(&mut self, key: &str, value: &str) {
        let words = word_count(key) + word_count(value);
        if self.words > 0 && self.words + words > ROW_WORDS {
            self.close();
        }
        if self.words > 0 {
            self.row.text.push_str(", ");
        }
        if !key.is_empty() {
            self.row.text.push_str(key);
            self.row.text.push(' ');
        }
        let start = self.row.text.len();
        self.row.text.push_str(value);
        self.row.fields.push((key.to_owned(), start..self.row.text.len()));
        self.words += words.max(1);
    }

    /// Ends the row.
    fn close(&mut self) {
        if self.words > 0 {
            self.words = 0;
            let object = self.object.clone();
            self.out.push(FieldRow { object, ..std::mem::take(&mut self.row) });
        }
    }
}

/// What names an object: the value of its first field, where that is short.
fn name(map: &Map<String, Value>) -> Option<Rc<str>> {
    let value = map.values().next()?;
    let text = spelled(value);
    let is_short =
        FieldPlace::for_value(value) == FieldPlace::Row && word_count(&text) <= NAME_WORDS;
    is_short.then(|| text.into())
}

/// Where a field of an object is told.
#[derive(PartialEq, Eq)]
enum FieldPlace {
    /// In a row with others.
    Row,
    /// By itself, cut like any other text.
    Text,
    /// In rows of its own.
    Nested,
}

impl FieldPlace {
    fn for_value(value: &Value) -> Self {
        let is_nested = |it: &Value| it.is_object() || it.is_array();
        match value {
            Value::Object(map) if !map.is_empty() => Self::Nested,
            Value::Array(items) if items.iter().any(is_nested) => Self::Nested,
            Value::String(text) if is_long(text) => Self::Text,
            _ => Self::Row,
        }
    }
}

fn is_long(text: &str) -> bool {
    text.contains('\n') || word_count(text) > FIELD_WORDS
}

/// Whether one of the object's own fields says what its key says.
fn repeats_key(key: &str, map: &Map<String, Value>) -> bool {
    map.values().any(|value| value.as_str() == Some(key))
}

fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(rows: Option<Vec<FieldRow>>) -> Vec<String> {
        rows.unwrap_or_default().into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn objects_become_rows() {
        let json =
            r#"{"id": "A1", "flights": [{"from": "X", "price": 12}, {"from": "Y"}], "paid": true}"#;
        assert_eq!(
            lines(of(json)),
            ["id A1, paid true", "flights: from X, price 12", "flights: from Y"]
        );
        let rows = of(json).unwrap();
        let (key, value) = &rows[0].fields[0];
        assert_eq!((key.as_str(), &rows[0].text[value.clone()]), ("id", "A1"));
    }

    #[test]
    fn keys_that_repeat_a_value_are_not_said_twice() {
        assert_eq!(
            lines(of(r#"{"cards": {"c_1": {"id": "c_1", "brand": "visa"}}}"#)),
            ["cards: id c_1, brand visa"]
        );
    }

    #[test]
    fn lists_of_scalars_stay_in_a_field() {
        assert_eq!(lines(of(r#"["a", 1, null]"#)), ["a, 1, null"]);
        assert_eq!(of("not json"), None);
        assert_eq!(of("{not json"), None);
    }

    #[test]
    fn calls_name_their_tool() {
        assert_eq!(
            lines(call("read", r#"{"path":"a.rs","limit":3}"#)),
            ["read(path a.rs, limit 3)"]
        );
        let edit = lines(call("edit", r#"{"path":"a.rs","new":"let a = 1;\nlet b = 2;"}"#));
        assert_eq!(edit, ["edit(path a.rs)", "let a = 1;\nlet b = 2;"]);
        let edit = r#"{"old":"let a = 1;\nlet b = 2;","new":"let a = 1;","path":"src/a/b.rs"}"#;
        let edit = lines(call("edit", edit));
        assert_eq!(edit, ["edit(new let a = 1;, path src/a/b.rs)", "let a = 1;\nlet b = 2;"]);
        let edit =
            json!({"path": "a/b/c/d.rs", "old": "one of these", "new": "two of those words"});
        let edit = lines(call("edit", &edit.to_string()));
        assert_eq!(edit, ["edit(path a/b/c/d.rs, old one of these)", "new two of those words"]);
        assert_eq!(call("edit", "{broken"), None);
    }
}
