//! Where a request goes: which address it came in at, which API it speaks, and what is to be done
//! with it.
//!
//! Each upstream has an address of its own, `/to/NAME`, behind which all paths are its. At the bare
//! address paths are known by the tables here; what stands in none of them goes nowhere.
//!
//! Invariant: pure, and decided by method, path and header names alone, so that a body never
//! chooses who is shown a credential. Called by `handler`, once per request.

use http::{HeaderMap, Method, Uri};

use crate::api::{ApiDialect, Manner, UpstreamApi, is_of_anthropic};
use crate::stray::Stray;

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteTask {
    /// It holds a conversation for the model to go on with.
    Prompt,
    /// It asks how large a conversation is.
    Count,
    /// It passes through untouched.
    Pass,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestRoute {
    /// The API whose upstream it goes to.
    pub(crate) api: UpstreamApi,
    pub(crate) dialect: ApiDialect,
    pub(crate) task: RouteTask,
}

/// A path that is known at the bare address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// The APIs that have it, its own one first.
    pub(crate) apis: &'static [UpstreamApi],
    pub(crate) dialect: ApiDialect,
    pub(crate) task: RouteTask,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Whether somebody is here.
    Alive,
    /// Something of the one upstream that has this address.
    Of(RequestRoute),
    /// Something of an API, at the bare address.
    Bare(Known),
    /// Something that nobody here has.
    Stray(Stray),
}

impl Asked {
    /// How a fault is worded for whoever asks.
    pub(crate) fn manner(self) -> Manner {
        match self {
            Asked::Alive => Manner::Of(ApiDialect::Chat),
            Asked::Of(RequestRoute { dialect, .. }) | Asked::Bare(Known { dialect, .. }) => {
                Manner::Of(dialect)
            }
            Asked::Stray(stray) => stray.manner(),
        }
    }
}

/// The folder of the addresses that belong to one upstream each. Providers have paths such as
/// `/openai/v1` of their own, so their names alone would not do.
const ADDRESSES: &str = "to";

/// Who has the paths of Anthropic's conversations.
const MESSAGES: &[UpstreamApi] = &[UpstreamApi::Anthropic, UpstreamApi::Ollama];
/// Who has the paths of OpenAI's API.
const COMPATIBLE: &[UpstreamApi] = &[UpstreamApi::OpenAi, UpstreamApi::Ollama];

/// What stands under `v1` of OpenAI's API.
const OPENAI: [&str; 22] = [
    "assistants",
    "audio",
    "batches",
    "chat",
    "completions",
    "containers",
    "conversations",
    "embeddings",
    "evals",
    "files",
    "fine_tuning",
    "images",
    "models",
    "moderations",
    "organization",
    "realtime",
    "responses",
    "skills",
    "threads",
    "uploads",
    "vector_stores",
    "videos",
];

/// What stands under `v1` of Anthropic's API, beside its conversations.
const ANTHROPIC: [&str; 5] = ["complete", "files", "models", "organizations", "skills"];

/// What stands under `api` of Ollama's.
const OLLAMA: [&str; 17] = [
    "blobs",
    "chat",
    "copy",
    "create",
    "delete",
    "embed",
    "embeddings",
    "generate",
    "me",
    "ps",
    "pull",
    "push",
    "show",
    "signout",
    "status",
    "tags",
    "version",
];

