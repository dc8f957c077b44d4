//! What comes back into a conversation whose messages its client writes: it stands behind the newest
//! result of a tool, before that is first sent (RULES 51).
//!
//! Invariant: what was sent before keeps its bytes, and so does what a person typed. Where no result is
//! new, or the prompt has no room, it waits for the next one or for a compression. Called by the turn,
//! once what is made smaller on arrival is known.

use std::collections::BTreeSet;

use epitome_config::RedactionPatterns;
use epitome_kernel::TextMeasure;
use epitome_plan::{ArrivalOutcome, arriving};
use epitome_types::{Actor, ArrivalRewrite, ContentId, Part, PartId, ReplaceMethod, SessionAction};

use super::Session;
use super::notes;
use super::state::ConversationState;
use super::turn_context::TurnContext;

impl Session {
    /// Puts the excerpts that are to come back behind the newest result that was never sent.
    pub(super) fn bring_back(
        &self,
        ground: &TurnContext<'_, '_>,
        arrival: &mut ArrivalOutcome,
        state: &mut ConversationState,
    ) {
        let Some(acts) = state.acts.as_mut().filter(|acts| !acts.returning.is_empty()) else {
            return;
        };
        let gauge = ground.tail.tokens.gauge();
        let note = notes::tagged(&acts.returning.join("\n\n"));
        let more = gauge.size(&note);
        let known = &state.history;
        let arrived: BTreeSet<_> = known.arrived(ground.tail.first).map(|(it, _)| it).collect();
        let erased: BTreeSet<_> = known.erased(ground.tail.first).collect();
        let is_new = |part: PartId| {
            !arrived.contains(&ground.tail.place_of(part)) && !erased.contains(&part.entry.index())
        };
        if ground.size()[1] + more > ground.live.limit || !append(ground, arrival, &note, is_new) {
            return;
        }
        acts.returning.clear();
        let by = Actor::Policy(self.settings.profile.name().to_owned());
        state.work.doing.push((SessionAction::Returned, by));
    }
}

/// Puts a note behind the newest result that may have one. Says whether there is any.
fn append(
    ground: &TurnContext<'_, '_>,
    arrival: &mut ArrivalOutcome,
    note: &str,
    is_new: impl Fn(PartId) -> bool,
) -> bool {
    let TurnContext { tail, incoming, .. } = ground;
    let (thread, gauge) = (&tail.thread, tail.tokens.gauge());
    let new = incoming.sent.saturating_sub(tail.first)..thread.entries().len();
    let results = arriving(thread, new, &tail.tokens);
    for (part, result) in results.into_iter().rev().filter(|(part, _)| is_new(*part)) {
        let key = incoming.keys[tail.place(part.entry).index()];
        // Of messages that say the same, one that was sent before would change.
        let is_once = incoming.keys.iter().filter(|known| **known == key).count() == 1;
        let smaller = arrival.rewrites.iter_mut().find(|it| (it.key, it.part) == (key, part.part));
        match (smaller, thread.part(part)) {
            (Some(smaller), _) if is_once && smaller.how != ReplaceMethod::Mask => {
                smaller.with = format!("{}\n\n{note}", smaller.with);
                smaller.tokens[1] = gauge.size(&smaller.with);
                return true;
            }
            (None, Some(whole)) if is_once && is_sent_as_recorded(whole) => {
                let text = whole.text().unwrap_or_default();
                let with = format!("{text}\n\n{note}");
                arrival.rewrites.push(ArrivalRewrite {
                    key,
                    part: part.part,
                    how: ReplaceMethod::Append,
                    original: ContentId::for_text(text),
                    tool: result.tool.unwrap_or_default(),
                    tokens: [tail.tokens.part(part), gauge.size(&with)],
                    with,
                });
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Whether what is known of a part is what its client sends: a mask of what is not recorded stands in
/// no prompt, and a copy of a file is known by its place.
fn is_sent_as_recorded(part: &Part) -> bool {
    let text = part.text().unwrap_or_default();
    part.files.is_empty() && RedactionPatterns::masks(text.as_bytes()) == 0
}
