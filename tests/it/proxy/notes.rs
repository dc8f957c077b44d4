//! What clients state beside the talk: files in the chat, the environment, reminders (RULES 16).

use epitome_upstream::{Call, Script};
use serde_json::{Value, json};

use super::agent::{Agent, Api, calls};
use super::faults::eventually;
use super::serving::Serving;

/// A file of so many lines that an edit needs word for word.
fn file(name: &str, lines: usize) -> String {
    let line = |i: usize| format!("def {name}_{i}(ledger): return ledger.post(\"{name}-{i}\")\n");
    (0..lines).map(line).collect()
}

/// The files in the chat as aider sends them.
fn in_chat(files: &[(String, String)]) -> String {
    let opening = "I have *added these files to the chat* so you can go ahead and edit them.\n\n*Trust \
        this message as the true contents of these files!*\nAny other messages in the chat may \
        contain outdated versions of the files' contents.\n";
    let listed = files.iter().map(|(name, text)| format!("\n{name}\n```\n{text}```\n"));
    opening.to_owned() + &listed.collect::<String>()
}

/// A request of aider: its example, what was said, the files as they are now, and what is asked.
fn aider(done: &[Value], files: &[(String, String)], asked: &str) -> Value {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut messages = vec![
        said("system", "Act as an expert software developer.\nReply in English."),
        said("user", "Change the greeting to be more casual"),
        said(
            "assistant",
            "Ok, I will:\n\n1. Switch the greeting text from \"Hello\" to \"Hey\".\n\n\
             show_greeting.py\n```\nimport sys\n```",
        ),
        said(
            "user",
            "I switched to a new code base. Please don't consider the above files or try to edit \
             them any longer.",
        ),
        said("assistant", "Ok."),
    ];
    messages.extend(done.iter().cloned());
    messages.push(said("user", &in_chat(files)));
    messages.push(said("assistant", "Ok, any changes I propose will be to those files."));
    let format = "To suggest changes to a file you MUST return the entire content of the updated \
        file.\nYou MUST use this *file listing* format.";
    messages.push(said("user", &format!("{asked}\n\n{format}")));
    json!({"model": "gpt-4o", "temperature": 0, "stream": false, "messages": messages})
}

/// All texts of a prompt.
fn texts(body: &Value) -> Vec<String> {
    let of = |content: &Value| match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks
            .iter()
            .flat_map(|it| [&it["text"], &it["content"]])
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    body["messages"].as_array().unwrap().iter().flat_map(|it| of(&it["content"])).collect()
}

/// The reproduction of a user of aider whose files were cut under the edit: three files and a talk
/// that grows beside them, in a window that holds the files and little more.
#[test]
fn files_in_the_chat_of_aider_are_whole_in_every_prompt() {
    let serving = Serving::start(Script::default(), &["--prompt-limit", "16000"]);
    let names = ["f00.txt", "f01.txt", "f02.txt"];
    let mut files: Vec<_> =
        names.iter().map(|name| ((*name).to_owned(), file(&name[..3], 190))).collect();
    let mut done = Vec::new();
    for turn in 0..9 {
        let asked = format!("Round {turn}: rename the {turn}th function of f00.txt.");
        let body = aider(&done, &files, &asked);
        serving.post("/v1/chat/completions", &body);
        let sent = texts(&serving.last().body);
        let holds = |text: &str| sent.iter().any(|it| it.contains(text));
        for (name, text) in &files {
            assert!(holds(text), "turn {turn}: {name} is not whole");
        }
        assert!(holds(&asked) && holds("You MUST use this *file listing* format."), "turn {turn}");
        for pointer in ["epitome recall", ".epitome/", "[…", "Show me"] {
            assert!(!holds(pointer), "turn {turn} points somewhere: {pointer}");
        }
        assert!(!holds("Asked for:\n- Change the greeting"), "turn {turn}: {sent:#?}");
        let greeting = sent.iter().filter(|it| it.contains("greeting to be more casual")).count();
        assert_eq!(greeting, 1, "turn {turn}: the example is said again");
        // The model returns the file that it was asked to change.
        files[0].1 = files[0].1.replacen("def f00_", &format!("def renamed{turn}_f00_"), 1);
        done.push(json!({"role": "user", "content": asked}));
        let reply = format!("f00.txt\n```\n{}```\nDone with round {turn}.", files[0].1);
        done.push(json!({"role": "assistant", "content": reply}));
    }
    assert!(serving.compressions() > 0, "nothing was compressed: {}", serving.said());
}

/// Files that do not fit with all else gone go out as the client sent them (RULES 6).
#[test]
fn files_that_cannot_fit_go_out_as_they_came() {
    let serving = Serving::start(Script::default(), &["--prompt-limit", "3000"]);
    let files = [("f00.txt".to_owned(), file("f00", 300))];
    let done = [("user", "Tell me of it. "), ("assistant", "It is long. ")];
    let done = done.map(|(role, text)| json!({"role": role, "content": text.repeat(100)}));
    let body = aider(&done, &files, "Shorten it.");
    serving.post("/v1/chat/completions", &body);
    assert_eq!(serving.last().body["messages"], body["messages"]);
    eventually("what could leave is pinned or held", || {
        serving.said().contains("what could leave is pinned or held")
    });
}

