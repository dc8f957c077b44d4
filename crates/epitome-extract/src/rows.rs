//! JSON texts as rows: one line of `key: value` fields for each object.
//!
//! Invariant: keys and scalars keep their spelling and order; what is not JSON is left to
//! [`crate::split`].

use std::ops::Range;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::row_object::{self, RowObject};
use crate::split;
use crate::words::word_count;

/// A row of a result that is longer than this is cut between fields.
const ROW_WORDS: usize = 7;
/// The same of a call: what it was told stays together.
const CALL_WORDS: usize = 12;
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
    /// The object that it is a row of, where anything names that.
    pub(crate) object: Option<Rc<RowObject>>,
    /// The key that it is below in that, where it is not of its own fields.
    pub(crate) path: Option<Rc<str>>,
}

impl FieldRow {
    /// A line without fields.
    pub(crate) fn plain(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// Has the line itself say where it stands; of a text that a key holds the row says that.
    fn tell_place(&mut self) {
        let object = self.object.take().filter(|object| object.is_place());
        let objects: Vec<_> = object.iter().collect();
        if self.fields.is_empty() {
            let mut place = String::new();
            row_object::tell(&objects, self.path.as_deref(), &mut place);
            let place = place.trim_end_matches(": ");
            self.path = Some(place).filter(|place| !place.is_empty()).map(Into::into);
            return;
        }
        let mut text = String::new();
        row_object::tell(&objects, self.path.take().as_deref(), &mut text);
        self.shift(text.len());
        self.text.insert_str(0, &text);
    }

    fn shift(&mut self, by: usize) {
        self.fields.iter_mut().for_each(|(_, range)| *range = range.start + by..range.end + by);
    }
}

/// The rows of a JSON object or array; `None` where the text is neither.
pub(crate) fn of(text: &str) -> Option<Vec<FieldRow>> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    let mut rows = FieldRows { most: ROW_WORDS, ..FieldRows::default() };
    rows.value("", &value);
    rows.close();
    Some(rows.out)
}

/// A call as `tool(key: value, …)`; long text arguments follow as pieces of their own.
pub(crate) fn call(tool: &str, arguments: &str) -> Option<Vec<FieldRow>> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    let mut rows = FieldRows { most: CALL_WORDS, ..FieldRows::default() };
    match &value {
        Value::Object(map) => rows.fields(map),
        other => rows.value("", other),
    }
    rows.close();
    // Nothing but its key stands before what a model called.
    rows.out.iter_mut().for_each(FieldRow::tell_place);
    // What the tool was told in a word stands before what it was given to write.
    let head = rows.out.iter().position(|row| !row.fields.is_empty()).unwrap_or(0);
    let mut first = if rows.out.is_empty() { FieldRow::default() } else { rows.out.remove(head) };
    let shift = tool.len() + 1;
    first.shift(shift);
    first.text = format!("{tool}({})", first.text);
    let mut out = vec![first];
    out.append(&mut rows.out);
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
        Some((end, _)) => format!("{tool} {}…", &told[..end]),
        None => format!("{tool} {told}").trim_end().to_owned(),
    }
}

#[derive(Default)]
struct FieldRows {
    out: Vec<FieldRow>,
    row: FieldRow,
    words: usize,
    /// A row has no more words, but for one of a single field.
    most: usize,
    /// The object that is read, where anything names that.
    owner: Option<Rc<RowObject>>,
    /// The path that leads to what is read, where that is in an object of its own.
    path: Option<Rc<str>>,
    /// The path to what is read from the object with a name.
    within: String,
}

