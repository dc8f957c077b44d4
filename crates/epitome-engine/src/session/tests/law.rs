//! A session that reads what is new gives what one gives that reads every request as a whole, and
//! what a new session gives that knows nothing but the journal.

use epitome_kernel::{HookResult, NextPolicies, Policy};
use epitome_types::hook::{
    BudgetsJob, Found, GoalsJob, Observe, ObserveJob, StatusJob, ToolResultAnswer, ToolResultJob,
    TriggerJob, Way,
};
use serde_json::{Value, json};

use super::*;

/// What a client does next.
#[derive(Clone, Debug)]
enum Act {
    /// The model replies, and a person says something.
    Say(String),
    /// The model calls tools at once; each result comes as blocks or as a text.
    Call(Vec<(String, bool)>),
    /// A person says something beside an image.
    Look(String),
    /// The model thinks and calls a tool.
    Think(String),
    /// The harness puts a note of its own in.
    Note(String),
    /// The harness states something anew, in the role of the system or beside what a person says.
    State(bool, usize, String),
    /// The request is made again.
    Again,
    /// A person edits what was said at a place, and drops what followed.
    Edit(prop::sample::Index, String),
    /// What was said from a place on is dropped.
    Rewind(prop::sample::Index),
}

/// A conversation, in the words of one format.
#[derive(Clone, Default)]
struct Client {
    format: Option<Format>,
    messages: Vec<Value>,
    calls: usize,
}

impl Client {
    fn new(format: Format) -> Self {
        let mut client = Self { format: Some(format), ..Self::default() };
        if format != Format::Anthropic && format != Format::Responses {
            client.messages.push(json!({"role": "system", "content": "Be brief."}));
        }
        client.say("user", "Mend the parser.");
        client
    }

    fn is(&self, format: Format) -> bool {
        self.format == Some(format)
    }

    fn say(&mut self, role: &str, text: &str) {
        self.messages.push(json!({"role": role, "content": text}));
    }

