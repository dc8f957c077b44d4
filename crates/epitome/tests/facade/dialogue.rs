//! A conversation with a model over HTTP: past its window, past refusals, past broken answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome::model::{ClientTimeouts, HttpTransport, ModelClient, ModelEndpoint};
use epitome::types::EventKind;
use epitome::{
    ChatSession, ChatUpdate, Compressor, CompressorBuilder, Config, ConfigSources, MemoryStore,
    WindowSetting,
};
use epitome_upstream::{Fault, Script, Turn, Upstream};
use serde_json::json;
use tokio::runtime::Handle;

const APIS: [(&str, &str); 3] = [("ollama", ""), ("openai", "/v1"), ("anthropic", "")];

type Seen = Arc<Mutex<Vec<EventKind>>>;

/// A conversation with a scripted model, and what happened to it.
fn talk(api: (&str, &str), upstream: &Upstream, window: WindowSetting) -> (ChatSession, Seen) {
    let seen = Seen::default();
    let listener = Arc::clone(&seen);
    let builder = Compressor::builder()
        .on_event(move |event| listener.lock().unwrap().push(event.what.clone()));
    (over(builder, api, upstream, window), seen)
}

/// A conversation of a builder's with a scripted model.
pub(crate) fn over(
    builder: CompressorBuilder,
    (api, path): (&str, &str),
    upstream: &Upstream,
    window: WindowSetting,
) -> ChatSession {
    let builder = builder.window(window);
    let base = upstream.url() + path;
    let endpoint = ModelEndpoint::of(format!("{api}:m@{base}").parse().unwrap(), |_| None).unwrap();
    let builder = builder.input_format(endpoint.spec.api.format());
    let session = builder.session(Arc::new(MemoryStore::default()), Some("chat"));
    let millis = Duration::from_millis;
    let terms = ClientTimeouts { answer: millis(5000), silence: millis(300), retries: 1 };
    let limit = match window {
        WindowSetting::Limit(limit) => Some(limit),
        _ => None,
    };
    let client = ModelClient::new(endpoint, Arc::new(HttpTransport::new().unwrap()));
    let mut talk = ChatSession::new(session, client.terms(terms).window(limit));
    talk.begin(Some("You answer briefly.")).unwrap();
    talk
}

pub(crate) fn answering(text: &str) -> Script {
    Script { turns: vec![Turn { text: text.to_owned(), ..Turn::default() }], ..Script::default() }
}

/// A sentence of about forty tokens that no other is like.
pub(crate) fn told(n: usize) -> String {
    format!(
        "Note {n}: the file src/part{n}/mod.rs holds the rule {}, which must stay as it is; \
         rename nothing there, and see to it that test number {} still passes tomorrow.",
        n * 7919 % 1009,
        n * 31 + 4
    )
}

#[tokio::test]
async fn a_conversation_goes_on_past_three_times_its_window() {
    for api in APIS {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let (mut talk, seen) = talk(api, &upstream, WindowSetting::Limit(1500));
        let mut raw = 0;
        for n in 0..90 {
            let said = talk.send(&told(n), &mut |_| ()).await.unwrap();
            assert!(said.text.ends_with("Noted.") || n > 0, "{}: {}", api.0, said.text);
            assert!(said.prompt.tokens[1] <= 1500, "{}", api.0);
            raw = said.prompt.tokens[0];
        }
        assert!(raw > 3 * 1500, "{}: {raw}", api.0);
        let compressed = seen
            .lock()
            .unwrap()
            .iter()
            .filter(|it| matches!(it, EventKind::Compressed { .. }))
            .count();
        assert!(compressed >= 2, "{}: {compressed}", api.0);
        let prompts = upstream.prompts();
        assert_eq!(prompts.len(), 90, "{}", api.0);
        assert!(prompts.iter().all(|prompt| prompt.refused.is_none()), "{}", api.0);
        if api.0 == "ollama" {
            assert!(prompts.iter().all(|prompt| prompt.body["options"]["num_ctx"] == 1500));
        }
        let info = talk.session().info().unwrap();
        assert_eq!(info.figures.messages, 181, "{}", api.0);
    }
}

/// The instructions that stand before the first message are sent with it, and counted as sent.
#[tokio::test]
async fn nothing_is_saved_where_nothing_was_left_out() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let (mut talk, _) = talk(("openai", "/v1"), &upstream, WindowSetting::Guessed);
    let mut sums = [0; 2];
    for n in 0..3 {
        let [came, sent] = talk.send(&told(n), &mut |_| ()).await.unwrap().prompt.tokens;
        let figures = talk.session().info().unwrap().figures;
        assert_eq!((came, figures.tokens), (sent, [came, sent]), "turn {n}");
        sums = sums.map(|sum| sum + sent);
        assert_eq!(figures.total, sums, "turn {n}");
    }
}

