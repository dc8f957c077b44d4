//! What policies pin: granted before a compression is planned, recorded behind the messages.
//!
//! Invariant: what is granted is in no compression of its turn, and takes none out of force; the
//! prompt that a policy pins something of is written once (RULES 17). Called by the turn.

use std::mem;

use epitome_kernel::{Bounded, kept_most};
use epitome_types::{EntryId, EventKind, JournalMark};

use super::Session;
use super::events::TurnEvents;
use super::observe::ObservedTurn;
use super::state::ConversationState;
use super::turn_context::{FullHistory, TurnContext};
use crate::error::Error;
use crate::planning::WantedPin;

impl Session {
    /// Grants what policies want pinned, within the share of the limit that they may pin, as far as
    /// what is in force stands with it. `whole` is the history as it is sent, where all of it was read.
    pub(super) fn grant_pins(
        &self,
        observed: ObservedTurn<'_, '_, '_>,
        whole: Option<&FullHistory<'_, '_>>,
        wanted: impl IntoIterator<Item = WantedPin>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) {
        let ObservedTurn { ground, brief } = observed;
        let [_, size] = ground.size();
        let granted: u64 = state.work.granted_pins.iter().map(|pin| pin.tokens).sum();
        let pinned = ground.tally.pinned() + granted;
        let mut room = kept_most(ground.live.limit).saturating_sub(pinned);
        for pin in wanted {
            let key = ground.incoming.keys[pin.entry.index()];
            if granted_pins(state).any(|entry| entry == pin.entry)
                || state.history.pins.contains(&key)
            {
                continue;
            }
            if whole.is_some_and(|whole| !stands_with(pin.entry, ground, whole, state)) {
                events.add([size; 2], pinned_late(pin));
                continue;
            }
            let Some(left) = room.checked_sub(pin.tokens) else {
                let WantedPin { tokens: asked, policy, hook, .. } = pin;
                let bounded = Bounded { policy, hook, what: "pin".into(), asked, given: 0 };
                brief.council.notes().bounded.push(bounded);
                continue;
            };
            room = left;
            state.work.granted_pins.push(pin);
        }
    }

    /// Records what was granted.
    ///
    /// # Errors
    ///
    /// When the journal fails.
    pub(super) fn record_pins(
        &self,
        ground: &TurnContext<'_, '_>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<(), Error> {
        let [_, size] = ground.size();
        for WantedPin { entry, policy, .. } in mem::take(&mut state.work.granted_pins) {
            let mark = JournalMark::Pin(ground.incoming.keys[entry.index()]);
            self.record.journal.record_mark(&self.record.scope, ground.name, &mark, ground.at)?;
            state.reread(&*self.record.journal, &self.record.scope)?;
            // What is pinned stays in another way than it was written.
            state.memory = None;
            events.add([size; 2], EventKind::Pinned { entry: entry.to_string(), policy });
        }
        Ok(())
    }
}

/// The places of what was granted and is not recorded yet.
pub(super) fn granted_pins(state: &ConversationState) -> impl Iterator<Item = EntryId> {
    state.work.granted_pins.iter().map(|pin| pin.entry)
}

/// Whether the compression in force stands with one more message pinned. What came behind it is sent
/// whole.
fn stands_with(
    entry: EntryId,
    ground: &TurnContext<'_, '_>,
    whole: &FullHistory<'_, '_>,
    state: &ConversationState,
) -> bool {
    let in_force = whole.in_force.as_ref().filter(|_| entry.index() < ground.standing.end);
    in_force.is_none_or(|in_force| {
        let mut pins = state.history.pinned(0);
        pins.push(entry);
        in_force.stands_with(&ground.tail.to_sum_up(&pins, &state.history))
    })
}

/// Tells that a message had left when a policy pinned it: all behind it would be sent anew.
fn pinned_late(WantedPin { entry, policy, .. }: WantedPin) -> EventKind {
    let text = format!(
        "{entry} is not pinned: a compression in force has taken it out of the prompt; `epitome pin` \
         brings it back"
    );
    EventKind::PolicyWarning { policy, text, level: None }
}
