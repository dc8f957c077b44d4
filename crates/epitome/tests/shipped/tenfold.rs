//! Ten compressions of one conversation, with a new process, another model, another mode and an
//! undo in between: what the user said must count still stands in the last prompt, word for word
//! (RULES 3, 56).

use std::path::Path;
use std::sync::Arc;

use epitome::types::{Actor, DecisionKind, Event, EventKind, GoalChange, Priority};
use epitome::{
    CompactionUndo, Compressor, Format, LOCAL, Profile, Session, SessionControls, SqliteStore,
    WindowSetting, scope, validate,
};
use epitome_testkit::now;
use serde_json::{Value, json};

const AT: &str = "2026-01-02T03:04:05Z";
/// What the user orders on the way, at the beginning and in the middle of the talk.
const RULES: [&str; 5] = [
    "Never push to main without asking me first.",
    "Do not touch the files under vendor/.",
    "Always run `cargo fmt` before you commit.",
    "Never log the contents of config/secrets.toml.",
    "You must not change the public API of crates/lexer.",
];
const GOAL: &str = "Move the parser to a streaming lexer";
const LOCKED: &str = "Tokens borrow from the input; they are never copied";
const BY_MARKER: &str = "Errors carry byte offsets, not lines";
const ARCHITECTURE: &str = "The lexer is a pull iterator over `&[u8]`";
const PINNED: &str = "The release key is on page 17 of the black notebook, and the courier comes on \
                      Thursdays, before the market opens.";

/// A conversation that grows, over a store that is opened anew with each process.
struct Talk<'a> {
    profile: &'a str,
    store: &'a Path,
    model: &'a str,
    mode: Option<&'a str>,
    messages: Vec<Value>,
}

impl Talk<'_> {
    fn journal(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(self.store).unwrap())
    }

    fn open(&self, journal: &Arc<SqliteStore>) -> Session {
        let builder = Compressor::builder().profile(Profile::shipped(self.profile).unwrap());
        let builder = builder.window(WindowSetting::Limit(9000)).clock(|| AT.to_owned());
        let builder = match self.mode {
            Some(mode) => builder.mode(mode),
            None => builder,
        };
        builder.session(journal.clone(), Some("work"))
    }

    fn scope(&self) -> String {
        scope(self.profile)
    }

    /// What the user does from elsewhere.
    fn levers(&self) -> SessionControls {
        let profile = Profile::shipped(self.profile).unwrap();
        SessionControls::new(self.journal(), profile, LOCAL, Actor::User)
    }

    fn goal(&self, change: GoalChange) {
        self.levers().change_goals(Some("work"), vec![change.into()]).unwrap();
    }

    fn say(&mut self, role: &str, text: &str) {
        self.messages.push(json!({ "role": role, "content": text }));
    }

    /// Something that is read, with a word about it.
    fn read(&mut self, tool: &str, result: &str) {
        let at = self.messages.len();
        let id = format!("c{at}");
        let arguments = format!("{{\"path\":\"crates/lexer/src/part{at}.rs\"}}");
        let function = json!({ "name": tool, "arguments": arguments });
        let calls = json!([{ "id": id, "type": "function", "function": function }]);
        let says = format!("I look at part {at} of it.");
        self.messages.push(json!({ "role": "assistant", "content": says, "tool_calls": calls }));
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
    }

    /// A round of work, at the end of which the user's turn is over.
    fn work(&mut self, round: usize) {
        for step in 0..4 {
            let line =
                |number: usize| format!("{round}{step}{number} fn token_{number}() => {step};\n");
            self.read("read_file", &(0..30).map(line).collect::<String>());
        }
        self.read("compress_to_checkpoint", "marked");
        self.say("assistant", &format!("Round {round} is done: the part reads its tokens."));
        let rule = RULES.get(1 + round / 2).filter(|_| round % 2 == 1);
        let next = format!("Good. Go on with part {round} of the lexer.");
        self.say("user", &rule.map_or(next.clone(), |rule| format!("{rule} {next}")));
    }

    /// Sends it, in a new process. Gives the prompt and how often it was compressed.
    fn send(&self, session: &mut Session) -> (Vec<u8>, usize) {
        let body = json!({ "model": self.model, "messages": self.messages }).to_string();
        let prompt = now(session.prompt_for(body.as_bytes())).unwrap();
        assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
        assert!(prompt.tokens[1] <= prompt.limit);
        let made = |event: &&Event| matches!(event.what, EventKind::Compressed { .. });
        let made = prompt.events.iter().filter(made).count();
        (prompt.bytes.to_vec(), made)
    }
}