/// No provider takes a message behind calls without results; a session of an agent may end in some.
#[tokio::test]
async fn calls_that_nothing_answered_end_with_the_next_message() {
    for api in APIS {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let (mut talk, _) = talk(api, &upstream, WindowSetting::Limit(4000));
        let call = |id: &str| match api.0 {
            "anthropic" => json!({"type": "tool_use", "id": id, "name": id, "input": {}}),
            "ollama" => json!({"function": {"name": id, "arguments": {}}}),
            _ => json!({"type": "function", "id": id,
                "function": {"name": id, "arguments": "{}"}}),
        };
        let calls = json!([call("look"), call("find")]);
        let called = match api.0 {
            "anthropic" => json!({"role": "assistant", "content": calls}),
            _ => json!({"role": "assistant", "content": "", "tool_calls": calls}),
        };
        for message in [json!({"role": "user", "content": "Look it up."}), called] {
            talk.session().push(message.to_string().as_bytes()).unwrap();
        }
        for n in 0..3 {
            talk.send(&told(n), &mut |_| ()).await.unwrap();
        }
        let prompts = upstream.prompts();
        assert!(prompts.iter().all(|prompt| prompt.refused.is_none()), "{}: {prompts:?}", api.0);
        let sent = prompts[0].body["messages"].to_string();
        assert_eq!(sent.matches("no tools in this conversation").count(), 2, "{}: {sent}", api.0);
        // Once for all: what follows has nothing to end.
        let sent = prompts[2].body["messages"].to_string();
        assert_eq!(sent.matches("no tools in this conversation").count(), 2, "{}: {sent}", api.0);
    }
}

#[tokio::test]
async fn a_prompt_that_is_refused_is_made_smaller() {
    let script = Script { limit: Some(1200), ..answering("Noted.") };
    let upstream = Upstream::start(script).unwrap();
    let (mut talk, _) = talk(("openai", "/v1"), &upstream, WindowSetting::Guessed);
    let mut refused = 0;
    for n in 0..40 {
        let heard = &mut |heard: ChatUpdate<'_>| {
            refused += usize::from(matches!(heard, ChatUpdate::Refused))
        };
        talk.send(&told(n), heard).await.unwrap();
    }
    let prompts = upstream.prompts();
    assert_eq!(prompts.len(), 40 + refused);
    assert!((1..=6).contains(&refused), "{refused}");
}

#[tokio::test]
async fn what_came_of_an_answer_that_broke_off_is_part_of_the_conversation() {
    let script = Script { faults: vec![Fault::Cut], ..answering("a few words and some more") };
    let upstream = Upstream::start(script).unwrap();
    let (mut talk, _) = talk(("openai", "/v1"), &upstream, WindowSetting::Limit(4000));
    let mut heard = String::new();
    let said = talk
        .send("Hello", &mut |it| {
            if let ChatUpdate::Text(text) = it {
                heard += text;
            }
        })
        .await
        .unwrap();
    assert!(said.broke_off.is_some() && !said.text.is_empty());
    assert_eq!(said.text, heard);
    assert!(talk.send("Go on", &mut |_| ()).await.unwrap().broke_off.is_none());
    let last = upstream.prompts().pop().unwrap();
    assert_eq!(last.body["messages"][2]["content"], heard);
}

#[tokio::test]
async fn an_answer_that_grows_out_of_the_window_is_told_and_kept_whole() {
    let long = "more and more words ".repeat(120);
    let upstream = Upstream::start(answering(&long)).unwrap();
    let (mut talk, seen) = talk(("openai", "/v1"), &upstream, WindowSetting::Limit(300));
    let mut outgrown = 0;
    let hear = &mut |it: ChatUpdate<'_>| {
        outgrown += usize::from(matches!(it, ChatUpdate::Outgrown(_)));
    };
    let said = talk.send("Tell me everything", hear).await.unwrap();
    assert_eq!(outgrown, 1);
    assert!(said.text.ends_with(long.trim_end()) || said.text.ends_with(&long));
    let seen = seen.lock().unwrap();
    let told: Vec<_> = seen
        .iter()
        .filter(|it| matches!(it, EventKind::StreamOverflowEmergency { limit: 300, .. }))
        .collect();
    assert_eq!(told.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_not_answered_is_recorded() {
    let faults = vec![Fault::Status(401)];
    let upstream = Upstream::start(Script { faults, ..answering("Noted.") }).unwrap();
    let (mut talk, _) = talk(("openai", "/v1"), &upstream, WindowSetting::Limit(4000));
    let error = talk.send("Hello", &mut |_| ()).await.unwrap_err().to_string();
    assert!(error.starts_with("openai:m@http://127.0.0.1:"), "{error}");
    assert!(error.contains("refuses with 401: ") && error.contains("check the key"), "{error}");
    talk.send("Are you there?", &mut |_| ()).await.unwrap();
    let last = upstream.prompts().pop().unwrap();
    let said: Vec<_> = last.body["messages"].as_array().unwrap().iter().collect();
    // Templates of many servers take no two messages of a person behind each other.
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[1]["content"], "Hello\n\nAre you there?");
}

