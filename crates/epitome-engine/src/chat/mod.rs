//! A conversation with a model: what a person types goes out in a prompt that fits, what the model
//! answers comes in as it is said.
//!
//! Invariant: nothing is applied to the conversation while an answer is under way, and an answer is
//! part of it whole, or as far as it came (RULES 5). A prompt that the model refuses as too long is
//! made smaller and sent again. Called by hosts: `epitome chat` is one.

mod unanswered;
mod window;

use std::future::{Future, pending};
use std::pin::pin;

use epitome_model::{ModelClient, ModelFailure};
use epitome_types::{Event, PartBody, TokenUsage};
use epitome_wire::{Format, ResponseInfo};
use serde_json::json;

use crate::error::Error;
use crate::prompt::Prompt;
use crate::session::Session;

/// How often a prompt is made smaller because the model refused it.
const SMALLER: u32 = 3;

/// A conversation with a model.
pub struct ChatSession {
    session: Session,
    client: ModelClient,
}

/// What is heard while a message is answered.
#[derive(Clone, Copy, Debug)]
pub enum ChatUpdate<'a> {
    /// The prompt is ready, and is sent now.
    Prompt(&'a Prompt),
    /// The next piece of the answer.
    Text(&'a str),
    /// The model refused the prompt as too long; it is made smaller, and what was heard of an
    /// answer is void.
    Refused,
    /// The answer has grown out of the window while it comes. It goes on, and is kept whole.
    Outgrown(&'a Event),
}

/// What came of a message.
#[derive(Clone, Debug)]
pub struct ChatReply {
    /// The prompt that was answered.
    pub prompt: Prompt,
    /// What the model said, without its calls of tools.
    pub text: String,
    /// The tools that it called. There are none here: the calls have a result that says so before the next
    /// message.
    pub calls: Vec<String>,
    /// What the provider counted.
    pub usage: Option<TokenUsage>,
    /// Why the answer is not whole, where it is not.
    pub broke_off: Option<String>,
}

/// A message was not answered. It is part of the conversation all the same.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The conversation itself failed.
    #[error(transparent)]
    Session(#[from] Error),
    /// The model failed.
    #[error("{model}: {failure}")]
    Model {
        /// The model.
        model: String,
        /// How.
        failure: ModelFailure,
    },
    /// The host stopped it before anything was heard.
    #[error("stopped before the model said anything")]
    Stopped,
}

/// What providers say of an answer that came to the most that it may be.
const CUT: [&str; 3] = ["length", "max_tokens", "max_output_tokens"];

/// Why an answer is not whole that the host stopped.
const STOPPED: &str = "it was stopped";

impl ChatSession {
    /// A conversation of a session with a model.
    pub fn new(session: Session, client: ModelClient) -> Self {
        let signatures = session.profile().signatures().clone();
        Self { session, client: client.signatures(signatures) }
    }

    /// Its session: goals, marks, what the journal knows.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The model.
    pub fn client(&self) -> &ModelClient {
        &self.client
    }

    /// Talks with this model from now on.
    fn take(&mut self, client: ModelClient) {
        self.session.talk_with(&client);
        self.client = client;
    }

    /// The format of its messages.
    fn format(&self) -> Format {
        self.client.endpoint().spec.api.format()
    }

    /// Goes on with another model of the same API; the state of the conversation stays (RULES 30).
    ///
    /// # Errors
    ///
    /// [`Error::OtherFormat`] for a model of another API, and as [`Session::begin`]; then it goes on
    /// with the model that it had.
    pub fn set_model(&mut self, client: ModelClient) -> Result<(), Error> {
        let [history, asked] = [&self.client, &client].map(|it| it.endpoint().spec.api.format());
        if history != asked {
            return Err(Error::OtherFormat { history, asked });
        }
        self.session.go_on_under(&client.opening(None))?;
        self.take(client.signatures(self.session.profile().signatures().clone()));
        Ok(())
    }

    /// Begins under a system prompt, or goes on with what the session knows, under the one that it
    /// began with.
    ///
    /// # Errors
    ///
    /// As [`Session::begin`].
    pub fn begin(&mut self, system: Option<&str>) -> Result<(), Error> {
        if self.session.has_history()? {
            return self.session.go_on_under(&self.client.opening(None));
        }
        self.session.begin(&self.client.opening(system))
    }

    /// Says something to the model, and gives what it answers. Dropping the future ends the answer;
    /// what was said is in the conversation.
    ///
    /// # Errors
    ///
    /// [`ChatError`]; the message is recorded whatever becomes of its answer.
    pub async fn send(
        &mut self,
        text: &str,
        heard: &mut (dyn FnMut(ChatUpdate<'_>) + Send),
    ) -> Result<ChatReply, ChatError> {
        self.send_until(text, heard, pending()).await
    }

    /// The same until `stop`: what was heard of the answer by then is the answer.
    ///
    /// # Errors
    ///
    /// As [`send`], and [`ChatError::Stopped`] where nothing was heard.
    pub async fn send_until(
        &mut self,
        text: &str,
        heard: &mut (dyn FnMut(ChatUpdate<'_>) + Send),
        stop: impl Future<Output = ()> + Send,
    ) -> Result<ChatReply, ChatError> {
        self.session.hold(&self.client.endpoint().spec.to_string());
        let said = self.answered(text, heard, stop).await;
        self.session.release();
        said
    }

    async fn answered(
        &mut self,
        text: &str,
        heard: &mut (dyn FnMut(ChatUpdate<'_>) + Send),
        stop: impl Future<Output = ()> + Send,
    ) -> Result<ChatReply, ChatError> {
        let calls = self.session.open_calls()?.to_vec();
        for result in unanswered::results(self.format(), &calls) {
            self.session.push(result.to_string().as_bytes())?;
        }
        self.session.push(json!({"role": "user", "content": text}).to_string().as_bytes())?;
        let mut stop = pin!(stop);
        let mut smaller = 0;
        loop {
            let prompt = tokio::select! {
                prompt = self.session.prompt() => prompt?,
                () = &mut stop => return Err(ChatError::Stopped),
            };
            heard(ChatUpdate::Prompt(&prompt));
            let mut came = String::new();
            let told = tokio::select! {
                told = self.ask(&prompt, &mut came, heard) => told,
                () = &mut stop => Err(stopped(&came)),
            };
            let (answer, broke_off) = match told {
                Ok(answer) => (answer, None),
                Err(ModelFailure::Overflow(overflow)) if smaller < SMALLER => {
                    smaller += 1;
                    heard(ChatUpdate::Refused);
                    self.session.record_overflow(&prompt, overflow);
                    continue;
                }
                Err(ModelFailure::BrokeOff { cause, answer }) if !answer.messages.is_empty() => {
                    (*answer, Some(cause))
                }
                Err(ModelFailure::BrokeOff { cause, .. }) if cause == STOPPED => {
                    return Err(ChatError::Stopped);
                }
                Err(ModelFailure::Deadline { after_ms, answer }) if !answer.messages.is_empty() => {
                    (*answer, Some(format!("no end within {after_ms} ms")))
                }
                Err(failure) => {
                    let model = self.client.endpoint().spec.to_string();
                    return Err(ChatError::Model { model, failure });
                }
            };
            self.session.record_response(&prompt, &answer)?;
            let text = spoken(&answer, self.format());
            let calls = called(&answer, self.format());
            let broke_off = broke_off.or_else(|| cut(&answer));
            return Ok(ChatReply { prompt, text, calls, usage: answer.usage, broke_off });
        }
    }

    /// Asks the model, and tells once of an answer that grows out of the window.
    async fn ask(
        &self,
        prompt: &Prompt,
        came: &mut String,
        heard: &mut (dyn FnMut(ChatUpdate<'_>) + Send),
    ) -> Result<ResponseInfo, ModelFailure> {
        let counter = self.session.counter_for(Some(&self.client.endpoint().spec.name));
        let (mut in_flight, mut told) = (0, false);
        let mut piece = |text: &str| {
            // Pieces counted one by one add up to no less than the whole.
            in_flight += counter.count(text);
            if !told && prompt.tokens[1].saturating_add(in_flight) > prompt.limit {
                told = true;
                heard(ChatUpdate::Outgrown(&self.session.exceeded(prompt, in_flight)));
            }
            came.push_str(text);
            heard(ChatUpdate::Text(text));
        };
        self.client.chat(prompt.bytes.clone(), &mut piece).await
    }
}

/// An answer that the host stopped, as far as it came.
fn stopped(came: &str) -> ModelFailure {
    let message = json!({"role": "assistant", "content": came}).to_string().into_bytes();
    let messages = if came.trim().is_empty() { Vec::new() } else { vec![message] };
    let answer = Box::new(ResponseInfo { messages, ..ResponseInfo::default() });
    ModelFailure::BrokeOff { cause: STOPPED.to_owned(), answer }
}

/// Why an answer is not whole that its provider ended.
fn cut(answer: &ResponseInfo) -> Option<String> {
    let stop = answer.stop.as_deref().filter(|stop| CUT.contains(stop))?;
    Some(format!("the model may say no more at once (`{stop}`)"))
}

/// The tools that an answer calls.
fn called(answer: &ResponseInfo, format: Format) -> Vec<String> {
    let messages = answer.messages.iter();
    let entries = messages.filter_map(|bytes| epitome_wire::message(bytes, format).ok());
    entries
        .flat_map(|entry| entry.calls().map(|call| call.tool.clone()).collect::<Vec<_>>())
        .collect()
}

/// What the messages of an answer say.
fn spoken(answer: &ResponseInfo, format: Format) -> String {
    let messages = answer.messages.iter();
    let entries = messages.filter_map(|bytes| epitome_wire::message(bytes, format).ok());
    let parts = entries.flat_map(|entry| entry.parts);
    parts
        .filter_map(|part| match part.body {
            PartBody::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}
