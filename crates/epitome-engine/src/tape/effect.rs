//! What a turn asks of the world outside, and what it is answered.
//!
//! Invariant: what an effect is about is kept as a digest, so that a record holds nothing of the
//! conversation but the request and what the answers say.

use epitome_types::ContentId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An effect that was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedStep {
    /// The name of the effect.
    pub effect: String,
    /// A digest of what it was about.
    pub about: String,
    /// The answer, in the form of this effect.
    pub reply: Value,
}

/// Something that a turn asks of the world outside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnEffect {
    /// Who is asked, and for what: `store.append`, `hook.trigger`, `model.complete`, `clock.now`.
    pub name: String,
    /// What it is about.
    pub about: Value,
    /// Whether it changes something outside: then it can be taken for done without being performed.
    pub writes: bool,
    /// The answer that says so.
    #[serde(skip)]
    accepted: Option<Value>,
}

impl TurnEffect {
    /// An effect that changes nothing.
    pub(crate) fn read(name: &str, about: impl Serialize) -> Self {
        // What cannot be written as JSON is told from others by its name alone.
        let about = serde_json::to_value(about).unwrap_or_default();
        Self { name: name.to_owned(), about, writes: false, accepted: None }
    }

    /// An effect that changes something; `accepted` is what is said where it went well.
    pub(crate) fn write(name: &str, about: impl Serialize, accepted: impl Serialize) -> Self {
        let accepted = serde_json::to_value(accepted).ok();
        Self { writes: true, accepted, ..Self::read(name, about) }
    }

    /// The answer of a write that is taken for done.
    pub(super) fn accepted(&self) -> Option<Value> {
        self.accepted.clone()
    }

    /// What tells it from other effects of its name.
    pub(super) fn digest(&self) -> String {
        ContentId::for_text(&self.about.to_string()).to_string()
    }
}

/// What the driver of a turn says to an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectAnswer {
    /// It is done, by whoever the settings name, and what comes of it is the answer.
    Perform,
    /// It is taken for done, and nothing outside changes. Only for an effect that writes.
    Accept,
    /// This is the answer.
    Reply(Value),
}
