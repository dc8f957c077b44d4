//! Answers, in the words of each API.
//!
//! Invariant: what is answered is decided before it is worded: each module only writes a `Reply`
//! or a `Refusal`, whole or as the events of a stream. Called by `server`.

use serde_json::{Value, json};

use crate::cache::Usage;
use crate::refusal::Refusal;

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod ollama;
pub(crate) mod responses;

/// The API that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Ollama's chat.
    Ollama,
}

/// What the model says, in no API's words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// The number of the request, for ids.
    pub(crate) number: u64,
    pub(crate) model: Value,
    pub(crate) thinking: Option<Thought>,
    pub(crate) text: String,
    pub(crate) calls: Vec<Called>,
    pub(crate) usage: Usage,
    /// What of the request was dropped, where anything was.
    pub(crate) transformed: Value,
}

/// What was thought, signed.
#[derive(Debug, Clone)]
pub(crate) struct Thought {
    pub(crate) text: String,
    pub(crate) signature: String,
}

/// One call, as it is given out.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    /// The id without the API's prefix.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) takes: Takes,
}

/// How a request declares a tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Takes {
    /// Whether it takes a bare text (Responses).
    pub(crate) custom: bool,
    /// The name under which it stands with others (Responses: the tools of an MCP server).
    pub(crate) namespace: Option<String>,
}

impl Called {
    /// The arguments as the text that OpenAI sends.
    pub(crate) fn arguments(&self) -> String {
        self.input.as_str().map_or_else(|| self.input.to_string(), str::to_owned)
    }
}

impl Api {
    /// The API of a path, if it takes prompts.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let ends = [
            ("/messages", Self::Anthropic),
            ("/chat/completions", Self::Chat),
            ("/responses", Self::Responses),
            ("/api/chat", Self::Ollama),
        ];
        ends.iter().find(|(end, _)| path.ends_with(end)).map(|(_, api)| *api)
    }

    /// Whether a request asks for a stream.
    pub(crate) fn streams(self, body: &Value) -> bool {
        body["stream"].as_bool().unwrap_or(self == Self::Ollama)
    }

    /// The media type of its streams.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream; charset=utf-8",
        }
    }

    /// A whole answer.
    pub(crate) fn whole(self, reply: &Reply) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(reply),
            Self::Chat => chat::whole(reply),
            Self::Responses => responses::whole(reply),
            Self::Ollama => ollama::whole(reply),
        }
    }

    /// The events of a stream, each as it goes over the wire.
    pub(crate) fn events(self, reply: &Reply, body: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::events(reply),
            Self::Chat => chat::events(reply, body),
            Self::Responses => responses::events(reply),
            Self::Ollama => ollama::events(reply),
        }
    }

    /// A keep-alive between two events, where the API has one.
    pub(crate) fn ping(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
            Self::Chat | Self::Responses => Some(": keep-alive\n\n"),
            Self::Ollama => None,
        }
    }

    /// An error in the middle of a stream.
    pub(crate) fn error_event(self, refusal: &Refusal) -> String {
        match self {
            Self::Anthropic => named("error", &self.error(refusal)),
            Self::Chat => format!("data: {}\n\n", self.error(refusal)),
            Self::Responses => named(
                "error",
                &json!({"type": "error", "code": refusal.code, "message": refusal.message,
                    "param": refusal.param, "sequence_number": 0}),
            ),
            Self::Ollama => format!("{}\n", self.error(refusal)),
        }
    }

    /// The body of an error.
    pub(crate) fn error(self, refusal: &Refusal) -> Value {
        match self {
            Self::Anthropic => json!({"type": "error",
                "error": {"type": refusal.kind, "message": refusal.message},
                "request_id": "req_upstream"}),
            Self::Chat | Self::Responses => json!({"error": {"message": refusal.message,
                "type": refusal.kind, "param": refusal.param, "code": refusal.code}}),
            Self::Ollama => json!({"error": refusal.message}),
        }
    }

    /// A prompt that is longer than the window.
    pub(crate) fn too_long(self, tokens: u64, limit: u64) -> Refusal {
        match self {
            Self::Anthropic => {
                Refusal::new(format!("prompt is too long: {tokens} tokens > {limit} maximum"))
            }
            Self::Chat => Refusal::new(format!(
                "This model's maximum context length is {limit} tokens. However, your messages \
                 resulted in {tokens} tokens. Please reduce the length of the messages."
            ))
            .at("messages")
            .coded("context_length_exceeded"),
            Self::Responses => Refusal::new(
                "Your input exceeds the context window of this model. Please adjust your input and \
                 try again.",
            )
            .at("input")
            .coded("context_length_exceeded"),
            Self::Ollama => Refusal::new("the input length exceeds the context length"),
        }
    }

    /// An error that has nothing to do with what was asked.
    pub(crate) fn failure(self, status: u16) -> Refusal {
        let (kind, openai, message) = match status {
            400 => ("invalid_request_error", "invalid_request_error", "scripted failure"),
            401 => ("authentication_error", "invalid_request_error", "invalid x-api-key"),
            403 => ("permission_error", "invalid_request_error", "not allowed"),
            404 => ("not_found_error", "invalid_request_error", "no such model"),
            413 => {
                ("request_too_large", "invalid_request_error", "Request exceeds the maximum size")
            }
            429 => ("rate_limit_error", "requests", "Rate limit reached"),
            529 => ("overloaded_error", "server_error", "Overloaded"),
            _ => ("api_error", "server_error", "Internal server error"),
        };
        let kind = if self == Self::Anthropic { kind } else { openai };
        let code = match status {
            401 => Some("invalid_api_key"),
            429 => Some("rate_limit_exceeded"),
            _ => None,
        };
        Refusal { status, kind, code, param: None, message: message.to_owned() }
    }
}

/// A named event of a stream.
pub(crate) fn named(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A text in pieces of about so many characters, as deltas come.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// The size of most deltas, in characters.
pub(crate) const PIECE: usize = 9;
