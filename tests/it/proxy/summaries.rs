//! Clients that sum up a conversation of their own, as they do it: the model's answer stands in the
//! history that they go on with, and proves whose history that is (RULES 13).

use epitome_upstream::{Script, Turn};
use serde_json::json;

use super::agent::{Agent, Api, calls};
use super::serving::Serving;

const LIMIT: &str = "16000";
const TASK: &str = "Find out why the deployment fails.";
/// What a model decides in one conversation, and nobody in another.
pub(crate) const GOAL: &str = "Ship the heron importer";
pub(crate) const LOCK: &str = "Keep the pelican schema";

/// An answer to Claude Code's prompt for a summary.
pub(crate) const SUMMARY: &str = "<analysis>\nThe user asked for the cause of the failing deployment \
     first; I looked at logs and files in turn.\n</analysis>\n\n<summary>\n1. Primary Request and \
     Intent:\n   The user wants to know why the deployment of the billing service fails.\n\n2. Key \
     Technical Concepts:\n   - leases of a cluster\n   - the ledger that they are posted to\n\n3. \
     Errors and fixes:\n   - run 3 ran out of memory and was killed\n\n4. Pending Tasks:\n   Read \
     the file of the third run and name the cause.\n</summary>";

/// One of another conversation, in the same headings.
const OTHER: &str = "1. Primary Request and Intent:\n   The user looks for flights to Rome and hotels \
     near the station.\n\n2. Key Technical Concepts:\n   - fares\n\n3. Errors and fixes:\n   - the \
     second site refused the date\n\n4. Pending Tasks:\n   Compare the three hotels by their price.";

/// What Claude Code asks its model for.
const ASKS: &str = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Do NOT use Read, \
     Bash, Grep, Glob, Edit, Write, or ANY other tool.\n\nYour task is to create a detailed summary of \
     the conversation so far. It has these sections:\n\n1. Primary Request and Intent: what the user \
     asked for\n2. Key Technical Concepts: all that matter\n3. Errors and fixes: each of them\n4. \
     Pending Tasks: what is left";

fn start() -> Serving {
    Serving::start(script(), &["--prompt-limit", LIMIT])
}

fn script() -> Script {
    let turn = Turn { text: "I look.".into(), calls: calls(), ..Turn::default() };
    Script { turns: vec![turn], repeat: 9, ..Script::default() }
}

/// The text that Claude Code goes on with.
fn goes_on(summary: &str) -> String {
    format!(
        "This session is being continued from a previous conversation that ran out of context. The \
         summary below covers the earlier portion of the conversation.\n\n{summary}\n\nIf you need \
         specific details from before compaction (like exact code snippets, error messages, or \
         content you generated), read the full transcript at: /srv/dev/.claude/t.jsonl\n\
         Continue the conversation from where it left off without asking the user any further \
         questions."
    )
}

/// What Claude Code makes of an answer that sums up: it drops the analysis and the tags.
fn formatted(answer: &str) -> String {
    let kept = answer.split_once("</analysis>").map_or(answer, |(_, kept)| kept);
    let inner = kept.split_once("<summary>").and_then(|(_, it)| it.split_once("</summary>"));
    inner.map_or(kept.trim().to_owned(), |(inner, _)| format!("Summary:\n{}", inner.trim()))
}

/// Asks for a summary as Claude Code does; the model answers with this one. Gives what it goes on with.
#[track_caller]
pub(crate) fn summarize(agent: &Agent, serving: &Serving, summary: &str) -> String {
    let turn = Turn { text: summary.to_owned(), ..Turn::default() };
    serving.upstream.follow(Script { turns: vec![turn], repeat: 99, ..Script::default() });
    let mut asking = agent.clone();
    asking.say(ASKS);
    let answer = asking.send(serving, asking.request().to_string().into_bytes()).json();
    serving.upstream.follow(script());
    goes_on(&formatted(answer["content"][0]["text"].as_str().unwrap()))
}

/// Goes on with a new history that begins with this; gives the name of the session.
#[track_caller]
pub(crate) fn go_on(agent: &mut Agent, serving: &Serving, text: &str) -> String {
    agent.messages().clear();
    let reminder =
        "<system-reminder>\n# currentDate\nToday's date is 2026-11-21.\n</system-reminder>";
    agent.messages().push(json!({"role": "user", "content": [
        {"type": "text", "text": reminder}, {"type": "text", "text": text},
        {"type": "text", "text": "Continue."}]}));
    session(agent, serving)
}

