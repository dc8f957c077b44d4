//! A live conversation and a policy in few words, for the tests of both.

use std::path::Path;
use std::sync::Arc;

use epitome::types::{Event, EventKind};
use epitome::{
    Answer, Compressor, CompressorBuilder, Config, ConfigSources, Format, HookResult, Job,
    MemoryStore, NextPolicies, Policy, Profile, Prompt, Session, WindowSetting, validate,
};
use epitome_testkit::{FixedCounter, now};
use serde_json::{Value, json};

/// When everything happens.
pub(crate) const AT: &str = "2026-01-02T03:04:05Z";

/// A policy that is one function of all hooks.
pub(crate) struct By<F>(pub(crate) &'static str, pub(crate) F);

impl<F> Policy for By<F>
where
    F: Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> + Send + Sync,
{
    fn name(&self) -> &str {
        self.0
    }

    fn answer(&self, job: &Job<'_>, rest: &NextPolicies<'_>) -> HookResult<Answer> {
        (self.1)(job, rest)
    }
}

/// The built-in decisions, which leave the system prompt to the host.
fn plain() -> Profile {
    let toml = "[profile.default]\noptions.default.goals.teach = false";
    let sources = ConfigSources::default().text(Path::new("epitome.toml"), toml);
    Config::load(sources).unwrap().profile("default").unwrap()
}

/// A builder whose figures can be worked out by hand: four tokens for a message, one for a word.
pub(crate) fn builder(limit: u64) -> CompressorBuilder {
    let builder = Compressor::builder().profile(plain());
    let builder = builder.counter(FixedCounter::Words).clock(|| AT.to_owned());
    builder.window(WindowSetting::Limit(limit))
}

/// A builder with a policy that is one function of all hooks.
pub(crate) fn with(
    limit: u64,
    policy: impl Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> + Send + Sync + 'static,
) -> CompressorBuilder {
    builder(limit).policy(By("team", policy))
}

/// A conversation that goes on.
pub(crate) struct Talk {
    pub(crate) session: Session,
    calls: u32,
}

impl Talk {
    pub(crate) fn of(builder: CompressorBuilder, journal: &Arc<MemoryStore>) -> Self {
        Self { session: builder.session(journal.clone(), Some("talk")), calls: 0 }
    }

    pub(crate) fn new(builder: CompressorBuilder) -> Self {
        Self::of(builder, &Arc::new(MemoryStore::new()))
    }

    fn push(&mut self, message: &Value) {
        self.session.push(message.to_string().as_bytes()).unwrap();
    }

    /// Somebody says something.
    pub(crate) fn say(&mut self, role: &str, text: &str) {
        self.push(&json!({"role": role, "content": text}));
    }

    /// The model reads a file: a call and its result.
    pub(crate) fn read(&mut self, text: &str) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let arguments = json!({"path": format!("src/{}.rs", self.calls)}).to_string();
        let call = json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
        self.push(&json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        self.push(&json!({"role": "tool", "tool_call_id": id, "content": text}));
    }

    /// So many questions, each answered.
    pub(crate) fn chat(&mut self, turns: usize) {
        for turn in 0..turns {
            let words = format!("word{turn} ").repeat(20);
            self.say("user", &format!("Question {turn}: {words}"));
            self.say("assistant", &format!("Answer {turn}: {words}"));
        }
    }

    pub(crate) fn prompt(&mut self) -> Prompt {
        now(self.session.prompt()).unwrap()
    }

    /// The prompt after the user asked for a compression.
    pub(crate) fn compressed(&mut self) -> Prompt {
        self.session.request_compression();
        self.prompt()
    }
}

/// What a prompt's messages say, one after the other.
pub(crate) fn texts(prompt: &Prompt) -> Vec<String> {
    let request: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|one| one["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The whole prompt as a text.
pub(crate) fn text(prompt: &Prompt) -> String {
    String::from_utf8(prompt.bytes.to_vec()).unwrap()
}

/// The names of events, as hosts read them.
pub(crate) fn names(events: &[Event]) -> Vec<String> {
    let name = |event: &Event| {
        let event = serde_json::to_value(&event.what).unwrap();
        event["event"].as_str().unwrap().to_owned()
    };
    events.iter().map(name).collect()
}

/// What went wrong in a compression, and where.
pub(crate) fn errors(prompt: &Prompt) -> Vec<String> {
    let error = |event: &Event| match &event.what {
        EventKind::CompressionError { stage, cause, .. } => {
            Some(format!("{}: {cause}", stage.word()))
        }
        EventKind::PolicyError { cause } => Some(cause.clone()),
        _ => None,
    };
    prompt.events.iter().filter_map(error).collect()
}

/// Whether its provider takes it.
pub(crate) fn is_valid(prompt: &Prompt) -> bool {
    validate(Format::OpenAi, &prompt.bytes).is_ok()
}
