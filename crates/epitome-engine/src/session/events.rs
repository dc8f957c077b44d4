//! The events of one request, in order.
//!
//! Invariant: an event is added when what it says is decided; listeners and the log are told when
//! the prompt is made, in one place, and the host gets them with the prompt.

use epitome_types::{ArrivalRewrite, EntryId, EntryKey, Event, EventKind, ReplaceMethod, Stage};
use tracing::Level;

use super::Session;

use crate::learned_limits::SilentTruncation;
use crate::limits::PromptBounds;

/// The target of events in a log; a host that says them in words of its own leaves it out.
const EVENTS: &str = "epitome::events";

impl Session {
    /// Tells the listeners and the log.
    pub(crate) fn tell(&self, events: &[Event]) {
        for event in events {
            log(event);
            self.settings.listeners.iter().for_each(|listener| listener(event));
        }
    }
}

/// What has happened so far.
pub(crate) struct TurnEvents {
    session: String,
    pub(crate) at: String,
    happened: Vec<Event>,
}

impl TurnEvents {
    pub(crate) fn new(session: &str, at: String) -> Self {
        Self { session: session.to_owned(), at, happened: Vec::new() }
    }

    pub(crate) fn add(&mut self, tokens: [u64; 2], what: EventKind) {
        let (session, at) = (self.session.clone(), self.at.clone());
        self.happened.push(Event { session, at, tokens, what });
    }

    /// A stage of a compression is done.
    pub(crate) fn stage(&mut self, tokens: [u64; 2], stage: Stage) {
        self.add(tokens, EventKind::CheckpointProgress { stage, fraction: stage.fraction() });
    }

    /// What has happened so far.
    pub(crate) fn so_far(&self) -> &[Event] {
        &self.happened
    }

    /// What was made smaller on arrival.
    pub(crate) fn arrived(&mut self, rewrites: &[ArrivalRewrite], keys: &[EntryKey]) {
        // What comes back was told when it was found.
        for rewrite in rewrites.iter().filter(|one| one.how != ReplaceMethod::Append) {
            let place = keys.iter().rposition(|key| *key == rewrite.key).unwrap_or_default();
            let (entry, tool) = (EntryId(place as u32).to_string(), rewrite.tool.clone());
            let saved = rewrite.tokens[0].saturating_sub(rewrite.tokens[1]);
            self.add(
                rewrite.tokens,
                match rewrite.how {
                    ReplaceMethod::Offload => EventKind::ToolResultOffloaded { entry, tool, saved },
                    _ => EventKind::ToolResultDigested { entry, tool, saved },
                },
            );
        }
    }

    /// An earlier prompt was cut by its server.
    pub(crate) fn cut(&mut self, shortened: Option<SilentTruncation>) {
        if let Some(shortened) = shortened {
            self.add([shortened.sent, shortened.evaluated], shortened.happened());
        }
    }

    /// Warns of a prompt that fills its window.
    pub(crate) fn warn(&mut self, held: &PromptBounds, limit: u64, size: u64) {
        if size >= held.warn {
            let percent = size * 100 / limit.max(1);
            self.add([size, size], EventKind::ContextWarning { percent });
        }
    }
}

impl From<TurnEvents> for Vec<Event> {
    fn from(events: TurnEvents) -> Self {
        events.happened
    }
}

/// Writes an event to whatever log the host has.
fn log(event: &Event) {
    let troubles = matches!(
        event.what,
        EventKind::CompressionError { .. }
            | EventKind::PolicyError { .. }
            | EventKind::PluginError { .. }
            | EventKind::AnswerBounded { .. }
            | EventKind::ModelFallback { .. }
            | EventKind::PolicyWarning { .. }
            | EventKind::SummariesPaused { .. }
            | EventKind::DriftDetected { .. }
            | EventKind::Handover { .. }
            | EventKind::SnapshotError { .. }
            | EventKind::WorkspaceError { .. }
            | EventKind::StoreLost { .. }
            | EventKind::ContextWarning { .. }
            | EventKind::PromptTruncated { .. }
            | EventKind::FilesLeft { .. }
    );
    let (session, [before, after]) = (&*event.session, event.tokens);
    let what = || serde_json::to_string(&event.what).unwrap_or_default();
    if troubles && tracing::enabled!(target: EVENTS, Level::WARN) {
        tracing::warn!(target: EVENTS, session, before, after, "{}", what());
    } else if !troubles && tracing::enabled!(target: EVENTS, Level::INFO) {
        tracing::info!(target: EVENTS, session, before, after, "{}", what());
    }
}
