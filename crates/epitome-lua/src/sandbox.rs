//! The virtual machine as a policy gets it.
//!
//! Invariant: what is not on the lists below is not there, and nothing that is there can be
//! written to; no single library call runs long without a look at the call's timer. Called by
//! `vm`.

use std::sync::Arc;

use mlua::{Error, Function, Lua, LuaOptions, Result, StdLib, Table, Value, VmState};

use crate::call_timer::CallTimer;

/// What of the language itself a policy has. `require`, `print` and `ep` are the host's.
pub(crate) const GLOBALS: &[&str] = &[
    "_VERSION",
    "assert",
    "error",
    "getmetatable",
    "ipairs",
    "next",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "select",
    "setmetatable",
    "tonumber",
    "tostring",
    "type",
    "unpack",
    "xpcall",
];

/// What of the libraries a policy has. Left out are clocks, chance and files; what plain Lua does
/// not have; and what can run for hours in one call (`table.move`, `string.split`).
pub(crate) const LIBRARIES: &[(&str, &[&str])] = &[
    (
        "coroutine",
        &["close", "create", "isyieldable", "resume", "running", "status", "wrap", "yield"],
    ),
    (
        "math",
        &[
            "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor",
            "fmod", "frexp", "huge", "ldexp", "log", "log10", "max", "min", "modf", "pi", "pow",
            "rad", "sin", "sinh", "sqrt", "tan", "tanh",
        ],
    ),
    (
        "string",
        &[
            "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep",
            "reverse", "sub", "upper",
        ],
    ),
    ("table", &["concat", "insert", "pack", "remove", "sort", "unpack"]),
    ("utf8", &["char", "charpattern", "codepoint", "codes", "len", "offset"]),
];

/// The name under which this crate's own Lua stands in tracebacks.
pub(crate) const OWN_CHUNK: &str = "[ep]";

/// The most that the lengths of a pattern and a text may multiply to: about a tenth of a second.
const PATTERN_WORK: u32 = 1 << 28;

/// A virtual machine with nothing in it but the permitted part of the language; `install` adds the
/// host's own globals before everything is locked.
pub(crate) fn machine(
    timer: &Arc<CallTimer>,
    install: impl FnOnce(&Lua, &Table) -> Result<()>,
) -> Result<Lua> {
    let libraries =
        StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::UTF8 | StdLib::MATH;
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    let globals = lua.globals();
    keep(&globals, |name| {
        GLOBALS.contains(&name) || LIBRARIES.iter().any(|(library, _)| *library == name)
    })?;
    for (library, names) in LIBRARIES {
        keep(&globals.raw_get(*library)?, |name| names.contains(&name))?;
    }
    own(&lua, include_str!("lua/sandbox.lua"))?.call::<()>(PATTERN_WORK)?;
    install(&lua, &globals)?;
    lua.sandbox(true)?;
    lua.globals().set_readonly(true);
    let timer = Arc::clone(timer);
    lua.set_interrupt(move |lua| match timer.is_over() {
        false => Ok(VmState::Continue),
        true => {
            let traceback = lua.traceback(Some("out of time\nstack traceback:"), 0)?;
            Err(Error::runtime(traceback.to_string_lossy()))
        }
    });
    Ok(lua)
}

/// Loads a piece of this crate's own Lua. It is compiled once in a machine, which asks for some of them
/// with each kind of table.
pub(crate) fn own(lua: &Lua, text: &str) -> Result<Function> {
    if let Some(loaded) = lua.named_registry_value(text)? {
        return Ok(loaded);
    }
    let loaded = lua
        .load(text)
        .set_name(format!("={OWN_CHUNK}"))
        .set_mode(mlua::chunk::ChunkMode::Text)
        .into_function()?;
    lua.set_named_registry_value(text, &loaded)?;
    Ok(loaded)
}

