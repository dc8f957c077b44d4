//! From the body of a request to what is sent for it.
//!
//! Invariant: it fails open. Whatever goes wrong on the way, in whatever time, there is something
//! to send: the prompt, else the conversation as it was last decided on, else what came; and a word
//! that says why. Nothing of it runs on the threads that relay streams. Called by `call`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use epitome::{Error, Prompt, RoutedPrompt, RoutedRequest, SessionRouter, WindowSetting};
use epitome_types::ContextOverflow;
use http::HeaderMap;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::api::{ApiDialect, UpstreamApi};
use crate::arms::{ArmChooser, ArmRequest, ChosenArm};
use crate::clients;
use crate::decode::{Encoding, Undecoded, bound, decode, encodings};
use crate::facts::BodyFacts;
use crate::headers::Payload;
use crate::ollama_context::with_room;
use crate::recording::Recordings;
use crate::route::RouteTask;
use crate::skip::ProxySkip;
use crate::tether;
use crate::windows::ServerWindows;

/// From so many bytes on a body waits for others that are as large; smaller ones never do.
const LARGE: usize = 1 << 20;

/// How many bytes of large bodies are worked on at once, in units of [`UNIT`].
const AT_ONCE: usize = 64 << 10;

/// What is told apart of them, in bytes.
const UNIT: usize = 1 << 10;

/// Large bodies that are worked on at once, by their bytes: more of them take memory, and none is
/// done sooner.
#[derive(Clone)]
pub(crate) struct LargeBodies(Arc<Semaphore>);

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl LargeBodies {
    /// Room for a body of at most so many bytes, which a small one needs none of.
    async fn room(&self, most: usize) -> Room {
        match units(most) {
            0 => Room(None),
            // Nobody closes it.
            units => Room(Arc::clone(&self.0).acquire_many_owned(units as u32).await.ok()),
        }
    }
}

/// Room that a large body has.
struct Room(Option<OwnedSemaphorePermit>);

impl Room {
    /// Gives back what a body does not need that turned out to be of so many bytes.
    fn shrink(&mut self, bytes: usize) {
        let Some(room) = &mut self.0 else { return };
        drop(room.split(room.num_permits().saturating_sub(units(bytes))));
    }
}

/// The units that a body of so many bytes takes.
fn units(bytes: usize) -> usize {
    if bytes < LARGE { 0 } else { bytes.div_ceil(UNIT).min(AT_ONCE) }
}

/// Makes prompts.
#[derive(Clone)]
pub(crate) struct Prepare {
    pub(crate) hub: Arc<SessionRouter>,
    /// Who says which conversations belong to an experiment.
    pub(crate) arms: Option<Arc<dyn ArmChooser>>,
    /// How long making a prompt may take.
    pub(crate) within: Duration,
    /// The largest body, decoded.
    pub(crate) max_decoded: usize,
    /// What Ollama says of its models, where there is one.
    pub(crate) windows: Option<Arc<ServerWindows>>,
    pub(crate) large: LargeBodies,
    /// Answers that prove what the next request goes on from.
    pub(crate) recordings: Arc<Recordings>,
}

/// A request that holds a conversation.
#[derive(Clone)]
pub(crate) struct IncomingRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whose address it came in at, or whose path it asks for.
    pub(crate) api: UpstreamApi,
    pub(crate) dialect: ApiDialect,
    pub(crate) task: RouteTask,
    pub(crate) tenant: String,
}

/// What is sent for a request.
pub(crate) struct Prepared {
    pub(crate) body: Bytes,
    pub(crate) payload: Payload,
    /// What was made of it.
    pub(crate) made: Option<ReadyPrompt>,
    /// The arm of an experiment that its conversation belongs to.
    pub(crate) arm: Option<ChosenArm>,
    pub(crate) skip: Option<ProxySkip>,
    /// Whether it is none of the conversation's turns.
    pub(crate) side: bool,
    pub(crate) model: Option<String>,
    /// The body as it came, decoded, where it could be.
    pub(crate) plain: Bytes,
}

/// A prompt, and what it was made of.
#[derive(Clone)]
pub(crate) struct ReadyPrompt {
    pub(crate) ask: RoutedRequest,
    pub(crate) sent: RoutedPrompt,
    /// Whose conversation it is.
    pub(crate) hub: Arc<SessionRouter>,
}

