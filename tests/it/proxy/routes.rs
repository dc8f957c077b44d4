//! Requests reach the provider that was chosen for the address they came in at, and no other.

use epitome_upstream::{Script, Upstream};

use super::faults::eventually;
use super::http::Ask;
use super::serving::Serving;

/// A conversation.
const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

/// What clients of other APIs ask: Gemini's, Vertex', Azure's, Bedrock's, OpenRouter's.
const STRAYS: [&str; 9] = [
    "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    "/v1beta/models/gemini-2.5-pro:generateContent?key=secret",
    "/v1internal:streamGenerateContent",
    "/v1/projects/p/locations/l/publishers/google/models/g:generateContent",
    "/openai/deployments/gpt/chat/completions?api-version=2025-01-01",
    "/openai/v1/chat/completions",
    "/model/anthropic.claude-sonnet-4-5/invoke-with-response-stream",
    "/api/v1/chat/completions",
    "/v1/anything",
];

/// The path of the address that the program says a client is to be told.
fn told(serving: &Serving, variable: &str) -> String {
    let begins = format!("{variable}=http://");
    eventually("it says how clients reach it", || serving.said().contains(&begins));
    let said = serving.said();
    let (_, after) = said.split_once(&begins).unwrap();
    let address = after.split([',', ';']).next().unwrap();
    address.find('/').map(|at| address[at..].to_owned()).unwrap_or_default()
}

#[test]
fn what_a_client_of_ollama_asks_goes_to_ollama() {
    let ollama = Upstream::start(Script::default()).unwrap();
    let url = ollama.url();
    let serving = Serving::start(Script::default(), &["--ollama-upstream", &url]);
    let path = format!("{}/v1/chat/completions", told(&serving, "OLLAMA_HOST"));
    let answer = serving.send(Ask::post(&path, CHAT));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!((ollama.prompts().len(), serving.upstream.prompts().len()), (1, 0));
    let models =
        serving.send(Ask::new("GET", &format!("{}/v1/models", told(&serving, "OLLAMA_HOST"))));
    assert_eq!(models.status, 200);
    assert!(serving.upstream.records().is_empty());
    // The addresses of the others lead to theirs.
    let openai = format!("{}/chat/completions", told(&serving, "OPENAI_BASE_URL"));
    assert_eq!(serving.send(Ask::post(&openai, CHAT)).status, 200);
    let anthropic = format!("{}/v1/messages", told(&serving, "ANTHROPIC_BASE_URL"));
    let body = CHAT.replacen('{', r#"{"max_tokens":9,"#, 1);
    let asked = Ask::post(&anthropic, body).header("anthropic-version", "2023-06-01");
    assert_eq!(serving.send(asked).status, 200);
    assert_eq!((ollama.prompts().len(), serving.upstream.prompts().len()), (1, 2));
}

#[test]
fn what_nobody_was_chosen_for_reaches_nobody() {
    let serving = Serving::start(Script::default(), &[]);
    for path in STRAYS {
        let answer = serving.send(Ask::post(path, CHAT));
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        let logged = path.split('?').next().unwrap();
        eventually("it stands in the log", || serving.said().contains(logged));
        assert!(!serving.said().contains("secret"), "{path}");
    }
    let head = serving.send(Ask::new("HEAD", "/"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(serving.upstream.records().is_empty(), "{:?}", serving.upstream.records());
}

#[test]
fn no_web_page_spends_what_the_user_pays() {
    let serving = Serving::start(Script::default(), &[]);
    for (name, value) in [
        ("host", "rebound.example"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
    ] {
        for path in
            ["/v1/messages", "/v1/chat/completions", "/api/chat", "/to/openai/v1/files", "/x"]
        {
            let mut ask = Ask::new("POST", path).header("content-type", "text/plain");
            ask.body = CHAT.into();
            let answer = serving.send(ask.header(name, value));
            assert_eq!(answer.status, 403, "{path} {name}: {}", answer.text());
        }
    }
    assert!(serving.upstream.records().is_empty());
    assert_eq!(serving.sessions().len(), 0);
}

#[test]
fn the_only_default_that_is_left_takes_nothing_of_others() {
    let serving = Serving::start_as_told(&["--anthropic-upstream", "", "--ollama-upstream", ""]);
    for path in ["/v1/messages", "/v1/chat/completions", "/api/chat"] {
        let answer = serving.send(Ask::post(path, CHAT));
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
}