/// What a prompt says, line by line, with an empty one behind each text.
fn lines(prompt: &[u8]) -> Vec<String> {
    let prompt: Value = serde_json::from_slice(prompt).unwrap();
    let said = prompt["messages"].as_array().unwrap().iter();
    let said = said.filter_map(|message| message["content"].as_str());
    said.flat_map(|text| text.lines().chain([""])).map(str::to_owned).collect()
}

#[track_caller]
fn check(profile: &str) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store.db");
    let mut talk =
        Talk { profile, store: &store, model: "gpt-4o", mode: None, messages: Vec::new() };
    talk.say("system", "You work on a parser. Be brief.");
    talk.say("user", &format!("{} We begin with the lexer.", RULES[0]));
    talk.say("assistant", &format!("[DECISION] {BY_MARKER} - LOCKED\nI begin."));
    talk.say("user", PINNED);
    let mut journal = talk.journal();
    let mut live = talk.open(&journal);
    talk.send(&mut live);
    let set = GoalChange::Set { text: GOAL.to_owned(), priority: Priority::High };
    let decide = |text: &str, locked, kind| {
        talk.goal(GoalChange::Decide { text: text.to_owned(), rationale: None, locked, kind });
    };
    talk.goal(set);
    decide(LOCKED, true, DecisionKind::Plain);
    decide(ARCHITECTURE, false, DecisionKind::Architecture);
    talk.levers().pin(Some("work"), &["e3".to_owned()], true).unwrap();

    let (mut compressions, mut last, mut first) = (0, Vec::new(), None);
    for round in 0..20 {
        talk.work(round);
        // Whoever marks with a tool of Epitome's own also says so.
        talk.levers().request_compression(Some("work"), "compress_to_checkpoint").unwrap();
        match round {
            2 => {
                drop((live, journal));
                journal = talk.journal();
                live = talk.open(&journal);
            }
            4 => talk.model = "claude-sonnet-4-5",
            6 => {
                talk.mode = Some("planning");
                live = talk.open(&journal);
            }
            8 => {
                let records = CompactionUndo::of(journal.clone(), &talk.scope(), "work").unwrap();
                records.undo(AT).unwrap();
            }
            _ => {}
        }
        let (prompt, made) = talk.send(&mut live);
        compressions += made;
        last = lines(&prompt);
        let state = |lines: &[String]| {
            let goal = lines.iter().position(|line| line.starts_with("Goal"))?;
            let end = lines[goal..].iter().position(String::is_empty)?;
            Some(lines[goal..goal + end].to_vec())
        };
        if made > 0 {
            let state = state(&last).expect("the goal block");
            assert_eq!(first.get_or_insert_with(|| state.clone()), &state, "round {round}");
        }
        if compressions == 10 {
            break;
        }
    }
    assert_eq!(compressions, 10, "{profile}");
    let first = first.unwrap();
    for text in [LOCKED, BY_MARKER, ARCHITECTURE] {
        assert!(first.contains(&format!("- {text}")), "{profile}: {text} in {first:#?}");
    }
    assert_eq!(first[0], format!("Goal (high priority): {GOAL}"));
    assert!(last.contains(&PINNED.to_owned()), "{profile}: the pin");
    let all = last.join("\n");
    for rule in &RULES[..] {
        assert!(all.contains(rule), "{profile}: {rule} in {all}");
    }
}

#[test]
fn ten_compressions_keep_what_must_count() {
    ["default", "ollm", "staged", "watermark"].into_iter().for_each(check);
}
