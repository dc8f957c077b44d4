//! From a Lua value to data, by its shape.
//!
//! Invariant: one pass checks and converts; it looks at raw values only, so that no code of the
//! policy runs, and ends after a bounded number of values however they are nested. Called on
//! answers, on memos and by `ep.json`.

use std::collections::BTreeMap;

use epitome_kernel::nearest;
use epitome_types::hook::{FieldShape, NameKind, TableShape, ValueShape};
use mlua::{Table, Value};
use serde_json::{Map, Number, Value as Json};

use crate::dialect::Dialect;
use crate::misfit::{Misfit, expected, hint, optional, shown};

/// The most values that are read.
const MOST_VALUES: usize = 100_000;
/// The most bytes of text that are read.
const MOST_BYTES: usize = 16 << 20;
/// How deep values may be nested where their shape does not say.
const DEEPEST: usize = 64;

/// Reads a value that must have a shape.
pub(crate) fn read(value: &Value, shape: &ValueShape) -> Result<Json, Misfit> {
    AnswerReader::default().shaped(value, shape)
}

/// Reads a value that a policy gave at this place of its files, in the names that it may use.
pub(crate) fn read_said(
    value: &Value,
    shape: &ValueShape,
    dialect: &Dialect,
    at: &str,
) -> Result<Json, Misfit> {
    AnswerReader { dialect: Some((dialect, at)), ..AnswerReader::default() }.shaped(value, shape)
}

/// A value of any shape.
pub(crate) fn read_any(value: &Value) -> Result<Json, Misfit> {
    read(value, &ValueShape::Any)
}

#[derive(Default)]
struct AnswerReader<'a> {
    values: usize,
    bytes: usize,
    /// The names that the policy may use, and the place where it gave the value.
    dialect: Option<(&'a Dialect, &'a str)>,
}