impl FieldRows {
    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(map) => {
                let field = row_object::telling_field(map, is_name);
                self.object(key, map, field);
            }
            Value::Array(items)
                if items.iter().all(|item| !item.is_object() && !item.is_array()) =>
            {
                self.list(key, items);
            }
            Value::Array(items) => self.objects(key, items),
            Value::String(text) if is_long(text) => self.text(key, text),
            scalar => self.field(key, &spelled(scalar)),
        }
    }

    /// A list of objects or lists: each object by what names it, or else by its place where more than one
    /// row tells of it.
    fn objects(&mut self, key: &str, items: &[Value]) {
        // What was read before belongs to the object around the list.
        self.close();
        let name = row_object::naming_key(items, is_name);
        let is_large = |item: &Value| item.as_object().is_some_and(takes_rows);
        let is_numbered = name.is_none() && items.len() > 1 && items.iter().any(is_large);
        for (at, item) in items.iter().enumerate() {
            match item {
                Value::Object(map) if is_numbered => self.placed(&format!("{key}[{at}]"), map),
                Value::Object(map) => {
                    self.object(key, map, name.and_then(|it| map.get_key_value(it)));
                }
                item => self.value(key, item),
            }
        }
    }

    /// A text that stands by itself below a key.
    fn text(&mut self, key: &str, text: &str) {
        self.close();
        if let Some(inner) = of(text) {
            self.out.extend(inner);
            return;
        }
        let path = row_object::join(&self.within, key);
        let path: Option<Rc<str>> = Some(path).filter(|path| !path.is_empty()).map(Into::into);
        let pieces = split::pieces(text, true).into_iter();
        let row = |piece: split::ProsePiece<'_>| FieldRow {
            text: piece.text.into_owned(),
            object: self.owner.clone(),
            path: path.clone(),
            fields: Vec::new(),
        };
        self.out.extend(pieces.map(row));
    }

    /// An object below a key, which `field` names where there is one.
    fn object(&mut self, key: &str, map: &Map<String, Value>, field: Option<(&String, &Value)>) {
        self.close();
        let held = (self.owner.clone(), self.path.clone(), self.within.clone());
        if !key.is_empty() && !repeats_key(key, map) {
            self.within = row_object::join(&self.within, key);
            self.path = Some(self.within.as_str().into());
        }
        if let Some((key, value)) = field {
            self.own(Some(key.clone()), spelled(value));
        }
        self.fields(map);
        self.close();
        (self.owner, self.path, self.within) = held;
    }

    /// An object that is known by the key or the place that it has.
    fn placed(&mut self, key: &str, map: &Map<String, Value>) {
        self.close();
        let held = (self.owner.clone(), self.path.take(), self.within.clone());
        self.own(None, row_object::join(&self.within, key));
        self.fields(map);
        self.close();
        (self.owner, self.path, self.within) = held;
    }

    /// What is read from here on is of another object.
    fn own(&mut self, key: Option<String>, value: String) {
        let outer = self.owner.take();
        self.owner = Some(Rc::new(RowObject { key, value, outer }));
        self.within.clear();
    }

    /// Scalars first, in one row; then long texts and nested objects, each in rows of their own.
    fn fields(&mut self, map: &Map<String, Value>) {
        let is_map = row_object::is_map(map);
        for place in [FieldPlace::Row, FieldPlace::Text, FieldPlace::Nested] {
            for (key, value) in
                map.iter().filter(|(_, value)| FieldPlace::for_value(value) == place)
            {
                match value {
                    Value::Object(inner) if is_map && !repeats_key(key, inner) => {
                        self.placed(key, inner);
                    }
                    value => self.value(key, value),
                }
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
        if self.words > 0 && self.words + words > self.most {
            self.close();
        }
        self.row.text.push_str(if self.words > 0 { ", " } else { "" });
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
            let (object, path) = (self.owner.clone(), self.path.clone());
            self.out.push(FieldRow { object, path, ..std::mem::take(&mut self.row) });
        }
    }
}

/// Whether a value is short enough for a name.
fn is_name(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_))
        && FieldPlace::for_value(value) == FieldPlace::Row
        && (1..=NAME_WORDS).contains(&word_count(&spelled(value)))
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

/// Whether more than one row tells of an object.
fn takes_rows(map: &Map<String, Value>) -> bool {
    let words = |(key, value): (&String, &Value)| word_count(key) + word_count(&spelled(value));
    map.values().any(|value| FieldPlace::for_value(value) != FieldPlace::Row)
        || map.iter().map(words).sum::<usize>() > ROW_WORDS
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
        assert_eq!(lines(of(json)), ["id A1, paid true", "from X, price 12", "from Y"]);
        let rows = of(json).unwrap();
        let place = |row: &FieldRow| {
            let name = row.object.as_ref().map(|it| it.name().into_owned());
            (name, row.path.as_deref().map(str::to_owned))
        };
        let named = |name: &str, path: Option<&str>| (Some(name.into()), path.map(Into::into));
        assert_eq!(
            rows.iter().map(place).collect::<Vec<_>>(),
            [
                named("id A1", None),
                named("from X", Some("flights")),
                named("from Y", Some("flights"))
            ]
        );
        let (key, value) = &rows[0].fields[0];
        assert_eq!((key.as_str(), &rows[0].text[value.clone()]), ("id", "A1"));
    }

    #[test]
    fn keys_that_repeat_a_value_are_not_said_twice() {
        assert_eq!(
            lines(of(r#"{"cards": {"c_1": {"id": "c_1", "brand": "visa"}}}"#)),
            ["id c_1, brand visa"]
        );
    }

    #[test]
    fn a_map_is_a_list_whose_keys_tell_its_objects_apart() {
        let plan =
            |price: u32| format!(r#"{{"seats":1,"fee":{{"month":{price},"year":{price}0}}}}"#);
        let region = |it: u32| format!(r#"{{"small":{},"large":{}}}"#, plan(it), plan(it + 1));
        let json = format!(r#"{{"zones":{{"eu":{},"us":{}}}}}"#, region(1), region(3));
        let told = |row: &FieldRow| {
            let objects: Vec<_> =
                std::iter::successors(row.object.as_ref(), |it| it.outer.as_ref()).collect();
            let objects: Vec<_> = objects.into_iter().rev().collect();
            let mut out = String::new();
            row_object::tell(&objects, row.path.as_deref(), &mut out);
            out + &row.text
        };
        let rows: Vec<String> = of(&json).unwrap_or_default().iter().map(told).collect();
        assert_eq!(
            rows[..5],
            [
                "zones.eu.small: seats 1",
                "zones.eu.small.fee: month 1, year 10",
                "zones.eu.large: seats 1",
                "zones.eu.large.fee: month 2, year 20",
                "zones.us.small: seats 1",
            ]
        );
        let list = r#"[{"a":{"b":{"c":1}}},{"a":{"b":{"c":2}}}]"#;
        let rows: Vec<String> = of(list).unwrap_or_default().iter().map(told).collect();
        assert_eq!(rows, ["[0].a.b: c 1", "[1].a.b: c 2"]);
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
