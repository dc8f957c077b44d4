//! An agent that marks the end of a task through the proxy (RULES 35 to 41): what reaches the
//! provider from then on has no tool block before that call, and all of the talk.

use epitome_upstream::{Call, Script, Turn};
use serde_json::{Value, json};

use super::agent::{APIS, Agent, Api, calls};
use super::serving::Serving;
use crate::program::Ran;

const MARK: &str = "deactivate_augments";
const TASK: &str = "Find out why the deployment fails.";
const ARGS: [&str; 4] = ["--profile", "watermark", "--prompt-limit", "100000"];

/// A model that works twice, marks the end of that beside another call, and works once more.
fn script() -> Script {
    let turn = |calls| Turn { calls, ..Turn::default() };
    let mark = [MARK, "read_file"].map(|name| Call::new(name, json!({"n": "{turn}"})));
    let turns = vec![turn(calls()), turn(calls()), turn(mark.to_vec()), turn(calls())];
    Script { turns, ..Script::default() }
}

/// An agent that has the tool.
fn agent(api: Api, streams: bool) -> Agent {
    let mut agent = Agent::new(api, TASK);
    let tool = api.tool(MARK);
    agent.body["tools"].as_array_mut().unwrap().push(tool);
    agent.streams = streams;
    agent
}

/// The history of the last prompt, as it went out.
fn history(api: Api, serving: &Serving) -> Vec<Value> {
    serving.last().body[api.history()].as_array().unwrap().clone()
}

/// Whether a message or an item of a history calls a tool or answers one.
fn has_tools(item: &Value) -> bool {
    let blocks = item["content"].as_array().map_or(&[][..], Vec::as_slice);
    let mut types = blocks.iter().chain([item]).filter_map(|block| block["type"].as_str());
    types.any(|of| of.starts_with("tool_") || of.starts_with("function_call"))
        || item["role"] == "tool"
        || !item["tool_calls"].is_null()
}

/// What is said in a history beside calls and results, in order.
fn talk(items: &[Value]) -> Vec<&str> {
    let said = items.iter().filter(|item| item["role"] != "tool").flat_map(|item| {
        let blocks = item["content"].as_array().into_iter().flatten();
        item["content"].as_str().into_iter().chain(blocks.filter_map(|it| it["text"].as_str()))
    });
    said.filter(|text| !text.is_empty()).collect()
}

fn place_of_mark(items: &[Value]) -> usize {
    items.iter().position(|item| item.to_string().contains(MARK)).unwrap()
}

/// Works until the model calls nothing any more, then looks at the last prompt.
#[track_caller]
fn check(serving: &Serving, api: Api, streams: bool) -> Agent {
    let mut agent = agent(api, streams);
    agent.work(serving);
    let (sent, said) = (history(api, serving), agent.messages().clone());
    let mark = place_of_mark(&sent);
    assert!(sent[..mark].iter().all(|item| !has_tools(item)), "{api:?} {streams}: {sent:#?}");
    // The last answer came after the last prompt.
    let behind = said.len() - place_of_mark(&said) - (sent.len() - mark);
    assert_eq!(sent[mark..], said[place_of_mark(&said)..said.len() - behind], "{api:?}");
    let (shown, all) = (talk(&sent), talk(&said));
    assert_eq!(shown[..], all[..shown.len()], "{api:?} {streams}");
    assert!(all.len() <= shown.len() + 1);
    agent
}

fn journal(serving: &Serving, args: &[&str]) -> Ran {
    serving.place.run([args, &["--store", "s.db", "--profile", "watermark"]].concat())
}

#[test]
fn what_stands_before_a_mark_is_talk_in_every_api() {
    let serving = Serving::start(script(), &ARGS);
    for api in APIS {
        for streams in [false, true] {
            check(&serving, api, streams);
        }
    }
}

