//! Tables that can only be read, and know their names: asking for any other is an error that
//! suggests the nearest.
//!
//! Invariant: a name that is declared and has no value is `nil`, as everywhere in Lua. Used for
//! `ep` and for jobs.

use mlua::{Lua, Result, Table, Value};

use crate::alias::{TableDialect, aliases};
use crate::misfit::{hint, shown};
use crate::sandbox::own;

/// Returns a metatable for tables with these names. `called` names the table in errors. The old
/// names are found too, where some are said.
pub(crate) fn metatable(
    lua: &Lua,
    called: &str,
    names: Vec<String>,
    old: Option<TableDialect<'_>>,
) -> Result<Table> {
    let aliases = old.map(|old| aliases(lua, old, &names)).transpose()?;
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
    let (renamed, warn) = aliases.unzip();
    own(lua, include_str!("lua/strict.lua"))?.call((known, say, renamed, warn))
}

/// Locks a table with the names that it has, and the tables in it; `old` as in [`metatable`].
pub(crate) fn lock(
    lua: &Lua,
    table: &Table,
    called: &str,
    old: Option<TableDialect<'_>>,
) -> Result<()> {
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
            Value::Table(inner) => lock(lua, inner, &format!("{called}.{name}"), old)?,
            _ => {}
        }
        names.push(name);
    }
    names.sort();
    table.set_metatable(Some(metatable(lua, called, names, old)?))?;
    table.set_readonly(true);
    Ok(())
}
