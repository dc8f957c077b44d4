//! A client of a live session, a token for each word.

use std::path::Path;
use std::sync::Arc;

use epitome::types::{Event, EventKind};
use epitome::{
    Compressor, Config, ConfigSources, MemoryStore, Prompt, Session, SessionAdmin, SessionDiff,
    WindowSetting,
};
use epitome_testkit::{FixedCounter, Script, ScriptedSummarizer, now};
use serde_json::{Value as Json, json};

/// What a message takes beside its words.
const MESSAGE: usize = 4;

/// A client whose summaries take all the room that they may.
pub(crate) struct Client {
    session: Session,
    /// What of its journal may be looked at.
    keeper: SessionAdmin,
    messages: Vec<Json>,
}

impl Client {
    /// A client of a profile of this configuration, whose system prompt takes so many tokens.
    pub(crate) fn new(toml: &str, profile: &str, window: WindowSetting, system: usize) -> Self {
        let sources = ConfigSources::default().text(Path::new("epitome.toml"), toml);
        let profile = Config::load(sources).unwrap().profile(profile).unwrap();
        let journal = Arc::new(MemoryStore::new());
        let session = Compressor::builder()
            .profile(profile.clone())
            .counter(FixedCounter::Words)
            .summarizer(ScriptedSummarizer::new(Script::Fill))
            .window(window)
            .clock(|| "2026-01-02T03:04:05Z".to_owned())
            .session(journal.clone(), None);
        let keeper = SessionAdmin::new(journal, profile);
        let mut client = Self { session, keeper, messages: Vec::new() };
        client.say("system", system);
        client
    }

    /// Adds a message of so many tokens, none of whose words was said before.
    pub(crate) fn say(&mut self, role: &str, tokens: usize) {
        let text = self.words(tokens - MESSAGE);
        self.messages.push(json!({ "role": role, "content": text }));
    }

    /// Adds what a person types.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.messages.push(json!({ "role": "user", "content": text }));
    }

    /// Adds a call of a tool with this argument, and its result.
    pub(crate) fn call(&mut self, argument: &str, tokens: usize) {
        let (id, text) = (format!("c{}", self.messages.len()), self.words(tokens));
        let arguments = json!({ "command": argument }).to_string();
        let function = json!({ "name": "bash", "arguments": arguments });
        let calls = json!([{ "id": id, "type": "function", "function": function }]);
        self.messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }

    fn words(&self, count: usize) -> String {
        let number = self.messages.len();
        (0..count).map(|word| format!("w{number}x{word}")).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn send(&mut self) -> Prompt {
        let request = json!({ "model": "llama3:70b", "messages": self.messages });
        now(self.session.prompt_for(request.to_string().as_bytes())).unwrap()
    }

    /// What the model saw of it.
    pub(crate) fn diff(&self) -> SessionDiff {
        self.keeper.diff(None).unwrap()
    }

    /// Has the assistant say this much, and the user a little, until there were so many
    /// compressions. Gives each prompt with their number so far.
    pub(crate) fn until(&mut self, compressions: usize, tokens: usize) -> Vec<(usize, Prompt)> {
        let (mut all, mut number) = (Vec::new(), 0);
        self.say("user", 20);
        while number < compressions {
            self.say("assistant", tokens);
            self.say("user", 20);
            let prompt = self.send();
            assert!(prompt.fits, "{:?} of {}", prompt.tokens, prompt.limit);
            number += usize::from(is_compressed(&prompt));
            all.push((number, prompt));
        }
        all
    }
}

/// Whether a prompt was compressed for this request.
pub(crate) fn is_compressed(prompt: &Prompt) -> bool {
    let of = |event: &Event| matches!(event.what, EventKind::Compressed { .. });
    prompt.events.iter().any(of)
}
