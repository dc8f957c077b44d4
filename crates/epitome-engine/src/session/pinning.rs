//! What policies pin: granted before a compression is planned, recorded behind the messages.
//!
//! Invariant: what is granted is in no compression of its turn, and takes none out of force; the
//! prompt that a policy pins something of is written once (RULES 17). Called by the turn.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use epitome_kernel::{ActiveCompaction, Bounded, Thread, kept_most};
use epitome_types::{EntryId, EventKind, JournalMark};

use super::Session;
use super::events::TurnEvents;
use super::observe::ObservedTurn;
use super::state::ConversationState;
use super::turn_context::{FullHistory, TurnContext};
use crate::error::Error;
use crate::plan_notes::WantedPin;

/// The messages that a warning names.
const NAMED: usize = 5;

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
        let in_force = whole.and_then(|whole| whole.in_force.as_ref());
        let changed = in_force.map(ActiveCompaction::changed).unwrap_or_default();
        let granted: u64 = state.work.granted_pins.iter().map(|pin| pin.tokens).sum();
        let pinned = ground.tally.pinned() + granted;
        let mut room = kept_most(ground.live.limit).saturating_sub(pinned);
        let mut late: BTreeMap<String, Vec<EntryId>> = BTreeMap::new();
        let keys = &ground.incoming.keys;
        for pin in wanted {
            let key = keys[pin.entry.index()];
            // Of a message that was said again the newest copy is what is pinned.
            let newest = keys.iter().rposition(|known| *known == key).unwrap_or_default();
            let pin = WantedPin { entry: EntryId(newest as u32), ..pin };
            if granted_pins(state).any(|entry| entry == pin.entry)
                || state.history.pins.contains(&key)
            {
                continue;
            }
            if has_left(pin.entry, &changed, &ground.tail.thread) {
                late.entry(pin.policy).or_default().push(pin.entry);
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
        let [_, size] = ground.size();
        late.into_iter().for_each(|(policy, all)| events.add([size; 2], pinned_late(policy, &all)));
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

/// Whether a message is among those that the compression in force changed, or another one of its
/// exchange. All of the history is read where there are any.
fn has_left(entry: EntryId, changed: &BTreeSet<EntryId>, thread: &Thread) -> bool {
    let is_changed = |at: usize| changed.contains(&EntryId(at as u32));
    !changed.is_empty() && thread.exchange_of(entry).entries.clone().any(is_changed)
}

/// Tells that messages had left when a policy pinned them: all behind them would be sent anew.
fn pinned_late(policy: String, entries: &[EntryId]) -> EventKind {
    let named: Vec<_> = entries.iter().take(NAMED).map(EntryId::to_string).collect();
    let others = entries.len() - named.len();
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    let text = format!(
        "not pinned: {}{others}; the compression in force has changed them or taken them out of the \
         prompt, and `epitome pin` brings them back",
        named.join(", ")
    );
    EventKind::PolicyWarning { policy, text, level: None }
}