impl AnswerReader<'_> {
    /// Returns the new name of an old one.
    fn now(&self, kind: NameKind, old: &str, known: impl Fn(&str) -> bool) -> Option<&'static str> {
        self.dialect.and_then(|(dialect, at)| dialect.now(at, kind, old, known))
    }

    fn shaped(&mut self, value: &Value, shape: &ValueShape) -> Result<Json, Misfit> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Misfit::new(value, format!("there are more than {MOST_VALUES} values")));
        }
        let wrong = || Misfit::expected(value, shape);
        match (shape, value) {
            (ValueShape::Any, _) => self.any(value, DEEPEST),
            (ValueShape::Optional(_), Value::Nil) => Ok(Json::Null),
            (ValueShape::Optional(inner), _) => self.shaped(value, inner),
            (ValueShape::Bool, Value::Boolean(is)) => Ok(Json::Bool(*is)),
            (ValueShape::Integer, Value::Integer(_) | Value::Number(_)) => whole(value),
            (ValueShape::Number, Value::Integer(_) | Value::Number(_)) => number(value),
            (ValueShape::Text, Value::String(_)) => self.text(value),
            (ValueShape::Word(words), Value::String(text)) => {
                let text = text.to_string_lossy();
                if words.contains(&text.as_str()) {
                    return Ok(Json::String(text));
                }
                if let Some(new) = self.now(NameKind::Word, &text, |word| words.contains(&word)) {
                    return Ok(Json::String(new.to_owned()));
                }
                let hint = hint(&text, words.iter().copied());
                Err(Misfit::new(value, format!("no such word{hint}")))
            }
            (ValueShape::List(inner), Value::Table(table)) => {
                self.list(table, "expected a list", |reader, item| reader.shaped(item, inner))
            }
            (ValueShape::Map(inner), Value::Table(table)) => {
                self.map(table, |reader, item| reader.shaped(item, inner))
            }
            (ValueShape::Table(shape), Value::Table(table)) => {
                self.table(value, table, shape, None)
            }
            (ValueShape::Either(shapes), _) => {
                self.either(value, shapes).unwrap_or_else(|| Err(wrong()))
            }
            (ValueShape::Tagged { tag, variants, .. }, Value::Table(table)) => {
                let word = raw(table, *tag);
                let Value::String(text) = &word else { return Err(wrong()) };
                let text = text.to_string_lossy();
                let variant = |wanted: &str| variants.iter().find(|(word, _)| *word == wanted);
                let new = self.now(NameKind::Word, &text, |word| variant(word).is_some());
                match variant(new.unwrap_or(&text)) {
                    Some((word, shape)) => self.table(value, table, shape, Some((tag, word))),
                    None => {
                        let hint = hint(&text, variants.iter().map(|(word, _)| *word));
                        let what = format!("no such `{tag}`{hint}");
                        Err(Misfit::new(&word, what).in_field(tag))
                    }
                }
            }
            _ => Err(wrong()),
        }
    }

    /// One of several shapes: the first that has the value's type; of tables, the one that has the
    /// most of the value's fields. `None` where none has its type.
    fn either(&mut self, value: &Value, shapes: &[ValueShape]) -> Option<Result<Json, Misfit>> {
        let Value::Table(table) = value else {
            return shapes.iter().find_map(|shape| self.shaped(value, shape).ok()).map(Ok);
        };
        let names: Vec<String> = keys(table).into_iter().map(|(name, _)| name).collect();
        let known = |shape: &ValueShape| match shape {
            ValueShape::Table(shape) => {
                let fields = || shape.all_fields().map(|field| field.name);
                // A name that is nearly right counts, but less than one that is.
                let points = |name: &String| match nearest(name, fields()) {
                    Some(field) if field == name => 2,
                    Some(_) => 1,
                    None => 0,
                };
                Some(names.iter().map(points).sum())
            }
            ValueShape::List(_)
            | ValueShape::Map(_)
            | ValueShape::Tagged { .. }
            | ValueShape::Any => Some(0),
            _ => None,
        };
        let tables =
            shapes.iter().filter_map(|shape| known(shape).map(|known: usize| (known, shape)));
        // Of equals the first.
        let best = tables.rev().max_by_key(|(known, _)| *known)?;
        Some(self.shaped(value, best.1))
    }

    fn table(
        &mut self,
        value: &Value,
        table: &Table,
        shape: &TableShape,
        tag: Option<(&str, &str)>,
    ) -> Result<Json, Misfit> {
        let mut found = Map::new();
        if let Some((tag, word)) = tag {
            found.insert(tag.to_owned(), Json::String(word.to_owned()));
        }
        let names = || shape.all_fields().map(|field| field.name);
        let known =
            |key: &str| tag.is_some_and(|(tag, _)| tag == key) || names().any(|name| name == key);
        let mut renamed = BTreeMap::new();
        for (key, value) in keys(table).into_iter().filter(|(key, _)| !known(key)) {
            let Some(new) = self.now(NameKind::Field, &key, known) else {
                let what = format!("no such field{}", hint(&key, names().collect::<Vec<_>>()));
                return Err(Misfit::new(&value, what).in_field(&key));
            };
            renamed.insert(new, value);
        }
        for FieldShape { name, shape, .. } in shape.all_fields() {
            let item = renamed.remove(name).unwrap_or_else(|| raw(table, *name));
            if !item.is_nil() {
                let item = self.shaped(&item, shape).map_err(|misfit| misfit.in_field(name))?;
                found.insert((*name).to_owned(), item);
            } else if !optional(shape) {
                let what = format!("`{name}` is missing: expected {}", expected(shape));
                return Err(Misfit::new(value, what));
            }
        }
        Ok(Json::Object(found))
    }

    fn any(&mut self, value: &Value, deeper: usize) -> Result<Json, Misfit> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Misfit::new(value, format!("there are more than {MOST_VALUES} values")));
        }
        match value {
            Value::Nil => Ok(Json::Null),
            Value::Boolean(is) => Ok(Json::Bool(*is)),
            Value::Integer(_) | Value::Number(_) => number(value),
            Value::String(_) => self.text(value),
            Value::Table(_) if deeper == 0 => {
                Err(Misfit::new(value, format!("nested more than {DEEPEST} deep")))
            }
            Value::Table(table) if table.raw_len() > 0 => {
                let what = "a table is either a list or has names, not both";
                self.list(table, what, |reader, item| reader.any(item, deeper - 1))
            }
            Value::Table(table) => self.map(table, |reader, item| reader.any(item, deeper - 1)),
            other => Err(Misfit::new(other, "only texts, numbers, booleans and tables are data")),
        }
    }

    fn list(
        &mut self,
        table: &Table,
        otherwise: &str,
        mut item: impl FnMut(&mut Self, &Value) -> Result<Json, Misfit>,
    ) -> Result<Json, Misfit> {
        let mut pairs = pairs(table)?;
        // Most lists come in order.
        if !pairs.is_sorted_by_key(|(key, _)| place(key)) {
            pairs.sort_by_key(|(key, _)| place(key));
        }
        let mut items = Vec::with_capacity(pairs.len());
        for (at, (key, value)) in (1..).zip(&pairs) {
            if place(key) != at {
                return Err(Misfit::new(value, otherwise).in_field(&name(key)));
            }
            items.push(item(self, value).map_err(|misfit| misfit.in_place(at))?);
        }
        Ok(Json::Array(items))
    }

    fn map(
        &mut self,
        table: &Table,
        mut item: impl FnMut(&mut Self, &Value) -> Result<Json, Misfit>,
    ) -> Result<Json, Misfit> {
        let mut found = Map::new();
        for (key, value) in keys(table) {
            self.bytes(&value, key.len())?;
            let read = item(self, &value).map_err(|misfit| misfit.in_field(&key))?;
            found.insert(key, read);
        }
        Ok(Json::Object(found))
    }

    fn text(&mut self, value: &Value) -> Result<Json, Misfit> {
        let text = value.as_string().map(mlua::LuaString::to_string_lossy).unwrap_or_default();
        self.bytes(value, text.len())?;
        Ok(Json::String(text))
    }

    fn bytes(&mut self, value: &Value, bytes: usize) -> Result<(), Misfit> {
        self.bytes += bytes;
        match self.bytes > MOST_BYTES {
            true => Err(Misfit::new(value, format!("there are more than {MOST_BYTES} bytes"))),
            false => Ok(()),
        }
    }
}

