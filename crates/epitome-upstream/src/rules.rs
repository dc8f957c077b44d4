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

/// Why a request is refused, in the words of its API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Anthropic's and OpenAI's `type`.
    pub(crate) kind: &'static str,
    /// OpenAI's `code`.
    pub(crate) code: Option<&'static str>,
    /// OpenAI's `param`.
    pub(crate) param: Option<String>,
    /// For people.
    pub(crate) message: String,
}

impl Refusal {
    /// A 400 with a message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            kind: "invalid_request_error",
            code: None,
            param: None,
            message: message.into(),
        }
    }

    /// Names the parameter at fault.
    pub(crate) fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// Gives a code.
    pub(crate) fn coded(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }
}

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
