//! How large a prompt may be, as the servers behind the proxy show: one that cuts in silence, one that
//! refuses in words of its own (RULES 153, 136).

use epitome_upstream::{Record, Script};
use serde_json::{Value, json};

use super::agent::{Agent, Api, calls};
use super::faults::eventually;
use super::http::Ask;
use super::serving::Serving;

/// Each turn says so much that five of them exceed two thousand tokens. The answers are not those that
/// were recorded, so an id of the client says that it is one conversation.
fn talk(serving: &Serving, model: &str, turns: std::ops::Range<usize>) {
    let mut messages = vec![json!({"role": "system", "content": "You keep minutes."})];
    for turn in 0..turns.end {
        let text = format!("Minute {turn}: the board of house {turn} spoke of roof {turn}. ");
        messages.push(json!({"role": "user", "content": text.repeat(30)}));
        if turn >= turns.start {
            let body = json!({"model": model, "stream": false, "messages": messages});
            let ask = Ask::post("/api/chat", body.to_string());
            let answer = serving.send(ask.header("x-session-id", &format!("minutes-{model}")));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        messages.push(json!({"role": "assistant", "content": format!("Noted {turn}.")}));
    }
}

/// The findings of the doctor about windows.
fn doctor(serving: &Serving) -> Vec<String> {
    let found = serving.place.run(["doctor", "--json", "--store", "s.db"]);
    let found: Vec<Value> = serde_json::from_str(found.text()).unwrap();
    let of = found.iter().filter(|one| one["about"] == "window");
    of.map(|one| format!("{} {}", one["verdict"].as_str().unwrap(), one["found"].as_str().unwrap()))
        .collect()
}

/// Ollama answers what it has not read, and says nothing of it: its user is told, once for each
/// model, in the log of the proxy, in the status of the session and by the doctor.
#[test]
fn a_server_that_reads_a_part_of_a_prompt_is_told_of_once_for_each_model() {
    let script = Script { limit: Some(1200), ..Script::default() };
    let serving = Serving::start(script, &["--prompt-limit", "20000"]);
    talk(&serving, "llama3.2", 4..10);
    assert!(serving.prompts().iter().any(|prompt| prompt.cut_short));
    let told = || serving.said().matches("OLLAMA_CONTEXT_LENGTH").count();
    assert_eq!(told(), 1, "{}", serving.said());
    eventually("the server read ", || serving.said().contains("the server read "));
    let status = serving.place.run(["status", "--json", "--store", "s.db"]).json();
    assert_eq!(status[0]["shortened"]["evaluated"], 1200, "{status:#}");
    talk(&serving, "qwen2.5", 4..10);
    assert_eq!(told(), 2, "{}", serving.said());
    let found = doctor(&serving);
    for model in ["llama3.2", "qwen2.5"] {
        let warning = format!("warn {model} (ollama): its server read 1,200 of");
        assert!(found.iter().any(|one| one.starts_with(&warning)), "{found:?}");
    }
}

const OWN: &str = "Zu lang: {size} Wörter, erlaubt sind {limit}";

/// A gateway refuses in words that nobody knows but its users, who tell them.
#[test]
fn a_wording_of_ones_own_teaches_the_limit_for_good() {
    let own = format!("[profile.default.options.default.limit]\nsignatures = ['{OWN}']\n");
    let words = Some(OWN.to_owned());
    let script = Script { limit: Some(14_000), wording: words, ..Script::agent(8, calls()) };
    let mut serving = Serving::start(script, &[]);
    serving.stop();
    serving.place.write("epitome.toml", own);
    serving.go_on();
    let is_refused = |prompt: &&Record| prompt.refused.is_some();
    let refused = |serving: &Serving| serving.upstream.prompts().iter().filter(is_refused).count();

    let mut agent = Agent::new(Api::Chat, "Find out why the deployment fails.");
    agent.work(&serving);
    let taught = refused(&serving);
    assert!((1..=3).contains(&taught), "{taught} refusals");
    // What was refused was made smaller and sent once more, and the log says so in words.
    let said = serving.said();
    for words in ["refused the prompt as too long; a smaller one is sent", " hard: "] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("\"event\""), "{said}");
    let prompts = serving.upstream.prompts();
    let at = prompts.iter().position(|prompt| prompt.refused.is_some()).unwrap();
    assert!(prompts[at].refused.as_ref().unwrap().starts_with("Zu lang: "));
    let [long, short] = [&prompts[at], &prompts[at + 1]].map(|prompt| prompt.raw.len());
    assert!(short < long && prompts[at + 1].refused.is_none(), "{long} → {short} bytes");

    serving.stop();
    serving.go_on();
    agent.say("Is that all?");
    agent.work(&serving);
    assert_eq!(refused(&serving), taught, "it was forgotten");
    let show = serving.place.run(["config", "show", "--store", "s.db"]);
    let learned = |line: &str| {
        line.starts_with("         gpt-4o: ") && line.contains("learned from a refusal")
    };
    assert!(show.text().lines().any(learned), "{}", show.text());
    let known = serving.place.run(["config", "show", "--store", "s.db", "--json"]).json();
    let limit = known["learned"][0]["limit"].as_u64().unwrap();
    assert!((7_000..=14_000).contains(&limit), "{known:#}");
    let is_told = |one: &String| one.contains("learned from a refusal");
    assert!(doctor(&serving).iter().any(is_told), "{:?}", doctor(&serving));
}

