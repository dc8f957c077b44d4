//! What a request adds to the journal.
//!
//! Invariant: every message that is not recorded yet is in the batch, byte for byte but for what
//! the profile redacts.

use epitome_kernel::{Batch, Departure, StoreError, Turn};
use epitome_plan::Arrival;
use epitome_types::{Entry, Role};

use super::ground::Ground;
use super::state::Incoming;
use super::{Session, UNNAMED};
use crate::Error;
use crate::recorded::said;

/// So many messages, a question and its answer, tell a conversation from others.
const SPOKEN: usize = 2;

/// They are among the first so many, behind what clients say of themselves.
const OPENING: usize = 8;

impl Session {
    /// The name of the session that a request belongs to: the host's, that of the session whose
    /// history it repeats or goes on from, or a new one.
    pub(crate) fn name_for(&mut self, incoming: &Incoming) -> Result<String, Error> {
        if let Some(name) = self.name.as_ref().filter(|_| self.named || incoming.extends()) {
            return Ok(name.clone());
        }
        if let Some(name) = incoming.session.as_ref().filter(|_| incoming.goes_on) {
            return Ok(name.clone());
        }
        if let Some(name) = &self.told.adopts {
            return Ok(name.clone());
        }
        let head = incoming.chains.last().copied().unwrap_or_default().to_string();
        let Some(label) = self.told.label.clone() else {
            return Ok(format!("{UNNAMED}-{}", &head[..8]));
        };
        // The first conversation under a label has its name; the others go by what they say too,
        // but for the same one behind another system prompt.
        let is_first = self.claims(&label)? || self.opens_like(&label, incoming)?;
        Ok(if is_first { label } else { format!("{label}-{}", &head[..8]) })
    }

    /// Whether a history begins with what was said first in a session. A client that is started
    /// anew words its system prompt anew.
    fn opens_like(&self, name: &str, incoming: &Incoming) -> Result<bool, Error> {
        let head = match self.journal.session(&self.scope, name) {
            Ok(session) => session.head,
            // Somebody is about to begin it.
            Err(StoreError::NoSession { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let opening = self.journal.history(&self.scope, head, 0, OPENING)?;
        let spoken = opening.iter().filter(|said| said.role != Role::System).take(SPOKEN);
        let mut keys = incoming.keys.iter();
        let mut shared = 0;
        let all = spoken.inspect(|_| shared += 1).all(|said| keys.any(|key| *key == said.key));
        Ok(all && shared == SPOKEN)
    }

    /// Whether nobody has this name yet; whoever records it first has it from then on.
    fn claims(&mut self, name: &str) -> Result<bool, Error> {
        if self.claim.as_ref().is_some_and(|claim| claim.is_of(name)) {
            return Ok(true);
        }
        self.claim = self.shared.claim(&self.scope, name);
        Ok(self.claim.is_some() && !self.is_taken(name)?)
    }

    pub(crate) fn batch(
        &self,
        ground: &Ground<'_, '_>,
        arrival: Arrival,
        sent: u64,
        rent: f64,
    ) -> Batch {
        let Ground { source, tail, incoming, live, .. } = ground;
        let new = tail.came.iter().skip(incoming.recorded.saturating_sub(tail.first));
        let said = new.map(|entry| {
            let id = tail.place(entry.id);
            let key = incoming.keys[id.index()];
            let saved = arrival.rewrites.iter().filter(|one| one.key == key);
            let saved: u64 = saved.map(|one| one.tokens[0] - one.tokens[1]).sum();
            let bytes = (source.format, source.message(id.index()));
            let names = (key, incoming.chains[id.index()]);
            // What tells no time of its own came with this request.
            let at = entry.at.clone().or_else(|| Some(ground.at.to_owned()));
            let placed = Entry { id, at, ..entry.clone() };
            said(bytes, &placed, names, tail.tokens.entry(entry.id) + saved, &self.redaction)
        });
        Batch {
            after: incoming.after(),
            said: said.collect(),
            rewrites: arrival.rewrites,
            departure: arrival.departure,
            format: source.format.to_string(),
            model: source.model().map(str::to_owned),
            title: ground.tally.title.clone().unwrap_or_default(),
            turn: Some(Turn { tokens: [ground.size()[0], sent], limit: live.limit, rent }),
            at: ground.at.to_owned(),
        }
    }

    /// Makes what leaves the prompt ready for the journal, where it is found under the session's
    /// name.
    pub(crate) fn departing(&self, departure: &mut Departure, name: &str) {
        let sources = departure.sources.iter_mut().map(|(_, _, source)| source);
        for source in sources.chain(departure.blobs.iter_mut().map(|blob| &mut blob.source)) {
            *source = format!("{name}: {source}");
        }
        self.redaction.departure(departure);
    }
}
