//! A refusal, before an API words it.
//!
//! Invariant: it holds all that any API says of one, so that each words it without asking why. Made by
//! `rules` and `api`, sent by `server`.

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