#[tokio::test]
async fn what_came_of_an_answer_that_was_stopped_is_part_of_the_conversation() {
    let long = "word after word ".repeat(40);
    let upstream = Upstream::start(Script { pace: 20, ..answering(&long) }).unwrap();
    let (mut talk, _) = talk(("ollama", ""), &upstream, WindowSetting::Limit(4000));
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let (mut heard, mut stop) = (String::new(), Some(stop));
    let hear = &mut |it: ChatUpdate<'_>| {
        if let ChatUpdate::Text(text) = it {
            heard += text;
            if heard.len() > 60 {
                stop.take().map(|stop| stop.send(()));
            }
        }
    };
    let stopped = async { stopped.await.unwrap() };
    let said = talk.send_until("Tell me", hear, stopped).await.unwrap();
    assert_eq!(said.broke_off.as_deref(), Some("it was stopped"));
    assert!(said.text == heard && heard.len() < 200, "{heard}");
    let error = talk.send_until("Go on", &mut |_| (), async {}).await.unwrap_err();
    assert!(matches!(error, epitome::ChatError::Stopped), "{error}");
    talk.send("Now", &mut |_| ()).await.unwrap();
    let last = upstream.prompts().pop().unwrap().body;
    let said: Vec<_> =
        last["messages"].as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert_eq!(said[1..], ["Tell me", &*heard, "Go on", "Now"]);
}

#[tokio::test]
async fn another_model_of_the_same_api_goes_on_with_the_conversation() {
    for (api, path) in APIS {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let (mut talk, _) = talk((api, path), &upstream, WindowSetting::Limit(4000));
        talk.send("My name is Ada.", &mut |_| ()).await.unwrap();
        let client = |spec: String| {
            let endpoint = ModelEndpoint::of(spec.parse().unwrap(), |_| None).unwrap();
            ModelClient::new(endpoint, Arc::new(HttpTransport::new().unwrap())).window(Some(2000))
        };
        let base = upstream.url() + path;
        talk.set_model(client(format!("{api}:larger@{base}"))).unwrap();
        talk.send("What is my name?", &mut |_| ()).await.unwrap();
        let prompts: Vec<_> = upstream.prompts().into_iter().map(|it| it.body).collect();
        assert_eq!((&prompts[0]["model"], &prompts[1]["model"]), (&"m".into(), &"larger".into()));
        assert_eq!(prompts[0]["system"], prompts[1]["system"], "{api}");
        let [before, after] =
            [&prompts[0], &prompts[1]].map(|it| it["messages"].as_array().unwrap());
        assert_eq!(after[..before.len()], before[..], "{api}");
        assert_eq!(after.len(), before.len() + 2, "{api}");
        let other = if api == "ollama" { "openai" } else { "ollama" };
        let error = talk.set_model(client(format!("{other}:x@{base}"))).unwrap_err().to_string();
        assert!(error.starts_with("the conversation so far is in the format "), "{error}");
    }
}

/// Summaries are written by the model that talks, where the profile says so: the one that talks now.
#[tokio::test]
async fn another_model_that_talks_writes_the_summaries() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let transport = Arc::new(HttpTransport::new().unwrap());
    let client = |name: &str| {
        let spec = format!("openai:{name}@{}/v1", upstream.url());
        let endpoint = ModelEndpoint::of(spec.parse().unwrap(), |_| None).unwrap();
        ModelClient::new(endpoint, transport.clone())
    };
    let config = Config::load(ConfigSources::default()).unwrap();
    let profile = config.profile("ollm").unwrap();
    let profile = profile.connected_with(Some(&client("m")), transport.clone(), |_| None).unwrap();
    for runtime in [None, Some(Handle::current())] {
        let builder = Compressor::builder().profile(profile.clone());
        let builder = runtime.into_iter().fold(builder, CompressorBuilder::background);
        let mut talk = over(builder, ("openai", "/v1"), &upstream, WindowSetting::Limit(1500));
        talk.send(&told(0), &mut |_| ()).await.unwrap();
        talk.set_model(client("larger")).unwrap();
        let before = upstream.prompts().len();
        for n in 1..40 {
            talk.send(&told(n), &mut |_| ()).await.unwrap();
        }
        let asked = upstream.prompts().split_off(before);
        assert!(asked.len() > 39, "nothing was summed up");
        assert!(asked.iter().all(|one| one.body["model"] == "larger"));
    }
}
