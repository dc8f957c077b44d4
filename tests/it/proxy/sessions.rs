//! Sessions that outgrow their window: nothing invalid goes out, and between compressions each
//! prompt begins with the one before it.

use epitome_upstream::{Record, Script, Turn};
use serde_json::{Value, json};

use super::agent::{APIS, Agent, Api, calls};
use super::faults::eventually;
use super::http::Ask;
use super::serving::Serving;

/// Tokens; some rounds of the agent fill it.
const LIMIT: &str = "16000";
/// Rounds of calls that the model asks for.
const ROUNDS: u64 = 9;

/// A model that thinks, calls for some rounds, and ends.
fn script(rounds: u64) -> Script {
    let turn =
        Turn { thinking: Some("Both, then.".into()), text: "I look.".into(), calls: calls() };
    Script { turns: vec![turn], repeat: rounds, pings: true, ..Script::default() }
}

/// A value without the markers that move every turn.
pub(super) fn bare(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "cache_control");
            kept.map(|(key, value)| (key.clone(), bare(value))).collect()
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

/// The history that a prompt holds, without markers, texts always as blocks.
pub(super) fn history(api: Api, prompt: &Record) -> Vec<Value> {
    let as_blocks = |message: &Value| {
        let mut message = bare(message);
        if let Value::String(text) = &message["content"] {
            message["content"] = serde_json::json!([{"type": "text", "text": text}]);
        }
        message
    };
    prompt.body[api.history()].as_array().unwrap().iter().map(as_blocks).collect()
}

/// How often a prompt does not begin with the one before it.
pub(super) fn breaks(api: Api, prompts: &[Record]) -> usize {
    let histories: Vec<_> = prompts.iter().map(|prompt| history(api, prompt)).collect();
    let pairs = histories.windows(2);
    pairs.filter(|pair| !pair[1].starts_with(&pair[0])).count()
}

/// Checks what a session left at the upstream and in the journal.
#[track_caller]
fn check_session(serving: &Serving, api: Api, rounds: usize, context: &str) {
    let prompts = serving.prompts();
    assert_eq!(prompts.len(), rounds, "{context}");
    let compressions = serving.compressions();
    assert!(compressions >= 1, "{context}: never compressed\n{}", serving.said());
    let broken = breaks(api, &prompts);
    assert!(broken as u64 <= compressions, "{context}: {broken} breaks, {compressions} epochs");
    let systems = prompts.windows(2).filter(|pair| {
        ["system", "tools", "instructions"]
            .iter()
            .any(|key| pair[0].body[*key] != pair[1].body[*key])
    });
    assert_eq!(systems.count(), 0, "{context}: the system prompt or the tools changed");
}

#[test]
fn a_conversation_without_an_id_is_one_session_from_its_first_call_on() {
    // Ollama's calls have no ids, and a short answer without any proves nothing.
    for api in [Api::Anthropic, Api::Chat, Api::Responses] {
        for streams in [false, true] {
            let serving = Serving::start(script(2), &["--prompt-limit", LIMIT]);
            for _ in 0..2 {
                let mut agent = Agent::new(api, "Find out why the deployment fails.");
                agent.streams = streams;
                agent.work(&serving);
            }
            let sessions = serving.sessions();
            assert_eq!(sessions.len(), 2, "{api:?}, streams {streams}: {}", serving.said());
        }
    }
}

#[test]
fn a_session_of_each_api_outgrows_its_window() {
    std::thread::scope(|scope| {
        for api in APIS {
            scope.spawn(move || {
                for streams in [false, true] {
                    let serving = Serving::start(script(ROUNDS), &["--prompt-limit", LIMIT]);
                    let mut agent = Agent::new(api, "Find out why the deployment fails.");
                    agent.streams = streams;
                    let rounds = agent.work(&serving);
                    let context = format!("{api:?}, streams: {streams}");
                    assert_eq!(rounds as u64, ROUNDS + 1, "{context}");
                    check_session(&serving, api, rounds, &context);
                }
            });
        }
    });
}

