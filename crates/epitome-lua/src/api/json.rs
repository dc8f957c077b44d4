//! JSON.

use mlua::{Error, Function, IntoLuaMulti, Lua, LuaString, Result, Value};
use serde_json::Value as Json;

use super::{Env, bounded};
use crate::read::read_any;
use crate::write::to_lua;

/// The longest text that is decoded, in bytes: what it stands for may be many times as large.
const MOST: usize = 1 << 20;

pub(super) fn encode(lua: &Lua, _: &Env) -> Result<Function> {
    lua.create_function(|_, value: Value| match read_any(&value) {
        Ok(json) => Ok(json.to_string()),
        Err(misfit) => Err(Error::runtime(misfit)),
    })
}

pub(super) fn decode(lua: &Lua, _: &Env) -> Result<Function> {
    lua.create_function(|lua, text: LuaString| {
        bounded(&text, MOST)?;
        match serde_json::from_slice::<Json>(&text.as_bytes()) {
            Ok(json) => to_lua(lua, &json)?.into_lua_multi(lua),
            Err(error) => (Value::Nil, error.to_string()).into_lua_multi(lua),
        }
    })
}
