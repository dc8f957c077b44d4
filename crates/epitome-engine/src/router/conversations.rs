//! The conversations at hand, found by what was said in them.
//!
//! Invariant: a conversation is found by its whole history and no less; at most a stated number is
//! at hand, and what falls out is in the journal. A history is compared by hashes that hold within
//! this process; the session that is found compares it message by message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use epitome_wire::RequestScan;
use tokio::sync::Mutex as Turns;
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use super::{RoutedRequest, locked};
use crate::session::Session;

/// What a request holds, and the hashes of all histories that it goes on from.
#[derive(Clone, Debug)]
pub(super) struct RequestHistory {
    pub(super) scan: Arc<RequestScan>,
    tenant: Arc<str>,
    /// Up to the first message.
    root: u128,
    /// Up to each message, shortest first.
    chains: Arc<[u128]>,
}

/// Where a conversation stands.
type ConversationPlace = (Arc<str>, u128);

/// One conversation.
#[derive(Default)]
pub(super) struct ConversationSlot {
    /// The session, unless nobody has opened it yet or somebody failed with it. Whoever holds the
    /// lock makes the conversation's prompt. In a box, since it leaves its slot with every request.
    pub(super) session: Turns<Option<Box<Session>>>,
    /// What its next prompt is held to, since its provider refused the last one.
    refused: Mutex<Option<u64>>,
}

/// The conversations at hand.
pub(super) struct Conversations {
    /// By the history that each has come to, with the moment of its last use.
    at_hand: HashMap<ConversationPlace, (Arc<ConversationSlot>, u64)>,
    moment: u64,
    most: usize,
    /// The history that each session has come to here, by its tenant and name. Two conversations are
    /// one session as long as they are word for word the same.
    spoken: HashMap<(Arc<str>, String), u128>,
}

/// So many sessions for each conversation at hand are remembered by where they stand.
const SPOKEN: usize = 4;

impl RequestHistory {
    /// The history that a request holds. What it shares with the one `before` is taken from there.
    pub(super) fn of(ask: &RoutedRequest, scan: RequestScan, before: Option<&Self>) -> Self {
        let system = scan.system.as_ref().map_or(0, |system| system.hash);
        // What another client says is another conversation, however alike it is.
        let label = ask.label.as_deref().map_or(0, |label| xxh3_128_with_seed(label.as_bytes(), 1));
        let root = xxh3_128(ask.format.name().as_bytes()) ^ system ^ label;
        let known = before.filter(|before| before.root == root).map_or(&[][..], |before| {
            let pairs = before.scan.messages.iter().zip(&scan.messages);
            let shared = pairs.take_while(|(there, here)| there.hash == here.hash).count();
            &before.chains[..shared]
        });
        let mut chain = known.last().copied().unwrap_or(root);
        let further = scan.messages[known.len()..].iter().map(|message| {
            let mut pair = [0; 32];
            pair[..16].copy_from_slice(&chain.to_le_bytes());
            pair[16..].copy_from_slice(&message.hash.to_le_bytes());
            chain = xxh3_128(&pair);
            chain
        });
        let chains = known.iter().copied().chain(further).collect();
        Self { chains, root, scan: Arc::new(scan), tenant: ask.tenant.as_str().into() }
    }

    /// The bytes of its last message.
    pub(super) fn last<'a>(&self, ask: &'a RoutedRequest) -> &'a [u8] {
        let last = self.scan.messages.last();
        last.and_then(|last| ask.bytes.get(last.range.clone())).unwrap_or_default()
    }

    fn place(&self, chain: u128) -> ConversationPlace {
        (Arc::clone(&self.tenant), chain)
    }

    /// The whole of it.
    fn whole(&self) -> ConversationPlace {
        self.place(self.chains.last().copied().unwrap_or_default())
    }
}

impl ConversationSlot {
    /// What its next prompt is held to.
    pub(super) fn refused(&self) -> Option<u64> {
        *locked(&self.refused)
    }

    /// Holds its next prompt to so many tokens.
    pub(super) fn refuse(&self, most: Option<u64>) {
        *locked(&self.refused) = most;
    }
}

impl Conversations {
    /// None yet, and at most so many.
    pub(super) fn new(most: usize) -> Self {
        Self { at_hand: HashMap::new(), moment: 0, most: most.max(1), spoken: HashMap::new() }
    }

    /// The conversation that a request goes on from, and where it stands: the one with the longest
    /// history. Where there is none it is a new one, which the same request finds from now on.
    pub(super) fn slot(&mut self, history: &RequestHistory) -> (Arc<ConversationSlot>, u128) {
        self.moment += 1;
        for &chain in history.chains.iter().rev() {
            if let Some((slot, used)) = self.at_hand.get_mut(&history.place(chain)) {
                *used = self.moment;
                return (Arc::clone(slot), chain);
            }
        }
        let slot = Arc::new(ConversationSlot::default());
        let place = history.whole();
        let chain = place.1;
        self.put(place, Arc::clone(&slot));
        (slot, chain)
    }

    /// The conversation that a request goes on from.
    pub(super) fn find(&self, history: &RequestHistory) -> Option<Arc<ConversationSlot>> {
        let chains = history.chains.iter().rev();
        let mut found = chains.filter_map(|chain| self.at_hand.get(&history.place(*chain)));
        found.next().map(|(slot, _)| Arc::clone(slot))
    }

    /// Whether a conversation still stands where it was found.
    pub(super) fn stands(
        &self,
        slot: &Arc<ConversationSlot>,
        history: &RequestHistory,
        chain: u128,
    ) -> bool {
        let found = self.at_hand.get(&history.place(chain));
        found.is_some_and(|(there, _)| Arc::ptr_eq(there, slot))
    }

    /// A conversation went on to the whole of a history.
    pub(super) fn advance(
        &mut self,
        slot: &Arc<ConversationSlot>,
        from: u128,
        history: &RequestHistory,
    ) {
        let from = history.place(from);
        if self.at_hand.get(&from).is_some_and(|(there, _)| Arc::ptr_eq(there, slot)) {
            self.at_hand.remove(&from);
        }
        self.put(history.whole(), Arc::clone(slot));
    }

    /// Whether a session was gone on with elsewhere since this conversation came to its place: it was
    /// rewound, or another conversation that began alike goes on from it.
    pub(super) fn strayed(&self, session: &str, history: &RequestHistory, chain: u128) -> bool {
        let key = (Arc::clone(&history.tenant), session.to_owned());
        self.spoken.get(&key).is_some_and(|there| *there != chain)
    }

    /// A session was gone on with to the whole of a history.
    pub(super) fn spoke(&mut self, session: &str, history: &RequestHistory) {
        // What is forgotten is found in the journal, by the next request that is not at hand.
        if self.spoken.len() >= self.most.saturating_mul(SPOKEN) {
            self.spoken.clear();
        }
        let key = (Arc::clone(&history.tenant), session.to_owned());
        self.spoken.insert(key, history.whole().1);
    }

    fn put(&mut self, place: ConversationPlace, slot: Arc<ConversationSlot>) {
        if self.at_hand.len() >= self.most && !self.at_hand.contains_key(&place) {
            let oldest = self.at_hand.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(place, _)| place.clone()) {
                self.at_hand.remove(&oldest);
            }
        }
        self.at_hand.insert(place, (slot, self.moment));
    }

    /// How many are at hand.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.at_hand.len()
    }
}
