//! The line of a policy that is running.
//!
//! Called by functions of `ep`, by the tests of policies and by warnings about old names.

use mlua::Lua;

/// Returns the file and line of the function this many calls above the current one.
pub(crate) fn place(lua: &Lua, up: usize) -> String {
    let place = lua.inspect_stack(up, |at| {
        let source = at.source();
        Some(format!("{}:{}", source.short_src?, at.current_line()?))
    });
    place.flatten().unwrap_or_default()
}
