//! Old names of the fields, or the keys, of one Lua table.
//!
//! Invariant: the table itself holds the new names; its metatable finds them by the old ones too.
//! Called where jobs are locked and where answers of other policies are handed over.

use std::sync::Arc;

use epitome_types::hook::NameKind;
use mlua::{Function, Lua, Result, Table};

use crate::dialect::Dialect;
use crate::place::place;

/// The kind of the names of a table, and who may still go by the old ones.
#[derive(Clone, Copy)]
pub(crate) struct TableDialect<'a> {
    pub(crate) kind: NameKind,
    pub(crate) dialect: &'a Arc<Dialect>,
}

/// Returns, for a metatable of a table with these fields, the new name of each old one and a
/// function that warns the author about one that was used.
pub(crate) fn aliases(
    lua: &Lua,
    old: TableDialect<'_>,
    fields: &[String],
) -> Result<(Table, Function)> {
    let TableDialect { kind, dialect } = old;
    let has = |wanted: &str| fields.iter().any(|name| name == wanted);
    let renames: Vec<_> = dialect.names.in_table(kind, has).collect();
    let aliases = lua.create_table_from(renames.iter().map(|name| (name.old, name.new)))?;
    let dialect = Arc::clone(dialect);
    let warn = lua.create_function(move |lua, old: String| {
        if let Some(name) = renames.iter().find(|name| name.old == old) {
            // Level 1 is the function of the metatable; level 2 is the policy.
            dialect.warn(&place(lua, 2), name);
        }
        Ok(())
    })?;
    Ok((aliases, warn))
}
