//! A system prompt that was put together, beside its host's own.
//!
//! Invariant: what was recorded of it makes it again, byte for byte. Made by the system prompt's part of
//! the turn.

use bytes::Bytes;
use epitome_kernel::TokenCounter;
use epitome_types::{Actor, CompactionId, ContentId, EventKind, RecordedAction, SessionAction};
use epitome_wire::{Format, scan, with_system};

use crate::error::Error;

/// A system prompt as it was put together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assembled {
    /// The epoch that it belongs to; none before the first.
    pub(crate) epoch: Option<CompactionId>,
    /// The host's own that stands in it.
    pub(crate) of: ContentId,
    /// What stands before and behind that.
    pub(crate) around: [String; 2],
    pub(crate) by: Actor,
}

/// One that is put together anew, and what the host is told of it.
pub(crate) type NewSystemPrompt = (Assembled, Option<EventKind>);

impl Assembled {
    /// What an act put together, where it did.
    pub(crate) fn done(acted: &RecordedAction) -> Option<Self> {
        match &acted.act {
            SessionAction::System { epoch, of, around } => {
                let (around, by) = (around.clone(), acted.by.clone());
                Some(Self { epoch: *epoch, of: *of, around, by })
            }
            _ => None,
        }
    }

    pub(crate) fn act(&self) -> SessionAction {
        SessionAction::System { epoch: self.epoch, of: self.of, around: self.around.clone() }
    }

    pub(crate) fn text(&self, own: Option<&str>) -> String {
        let [before, behind] = &self.around;
        format!("{before}{}{behind}", own.unwrap_or_default())
    }

    /// Whether it says this in its own words.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.around.iter().any(|around| around.contains(text))
    }
}

/// The system prompt of a request that is Epitome's to make.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnSystemPrompt {
    /// The host's own.
    pub(crate) own: Option<String>,
    /// What takes its place, where a policy put one together.
    pub(crate) assembled: Option<Assembled>,
    /// Whether something of the history was erased, and maybe what was put together with it.
    pub(crate) erased: bool,
}

impl OwnSystemPrompt {
    /// Tokens that a request takes with this one beyond those that it takes with its host's own.
    pub(crate) fn growth(&self, with: &Assembled, counter: &dyn TokenCounter) -> u64 {
        let size = |text: &str| counter.count(text) + counter.message();
        let own = self.own.as_deref();
        size(&with.text(own)).saturating_sub(own.map_or(0, size))
    }

    /// A prompt with it.
    pub(crate) fn put(&self, bytes: Bytes, format: Format) -> Result<Bytes, Error> {
        let Some(assembled) = &self.assembled else { return Ok(bytes) };
        let text = assembled.text(self.own.as_deref());
        Ok(with_system(&bytes, format, &scan(&bytes, format)?, &text)?.into())
    }
}
