//! Nothing of one conversation is visible in another (RULES 13): whatever several clients do on one
//! store, in whatever order, each of them is sent and shown what it would be if it were alone.
//!
//! `EPITOME_CONVERSATIONS=10000 cargo test -p epitome --test facade -- identity::` tries so many cases.

#[cfg(all(unix, feature = "postgres"))]
mod database;
mod processes;
mod shown;

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome::types::{Actor, DecisionKind, EntryId, GoalAction, GoalChange, JournalMark, Priority};
use epitome::{
    CompactionUndo, Compressor, Format, MemoryStore, ModelResponse, Profile, RoutedRequest,
    SessionAdmin, SessionArchive, SessionRouter, SqliteStore, WindowSetting, scope,
};
use epitome_testkit::{FixedCounter, conversations, now};
use proptest::prelude::*;
use serde_json::{Value, json};

use shown::{QUERIES, portrait};

const AT: &str = "2026-01-02T03:04:05Z";
const SYSTEM: &str = "Be brief.";
/// What people begin with, be it in several conversations.
const OPENINGS: [&str; 2] = ["Mend the parser.", "Why does the build fail?"];
/// What models answer, be it in several conversations.
const SHORT: &str = "Ok, done.";
/// Tokens; some exchanges fill it.
const LIMIT: u64 = 260;

/// One conversation, as its client has it.
#[derive(Clone, Debug)]
struct Client {
    format: Format,
    opening: usize,
    labeled: bool,
    /// Whether its model reasons, and it sends that back.
    thinks: bool,
}

/// What a client, or its user from elsewhere, does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Say {
        answer: usize,
        tool: bool,
    },
    Retry,
    Rewind {
        to: usize,
    },
    EditFirst,
    /// It goes on under another id.
    Resume,
    /// Another agent of the same client is asked the same.
    Agent,
    Goal,
    Lock,
    Pin,
    Undo,
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        14 => (0_usize..3, any::<bool>()).prop_map(|(answer, tool)| Step::Say { answer, tool }),
        1 => Just(Step::Retry),
        1 => (0_usize..4).prop_map(|to| Step::Rewind { to }),
        1 => Just(Step::EditFirst),
        1 => Just(Step::Resume),
        1 => Just(Step::Agent),
        1 => Just(Step::Goal),
        1 => Just(Step::Lock),
        1 => Just(Step::Pin),
        1 => Just(Step::Undo),
        1 => Just(Step::Restart),
    ];
    let runs = (0_usize..5, prop::collection::vec(step, 1..6));
    prop::collection::vec(runs, 1..14).prop_map(|runs| {
        let each =
            |(client, steps): (usize, Vec<Step>)| steps.into_iter().map(move |it| (client, it));
        runs.into_iter().flat_map(each).collect()
    })
}

fn clients() -> impl Strategy<Value = Vec<Client>> {
    let format = prop::sample::select(vec![
        Format::Anthropic,
        Format::OpenAi,
        Format::OpenAi,
        Format::Responses,
        Format::Ollama,
    ]);
    let client = (format, 0..OPENINGS.len(), any::<bool>(), any::<bool>());
    let client = client.prop_map(|(format, opening, labeled, thinks)| {
        let thinks = thinks && matches!(format, Format::OpenAi | Format::Ollama);
        Client { format, opening, labeled, thinks }
    });
    prop::collection::vec(client, 2..=5)
}

/// A client at work: what it has in its window.
struct Working<'c> {
    number: usize,
    client: &'c Client,
    /// Roles and texts; a call of a tool is an answer with an id.
    history: Vec<(&'static str, String, Option<String>)>,
    said: usize,
    resumed: usize,
    /// The session that its last request went to.
    session: Option<String>,
    /// Whether an opening of it was answered in few words: others may hear the same.
    hears_little: bool,
}

/// What a conversation was sent and is shown.
#[derive(Debug, Default)]
struct Portrait {
    shown: Vec<String>,
    hears_little: bool,
}

/// The host of all, on one store.
struct Host {
    journal: Arc<dyn SessionArchive>,
    hub: SessionRouter,
    /// How many conversations it remembers.
    remembers: usize,
}

impl Host {
    fn new(journal: Arc<dyn SessionArchive>, remembers: usize) -> Self {
        let profile = Profile::default();
        let hub = SessionRouter::with_capacity(
            journal.clone(),
            move || {
                let builder = Compressor::builder().profile(profile.clone());
                let builder = builder.counter(FixedCounter::Words).clock(|| AT.to_owned());
                builder.window(WindowSetting::Limit(LIMIT))
            },
            remembers,
        );
        Self { journal, hub, remembers }
    }

