//! What Lua says when something fails, in one line with the place.
//!
//! Invariant: the place is in the policy's own files wherever one of them was running. Called
//! wherever Lua was.

use mlua::Error;

use crate::sandbox::OWN_CHUNK;

/// What a failed piece of Lua says: `policy.lua:12: what`, in one line.
pub(crate) fn said(error: &Error) -> String {
    let mut place = None;
    let mut inner = error;
    let text = loop {
        match inner {
            Error::CallbackError { traceback, cause } => {
                place = place_in(traceback).or(place);
                inner = cause;
            }
            Error::BadArgument { cause, pos, .. } => {
                break format!("argument {pos}: {}", said(cause));
            }
            Error::FromLuaConversionError { from, to, .. } => {
                break format!("expected a {}, found {from}", plain(to));
            }
            Error::RuntimeError(text) | Error::MemoryError(text) => break text.clone(),
            Error::SyntaxError { message, .. } => break message.clone(),
            other => break other.to_string(),
        }
    };
    let (message, traceback) = text.split_once("\nstack traceback:").unwrap_or((&text, ""));
    let message = match message.trim() {
        // An address says nothing, and is another one every time.
        other if other.starts_with("table: 0x") => "an error that is no text",
        text => text,
    };
    match own_place(message) {
        Own::Policy => message.to_owned(),
        Own::Ours(rest) => with_place(place_in(traceback).or(place), rest),
        Own::None => with_place(place_in(traceback).or(place), message),
    }
}

/// Whether memory ran out.
pub(crate) fn out_of_memory(error: &Error) -> bool {
    match error {
        Error::MemoryError(_) => true,
        Error::CallbackError { cause, .. } => out_of_memory(cause),
        _ => false,
    }
}

/// The line of a file that a text names first.
pub(crate) fn line_in(text: &str, file: &str) -> Option<u32> {
    let place = text
        .split_whitespace()
        .filter_map(place_at)
        .find(|place| place.rsplit_once(':').is_some_and(|(name, _)| name == file))?;
    place.rsplit_once(':')?.1.parse().ok()
}

enum Own<'t> {
    /// It begins with a place of the policy's.
    Policy,
    /// It begins with a place in this crate's own Lua; what follows it.
    Ours(&'t str),
    None,
}

fn own_place(message: &str) -> Own<'_> {
    match message.strip_prefix(OWN_CHUNK).and_then(|rest| rest.strip_prefix(':')) {
        Some(rest) => Own::Ours(rest.split_once(": ").map_or(rest, |(_, rest)| rest)),
        None if place_at(message).is_some() => Own::Policy,
        None => Own::None,
    }
}

fn with_place(place: Option<&str>, message: &str) -> String {
    match place {
        Some(place) => format!("{place}: {message}"),
        None => message.to_owned(),
    }
}

/// The innermost place in a file of the policy.
fn place_in(traceback: &str) -> Option<&str> {
    traceback.lines().find_map(|line| place_at(line.trim()))
}

/// `name.lua:12`, where a line begins with it.
fn place_at(line: &str) -> Option<&str> {
    let end = line.find(".lua:")? + ".lua:".len();
    let digits = line[end..].bytes().take_while(u8::is_ascii_digit).count();
    let place = &line[..end + digits];
    (digits > 0 && !place.contains(' ')).then_some(place)
}

fn plain(rust: &str) -> &str {
    match rust {
        "LuaString" | "String" | "string" => "text",
        "u64" | "usize" | "i64" | "u32" => "whole number",
        other => other,
    }
}
