//! What refusals and answers taught of models, as it is recorded: how large a prompt they take, and how
//! they count.
//!
//! Invariant: a lesson holds nothing that was said. Recorded by sessions, shown to people.

mod lesson;
mod record;

use epitome_config::scope::of_no_project;
use epitome_kernel::{Journal, StoreError};
use serde::Serialize;

pub use self::lesson::{AnsweredPrompt, LearnedModel};
pub use self::record::{CountCalibration, LearnedRecord, SilentTruncation, key};

/// What is known of a model, through an API and by a counter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelKnowledge {
    /// The format of the API.
    pub format: String,
    /// The model, where requests name one.
    pub model: Option<String>,
    /// The counter.
    pub counter: String,
    /// The limit that refusals taught, in our tokens.
    pub limit: Option<u64>,
    /// What its server last told, in its own tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// How its provider counts.
    pub counted: Option<CountCalibration>,
    /// The last prompt, where its server cut it.
    pub shortened: Option<SilentTruncation>,
}

impl ModelKnowledge {
    fn read(key: &str, written: &str) -> Option<Self> {
        let (format, model, counter) = serde_json::from_str(key).ok()?;
        let learned = LearnedModel::of(written)?;
        let LearnedRecord { limit, shortened, window, .. } = learned.record();
        Some(Self { format, model, counter, limit, window, counted: learned.counted(), shortened })
    }
}

/// Reads what was learned of models that the sessions of a scope speak to, as it is recorded.
///
/// # Errors
///
/// When the journal cannot be read.
pub fn taught(journal: &dyn Journal, scope: &str) -> Result<Vec<ModelKnowledge>, StoreError> {
    let lessons = journal.lessons(of_no_project(scope))?;
    Ok(lessons.iter().filter_map(|(key, written)| ModelKnowledge::read(key, written)).collect())
}
