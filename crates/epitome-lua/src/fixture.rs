//! Jobs for a policy's own tests: a few fields given, the others filled in.
//!
//! Invariant: what is filled in says as little as possible (0, empty, `false`, the first word), and
//! what is given is checked like an answer. Called by `suite`.

use epitome_types::hook::{FieldShape, TableShape, ValueShape};
use mlua::{Lua, Result, Table, Value};

use crate::job::{METHODS, first_lines};
use crate::misfit::{Misfit, hint};
use crate::read::{keys, raw, read};

/// Tables whose texts are read by methods; a test gives them as `text`.
const WITH_TEXTS: &[&str] = &["entry", "entries", "covered"];

/// A job of this shape with these fields.
pub(crate) fn job(
    lua: &Lua,
    given: &Table,
    shape: &TableShape,
    own: &[&str],
) -> std::result::Result<Table, Misfit> {
    filled(lua, given, shape, own)
}

fn filled(
    lua: &Lua,
    given: &Table,
    shape: &TableShape,
    more: &[&str],
) -> std::result::Result<Table, Misfit> {
    let names = || shape.all_fields().map(|field| field.name);
    for (key, value) in keys(given) {
        if !names().any(|name| name == key) && !more.contains(&key.as_str()) {
            let hint = hint(&key, names().collect::<Vec<_>>());
            return Err(Misfit::new(&value, format!("no such field{hint}")).in_field(&key));
        }
    }
    let failed = |error: mlua::Error| Misfit::new(&Value::Nil, error.to_string());
    let made = lua.create_table().map_err(failed)?;
    for field in shape.all_fields().filter(|field| !is_hidden(shape, field)) {
        let value = raw(given, field.name);
        let methods = if WITH_TEXTS.contains(&field.name) { METHODS } else { &[] };
        let value = one(lua, &value, &field.shape, methods)
            .map_err(|misfit| misfit.in_field(field.name))?;
        made.raw_set(field.name, value).map_err(failed)?;
    }
    for name in more {
        made.raw_set(*name, raw(given, *name)).map_err(failed)?;
    }
    Ok(made)
}

/// Whether the job has a field of its own of this name, in the place of what every job says.
fn is_hidden(shape: &TableShape, field: &FieldShape) -> bool {
    shape.fields.iter().any(|own| own.name == field.name && !std::ptr::eq(own, field))
}

fn one(
    lua: &Lua,
    value: &Value,
    shape: &ValueShape,
    methods: &[&str],
) -> std::result::Result<Value, Misfit> {
    match (shape, value) {
        (_, Value::Nil) => nothing(lua, shape),
        (ValueShape::Optional(inner), _) => one(lua, value, inner, methods),
        (ValueShape::Table(table), Value::Table(given)) => {
            filled(lua, given, table, methods).map(Value::Table)
        }
        (
            ValueShape::List(inner @ (ValueShape::Table(_) | ValueShape::List(_))),
            Value::Table(given),
        ) => {
            let failed = |error: mlua::Error| Misfit::new(value, error.to_string());
            let list = lua.create_table().map_err(failed)?;
            for place in 1..=given.raw_len() {
                let item = one(lua, &raw(given, place), inner, &[])
                    .map_err(|misfit| misfit.in_place(place))?;
                list.raw_push(item).map_err(failed)?;
            }
            Ok(Value::Table(list))
        }
        _ => read(value, shape).map(|_| value.clone()),
    }
}

/// The value that says least.
fn nothing(lua: &Lua, shape: &ValueShape) -> std::result::Result<Value, Misfit> {
    let failed = |error: mlua::Error| Misfit::new(&Value::Nil, error.to_string());
    let text = |text: &str| lua.create_string(text).map(Value::String).map_err(failed);
    let table = || lua.create_table().map_err(failed);
    match shape {
        ValueShape::Bool => Ok(Value::Boolean(false)),
        ValueShape::Integer | ValueShape::Number => Ok(Value::Integer(0)),
        ValueShape::Text => text(""),
        ValueShape::Word(words) => text(words.first().copied().unwrap_or_default()),
        ValueShape::List(_) | ValueShape::Map(_) => table().map(Value::Table),
        ValueShape::Table(shape) => filled(lua, &table()?, shape, &[]).map(Value::Table),
        ValueShape::Either(_)
        | ValueShape::Tagged { .. }
        | ValueShape::Optional(_)
        | ValueShape::Any => Ok(Value::Nil),
    }
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
