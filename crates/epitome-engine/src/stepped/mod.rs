//! A turn that is stepped by hand: everything that a turn asks of the world outside of it is an effect,
//! and whoever drives the turn says what is answered.
//!
//! A turn is a function of its settings, its request and the answers that it gets. So it is written down
//! as these answers, in their order ([`TurnRecord`]), and taken up anywhere by being given them again: no
//! state of its own has to be saved, and none can be forgotten. What is answered already costs no I/O.
//!
//! Invariant: the turn is the one of [`Session`], over ports that ask here first. Nothing reaches a store,
//! a policy, a model, a workspace or the clock but by an effect that was answered with
//! [`EffectAnswer::Perform`]. An answer belongs to the effect that it was given to: where the turn asks for
//! something else in its place, it ends with [`TapeFault::Diverged`](crate::TapeFault::Diverged). Called by hosts and by the lab.

mod forms;
mod journal;
mod model;
mod record;
#[cfg(test)]
mod tests;
mod workspace;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use epitome_store::SessionArchive;

pub use self::record::{TurnError, TurnRecord};

use self::journal::TapedJournal;
use self::model::TapedModel;
use self::workspace::TapedWorkspace;
use crate::builder::CompressorBuilder;
use crate::prompt::Prompt;
use crate::session::Session;
use crate::setup::{DepartureSettings, PolicySettings, WriterSettings};
use crate::tape::{EffectAnswer, RecordedStep, StepTape, TurnDriver, TurnEffect};
use epitome_config::models::Models;

/// A turn, driven from outside.
///
/// ```
/// use std::sync::Arc;
/// use epitome::{Compressor, EffectAnswer, MemoryStore, SteppedTurn, TurnStep};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let request = br#"{"model":"m","messages":[{"role":"user","content":"Hello."}]}"#;
/// let store = Arc::new(MemoryStore::new());
/// let mut turn = SteppedTurn::new(Compressor::builder(), store, Some("talk"), request);
/// let mut step = turn.advance()?;
/// let prompt = loop {
///     step = match step {
///         TurnStep::Waits(effect) => {
///             println!("{} {}", effect.name, effect.about);
///             turn.answer(EffectAnswer::Perform)?
///         }
///         TurnStep::Done(prompt) => break prompt,
///     };
/// };
/// assert_eq!(&prompt.bytes[..], request);
/// # Ok(())
/// # }
/// ```
pub struct SteppedTurn {
    /// The settings, over ports that write down what they answer.
    settings: CompressorBuilder,
    journal: Arc<TapedJournal>,
    session: Option<String>,
    /// Where its session is recorded, where that is not the profile's own scope.
    scope: Option<String>,
    request: Vec<u8>,
    tape: Arc<StepTape>,
}

/// What a turn came to so far.
#[derive(Debug)]
pub enum TurnStep {
    /// It asks for this, and nobody has answered yet.
    Waits(Box<TurnEffect>),
    /// It is over; the prompt is ready to be sent.
    Done(Box<Prompt>),
}

impl SteppedTurn {
    /// A turn that nobody has begun. The store, the policies, the models and the workspace of the
    /// settings are asked only where an effect is performed. Without a name the session is found by what
    /// the request says.
    pub fn new(
        settings: CompressorBuilder,
        store: Arc<dyn SessionArchive>,
        session: Option<&str>,
        request: &[u8],
    ) -> Self {
        Self::with_steps(settings, store, session.map(str::to_owned), request.to_vec(), Vec::new())
    }

    /// A turn that was written down, to go on where it stood. The settings are those that it began with.
    ///
    /// # Errors
    ///
    /// [`TurnError::Version`] for the record of another version of this program. A record that does not
    /// belong to the settings is found with the next step.
    pub fn resume(
        settings: CompressorBuilder,
        store: Arc<dyn SessionArchive>,
        record: TurnRecord,
    ) -> Result<Self, TurnError> {
        let TurnRecord { version, session, request, steps } = record;
        if version != TurnRecord::VERSION {
            return Err(TurnError::Version { found: version, known: TurnRecord::VERSION });
        }
        Ok(Self::with_steps(settings, store, session, request.into_bytes(), steps))
    }

    fn with_steps(
        settings: CompressorBuilder,
        store: Arc<dyn SessionArchive>,
        session: Option<String>,
        request: Vec<u8>,
        steps: Vec<RecordedStep>,
    ) -> Self {
        let tape = Arc::new(StepTape::new(steps));
        let settings = taped(settings.settled(), &tape);
        let journal = Arc::new(TapedJournal::new(store, Arc::clone(&tape)));
        Self { settings, journal, session, scope: None, request, tape }
    }

