//! The answers of a turn, in their order, and whoever is asked for the next one.
//!
//! Invariant: an answer is given to the effect that it was recorded for, or to none. Once the turn stands
//! still nothing is answered any more: whatever it makes of that is thrown away by the driver.

use std::future::{Future, pending};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::effect::{EffectAnswer, RecordedStep, TurnEffect};

/// Whoever says what is answered; `None` stops the turn.
pub(crate) type TurnDriver = Box<dyn FnMut(&TurnEffect) -> Option<EffectAnswer> + Send>;

/// Why a turn stands still: it waits for an answer, or cannot go on.
type Halt = Result<Box<TurnEffect>, TapeFault>;

/// Why answers are not those of the turn that they are given to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TapeFault {
    /// The turn asks for something else than what was answered.
    #[error(
        "step {step} answers `{answered}`, but the turn asks for `{asked}`: the record was made with \
         another request, other settings or another version"
    )]
    Diverged {
        /// The step, counted from 1.
        step: usize,
        /// The effect that was answered.
        answered: String,
        /// The effect that came up.
        asked: String,
    },
    /// An answer is none to its effect.
    #[error("the answer to `{effect}` cannot be used: {cause}")]
    Reply {
        /// The effect.
        effect: String,
        /// Why, and what was expected.
        cause: String,
    },
}

/// The answers of one turn.
pub(crate) struct StepTape(Mutex<TapeState>);

struct TapeState {
    steps: Vec<TapedStep>,
    /// How many of them this run was given.
    given: usize,
    driver: TurnDriver,
    halt: Option<Halt>,
}

/// A step, whose reply is not there while it is performed.
struct TapedStep {
    effect: String,
    about: String,
    reply: Option<Value>,
}

/// What is known of an effect that came up.
enum Asked {
    /// The answer.
    Known(Value),
    /// It is to be performed; the answer is written down at this place.
    Perform(usize),
    /// The turn stands still.
    Halted,
}

impl StepTape {
    pub(crate) fn new(steps: Vec<RecordedStep>) -> Self {
        let steps = steps.into_iter().map(|RecordedStep { effect, about, reply }| TapedStep {
            effect,
            about,
            reply: Some(reply),
        });
        let (steps, driver): (_, TurnDriver) = (steps.collect(), Box::new(|_| None));
        Self(Mutex::new(TapeState { steps, given: 0, driver, halt: None }))
    }

    /// Begins a run of the turn. What an earlier one did not finish is asked for again.
    pub(crate) fn rewind(&self, driver: TurnDriver) {
        let mut state = self.state();
        let done = state.steps.iter().take_while(|step| step.reply.is_some()).count();
        state.steps.truncate(done);
        (state.given, state.driver, state.halt) = (0, driver, None);
    }

    /// The steps that were answered.
    pub(crate) fn steps(&self) -> Vec<RecordedStep> {
        let state = self.state();
        let answered = state.steps.iter().map_while(|TapedStep { effect, about, reply }| {
            let (effect, about) = (effect.clone(), about.clone());
            Some(RecordedStep { effect, about, reply: reply.clone()? })
        });
        answered.collect()
    }

    /// Whether the turn stands still.
    pub(crate) fn is_halted(&self) -> bool {
        self.state().halt.is_some()
    }

    /// Why the turn stands still, if it does.
    pub(crate) fn halt(&self) -> Option<Halt> {
        self.state().halt.take()
    }

    /// What comes of an effect that is done at once; `None` where the turn stands still.
    pub(crate) fn effect<R: Serialize + DeserializeOwned>(
        &self,
        effect: TurnEffect,
        perform: impl FnOnce() -> R,
    ) -> Option<R> {
        match self.ask(&effect) {
            Asked::Known(reply) => self.read(&effect, reply),
            Asked::Perform(place) => Some(self.performed(&effect, place, perform())),
            Asked::Halted => None,
        }
    }

    /// The same of one that takes its time. Where the turn stands still it never ends.
    pub(crate) async fn wait_for<R: Serialize + DeserializeOwned>(
        &self,
        effect: TurnEffect,
        perform: impl Future<Output = R>,
    ) -> R {
        let reply = match self.ask(&effect) {
            Asked::Known(reply) => self.read(&effect, reply),
            Asked::Perform(place) => Some(self.performed(&effect, place, perform.await)),
            Asked::Halted => None,
        };
        match reply {
            Some(reply) => reply,
            None => pending().await,
        }
    }

    fn ask(&self, effect: &TurnEffect) -> Asked {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.halt.is_some() {
            return Asked::Halted;
        }
        let about = effect.digest();
        if let Some(known) = state.steps.get(state.given) {
            if known.effect == effect.name && known.about == about {
                state.given += 1;
                return known.reply.clone().map_or(Asked::Halted, Asked::Known);
            }
            state.halt = Some(Err(TapeFault::Diverged {
                step: state.given + 1,
                answered: known.effect.clone(),
                asked: effect.name.clone(),
            }));
            return Asked::Halted;
        }
        let reply = match (state.driver)(effect) {
            None => {
                state.halt = Some(Ok(Box::new(effect.clone())));
                return Asked::Halted;
            }
            Some(EffectAnswer::Perform) => None,
            Some(EffectAnswer::Reply(reply)) => Some(reply),
            Some(EffectAnswer::Accept) => match effect.accepted() {
                Some(reply) => Some(reply),
                None => {
                    let cause = "it changes nothing, so it cannot be taken for done; perform it or \
                                 give its reply";
                    state.fail(effect, cause.to_owned());
                    return Asked::Halted;
                }
            },
        };
        let asked = reply.clone().map_or(Asked::Perform(state.given), Asked::Known);
        state.steps.push(TapedStep { effect: effect.name.clone(), about, reply });
        state.given += 1;
        asked
    }

    /// Writes down what came of an effect.
    fn performed<R: Serialize>(&self, effect: &TurnEffect, place: usize, reply: R) -> R {
        let mut state = self.state();
        match serde_json::to_value(&reply) {
            Ok(written) => {
                if let Some(step) = state.steps.get_mut(place) {
                    step.reply = Some(written);
                }
            }
            Err(error) => state.fail(effect, error.to_string()),
        }
        reply
    }

    fn read<R: DeserializeOwned>(&self, effect: &TurnEffect, reply: Value) -> Option<R> {
        match serde_json::from_value(reply) {
            Ok(reply) => Some(reply),
            Err(error) => {
                let mut state = self.state();
                // An answer that is none is not part of the record.
                let given = state.given.saturating_sub(1);
                state.steps.truncate(given);
                state.fail(effect, error.to_string());
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, TapeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TapeState {
    fn fail(&mut self, effect: &TurnEffect, cause: String) {
        self.halt = Some(Err(TapeFault::Reply { effect: effect.name.clone(), cause }));
    }
}
