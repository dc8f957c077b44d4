//! A question by itself as a request of an API.
//!
//! Invariant: a question that extends a conversation changes nothing that its provider caches, which is
//! what the model reads: tools, system prompt, messages. How long the answer may be is none of that.
//! Called by the client.

use bytes::Bytes;
use epitome_kernel::{LiveRequest, ModelQuestion};
use epitome_wire::{parameter, scan, with_parameter};
use serde_json::{Value, json};

use crate::endpoint::ModelEndpoint;
use crate::spec::ModelApi;

/// The most that an answer may take where an API wants to be told and nobody says.
const ANSWER: u64 = 4096;

/// The body of a question. Sizes are tokens; `window` is what Ollama is told to make room for.
pub(crate) fn body(endpoint: &ModelEndpoint, ask: &ModelQuestion, window: Option<u64>) -> Bytes {
    let system = ask.system.iter().map(|text| json!({"role": "system", "content": text}));
    let user = json!({"role": "user", "content": ask.user});
    let messages: Vec<Value> = system.chain([user.clone()]).collect();
    let name = &endpoint.spec.name;
    let mut body = match endpoint.spec.api {
        ModelApi::Ollama => {
            let mut options = json!({"temperature": 0});
            set(&mut options, "num_predict", ask.max_tokens);
            set(&mut options, "num_ctx", window.or_else(|| room_for(ask)));
            json!({"model": name, "messages": messages, "stream": true, "think": false,
                   "options": options})
        }
        ModelApi::Anthropic => {
            let most = ask.max_tokens.unwrap_or(ANSWER);
            let mut body = json!({"model": name, "max_tokens": most, "messages": [user],
                                  "stream": true});
            set(&mut body, "system", ask.system.clone());
            body
        }
        ModelApi::OpenAi => {
            json!({"model": name, "messages": messages, "stream": true,
                   "stream_options": {"include_usage": true}})
        }
    };
    match endpoint.spec.api {
        ModelApi::OpenAi if endpoint.is_usual() => {
            set(&mut body, "max_completion_tokens", ask.max_tokens);
        }
        ModelApi::OpenAi => {
            // Servers of one's own take these; a summary wants no thoughts and no chance.
            set(&mut body, "max_tokens", ask.max_tokens);
            set(&mut body, "temperature", Some(0));
            set(&mut body, "chat_template_kwargs", Some(json!({"enable_thinking": false})));
        }
        ModelApi::Ollama | ModelApi::Anthropic => {}
    }
    Bytes::from(body.to_string())
}

/// The room (tokens) that Ollama makes for a model of which nobody says otherwise, and the least bytes that
/// a token of a question has.
const USUAL_ROOM: u64 = 4096;
const BYTES_OF_TOKEN: u64 = 3;

/// What Ollama is told to make room for (tokens) where it does not say what room there is: of a question
/// for which its usual room is too small it would cut the beginning in silence. `None` where that is enough.
fn room_for(ask: &ModelQuestion) -> Option<u64> {
    let bytes = ask.system.as_deref().unwrap_or_default().len() + ask.user.len();
    let most = bytes as u64 / BYTES_OF_TOKEN + ask.max_tokens.unwrap_or(ANSWER);
    // A model is loaded anew for each size: there are few of them.
    (most > USUAL_ROOM).then(|| most.next_power_of_two())
}

