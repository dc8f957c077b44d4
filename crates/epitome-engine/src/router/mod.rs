//! Many conversations over one journal: whatever is asked finds the session that it belongs to.
//!
//! Invariant: a conversation is found by what it says and by whose it is, and by no name: what one
//! client says is never taken for what another one does, and nothing is shared across tenants. No
//! prompt is refused for its size (RULES 6). Called by proxies, and by hosts that have more than
//! one conversation.

mod conversations;
mod opening;
mod scans;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use epitome_kernel::ResponseRecord;
use epitome_store::{SessionArchive, StoreOutage};
use epitome_types::{ContextOverflow, TokenUsage};
use epitome_wire::{Format, OverflowSignatures};
use tokio::sync::Semaphore;

use crate::answer_messages::AnswerMessages;
use crate::builder::CompressorBuilder;
use crate::error::Error;
use crate::limits::{LimitSource, PromptLimit};
use crate::locks::locked;
use crate::prompt::Prompt;
use crate::session::{Session, SharedSessions, asks_for_summary, goes_on_from_summary};
use conversations::{ConversationSlot, Conversations, RequestHistory};
use epitome_admin::clock::Clock;
use epitome_admin::learned::AnsweredPrompt;
use epitome_config::limits::WindowSetting;
use epitome_config::profile::Profile;
use epitome_config::scope::ScopeOwner;
use scans::Scans;

pub use opening::ConversationOpening;

/// A request, and what is known of it besides.
#[derive(Clone, Debug)]
pub struct RoutedRequest {
    /// The body, decoded.
    pub bytes: Bytes,
    /// The format of the API that it is for.
    pub format: Format,
    /// Whose it is: nothing is shared across tenants. On a machine of one's own it is `local`.
    pub tenant: String,
    /// The id that the client gives its session. It has several under one where it has agents.
    pub label: Option<String>,
    /// The program that sends it, as it names itself: policies are told.
    pub client: Option<String>,
    /// The largest prompt, in tokens, that the client's headers or the body say the model takes.
    pub window: Option<u64>,
    /// What the model's server says of it where neither does, in tokens; [`SessionRouter::window`] says
    /// whether that is wanted.
    pub told: Option<u64>,
    /// Whether its server reads no more than its window holds and says nothing of it, whichever API it
    /// is asked through; of Ollama's own API that is known.
    pub cuts: bool,
}

impl RoutedRequest {
    /// Returns whether only an answer that is recorded tells whose request this is: one without an id,
    /// and one that goes on from a summary of its client's.
    #[must_use]
    pub fn needs_answers(&self) -> bool {
        self.label.is_none() || goes_on_from_summary(&self.bytes)
    }
}

/// A prompt for an [`RoutedRequest`].
#[derive(Clone, Debug)]
pub struct RoutedPrompt {
    /// The prompt.
    pub prompt: Prompt,
    scope: String,
    format: Format,
    /// What the model's server said of its window.
    told: Option<u64>,
    cuts: bool,
    /// Whether the client has its own history compacted with it.
    compacting: bool,
    hour: bool,
    /// Whether the request went out as it came.
    is_whole: bool,
    /// Whether what is sent is not the prompt, which is only looked at.
    is_watched: bool,
}

impl RoutedPrompt {
    /// Whether the client asks its provider to keep what it caches for an hour, which costs more to
    /// write (RULES 114).
    pub fn keeps_an_hour(&self) -> bool {
        self.hour
    }

    /// The provider refused it, and took the request as it came.
    pub fn went_as_it_came(&mut self) {
        self.is_whole = true;
        let Prompt { tokens, by, .. } = &mut self.prompt;
        (tokens[1], by[1]) = (tokens[0], by[0]);
    }

    /// The request goes out as it came, and the prompt is what would have been sent: what its provider
    /// counts says how large the request is.
    pub fn is_only_watched(&mut self) {
        self.is_watched = true;
    }

