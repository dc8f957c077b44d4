//! Jobs, options and answers of other policies, in the names of api 1.
//!
//! Invariant: a policy of api 2 gets them unchanged. Called before a hook runs and by `ep.next`.

use std::sync::Arc;

use epitome_types::hook::{NameKind, TableShape, ValueShape};
use mlua::{Lua, Result, Table, Value};
use serde_json::{Map, Value as Json};

use crate::alias::{TableDialect, aliases};
use crate::dialect::Dialect;
use crate::read::raw;
use crate::sandbox::own;

/// Replaces the words of a table, those of inner tables excepted, by the words that the policy
/// knows.
pub(crate) fn say_words(
    lua: &Lua,
    dialect: &Dialect,
    table: &Table,
    shape: &TableShape,
) -> Result<()> {
    if !dialect.names.is_old() {
        return Ok(());
    }
    for field in shape.all_fields() {
        let Value::String(word) = raw(table, field.name) else { continue };
        if is_word(&field.shape) {
            say_word(lua, dialect, table, field.name, &word.to_string_lossy())?;
        }
    }
    // An event brings its older name with it.
    if let Value::Table(event) = raw(table, "event") {
        let was = raw(&event, "was");
        if !was.is_nil() {
            event.raw_set("event", was)?;
        }
    }
    Ok(())
}

/// Returns options with the old words in their lists. Their keys are found by the metatable.
pub(crate) fn say_options(dialect: &Dialect, options: &Map<String, Json>) -> Map<String, Json> {
    let mut options = options.clone();
    if dialect.names.is_old() {
        options.values_mut().for_each(|value| say_key_words(dialect, value));
    }
    options
}

fn say_key_words(dialect: &Dialect, value: &mut Json) {
    match value {
        Json::Object(table) => {
            table.values_mut().for_each(|value| say_key_words(dialect, value));
        }
        Json::Array(items) => {
            for item in items {
                if let Json::String(word) = item {
                    *word = dialect.names.old_name(NameKind::KeyWord, word).to_owned();
                }
            }
        }
        _ => {}
    }
}

fn say_word(lua: &Lua, dialect: &Dialect, table: &Table, field: &str, word: &str) -> Result<()> {
    table.raw_set(field, lua.create_string(dialect.names.old_name(NameKind::Word, word))?)
}

/// Lets the policy read and change the answer of another policy by the names that it knows.
pub(crate) fn say_answer(
    lua: &Lua,
    dialect: &Arc<Dialect>,
    value: &Value,
    shape: &ValueShape,
) -> Result<()> {
    let Value::Table(table) = value else { return Ok(()) };
    match shape {
        _ if !dialect.names.is_old() => Ok(()),
        ValueShape::Optional(inner) => say_answer(lua, dialect, value, inner),
        ValueShape::List(inner) => table
            .sequence_values::<Value>()
            .try_for_each(|item| say_answer(lua, dialect, &item?, inner)),
        ValueShape::Table(shape) => say_table(lua, dialect, table, shape),
        ValueShape::Tagged { tag, variants, .. } => {
            let Value::String(word) = raw(table, *tag) else { return Ok(()) };
            let word = word.to_string_lossy();
            if let Some((_, shape)) = variants.iter().find(|(known, _)| *known == word) {
                say_table(lua, dialect, table, shape)?;
            }
            say_word(lua, dialect, table, tag, &word)
        }
        _ => Ok(()),
    }
}

fn say_table(lua: &Lua, dialect: &Arc<Dialect>, table: &Table, shape: &TableShape) -> Result<()> {
    say_words(lua, dialect, table, shape)?;
    for field in shape.all_fields() {
        say_answer(lua, dialect, &raw(table, field.name), &field.shape)?;
    }
    let fields: Vec<String> = shape.all_fields().map(|field| field.name.to_owned()).collect();
    let old = TableDialect { kind: NameKind::Field, dialect };
    let (aliases, warn) = aliases(lua, old, &fields)?;
    if aliases.is_empty() {
        return Ok(());
    }
    table.set_metatable(Some(own(lua, include_str!("lua/renamed.lua"))?.call((aliases, warn))?))
}

fn is_word(shape: &ValueShape) -> bool {
    match shape {
        ValueShape::Optional(inner) => is_word(inner),
        shape => matches!(shape, ValueShape::Word(_)),
    }
}
