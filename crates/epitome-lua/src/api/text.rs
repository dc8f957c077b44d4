//! Texts: counted, clipped, hashed, read from the policy's folder.

use std::sync::Arc;

use mlua::{Error, Function, Lua, LuaString, Result};

use super::{Env, MOST_TEXT, bounded};

/// How much of a text is counted at a time when it is clipped, in bytes.
const PIECE: usize = 512;

pub(super) fn count(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |_, text: LuaString| {
        bounded(&text, MOST_TEXT)?;
        Ok(host.counter.count(&text.to_string_lossy()))
    })
}

pub(super) fn clip(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |lua, (text, tokens): (LuaString, f64)| {
        bounded(&text, MOST_TEXT)?;
        let whole = text.to_string_lossy();
        let most = tokens.max(0.0) as u64;
        let end = fitting(&whole, most, &|text| host.counter.count(text));
        lua.create_string(&whole[..end])
    })
}

/// Where the beginning of a text that takes no more than `most` ends. Pieces are counted one by
/// one: together they never take less than the whole.
fn fitting(text: &str, most: u64, count: &dyn Fn(&str) -> u64) -> usize {
    let (mut end, mut left) = (0, most);
    while end < text.len() {
        let stop = text.floor_char_boundary(end + PIECE);
        let taken = count(&text[end..stop]);
        if taken > left {
            let piece = &text[end..stop];
            let ends: Vec<usize> = piece.char_indices().map(|(at, _)| at).collect();
            let fits = ends.partition_point(|at| count(&piece[..*at]) <= left);
            return end + fits.checked_sub(1).map_or(0, |last| ends[last]);
        }
        left -= taken;
        end = stop;
    }
    end
}

pub(super) fn hash(lua: &Lua, _: &Env) -> Result<Function> {
    lua.create_function(|_, text: LuaString| {
        Ok(blake3::hash(&text.as_bytes()).to_hex()[..16].to_owned())
    })
}

pub(super) fn prompt(lua: &Lua, env: &Env) -> Result<Function> {
    let host = Arc::clone(&env.host);
    lua.create_function(move |_, name: String| {
        host.files.prompt(&name).ok_or_else(|| Error::runtime(host.files.no_prompt(&name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One token for each begun four bytes.
    fn count(text: &str) -> u64 {
        text.len().div_ceil(4) as u64
    }

    #[track_caller]
    fn check(text: &str, most: u64, expected: usize) {
        let end = fitting(text, most, &count);
        assert_eq!(end, expected);
        assert!(count(&text[..end]) <= most);
    }

    #[test]
    fn a_beginning_is_clipped_to_its_tokens() {
        check("", 3, 0);
        check("twelve bytes", 3, 12);
        check("twelve bytes", 2, 8);
        check("twelve bytes", 0, 0);
        check("ééé", 1, 4);
        check(&"é".repeat(1000), 250, 1000);
        check(&"x".repeat(5000), 1200, 4800);
    }
}
