//! Calls of a scripted provider: three APIs, faults, deadlines, cassettes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use epitome_kernel::{LanguageModel, LiveRequest, ModelQuestion};
use epitome_model::{
    CassettePlayer, CassetteRecorder, ClientTimeouts, HttpTransport, ModelClient, ModelEndpoint,
    ModelFailure, Transport,
};
use epitome_upstream::{Fault, Script, Turn, Upstream};
use serde_json::{Value, json};

/// The three APIs, each with the path that its base has besides.
const APIS: [(&str, &str); 3] = [("ollama", ""), ("openai", "/v1"), ("anthropic", "")];

fn saying(text: &str) -> Script {
    Script { turns: vec![Turn { text: text.to_owned(), ..Turn::default() }], ..Script::default() }
}

fn failing(faults: &[Fault]) -> Script {
    Script { faults: faults.to_vec(), ..saying("well") }
}

fn endpoint(api: &str, base: &str) -> ModelEndpoint {
    ModelEndpoint::of(format!("{api}:m@{base}").parse().unwrap(), |_| None).unwrap()
}

fn quick() -> ClientTimeouts {
    let millis = Duration::from_millis;
    ClientTimeouts { answer: millis(4000), silence: millis(300), retries: 2 }
}

fn client(api: &str, upstream: &Upstream, path: &str) -> ModelClient {
    let http = Arc::new(HttpTransport::new().unwrap());
    ModelClient::new(endpoint(api, &(upstream.url() + path)), http).terms(quick())
}

fn request(api: &str) -> Bytes {
    let mut body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hello?"}]});
    match api {
        "anthropic" => body["max_tokens"] = json!(100),
        "openai" => body["stream_options"] = json!({"include_usage": true}),
        _ => {}
    }
    Bytes::from(body.to_string())
}

fn ask() -> ModelQuestion {
    let (id, user) = ("q".to_owned(), "How is it?".to_owned());
    let system = Some("Be brief.".to_owned());
    ModelQuestion { id, system, user, max_tokens: Some(50), ..ModelQuestion::default() }
}

#[tokio::test]
async fn an_answer_is_heard_as_it_comes_and_is_whole_at_the_end() {
    for (api, path) in APIS {
        let script = Script { pace: 5, ..saying("It is well, thank you.") };
        let upstream = Upstream::start(script).unwrap();
        let mut pieces = Vec::new();
        let client = client(api, &upstream, path);
        let answer = client.chat(request(api), &mut |piece| pieces.push(piece.to_owned())).await;
        let answer = answer.unwrap();
        assert!(pieces.len() > 1 && pieces.concat().ends_with("It is well, thank you."), "{api}");
        assert!(answer.usage.is_some_and(|usage| usage.prompt() > 0 && usage.output > 0), "{api}");
        let message: Value = serde_json::from_slice(&answer.messages[0]).unwrap();
        assert_eq!(message["role"], "assistant", "{api}");
    }
}

