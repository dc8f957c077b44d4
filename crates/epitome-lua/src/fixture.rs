//! Jobs for a policy's own tests: a few fields given, the others filled in.
//!
//! Invariant: what is filled in says as little as possible (0, empty, `false`, the first word), and
//! what is given is checked like an answer. Called by `suite`.

use std::collections::BTreeMap;

use epitome_types::hook::{FieldShape, NameKind, TableShape, ValueShape};
use mlua::{Lua, Result, Table, Value};

use crate::dialect::Dialect;
use crate::job::{METHODS, first_lines};
use crate::misfit::{Misfit, hint};
use crate::read::{keys, raw, read_said};

/// Tables whose texts are read by methods; a test gives them as `text`.
const WITH_TEXTS: &[&str] = &["entry", "entries", "covered"];

/// Fills the jobs of one test.
#[derive(Clone, Copy)]
pub(crate) struct JobFixture<'a> {
    pub(crate) lua: &'a Lua,
    /// The names that the policy may use.
    pub(crate) dialect: &'a Dialect,
    /// The line of the test that asks the policy.
    pub(crate) at: &'a str,
}

impl JobFixture<'_> {
    /// Returns a job of this shape with these fields.
    pub(crate) fn job(
        self,
        given: &Table,
        shape: &TableShape,
        own: &[&str],
    ) -> std::result::Result<Table, Misfit> {
        let names = || shape.all_fields().map(|field| field.name);
        let known = |key: &str| names().any(|name| name == key) || own.contains(&key);
        let mut renamed = BTreeMap::new();
        for (key, value) in keys(given).into_iter().filter(|(key, _)| !known(key)) {
            let Some(new) = self.dialect.now(self.at, NameKind::Field, &key, known) else {
                let hint = hint(&key, names().collect::<Vec<_>>());
                return Err(Misfit::new(&value, format!("no such field{hint}")).in_field(&key));
            };
            renamed.insert(new, value);
        }
        let made = self.lua.create_table().map_err(failed)?;
        for field in shape.all_fields().filter(|field| !is_hidden(shape, field)) {
            let value = renamed.remove(field.name).unwrap_or_else(|| raw(given, field.name));
            let methods = if WITH_TEXTS.contains(&field.name) { METHODS } else { &[] };
            let value = self
                .one(&value, &field.shape, methods)
                .map_err(|misfit| misfit.in_field(field.name))?;
            made.raw_set(field.name, value).map_err(failed)?;
        }
        for name in own {
            made.raw_set(*name, raw(given, *name)).map_err(failed)?;
        }
        Ok(made)
    }

    fn one(
        self,
        value: &Value,
        shape: &ValueShape,
        methods: &[&str],
    ) -> std::result::Result<Value, Misfit> {
        match (shape, value) {
            (_, Value::Nil) => self.nothing(shape),
            (ValueShape::Optional(inner), _) => self.one(value, inner, methods),
            (ValueShape::Table(table), Value::Table(given)) => {
                self.job(given, table, methods).map(Value::Table)
            }
            (
                ValueShape::List(inner @ (ValueShape::Table(_) | ValueShape::List(_))),
                Value::Table(given),
            ) => {
                let list = self.lua.create_table().map_err(failed)?;
                for place in 1..=given.raw_len() {
                    let item = self
                        .one(&raw(given, place), inner, &[])
                        .map_err(|misfit| misfit.in_place(place))?;
                    list.raw_push(item).map_err(failed)?;
                }
                Ok(Value::Table(list))
            }
            _ => read_said(value, shape, self.dialect, self.at).map(|_| value.clone()),
        }
    }

    /// Returns the value that says least.
    fn nothing(self, shape: &ValueShape) -> std::result::Result<Value, Misfit> {
        let text = |text: &str| self.lua.create_string(text).map(Value::String).map_err(failed);
        let table = || self.lua.create_table().map_err(failed);
        match shape {
            ValueShape::Bool => Ok(Value::Boolean(false)),
            ValueShape::Integer | ValueShape::Number => Ok(Value::Integer(0)),
            ValueShape::Text => text(""),
            ValueShape::Word(words) => text(words.first().copied().unwrap_or_default()),
            ValueShape::List(_) | ValueShape::Map(_) => table().map(Value::Table),
            ValueShape::Table(shape) => self.job(&table()?, shape, &[]).map(Value::Table),
            ValueShape::Either(_)
            | ValueShape::Tagged { .. }
            | ValueShape::Optional(_)
            | ValueShape::Any => Ok(Value::Nil),
        }
    }
}

fn failed(error: mlua::Error) -> Misfit {
    Misfit::new(&Value::Nil, error.to_string())
}

/// Whether the job has a field of its own of this name, in the place of what every job says.
fn is_hidden(shape: &TableShape, field: &FieldShape) -> bool {
    shape.fields.iter().any(|own| own.name == field.name && !std::ptr::eq(own, field))
}

/// Puts methods in the place of the texts that a test gave.
pub(crate) fn add_methods(lua: &Lua, job: &Table) -> Result<()> {
    if let Value::Table(entry) = job.raw_get("entry")? {
        let said: String = entry.raw_get::<Option<String>>("text")?.unwrap_or_default();
        let whole = said.clone();
        entry.raw_set("text", lua.create_function(move |_, _: Value| Ok(whole.clone()))?)?;
        let head =
            move |_: &Lua, (_, lines): (Value, usize)| Ok(first_lines(&said, lines).to_owned());
        entry.raw_set("head", lua.create_function(head)?)?;
    }
    for owner in ["entries", "covered"] {
        let Value::Table(entries) = job.raw_get(owner)? else { continue };
        let said: Vec<String> = entries.raw_get::<Option<_>>("text")?.unwrap_or_default();
        let at = |said: &[String], place: usize| said.get(place.checked_sub(1)?).cloned();
        let whole = said.clone();
        let text = move |_: &Lua, (_, place): (Value, usize)| Ok(at(&whole, place));
        entries.raw_set("text", lua.create_function(text)?)?;
        let head = move |_: &Lua, (_, place, lines): (Value, usize, usize)| {
            Ok(at(&said, place).map(|text| first_lines(&text, lines).to_owned()))
        };
        entries.raw_set("head", lua.create_function(head)?)?;
    }
    Ok(())
}