    fn keeper(&self) -> SessionAdmin {
        SessionAdmin::new(self.journal.clone(), Profile::default())
    }
}

impl Working<'_> {
    fn label(&self) -> Option<String> {
        let (number, resumed) = (self.number, self.resumed);
        self.client.labeled.then(|| format!("client-{number}-{resumed}"))
    }

    fn message(&self, at: usize) -> Value {
        let mut message = self.bare_message(at);
        if self.client.thinks && self.history[at].0 == "assistant" {
            let ollama = self.client.format == Format::Ollama;
            let member = if ollama { "thinking" } else { "reasoning_content" };
            message[member] = json!(format!("Thought {} of {at}", self.number));
        }
        message
    }

    fn bare_message(&self, at: usize) -> Value {
        let (role, text, id) = &self.history[at];
        let (call, is_result) = (id.as_deref(), *role == "user");
        let Some(id) = call else {
            return match (self.client.format, *role) {
                (Format::Responses, "assistant") => json!({"type": "message", "role": role,
                    "content": [{"type": "output_text", "text": text}]}),
                _ => json!({"role": role, "content": text}),
            };
        };
        let input = json!({"path": text});
        match (self.client.format, is_result) {
            (Format::Anthropic, true) => json!({"role": "user", "content":
                [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
            (Format::Anthropic, false) => json!({"role": "assistant", "content":
                [{"type": "tool_use", "id": id, "name": "read", "input": input}]}),
            (Format::Responses, true) => {
                json!({"type": "function_call_output", "call_id": id, "output": text})
            }
            (Format::Responses, false) => json!({"type": "function_call", "call_id": id,
                "name": "read", "arguments": input.to_string()}),
            (Format::Ollama, true) => json!({"role": "tool", "tool_name": "read", "content": text}),
            (Format::Ollama, false) => json!({"role": "assistant", "content": "",
                "tool_calls": [{"function": {"name": "read", "arguments": input}}]}),
            (_, true) => json!({"role": "tool", "tool_call_id": id, "content": text}),
            (_, false) => json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                "type": "function", "function": {"name": "read", "arguments": input.to_string()}}]}),
        }
    }

    fn ask(&self) -> RoutedRequest {
        let mut messages: Vec<Value> = (0..self.history.len()).map(|at| self.message(at)).collect();
        let body = match self.client.format {
            Format::Anthropic => json!({"model": "m", "max_tokens": 50, "system": SYSTEM,
                "messages": messages}),
            Format::Responses => json!({"model": "m", "instructions": SYSTEM, "input": messages}),
            _ => {
                messages.insert(0, json!({"role": "system", "content": SYSTEM}));
                json!({"model": "m", "messages": messages})
            }
        };
        RoutedRequest {
            bytes: body.to_string().into(),
            format: self.client.format,
            tenant: "local".to_owned(),
            label: self.label(),
            window: None,
            told: None,
            cuts: false,
            client: None,
        }
    }

    /// Sends what it has and takes the answer; gives the prompt.
    fn send(&mut self, host: &Host, answer: usize, tool: bool) -> String {
        let sent = now(host.hub.prompt_for(&self.ask())).unwrap();
        let (number, said) = (self.number, self.said);
        let opens = self.history.len() == 1 && OPENINGS.contains(&&*self.history[0].1);
        self.hears_little |= opens && answer == 0 && !tool;
        let id = tool.then(|| format!("call_{number}x{said}Kq7Zt9Lw{said}a4"));
        let text = match answer {
            _ if tool => format!("src/part{number}x{said}.rs"),
            0 => SHORT.to_owned(),
            1 => format!(
                "[GOAL] Goal {number} of answer {said}\n[DECISION] Lock {number} {said} - LOCKED"
            ),
            _ => format!("Answer {said} of {number}: {}", format!("looked{number} ").repeat(34)),
        };
        self.history.push(("assistant", text, id.clone()));
        let message = self.message(self.history.len() - 1).to_string();
        let answered = ModelResponse { messages: vec![message.into()], ..ModelResponse::default() };
        now(host.hub.record_response(&sent, &answered));
        let said = self.said;
        if tool {
            let text = format!("line{number} {said}\n").repeat(20);
            self.history.push(("user", text, id));
        }
        self.session = Some(sent.prompt.session.clone());
        String::from_utf8(sent.prompt.bytes.to_vec()).unwrap()
    }

    /// What a person types: an opening that others may have too, or what nobody else says.
    fn type_in(&mut self) {
        self.said += 1;
        let (number, said) = (self.number, self.said);
        let text = match self.history.is_empty() {
            true => OPENINGS[self.client.opening].to_owned(),
            // Others may hear the same, and say the same, in other thoughts.
            false if self.client.thinks && said < 4 => format!("Go on to {said}, will you?"),
            false => format!("Person {number} says {said}: {}", "and so on ".repeat(8)),
        };
        self.history.push(("user", text, None));
    }

    /// Does a step, and gives what is sent and shown for it.
    fn act(&mut self, host: &mut Host, step: Step) -> Option<String> {
        match step {
            Step::Say { answer, tool } => {
                if self.history.last().is_none_or(|(role, _, id)| *role != "user" || id.is_none()) {
                    self.type_in();
                }
                return Some(self.send(host, answer, tool));
            }
            Step::Retry => {
                let last = self.history.iter().rposition(|(role, ..)| *role == "assistant")?;
                self.history.truncate(last);
                return Some(self.send(host, 2, false));
            }
            Step::Rewind { to } => {
                let people: Vec<_> = (1..self.history.len())
                    .filter(|at| self.history[*at].0 == "user" && self.history[*at].2.is_none())
                    .collect();
                self.history.truncate(*people.get(to)?);
                self.type_in();
                return Some(self.send(host, 2, false));
            }
            Step::EditFirst => {
                self.history.clear();
                self.said += 1;
                let text = format!("Person {} begins {} anew.", self.number, self.said);
                self.history.push(("user", text, None));
                return Some(self.send(host, 0, false));
            }
            Step::Resume => self.resumed += 1,
            Step::Agent => {
                let first = self.history.first()?.clone();
                let mut agent = Working {
                    number: self.number,
                    client: self.client,
                    history: vec![first],
                    said: self.said + 1000,
                    resumed: self.resumed,
                    session: None,
                    hears_little: false,
                };
                let mut sent = agent.send(host, 2, false);
                agent.type_in();
                sent.push_str(&agent.send(host, 0, false));
                self.said += 2;
                return Some(sent);
            }
            Step::Goal | Step::Lock => {
                let name = self.session.as_deref()?;
                self.said += 1;
                let text = format!("By hand {} {}", self.number, self.said);
                let change = match step {
                    Step::Goal => GoalChange::Set { text, priority: Priority::High },
                    _ => GoalChange::Decide {
                        text,
                        rationale: None,
                        locked: true,
                        kind: DecisionKind::Plain,
                    },
                };
                let act = GoalAction::new(None, change);
                host.keeper().change_goals(Some(name), vec![act], &Actor::User, AT).ok();
            }
            Step::Pin => {
                let (name, entry) = (self.session.as_deref()?, EntryId(1).to_string());
                host.keeper().pin(Some(name), &[entry], JournalMark::Pin, AT).ok();
            }
            Step::Undo => {
                let name = self.session.as_deref()?;
                let scope = scope("default");
                let known = CompactionUndo::of(host.journal.clone(), &scope, name).unwrap();
                known.undo(AT).ok();
            }
            Step::Restart => *host = Host::new(host.journal.clone(), host.remembers),
        }
        None
    }
}