#[tokio::test]
async fn a_question_is_answered_by_every_api() {
    for (api, path) in APIS {
        let upstream = Upstream::start(saying("so-so")).unwrap();
        let said = client(api, &upstream, path).complete(&ask()).await.unwrap();
        assert!(said.ends_with("so-so"), "{api}: {said}");
        let asked = upstream.prompts();
        assert_eq!((asked.len(), asked[0].refused.as_deref()), (1, None), "{api}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for faults in [&[Fault::Status(429)][..], &[Fault::Drop, Fault::Page(502)], &[Fault::Hang]] {
        let upstream = Upstream::start(failing(faults)).unwrap();
        let client = client("openai", &upstream, "/v1");
        let answer = client.chat(request("openai"), &mut |_| ()).await;
        assert!(answer.is_ok(), "{faults:?}: {answer:?}");
        assert_eq!(upstream.prompts().len(), faults.len() + 1, "{faults:?}");
    }
}

#[track_caller]
fn check_failure(failure: &ModelFailure, expected: &str) {
    let said = failure.to_string();
    assert!(said.contains(expected), "{said}");
}

#[tokio::test]
async fn what_stays_wrong_is_told_once() {
    let cases = [
        (Fault::Status(401), "refuses with 401: ", "check the key"),
        (Fault::Status(404), "refuses with 404: ", "check the model's name"),
        (Fault::Status(400), "refuses with 400: ", ""),
    ];
    for (fault, expected, remedy) in cases {
        let upstream = Upstream::start(failing(&[fault])).unwrap();
        let client = client("openai", &upstream, "/v1");
        let failure = client.chat(request("openai"), &mut |_| ()).await.unwrap_err();
        check_failure(&failure, expected);
        check_failure(&failure, remedy);
        assert_eq!(upstream.prompts().len(), 1);
    }
}

#[tokio::test]
async fn what_was_said_before_it_broke_off_is_kept_and_not_asked_for_again() {
    for (api, path) in APIS {
        for fault in [Fault::Cut, Fault::Stall, Fault::Error] {
            let upstream = Upstream::start(failing(std::slice::from_ref(&fault))).unwrap();
            let mut pieces = String::new();
            let client = client(api, &upstream, path);
            let failure = client.chat(request(api), &mut |piece| pieces += piece).await;
            let Err(ModelFailure::BrokeOff { answer, .. }) = failure else {
                panic!("{api} {fault}: {failure:?}");
            };
            assert!(!answer.complete && !pieces.is_empty(), "{api} {fault}");
            assert_eq!(upstream.prompts().len(), 1, "{api} {fault}");
        }
    }
}

#[tokio::test]
async fn a_deadline_holds() {
    let upstream = Upstream::start(failing(&[Fault::Slow(100)])).unwrap();
    let terms = ClientTimeouts { answer: Duration::from_millis(250), ..quick() };
    let client = client("openai", &upstream, "/v1").terms(terms);
    let failure = client.chat(request("openai"), &mut |_| ()).await.unwrap_err();
    check_failure(&failure, "no whole answer within 250 ms");
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_told_with_the_limit() {
    let script = Script { limit: Some(10), ..saying("no") };
    let upstream = Upstream::start(script).unwrap();
    let client = client("openai", &upstream, "/v1");
    let failure = client.chat(request("openai"), &mut |_| ()).await.unwrap_err();
    let ModelFailure::Overflow(overflow) = failure else { panic!("{failure}") };
    assert_eq!(overflow.limit, Some(10));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let http: Arc<dyn Transport> = Arc::new(HttpTransport::new().unwrap());
    for (api, remedy) in [("ollama", "`ollama serve`"), ("openai", "the server runs there")] {
        let client = ModelClient::new(endpoint(api, "http://127.0.0.1:9"), Arc::clone(&http));
        let terms = ClientTimeouts { retries: 0, ..quick() };
        let failure = client.terms(terms).chat(request(api), &mut |_| ()).await.unwrap_err();
        check_failure(&failure, "nobody answers at http://127.0.0.1:9: ");
        check_failure(&failure, remedy);
    }
}

#[tokio::test]
async fn a_cassette_says_what_was_said_and_hears_what_was_asked() {
    for (api, path) in APIS {
        let upstream = Upstream::start(saying("caf\u{e9} 🦀")).unwrap();
        let base = upstream.url() + path;
        let recorder = CassetteRecorder::new(Arc::new(HttpTransport::new().unwrap()));
        let live = ModelClient::new(endpoint(api, &base), Arc::new(recorder.clone()));
        let first = live.chat(request(api), &mut |_| ()).await.unwrap();
        let cassette = recorder.cassette();
        assert!(!cassette.contains("127.0.0.1"), "{cassette}");
        drop(upstream);

        let player = Arc::new(CassettePlayer::new(&cassette).unwrap());
        let played =
            ModelClient::new(endpoint(api, &base), Arc::clone(&player) as Arc<dyn Transport>);
        let other = Bytes::from(String::from_utf8_lossy(&request(api)).replace("Hello", "Goodbye"));
        let failure = played.chat(other, &mut |_| ()).await.unwrap_err();
        check_failure(&failure, r#"`.messages[0].content` was recorded as "Hello?", and is"#);
        assert_eq!(played.chat(request(api), &mut |_| ()).await, Ok(first), "{api}");
        assert_eq!(player.left(), 0);
        let failure = played.chat(request(api), &mut |_| ()).await.unwrap_err();
        check_failure(&failure, "the cassette is at its end");
    }
}

/// Nothing but the question is new to the provider.
#[tokio::test]
async fn a_question_behind_a_conversation_is_read_from_the_cache() {
    for (api, path) in APIS {
        let upstream = Upstream::start(saying("so-so")).unwrap();
        let client = client(api, &upstream, path);
        let mut body: Value = serde_json::from_slice(&request(api)).unwrap();
        let text = "word ".repeat(200);
        let block = json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
        body["messages"][0]["content"] =
            if api == "anthropic" { json!([block]) } else { json!(text) };
        let body = Bytes::from(body.to_string());
        client.chat(body.clone(), &mut |_| ()).await.unwrap();
        let underway = LiveRequest { request: body.as_ref().into(), format: api.to_owned() };
        assert!(client.extends(&underway), "{api}");
        let other = String::from_utf8_lossy(&body).replace("\"m\"", "\"other\"");
        let other = LiveRequest { request: other.as_bytes().into(), format: api.to_owned() };
        assert!(!client.extends(&other), "{api}");
        let ask = ModelQuestion { user: "How is it?".to_owned(), after: Some(underway), ..ask() };
        assert!(client.complete(&ask).await.unwrap().ends_with("so-so"), "{api}");
        let asked = upstream.prompts();
        let [first, second] = &asked[..] else { panic!("{api}: {}", asked.len()) };
        assert_eq!(second.refused, None, "{api}");
        assert!(second.usage.read >= 250, "{api}: {:?} {:?}", first.usage, second.usage);
        // Nothing is added but the question, and how long its answer may be where nobody said that.
        let said = r#",{"role":"user","content":"How is it?"}"#;
        let bound = match api {
            "ollama" => r#","options":{"num_predict":50}"#,
            "openai" => r#","max_tokens":50"#,
            _ => "",
        };
        let without = String::from_utf8_lossy(&second.raw).replace(said, "");
        assert_eq!(without.replace(bound, ""), body, "{api}");
        assert!(without.contains(bound), "{api}");
    }
}
