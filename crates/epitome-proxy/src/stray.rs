//! Requests that nobody here has: whose they are, and what their clients are told.
//!
//! Invariant: pure. Nothing of such a request is sent anywhere; its answer says what to do instead.
//! Called by `route` and `handler`.

use http::{HeaderMap, Method, Uri};

use crate::api::{ApiDialect, Manner, UpstreamApi, is_of_anthropic};

/// What Google's APIs are asked to do, behind a colon.
const VERBS: [&str; 9] = [
    "batchEmbedContents",
    "batchGenerateContent",
    "countTokens",
    "embedContent",
    "generateContent",
    "predict",
    "rawPredict",
    "streamGenerateContent",
    "streamRawPredict",
];

/// The most characters of a path that are told.
const SHOWN: usize = 120;

/// Whose a path is that is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// Gemini's, or that of Vertex.
    Google,
    /// Azure's for models of OpenAI.
    Azure,
    /// Bedrock's.
    Bedrock,
    /// OpenRouter's.
    OpenRouter,
    /// Nobody knows whose; its client reads errors in this way.
    Unknown(ApiDialect),
}

impl Stray {
    /// Whether Google's APIs have this path, or their key is on its way.
    pub(crate) fn is_google(uri: &Uri, headers: &HeaderMap) -> bool {
        let path = uri.path().trim_start_matches('/');
        let plain = path.replace("%3A", ":").replace("%3a", ":");
        let verb = plain.rsplit_once(':').map_or("", |(_, verb)| verb);
        let keyed = uri.query().is_some_and(|query| {
            query.split('&').any(|pair| pair.split('=').next() == Some("key"))
        });
        VERBS.contains(&verb)
            || ["v1beta", "v1alpha", "v1internal", "v1/projects/"]
                .iter()
                .any(|it| path.starts_with(it))
            || headers.contains_key("x-goog-api-key")
            || keyed
    }

    /// Whose a path is.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let path = uri.path().trim_start_matches('/');
        match path.split_once('/').unwrap_or((path, "")) {
            _ if Self::is_google(uri, headers) => Stray::Google,
            ("openai", _) => Stray::Azure,
            ("model", _) => Stray::Bedrock,
            ("api", rest) if rest.starts_with("v1/") => Stray::OpenRouter,
            ("anthropic", _) => Stray::Unknown(ApiDialect::Messages),
            _ if is_of_anthropic(headers) => Stray::Unknown(ApiDialect::Messages),
            ("api", _) => Stray::Unknown(ApiDialect::Ollama),
            _ => Stray::Unknown(ApiDialect::Chat),
        }
    }

    /// How its client reads errors.
    pub(crate) fn manner(self) -> Manner {
        match self {
            Stray::Google => Manner::Google,
            Stray::Bedrock => Manner::Amazon,
            Stray::Azure | Stray::OpenRouter => Manner::Of(ApiDialect::Chat),
            Stray::Unknown(dialect) => Manner::Of(dialect),
        }
    }

    /// What is told of it.
    pub(crate) fn message(self, method: &Method, uri: &Uri) -> String {
        let asked = shown(method, uri);
        let upstream = |whose: &str, url: &str| {
            format!(
                "{asked} belongs to the API of {whose}, and nothing was sent on: start with \
                 `--openai-upstream {url}`, and give the client the path /to/openai/v1 of this \
                 address"
            )
        };
        match self {
            Stray::Google => not_spoken(&asked, "Gemini"),
            Stray::Bedrock => not_spoken(&asked, "Bedrock"),
            Stray::Azure => upstream("Azure", "https://NAME.openai.azure.com/openai/v1"),
            Stray::OpenRouter => upstream("OpenRouter", "https://openrouter.ai/api"),
            Stray::Unknown(_) => format!(
                "{asked} is not known here, and nothing was sent on: each upstream has all of its \
                 paths under /to/anthropic, /to/openai or /to/ollama of this address"
            ),
        }
    }
}

/// A path that several APIs have, where nobody said which of them is meant.
pub(crate) fn undecided(method: &Method, uri: &Uri, apis: &[UpstreamApi]) -> String {
    let own = apis.first().map_or("", |api| api.name());
    let ways: Vec<_> = apis.iter().map(|api| format!("/to/{}", api.name())).collect();
    format!(
        "{} may be meant for several providers, and none of them was chosen for this address: give \
         the client {} of it, or start with `--{own}-upstream URL`",
        shown(method, uri),
        ways.join(" or ")
    )
}

fn not_spoken(asked: &str, whose: &str) -> String {
    format!(
        "{asked} belongs to the API of {whose}, which Epitome does not speak, and nothing was sent \
         on: give the client the address of its provider"
    )
}

fn shown(method: &Method, uri: &Uri) -> String {
    let path = uri.path();
    format!("`{method} {}`", &path[..path.floor_char_boundary(SHOWN)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_is_told_in_its_own_words() {
        let check = |uri: &str, stray: Stray, manner: Manner, word: &str| {
            let uri: Uri = uri.parse().unwrap();
            assert_eq!(Stray::of(&uri, &HeaderMap::new()), stray, "{uri}");
            let message = stray.message(&Method::POST, &uri);
            assert_eq!(stray.manner(), manner, "{uri}");
            assert!(message.contains(word) && !message.contains("secret"), "{message}");
        };
        let chat = Manner::Of(ApiDialect::Chat);
        let gemini = "/v1beta/models/g:generateContent?key=secret";
        check(gemini, Stray::Google, Manner::Google, "the address of its provider");
        check("/model/m/converse", Stray::Bedrock, Manner::Amazon, "does not speak");
        check("/openai/v1/responses", Stray::Azure, chat, "azure.com/openai/v1`");
        check("/api/v1/chat/completions", Stray::OpenRouter, chat, "https://openrouter.ai/api`");
        let messages = ApiDialect::Messages;
        let foundry = Stray::Unknown(messages);
        check("/anthropic/v1/messages", foundry, Manner::Of(messages), "/to/anthropic");
        let ollama = Stray::Unknown(ApiDialect::Ollama);
        check("/api/else", ollama, Manner::Of(ApiDialect::Ollama), "not known here");
    }

    #[test]
    fn whoever_must_choose_is_told_between_what() {
        let told = undecided(
            &Method::GET,
            &"/v1/models".parse().unwrap(),
            &[UpstreamApi::OpenAi, UpstreamApi::Ollama],
        );
        let expected = "`GET /v1/models` may be meant for several providers, and none of them was \
            chosen for this address: give the client /to/openai or /to/ollama of it, or start with \
            `--openai-upstream URL`";
        assert_eq!(told, expected);
    }
}
