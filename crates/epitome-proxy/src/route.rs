//! Where a request goes: which API it speaks, and what is to be done with it.
//!
//! Invariant: pure, and decided by method, path and header names alone, so that a body never
//! chooses who is shown a credential. Called by the server, once per request.

use epitome::Format;
use http::{HeaderMap, Method};

/// An API, and with it the upstream that may see a request's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Api {
    /// Anthropic's.
    Anthropic,
    /// OpenAI's, and what is compatible with it.
    OpenAi,
    /// Ollama's.
    Ollama,
}

impl Api {
    /// Its name, as the settings spell it.
    pub fn name(self) -> &'static str {
        match self {
            Api::Anthropic => "anthropic",
            Api::OpenAi => "openai",
            Api::Ollama => "ollama",
        }
    }
}

/// How a conversation and its answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Ollama's `/api/chat`.
    Ollama,
}

impl Dialect {
    /// The format of its conversations.
    pub(crate) fn format(self) -> Format {
        match self {
            Dialect::Messages => Format::Anthropic,
            Dialect::Chat => Format::OpenAi,
            Dialect::Responses => Format::Responses,
            Dialect::Ollama => Format::Ollama,
        }
    }

    /// How errors are worded for a client of an API that asked for something else.
    pub(crate) fn of(api: Api) -> Self {
        match api {
            Api::Anthropic => Dialect::Messages,
            Api::OpenAi => Dialect::Chat,
            Api::Ollama => Dialect::Ollama,
        }
    }
}

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// It holds a conversation for the model to go on with.
    Prompt,
    /// It asks how large a conversation is.
    Count,
    /// It passes through untouched.
    Pass,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) api: Api,
    pub(crate) dialect: Dialect,
    pub(crate) task: Task,
}

/// Finds the way of a request. A slash more or less in its path makes no other request of it.
pub(crate) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Route {
    let path = path.trim_end_matches('/');
    let path = if path.starts_with("//") { path.trim_start_matches('/') } else { path };
    let path = path.strip_prefix('/').unwrap_or(path);
    let known = match path {
        "v1/messages" => Some((Api::Anthropic, Dialect::Messages, Task::Prompt)),
        "v1/messages/count_tokens" => Some((Api::Anthropic, Dialect::Messages, Task::Count)),
        "v1/chat/completions" | "chat/completions" => {
            Some((Api::OpenAi, Dialect::Chat, Task::Prompt))
        }
        "v1/responses" | "responses" => Some((Api::OpenAi, Dialect::Responses, Task::Prompt)),
        "api/chat" => Some((Api::Ollama, Dialect::Ollama, Task::Prompt)),
        _ => None,
    };
    match known {
        Some((api, dialect, task)) if method == Method::POST => Route { api, dialect, task },
        Some((api, dialect, _)) => Route { api, dialect, task: Task::Pass },
        None => {
            let api = owner(path, headers);
            Route { api, dialect: Dialect::of(api), task: Task::Pass }
        }
    }
}

/// The API that a request belongs to which is not known by its path.
fn owner(path: &str, headers: &HeaderMap) -> Api {
    let under = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let own = ["anthropic-version", "x-api-key"];
    if under("v1/messages") || own.iter().any(|name| headers.contains_key(*name)) {
        Api::Anthropic
    } else if under("api") {
        Api::Ollama
    } else {
        Api::OpenAi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: &str, header: Option<&'static str>, api: Api, dialect: Dialect, task: Task) {
        let (method, path) = request.split_once(' ').unwrap();
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(name, "2023-06-01".parse().unwrap());
        }
        let found = route(&method.parse().unwrap(), path, &headers);
        assert_eq!(found, Route { api, dialect, task }, "{request} {header:?}");
    }

    #[test]
    fn conversations_are_known_by_their_path() {
        use Task::Prompt;
        check("POST /v1/messages", None, Api::Anthropic, Dialect::Messages, Prompt);
        check("POST //v1/messages/", None, Api::Anthropic, Dialect::Messages, Prompt);
        check("POST /v1/chat/completions", None, Api::OpenAi, Dialect::Chat, Prompt);
        check("POST /chat/completions", None, Api::OpenAi, Dialect::Chat, Prompt);
        check("POST /v1/responses", None, Api::OpenAi, Dialect::Responses, Prompt);
        check("POST /responses", None, Api::OpenAi, Dialect::Responses, Prompt);
        check("POST /api/chat", None, Api::Ollama, Dialect::Ollama, Prompt);
        let count = "POST /v1/messages/count_tokens";
        check(count, None, Api::Anthropic, Dialect::Messages, Task::Count);
    }

    #[test]
    fn all_else_passes_to_the_api_that_it_names() {
        let version = Some("anthropic-version");
        use Task::Pass;
        check("HEAD /", None, Api::OpenAi, Dialect::Chat, Pass);
        check("GET /v1/models", None, Api::OpenAi, Dialect::Chat, Pass);
        check("GET /v1/models", version, Api::Anthropic, Dialect::Messages, Pass);
        check("HEAD /", Some("x-api-key"), Api::Anthropic, Dialect::Messages, Pass);
        check("POST /v1/messages/batches", None, Api::Anthropic, Dialect::Messages, Pass);
        check("GET /v1/messages", None, Api::Anthropic, Dialect::Messages, Pass);
        check("GET /v1/responses", None, Api::OpenAi, Dialect::Responses, Pass);
        check("GET /v1/responses/resp_1", None, Api::OpenAi, Dialect::Chat, Pass);
        check("GET /api/tags", None, Api::Ollama, Dialect::Ollama, Pass);
        check("GET /apiary", None, Api::OpenAi, Dialect::Chat, Pass);
        check("POST /v1/messagesx", None, Api::OpenAi, Dialect::Chat, Pass);
    }
}