/// Without them it is a refusal like any other, and comes back as it is.
#[test]
fn a_wording_that_nobody_told_is_no_lesson() {
    let words = Some(OWN.to_owned());
    let script = Script { limit: Some(2000), wording: words, ..Script::default() };
    let serving = Serving::start(script, &[]);
    let agent = Agent::new(Api::Chat, &"Keep every word of this. ".repeat(1000));
    let answer = serving.send(Ask::post(agent.api.path(), agent.request().to_string()));
    assert_eq!((answer.status, serving.upstream.prompts().len()), (400, 1));
    assert!(answer.text().contains("erlaubt sind 2000"), "{}", answer.text());
}

/// The status of the only session.
fn status(serving: &Serving) -> Value {
    serving.place.run(["status", "--json", "--store", "s.db"]).json()[0].clone()
}

/// A request that states no context size is held to what Ollama says of its model, which it does
/// once it has it at hand; before that to a guess (RULES 31).
#[test]
fn ollama_is_asked_where_a_request_states_no_context_size() {
    let check = |args: &[&str], loaded: Option<u64>, [first, later]: [(u64, Value); 2]| {
        let script = Script { loaded, ..Script::default() };
        let serving = Serving::start(script, args);
        for (turns, (limit, source)) in [(0..1, first), (1..2, later)] {
            talk(&serving, "mistral", turns);
            let status = status(&serving);
            assert_eq!((&status["limit"], &status["limit_source"]), (&json!(limit), &source));
        }
        let asked = |path: &str| {
            serving.upstream.records().iter().filter(|it| it.route().ends_with(path)).count()
        };
        (asked("/api/ps"), serving)
    };
    let guessed = || (6800, json!("default"));
    let (asked, serving) = check(&[], Some(4096), [guessed(), (4096, json!("probe"))]);
    assert_eq!(asked, 2);
    let told = "4,096 tokens, told by the server";
    assert!(
        doctor(&serving).contains(&format!("ok mistral (ollama): {told}")),
        "{:?}",
        doctor(&serving)
    );
    let show = serving.place.run(["config", "show", "--store", "s.db"]);
    assert!(show.text().contains(&format!("mistral: {told}")), "{}", show.text());
    eventually("the server told the window of a model", || {
        serving.said().contains("the server told the window of a model")
    });
    // It is larger than the guess, too; and where nobody says it, the guess holds.
    let (_, serving) = check(&[], Some(16_384), [guessed(), (16_384, json!("probe"))]);
    let prompt = serving.last();
    assert_eq!(prompt.header("x-api-key"), Some(super::serving::KEY));
    let facts = serving.upstream.records();
    let facts =
        facts.iter().filter(|it| it.path.ends_with("/api/ps") || it.path.ends_with("/show"));
    assert!(facts.clone().count() >= 4, "it is asked about itself");
    assert!(facts.into_iter().all(|it| it.header("x-api-key").is_none()), "without a credential");
    check(&[], None, [guessed(), guessed()]);
    // What the user says holds, and the server is not asked. (The flag is unknown to `status`.)
    let stated = || (9000, Value::Null);
    assert_eq!(check(&["--prompt-limit", "9000"], Some(4096), [stated(), stated()]).0, 0);
}

