//! The profile `watermark` in whole conversations (RULES 35 to 41). What single decisions come to
//! are tests of the policy itself.

use std::path::Path;
use std::sync::Arc;

use epitome::types::{Actor, Event, EventKind, RecordedAction, SessionAction};
use epitome::{
    CompactionUndo, Compressor, Config, ConfigSources, Format, MemoryStore, Prompt, Session,
    SessionArchive, WindowSetting, scope,
};
use epitome_testkit::{FixedCounter, now};
use serde_json::{Value as Json, json};

const AT: &str = "2026-01-02T03:04:05Z";
const MARK: &str = "mcp__epitome__deactivate_augments";
const SESSION: &str = "work";

/// A client of Anthropic's API over a journal.
struct Client {
    journal: Arc<MemoryStore>,
    session: Session,
    messages: Vec<Json>,
    calls: usize,
}

/// A session of the profile with these options over a journal.
fn session(journal: &Arc<MemoryStore>, options: &str, limit: u64, name: &str) -> Session {
    let toml = format!("[profile.watermark.options.watermark]\n{options}");
    let sources = ConfigSources::default().text(Path::new("epitome.toml"), &toml);
    Compressor::builder()
        .profile(Config::load(sources).unwrap().profile("watermark").unwrap())
        .counter(FixedCounter::Words)
        .window(WindowSetting::Limit(limit))
        .input_format(Format::Anthropic)
        .clock(|| AT.to_owned())
        .session(journal.clone(), Some(name))
}

/// So many words that were not said before.
fn words(name: &str, count: usize) -> String {
    (0..count).map(|word| format!("{name}-{word}")).collect::<Vec<_>>().join(" ")
}

impl Client {
    fn new(options: &str, limit: u64) -> Self {
        let journal = Arc::new(MemoryStore::new());
        let session = session(&journal, options, limit, SESSION);
        Self { journal, session, messages: Vec::new(), calls: 0 }
    }

    fn say(&mut self, role: &str, content: impl Into<Json>) {
        self.messages.push(json!({ "role": role, "content": content.into() }));
    }

    /// Calls these tools at once, with as many words in each call and result.
    fn call(&mut self, text: Option<&str>, tools: &[&str], count: usize) {
        let mut said: Vec<_> =
            text.map(|text| json!({ "type": "text", "text": text })).into_iter().collect();
        let mut results = Vec::new();
        for tool in tools {
            self.calls += 1;
            let (id, name) = (format!("t{}", self.calls), format!("r{}", self.calls));
            let input = json!({ "q": words(&format!("c{}", self.calls), count) });
            said.push(json!({ "type": "tool_use", "id": id, "name": tool, "input": input }));
            results.push(
                json!({ "type": "tool_result", "tool_use_id": id, "content": words(&name, count) }),
            );
        }
        self.say("assistant", said);
        self.say("user", results);
    }

    /// A round of work: a question, a call with its result, an answer.
    fn work(&mut self, tool: &str, count: usize) {
        let at = self.messages.len();
        self.say("user", words(&format!("u{at}"), count));
        self.call(None, &[tool], count);
        self.say("assistant", words(&format!("a{at}"), count));
    }

    fn send(&mut self) -> Prompt {
        send(&mut self.session, &self.messages)
    }
}

