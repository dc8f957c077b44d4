//! `require`: modules of the policy's folder and of `lib`.
//!
//! Invariant: a module runs once in each virtual machine. Called by `vm`.

use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::{Error, Function, Lua, Result, Value};

use crate::files::{GenerationFiles, Module};

/// The function `require`.
pub(crate) fn require(lua: &Lua, files: &Arc<GenerationFiles>) -> Result<Function> {
    let loaded = lua.create_table()?;
    let files = Arc::clone(files);
    lua.create_function(move |lua, name: String| {
        match loaded.raw_get(name.as_str())? {
            Value::Nil => {}
            Value::LightUserData(_) => {
                let what = format!("module `{name}` is asked for while it is being loaded");
                return Err(Error::runtime(what));
            }
            value => return Ok(value),
        }
        let module = files.module(&name).map_err(Error::runtime)?;
        loaded.raw_set(name.as_str(), Value::NULL)?;
        let result = run(lua, &module);
        let value = match result {
            Ok(Value::Nil) => Value::Boolean(true),
            Ok(Value::Table(table)) => {
                // Nothing may last from one call to the next but the memo.
                table.set_readonly(true);
                Value::Table(table)
            }
            Ok(value) => value,
            Err(error) => {
                loaded.raw_set(name.as_str(), Value::Nil)?;
                return Err(error);
            }
        };
        loaded.raw_set(name.as_str(), &value)?;
        Ok(value)
    })
}

/// Runs a file and gives what it returns.
pub(crate) fn run(lua: &Lua, module: &Module) -> Result<Value> {
    lua.load(&module.text).set_name(format!("={}", module.chunk)).set_mode(ChunkMode::Text).call(())
}