/// A conversation with a question behind it, said by the user. Nothing else of it changes but the bound
/// of the answer, where it states none: whoever states one may think within it, and is not refused for
/// thinking about more than may be said (Anthropic).
///
/// # Errors
///
/// When it is no request of its format, in words.
pub(crate) fn after(
    endpoint: &ModelEndpoint,
    underway: &LiveRequest,
    ask: &ModelQuestion,
) -> Result<Bytes, String> {
    let LiveRequest { request, format } = underway;
    let format = format.parse().map_err(|_| format!("`{format}` is no format"))?;
    let found = scan(request, format).map_err(|error| error.to_string())?;
    // Not as an edit would do it: that may put the question into a message which is there.
    let asked = format!(r#"{{"role":"user","content":{}}}"#, Value::from(&*ask.user));
    let comma = if found.messages.is_empty() { "" } else { "," };
    let (before, behind) = request.split_at(found.list.end.saturating_sub(1));
    let request = [before, comma.as_bytes(), asked.as_bytes(), behind].concat();
    Ok(bounded(request, endpoint, ask.max_tokens).into())
}

/// A request with the most that its answer may take, in tokens, where it states none.
fn bounded(request: Vec<u8>, endpoint: &ModelEndpoint, most: Option<u64>) -> Vec<u8> {
    let ways: &[&[&str]] = match endpoint.spec.api {
        ModelApi::Ollama => &[&["options", "num_predict"]],
        ModelApi::Anthropic => &[&["max_tokens"]],
        ModelApi::OpenAi if endpoint.is_usual() => &[&["max_completion_tokens"], &["max_tokens"]],
        ModelApi::OpenAi => &[&["max_tokens"], &["max_completion_tokens"]],
    };
    let is_stated = ways.iter().any(|path| parameter(&request, path).is_some());
    let most = most.filter(|_| !is_stated);
    let bounded =
        most.zip(ways.first()).and_then(|(most, path)| with_parameter(&request, path, most));
    bounded.unwrap_or(request)
}

/// A conversation that begins: the system prompt, and no message yet.
pub(crate) fn opening(
    endpoint: &ModelEndpoint,
    system: Option<&str>,
    window: Option<u64>,
) -> Bytes {
    let name = &endpoint.spec.name;
    let first = system.map(|text| json!([{"role": "system", "content": text}]));
    let messages = first.unwrap_or_else(|| json!([]));
    let mut body = json!({"model": name, "messages": messages, "stream": true});
    match endpoint.spec.api {
        ModelApi::Ollama => {
            set(&mut body, "options", window.map(|window| json!({"num_ctx": window})));
        }
        ModelApi::OpenAi => {
            set(&mut body, "stream_options", Some(json!({"include_usage": true})));
        }
        ModelApi::Anthropic => {
            set(&mut body, "max_tokens", Some(ANSWER));
            set(&mut body, "messages", Some(json!([])));
            set(&mut body, "system", system);
        }
    }
    Bytes::from(body.to_string())
}

fn set(into: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(members), Some(value)) = (into, value) {
        members.insert(key.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(spec: &str) -> ModelEndpoint {
        let key = |name: &str| name.ends_with("_API_KEY").then(|| "k".to_owned());
        ModelEndpoint::of(spec.parse().unwrap(), key).unwrap()
    }

    #[test]
    fn a_conversation_begins_with_its_system_prompt() {
        let check = |spec: &str, expected: Value| {
            let body = opening(&endpoint(spec), Some("Be brief."), Some(4096));
            assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
        };
        let system = json!([{"role": "system", "content": "Be brief."}]);
        check(
            "ollama:l",
            json!({"model": "l", "messages": system, "stream": true, "options": {"num_ctx": 4096}}),
        );
        check(
            "openai:g",
            json!({"model": "g", "messages": system, "stream": true,
                   "stream_options": {"include_usage": true}}),
        );
        check(
            "anthropic:c",
            json!({"model": "c", "messages": [], "stream": true, "max_tokens": 4096,
                   "system": "Be brief."}),
        );
    }

    #[track_caller]
    fn check(spec: &str, expected: Value) {
        let ask = ModelQuestion {
            id: "q".into(),
            system: Some("Be brief.".into()),
            user: "Why?".into(),
            max_tokens: Some(9),
            ..ModelQuestion::default()
        };
        let body = body(&endpoint(spec), &ask, Some(4096));
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    }

    /// A request with a question behind it.
    fn asked(spec: &str, request: &str) -> Result<String, String> {
        let endpoint = endpoint(spec);
        let format = endpoint.spec.api.format().name().to_owned();
        let underway = LiveRequest { request: request.as_bytes().into(), format };
        let (user, max_tokens) = ("So?".to_owned(), Some(9));
        let ask = ModelQuestion { user, max_tokens, ..ModelQuestion::default() };
        let bytes = after(&endpoint, &underway, &ask)?;
        Ok(String::from_utf8(bytes.to_vec()).unwrap())
    }

    const ASKED: &str = r#"{"role":"user","content":"So?"}"#;

    #[test]
    fn a_question_behind_a_conversation_changes_nothing_of_it() {
        let check = |messages: &str, expected: &str| {
            let with =
                |messages| format!(r#"{{"model":"m", "messages": [{messages}] , "max_tokens":1}}"#);
            assert_eq!(asked("openai:m", &with(messages)).unwrap(), with(expected));
        };
        check("", ASKED);
        let said = r#"{"content": "Hi",  "role":"user"}"#;
        check(said, &format!("{said},{ASKED}"));
        assert!(asked("openai:m", "[").is_err());
    }

    /// What the conversation states stays; where it says nothing the answer has its bound, beside
    /// what the provider caches.
    #[test]
    fn an_answer_behind_a_conversation_is_bounded() {
        let check = |spec: &str, states: &str, expected: &str| {
            let with =
                |messages, behind| format!(r#"{{"model":"m","messages":[{messages}]{behind}}}"#);
            assert_eq!(asked(spec, &with("", states)).unwrap(), with(ASKED, expected));
        };
        let own = "openai:m@http://127.0.0.1:1/v1";
        check(own, "", r#","max_tokens":9"#);
        check("openai:m", "", r#","max_completion_tokens":9"#);
        for key in ["max_tokens", "max_completion_tokens"] {
            let states = format!(r#","{key}":4000"#);
            check(own, &states, &states);
            check("openai:m", &states, &states);
        }
        let states = r#","max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":9000}"#;
        check("anthropic:m", states, states);
        check("ollama:m", "", r#","options":{"num_predict":9}"#);
        let bounded = r#","options":{"num_ctx":8192,"num_predict":9}"#;
        check("ollama:m", r#","options":{"num_ctx":8192}"#, bounded);
        let states = r#","options":{"num_predict":-1}"#;
        check("ollama:m", states, states);
    }

    #[test]
    fn each_api_is_asked_in_its_own_way() {
        let system = json!({"role": "system", "content": "Be brief."});
        let user = json!({"role": "user", "content": "Why?"});
        check(
            "ollama:l",
            json!({"model": "l", "messages": [system, user], "stream": true, "think": false,
                   "options": {"temperature": 0, "num_predict": 9, "num_ctx": 4096}}),
        );
        check(
            "anthropic:c",
            json!({"model": "c", "max_tokens": 9, "messages": [user], "stream": true,
                   "system": "Be brief."}),
        );
        check(
            "openai:g",
            json!({"model": "g", "messages": [system, user], "stream": true,
                   "stream_options": {"include_usage": true}, "max_completion_tokens": 9}),
        );
        check(
            "openai:q@http://127.0.0.1:1/v1",
            json!({"model": "q", "messages": [system, user], "stream": true,
                   "stream_options": {"include_usage": true}, "max_tokens": 9, "temperature": 0,
                   "chat_template_kwargs": {"enable_thinking": false}}),
        );
    }
}