/// The stores of processes that share what they keep.
type Processes = Vec<Arc<dyn SessionArchive>>;

/// Runs the steps of these clients, one process after the other; gives what each was sent and is shown.
fn run(
    processes: Processes,
    clients: &[Client],
    steps: &[(usize, Step)],
    only: Option<usize>,
) -> BTreeMap<usize, Portrait> {
    // One alone remembers too few. Where there are several, what is forgotten depends on the others.
    let remembers = if processes.len() == 1 { 3 } else { 100 };
    let hosts = processes.into_iter().map(|journal| Host::new(journal, remembers));
    let mut hosts: Vec<Host> = hosts.collect();
    let mut working: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(number, client)| Working {
            number,
            client,
            history: Vec::new(),
            said: 0,
            resumed: 0,
            session: None,
            hears_little: false,
        })
        .collect();
    let mut sent: BTreeMap<usize, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for (turn, (number, step)) in steps.iter().enumerate() {
        let (number, serving) = (number % clients.len(), turn % hosts.len());
        if only.is_some_and(|only| only != number) && !matches!(step, Step::Restart) {
            continue;
        }
        let one = &mut working[number];
        let (prompts, sessions) = sent.entry(number).or_default();
        let before = prompts.len();
        prompts.extend(one.act(&mut hosts[serving], *step));
        let session = one.session.clone().filter(|_| prompts.len() > before);
        sessions.extend(session.filter(|name| !sessions.contains(name)));
    }
    let all = sent.iter().map(|(number, (prompts, sessions))| {
        let shown = portrait(&hosts[0], prompts, sessions);
        (*number, Portrait { shown, hears_little: working[*number].hears_little })
    });
    all.collect()
}

