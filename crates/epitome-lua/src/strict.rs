//! Tables that can only be read, and know their names: asking for any other is an error that
//! suggests the nearest.
//!
//! Invariant: a name that is declared and has no value is `nil`, as everywhere in Lua. Used for
//! `ep` and for jobs.

use mlua::{Lua, Result, Table, Value};

use crate::misfit::{hint, shown};
use crate::sandbox::own;

/// A metatable for tables with these names; `called` is what they are called in errors.
pub(crate) fn metatable(lua: &Lua, called: &str, names: Vec<String>) -> Result<Table> {
    let known = lua.create_table_from(names.iter().map(|name| (name.as_str(), true)))?;
    let called = called.to_owned();
    let say = lua.create_function(move |_, key: Value| {
        let key = match &key {
            Value::String(name) => name.to_string_lossy(),
            other => shown(other),
        };
        let hint = hint(&key, names.iter().map(String::as_str));
        Ok(format!("{called} has no `{key}`{hint}"))
    })?;
    own(lua, include_str!("lua/strict.lua"))?.call((known, say))
}

/// Locks a table with the names that it has, and the tables in it.
pub(crate) fn lock(lua: &Lua, table: &Table, called: &str) -> Result<()> {
    let mut names = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let Value::String(name) = &key else { continue };
        let name = name.to_string_lossy();
        match &value {
            // A list, or an empty table, which may be one.
            Value::Table(inner) if inner.raw_len() > 0 || inner.is_empty() => {
                inner.set_readonly(true);
            }
            Value::Table(inner) => lock(lua, inner, &format!("{called}.{name}"))?,
            _ => {}
        }
        names.push(name);
    }
    names.sort();
    table.set_metatable(Some(metatable(lua, called, names)?))?;
    table.set_readonly(true);
    Ok(())
}
