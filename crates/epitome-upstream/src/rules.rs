//! What providers refuse, by API.
//!
//! Invariant: nothing here is shared with the program's own formats: this is the other side, worked
//! out again from what providers say. Each module checks one API; called by `server` before
//! anything is answered.

use std::collections::HashMap;

use serde_json::Value;

pub(crate) mod anthropic;
pub(crate) mod binding;
pub(crate) mod chat;
pub(crate) mod ollama;
pub(crate) mod responses;

/// What was given out and must come back as it was.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// What was thought, by its signature (Anthropic).
    pub(crate) thoughts: HashMap<String, String>,
    /// The prompt that reasoning answers and is bound to, by its signature.
    pub(crate) bound: HashMap<String, u128>,
    /// The signature that belongs to a call (Anthropic), the reasoning that an item belongs to
    /// (Responses), by the id of the call or item.
    pub(crate) partners: HashMap<String, String>,
}

/// The array under a key; nothing where there is none.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The text under a key; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