/// The window is its server's, whichever of its APIs a client speaks.
#[test]
fn ollama_is_asked_behind_its_other_apis_too() {
    let serving = Serving::start(Script { loaded: Some(4096), ..Script::default() }, &[]);
    let mut messages = Vec::new();
    for turn in 0..20 {
        let text = format!("Minute {turn}: the board of house {turn} spoke of roof {turn}. ");
        messages.push(json!({"role": "user", "content": text.repeat(30)}));
        let body = json!({"model": "mistral", "messages": messages});
        let ask = Ask::post("/to/ollama/v1/chat/completions", body.to_string());
        let answer = serving.send(ask.header("x-session-id", "minutes"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        messages.push(json!({"role": "assistant", "content": format!("Noted {turn}.")}));
    }
    let now = status(&serving);
    assert_eq!((&now["limit"], &now["limit_source"]), (&json!(4096), &json!("probe")));
    assert!(now["compressions"].as_u64() > Some(0), "{now}");
}

/// What the request itself states holds against what its server says.
#[test]
fn a_request_that_states_its_context_size_is_taken_at_its_word() {
    let serving = Serving::start(Script { loaded: Some(4096), ..Script::default() }, &[]);
    let body = json!({"model": "m", "stream": false, "options": {"num_ctx": 12_288},
        "messages": [{"role": "user", "content": "Hello."}]});
    serving.post("/api/chat", &body);
    assert_eq!(status(&serving)["limit"], 12_288);
    assert_eq!(serving.upstream.records().len(), 1, "nobody else was asked");
}

/// Where its user chose a context size Ollama is told of it with each request, so that it reads the
/// whole of a prompt (RULES 19); a request that asks for more goes as it came.
#[test]
fn ollama_is_told_the_context_size_that_its_user_chose() {
    let script = Script { limit: Some(1200), makes_room: true, ..Script::default() };
    let serving = Serving::start(script, &["--context-size", "16384"]);
    talk(&serving, "llama3.2", 4..10);
    for prompt in serving.prompts() {
        assert_eq!(prompt.body["options"], json!({"num_ctx": 16_384}));
        assert!(!prompt.cut_short, "{}", prompt.number);
    }
    assert!(!serving.said().contains("the server read "), "{}", serving.said());
    let num_ctx = |stated: u64| {
        let body = json!({"model": "m", "stream": false, "messages": [
            {"role": "user", "content": format!("Hello {stated}.")}],
            "options": {"seed": 1, "num_ctx": stated}});
        serving.post("/api/chat", &body);
        serving.last().body["options"].clone()
    };
    assert_eq!(num_ctx(2048), json!({"seed": 1, "num_ctx": 16_384}));
    assert_eq!(num_ctx(32_768), json!({"seed": 1, "num_ctx": 32_768}));
    // Others are not told of it.
    let agent = Agent::new(Api::Chat, "Hello.");
    serving.post(Api::Chat.path(), &agent.request());
    assert_eq!(serving.last().body.get("options"), None);
}
