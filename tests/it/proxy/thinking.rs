//! Models that bind what they thought to the whole prompt before it: nothing is refused, and nothing
//! is left out but what we leave out (RULES 139 to 142).

use epitome_upstream::{Record, Script, Turn};
use serde_json::{Value, json};

use super::agent::{Agent, Api, calls};
use super::faults::eventually;
use super::http::Ask;
use super::serving::Serving;

const LIMIT: &str = "16000";
const BETA: &str = "thinking-binding-controls-2026-08-01";

/// A model that thinks before it calls, for so many rounds.
fn thinker(rounds: u64) -> Script {
    let thinking = Some("The ledger of this run does not add up yet.".to_owned());
    let turn = Turn { thinking, calls: calls(), text: "I look further.".to_owned() };
    Script { turns: vec![turn], repeat: rounds, ..Script::default() }
}

fn agent(api: Api) -> Agent {
    let mut agent = Agent::new(api, "Find out why the deployment fails.");
    match api {
        Api::Anthropic => {
            agent.body["model"] = json!("claude-fable-5-2");
            agent.body["thinking"] = json!({"type": "adaptive"});
        }
        _ => {
            agent.body["model"] = json!("gpt-6.2");
            agent.body["reasoning"] = json!({"effort": "high"});
        }
    }
    agent
}

/// The signatures of the reasoning in a prompt, in order.
fn thoughts(api: Api, prompt: &Record) -> Vec<String> {
    let messages = prompt.body[api.history()].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match api {
        Api::Responses => messages.filter_map(|item| text(&item["encrypted_content"])).collect(),
        _ => {
            let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
            blocks.filter_map(|block| text(&block["signature"])).collect()
        }
    }
}

/// Works through several compressions, with a crash in between.
#[track_caller]
fn check(api: Api, streams: bool) {
    let mut serving = Serving::start(thinker(24), &["--prompt-limit", LIMIT]);
    let mut agent = agent(api);
    agent.streams = streams;
    for round in 0.. {
        if round == 11 || round == 17 {
            serving.kill();
            serving.go_on();
        }
        if !agent.round(&serving) {
            break;
        }
    }
    agent.say("And what is left to do?");
    agent.round(&serving);
    let prompts = serving.prompts();
    let compressions = serving.compressions();
    assert!(compressions >= 2, "{compressions}");
    let (mut rises, mut falls) = (0, 0);
    for pair in prompts.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|prompt| thoughts(api, prompt));
        match after.starts_with(&before) {
            true => rises += 1,
            // A compression takes all of it.
            false => {
                assert_eq!(after, Vec::<String>::new());
                falls += 1;
            }
        }
    }
    assert!(falls as u64 <= compressions && falls >= 2, "{falls} of {compressions}");
    assert!(rises > falls, "{rises} {falls}");
    for prompt in &prompts {
        assert_eq!(prompt.dropped, Vec::<String>::new(), "{}", prompt.body);
    }
    assert_eq!(serving.status()["all"]["input_transformations"], 0, "{}", serving.status());
}

#[test]
fn reasoning_leaves_with_what_it_is_bound_to() {
    check(Api::Anthropic, true);
    check(Api::Anthropic, false);
}

#[test]
fn reasoning_items_leave_with_what_they_are_bound_to() {
    check(Api::Responses, true);
}

/// A prompt that the provider calls invalid goes out as it came: a table of models that is wrong about
/// what binds stops no conversation.
#[test]
fn what_is_refused_as_it_was_made_goes_out_as_it_came() {
    let mut serving = Serving::start(thinker(24), &["--prompt-limit", LIMIT]);
    serving.kill();
    let table = "[[reasoning]]\nname = \"claude-fable-5-2\"\nbound = false\n";
    serving.place.write("models.toml", table);
    // Results go as they came, so that the reasoning is bound to what the agent says.
    let whole = "[profile.default.options.default.tool_results]\noffload_above = 1000000\noffload_share = 1.0\ndigest_from = 1000000\n";
    serving.place.write("epitome.toml", format!("models = \"models.toml\"\n{whole}"));
    serving.go_on();
    let mut agent = agent(Api::Anthropic);
    let mut skipped = 0;
    loop {
        let body = agent.request();
        let answer = serving.send(Ask::post(agent.api.path(), body.to_string()));
        assert_eq!(answer.status, 200, "{}", answer.text());
        if answer.header("x-epitome-skip") == Some("refused") {
            skipped += 1;
            assert_eq!(serving.upstream.prompts().pop().unwrap().body, body);
        }
        if !agent.take(&answer) {
            break;
        }
    }
    assert!(skipped >= 1, "nothing was refused");
    eventually("all are counted", || serving.status()["all"]["skips"]["refused"] == skipped);
    // A run of them is an alarm, as with everything that is not compressed.
    assert!(skipped >= 5, "{skipped}");
    let alarm = "one request after the other is not compressed";
    assert!(serving.said().contains(alarm), "{}", serving.said());
    // The journal has every answer, and claims nothing for what went out whole.
    let session = &serving.sessions()[0];
    assert_eq!(
        (serving.sessions().len(), &session["turns"]),
        (1, &session["answers"]),
        "{session}"
    );
    for tokens in [&session["tokens"], &session["total"]] {
        assert!(tokens[0].as_u64() > Some(0) && tokens[0] == tokens[1], "{session}");
    }
}