    /// What its answer says of how the provider counts.
    fn counted(&self, usage: TokenUsage) -> AnsweredPrompt {
        let counted = self.prompt.counted(self.format, usage);
        let counted = AnsweredPrompt { cuts: counted.cuts || self.cuts, ..counted };
        match self.is_watched {
            true => {
                let (tokens, images) = (self.prompt.tokens[0], self.prompt.by[0].images);
                AnsweredPrompt { tokens, images, ..counted }
            }
            false => counted,
        }
    }

    /// Whether the client asks for a summary of its history, to go on with that in its place.
    pub fn compacts(&self) -> bool {
        self.compacting
    }
}

/// What came back for a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelResponse {
    /// What the provider counted.
    pub usage: TokenUsage,
    /// The answer as messages of the request's format: more than one where its API has one for each
    /// call, none where it broke off before it said anything.
    pub messages: Vec<Bytes>,
    /// Why it ended, in the provider's word; none where it broke off.
    pub stop: Option<String>,
}

/// The conversations of a host, over one journal.
///
/// ```
/// use std::sync::Arc;
///
/// use epitome::{RoutedRequest, Compressor, Format, SessionRouter, MemoryStore, Profile};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), epitome::Error> {
/// let profile = Profile::default();
/// let hub = SessionRouter::new(Arc::new(MemoryStore::new()), move || {
///     Compressor::builder().profile(profile.clone())
/// });
/// let ask = RoutedRequest {
///     bytes: r#"{"messages":[{"role":"user","content":"Mend the parser."}]}"#.into(),
///     format: Format::OpenAi,
///     tenant: "local".to_owned(),
///     label: Some("work".to_owned()),
///     window: None,
///     client: None,
///     told: None,
///     cuts: false,
/// };
/// let sent = hub.prompt_for(&ask).await?;
/// assert_eq!(sent.prompt.session, "work");
/// assert_eq!(sent.prompt.bytes, ask.bytes);
/// # Ok(())
/// # }
/// ```
pub struct SessionRouter {
    journal: Arc<dyn SessionArchive>,
    settings: Box<dyn Fn() -> CompressorBuilder + Send + Sync>,
    profile: Profile,
    /// The project that all of them work in, where there is one.
    owner: ScopeOwner,
    window: WindowSetting,
    /// Whether its conversations measure what others save: they are recorded, and nothing is done to
    /// them.
    holds_out: bool,
    clock: Clock,
    shared: Arc<SharedSessions>,
    scans: Scans,
    conversations: Mutex<Conversations>,
    /// How many large prompts are made at once: more of them take memory and none is made sooner.
    /// None where a model may be asked, which others need not wait for.
    makers: Option<Semaphore>,
}

/// For each processor so many large prompts are made at once; one of them may wait for the journal.
const MAKERS: usize = 2;

/// From so many bytes on a request is large.
const LARGE: usize = 64 << 10;

impl SessionRouter {
    /// Conversations that are kept at hand unless told otherwise. What is not at hand is read from
    /// the journal.
    pub const AT_HAND: usize = 256;

    /// The conversations of a journal. `settings` makes the settings of one; its profile is a clone
    /// of one profile, so that policies are loaded once for all.
    pub fn new(
        journal: Arc<dyn SessionArchive>,
        settings: impl Fn() -> CompressorBuilder + Send + Sync + 'static,
    ) -> Self {
        Self::with_capacity(journal, settings, Self::AT_HAND)
    }

