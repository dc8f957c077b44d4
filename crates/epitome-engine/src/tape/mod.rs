//! What a turn asks of the world outside of it, and the answers that it got, in their order.
//!
//! Invariant: this knows neither turns nor settings; they hold a tape, and ask it first.

mod effect;
mod hooks;
mod steps;

pub use self::effect::{EffectAnswer, RecordedStep, TurnEffect};
pub use self::hooks::HookDecision;
pub use self::steps::TapeFault;

pub(crate) use self::hooks::decision;
pub(crate) use self::steps::{StepTape, TurnDriver};