/// Results that are made smaller before they are first sent are part of the prompt that is bound.
#[test]
fn results_made_smaller_on_arrival_void_nothing() {
    let serving = Serving::start(thinker(4), &["--prompt-limit", "60000"]);
    let mut agent = agent(Api::Anthropic);
    agent.work(&serving);
    let prompts = serving.prompts();
    assert_eq!(serving.compressions(), 0);
    let last = prompts.last().unwrap();
    assert!(last.size < agent.request().to_string().len(), "nothing was made smaller");
    assert_eq!(thoughts(Api::Anthropic, last).len(), 4);
    assert_eq!(last.dropped, Vec::<String>::new());
}

/// A model with a budget to think is an older one: its reasoning stays, and that of a tool loop has
/// to (RULES 107).
#[test]
fn reasoning_that_is_bound_to_nothing_stays() {
    let serving = Serving::start(thinker(12), &["--prompt-limit", LIMIT]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    agent.body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    agent.work(&serving);
    assert!(serving.compressions() >= 1);
    let prompts = serving.prompts();
    assert!(prompts.iter().skip(1).all(|prompt| !thoughts(Api::Anthropic, prompt).is_empty()));
}

/// What was thought while a compression stood is void once that is taken back.
#[test]
fn reasoning_leaves_with_a_compression_that_is_taken_back() {
    let mut serving = Serving::start(thinker(24), &["--prompt-limit", LIMIT]);
    let mut agent = agent(Api::Anthropic);
    while serving.compressions() == 0 {
        agent.round(&serving);
    }
    agent.round(&serving);
    serving.kill();
    let undo = ["session", "undo", "--store", "s.db"];
    let ran = serving.place.run(undo);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // There is room for all of it now.
    serving.go_on_as(&["--prompt-limit", "90000"]);
    agent.round(&serving);
    let void = thoughts(Api::Anthropic, &serving.last());
    for _ in 0..3 {
        agent.round(&serving);
    }
    for prompt in serving.prompts() {
        assert_eq!(prompt.dropped, Vec::<String>::new(), "{}", prompt.body);
    }
    // What is thought after that stays.
    assert_eq!(serving.compressions(), 0, "one more came between");
    assert_eq!(thoughts(Api::Anthropic, &serving.last()).len(), void.len() + 3);
}

#[test]
fn what_a_provider_leaves_out_is_counted() {
    for streams in [true, false] {
        let serving = Serving::start(thinker(3), &[]);
        let mut agent = agent(Api::Anthropic);
        agent.streams = streams;
        agent.body["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
        agent.headers.push(("anthropic-beta".to_owned(), BETA.to_owned()));
        agent.round(&serving);
        agent.messages()[0]["content"] = json!("Find out why the deployment fails, and be quick.");
        agent.round(&serving);
        assert_eq!(serving.last().dropped, ["messages.1.content.0"]);
        // The figures are there once the answer has passed.
        eventually("both are counted", || serving.status()["all"]["requests"] == 2);
        let said = serving.status();
        assert_eq!(said["all"]["input_transformations"], 1, "{said}");
        eventually("input_transformations", || serving.said().contains("input_transformations"));
    }
}

#[test]
fn a_message_thread_is_declined_so_that_the_whole_history_comes() {
    let serving = Serving::start(thinker(1), &[]);
    let mut body = agent(Api::Anthropic).request();
    body["thread"] = json!({"type": "create"});
    serving.post("/v1/messages", &body);
    assert_eq!(serving.last().body.get("thread"), None);
    body["thread"] = json!({"type": "continue", "previous_message_id": "msg_1"});
    let refused = serving.send(Ask::post("/v1/messages", body.to_string()));
    let said = refused.json();
    assert_eq!((refused.status, &said["type"]), (400, &json!("error")), "{said}");
    assert_eq!(said["error"]["type"], "invalid_request_error", "{said}");
    assert_eq!(said["error"]["details"]["error_code"], "thread_unsupported_request", "{said}");
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.contains("beta_header:message-threads-2026-08-12"), "{message}");
    assert_eq!(serving.prompts().len(), 1);
}

/// A gateway may answer with another model than was asked for; names stay as they are.
#[test]
fn a_model_that_answers_by_another_name_breaks_nothing() {
    let serving = Serving::start(thinker(2), &["--prompt-limit", LIMIT]);
    let mut agent = agent(Api::Anthropic).with_id();
    for model in ["claude-fable-5-2", "claude-opus-4-8", "somebody/else"] {
        agent.body["model"] = json!(model);
        agent.round(&serving);
        assert_eq!(serving.last().body["model"], model);
    }
    assert_eq!(serving.sessions().len(), 1);
}
