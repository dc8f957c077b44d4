//! A conversation whose store fails meanwhile.
//!
//! Invariant: what was made for a session where it was is not recorded where it is now: it is made
//! anew, so that no text says how to bring back what cannot be (RULES 14). Called by the turn and
//! by
//! `push`.

use epitome_store::{StoreNews, StoreOutage};
use epitome_types::{Event, EventKind};

use super::Session;
use crate::prompt::Prompt;

impl Session {
    /// Adds to a prompt what there is to tell of the store. It is told once, by whoever comes first.
    pub(super) fn tell_of_store(&self, prompt: &mut Prompt) {
        let news = self.record.journal.news().into_iter().filter_map(|news| match news {
            StoreNews::Lost(outage) => {
                let remedy = outage.remedy.to_owned();
                Some(EventKind::StoreLost { cause: outage.cause, remedy })
            }
            StoreNews::Damaged(StoreOutage { cause, remedy }) => {
                tracing::warn!(
                    target: "epitome",
                    session = prompt.session,
                    "{cause}; {remedy}"
                );
                None
            }
            StoreNews::Back => Some(EventKind::StoreBack),
            _ => None,
        });
        let (session, tokens) = (&prompt.session, prompt.tokens);
        let events =
            news.map(|what| Event { session: session.clone(), at: self.now(), tokens, what });
        prompt.events.extend(events.collect::<Vec<_>>());
    }
}