/// What stands under a key, without asking metatables.
pub(crate) fn raw(table: &Table, key: impl mlua::IntoLua) -> Value {
    table.raw_get(key).unwrap_or(Value::Nil)
}

/// The keys of a table as texts, in order, with what stands under them.
pub(crate) fn keys(table: &Table) -> Vec<(String, Value)> {
    let pairs = pairs(table).unwrap_or_default();
    let mut keys: Vec<_> = pairs.into_iter().map(|(key, value)| (name(&key), value)).collect();
    keys.sort_by(|(a, _), (b, _)| a.cmp(b));
    keys
}

/// What is in a table.
fn pairs(table: &Table) -> Result<Vec<(Value, Value)>, Misfit> {
    let mut pairs = Vec::new();
    let all = table.for_each(|key: Value, value: Value| {
        pairs.push((key, value));
        match pairs.len() > MOST_VALUES {
            true => Err(mlua::Error::StackError),
            false => Ok(()),
        }
    });
    match all {
        Ok(()) => Ok(pairs),
        Err(_) => {
            let what = format!("there are more than {MOST_VALUES} values");
            Err(Misfit::new(&Value::Table(table.clone()), what))
        }
    }
}

/// A key as a text.
fn name(key: &Value) -> String {
    match key {
        Value::String(name) => name.to_string_lossy(),
        other => format!("[{}]", shown(other)),
    }
}

/// A key's place in a list; what has none stands behind everything.
fn place(key: &Value) -> usize {
    match key {
        Value::Integer(place) => usize::try_from(*place).ok(),
        Value::Number(place) if place.fract() == 0.0 && *place >= 1.0 => Some(*place as usize),
        _ => None,
    }
    .filter(|place| *place > 0)
    .unwrap_or(usize::MAX)
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Integer(number) => *number as f64,
        Value::Number(number) => *number,
        _ => f64::NAN,
    }
}

fn whole(value: &Value) -> Result<Json, Misfit> {
    let number = float(value);
    if number.fract() != 0.0 || !number.is_finite() {
        let what = "expected a whole number from 0 up; `math.floor` makes one";
        return Err(Misfit::new(value, what));
    }
    match number {
        0.0..=9_007_199_254_740_992.0 => Ok(Json::Number((number as u64).into())),
        _ => Err(Misfit::expected(value, &ValueShape::Integer)),
    }
}

fn number(value: &Value) -> Result<Json, Misfit> {
    let number = float(value);
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
        return Ok(Json::Number((number as i64).into()));
    }
    Number::from_f64(number)
        .map(Json::Number)
        .ok_or_else(|| Misfit::new(value, "expected a finite number"))
}

#[cfg(test)]
mod tests {
    use epitome_kernel::HOOKS;
    use mlua::Lua;

