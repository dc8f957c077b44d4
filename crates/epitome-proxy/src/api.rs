//! The APIs that are spoken here: whose they are, and how what goes either way is written.
//!
//! Invariant: an API is known by name, path and header names alone, never by a body. Called by whoever
//! routes a request, words an answer or counts by upstream.

use epitome::Format;
use http::HeaderMap;

/// An API, and with it the upstream that may see a request's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UpstreamApi {
    /// Anthropic's.
    Anthropic,
    /// OpenAI's, and what is compatible with it.
    OpenAi,
    /// Ollama's.
    Ollama,
}

impl UpstreamApi {
    /// Its name, as the settings spell it.
    pub fn name(self) -> &'static str {
        match self {
            UpstreamApi::Anthropic => "anthropic",
            UpstreamApi::OpenAi => "openai",
            UpstreamApi::Ollama => "ollama",
        }
    }
}

/// How a conversation and its answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ApiDialect {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Ollama's `/api/chat`.
    Ollama,
}

impl ApiDialect {
    /// The format of its conversations.
    pub(crate) fn format(self) -> Format {
        match self {
            ApiDialect::Messages => Format::Anthropic,
            ApiDialect::Chat => Format::OpenAi,
            ApiDialect::Responses => Format::Responses,
            ApiDialect::Ollama => Format::Ollama,
        }
    }

    /// How errors are worded for a client of an API that asked for something else.
    pub(crate) fn of(api: UpstreamApi) -> Self {
        match api {
            UpstreamApi::Anthropic => ApiDialect::Messages,
            UpstreamApi::OpenAi => ApiDialect::Chat,
            UpstreamApi::Ollama => ApiDialect::Ollama,
        }
    }
}

/// How an answer of ours is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As clients of this API read it.
    Of(ApiDialect),
    /// As clients of Google's APIs do.
    Google,
    /// As clients of Amazon's do.
    Amazon,
}

/// Whether a client of Anthropic's API sent these headers.
pub(crate) fn is_of_anthropic(headers: &HeaderMap) -> bool {
    ["anthropic-version", "x-api-key"].iter().any(|name| headers.contains_key(*name))
}
