//! The profile `tiered` from outside (RULES 46 to 54): files in the client's folder before a prompt
//! names them, inputs that are on disk, the archive, an agent that forgets, and a team's own stop
//! hooks.

use epitome_upstream::Script;
use serde_json::{Value, json};

use crate::measure::{count, faults, readable};
use crate::playing::{events, played};
use crate::program::Place;
use crate::proxy::{Ask, Serving};
use crate::shipped::{RULES, recording};

const ARGS: [&str; 4] = ["--profile", "tiered", "--workspace", "."];

const TASK: &str =
    "Write the chapter on the heron cluster into heron.md, and never name the owls in it.";

/// Prose of about so many tokens, none of it twice.
fn prose(seed: u32, tokens: u64) -> String {
    let mut text = String::new();
    for at in 0.. {
        if count(&text) >= tokens {
            break;
        }
        let (a, b) = (seed * 7919 + at * 31, seed * 104_729 + at * 17);
        text.push_str(&format!(
            "Page {a} says that the keeper of house {b} went down to the river before the others \
             had come back.\n"
        ));
    }
    text
}

/// A history in Anthropic's format that begins with a task.
struct History(Vec<Value>);

impl History {
    fn new(task: &str) -> Self {
        Self(vec![json!({"role": "user", "content": task})])
    }

    fn says(mut self, text: &str) -> Self {
        self.0.push(json!({"role": "assistant", "content": text}));
        self
    }

    fn asks(mut self, text: &str) -> Self {
        self.0.push(json!({"role": "user", "content": text}));
        self
    }

    /// A call and its result.
    fn calls(mut self, tool: &str, input: Value, result: &str) -> Self {
        let id = format!("toolu_{}", self.0.len());
        self.0.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": tool, "input": input}]}));
        self.0.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": result}]}));
        self
    }

    /// So many short exchanges, after which what stands before is old.
    fn goes_on(self, times: usize) -> Self {
        (0..times).fold(self, |talk, at| {
            talk.says(&format!("Step {at} is done.")).asks(&format!("Good, take step {}.", at + 1))
        })
    }

    fn body(&self) -> Value {
        json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": self.0})
    }
}

/// Sends a history and gives the prompt that came of it, as a text.
#[track_caller]
fn sent(serving: &Serving, history: &History) -> String {
    sent_as("one", serving, history)
}

/// Sends a history of the conversation of this name: short answers and numbered calls prove nothing.
#[track_caller]
fn sent_as(name: &str, serving: &Serving, history: &History) -> String {
    let ask = Ask::post("/v1/messages", history.body().to_string());
    let answer = serving.send(ask.header("x-epitome-session", name));
    assert_eq!(answer.status, 200, "{}\nit said: {}", answer.text(), serving.said());
    let prompt = serving.last().body;
    assert_eq!(faults(&prompt), Vec::<String>::new());
    prompt.to_string()
}

/// The files in a folder below `.epitome`, with what they hold.
fn files(place: &Place, folder: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(place.path(&format!(".epitome/{folder}")));
    let names = entries.into_iter().flatten().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    let text = |name: &str| place.read(&format!(".epitome/{folder}/{name}"));
    names.iter().map(|name| (name.clone(), String::from_utf8(text(name)).unwrap())).collect()
}

