//! Policies in Lua.
