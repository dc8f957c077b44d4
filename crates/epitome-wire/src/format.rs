//! The formats and their names on the command line.
//!
//! Invariant: `Display` and `FromStr` are inverse to each other.

use std::fmt;
use std::str::FromStr;

use crate::WireError;

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

impl FromStr for Format {
    type Err = WireError;

    fn from_str(name: &str) -> Result<Self, WireError> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| WireError::UnknownName { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(!format.nearest().is_recording());
        }
        let error = "gemini".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("`gemini`") && error.contains("`swe-agent`"), "{error}");
    }
}