    /// The same with so many conversations at hand, at least one.
    pub fn with_capacity(
        journal: Arc<dyn SessionArchive>,
        settings: impl Fn() -> CompressorBuilder + Send + Sync + 'static,
        most: usize,
    ) -> Self {
        let CompressorBuilder { profile, owner, sizes, clock, writers, .. } = settings().settled();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            journal,
            settings: Box::new(settings),
            profile,
            owner,
            window: sizes.window,
            holds_out: false,
            clock,
            shared: Arc::default(),
            scans: Scans::new(most),
            conversations: Mutex::new(Conversations::new(most)),
            makers: writers.models.all.is_empty().then(|| Semaphore::new(processors * MAKERS)),
        }
    }

    /// The same, whose conversations are recorded and sent as they come, so that they measure what
    /// those of others save.
    #[must_use]
    pub fn holding_out(self) -> Self {
        Self { holds_out: true, ..self }
    }

    /// The prompt to send in place of a request, in whatever conversation that belongs to. Requests
    /// of one conversation wait for each other, those of others do not.
    ///
    /// # Errors
    ///
    /// When the request cannot be read, or the journal fails; see [`Error`]. The conversation then
    /// stands as it was, and the hub goes on.
    pub async fn prompt_for(&self, ask: &RoutedRequest) -> Result<RoutedPrompt, Error> {
        self.prompt_of(ask, None).await
    }

    /// The prompt to send in place of one that its provider refused ([`record_overflow`]), in the same
    /// conversation: an attempt that nobody answered proves none by itself.
    ///
    /// # Errors
    ///
    /// As of [`prompt_for`].
    pub async fn prompt_again(
        &self,
        ask: &RoutedRequest,
        refused: &RoutedPrompt,
    ) -> Result<RoutedPrompt, Error> {
        self.prompt_of(ask, Some(&refused.prompt.session)).await
    }

    async fn prompt_of(
        &self,
        ask: &RoutedRequest,
        again: Option<&str>,
    ) -> Result<RoutedPrompt, Error> {
        let history = self.history(ask)?;
        loop {
            let (slot, known) = locked(&self.conversations).slot(&history);
            // It is out of its slot while it is asked: where that panics or is given up, the
            // conversation is read from the journal with its next request.
            let mut place = slot.session.lock().await;
            if !locked(&self.conversations).stands(&slot, &history, known) {
                // It went on while this request waited.
                continue;
            }
            let maker = match self.makers.as_ref().filter(|_| ask.bytes.len() >= LARGE) {
                Some(makers) => makers.acquire().await.ok(),
                None => None,
            };
            let mut session = place.take().unwrap_or_else(|| Box::new(self.open(ask)));
            session.told.again = again.map(str::to_owned);
            session.told.strayed = session
                .name()
                .is_some_and(|name| locked(&self.conversations).strayed(name, &history, known));
            let sent = self.send(&mut session, ask, &history, &slot).await;
            *place = Some(session);
            drop(maker);
            if let Ok(sent) = &sent {
                let mut conversations = locked(&self.conversations);
                conversations.advance(&slot, known, &history);
                conversations.spoke(&sent.prompt.session, &history);
            }
            return sent;
        }
    }

    async fn send(
        &self,
        session: &mut Session,
        ask: &RoutedRequest,
        history: &RequestHistory,
        slot: &ConversationSlot,
    ) -> Result<RoutedPrompt, Error> {
        session.told.label.clone_from(&ask.label);
        session.told.client.clone_from(&ask.client);
        session.told.window = requested(ask);
        session.told.held_out = self.holds_out;
        session.told.refused = slot.refused();
        let prompt = session.pass(&ask.bytes, ask.format, &history.scan).await?;
        slot.refuse(None);
        let scope = session.scope().to_owned();
        Ok(RoutedPrompt { scope, ..self.sent(prompt, ask, history) })
    }

    /// What would be sent as the records stand: nothing is recorded and nothing is decided. It is
    /// what a client is told that asks how long its prompt is, and what is sent where a decision
    /// fails.
    ///
    /// # Errors
    ///
    /// When the request or the journal cannot be read.
    pub fn preview(&self, ask: &RoutedRequest) -> Result<RoutedPrompt, Error> {
        let history = self.history(ask)?;
        let window = requested(ask);
        let found = locked(&self.conversations).find(&history);
        let place = found.as_ref().and_then(|slot| slot.session.try_lock().ok());
        let prompt = match place.as_deref() {
            Some(Some(session)) => session.look(&ask.bytes, ask.format, &history.scan, window)?,
            // Nobody waits for a look.
            _ => self.open(ask).look(&ask.bytes, ask.format, &history.scan, window)?,
        };
        Ok(self.sent(prompt, ask, &history))
    }

    /// What its user says of the size of prompts; a server is worth asking only where that is
    /// [`WindowSetting::Guessed`].
    pub fn window(&self) -> WindowSetting {
        self.window
    }

    /// Why its store cannot be relied on at present, if so: conversations go on in memory then.
    pub fn outage(&self) -> Option<StoreOutage> {
        self.journal.outage()
    }

    /// How a prompt that is too long is told from other refusals.
    pub fn signatures(&self) -> &OverflowSignatures {
        self.profile.signatures()
    }

    /// Its provider refused a prompt as too long. Where it said its limit, that holds for all
    /// prompts of this tenant to this model; the conversation's next prompt is made smaller than
    /// the one that was refused, whatever the limit.
    pub async fn record_overflow(
        &self,
        ask: &RoutedRequest,
        sent: &RoutedPrompt,
        told: ContextOverflow,
    ) {
        let share = self.profile.options.limit.refused_share;
        let most = self.shared.lessons.refused(&*self.journal, &sent.prompt, told, share);
        let found = match self.history(ask) {
            Ok(history) => locked(&self.conversations).find(&history),
            Err(_) => None,
        };
        if let Some(slot) = found {
            slot.refuse(Some(most));
        }
    }

    /// What came back for a prompt: the provider's count and its answer, for the journal. What
    /// cannot be recorded is a line of the log; the conversation goes on without it.
    pub async fn record_response(&self, sent: &RoutedPrompt, answer: &ModelResponse) {
        if let Some(window) = sent.told {
            self.shared.lessons.told(&*self.journal, &sent.prompt.about, window);
        }
        self.shared.lessons.answered(&*self.journal, &sent.prompt, sent.counted(answer.usage));
        let said = AnswerMessages::of(&answer.messages, sent.format).unwrap_or_default();
        let record = ResponseRecord {
            usage: answer.usage,
            stop: answer.stop.clone(),
            at: (self.clock)(),
            is_whole: sent.is_whole,
            ..said.record(sent.prompt.head, &self.profile.redaction)
        };
        let session = &*sent.prompt.session;
        if let Err(error) = self.journal.record_response(&sent.scope, session, &record) {
            tracing::warn!(target: "epitome", session, "an answer was not recorded: {error}");
        }
    }

    fn history(&self, ask: &RoutedRequest) -> Result<RequestHistory, Error> {
        Ok(self.scans.of(ask)?)
    }

    fn sent(&self, prompt: Prompt, ask: &RoutedRequest, history: &RequestHistory) -> RoutedPrompt {
        let compacting = asks_for_summary(history.last(ask));
        let (scope, format, told, cuts) = (self.scope(ask), ask.format, ask.told, ask.cuts);
        let hour = history.scan.keeps_an_hour();
        RoutedPrompt {
            prompt,
            scope,
            format,
            told,
            cuts,
            compacting,
            hour,
            is_whole: false,
            is_watched: false,
        }
    }

    /// A session that knows nothing yet.
    fn open(&self, ask: &RoutedRequest) -> Session {
        let builder = (self.settings)().input_format(ask.format);
        let session = builder.session(Arc::clone(&self.journal), None);
        let owner = self.owner.of_tenant(&ask.tenant);
        let before = owner.project().map(|_| owner.without_project(self.profile.name()));
        session.within(self.scope(ask), Arc::clone(&self.shared)).going_on(before)
    }

    fn scope(&self, ask: &RoutedRequest) -> String {
        self.owner.of_tenant(&ask.tenant).scope(self.profile.name())
    }
}

/// The limit that a request states itself, or else its server.
fn requested(ask: &RoutedRequest) -> Option<PromptLimit> {
    let of = |limit: Option<u64>, source| limit.map(|limit| PromptLimit { limit, source });
    of(ask.window, LimitSource::Request).or(of(ask.told, LimitSource::Probe))
}
