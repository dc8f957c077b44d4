//! What a policy says to its author.
//!
//! Invariant: every line says where it was written, and no policy says more than so many lines, nor
//! long ones. Where it goes is the host's affair: it is an event of the target `policy`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{Error, Function, Lua, Result, Value, Variadic};

use super::{ApiHost, Env};
use crate::misfit::hint;
use crate::place::place;

const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// The most lines that a generation of a policy says.
const MOST_LINES: u32 = 1000;

/// The most bytes of a line.
const MOST_BYTES: usize = 2000;

pub(super) fn log(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |lua, (level, text): (String, String)| {
        if !LEVELS.contains(&&*level) {
            let hint = hint(&level, LEVELS.iter().copied());
            return Err(Error::runtime(format!("there is no level `{level}`{hint}")));
        }
        say(lua, &host, &level, &text);
        Ok(())
    })
}

/// `print`.
pub(crate) fn print(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |lua, values: Variadic<Value>| {
        let texts = values.iter().map(Value::to_string).collect::<Result<Vec<_>>>()?;
        say(lua, &host, "info", &texts.join("\t"));
        Ok(())
    })
}

/// Says a line, unless the policy said too many.
fn say(lua: &Lua, host: &ApiHost, level: &str, text: &str) {
    let policy = &*host.policy;
    // The first is the function that is called.
    let at = place(lua, 1);
    let said = host.said.fetch_add(1, Ordering::Relaxed);
    if said >= MOST_LINES {
        if said == MOST_LINES {
            let why = format!("more than {MOST_LINES} lines; the rest is left out");
            tracing::warn!(target: "policy", policy, at, "{why}");
        }
        return;
    }
    let end = text.floor_char_boundary(MOST_BYTES);
    let more = if end < text.len() { "…" } else { "" };
    let text = &text[..end];
    match level {
        "error" => tracing::error!(target: "policy", policy, at, "{text}{more}"),
        "warn" => tracing::warn!(target: "policy", policy, at, "{text}{more}"),
        "info" => tracing::info!(target: "policy", policy, at, "{text}{more}"),
        "debug" => tracing::debug!(target: "policy", policy, at, "{text}{more}"),
        _ => tracing::trace!(target: "policy", policy, at, "{text}{more}"),
    }
}