/// "as an export to `offloaded/<YYYYMMDD_HHMMSS>_<tool>_<id8>.md`; in its place a reference"
#[test]
fn a_large_result_is_a_file_before_it_is_named() {
    let serving =
        Serving::start(Script::default(), &[&ARGS[..], &["--prompt-limit", "8000"]].concat());
    let page = prose(1, 2100);
    let history = History::new(TASK).calls("fetch page", json!({"n": 1}), &page);
    let prompt = sent(&serving, &history);
    let [(name, text)] = &files(&serving.place, "offloaded")[..] else { panic!("{prompt}") };
    assert!(text.contains(&page), "{text}");

    let (at, rest) = name.split_at(15);
    let digits = |text: &str| text.chars().all(|letter| letter.is_ascii_digit());
    assert!(digits(&at[..8]) && &at[8..9] == "_" && digits(&at[9..]), "{name}");
    let id = rest.strip_prefix("_fetch_page_").and_then(|rest| rest.strip_suffix(".md")).unwrap();
    assert!(id.len() == 8 && id.chars().all(|letter| letter.is_ascii_hexdigit()), "{name}");

    let reference = serving.last().body["messages"][2]["content"][0]["content"].clone();
    let reference = reference.as_str().unwrap().to_owned();
    let heading = format!("## Offloaded: fetch page result\n\n.epitome/offloaded/{name} holds it");
    assert!(reference.starts_with(&heading), "{reference}");
    let preview: String = page.lines().take(10).collect::<Vec<_>>().join("\n");
    let preview: String = preview.chars().take(500).collect();
    assert!(reference.contains(&format!("\n\n{preview}\n")), "{reference}");
    // The provider's own counter counts more tokens than ours.
    let saved = reference.split(" tokens saved").next().and_then(|text| text.rsplit(' ').next());
    let saved: u64 = saved.unwrap().parse().unwrap();
    assert!(saved >= count(&page) - count(&reference) && saved < 2500, "{saved}: {reference}");
    let lines = format!(" tokens in {} lines, ", page.lines().count());
    assert!(reference.contains(&lines), "{reference}");

    // Nothing of it changes with what comes behind it, and a restart finds it again.
    let before = serving.last().body["messages"].clone();
    sent(&serving, &history.says("It is about the river."));
    let after = serving.last().body["messages"].clone();
    assert_eq!(after.as_array().unwrap()[..3], before.as_array().unwrap()[..]);
}

/// "whose content is on disk *as written*"; "content that is not on disk is left alone"
#[test]
fn only_what_is_on_disk_as_written_is_truncated() {
    let serving =
        Serving::start(Script::default(), &[&ARGS[..], &["--prompt-limit", "4000"]].concat());
    let texts = [(1, 1000), (2, 200), (3, 200)].map(|(seed, tokens)| prose(seed, tokens));
    let write = |name: &str, text: &str| json!({"file_path": name, "content": text});
    let history = History::new(TASK)
        .calls("Write", write("same.md", &texts[0]), "written")
        .calls("Write", write("changed.md", &texts[1]), "written")
        .calls("Write", write("gone.md", &texts[2]), "written")
        .goes_on(4);
    serving.place.write("same.md", &texts[0]);
    serving.place.write("changed.md", texts[1].replace("river", "sea"));
    let size: u64 = history.0.iter().map(|message| count(&message.to_string())).sum();
    assert!((1500..2000).contains(&size), "{size}");
    let prompt = sent(&serving, &history);
    texts.iter().for_each(|text| assert!(prompt.contains(&json!(text).to_string())));

    // Over half of the limit, that which is there leaves.
    let history = history.asks(&prose(9, 700));
    let prompt = sent(&serving, &history);
    let input = &serving.last().body["messages"][1]["content"][0]["input"];
    assert_eq!(input["file_path"], "same.md");
    let line = input["content"].as_str().unwrap();
    assert!(
        line.starts_with("[Write: ") && line.contains(" tokens written to same.md, "),
        "{line}"
    );
    assert!(
        line.contains(" lines from \"Page 7919 says") && line.contains("; succeeded."),
        "{line}"
    );
    let stays: Vec<_> = texts.iter().map(|it| prompt.contains(&json!(it).to_string())).collect();
    assert_eq!(stays, [false, true, true], "{prompt}");
}

/// "archive the whole conversation as Markdown first, then a structured summary"; "over 85 %:
/// checkpoint, and recommend a fresh session, handing over the summary it starts from"
#[test]
fn an_archive_comes_before_a_summary_and_a_handover_behind_it() {
    let serving =
        Serving::start(Script::default(), &[&ARGS[..], &["--prompt-limit", "4000"]].concat());
    // Only a client that can run a command is told how to find what left.
    let talk = |words| {
        let history = History::new(TASK).calls("Bash", json!({"command": "ls"}), "notes.md");
        history.says(&prose(1, words)).asks("And the rest?").says(&prose(2, words))
    };
    // 75 % of 4000 are 3000, 85 % are 3400.
    let prompt = sent(&serving, &talk(1320).goes_on(3));
    let [(name, archive)] = &files(&serving.place, "archive")[..] else { panic!("{prompt}") };
    assert!(name.ends_with("_full.md"), "{name}");
    for said in [TASK, &prose(1, 1320), &prose(2, 1320), "Step 2 is done."] {
        assert!(archive.contains(said.trim()), "{said} is not in {archive}");
    }
    assert!(prompt.contains("[Summary ") && prompt.contains(TASK), "{prompt}");
    assert!(prompt.contains("Never assume that something is still in context"), "{prompt}");
    assert_eq!(files(&serving.place, "handover"), []);

    let prompt = sent_as("two", &serving, &talk(1600).says("Next."));
    let [(_, text)] = &files(&serving.place, "handover")[..] else { panic!("{prompt}") };
    assert!(text.contains("[Summary "), "{text}");
    assert_eq!(files(&serving.place, "archive").len(), 2);
}

