//! The log.

use std::sync::Arc;

use mlua::{Error, Function, Lua, Result, Value, Variadic};

use super::Env;
use crate::misfit::hint;

const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

pub(super) fn log(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |_, (level, text): (String, String)| {
        let policy = &host.policy;
        match level.as_str() {
            "error" => tracing::error!(target: "policy", policy, "{text}"),
            "warn" => tracing::warn!(target: "policy", policy, "{text}"),
            "info" => tracing::info!(target: "policy", policy, "{text}"),
            "debug" => tracing::debug!(target: "policy", policy, "{text}"),
            "trace" => tracing::trace!(target: "policy", policy, "{text}"),
            other => {
                let hint = hint(other, LEVELS.iter().copied());
                return Err(Error::runtime(format!("there is no level `{other}`{hint}")));
            }
        }
        Ok(())
    })
}

/// `print`.
pub(crate) fn print(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |_, values: Variadic<Value>| {
        let texts = values.iter().map(Value::to_string).collect::<Result<Vec<_>>>()?;
        tracing::info!(target: "policy", policy = host.policy, "{}", texts.join("\t"));
        Ok(())
    })
}