    use super::*;

    fn shape(hook: &str) -> &'static ValueShape {
        &HOOKS.iter().find(|known| known.name == hook).unwrap().answer
    }

    #[track_caller]
    fn check(hook: &str, answer: &str, expected: &str) {
        let lua = Lua::new();
        let value: Value = lua.load(answer).eval().unwrap();
        let read = match read(&value, shape(hook)) {
            Ok(json) => json.to_string(),
            Err(misfit) => misfit.to_string(),
        };
        assert_eq!(read, expected, "{answer}");
    }

    #[test]
    fn what_fits_is_read() {
        check("trigger", "false", "false");
        check("trigger", "{level = 'soft', target = 1e3}", r#"{"level":"soft","target":1000}"#);
        check("verify", "{append = 'x', confidence = 0.5}", r#"{"append":"x","confidence":0.5}"#);
        check("verify", "{reject = 'x'}", r#"{"reject":"x"}"#);
        check("age", "{}", "[]");
        check(
            "plan",
            "{ops = {{op = 'summarize', entries = {1, 2}, target = 9}, {op = 'rollover', target = 1}}}",
            r#"{"ops":[{"op":"summarize","entries":[1,2],"target":9},{"op":"rollover","target":1}]}"#,
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        check(
            "trigger",
            "{levle = 'soft', level = 'soft'}",
            "`levle = \"soft\"`: no such field; did you mean `level`?",
        );
        check(
            "trigger",
            "{level = 'sfot'}",
            "`level = \"sfot\"`: no such word; did you mean `soft`?",
        );
        check(
            "trigger",
            "{target = 1}",
            "`{...}`: `level` is missing: expected `soft`, `hard` or `asked`",
        );
        check(
            "trigger",
            "'soft'",
            "`\"soft\"`: expected `true` or `false`, or a table with `skip`, or a table with `level`",
        );
        check(
            "trigger",
            "{level = 'soft', target = 10.5}",
            "`target = 10.5`: expected a whole number from 0 up; `math.floor` makes one",
        );
        check(
            "trigger",
            "{level = 'soft', target = -1}",
            "`target = -1`: expected a whole number from 0 up",
        );
        check(
            "plan",
            "{ops = {{op = 'warn', text = 'a'}, {op = 'sumarize'}}}",
            "`ops[2].op = \"sumarize\"`: no such `op`; did you mean `summarize`?",
        );
        check(
            "plan",
            "{ops = {{op = 'summarize', entries = {1, 'x'}, target = 9}}}",
            "`ops[1].entries[2] = \"x\"`: expected a whole number from 0 up",
        );
        check("plan", "{ops = {x = 1}}", "`ops.x = 1`: expected a list");
        check("plan", "{ops = print}", "`ops = function`: expected a list");
        check("plan", "{}", "`{}`: `ops` is missing: expected a list");
    }

    #[test]
    fn any_data_is_read_in_order() {
        let lua = Lua::new();
        let value: Value = lua.load("{b = {1, 2.5}, a = {c = true}, d = {}}").eval().unwrap();
        let json = read_any(&value).unwrap().to_string();
        assert_eq!(json, r#"{"a":{"c":true},"b":[1,2.5],"d":{}}"#);
    }

    #[test]
    fn what_is_no_data_is_refused() {
        for (text, expected) in [
            ("{a = print}", "`a = function`: only texts, numbers, booleans and tables are data"),
            ("{1, a = 2}", "`a = 2`: a table is either a list or has names, not both"),
            ("{a = 0/0}", "`a = NaN`: expected a finite number"),
        ] {
            let lua = Lua::new();
            let value: Value = lua.load(text).eval().unwrap();
            assert_eq!(read_any(&value).unwrap_err().to_string(), expected);
        }
    }

    /// Doubling a table a hundred times makes 2^100 values.
    #[test]
    fn nested_tables_end() {
        let lua = Lua::new();
        let text = "local t = {} for i = 1, 60 do t = {t, t} end return t";
        let value: Value = lua.load(text).eval().unwrap();
        assert!(read_any(&value).unwrap_err().to_string().contains("more than 100000 values"));
        let value: Value = lua.load("local t = {} t.t = t return t").eval().unwrap();
        assert!(read_any(&value).unwrap_err().to_string().contains("nested more than 64 deep"));
    }
}