/// A recording in OpenAI's format: an agent at work, and what it does after the summary, as calls
/// and texts.
fn work(after: &[Value]) -> Value {
    let mut talk = vec![
        json!({"role": "system", "content": "You work in a folder of notes."}),
        json!({"role": "user", "content": TASK}),
    ];
    let write = json!({"path": "outline.md", "content": "# Herons\n\nThe river, the nests.\n"});
    let read = |at: u32| ("read_file", json!({"path": format!("pages/{at}.txt")}), prose(at, 480));
    let mut steps = vec![("write_file", write, "written".to_owned())];
    steps.extend((1..=4).map(read));
    for step in steps {
        calls(&mut talk, step.0, &step.1, &step.2);
    }
    talk.extend(after.iter().cloned());
    for at in 11..=16 {
        let (tool, arguments, result) = read(at);
        calls(&mut talk, tool, &arguments, &result);
    }
    json!({"model": "gpt-4o", "messages": talk})
}

/// Adds a call with its result.
fn calls(talk: &mut Vec<Value>, tool: &str, arguments: &Value, result: &str) {
    let id = format!("call_{}", talk.len());
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    talk.push(json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": id, "type": "function", "function": function}]}));
    talk.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
}

/// Plays a recording, and gives its turns.
#[track_caller]
fn play(place: &Place, recording: &Value) -> Vec<Value> {
    place.write("work.json", recording.to_string());
    let args = ["replay", "work.json", "--profile", "tiered", "--prompt-limit", "2700"];
    let ran = place.run([&args[..], &["--dump", "prompts", "--json", "-q"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert!(summary["compressions"].as_u64() > Some(1), "{summary}");
    turns
}

/// The events of this name, in order.
fn told(turns: &[Value], name: &str) -> Vec<Value> {
    let all = turns.iter().flat_map(|turn| turn["events"].as_array().unwrap());
    all.filter(|event| event["event"] == name).cloned().collect()
}

/// What happened in each turn, for people.
fn course(turns: &[Value]) -> String {
    let line = |turn: &Value| {
        let names = events(turn).into_iter().filter(|name| !name.starts_with("checkpoint-"));
        format!("{}: {} {:?}", turn["turn"], turn["tokens_sent"], names.collect::<Vec<_>>())
    };
    turns.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// "Drift → a warning with trigger, intent and action, and recovery: search archive and offloaded
/// content for the original context and bring the excerpt back"
#[test]
fn an_agent_that_forgets_is_caught_and_given_the_excerpt() {
    let forgets = "What would you like me to do? Which file should I write?";
    let place = Place::new();
    let turns = play(
        &place,
        &work(&[
            json!({"role": "assistant", "content": forgets}),
            json!({"role": "user", "content": "go on"}),
        ]),
    );
    let [drift] = &told(&turns, "drift-detected")[..] else { panic!("{}", course(&turns)) };
    assert_eq!((&drift["policy"], &drift["level"]), (&json!("tiered"), &json!("soft")));
    assert_eq!(drift["trigger"], "a clarifying question");
    assert_eq!((&drift["intent"], &drift["action"]), (&json!(TASK), &json!(forgets)));
    let [recalled] = &told(&turns, "recalled")[..] else { panic!("{}", course(&turns)) };
    assert!(recalled["tokens"].as_u64().is_some_and(|it| it > 0 && it <= 500), "{recalled}");
    assert!(!recalled["sources"].as_array().unwrap().is_empty(), "{recalled}");
    // It comes back with the next request.
    let turn = turns.iter().position(|turn| events(turn).contains(&"recalled")).unwrap() + 1;
    let prompt = |turn: usize| readable(&place.read_json(&format!("prompts/{turn:04}.json")));
    let back = format!("found again for: {TASK}]");
    assert!(!prompt(turn).contains(&back), "{}", course(&turns));
    assert!(prompt(turn + 1).contains(&back), "{}\n{}", course(&turns), prompt(turn + 1));
}

/// "one that does not is left alone"
#[test]
fn an_agent_that_does_not_forget_is_left_alone() {
    let mut after = Vec::new();
    let arguments = json!({"path": "pages/2.txt"});
    calls(&mut after, "read_file", &arguments, &prose(2, 200));
    let arguments = json!({"path": "heron.md", "content": "# The heron cluster\n"});
    calls(&mut after, "write_file", &arguments, "written");
    after.push(json!({"role": "assistant", "content": "heron.md has its first chapter. Done."}));
    after
        .push(json!({"role": "user", "content": "Now add what the other pages say of the nests."}));
    let turns = play(&Place::new(), &work(&after));
    assert_eq!(told(&turns, "drift-detected"), [] as [Value; 0]);
    assert_eq!(told(&turns, "recalled"), [] as [Value; 0]);
}

/// "Declared in Lua; teams add their own": what the README shows is what runs.
#[test]
fn a_team_adds_stop_hooks_of_its_own() {
    let place = Place::new();
    let made = ["policy", "new", "team", "--from", "tiered", "-q"];
    assert_eq!(place.run(made).code, 0);
    let readme = include_str!("../../policies/tiered/README.md");
    let lua = readme.split("```lua\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    place.write(".epitome/policies/team/policy.lua", lua);
    let checked = place.run(["policy", "check", "team", "-q"]);
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));

    let push = json!({"command": "git push origin main"});
    let mut talk = History::new(TASK).says(&prose(1, 1150)).asks("Publish it.").0;
    talk[0] = json!({"role": "user", "content": TASK});
    let id = "toolu_push";
    talk.push(json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": id, "name": "bash", "input": push}]}));
    talk.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": id, "content": "pushed"}]}));
    talk.push(json!({"role": "assistant", "content": prose(2, 450)}));
    talk.push(json!({"role": "user", "content": "Thank you."}));
    place.write("talk.json", json!({"model": "claude-sonnet-4-5", "messages": talk}).to_string());
    let warnings = |limit: &str, mode: &str| {
        let args = ["replay", "talk.json", "--profile", "team", "--json", "-q"];
        let ran = place.run([&args[..], &["--prompt-limit", limit, "--mode", mode]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let (turns, summary) = played(&ran);
        let warned = told(&turns, "policy-warning");
        let warned: Vec<_> = warned.iter().map(|it| it["text"].to_string()).collect();
        assert!(
            !turns.iter().any(|turn| events(turn).contains(&"policy-error")),
            "{}",
            course(&turns)
        );
        (warned, summary["compressions"].as_u64().unwrap())
    };
    // It is warned of once half of the window is in use, and the stages behind go on as ever.
    let warning = json!("TEAM-001: nothing is pushed with half of the window in use").to_string();
    assert_eq!(warnings("8000", "code"), (vec![], 0));
    assert_eq!(warnings("2400", "code"), (vec![warning.clone()], 1));
    // While a review goes on nothing is summed up, unless the window forces it.
    assert_eq!(warnings("2400", "review"), (vec![warning], 0));
}

#[test]
fn the_shipped_recording_stays_within_its_limit() {
    let place = Place::new();
    place.write("session.jsonl", recording());
    let args = ["replay", "session.jsonl", "--profile", "tiered", "--prompt-limit", "6800"];
    let ran = place.run([&args[..], &["--dump", "prompts", "--json", "-q"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert_eq!(summary["prefix_kept"], json!(1.0), "{summary}");
    assert!(summary["compressions"].as_u64() > Some(10), "{summary}");
    assert_eq!(told(&turns, "drift-detected"), [] as [Value; 0]);
    let name = format!("prompts/{:04}.json", turns.len());
    let text = readable(&place.read_json(&name));
    RULES.iter().for_each(|rule| assert!(text.contains(rule), "{rule}"));
}
