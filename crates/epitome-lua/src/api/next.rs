//! The policies behind.

use mlua::{Function, Lua, Result};

use super::Env;
use crate::sandbox::own;

pub(super) fn next(lua: &Lua, env: &Env) -> Result<Function> {
    own(lua, include_str!("../lua/next.lua"))?.call(&env.slot)
}
