//! The formats and their names on the command line.
//!
//! Invariant: no two formats have one name, and none is displayed as anything else. Called by every
//! reader of this crate, and through `format_name` by whoever is given a name.

use std::fmt;

/// A format that a conversation comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A request to Anthropic's Messages API.
    Anthropic,
    /// A request to an OpenAI-compatible chat completions API, or its bare message array.
    OpenAi,
    /// A request to OpenAI's Responses API.
    Responses,
    /// A request to Ollama's `/api/chat`.
    Ollama,
    /// A session file of Claude Code (JSON lines).
    ClaudeCode,
    /// A session file (rollout) of Codex CLI (JSON lines).
    Codex,
    /// A session file of OLLM (RULES 34).
    Ollm,
    /// A session file of the pi coding agent (JSON lines).
    Pi,
    /// A trajectory of SWE-agent.
    SweAgent,
}

impl Format {
    /// The formats of requests to a provider.
    pub const PROVIDERS: [Format; 4] =
        [Format::Anthropic, Format::OpenAi, Format::Responses, Format::Ollama];

    /// Every format.
    pub const ALL: [Format; 9] = [
        Format::Anthropic,
        Format::OpenAi,
        Format::Responses,
        Format::Ollama,
        Format::ClaudeCode,
        Format::Codex,
        Format::Ollm,
        Format::Pi,
        Format::SweAgent,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::OpenAi => "openai",
            Format::Responses => "responses",
            Format::Ollama => "ollama",
            Format::ClaudeCode => "claude-code",
            Format::Codex => "codex",
            Format::Ollm => "ollm",
            Format::Pi => "pi",
            Format::SweAgent => "swe-agent",
        }
    }

    /// Whether it is a program's record of a conversation, not a request to a provider.
    pub fn is_recording(self) -> bool {
        !Format::PROVIDERS.contains(&self)
    }

    /// The member of a request that holds its messages.
    pub(crate) fn messages(self) -> &'static str {
        if self == Format::Responses { "input" } else { "messages" }
    }

    /// The member of a request that holds a system prompt which is no message, where there may be
    /// one.
    pub fn system(self) -> Option<&'static str> {
        match self {
            Format::Anthropic => Some("system"),
            Format::Responses => Some("instructions"),
            _ => None,
        }
    }

    /// The provider format that loses least of it: itself for a provider format.
    pub fn nearest(self) -> Format {
        match self {
            Format::Anthropic | Format::ClaudeCode | Format::Pi => Format::Anthropic,
            Format::Responses | Format::Ollama => self,
            Format::OpenAi | Format::Codex | Format::Ollm | Format::SweAgent => Format::OpenAi,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
