//! What clients do to their history: write it anew, move markers, edit, rewind, compact, and run
//! several conversations at once.

use epitome_upstream::{Script, Turn};
use serde_json::{Value, json};

use super::agent::{Agent, Api, calls};
use super::http::Ask;
use super::serving::Serving;
use super::sessions::{breaks, history};
use super::summaries::{SUMMARY, go_on, summarize};

const LIMIT: &str = "16000";

fn agent(task: &str) -> Agent {
    Agent::new(Api::Anthropic, task)
}

/// The same value written otherwise: other order of members, other spaces, other escapes.
fn rewritten(value: &Value, turn: usize, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if turn % 2 == 1 {
                members.reverse();
            }
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { [",", ", ", " ,\n "][turn % 3] });
                out.push_str(&format!("\"{key}\":{}", ["", " "][turn % 2]));
                rewritten(value, turn, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, value) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                rewritten(value, turn, out);
            }
            out.push(']');
        }
        Value::String(text) if turn % 2 == 1 => {
            out.push('"');
            for c in text.chars() {
                match c {
                    'e' | '"' | '\\' | '\u{0}'..='\u{1f}' => {
                        out.push_str(&format!("\\u{:04x}", u32::from(c)));
                    }
                    c => out.push(c),
                }
            }
            out.push('"');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[test]
fn a_client_may_write_its_history_anew_every_turn() {
    let serving = Serving::start(Script::agent(8, calls()), &["--prompt-limit", LIMIT]);
    let mut agent = agent("Find out why the deployment fails.");
    let mut turn = 0;
    loop {
        let mut bytes = String::new();
        rewritten(&agent.request(), turn, &mut bytes);
        assert_eq!(serde_json::from_str::<Value>(&bytes).unwrap(), agent.request());
        let answer = agent.send(&serving, bytes.into_bytes());
        turn += 1;
        if !agent.take(&answer) {
            break;
        }
    }
    let (broken, compressions) =
        (breaks(Api::Anthropic, &serving.prompts()), serving.compressions());
    assert!(compressions >= 1 && broken as u64 <= compressions, "{broken} {compressions}");
    assert_eq!(serving.sessions().len(), 1, "{:?}", serving.sessions());
}

#[test]
fn a_text_may_become_a_block_and_lose_its_marker() {
    // Claude Code sends its last message as a marked block, and later as a bare text.
    let serving = Serving::start(Script::agent(3, calls()), &["--prompt-limit", "100000"]);
    let mut agent = agent("Find out why the deployment fails.").with_id();
    agent.marks = true;
    agent.work(&serving);
    agent.say("And now the second cluster.");
    agent.round(&serving);
    agent.say("Sum up.");
    agent.round(&serving);
    assert_eq!(breaks(Api::Anthropic, &serving.prompts()), 0);
    assert_eq!(serving.sessions().len(), 1, "{:?}", serving.sessions());
}

#[test]
fn volatile_lines_are_no_part_of_a_conversation() {
    let serving = Serving::start(Script::agent(2, calls()), &["--prompt-limit", "100000"]);
    let mut agent = agent("Find out why the deployment fails.");
    let reminder = |day: u32| {
        json!([{"type": "text", "text": format!("<system-reminder>\n# currentDate\nToday's date is 2026-11-{day}.\n</system-reminder>")},
            {"type": "text", "text": "Find out why the deployment fails."}])
    };
    agent.messages()[0]["content"] = reminder(21);
    let billing = |build: &str| {
        format!("x-anthropic-billing-header: cc_version=2.1.197.{build}; cc_entrypoint=sdk-cli;")
    };
    agent.body["system"] = json!([{"type": "text", "text": billing("6c5")},
        {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]);
    agent.round(&serving);
    agent.round(&serving);
    let shrunk = history(Api::Anthropic, &serving.last())[2].clone();
    agent.body["system"][0]["text"] = json!(billing("f9d"));
    agent.messages()[0]["content"] = reminder(22);
    agent.round(&serving);
    assert_eq!(serving.sessions().len(), 1, "{:?}", serving.sessions());
    // What the client says now goes out as it is, and what was decided stays decided.
    let last = serving.last();
    assert!(last.body.to_string().contains("2026-11-22") && last.body.to_string().contains("f9d"));
    assert_eq!(history(Api::Anthropic, &last)[2], shrunk);
}

#[test]
fn a_rewind_and_an_edit_are_branches() {
    let serving = Serving::start(Script::agent(6, calls()), &["--prompt-limit", LIMIT]);
    let mut agent = agent("Find out why the deployment fails.");
    let mut early = agent.clone();
    for round in 0..6 {
        agent.round(&serving);
        if round == 1 {
            early = agent.clone();
        }
    }
    // Back to the second round, and on with another word.
    let mut rewound = early;
    let note = json!({"type": "text", "text": "Look at the heron cluster."});
    rewound.messages().last_mut().unwrap()["content"].as_array_mut().unwrap().push(note);
    let answered = rewound.messages().len();
    rewound.round(&serving);
    let prompt = serving.last();
    assert!(prompt.body.to_string().contains("heron"), "{}", prompt.body);
    assert!(history(Api::Anthropic, &prompt).len() <= answered);
    // The first branch goes on as if nothing had happened.
    agent.round(&serving);
    assert!(!serving.last().body.to_string().contains("heron"));
    // An edited task: nothing of the old one comes back.
    agent.messages()[0]["content"] = json!("Find out why the osprey fails.");
    agent.round(&serving);
    let edited = serving.last().body.to_string();
    assert!(edited.contains("osprey") && !edited.contains("why the deployment fails"), "{edited}");
}

#[test]
fn two_conversations_with_one_opening_never_mix() {
    let serving = Serving::start(Script::agent(6, calls()), &["--prompt-limit", LIMIT]);
    // Same system, same first words, same label; what differs comes later.
    let label = ("x-claude-code-session-id".to_owned(), "one".to_owned());
    let mut agents = ["heron", "osprey", "wren"].map(|secret| {
        let mut agent = agent("Find out why the deployment fails.");
        agent.headers.push(label.clone());
        (secret, agent)
    });
    for round in 0..8 {
        for (secret, agent) in &mut agents {
            if round == 1 {
                let last = agent.messages().last_mut().unwrap();
                let note = json!({"type": "text", "text": format!("The password of {secret} is {secret}-77.")});
                last["content"].as_array_mut().unwrap().push(note);
            }
            agent.round(&serving);
            let prompt = serving.last().body.to_string();
            for other in ["heron", "osprey", "wren"].iter().filter(|it| *it != secret) {
                assert!(!prompt.contains(other), "round {round}: {secret} sees {other}");
            }
        }
    }
    assert!(serving.compressions() >= 3, "{:?}", serving.sessions());
}

#[test]
fn conversations_run_at_once() {
    let serving = Serving::start(Script::agent(5, calls()), &["--prompt-limit", LIMIT]);
    std::thread::scope(|scope| {
        for task in 0..6 {
            let serving = &serving;
            scope.spawn(move || {
                let mut agent =
                    agent(&format!("tag:task{task} Find out why the deployment fails."));
                loop {
                    let answer = agent.send(serving, agent.request().to_string().into_bytes());
                    let mine = format!("to tag:task{task}.");
                    assert!(answer.text().contains(&mine), "{mine}: {}", answer.text());
                    if !agent.take(&answer) {
                        break;
                    }
                }
            });
        }
    });
    assert_eq!(serving.prompts().len(), 36);
    assert_eq!(serving.sessions().len(), 6, "{:?}", serving.sessions());
}

#[test]
fn a_client_that_compacts_itself_goes_on_under_its_name() {
    let serving = Serving::start(Script::agent(3, calls()), &["--prompt-limit", "100000"]);
    let mut agent = agent("Find out why the deployment fails.");
    let label = "00000000-0000-4000-8000-000000000001";
    agent.headers.push(("x-claude-code-session-id".to_owned(), label.to_owned()));
    agent.body["metadata"] = json!({"user_id": json!({"session_id": label}).to_string()});
    agent.work(&serving);
    let name = |serving: &Serving, agent: &Agent| {
        let answer = agent.send(serving, agent.request().to_string().into_bytes());
        answer.header("x-epitome-session").unwrap().to_owned()
    };
    let before = name(&serving, &agent);
    let mut after = agent.clone();
    let text = summarize(&agent, &serving, SUMMARY);
    assert_eq!(go_on(&mut after, &serving, &text), before);
    // A subagent under the same label is somebody else.
    let mut other = Agent::new(Api::Anthropic, "You search files. Find the lease.");
    other.headers.clone_from(&agent.headers);
    other.body["system"] = json!("You are a search agent.");
    let other = name(&serving, &other);
    assert_ne!(other, before);
    serving.prompts();
}

#[test]
fn a_title_request_passes_beside_the_session() {
    let serving = Serving::start(Script::agent(2, calls()), &["--prompt-limit", "100000"]);
    let title = json!({"model": "gpt-4o", "max_tokens": 4096, "messages": [
        {"role": "system", "content": "You are a title generator. You output ONLY a thread title. Nothing else."},
        {"role": "user", "content": "Generate a title for this conversation:\n"},
        {"role": "user", "content": "\"read a.txt\""}]});
    let mut agent = Agent::new(Api::Chat, "read a.txt");
    agent.headers.push(("x-session-id".to_owned(), "ses_1".to_owned()));
    let ask = Ask::post("/v1/chat/completions", title.to_string()).header("x-session-id", "ses_1");
    assert_eq!(serving.send(ask).status, 200);
    assert_eq!(serving.last().body, title, "a small request goes out as it came");
    agent.work(&serving);
    assert_eq!(breaks(Api::Chat, &serving.prompts()[1..]), 0);
}

#[test]
fn a_model_that_thinks_gets_its_thoughts_back() {
    let turn = Turn { thinking: Some("Both.".into()), text: "I look.".into(), calls: calls() };
    let script = Script { turns: vec![turn], repeat: 9, ..Script::default() };
    let serving = Serving::start(script, &["--prompt-limit", LIMIT]);
    // The upstream refuses a latest assistant message whose thinking is gone or changed.
    let mut agent = agent("Find out why the deployment fails.");
    agent.body["thinking"] = json!({"type": "enabled", "budget_tokens": 2000});
    (agent.streams, agent.marks) = (true, true);
    agent.work(&serving);
    let mut agent = Agent::new(Api::Responses, "Find out why the deployment fails.");
    agent.body["reasoning"] = json!({"summary": "auto"});
    agent.streams = true;
    agent.work(&serving);
    assert!(serving.compressions() >= 2);
    serving.prompts();
}
