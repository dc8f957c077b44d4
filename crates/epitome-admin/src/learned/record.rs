//! How lessons are recorded, and how they are shown.
//!
//! Invariant: what this program cannot read teaches nothing; it is learned anew. Used by `lessons`.

use epitome_count::CalibrationFactor;
use epitome_types::EventKind;
use serde::{Deserialize, Serialize};

/// A lesson, as the journal has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) samples: Vec<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shortened: Option<SilentTruncation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<u64>,
}

/// A limit in our tokens grows by no more than this while answers tell how a provider counts, as a part
/// of what it comes to.
const DRIFT: f64 = 0.25;

/// How a provider counts, as its answers say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountCalibration {
    /// Tokens of the provider for one of ours.
    pub factor: f64,
    /// How far single prompts are off that, as a part of it.
    pub band: f64,
    /// How many prompts say so.
    pub samples: usize,
}

impl CountCalibration {
    /// Whether a limit of prompts may be what one in the provider's tokens came to in ours. Answers
    /// since then may have changed how the provider is taken to count.
    pub fn can_limit_to(&self, limit: u64, stated: u64) -> bool {
        let now = stated as f64 / (self.factor * (1.0 + self.band)).max(1.0);
        limit < stated && limit as f64 >= now * (1.0 - DRIFT)
    }
}

/// A prompt of which a server read but a part, without a word (RULES 153).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SilentTruncation {
    /// Its tokens by our count.
    pub sent: u64,
    /// The tokens that the server read.
    pub evaluated: u64,
}

impl SilentTruncation {
    /// What to do about it.
    pub const REMEDY: &str = "state the context size (`--context-size`), so that it is told to Ollama with \
        every request, or have its server make more room (OLLAMA_CONTEXT_LENGTH, or num_ctx in the \
        Modelfile)";

    /// What is told of it.
    pub fn happened(self) -> EventKind {
        let Self { sent, evaluated } = self;
        EventKind::PromptTruncated { sent, evaluated, remedy: Self::REMEDY.to_owned() }
    }
}

/// Returns the key of a lesson.
pub fn key(format: &str, model: Option<&str>, counter: &str) -> String {
    // Names alone: it cannot fail.
    serde_json::to_string(&(format, model, counter)).unwrap_or_default()
}

impl LearnedRecord {
    pub(crate) fn read(written: &str) -> Option<Self> {
        serde_json::from_str(written).ok()
    }

    /// It, as the journal keeps it.
    pub fn written(&self) -> String {
        // Plain figures: it cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<CalibrationFactor> for CountCalibration {
    fn from(CalibrationFactor { factor, band, samples }: CalibrationFactor) -> Self {
        Self { factor, band, samples }
    }
}