    /// The same over what another profile recorded: its session goes on from there.
    #[must_use]
    pub fn within(self, scope: &str) -> Self {
        Self { scope: Some(scope.to_owned()), ..self }
    }

    /// Goes on to the next effect that is not answered, or to the end.
    ///
    /// # Errors
    ///
    /// [`TurnError`].
    pub fn advance(&mut self) -> Result<TurnStep, TurnError> {
        self.at_once(Box::new(|_| None))
    }

    /// Answers the effect that the turn waits for, and goes on to the next one, or to the end.
    ///
    /// # Errors
    ///
    /// [`TurnError`]; [`TurnError::Waits`] where a model is asked that needs a runtime: [`Self::run`] has
    /// one.
    pub fn answer(&mut self, answer: EffectAnswer) -> Result<TurnStep, TurnError> {
        let mut answer = Some(answer);
        self.at_once(Box::new(move |_| answer.take()))
    }

    /// Goes on as long as the driver has an answer: `None` stops in front of that effect.
    ///
    /// # Errors
    ///
    /// [`TurnError`].
    pub async fn run(
        &mut self,
        driver: impl FnMut(&TurnEffect) -> Option<EffectAnswer> + Send + 'static,
    ) -> Result<TurnStep, TurnError> {
        self.driven(Box::new(driver)).await
    }

    /// The turn as far as it came, to be taken up by [`SteppedTurn::resume`] anywhere.
    pub fn record(&self) -> TurnRecord {
        TurnRecord {
            version: TurnRecord::VERSION,
            session: self.session.clone(),
            request: String::from_utf8_lossy(&self.request).into_owned(),
            steps: self.tape.steps(),
        }
    }

    /// Runs the turn without a runtime.
    fn at_once(&mut self, driver: TurnDriver) -> Result<TurnStep, TurnError> {
        let turn = pin!(self.driven(driver));
        match turn.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(step) => step,
            Poll::Pending => Err(TurnError::Waits),
        }
    }

    /// Runs the turn from its beginning over what is answered, and asks the driver from there on.
    async fn driven(&mut self, driver: TurnDriver) -> Result<TurnStep, TurnError> {
        self.tape.rewind(driver);
        let (journal, name) = (self.journal.clone(), self.session.as_deref());
        let mut session = Session::new(self.settings.clone(), journal, name);
        if let Some(scope) = &self.scope {
            session = session.recorded_in(scope);
        }
        let ended = {
            let mut turn = pin!(session.prompt_for(&self.request));
            let tape = &self.tape;
            poll_fn(move |context| match turn.as_mut().poll(context) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                // Whoever is asked for something else while it stands still waits for ever.
                Poll::Pending if tape.is_halted() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            })
            .await
        };
        match (self.tape.halt(), ended) {
            (Some(halt), _) => Ok(halt.map(TurnStep::Waits)?),
            (None, Some(Ok(prompt))) => Ok(TurnStep::Done(Box::new(prompt))),
            (None, Some(Err(error))) => Err(TurnError::Turn(Box::new(error))),
            (None, None) => Err(TurnError::Waits),
        }
    }
}

/// Settings over ports that write down what they answer. What would be told or done beside the turn is
/// left out: a turn that is taken up runs over the same ground again.
fn taped(settings: CompressorBuilder, tape: &Arc<StepTape>) -> CompressorBuilder {
    let models = settings.writers.models.all.iter().map(|model| TapedModel::of(model, tape));
    let workspace =
        settings.departures.workspace.as_ref().map(|folder| TapedWorkspace::of(folder, tape));
    let (clock, at) = (settings.clock.clone(), Arc::clone(tape));
    let models = Models::from(models.collect::<Vec<_>>());
    CompressorBuilder {
        writers: WriterSettings { models, runtime: None, ..settings.writers },
        departures: DepartureSettings { workspace, ..settings.departures },
        clock: Arc::new(move || {
            let now = TurnEffect::read("clock.now", ());
            at.effect(now, || clock()).unwrap_or_default()
        }),
        deciders: PolicySettings { watched: false, ..settings.deciders },
        listeners: Vec::new(),
        tape: Some(Arc::clone(tape)),
        ..settings
    }
}
