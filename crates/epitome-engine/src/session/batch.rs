//! What a request adds to the journal.
//!
//! Invariant: every message that is not recorded yet is in the batch, byte for byte but for what
//! the profile redacts.

use epitome_kernel::{AppendBatch, Eviction, MessageRecord, RequestRecord};
use epitome_plan::ArrivalOutcome;
use epitome_types::MeterReading;

use super::Session;
use super::turn_context::TurnContext;
use epitome_admin::records::{MessageName, WireMessage, said};

impl Session {
    pub(crate) fn batch(
        &self,
        ground: &TurnContext<'_, '_>,
        arrival: ArrivalOutcome,
        sent: u64,
        meter: MeterReading,
    ) -> AppendBatch {
        let TurnContext { source, tail, incoming, live, .. } = ground;
        let new = tail.came.iter().skip(incoming.recorded.saturating_sub(tail.first));
        let said = new.map(|entry| {
            let id = tail.place(entry.id);
            let key = incoming.keys[id.index()];
            let made = arrival.rewrites.iter().filter(|one| one.key == key);
            // A mask may be larger than what it hides.
            let [before, after] = made.fold([0, 0], |[before, after], one| {
                [before + one.tokens[0], after + one.tokens[1]]
            });
            let tokens = (tail.tokens.entry(entry.id) + before).saturating_sub(after);
            let bytes = source.message(id.index());
            let message = WireMessage { format: source.format, bytes };
            let text = tail.readable_address(entry);
            let name = MessageName { key, chain: incoming.chains[id.index()], text };
            // What tells no time of its own came with this request.
            let at = entry.at.clone().or_else(|| Some(ground.at.to_owned()));
            let said = said(message, entry, name, tokens, self.redaction());
            MessageRecord { place: id.0, at, ..said }
        });
        AppendBatch {
            after: incoming.after(),
            said: said.collect(),
            rewrites: arrival.rewrites,
            departure: arrival.departure,
            acts: Vec::new(),
            format: source.format.to_string(),
            model: source.model().map(str::to_owned),
            title: ground.tally.title.clone().unwrap_or_default(),
            turn: Some(RequestRecord {
                tokens: [ground.size()[0], sent],
                limit: live.limit,
                meter,
            }),
            at: ground.at.to_owned(),
            label: self.record.named.then(|| ground.name.to_owned()),
        }
    }

    /// Makes what leaves the prompt ready for the journal, where it is found under the session's
    /// name.
    pub(crate) fn departing(&self, departure: &mut Eviction, name: &str) {
        let sources = departure.sources.iter_mut().map(|(_, _, source)| source);
        for source in sources.chain(departure.blobs.iter_mut().map(|blob| &mut blob.source)) {
            *source = format!("{name}: {source}");
        }
    }
}