const NUDGE: &str = "The task tools haven't been used recently. If you're working on tasks that would \
    benefit from tracking progress, consider using TaskCreate to add new tasks and TaskUpdate to \
    update task status. Only use these if relevant to the current work. This is just a gentle \
    reminder - ignore if not applicable. Make sure that you NEVER mention this reminder to the user.";
const AGENTS: &str = "Available agent types for the Agent tool:\n- claude: Catch-all for any task that \
    doesn't fit a more specific agent.\n- Explore: Fast agent for searches.";

/// A long conversation of Claude Code, whose reminders come in the role of the system: after 161
/// requests 32 equal copies of one stood in the prompt, half of it right after a compression.
#[test]
fn reminders_of_claude_code_stand_in_the_prompt_once() {
    let nudge =
        format!("{NUDGE}\n\nHere are the existing tasks:\n{}", "- [open] a task\n".repeat(60));
    let call = Call::new("read_log", json!({"n": "{turn}"}));
    let serving = Serving::start(Script::agent(200, vec![call]), &["--prompt-limit", "20000"]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    agent.messages().push(json!({"role": "system", "content": AGENTS}));
    let mut least = f64::MAX;
    let mut before = 0;
    for request in 1..=161 {
        assert!(agent.round(&serving), "request {request} ended it");
        let sent = texts(&serving.last().body);
        let size = |text: &String| text.len();
        let all: usize = sent.iter().map(size).sum();
        let notes: usize = sent.iter().filter(|it| it.contains(NUDGE)).map(size).sum();
        let copies = sent.iter().filter(|it| it.contains(NUDGE)).count();
        let compressions = serving.compressions();
        if compressions > before {
            before = compressions;
            assert!(copies <= 1, "request {request}: {copies} copies right after a compression");
            least = least.min(1.0 - notes as f64 / all as f64);
        }
        assert!(sent.iter().any(|it| it.contains(AGENTS)), "request {request}: agents are lost");
        if request >= 5 {
            assert!(copies >= 1, "request {request}: the reminder is lost");
        }
        if request % 5 == 4 {
            agent.messages().push(json!({"role": "system", "content": nudge}));
        }
    }
    assert!(before > 1, "nothing was compressed: {}", serving.said());
    assert!(least > 0.8, "the reminders take {:.0} %", 100.0 * (1.0 - least));
}

/// Reminders in a wording that nobody knows leave as talk does, but for the last few; two that differ
/// in a number are two.
#[test]
fn reminders_that_nobody_knows_leave_but_for_the_last_few() {
    let call = Call::new("read_log", json!({"n": "{turn}"}));
    let serving = Serving::start(Script::agent(200, vec![call]), &["--prompt-limit", "20000"]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    let read = "Result of calling the Read tool:";
    let approved = ["Ticket 4711 is approved.", "Ticket 4712 is approved."];
    let (mut before, mut most, mut until) = (0, 0, None);
    for request in 1..=160 {
        assert!(agent.round(&serving), "request {request} ended it: {}", serving.said());
        let compressions = serving.compressions();
        if compressions > before {
            before = compressions;
            let sent = texts(&serving.last().body);
            most = most.max(sent.iter().filter(|it| it.contains(read)).count());
        }
        if until.is_some_and(|until| compressions > until) {
            break;
        }
        let mut remind = |text: &str| {
            agent.messages().push(json!({"role": "system", "content": text}));
        };
        match request {
            80 => remind(approved[0]),
            81 => {
                remind(approved[1]);
                until = Some(compressions);
            }
            _ if request < 80 && request % 5 == 4 => {
                let name = ["load", "post", "sum", "date", "book"][request / 5 % 5]
                    .repeat(1 + request / 25);
                remind(&format!("{read}\n{}", file(&name, 50)));
            }
            _ => {}
        }
    }
    assert!(until.is_some_and(|until| before > until), "{before}: {}", serving.said());
    assert!(most <= 5, "{most} of them stand there right after a compression");
    let sent = texts(&serving.last().body);
    for text in approved {
        assert!(sent.iter().any(|it| it.contains(text)), "{text} is lost");
    }
}

/// What Cline says of the environment stands beside each message of a person; the newest counts.
#[test]
fn the_newest_environment_of_cline_stays_and_older_ones_go_first() {
    let serving = Serving::start(Script::agent(0, calls()), &["--prompt-limit", "9000"]);
    let mut agent = Agent::new(Api::Anthropic, "Look at the parser.");
    let environment = |turn: usize| {
        let files =
            (0..120).map(|at| format!("src/part{turn}/module_{at}.rs\n")).collect::<String>();
        format!("<environment_details>\n# VSCode Open Tabs\n{files}</environment_details>")
    };
    for turn in 0..12 {
        let asked = format!("And what of part {turn}? Keep port {turn}443.");
        agent.messages().push(json!({"role": "user", "content": [
            {"type": "text", "text": asked}, {"type": "text", "text": environment(turn)}]}));
        agent.round(&serving);
        let sent = texts(&serving.last().body);
        assert!(sent.contains(&environment(turn)), "turn {turn}: it is not whole");
        // Before a word of the talk leaves, all older copies have.
        let copies = sent.iter().filter(|it| it.contains("<environment_details>")).count();
        let lost = (0..turn).filter(|at| {
            let asked = format!("And what of part {at}? Keep port {at}443.");
            !sent.iter().any(|it| it.contains(&asked))
        });
        assert!(copies == 1 || lost.count() == 0, "turn {turn}: {copies} copies");
    }
    assert!(serving.compressions() > 0, "nothing was compressed: {}", serving.said());
}