/// What is left of an address behind its first folder, where that is the right one.
pub(crate) fn behind(uri: &Uri, is_right: impl Fn(&str) -> bool) -> Option<Uri> {
    let path = uri.path().trim_start_matches('/');
    let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
    if !is_right(first) {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("/{}{query}", rest.trim_start_matches('/')).parse().ok()
}

/// The upstream that an address belongs to, and what is asked of it.
pub(crate) fn addressed(uri: &Uri) -> Option<(UpstreamApi, Uri)> {
    let inner = behind(uri, |first| first == ADDRESSES)?;
    let all = [UpstreamApi::Anthropic, UpstreamApi::OpenAi, UpstreamApi::Ollama];
    all.into_iter().find_map(|api| Some((api, behind(&inner, |first| first == api.name())?)))
}

/// Finds out what a request asks for, of one upstream or at the bare address. A slash more or less
/// in its path makes no other request of it.
pub(crate) fn asked(
    of: Option<UpstreamApi>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Asked {
    let path = uri.path().trim_matches('/');
    let probes = match of {
        Some(_) => *method == Method::HEAD,
        None => [Method::HEAD, Method::GET].contains(method),
    };
    if path.is_empty() && probes {
        return Asked::Alive;
    }
    let talk = conversation(path);
    let task = |task| if *method == Method::POST { task } else { RouteTask::Pass };
    match (of, talk) {
        (Some(api), Some((dialect, asked))) => {
            Asked::Of(RequestRoute { api, dialect, task: task(asked) })
        }
        (Some(api), None) => {
            Asked::Of(RequestRoute { api, dialect: ApiDialect::of(api), task: RouteTask::Pass })
        }
        (None, Some((dialect, asked))) => {
            let apis = match dialect {
                ApiDialect::Messages => MESSAGES,
                ApiDialect::Chat | ApiDialect::Responses => COMPATIBLE,
                ApiDialect::Ollama => &[UpstreamApi::Ollama],
            };
            Asked::Bare(Known { apis, dialect, task: task(asked) })
        }
        (None, None) => match passing(path, headers).filter(|_| !Stray::is_google(uri, headers)) {
            Some(apis) => {
                let dialect = ApiDialect::of(apis[0]);
                Asked::Bare(Known { apis, dialect, task: RouteTask::Pass })
            }
            None => Asked::Stray(Stray::of(uri, headers)),
        },
    }
}

/// A path that conversations are posted to.
fn conversation(path: &str) -> Option<(ApiDialect, RouteTask)> {
    Some(match path {
        "v1/messages" => (ApiDialect::Messages, RouteTask::Prompt),
        "v1/messages/count_tokens" => (ApiDialect::Messages, RouteTask::Count),
        "v1/chat/completions" | "chat/completions" => (ApiDialect::Chat, RouteTask::Prompt),
        "v1/responses" | "responses" => (ApiDialect::Responses, RouteTask::Prompt),
        "api/chat" => (ApiDialect::Ollama, RouteTask::Prompt),
        _ => return None,
    })
}

/// Who has any other path that is known.
fn passing(path: &str, headers: &HeaderMap) -> Option<&'static [UpstreamApi]> {
    let is_anthropic = is_of_anthropic(headers);
    let first = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    // Other services have longer paths that begin alike (`models/chat/completions`).
    let is_short = |path: &str, most: usize| path.split('/').count() <= most;
    match (path.strip_prefix("v1/"), path.strip_prefix("api/")) {
        (Some(rest), _) if rest.starts_with("messages/") || rest == "complete" => Some(MESSAGES),
        (Some(rest), _) if is_anthropic && ANTHROPIC.contains(&&*first(rest)) => {
            Some(&[UpstreamApi::Anthropic])
        }
        (_, Some(rest)) => {
            let most = if first(rest) == "blobs" { 2 } else { 1 };
            let is_ollamas = OLLAMA.contains(&&*first(rest)) && is_short(rest, most);
            is_ollamas.then_some(&[UpstreamApi::Ollama])
        }
        (Some(rest), _) => OPENAI.contains(&&*first(rest)).then_some(COMPATIBLE),
        (None, _) => {
            let is_openais = OPENAI.contains(&&*first(path)) && is_short(path, 2);
            is_openais.then_some(COMPATIBLE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(request: &str, header: Option<&'static str>) -> (Asked, String) {
        let (method, uri) = request.split_once(' ').unwrap();
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(name, "2023-06-01".parse().unwrap());
        }
        let uri: Uri = uri.parse().unwrap();
        let (of, uri) = match addressed(&uri) {
            Some((api, inner)) => (Some(api), inner),
            None => (None, uri),
        };
        (asked(of, &method.parse().unwrap(), &uri, &headers), uri.to_string())
    }

    #[track_caller]
    fn check(request: &str, apis: &'static [UpstreamApi], dialect: ApiDialect, task: RouteTask) {
        let (asked, _) = found(request, None);
        assert_eq!(asked, Asked::Bare(Known { apis, dialect, task }), "{request}");
    }

    #[track_caller]
    fn check_addressed(request: &str, route: (UpstreamApi, ApiDialect, RouteTask), inner: &str) {
        let (api, dialect, task) = route;
        let expected = (Asked::Of(RequestRoute { api, dialect, task }), inner.to_owned());
        assert_eq!(found(request, None), expected, "{request}");
    }

    #[test]
    fn conversations_are_known_by_their_path() {
        use RouteTask::Prompt;
        check("POST /v1/messages", MESSAGES, ApiDialect::Messages, Prompt);
        check("POST //v1/messages/", MESSAGES, ApiDialect::Messages, Prompt);
        check("POST /v1/chat/completions", COMPATIBLE, ApiDialect::Chat, Prompt);
        check("POST /chat/completions", COMPATIBLE, ApiDialect::Chat, Prompt);
        check("POST /v1/responses", COMPATIBLE, ApiDialect::Responses, Prompt);
        check("POST /responses", COMPATIBLE, ApiDialect::Responses, Prompt);
        check("POST /api/chat", &[UpstreamApi::Ollama], ApiDialect::Ollama, Prompt);
        let count = "POST /v1/messages/count_tokens";
        check(count, MESSAGES, ApiDialect::Messages, RouteTask::Count);
    }

    #[test]
    fn known_paths_pass_to_those_who_have_them() {
        use RouteTask::Pass;
        check("GET /v1/models", COMPATIBLE, ApiDialect::Chat, Pass);
        check("POST /v1/embeddings?x=1", COMPATIBLE, ApiDialect::Chat, Pass);
        check("POST /v1/messages/batches", MESSAGES, ApiDialect::Messages, Pass);
        check("GET /v1/messages", MESSAGES, ApiDialect::Messages, Pass);
        check("GET /v1/responses/resp_1", COMPATIBLE, ApiDialect::Chat, Pass);
        check("GET /api/tags", &[UpstreamApi::Ollama], ApiDialect::Ollama, Pass);
        for header in ["anthropic-version", "x-api-key"] {
            let Asked::Bare(known) = found("GET /v1/models", Some(header)).0 else { panic!() };
            assert_eq!(
                (known.apis, known.dialect),
                (&[UpstreamApi::Anthropic][..], ApiDialect::Messages)
            );
        }
    }

    #[test]
    fn an_address_of_one_upstream_has_all_of_its_paths() {
        use RouteTask::{Pass, Prompt};
        let chat = (UpstreamApi::Ollama, ApiDialect::Chat, Prompt);
        check_addressed("POST /to/ollama/v1/chat/completions", chat, "/v1/chat/completions");
        let messages = (UpstreamApi::OpenAi, ApiDialect::Messages, Prompt);
        check_addressed("POST //to/openai//v1/messages?beta", messages, "/v1/messages?beta");
        let pass = (UpstreamApi::OpenAi, ApiDialect::Chat, Pass);
        let azure = "/deployments/d/chat/completions?api-version=1";
        check_addressed(&format!("POST /to/openai{azure}"), pass, azure);
        check_addressed("GET /to/openai", pass, "/");
        check_addressed(
            "GET /to/anthropic/x",
            (UpstreamApi::Anthropic, ApiDialect::Messages, Pass),
            "/x",
        );
    }

    #[test]
    fn whoever_asks_whether_somebody_is_here_is_told() {
        for request in ["HEAD /", "GET /", "HEAD /to/anthropic", "HEAD /to/ollama/"] {
            assert_eq!(found(request, None).0, Asked::Alive, "{request}");
        }
    }

    #[test]
    fn what_is_not_known_goes_nowhere() {
        for request in [
            "POST /",
            "POST /v1",
            "POST /v1/messagesx",
            "PATCH /v1/anything",
            "GET /apiary",
            "GET /to/nobody/v1/models",
            "POST /openai/v1/chat/completions",
            "POST /openai/deployments/d/chat/completions?api-version=1",
            "POST /anthropic/v1/messages",
            "POST /api/v1/chat/completions",
            "POST /api/v1/messages",
            "POST /model/anthropic.claude/invoke",
            "POST /models/chat/completions?api-version=1",
            "POST /api/generate/v1/chat/completions",
            "POST /v1/models/g%3AgenerateContent",
            "POST /v1beta/models/g:streamGenerateContent?alt=sse",
            "POST /v1/models/g:generateContent",
            "GET /v1/models?key=k",
            "POST /v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
            "POST /v1internal:streamGenerateContent",
        ] {
            assert!(matches!(found(request, None).0, Asked::Stray(_)), "{request}");
        }
        let google = found("GET /v1/models", Some("x-goog-api-key")).0;
        assert_eq!(google, Asked::Stray(Stray::Google));
    }
}