impl ReadyPrompt {
    /// The prompt as its upstream is sent it.
    pub(crate) fn outgoing(&self, dialect: ApiDialect) -> Bytes {
        let bytes = &self.sent.prompt.bytes;
        let roomy = match self.hub.window() {
            WindowSetting::Size(size) if dialect == ApiDialect::Ollama => with_room(bytes, size),
            _ => None,
        };
        roomy.unwrap_or_else(|| bytes.clone())
    }
}

impl Prepared {
    /// What the hub made.
    pub(crate) fn sent(&self) -> Option<&RoutedPrompt> {
        self.made.as_ref().map(|made| &made.sent)
    }

    /// Whether its conversation measures what others save: every request of it goes out as it came.
    pub(crate) fn is_held_out(&self) -> bool {
        self.arm.as_ref().is_some_and(|arm| arm.holds_out)
    }

    /// Goes out as it came, which is as it should be.
    fn holding_out(mut self, came: &IncomingRequest) -> Self {
        if let Some(made) = &mut self.made {
            made.sent.went_as_it_came();
            made.sent.prompt.events.clear();
        }
        let skip = self.skip.filter(|skip| *skip != ProxySkip::Oversized);
        Self { body: came.body.clone(), payload: Payload::AsItCame, skip, ..self }
    }

    /// The body goes out as it came, and what was made of it is only looked at.
    pub(crate) fn watched(&mut self, came: &IncomingRequest) {
        if let Some(made) = &mut self.made {
            made.sent.is_only_watched();
        }
        (self.body, self.payload) = (came.body.clone(), Payload::AsItCame);
    }

    /// The provider took the body as it came, and not the prompt that was made of it.
    pub(crate) fn refused(&mut self) {
        if let Some(made) = &mut self.made {
            made.sent.went_as_it_came();
        }
        (self.body, self.skip) = (self.plain.clone(), Some(ProxySkip::Refused));
    }
}

/// Why nothing is sent for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declined {
    /// The body decodes to more than this many bytes.
    TooLarge(usize),
    /// Only the end of the conversation came (RULES 141).
    Tethered,
}

/// What could be told of a body before its prompt was made.
struct BodyHints {
    ask: RoutedRequest,
    model: Option<String>,
    arm: OnceLock<ChosenArm>,
}

/// What became of a body.
enum PrepareOutcome {
    Made(Box<RoutedPrompt>),
    Passed(ProxySkip),
    Side,
    Declined(Declined),
}

impl Prepare {
    /// Makes what is sent for a request; `RouteTask::Count` decides and records nothing.
    pub(crate) async fn prepare(&self, came: &IncomingRequest) -> Result<Prepared, Declined> {
        let told = Arc::new(OnceLock::new());
        // How large an encoded body is only shows once it is decoded, and then it is there.
        let most = most_decoded(came, self.max_decoded);
        let outcome = match timeout(self.within, self.large.room(most)).await {
            Ok(mut room) => {
                let (this, came, told) = (self.clone(), came.clone(), Arc::clone(&told));
                let work = move || {
                    let outcome = this.outcome(&came, &mut room, &told);
                    // Held until it is done, also where nobody waits for it any longer.
                    drop(room);
                    outcome
                };
                bounded(self.within, work).await
            }
            Err(_) => Err(ProxySkip::Deadline),
        };
        let (made, mut side, skip) = match outcome {
            Ok(PrepareOutcome::Declined(why)) => return Err(why),
            Ok(PrepareOutcome::Made(sent)) => (Some(*sent), false, None),
            Ok(PrepareOutcome::Side) => (None, true, None),
            Ok(PrepareOutcome::Passed(skip)) | Err(skip) => (None, false, Some(skip)),
        };
        side |= came.task == RouteTask::Count;
        let told: Option<&BodyHints> = told.get();
        let made = match (made, told, skip) {
            (
                None,
                Some(told),
                Some(ProxySkip::Deadline | ProxySkip::Failed | ProxySkip::Panicked),
            ) => self.look(told).await,
            (made, ..) => made,
        };
        let is_oversized = made.as_ref().is_some_and(|sent| !sent.prompt.fits && !side);
        let skip = skip.or(is_oversized.then_some(ProxySkip::Oversized));
        let made = told.zip(made).map(|(told, sent)| ReadyPrompt {
            ask: told.ask.clone(),
            sent,
            hub: Arc::clone(self.hub_of(told)),
        });
        let (body, payload) = match &made {
            Some(made) => (made.outgoing(came.dialect), Payload::Plain),
            None => (came.body.clone(), Payload::AsItCame),
        };
        let prepared = Prepared {
            body,
            payload,
            made,
            arm: told.and_then(|told| told.arm.get().cloned()),
            skip,
            side,
            model: told.and_then(|told| told.model.clone()),
            plain: told.map_or_else(|| came.body.clone(), |told| told.ask.bytes.clone()),
        };
        Ok(if prepared.is_held_out() { prepared.holding_out(came) } else { prepared })
    }

