//! What policies say with a plan beside what it does to the prompt.
//!
//! Invariant: nothing here changes a plan; what is granted of it is for whoever makes the plan to say.

use std::collections::BTreeSet;
use std::{fmt, mem};

use epitome_kernel::kept_most;
use epitome_types::hook::{Handover, MessageNumber, WriteFile};
use epitome_types::{Budget, EntryId, EventKind};

/// A message that a policy pins.
#[derive(Clone, Debug)]
pub(crate) struct WantedPin {
    pub(crate) entry: EntryId,
    /// Its size.
    pub(crate) tokens: u64,
    pub(crate) policy: String,
    pub(crate) hook: &'static str,
}

/// What else came up.
#[derive(Default)]
pub(crate) struct PlanNotes {
    pub(crate) happened: Vec<EventKind>,
    /// What a policy pinned, and which.
    pub(crate) pins: Vec<WantedPin>,
    /// The messages that a fit leaves alone.
    pub(crate) held: Vec<EntryId>,
    /// The files that a policy wants written, in order.
    pub(crate) exports: Vec<WriteFile>,
    /// Whether a policy recommends a fresh session, and what that starts from.
    pub(crate) handover: Option<Handover>,
    /// What a model wrote of the summaries.
    pub(crate) written: Vec<String>,
    /// How far the summaries can be relied on, where a policy said so.
    pub(crate) confidence: Option<f64>,
}

impl PlanNotes {
    /// Takes what stays whole out of them: what is pinned, and what this plan alone leaves as it is.
    pub(crate) fn take_stays(&mut self) -> (Vec<WantedPin>, Vec<EntryId>) {
        (mem::take(&mut self.pins), mem::take(&mut self.held))
    }

    /// What was ordered that only sessions do.
    pub(crate) fn of_sessions(&self) -> impl Iterator<Item = String> {
        let exports = self.exports.iter().map(|one| {
            format!("`{}` is not written: only a session writes files for its policies", one.name)
        });
        let handover = self.handover.iter();
        exports.chain(handover.map(|_| "a policy recommends a fresh session".to_owned()))
    }
}

/// The messages that a fit leaves alone, and what those take that a policy named.
pub(crate) struct MessagesLeftAlone {
    pub(crate) entries: Vec<EntryId>,
    /// Tokens of all that were named, and of those that are held.
    pub(crate) asked: u64,
    pub(crate) given: u64,
}

impl MessagesLeftAlone {
    /// Of messages that a policy names as many of the newest as it may keep; `tokens` has the size of
    /// each message, `limit` is that of the prompt.
    pub(crate) fn within(limit: u64, named: &[MessageNumber], tokens: &[u64]) -> Self {
        let named: BTreeSet<EntryId> = named.iter().filter_map(|place| place.entry()).collect();
        let mut held = Self { entries: Vec::new(), asked: 0, given: 0 };
        for id in named.into_iter().rev() {
            let Some(size) = tokens.get(id.index()) else { continue };
            held.asked += size;
            if held.given + size <= kept_most(limit) {
                held.given += size;
                held.entries.push(id);
            }
        }
        held
    }
}

/// What was ordered leaves more than may be sent, or takes out more that people demanded, or that
/// the profile keeps, than can be stated in its place.
pub(crate) struct TooLittle(pub(crate) Budget);

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Budget { most, unit } = self.0;
        write!(
            f,
            "what it orders does not come to {most} {unit} with all that people demanded and the \
             profile keeps"
        )
    }
}