fn send(session: &mut Session, messages: &[Json]) -> Prompt {
    let request = json!({ "model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages });
    now(session.prompt_for(request.to_string().as_bytes())).unwrap()
}

fn sent(prompt: &Prompt) -> Vec<Json> {
    let body: Json = serde_json::from_slice(&prompt.bytes).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// The ids of the calls that are sent.
fn calls(prompt: &Prompt) -> Vec<String> {
    let messages = sent(prompt);
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let calls = blocks.filter(|block| block["type"] == "tool_use");
    calls.map(|block| block["id"].as_str().unwrap().to_owned()).collect()
}

/// The texts that are neither calls nor results, in order.
fn talk(messages: &[Json]) -> Vec<String> {
    let texts = messages.iter().flat_map(|message| match &message["content"] {
        Json::String(text) => vec![text.clone()],
        blocks => {
            let blocks = blocks.as_array().into_iter().flatten();
            blocks.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
        }
    });
    texts.collect()
}

/// Where the watermark moved: the message, the tool, how much left.
fn moved(events: &[Event]) -> Vec<(String, String, u32)> {
    let moved = events.iter().filter_map(|event| match &event.what {
        EventKind::WatermarkMoved { entry, tool, blocks, .. } => {
            Some((entry.clone(), tool.clone(), *blocks))
        }
        _ => None,
    });
    moved.collect()
}

fn warned(events: &[Event]) -> Vec<&str> {
    let warned = events.iter().filter_map(|event| match &event.what {
        EventKind::PolicyWarning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    warned.collect()
}

fn compressed(prompt: &Prompt) -> bool {
    prompt.events.iter().any(|event| matches!(event.what, EventKind::Compressed { .. }))
}

/// RULES 41: 100 messages of 500 tokens, half of them tool traffic, the mark behind message 80.
fn hundred() -> Vec<Json> {
    let mut client = Client::new("", 200_000);
    for round in 0..25 {
        client.work(if round == 20 { MARK } else { "read" }, 496);
    }
    client.messages
}

#[test]
fn the_mark_saves_40_percent_and_all_the_talk_is_kept() {
    let messages = hundred();
    assert_eq!(messages.len(), 100);
    let check = |prompt: &Prompt| {
        let [came, sent_tokens] = prompt.tokens;
        assert!((49_000..51_000).contains(&came), "{came}");
        let saved = 100.0 * (came - sent_tokens) as f64 / came as f64;
        assert!((38.0..=42.0).contains(&saved), "{saved} %");
        let sent = sent(prompt);
        assert_eq!(talk(&sent), talk(&messages));
        assert_eq!(calls(prompt), ["t21", "t22", "t23", "t24", "t25"]);
        // From the mark on all is as it was.
        assert_eq!(sent[sent.len() - 19..], messages[messages.len() - 19..]);
    };
    // All at once, as from a client that comes with a long history.
    let mut once = Client::new("", 200_000);
    let prompt = send(&mut once.session, &messages);
    check(&prompt);
    assert_eq!(moved(&prompt.events), [("e81".to_owned(), MARK.to_owned(), 40)]);
    // Turn by turn, as it was said.
    let mut client = Client::new("", 200_000);
    let turns = (1..=100).filter(|at| messages[at - 1]["role"] == "user");
    let prompts: Vec<_> = turns.map(|at| send(&mut client.session, &messages[..at])).collect();
    let changed = prompts.iter().filter(|prompt| compressed(prompt)).count();
    assert_eq!(changed, 1);
    check(&send(&mut client.session, &messages));
}

/// RULES 36, 37, and the rules of providers for what a message is made of.
#[test]
fn blocks_leave_and_text_stays_with_all_that_belongs_to_it() {
    let mut client = Client::new("", 200_000);
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png",
        "data": "iVBORw0KGgo=" } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let thinks = |text: &str| json!({ "type": "thinking", "thinking": text, "signature": "c2ln" });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
    let result = |id: &str, content: Json| json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    client.say("user", "Mend the parser.");
    // Parallel calls, with a text and thinking.
    client.say("assistant", json!([thinks("two files"), text("I look."), call("a"), call("b")]));
    client.say(
        "user",
        json!([
            result("a", json!("fn main")),
            result("b", json!([image])),
            text("Mind the tabs."),
            image
        ]),
    );
    // Nothing but thinking and a call.
    client.say("assistant", json!([thinks("again"), call("c")]));
    client.say("user", json!([result("c", json!("fn other"))]));
    // A tool that the provider runs.
    client.say("assistant", json!([text("I search."),
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "q" } },
        { "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] },
        text("Found it.")]));
    client.say("user", "Good.");
    // The mark, beside another call.
    client.say(
        "assistant",
        json!([text("Done."), call("d"),
        { "type": "tool_use", "id": "m", "name": "deactivate_augments", "input": {} }]),
    );
    client.say("user", json!([result("d", json!("ok")), result("m", json!("unloaded"))]));
    let messages = client.messages.clone();
    let prompt = client.send();
    let expected = json!([
        messages[0],
        { "role": "assistant", "content": [thinks("two files"), text("I look.")] },
        { "role": "user", "content": [text("Mind the tabs."), image] },
        { "role": "assistant", "content": [text("I search."), text("Found it.")] },
        messages[6], messages[7], messages[8],
    ]);
    assert_eq!(Json::Array(sent(&prompt)), expected);
    assert_eq!(moved(&prompt.events), [("e7".to_owned(), "deactivate_augments".to_owned(), 8)]);
}

/// RULES 35, 38: forward only, across restarts; between marks the prompt grows at its end alone.
#[test]
fn the_watermark_moves_forward_and_survives_a_restart() {
    let mut client = Client::new("", 200_000);
    client.work("read", 50);
    client.work(MARK, 5);
    client.say("user", "Next.");
    let mut last = client.send();
    assert_eq!(calls(&last), ["t2"]);
    for at in 0..4 {
        // New traffic behind the mark stays until the next one.
        client.call(Some("I look."), &["read"], 20);
        if at == 2 {
            client.session = session(&client.journal, "", 200_000, SESSION);
        }
        let prompt = client.send();
        assert_eq!(sent(&prompt)[..sent(&last).len()], sent(&last));
        assert!(!compressed(&prompt) && moved(&prompt.events).is_empty());
        last = prompt;
    }
    assert_eq!(calls(&last), ["t2", "t3", "t4", "t5", "t6"]);
    client.call(None, &["read", MARK], 5);
    let prompt = client.send();
    assert_eq!(calls(&prompt), ["t7", "t8"]);
    assert_eq!(talk(&sent(&prompt)), talk(&client.messages));
    assert_eq!(moved(&prompt.events).len(), 1);
    // Sent again, it is the same.
    assert_eq!(client.send().bytes, prompt.bytes);
}

/// RULES 35, 36: "Watermark not in this conversation: say so".
#[test]
fn a_watermark_that_is_taken_back_is_told_of() {
    let mut client = Client::new("", 200_000);
    client.work("read", 50);
    client.work(MARK, 5);
    client.say("user", "Next.");
    client.send();
    let fork = client.messages.clone();
    client.work("read", 50);
    client.work(MARK, 5);
    client.say("user", "Next.");
    assert_eq!(calls(&client.send()), ["t4"]);
    // Back behind the first mark: the second is gone, and the first counts.
    let mut messages = fork.clone();
    messages.push(json!({ "role": "assistant", "content": "Another way." }));
    messages.push(json!({ "role": "user", "content": "Yes?" }));
    let prompt = send(&mut client.session, &messages);
    assert_eq!(calls(&prompt), ["t2"]);
    let text = "the watermark is not in this conversation; the last mark in it counts";
    assert_eq!(warned(&prompt.events), [text]);
    // Back before any mark: all blocks are there, and nothing is changed.
    let early = &[&fork[..3], &[json!({ "role": "assistant", "content": "No." }), fork[4].clone()]]
        .concat();
    let prompt = send(&mut client.session, early);
    assert_eq!(sent(&prompt), *early);
    let text = "the watermark is not in this conversation; nothing is changed";
    assert_eq!(warned(&prompt.events), [text]);
    assert_eq!(warned(&send(&mut client.session, early).events), Vec::<&str>::new());
}

#[test]
fn what_is_taken_back_comes_back_and_stays() {
    let mut client = Client::new("", 200_000);
    client.work("read", 50);
    client.work(MARK, 5);
    client.say("user", "Next.");
    assert_eq!(calls(&client.send()), ["t2"]);
    let journal: Arc<dyn SessionArchive> = client.journal.clone();
    let profile = Config::load(ConfigSources::default()).unwrap().profile("watermark").unwrap();
    let scope = scope(profile.name());
    CompactionUndo::of(journal, &scope, SESSION).unwrap().undo(AT).unwrap();
    assert_eq!(sent(&client.send()), client.messages);
    // The agent's next mark leaves that alone; what the user asks for does not.
    client.call(None, &["read"], 50);
    client.call(None, &[MARK], 5);
    assert_eq!(calls(&client.send()), ["t1", "t4"]);
    client.say("assistant", "Done.");
    client.say("user", "Go on.");
    client.session.request_compression();
    let prompt = client.send();
    assert_eq!((calls(&prompt), talk(&sent(&prompt))), (vec![], talk(&client.messages)));
}

/// RULES 35: "the tool also sets a pending flag that the next request resolves and clears".
#[test]
fn what_was_asked_for_is_looked_at_once() {
    let mut client = Client::new("", 200_000);
    let ask = |client: &Client, tool: &str| {
        let act = SessionAction::Ask { tool: tool.to_owned() };
        let acted = RecordedAction { act, by: Actor::User, at: AT.to_owned() };
        let archive: &dyn SessionArchive = &*client.journal;
        archive.act(&scope("watermark"), SESSION, &[acted]).unwrap();
    };
    client.work("read", 50);
    client.say("user", "Next.");
    client.send();
    // A tool that left no call in this history marks nothing.
    ask(&client, MARK);
    assert_eq!(sent(&client.send()), client.messages);
    client.say("assistant", "Well.");
    client.say("user", "Go on.");
    ask(&client, "user");
    let prompt = client.send();
    assert_eq!(moved(&prompt.events), [("e6".to_owned(), String::new(), 2)]);
    client.call(None, &["read"], 50);
    assert!(!compressed(&client.send()));
}

/// RULES 39: automatic marks and task boundaries.
#[test]
fn marks_set_themselves_where_that_is_asked_for() {
    let check = |options: &str, expected: &[&str]| {
        let mut client = Client::new(options, 200_000);
        let mut all = Vec::new();
        for round in 0..4 {
            client.say("user", if round == 2 { "Next task: docs." } else { "Go on." });
            client.call(None, &["read"], 100);
            all.extend(moved(&client.send().events).into_iter().map(|(entry, ..)| entry));
            client.say("assistant", "Done.");
        }
        assert_eq!(all, expected, "{options}");
    };
    check("", &[]);
    check("auto_mark_tokens = 500", &["e10"]);
    check("auto_mark_messages = 6", &["e10"]);
    // What is said is looked at when it was sent, so the next request acts.
    check("boundaries = [\"^Next task\"]", &["e8"]);
}

/// Where the window forces more than a mark does, what marks took out stays out.
#[test]
fn above_the_bound_a_checkpoint_stands_for_the_oldest() {
    let limit = 4000;
    let mut client = Client::new("", limit);
    let mut compressions = 0;
    for round in 0..60 {
        let marks = round % 10 == 9;
        client.work(if marks { MARK } else { "read" }, if marks { 5 } else { 90 });
        client.say("user", "Go on.");
        let prompt = client.send();
        client.messages.pop();
        assert!(prompt.fits, "{round}: {:?}", prompt.tokens);
        compressions += usize::from(compressed(&prompt));
        let watermark = (round + 1) / 10 * 10;
        let numbers = calls(&prompt).into_iter().map(|id| id[1..].parse::<usize>().unwrap());
        let before: Vec<_> = numbers.filter(|&number| number < watermark).collect();
        assert_eq!(before, Vec::<usize>::new(), "{round}: {:#?}", prompt.events);
    }
    assert!(compressions > 8, "{compressions}");
    let errors = |event: &Event| {
        matches!(event.what, EventKind::CompressionError { .. } | EventKind::PolicyError { .. })
    };
    assert!(!client.send().events.iter().any(errors));
}

/// A history that grows into what was said before is sent as that was (RULES 62).
#[test]
fn a_history_that_comes_to_a_mark_again_is_sent_as_it_was() {
    let mut client = Client::new("", 200_000);
    client.work("read", 50);
    client.work(MARK, 5);
    client.say("user", "Next.");
    let ends = (1..=client.messages.len()).filter(|at| client.messages[at - 1]["role"] == "user");
    let ends: Vec<_> = ends.collect();
    let play = || {
        let mut session = session(&client.journal, "", 200_000, SESSION);
        ends.iter().map(|&at| send(&mut session, &client.messages[..at])).collect::<Vec<_>>()
    };
    let [first, again] = [play(), play()];
    assert_eq!(calls(&first[ends.len() - 1]), ["t2"]);
    for (at, (one, other)) in first.iter().zip(&again).enumerate() {
        assert_eq!(one.bytes, other.bytes, "{at}: {:#?}", other.events);
    }
}