#[track_caller]
fn session(agent: &Agent, serving: &Serving) -> String {
    let answer = agent.send(serving, agent.request().to_string().into_bytes());
    answer.header("x-epitome-session").unwrap().to_owned()
}

fn goals(serving: &Serving, session: &str) -> String {
    let args = ["goal", "list", "--session", session, "--store", "s.db"];
    serving.place.run(args).text().to_owned()
}

/// A conversation under the client's id in which a model decided something.
pub(crate) fn decided(serving: &Serving) -> (Agent, String) {
    let mut agent = Agent::new(Api::Anthropic, TASK).with_id();
    let marked = format!("[GOAL] {GOAL}\n[DECISION] {LOCK} - LOCKED\nOn it.");
    agent.round(serving);
    agent.messages().push(json!({"role": "assistant", "content": marked}));
    agent.say("Go on.");
    agent.work(serving);
    let session = session(&agent, serving);
    assert!(goals(serving, &session).contains(LOCK));
    (agent, session)
}

/// Runs another conversation of the same client that begins with this; none of the first one's may be
/// in it.
#[track_caller]
fn stays_apart(serving: &Serving, first: &str, begins: &str) {
    let before = serving.prompts().len();
    let mut other = Agent::new(Api::Anthropic, TASK).with_id();
    other.body["system"] = json!("You are a search agent.");
    let named = go_on(&mut other, serving, begins);
    assert_ne!(named, first, "{begins}");
    other.work(serving);
    for prompt in &serving.prompts()[before..] {
        let body = prompt.body.to_string();
        assert!(!body.contains(GOAL) && !body.contains(LOCK), "{begins}: {body}");
    }
    let listed = goals(serving, &named);
    assert!(listed.contains("no goal is set"), "{begins}: {listed}");
}

/// An id of a client and its words for a summary are no proof: what was said has to be in common.
#[test]
fn a_summary_of_something_else_gets_nothing_of_the_session() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let serving = start();
            let (_, session) = decided(&serving);
            stays_apart(&serving, &session, &goes_on(OTHER));
        });
        for (answer, begins) in [(SUMMARY, OTHER), ("Done.", "Done.")] {
            scope.spawn(move || {
                let serving = start();
                let (agent, session) = decided(&serving);
                summarize(&agent, &serving, answer);
                stays_apart(&serving, &session, &goes_on(begins));
            });
        }
    });
}

/// What the session is known by stands in the store, so it is known after a crash, and elsewhere.
#[test]
fn a_summary_is_known_after_a_restart() {
    let mut serving = start();
    let (mut agent, first) = decided(&serving);
    let text = summarize(&agent, &serving, SUMMARY);
    serving.stop();
    serving.go_on();
    stays_apart(&serving, &first, &goes_on(OTHER));
    assert_eq!(go_on(&mut agent, &serving, &text), first);
    agent.work(&serving);
    let prompt = serving.last().body.to_string();
    assert!(prompt.contains(LOCK), "{prompt}");
}

/// Codex keeps what the user typed, and puts the answer behind it.
#[test]
fn codex_goes_on_behind_what_was_typed() {
    let serving = start();
    let mut agent = Agent::new(Api::Responses, TASK);
    agent.headers.push(("session-id".to_owned(), "codex-one".to_owned()));
    agent.work(&serving);
    let first = session(&agent, &serving);
    let summary = "The deployment fails because run 3 runs out of memory.\n- The log of run 3 has the \
                   fatal line.\n- Next: read the file of the third run.";
    let turn = Turn { text: summary.to_owned(), ..Turn::default() };
    serving.upstream.follow(Script { turns: vec![turn], repeat: 99, ..Script::default() });
    let mut asking = agent.clone();
    asking.say("You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.");
    asking.body.as_object_mut().unwrap().remove("tools");
    let answer = asking.send(&serving, asking.request().to_string().into_bytes()).json();
    serving.upstream.follow(script());
    let text = answer["output"][0]["content"][0]["text"].as_str().unwrap();
    let frame = "Another language model started to solve this problem and produced a summary of its \
                 thinking process. Here is the summary produced by the other language model:";
    for (summary, is_own) in [(OTHER, false), (text, true)] {
        let mut after = agent.clone();
        after.messages().clear();
        after.say(TASK);
        after.say(&format!("{frame}\n{summary}"));
        assert_eq!(session(&after, &serving) == first, is_own, "{summary}");
    }
}