fn keep(table: &Table, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let keys: Vec<Value> = table
        .pairs::<Value, Value>()
        .map(|pair| pair.map(|(key, _)| key))
        .collect::<Result<_>>()?;
    for key in keys {
        if !key.as_string().is_some_and(|name| name.to_str().is_ok_and(|name| wanted(&name))) {
            table.raw_set(key, Value::Nil)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::call_timer::CallTimer;
    use crate::watchdog::Watchdog;

    fn new() -> (Lua, Arc<CallTimer>) {
        let timer = Arc::new(CallTimer::default());
        (machine(&timer, |_, _| Ok(())).unwrap(), timer)
    }

    /// What does not run for ever has all the time that a busy machine may need.
    fn run(text: &str) -> Result<String> {
        run_within(text, Duration::from_secs(60))
    }

    fn run_within(text: &str, time: Duration) -> Result<String> {
        let (lua, timer) = new();
        lua.set_memory_limit(64 << 20)?;
        let dog = Watchdog::start().unwrap();
        let _watched = dog.watch(&timer, time);
        lua.load(text).eval::<Value>()?.to_string()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        // What would run for ever is stopped soon; whatever else, in its own time.
        let time = match expected {
            "out of time" | "" => Duration::from_millis(100),
            _ => Duration::from_secs(60),
        };
        let error = run_within(text, time).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:.80}\n{error:.200}");
    }

    #[test]
    fn what_a_policy_must_not_have_is_not_there() {
        for name in [
            "io",
            "os",
            "debug",
            "load",
            "loadstring",
            "dofile",
            "loadfile",
            "package",
            "require",
            "getfenv",
            "setfenv",
            "collectgarbage",
            "gcinfo",
            "newproxy",
            "print",
            "bit32",
            "buffer",
            "vector",
            "typeof",
            "math.random",
            "math.randomseed",
            "math.noise",
            "string.split",
            "string.pack",
            "table.move",
            "table.create",
        ] {
            let value = run(&format!("return {name}")).unwrap();
            assert_eq!(value, "nil", "{name}");
        }
    }

    #[test]
    fn what_plain_lua_has_is_there() {
        let text = "return ('x'):rep(3) .. #table.pack(1, 2) .. math.floor(2.5) .. utf8.len('é')
                    .. select('#', unpack({1, 2, 3})) .. ('a,b'):gsub(',', '')";
        assert_eq!(run(text).unwrap(), "xxx2213ab");
    }

    #[test]
    fn endless_loops_end() {
        check("while true do end", "out of time");
        check("while true do pcall(function() while true do end end) end", "out of time");
        check("repeat xpcall(error, function() while true do end end) until false", "out of time");
        check(
            "coroutine.wrap(function() coroutine.wrap(function() while true do end end)() end)()",
            "out of time",
        );
        check(
            "while true do local co = coroutine.create(function() while true do end end)
             coroutine.resume(co) end",
            "out of time",
        );
        check(
            "local t = setmetatable({}, {__index = function(t, k) return t[k .. 'x'] end}) return t.a",
            "",
        );
    }

    #[test]
    fn memory_is_bounded() {
        for text in [
            "return string.rep('x', 1e9)",
            "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end",
            "local s = 'x' while true do s = s .. s end",
            "local t = {} while true do t[#t + 1] = {} end",
        ] {
            check(text, "not enough memory");
        }
        check("while true do pcall(string.rep, 'x', 1e9) end", "out of time");
    }

    #[test]
    fn catastrophic_patterns_end() {
        for pattern in [".-b", ".-.-.-.-b", ".*.*.*.*b", "a-a-a-b"] {
            check(&format!("return string.find(('a'):rep(1e5), '{pattern}')"), "out of time");
        }
        check("local s = ('a'):rep(1e7) while true do s:gsub('a', 'b') end", "");
    }

    /// None of these looks at the flag while it runs: each would take hours.
    #[test]
    fn single_library_calls_are_bounded() {
        check(
            "return string.find(('a'):rep(2e7), ('a'):rep(1e7) .. 'b', 1, true)",
            "too much work",
        );
        check("return string.find(('b'):rep(1e7), '[' .. ('a'):rep(1e7) .. ']*')", "too much work");
        check(
            "local a, b = ('x'):rep(1e7) .. 'a', ('x'):rep(1e7) .. 'b'
             local t = {} for i = 1, 1e5, 2 do t[i], t[i + 1] = b, a end table.sort(t)",
            "out of time",
        );
    }

    #[test]
    fn deep_recursion_ends() {
        check("local function f() return 1 + f() end return f()", "stack overflow");
        check("local function f() return 1 + select(2, pcall(f)) end return f()", "");
        check(
            &format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            "recursion depth",
        );
    }

    #[test]
    fn nothing_can_be_written_to() {
        check("string.rep = nil", "readonly");
        check("getmetatable('').__index = {}", "readonly");
        check("rawset(math, 'pi', 3)", "readonly");
        check("counter = 1", "readonly");
        check("setmetatable(_G or string, {})", "");
    }

    #[test]
    fn bytecode_is_refused() {
        let (lua, _) = new();
        let code = mlua::chunk::Compiler::new().compile("return 1").unwrap();
        let name = "=policy.lua";
        let chunk = lua.load(code).set_name(name).set_mode(mlua::chunk::ChunkMode::Text);
        assert!(chunk.into_function().is_err());
    }
}