#[test]
fn no_other_session_is_touched_and_an_undo_brings_the_blocks_back() {
    let serving = Serving::start(script(), &ARGS);
    let mut agent = check(&serving, Api::Anthropic, false);
    // Somebody else works without a mark.
    let mut other = Agent::new(Api::Anthropic, "Look at the heron cluster.");
    other.work(&serving);
    let sent = history(Api::Anthropic, &serving);
    assert_eq!(sent[..], other.messages()[..sent.len()]);

    let list = journal(&serving, &["session", "list", "--json"]).json();
    let marked = list.as_array().unwrap().iter().find(|it| it["compressions"] == 1).unwrap();
    let name = marked["session"].as_str().or(marked["name"].as_str()).unwrap().to_owned();
    let status = journal(&serving, &["status", "--session", &name, "--json"]).json();
    assert_eq!(status["watermark"]["tool"], MARK, "{status}");
    assert_eq!(status["watermark"]["blocks"], 8, "{status}");
    assert_eq!(status["marks"][0]["marks"], 1, "{status}");
    assert_eq!(journal(&serving, &["session", "undo", &name, "-q"]).code, 0);
    agent.say("And the second cluster?");
    agent.round(&serving);
    let sent = history(Api::Anthropic, &serving);
    assert_eq!(sent[..], agent.messages()[..sent.len()]);
    // A fork before the mark never lost anything.
    let at = place_of_mark(agent.messages());
    agent.messages().truncate(at);
    agent.say("Another way, please.");
    let expected = agent.messages().clone();
    agent.round(&serving);
    assert_eq!(history(Api::Anthropic, &serving), expected);
}

#[test]
fn a_new_process_goes_on_with_the_same_prefix() {
    let mut serving = Serving::start(script(), &ARGS);
    let mut agent = agent(Api::Anthropic, true);
    (0..4).for_each(|_| assert!(agent.round(&serving)));
    let before = history(Api::Anthropic, &serving);
    serving.kill();
    serving.go_on();
    agent.round(&serving);
    let after = history(Api::Anthropic, &serving);
    assert_eq!(after[..before.len()], before);
    assert!(after.len() > before.len() && !has_tools(&after[1]), "{after:#?}");
}

#[test]
fn augments_that_are_active_stand_whole_behind_what_a_mark_took_out() {
    let text = "Ports are those of the heron cluster; ask before you use others.";
    let mut serving = Serving::start(script(), &[&ARGS[..], &["--workspace", "."]].concat());
    let file = format!("---\ntitle: Ports\npinned: true\n---\n{text}\n");
    std::fs::create_dir_all(serving.place.path("augments/work")).unwrap();
    serving.place.write("augments/work/ports.md", file);
    serving.kill();
    serving.go_on();
    let mut agent = agent(Api::Anthropic, false);
    agent.work(&serving);
    let sent = history(Api::Anthropic, &serving);
    let mark = place_of_mark(&sent);
    let block = sent[mark - 1].to_string();
    assert!(sent[mark - 1]["role"] == "user" && block.contains(text), "{sent:#?}");
    assert_eq!(talk(&sent).iter().filter(|said| said.contains(text)).count(), 1);
    assert!(sent[..mark].iter().all(|item| !has_tools(item)));
}

#[test]
fn notes_that_stood_behind_results_stay_and_are_taken() {
    let serving = Serving::start(script(), &ARGS);
    let mut agent = agent(Api::Anthropic, true);
    let mut notes = 0;
    while agent.round(&serving) {
        // Of equal notes the newest would stay alone.
        let note = format!("Be brief{}.", " and clear".repeat(notes));
        agent.messages().push(json!({"role": "system", "content": note}));
        notes += 1;
    }
    let sent = history(Api::Anthropic, &serving);
    let mark = place_of_mark(&sent);
    assert!(sent[..mark].iter().all(|item| !has_tools(item)), "{sent:#?}");
    assert_eq!(talk(&sent).iter().filter(|said| said.contains("Be brief")).count(), notes);
    assert!(sent[..mark].iter().all(|item| item["role"] != "system"));
    assert!(sent[mark..].iter().any(|item| item["role"] == "system"));
}