    fn call(&mut self, results: &[(String, bool)], thought: Option<&str>) {
        let ids: Vec<_> = (self.calls..).take(results.len()).map(|at| format!("c{at}")).collect();
        self.calls += results.len();
        let path = json!({"path": format!("src/{}.rs", self.calls)});
        let pairs = ids.iter().zip(results);
        match self.format {
            Some(Format::Anthropic) => {
                let thinks =
                    thought.map(|it| json!({"type": "thinking", "thinking": it, "signature": "x"}));
                let calls = ids
                    .iter()
                    .map(|id| json!({"type": "tool_use", "id": id, "name": "read", "input": path}));
                let content: Vec<_> = thinks.into_iter().chain(calls).collect();
                self.messages.push(json!({"role": "assistant", "content": content}));
                let results: Vec<_> = pairs
                    .map(|(id, (text, blocks))| {
                        let block = json!([{"type": "text", "text": text}]);
                        let content = if *blocks { block } else { json!(text) };
                        json!({"type": "tool_result", "tool_use_id": id, "content": content})
                    })
                    .collect();
                self.messages.push(json!({"role": "user", "content": results}));
            }
            Some(Format::Responses) => {
                if let Some(thought) = thought {
                    let summary = json!([{"type": "summary_text", "text": thought}]);
                    self.messages.push(json!({"type": "reasoning", "id": "r", "summary": summary}));
                }
                for id in &ids {
                    self.messages.push(json!({"type": "function_call", "call_id": id, "name": "read", "arguments": path.to_string()}));
                }
                for (id, (text, _)) in pairs {
                    self.messages.push(
                        json!({"type": "function_call_output", "call_id": id, "output": text}),
                    );
                }
            }
            Some(Format::Ollama) => {
                let calls: Vec<_> = ids
                    .iter()
                    .map(|_| json!({"function": {"name": "read", "arguments": path}}))
                    .collect();
                self.messages
                    .push(json!({"role": "assistant", "content": "", "tool_calls": calls}));
                for (text, _) in results {
                    self.messages
                        .push(json!({"role": "tool", "tool_name": "read", "content": text}));
                }
            }
            _ => {
                let calls: Vec<_> = ids
                    .iter()
                    .map(|id| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": path.to_string()}}))
                    .collect();
                self.messages
                    .push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
                for (id, (text, _)) in pairs {
                    self.messages
                        .push(json!({"role": "tool", "tool_call_id": id, "content": text}));
                }
            }
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Say(text) => {
                self.say("assistant", &format!("Done: {text}"));
                self.say("user", text);
            }
            Act::Call(results) => self.call(results, None),
            Act::Think(result) => self.call(&[(result.clone(), false)], Some("Let me see.")),
            Act::Note(text) => {
                self.call(&[(text.clone(), false)], None);
                self.say("user", &format!("<system-reminder>\n{text}\n</system-reminder>"));
            }
            Act::State(system, subject, text) => {
                let opening = [
                    "Your todo list has changed.",
                    "Plan mode is active",
                    "Token usage:",
                    "Plan mode still active",
                    "Nobody knows this wording:",
                ];
                let note = format!("{} {text}", opening[*subject]);
                self.say("assistant", "So it is.");
                if *system {
                    self.say("user", text);
                    self.say("system", &note);
                } else {
                    self.say("user", &format!("<system-reminder>\n{note}\n</system-reminder>"));
                    self.say("user", text);
                }
            }
            Act::Look(text) => {
                self.say("assistant", "Show me.");
                let message = match self.format {
                    Some(Format::Anthropic) => json!([
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                        {"type": "text", "text": text}]),
                    Some(Format::OpenAi) => json!([
                        {"type": "text", "text": text},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]),
                    _ => json!(text),
                };
                self.messages.push(json!({"role": "user", "content": message}));
            }
            Act::Again => {}
            Act::Edit(at, text) => {
                if let Some(at) = self.turn(at) {
                    self.messages.truncate(at);
                    self.say("user", text);
                }
            }
            Act::Rewind(at) => {
                if let Some(at) = self.turn(at) {
                    self.messages.truncate(at + 1);
                }
            }
        }
    }

    /// The place of something that a person said.
    fn turn(&self, at: &prop::sample::Index) -> Option<usize> {
        let said = |message: &Value| message["role"] == "user" && message["content"].is_string();
        let places: Vec<_> =
            (0..self.messages.len()).filter(|&at| said(&self.messages[at])).collect();
        places.get(at.index(places.len().max(1))).copied()
    }

    /// The request of a turn: the cache mark moves, and now and then the client writes its history
    /// anew or has other tools.
    fn request(&self, turn: usize, anew: bool, tools: bool) -> Vec<u8> {
        let mut messages = self.messages.clone();
        if self.is(Format::Anthropic)
            && let Some(block) =
                messages.last_mut().and_then(|it| it["content"].as_array_mut()?.last_mut())
        {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        let key = if self.is(Format::Responses) { "input" } else { "messages" };
        let mut body = json!({"model": "m", key: messages});
        match self.format {
            Some(Format::Anthropic) => body["system"] = json!("Be brief."),
            Some(Format::Responses) => body["instructions"] = json!("Be brief."),
            _ => {}
        }
        let version = if tools { turn } else { 0 };
        body["tools"] = json!([{"name": "read", "description": format!("reads {version}")}]);
        match anew {
            true => serde_json::to_vec_pretty(&body).unwrap(),
            false => body.to_string().into_bytes(),
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let place = any::<prop::sample::Index>;
    let act = prop_oneof![
        4 => words(1..40).prop_map(Act::Say),
        6 => vec((words(1..90), any::<bool>()), 1..4).prop_map(Act::Call),
        1 => words(1..9).prop_map(Act::Look),
        2 => words(1..60).prop_map(Act::Think),
        2 => words(1..30).prop_map(Act::Note),
        2 => (any::<bool>(), 0..5usize, words(1..30))
            .prop_map(|(system, subject, text)| Act::State(system, subject, text)),
        1 => Just(Act::Again),
        1 => (place(), words(1..9)).prop_map(|(at, text)| Act::Edit(at, text)),
        1 => place().prop_map(Act::Rewind),
    ];
    vec(act, 4..20)
}

/// Writes down all that it is told, and has some results made smaller and some messages pinned.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<String>>>);

impl Witness {
    fn note(&self, what: impl std::fmt::Debug) {
        self.0.lock().unwrap().push(format!("{what:?}"));
    }
}

impl Policy for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    fn budgets(
        &self,
        job: &BudgetsJob,
        rest: &NextPolicies<'_>,
    ) -> HookResult<epitome_types::hook::Budgets> {
        self.note(job);
        rest.budgets(job)
    }

    fn tool_result(
        &self,
        job: &ToolResultJob<'_>,
        _: &NextPolicies<'_>,
    ) -> HookResult<ToolResultAnswer> {
        self.note((&job.entry, job.text));
        let long = job.text.len() > 300;
        let with = long.then(|| format!("masked {}", &job.text[..8]));
        Ok(with.map(|with| ToolResultAnswer { how: Way::Mask, text: Some(with), max_tokens: None }))
    }

    fn trigger(
        &self,
        job: &TriggerJob,
        rest: &NextPolicies<'_>,
    ) -> HookResult<epitome_types::hook::TriggerAnswer> {
        self.note(job);
        rest.trigger(job)
    }

    fn observe(&self, job: &ObserveJob<'_>, _: &NextPolicies<'_>) -> HookResult<Observe> {
        self.note((&job.common, &job.entry, &job.intent, job.since_compaction, job.text));
        let pin = job.text.contains("parser tests");
        Ok(Some(Observe { pin: Some(pin), ..Observe::default() }))
    }

    fn goals(&self, job: &GoalsJob, _: &NextPolicies<'_>) -> HookResult<Vec<Found>> {
        self.note(&job.text);
        Ok(None)
    }

    fn status(
        &self,
        job: &StatusJob,
        _: &NextPolicies<'_>,
    ) -> HookResult<epitome_types::hook::Status> {
        self.note(job);
        Ok(None)
    }
}

/// How a session comes to know what went before.
#[derive(Clone, Copy, PartialEq)]
enum Knows {
    /// It remembers.
    Remembers,
    /// It reads every request as a whole.
    Whole,
    /// It is a new one each time.
    New,
}

/// What one session made of all requests.
#[derive(Default)]
struct Made {
    prompts: Vec<(Vec<u8>, [u64; 2], String)>,
    events: Vec<String>,
    told: Vec<String>,
    journal: String,
}

/// What the user does from elsewhere before a request.
fn deed(journal: &MemoryStore, number: usize, turn: usize) {
    use epitome_types::{DecisionKind, GoalChange, Priority, SessionAction};
    let text = format!("part {turn}");
    let locked = number == 3;
    let act = match number {
        1 => SessionAction::Ask { tool: "user".to_owned() },
        2 => SessionAction::Goal(GoalChange::Set { text, priority: Priority::High }.into()),
        3 | 4 => {
            let (rationale, kind) = (None, DecisionKind::Plain);
            SessionAction::Goal(GoalChange::Decide { text, rationale, locked, kind }.into())
        }
        _ => return,
    };
    let acted =
        epitome_types::RecordedAction { act, by: epitome_types::Actor::User, at: AT.to_owned() };
    // Nothing is done to a session that nobody has begun.
    drop(journal.act(&epitome_config::scope::scope("default"), "a", &[acted]));
}

fn play(
    format: Format,
    requests: &[Vec<u8>],
    (deeds, limit, pins): (&[usize], u64, bool),
    knows: Knows,
) -> Made {
    let journal = Arc::new(MemoryStore::new());
    let witness = Witness::default();
    let open = || {
        let mut profile = Profile::default();
        profile.options.cache.read = Some(0.0);
        let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
        let builder = builder.window(WindowSetting::Limit(limit)).clock(|| AT.to_owned());
        let builder = if pins { builder.policy(witness.clone()) } else { builder };
        let mut live = builder.input_format(format).session(journal.clone(), Some("a"));
        live.told.hub = true;
        live
    };
    let mut live = open();
    let mut made = Made::default();
    for (turn, request) in requests.iter().enumerate() {
        deed(&journal, deeds[turn % deeds.len()], turn);
        match knows {
            Knows::Remembers => {}
            Knows::Whole => live.state.memory = None,
            Knows::New => live = open(),
        }
        let prompt = now(live.prompt_for(request)).unwrap();
        let what = |event: &Event| format!("{:?}", (event.tokens, &event.what));
        made.events.extend(prompt.events.iter().map(what));
        let figures = format!("{:?} {:?} {:?}", prompt.by, prompt.epoch, prompt.head);
        made.prompts.push((prompt.bytes.to_vec(), prompt.tokens, figures));
    }
    made.told = std::mem::take(&mut witness.0.lock().unwrap());
    made.journal = format!("{:?}", journal.log());
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_remembered_changes_nothing(
        format in prop::sample::select(Format::PROVIDERS.to_vec()),
        acts in acts(),
        limit in prop_oneof![250u64..500, Just(100_000)],
        anew in vec(prop::bool::weighted(0.2), 20),
        tools in vec(prop::bool::weighted(0.1), 20),
        pins in any::<bool>(),
        deeds in vec(prop_oneof![4 => Just(0), 1 => 1usize..5], 20),
    ) {
        let terms = (&*deeds, limit, pins);
        let mut client = Client::new(format);
        let mut requests = vec![client.request(0, false, false)];
        for (turn, act) in acts.iter().enumerate() {
            client.act(act);
            requests.push(client.request(turn, anew[turn], tools[turn]));
        }
        let lives = play(format, &requests, terms, Knows::Remembers);
        let reads = play(format, &requests, terms, Knows::Whole);
        for (one, other) in lives.prompts.iter().zip(&reads.prompts) {
            let [sent, expected] = [one, other].map(|it| String::from_utf8_lossy(&it.0).into_owned());
            prop_assert_eq!(sent, expected);
            prop_assert_eq!((one.1, &one.2), (other.1, &other.2));
        }
        prop_assert_eq!(&lives.events, &reads.events);
        prop_assert_eq!(&lives.told, &reads.told);
        prop_assert_eq!(&lives.journal, &reads.journal);
        let starts = play(format, &requests, terms, Knows::New);
        for (one, other) in lives.prompts.iter().zip(&starts.prompts) {
            let [sent, expected] = [one, other].map(|it| String::from_utf8_lossy(&it.0).into_owned());
            prop_assert_eq!(sent, expected);
            prop_assert_eq!((one.1, &one.2), (other.1, &other.2));
        }
        // A new session does not know what the last one had known or told, nor what was done since.
        const OF_ITSELF: [&str; 4] = ["Branched", "CompactionChanged", "GoalUpdated", "AnswerBounded"];
        let of_itself = |event: &&String| !OF_ITSELF.iter().any(|kind| event.contains(kind));
        let [lives_events, starts_events] = [&lives.events, &starts.events]
            .map(|all| all.iter().filter(of_itself).cloned().collect::<Vec<_>>());
        prop_assert_eq!(lives_events, starts_events);
        prop_assert_eq!(lives.journal, starts.journal);
    }
}
