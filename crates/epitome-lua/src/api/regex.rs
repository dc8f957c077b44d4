//! Regular expressions, in linear time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Error, Function, IntoLua, Lua, LuaString, MultiValue, Result, Value};
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::{Env, MOST_TEXT, bounded};

/// How many compiled expressions are kept.
const KEPT: usize = 128;
/// The largest compiled expression, in bytes.
const LARGEST: usize = 1 << 20;
/// How many matches `re.all` gives unless told otherwise.
const MOST_MATCHES: usize = 1000;

/// Compiled expressions, by their text.
#[derive(Debug, Default)]
pub(crate) struct RegexCache(Mutex<HashMap<String, Arc<Regex>>>);

impl RegexCache {
    /// A clone of an expression would begin with no memory of its own, which each search would build anew.
    fn get(&self, pattern: &str) -> Result<Arc<Regex>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = kept.get(pattern) {
            return Ok(Arc::clone(regex));
        }
        let regex = Arc::new(
            compiled(pattern).map_err(|what| Error::runtime(format!("`{pattern}` {what}")))?,
        );
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), Arc::clone(&regex));
        Ok(regex)
    }
}

/// Compiles an expression, or says why it is none.
pub(crate) fn compiled(pattern: &str) -> std::result::Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(LARGEST)
        .dfa_size_limit(2 * LARGEST)
        .build()
        .map_err(|error| refused(&error))
}

fn refused(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "is too large when compiled".to_owned(),
        // The last of several lines says what is wrong, the others draw where.
        other => {
            let text = other.to_string();
            let what = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("is no regular expression: {what}")
        }
    }
}

/// A function of an expression and a text.
fn function<A: mlua::FromLuaMulti + 'static>(
    lua: &Lua,
    env: &Env,
    run: fn(&Lua, &Regex, &[u8], A) -> Result<MultiValue>,
) -> Result<Function>
where
    (String, LuaString, MultiValue): mlua::FromLuaMulti,
{
    let host = Arc::clone(&env.host);
    lua.create_function(move |lua, (pattern, text, more): (String, LuaString, MultiValue)| {
        bounded(&text, MOST_TEXT)?;
        let more = A::from_lua_multi(more, lua)?;
        let regex = host.patterns.get(&pattern)?;
        run(lua, &regex, &text.as_bytes(), more)
    })
}

pub(super) fn find(lua: &Lua, env: &Env) -> Result<Function> {
    function(lua, env, |lua, regex, text, from: Option<usize>| {
        let Some(found) = captures(regex, text, from) else { return nothing() };
        let whole = found.get(0).map(|found| (found.start() + 1, found.end()));
        let (first, last) = whole.unwrap_or_default();
        let mut values = MultiValue::from_iter([first.into_lua(lua)?, last.into_lua(lua)?]);
        values.extend(groups(lua, &found)?);
        Ok(values)
    })
}

pub(super) fn first(lua: &Lua, env: &Env) -> Result<Function> {
    function(lua, env, |lua, regex, text, from: Option<usize>| {
        let Some(found) = captures(regex, text, from) else { return nothing() };
        match found.len() {
            1 => Ok(MultiValue::from_iter([whole_or_group(lua, &found)?])),
            _ => Ok(MultiValue::from_iter(groups(lua, &found)?)),
        }
    })
}

pub(super) fn all(lua: &Lua, env: &Env) -> Result<Function> {
    function(lua, env, |lua, regex, text, most: Option<usize>| {
        let found = regex.captures_iter(text).take(most.unwrap_or(MOST_MATCHES));
        let list = lua.create_table()?;
        for found in found {
            list.raw_push(whole_or_group(lua, &found)?)?;
        }
        Ok(MultiValue::from_iter([Value::Table(list)]))
    })
}

pub(super) fn gsub(lua: &Lua, env: &Env) -> Result<Function> {
    function(lua, env, |lua, regex, text, with: LuaString| {
        let with = with.as_bytes();
        let (mut made, mut end, mut count) = (Vec::with_capacity(text.len()), 0, 0);
        for found in regex.captures_iter(text) {
            let whole = found.get(0).map(|found| found.range()).unwrap_or_default();
            made.extend_from_slice(&text[end..whole.start]);
            found.expand(&with, &mut made);
            end = whole.end;
            count += 1;
            if made.len() > MOST_TEXT {
                return Err(Error::runtime(format!("the result is longer than {MOST_TEXT} bytes")));
            }
        }
        made.extend_from_slice(&text[end..]);
        let values = [Value::String(lua.create_string(made)?), Value::Integer(count)];
        Ok(MultiValue::from_iter(values))
    })
}

/// The first match from a byte on, counted from 1.
fn captures<'t>(regex: &Regex, text: &'t [u8], from: Option<usize>) -> Option<Captures<'t>> {
    let from = from.unwrap_or(1).saturating_sub(1);
    (from <= text.len()).then(|| regex.captures_at(text, from)).flatten()
}

/// Says that there is no match.
fn nothing() -> Result<MultiValue> {
    Ok(MultiValue::from_iter([Value::Nil]))
}

fn groups(lua: &Lua, found: &Captures<'_>) -> Result<Vec<Value>> {
    let group = |found: Option<regex::bytes::Match<'_>>| match found {
        Some(found) => lua.create_string(found.as_bytes()).map(Value::String),
        None => Ok(Value::Nil),
    };
    found.iter().skip(1).map(group).collect()
}

fn whole_or_group(lua: &Lua, found: &Captures<'_>) -> Result<Value> {
    let text = found.get(1).or_else(|| found.get(0)).map(|found| found.as_bytes());
    lua.create_string(text.unwrap_or_default()).map(Value::String)
}