    /// The conversations that one belongs to, which those of its arm are where it has one.
    fn hub_of<'a>(&'a self, told: &'a BodyHints) -> &'a Arc<SessionRouter> {
        told.arm.get().map_or(&self.hub, |arm| &arm.hub)
    }

    /// The prompt again, once its provider refused it as too long.
    pub(crate) async fn again(
        &self,
        refused: &ReadyPrompt,
        told: ContextOverflow,
    ) -> Option<ReadyPrompt> {
        let refused = refused.clone();
        let made = move || {
            let ReadyPrompt { ask, sent, hub } = refused;
            let again = Handle::current().block_on(async {
                hub.record_overflow(&ask, &sent, told).await;
                hub.prompt_again(&ask, &sent).await
            });
            again.map(|sent| ReadyPrompt { ask, sent, hub })
        };
        match bounded(self.within, made).await {
            Ok(Ok(made)) => {
                let Prompt { session, tokens: [_, tokens], .. } = &made.sent.prompt;
                let message = "the provider refused the prompt as too long; a smaller one is sent";
                tracing::info!(session, tokens, "{message}");
                Some(made)
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "no smaller prompt could be made");
                None
            }
            Err(skip) => {
                tracing::warn!(skip = skip.word(), "no smaller prompt could be made");
                None
            }
        }
    }

    /// The conversation as it was last decided on, with what is new as it came.
    async fn look(&self, told: &BodyHints) -> Option<RoutedPrompt> {
        let (hub, ask) = (Arc::clone(self.hub_of(told)), told.ask.clone());
        bounded(self.within / 4, move || hub.preview(&ask)).await.ok()?.ok()
    }

    /// What Ollama says of the window of a model, where the user says nothing of it.
    fn window_of(&self, model: &str) -> Option<u64> {
        let windows =
            self.windows.as_ref().filter(|_| self.hub.window() == WindowSetting::Guessed)?;
        Handle::current().block_on(windows.of(model))
    }

    fn outcome(
        &self,
        came: &IncomingRequest,
        room: &mut Room,
        told: &OnceLock<BodyHints>,
    ) -> PrepareOutcome {
        let came_in = match plain(came, self.max_decoded) {
            Ok(body) => {
                room.shrink(body.len());
                body
            }
            Err(Undecoded::TooLarge(most)) => {
                return PrepareOutcome::Declined(Declined::TooLarge(most));
            }
            Err(Undecoded::Unreadable) => return PrepareOutcome::Passed(ProxySkip::Unreadable),
        };
        let Some(facts) = BodyFacts::of(&came_in, came.dialect) else {
            return PrepareOutcome::Passed(ProxySkip::Unreadable);
        };
        let thread = facts.thread().filter(|_| came.dialect == ApiDialect::Messages);
        let body = match thread.map(|thread| tether::untied(&came_in, thread)) {
            None => came_in.clone(),
            Some(Some(untied)) => untied,
            // There is no conversation to send anew for a count.
            Some(None) if came.task == RouteTask::Count => {
                return PrepareOutcome::Passed(ProxySkip::Chained);
            }
            Some(None) => return PrepareOutcome::Declined(Declined::Tethered),
        };
        let told = told.get_or_init(|| self.told(came, &facts, body));
        if facts.is_chained() {
            return PrepareOutcome::Passed(ProxySkip::Chained);
        }
        if facts.has_provider_edits() {
            return PrepareOutcome::Passed(ProxySkip::ProviderEdits);
        }
        let is_count = came.task == RouteTask::Count;
        if !is_count && clients::is_side_request(&came.headers, &facts, &told.ask.bytes) {
            return PrepareOutcome::Side;
        }
        if let Some(arms) = &self.arms {
            let (ask, begins) = (&told.ask, !is_count);
            let arm = arms.arm_of(&ArmRequest { ask, begins });
            arm.into_iter().for_each(|arm| drop(told.arm.set(arm)));
        }
        self.made(self.hub_of(told), &told.ask, is_count)
    }

    /// What can be told of a request before its prompt is made; `body` is what it says.
    fn told(&self, came: &IncomingRequest, facts: &BodyFacts<'_>, body: Bytes) -> BodyHints {
        let (format, model) = (came.dialect.format(), facts.model());
        let window = clients::window(&came.headers).or_else(|| facts.num_ctx());
        // It is the server that has a window, through whichever of its APIs it is asked.
        let cuts = came.api == UpstreamApi::Ollama;
        let asked = model.as_deref().filter(|_| window.is_none() && cuts);
        let told = asked.and_then(|model| self.window_of(model));
        let (tenant, label) = (came.tenant.clone(), clients::label(&came.headers));
        let client = clients::asking_program(&came.headers);
        let ask = RoutedRequest { bytes: body, format, tenant, label, client, window, told, cuts };
        BodyHints { ask, model, arm: OnceLock::new() }
    }

    /// The prompt, or for a count what it would be.
    fn made(&self, hub: &SessionRouter, ask: &RoutedRequest, is_count: bool) -> PrepareOutcome {
        if ask.needs_answers() {
            Handle::current().block_on(self.recordings.settled());
        }
        let made = match is_count {
            true => hub.preview(ask),
            false => Handle::current().block_on(hub.prompt_for(ask)),
        };
        match made {
            Ok(sent) => PrepareOutcome::Made(Box::new(sent)),
            Err(Error::Input(error)) => {
                tracing::warn!(%error, "a request cannot be read");
                PrepareOutcome::Passed(ProxySkip::Unreadable)
            }
            Err(error) => {
                tracing::warn!(%error, "no prompt could be made");
                PrepareOutcome::Passed(ProxySkip::Failed)
            }
        }
    }
}

