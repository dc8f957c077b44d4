//! Conversations that say the same and were thought of otherwise (RULES 13).
//!
//! Invariant: a message is known without its reasoning, since clients send that back or leave it out;
//! but where a request and a record both have it, and it differs, the answer is another one. Called
//! before it is decided which session a request goes on from.

use epitome_admin::admin::decode;
use epitome_kernel::Holder;
use epitome_types::{Entry, HistoryHash, PartBody};

use super::Session;
use crate::error::Error;

/// A request as it is compared with what is recorded.
#[derive(Clone, Copy)]
pub(super) struct ComparedRequest<'a> {
    pub(super) format: &'a str,
    pub(super) said: &'a [Entry],
    /// The history up to each message.
    pub(super) chains: &'a [HistoryHash],
}

impl Session {
    /// Takes from what sessions have in common with a request the answers that were thought of
    /// otherwise, and all behind them.
    pub(super) fn tell_apart(
        &self,
        scope: &str,
        request: ComparedRequest<'_>,
        holders: &mut [Holder],
    ) -> Result<(), Error> {
        if holders.is_empty() {
            return Ok(());
        }
        let thought = request.said.iter().map(|entry| self.reasoning(entry)).enumerate();
        let thought: Vec<_> = thought.filter_map(|(place, text)| Some((place, text?))).collect();
        // The id of a client says whose a session is, whatever becomes of its reasoning.
        let is_own = |holder: &Holder| holder.label.is_some() && holder.label == self.told.label;
        for holder in holders.iter_mut().filter(|holder| !is_own(holder)) {
            let shared = holder.shared + holder.answered;
            for (place, sent) in thought.iter().take_while(|(place, _)| *place < shared) {
                let recorded = self.recorded_reasoning(scope, request, holder, *place)?;
                if recorded.is_some_and(|recorded| !is_same(&recorded, sent)) {
                    (holder.shared, holder.answered) = (*place, 0);
                    (holder.ends, holder.has_drawn) = (false, false);
                    break;
                }
            }
        }
        Ok(())
    }

    /// What was thought of the answer that a session holds in a place of a request: recorded when it was
    /// given, or else as its client sent it back.
    fn recorded_reasoning(
        &self,
        scope: &str,
        request: ComparedRequest<'_>,
        holder: &Holder,
        place: usize,
    ) -> Result<Option<String>, Error> {
        let ComparedRequest { format, chains, .. } = request;
        let before = place.checked_sub(1).map_or_else(HistoryHash::default, |last| chains[last]);
        let (journal, session, held) = (&self.record.journal, &*holder.session, chains[place]);
        let given = journal.answer_to(scope, session, before)?.filter(|it| it.chain == held);
        let said = match given {
            Some(given) => vec![given],
            None if place < holder.shared => {
                journal.history(scope, session, held, place as u32, 1)?
            }
            None => return Ok(None),
        };
        Ok(decode(format, &said)?.first().and_then(|entry| self.reasoning(entry)))
    }

    /// The reasoning that a message is known without, as it is recorded; none where it has none.
    fn reasoning(&self, entry: &Entry) -> Option<String> {
        let parts = entry.parts.iter().filter(|part| part.known_as.as_deref() == Some(""));
        let thoughts = parts.filter_map(|part| match &part.body {
            PartBody::Thinking(text) => Some(text.as_str()),
            _ => None,
        });
        let text: String = thoughts.collect();
        let text = text.trim();
        (!text.is_empty()).then(|| self.redaction().text(text).into_owned())
    }
}

/// Whether one goes on from the other: clients cut reasoning short.
fn is_same(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
