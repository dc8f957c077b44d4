//! How large a prompt may be, as somebody states it, and who says so (RULES 31).
//!
//! Invariant: plain data. Stated by profiles and hosts, worked out where a prompt is held to it.

use std::fmt;

use serde::Serialize;

/// How large a prompt the provider takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WindowSetting {
    /// The profile's guess for the format; it is never enforced, only aimed at (RULES 31).
    #[default]
    Guessed,
    /// The context size chosen, in tokens, of which the prompt may take the profile's share.
    Size(u64),
    /// The provider's limit as it is, in tokens.
    Limit(u64),
}

/// A limit, and who says so (RULES 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PromptLimit {
    /// The largest prompt, in tokens.
    pub limit: u64,
    /// Who says so.
    pub source: LimitSource,
}

impl PromptLimit {
    /// What a request says itself of the size of its context, in tokens (Ollama's `num_ctx`);
    /// whoever configured another outranks it.
    pub fn of_request(context_size: Option<u64>) -> Option<Self> {
        let limit = context_size.filter(|size| *size > 0)?;
        Some(Self { limit, source: LimitSource::Request })
    }
}

/// Who says how large a prompt a provider takes, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitSource {
    /// Whoever configured it or set a flag.
    User,
    /// The request itself, or a header with it.
    Request,
    /// The server, asked for it.
    Probe,
    /// The provider, when it refused a prompt.
    Learned,
    /// The model table, by the model's name; a guess.
    Table,
    /// Nobody; a guess by the API.
    Default,
}

impl LimitSource {
    /// Whether it is more than a guess: a guess is aimed at, and never enforced before the provider
    /// refused a prompt.
    pub fn is_stated(self) -> bool {
        !matches!(self, Self::Table | Self::Default)
    }
}

impl fmt::Display for LimitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "stated by the user",
            Self::Request => "stated by the request",
            Self::Probe => "told by the server",
            Self::Learned => "learned from a refusal",
            Self::Table => "guessed by the model table",
            Self::Default => "guessed by the API",
        })
    }
}

impl WindowSetting {
    /// The context size, where one was chosen.
    pub fn size(self) -> Option<u64> {
        match self {
            WindowSetting::Size(size) => Some(size),
            WindowSetting::Guessed | WindowSetting::Limit(_) => None,
        }
    }
}