/// What was refused is on record, and no conversation.
#[test]
fn what_was_never_answered_is_listed_where_all_is_asked_for() {
    let serving = Serving::start(Script::default(), &[]);
    let list = |flags: &[&str]| {
        let args = [&["session", "list", "--json", "--store", "s.db"], flags].concat();
        let listed = serving.place.run(args).json();
        let titles = listed.as_array().unwrap().iter().map(|it| it["title"].to_string());
        titles.collect::<Vec<_>>()
    };
    let post = |text: &str, fault: Option<&str>| {
        let body = json!({"model": "m", "max_tokens": 50,
            "messages": [{"role": "user", "content": text}]});
        let ask = Ask::post("/v1/messages", body.to_string());
        serving.send(fault.map_or(ask.clone(), |fault| ask.header("x-upstream-fault", fault)))
    };
    assert_eq!(post("A probe.", Some("status 401")).status, 401);
    let shown = || serving.place.run(["session", "list", "--store", "s.db"]);
    eventually("it is recorded", || list(&["--all"]).len() == 1);
    assert_eq!(list(&[]), [""; 0]);
    assert_eq!(shown().text(), "no session was answered; `--all` shows what was sent\n");
    assert_eq!(post("Why is the sky blue?", None).status, 200);
    eventually("its answer is recorded", || list(&[]).len() == 1);
    assert_eq!(list(&[]), [r#""Why is the sky blue?""#]);
    assert_eq!(list(&["--all"]), [r#""Why is the sky blue?""#, r#""A probe.""#]);
    assert!(shown().text().ends_with("and some that no model answered; `--all` shows them\n"));
}

#[test]
fn bytes_of_the_prefix_stay_between_compressions() {
    for api in [Api::Chat, Api::Ollama] {
        let serving = Serving::start(script(ROUNDS), &["--prompt-limit", LIMIT]);
        let mut agent = Agent::new(api, "Find out why the deployment fails.");
        agent.work(&serving);
        // The history stands at the end of these requests; `]}` closes it.
        let prompts = serving.prompts();
        let broken = prompts.windows(2).filter(|pair| {
            let before = &pair[0].raw[..pair[0].raw.len() - 2];
            !pair[1].raw.starts_with(before)
        });
        let (broken, compressions) = (broken.count() as u64, serving.compressions());
        assert!(compressions >= 1 && broken <= compressions, "{api:?}: {broken} {compressions}");
    }
}

#[test]
fn moving_markers_and_thinking_keep_the_cache() {
    let serving = Serving::start(script(ROUNDS), &["--prompt-limit", LIMIT]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    agent.marks = true;
    agent.body["thinking"] = serde_json::json!({"type": "adaptive"});
    let rounds = agent.work(&serving);
    check_session(&serving, Api::Anthropic, rounds, "with markers");
    let prompts = serving.prompts();
    let read: u64 = prompts.iter().map(|prompt| prompt.usage.read).sum();
    let all: u64 = prompts.iter().map(|prompt| prompt.usage.prompt()).sum();
    assert!(read * 2 > all, "read {read} of {all} tokens from the cache");
    for prompt in &prompts {
        let markers = prompt.body.to_string().matches("cache_control").count();
        assert!(markers <= 4, "{markers} markers");
    }
}

#[test]
fn a_session_goes_on_after_the_proxy_was_killed() {
    for api in APIS {
        let mut serving = Serving::start(script(ROUNDS), &["--prompt-limit", LIMIT]);
        let mut agent = Agent::new(api, "Find out why the deployment fails.");
        for _ in 0..6 {
            agent.round(&serving);
        }
        let before = serving.last();
        serving.kill();
        serving.go_on();
        // The last request once more: the same bytes, from the journal alone.
        let mut again = agent.clone();
        for _ in 0..answered(api, &again) {
            again.messages().pop();
        }
        again.round(&serving);
        assert_eq!(serving.last().raw, before.raw, "{api:?}");
        let rounds = 7 + agent.work(&serving);
        check_session(&serving, api, rounds, &format!("{api:?}, killed"));
    }
}

/// How many messages the last round added to a history.
fn answered(api: Api, agent: &Agent) -> usize {
    let history = agent.body[api.history()].as_array().unwrap();
    match api {
        Api::Anthropic => 2,
        // What the model said, and two results.
        Api::Chat | Api::Ollama => 3,
        Api::Responses => {
            let own = |item: &Value| item["type"] == "message" || item["type"] == "reasoning";
            history.len() - history.iter().rposition(own).unwrap()
        }
    }
}

#[test]
fn tokens_are_told_and_counted_as_sent() {
    let serving = Serving::start(script(3), &["--prompt-limit", "60000"]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    agent.work(&serving);
    let answer = agent.send(&serving, agent.request().to_string().into_bytes());
    let told = answer.header("x-epitome-tokens").unwrap().to_owned();
    let (raw, sent) = told.split_once('/').unwrap();
    let (raw, sent): (u64, u64) = (raw.trim().parse().unwrap(), sent.trim().parse().unwrap());
    assert!(sent * 2 < raw, "results shrink before they are first sent: {told}");
    assert!(answer.header("x-epitome-session").is_some_and(|name| !name.is_empty()));
    let mut body = agent.request();
    body.as_object_mut().unwrap().shift_remove("stream");
    let counted = serving.post("/v1/messages/count_tokens?beta=true", &body).json();
    let counted = counted["input_tokens"].as_u64().unwrap();
    let size = serving.last().usage.prompt();
    assert!(counted < size * 2, "counted {counted} for a prompt of about {size}");
    let metrics = serving.send(Ask::new("GET", "/metrics")).text();
    assert!(metrics.contains("# TYPE epitome"), "{metrics}");
    let status = serving.status();
    assert!(status["sessions"].as_array().is_some_and(|it| !it.is_empty()), "{status}");
}

/// What was saved stands on the page and in the figures after a restart, and after a crash.
#[test]
fn the_ledger_goes_on_after_a_restart() {
    let mut serving = Serving::start(Script::default(), &[]);
    let ask = |serving: &Serving, text: &str| {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 9,
            "messages": [{"role": "user", "content": text}]});
        serving.post("/v1/messages", &body);
    };
    ask(&serving, "One question.");
    ask(&serving, "Another one.");
    let requests = |serving: &Serving| serving.status()["all"]["requests"].as_u64().unwrap();
    eventually("both are counted", || requests(&serving) == 2);
    let before = serving.status();
    serving.stop();
    serving.go_on();
    let after = serving.status();
    assert_eq!(after["all"]["tokens"], before["all"]["tokens"]);
    assert_eq!(after["all"]["provider"], before["all"]["provider"]);
    assert_eq!((requests(&serving), &after["since"]), (2, &before["since"]));
    assert_eq!(after["older"]["sessions"], 2);
    let page = serving.send(Ask::new("GET", "/status").header("accept", "text/html")).text();
    assert!(page.contains("counted since"), "{page}");
    ask(&serving, "A third one.");
    // What a proxy that is killed has kept is there, too.
    eventually("the third is kept", || serving.kept()["all"]["requests"] == 3);
    serving.kill();
    serving.go_on();
    assert_eq!(requests(&serving), 3);
    assert_eq!(serving.place.run(["session", "verify", "--store", "s.db"]).code, 0);
}