/// Work on a thread of its own. What takes too long goes on there, for whoever asks next.
async fn bounded<T: Send + 'static>(
    within: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ProxySkip> {
    match timeout(within, spawn_blocking(work)).await {
        Ok(Ok(done)) => Ok(done),
        // A panic stays on its thread.
        Ok(Err(_)) => Err(ProxySkip::Panicked),
        Err(_) => Err(ProxySkip::Deadline),
    }
}

/// How many bytes the body of a request may come to without its encodings.
fn most_decoded(came: &IncomingRequest, most: usize) -> usize {
    match encodings(&came.headers) {
        Ok(encodings) if !encodings.is_empty() => bound(came.body.len(), most),
        _ => came.body.len(),
    }
}

/// The body of a request without its encodings.
fn plain(came: &IncomingRequest, most: usize) -> Result<Bytes, Undecoded> {
    let encodings: Vec<Encoding> = encodings(&came.headers)?;
    decode(came.body.clone(), &encodings, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_bodies_wait_for_no_large_one() {
        let bodies = LargeBodies::default();
        let first = bodies.room(40 << 20).await;
        assert!(first.0.is_some());
        let mut second = Box::pin(bodies.room(40 << 20));
        assert!(at_once(&mut second).is_none(), "both at once are too many bytes");
        assert!(bodies.room(2 << 10).await.0.is_none());
        drop(first);
        assert!(second.await.0.is_some());
        assert!(bodies.room(1 << 30).await.0.is_some(), "whatever its size, one alone has room");
    }

    #[tokio::test]
    async fn an_encoded_body_has_room_for_what_it_may_come_to() {
        let mut came = IncomingRequest {
            headers: HeaderMap::new(),
            body: Bytes::from(vec![0; 300 << 10]),
            api: UpstreamApi::Anthropic,
            dialect: ApiDialect::Messages,
            task: RouteTask::Prompt,
            tenant: String::new(),
        };
        assert_eq!(most_decoded(&came, 64 << 20), 300 << 10);
        came.headers.insert("content-encoding", "gzip".parse().unwrap());
        assert_eq!(most_decoded(&came, 64 << 20), (300 * 200) << 10);
        assert_eq!(most_decoded(&came, 8 << 20), 8 << 20);
        let bodies = LargeBodies::default();
        let mut first = bodies.room(most_decoded(&came, 64 << 20)).await;
        let mut second = Box::pin(bodies.room(40 << 20));
        assert!(at_once(&mut second).is_none(), "both at once may be too many bytes");
        first.shrink(8 << 20);
        let second = at_once(&mut second);
        assert!(second.is_some(), "now it is known how many they are");
        first.shrink(0);
        assert_eq!(bodies.0.available_permits(), (64 - 40) << 10);
    }

    /// What a future gives at once.
    fn at_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
