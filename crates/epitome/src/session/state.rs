//! What a session remembers between requests: keys and records, never old text.
//!
//! Invariant: all of it can be read again from the journal and the next request.

use std::collections::BTreeMap;
use std::iter;

use epitome_kernel::{Chain as Policies, Epochs, Lineage, Reconciled, StoreError, reconcile};
use epitome_plan::Meter;

use epitome_store::Archive;
use epitome_types::{Chain, EntryId, EntryKey, EpochId, PartId, Rewrite};
use epitome_wire::Document;
use xxhash_rust::xxh3::xxh3_128;

/// What is known of one conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The history as it last came.
    pub(crate) keys: Vec<EntryKey>,
    /// The hashes of its messages' bytes: an identity within this process, never stored.
    raw: Vec<u128>,
    pub(crate) lineage: Lineage,
    pub(crate) pins: Vec<EntryKey>,
    pub(crate) seen: u64,
    pub(crate) meter: Meter,
    /// The epoch that was in force with the last prompt.
    pub(crate) epoch: Option<EpochId>,
    pub(crate) rewrites: BTreeMap<(EntryKey, u32), Rewrite>,
    /// The policies, with what they noted, once they were asked.
    pub(crate) chain: Option<Chained>,
    /// What policies pinned in this request, and which.
    pub(crate) to_pin: Vec<(EntryId, String)>,
}

/// The policies of a session.
#[derive(Clone, Debug)]
pub(crate) struct Chained {
    /// The session that their notes belong to.
    pub(crate) session: String,
    pub(crate) chain: Policies,
    /// The notes as the journal has them.
    pub(crate) recorded: BTreeMap<String, String>,
}

/// An incoming history beside what is known of it.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) keys: Vec<EntryKey>,
    /// The history up to each entry.
    pub(crate) chains: Vec<Chain>,
    pub(crate) reconciled: Reconciled,
    /// How many entries are in the journal, and the session that leads to the last of them.
    pub(crate) recorded: usize,
    pub(crate) session: Option<String>,
    /// How many entries an earlier request held.
    pub(crate) sent: usize,
}

/// What is known of a history that was pushed message by message.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) keys: Vec<EntryKey>,
    /// How many of its entries an earlier request held.
    pub(crate) sent: usize,
}

impl Incoming {
    /// Whether it goes on from the history that was last seen.
    pub(crate) fn extends(&self) -> bool {
        matches!(self.reconciled, Reconciled::Extend { .. })
    }

    /// The history up to its recorded part's end.
    pub(crate) fn after(&self) -> Chain {
        self.recorded.checked_sub(1).map_or_else(Chain::default, |last| self.chains[last])
    }
}

impl State {
    /// Looks an incoming history up, and reads what the journal says of it: all of it where the
    /// history or the records changed under this session, else what concerns the new entries.
    pub(crate) fn meet(
        &mut self,
        document: &Document<'_>,
        pushed: Option<Known>,
        journal: &dyn Archive,
        scope: &str,
    ) -> Result<Incoming, StoreError> {
        let sent = pushed.as_ref().map(|known| known.sent);
        let keys = match pushed {
            Some(known) => {
                self.raw.clear();
                known.keys
            }
            None => self.keys_of(document),
        };
        let chains = chains(&keys);
        let reconciled = reconcile(&self.keys, &keys);
        let shared = reconciled.shared();
        let known = journal.known(scope, &chains[shared..])?;
        let recorded = known.as_ref().map_or(shared, |(index, _)| shared + index + 1);
        let session = known.map(|(_, session)| session);
        let new = &keys[shared..];
        for rewrite in journal.rewrites(scope, new)? {
            self.rewrites.insert((rewrite.key, rewrite.part), rewrite);
        }
        let extends = matches!(reconciled, Reconciled::Extend { .. });
        let of = if extends && journal.seen(scope)? == self.seen { new } else { &keys[..] };
        let Epochs { recorded: epochs, pins, seen } = journal.epochs(scope, of)?;
        match of.len() == keys.len() {
            true => {
                self.lineage = Lineage::new(epochs);
                // An erasure may have taken what the policies noted.
                self.chain = None;
            }
            false => self.lineage.extend(epochs),
        }
        (self.pins, self.seen) = (pins, seen);
        self.keys.clone_from(&keys);
        let sent = sent.unwrap_or(recorded).min(recorded);
        Ok(Incoming { keys, chains, reconciled, recorded, session, sent })
    }

    /// The keys of a history. What has the bytes that stood in its place the last time is not
    /// hashed by its parts again.
    fn keys_of(&mut self, document: &Document<'_>) -> Vec<EntryKey> {
        let entries = document.entries();
        let raw: Vec<_> =
            entries.iter().map(|entry| xxh3_128(document.message_bytes(entry.id))).collect();
        let known = self.raw.iter().zip(&self.keys).map(Some).chain(iter::repeat(None));
        let keys = raw.iter().zip(entries).zip(known).map(|((raw, entry), known)| match known {
            Some((same, &key)) if same == raw => key,
            _ => EntryKey::of(entry),
        });
        let keys = keys.collect();
        self.raw = raw;
        keys
    }

    /// Reads the epochs and pins of the present history again.
    pub(crate) fn reread(&mut self, journal: &dyn Archive, scope: &str) -> Result<(), StoreError> {
        let Epochs { recorded, pins, seen } = journal.epochs(scope, &self.keys)?;
        (self.lineage, self.pins, self.seen) = (Lineage::new(recorded), pins, seen);
        Ok(())
    }

    /// Remembers what was made smaller.
    pub(crate) fn arrive(&mut self, rewrites: &[Rewrite]) {
        self.rewrites.extend(rewrites.iter().map(|one| ((one.key, one.part), one.clone())));
    }

    /// The entries of the present history that are pinned by hand.
    pub(crate) fn pinned(&self) -> Vec<EntryId> {
        let places = self.keys.iter().zip(0..).filter(|(key, _)| self.pins.contains(key));
        places.map(|(_, place)| EntryId(place)).collect()
    }

    /// The parts of the present history that were made smaller on arrival.
    pub(crate) fn arrived(&self) -> impl Iterator<Item = (PartId, &Rewrite)> {
        let of = |(place, key): (u32, &EntryKey)| {
            let all = self.rewrites.range((*key, 0)..=(*key, u32::MAX));
            all.map(move |((_, part), rewrite)| {
                (PartId { entry: EntryId(place), part: *part }, rewrite)
            })
        };
        (0..).zip(&self.keys).flat_map(of)
    }
}

/// The histories up to each of these entries.
pub(crate) fn chains(keys: &[EntryKey]) -> Vec<Chain> {
    let next = |chain: &mut Chain, &key: &EntryKey| {
        *chain = chain.then(key);
        Some(*chain)
    };
    keys.iter().scan(Chain::default(), next).collect()
}