/// What a client alone says, or is told.
fn own_words(number: usize) -> [String; 8] {
    [
        "Thought {n} ",
        "Person {n} ",
        "looked{n} ",
        "Goal {n} of",
        "Lock {n} ",
        "By hand {n} ",
        "part{n}x",
        "line{n} ",
    ]
    .map(|words| words.replace("{n}", &number.to_string()))
}

/// Nothing of what another conversation says or does is shown in one.
fn check_apart(shown: &[String], number: usize, others: usize) {
    for text in shown {
        // What was asked for is no answer.
        let text = QUERIES.iter().fold(text.clone(), |text, query| text.replace(query, ""));
        for other in (0..others).filter(|other| *other != number) {
            for words in own_words(other) {
                assert!(!text.contains(&words), "client {number} is shown {words:?}: {text}");
            }
        }
    }
}

/// What is shown of a session but for what was counted: a request that is sent again counts once more
/// where another process had it first.
fn uncounted(shown: &str) -> &str {
    shown.split(", turns: ").next().unwrap_or(shown)
}

/// No session belongs to two conversations, and each is as it is alone. Where several were told the
/// same in few words, what each of them goes on with may be a session more (RULES 13), and no more. Where
/// several processes serve a client, the next one knows what its id says and what is proven, and nothing
/// else: a client without an id of its own for each conversation is only held to show nobody else's words.
fn check(clients: &[Client], steps: &[(usize, Step)], processes: impl Fn() -> Processes) {
    let first = processes();
    let several = first.len() > 1;
    let together = run(first, clients, steps, None);
    for (&number, portrait) in &together {
        check_apart(&portrait.shown, number, clients.len());
        let is_alike = |other: &usize| {
            let [one, other] = [number, *other].map(|number| &clients[number]);
            let told_apart = one.thinks && other.thinks;
            (one.format, one.opening) == (other.format, other.opening) && !told_apart
        };
        let mut others = together.iter().filter(|(other, _)| **other != number);
        let is_told_the_same =
            portrait.hears_little && others.any(|(it, one)| one.hears_little && is_alike(it));
        let shares_its_id = |(of, step): &(usize, Step)| {
            of % clients.len() == number && matches!(step, Step::Agent | Step::Resume)
        };
        let has_own_id = clients[number].labeled && !steps.iter().any(shares_its_id);
        if is_told_the_same || several && !has_own_id {
            continue;
        }
        let mut alone = run(processes(), clients, steps, Some(number));
        let alone = alone.remove(&number).unwrap_or_default().shown;
        assert_eq!(portrait.shown.len(), alone.len(), "client {number}: {:?}", clients[number]);
        for (shown, alone) in portrait.shown.iter().zip(&alone) {
            let [shown, alone] = [shown, alone].map(|it| if several { uncounted(it) } else { it });
            assert_eq!(shown, alone, "client {number}: {:?}", clients[number]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: conversations(48), max_shrink_iters: 2000, ..ProptestConfig::default()
    })]

    #[test]
    fn each_conversation_is_as_it_is_alone(clients in clients(), steps in steps()) {
        check(&clients, &steps, || vec![Arc::new(MemoryStore::new())]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: conversations(96) / 16, max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    #[test]
    fn each_conversation_is_as_it_is_alone_on_disk(clients in clients(), steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let count = std::cell::Cell::new(0);
        check(&clients, &steps, || {
            count.set(count.get() + 1);
            let path = folder.path().join(format!("{}.db", count.get()));
            let open = || Arc::new(SqliteStore::open(&path).unwrap()) as Arc<dyn SessionArchive>;
            vec![open(), open()]
        });
    }
}
