//! The events of one request, in order.
//!
//! Invariant: an event is added when what it says is decided; the host gets them with the prompt.

use epitome_types::{EntryId, EntryKey, Event, Happened, How, Rewrite};

use crate::target::Held;

/// What has happened so far.
pub(crate) struct Events {
    session: String,
    pub(crate) at: String,
    happened: Vec<Event>,
}

impl Events {
    pub(crate) fn new(session: &str, at: String) -> Self {
        Self { session: session.to_owned(), at, happened: Vec::new() }
    }

    pub(crate) fn add(&mut self, tokens: [u64; 2], what: Happened) {
        let (session, at) = (self.session.clone(), self.at.clone());
        self.happened.push(Event { session, at, tokens, what });
    }

    /// What has happened so far.
    pub(crate) fn so_far(&self) -> &[Event] {
        &self.happened
    }

    /// What was made smaller on arrival.
    pub(crate) fn arrived(&mut self, rewrites: &[Rewrite], keys: &[EntryKey]) {
        for rewrite in rewrites {
            let place = keys.iter().rposition(|key| *key == rewrite.key).unwrap_or_default();
            let (entry, tool) = (EntryId(place as u32).to_string(), rewrite.tool.clone());
            let saved = rewrite.tokens[0].saturating_sub(rewrite.tokens[1]);
            self.add(
                rewrite.tokens,
                match rewrite.how {
                    How::Offload => Happened::ToolResultOffloaded { entry, tool, saved },
                    _ => Happened::ToolResultDigested { entry, tool, saved },
                },
            );
        }
    }

    /// Warns of a prompt that fills its window.
    pub(crate) fn warn(&mut self, held: &Held, limit: u64, size: u64) {
        if size >= held.warn {
            let percent = size * 100 / limit.max(1);
            self.add([size, size], Happened::ContextWarning { percent });
        }
    }
}

impl From<Events> for Vec<Event> {
    fn from(events: Events) -> Self {
        events.happened
    }
}
