//! What compression saved, net: what was paid for a prompt against what the same request would
//! have cost as it came, under the same cache.
//!
//! Invariant: pure, and in doubt in favour of the raw history, so that no saving is claimed that
//! there may not be. A conversation that nothing was done to saves exactly nothing. The unit is the
//! price of one token of input that is not cached; answers cost the same on both sides and are left
//! out. Called by the ledger for every answer that came with a usage.
//!
//! The provider's usage says what was read from its cache, written to it, and neither. What the raw
//! prompt would have been is taken from that:
//!
//! 1. *Size*: our count of it, times the provider's count over ours for what was sent; as far as the
//!    client would have sent it. What outgrows its threshold, or the window, it would have summed up
//!    by itself, with one request more.
//! 2. *Read*: all of the raw prompt before it, as far as the cache held: the share that was found
//!    of the prompt that was sent before. Where the cache was cold that share is nothing, and all
//!    is written anew. Where we rewrote the beginning ourselves, the raw prompt would not have
//!    missed the cache by that: the share is the one before.
//! 3. *The rest* is written or not in the proportion in which the rest of this prompt was.

use std::time::{Duration, SystemTime};

use epitome::{CachePrices, OwnCompaction, Price, UnaidedClient};
use epitome_types::TokenUsage;
use serde::{Deserialize, Serialize};

/// What prompts cost, in the price of one token that is not cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PromptCost {
    /// What was paid.
    pub paid: f64,
    /// What the raw history would have cost.
    pub raw: f64,
}

impl PromptCost {
    /// What was saved; negative where compression cost more than it saved.
    pub fn saved(&self) -> f64 {
        self.raw - self.paid
    }

    /// What was saved of what the raw history would have cost, 1 for all; nothing of nothing.
    pub fn share(&self) -> f64 {
        if self.raw > 0.0 { self.saved() / self.raw } else { 0.0 }
    }
}

/// What is needed of a request to settle it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SettledRequest {
    /// Our counts of the prompt: as it came, and as it was sent.
    pub(crate) tokens: [u64; 2],
    /// Whether it no longer begins as the one before it, by our doing.
    pub(crate) rewritten: bool,
    /// Whether the conversation was answered before.
    pub(crate) goes_on: bool,
    /// Whether others served it since the last request that is known here.
    pub(crate) elsewhere: bool,
    pub(crate) started: SystemTime,
    pub(crate) ended: SystemTime,
}

/// A client in a window that nobody knows.
const ENDLESS: OwnCompaction = OwnCompaction { most: u64::MAX, left: u64::MAX };

/// So many new tokens tell how the provider counts a kind of text.
const TELLING: f64 = 200.0;

/// Nothing was told yet. A number that can be written down.
const UNTOLD: f64 = f64::MAX;

/// By what a request is settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// What cached tokens cost against others.
    pub(crate) cache: CachePrices,
    /// A cache that was not used for so long may be cold.
    pub(crate) cold: Duration,
    /// Where the client makes its prompts smaller by itself, where a window is known.
    pub(crate) own: Option<OwnCompaction>,
}

/// What a request cost, and would have cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settled {
    pub(crate) bill: PromptCost,
    /// Tokens of the prompts behind it, by the provider's count: the one that was paid, and the one
    /// that the client would have sent.
    pub(crate) prompts: [u64; 2],
}

/// The same request beside two clients without us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SettledAnswer {
    /// One that compacts where it does so by itself.
    pub(crate) by_threshold: Settled,
    /// One that compacts only when its window is full.
    pub(crate) at_window: Settled,
}

impl SettledAnswer {
    /// One that both would have sent alike.
    pub(crate) fn sure(settled: Settled) -> Self {
        Self { by_threshold: settled, at_window: settled }
    }
}

impl Settled {
    /// The bill in US dollars.
    pub(crate) fn dollars(&self, price: &Price) -> PromptCost {
        let [paid, raw] = self.prompts;
        PromptCost { paid: price.of(paid, self.bill.paid), raw: price.of(raw, self.bill.raw) }
    }
}

/// What is remembered of a conversation from one request to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CacheAccount {
    before: Option<Before>,
    /// The client as it would be without us.
    client: UnaidedClient,
    /// Whether a prompt was sent that was not as it came. Until then the client sends what it sends
    /// without us, whatever window it is taken for.
    is_aided: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Before {
    tokens: [u64; 2],
    /// The same by the provider's count, where it said one.
    counted: Option<[f64; 2]>,
    /// The fewest tokens that the provider counted for one of ours in what was new.
    least: f64,
    ended: SystemTime,
    /// The share of a known beginning that the cache held when it was last asked.
    held: f64,
    /// What a token that was not read cost.
    fresh: f64,
}

impl CacheAccount {
    /// When the last request ended.
    pub(crate) fn last(&self) -> Option<SystemTime> {
        self.before.map(|before| before.ended)
    }

    /// Settles a request that the provider took; none where it did not say what it counted.
    pub(crate) fn settle(
        &mut self,
        turn: SettledRequest,
        usage: Option<TokenUsage>,
        rule: &Rule,
    ) -> Option<Settled> {
        self.is_aided |= turn.tokens[0] != turn.tokens[1];
        let rule = &Rule { own: rule.own.filter(|_| self.is_aided), ..*rule };
        let settled = match usage {
            Some(usage) => Some(self.price(turn, usage, rule)),
            None => {
                self.client.ask(turn.tokens[0], rule.own.unwrap_or(ENDLESS));
                None
            }
        };
        let SettledRequest { tokens, ended, .. } = turn;
        let (settled, before) = match (settled, self.before) {
            (Some((settled, before)), _) => (Some(settled), before),
            (None, Some(before)) => (None, Before { tokens, counted: None, ended, ..before }),
            (None, None) => {
                let least = UNTOLD;
                (None, Before { tokens, counted: None, least, ended, held: 1.0, fresh: 1.0 })
            }
        };
        self.before = Some(before);
        settled
    }

    /// Tokens of a request as it came, by the provider's count, which knows it as it was sent, and the
    /// fewest for one of ours. Most messages were sent once as they came, and counted then. Of what
    /// never was, the fewest are claimed: one factor for all kinds of text would be wrong where what
    /// left the prompt is denser than what stays.
    fn came(&self, turn: &SettledRequest, prompt: f64) -> (f64, f64) {
        let [came, sent] = turn.tokens.map(|tokens| tokens as f64);
        let scale = prompt / sent.max(1.0);
        let least = self.before.map_or(UNTOLD, |before| before.least);
        let before = self.before.and_then(|before| Some((before.tokens, before.counted?)));
        let Some((tokens, counted)) = before else {
            let came = match came == sent {
                true => prompt,
                // What its messages were counted for is not known any more.
                false if turn.goes_on => came * scale.min(1.0),
                false => came * scale,
            };
            return (came, least);
        };
        let [came_before, sent_before] = tokens.map(|tokens| tokens as f64);
        let [grown, sent_grown] = [came - came_before, sent - sent_before];
        let counted_grown = prompt - counted[1];
        let is_told = !turn.rewritten && sent_grown >= TELLING && counted_grown > 0.0;
        let least = if is_told { least.min(counted_grown / sent_grown) } else { least };
        let came = match grown {
            _ if came == sent => prompt,
            // The client rewound.
            ..0.0 => counted[0] * came / came_before.max(1.0),
            _ if turn.rewritten => counted[0] + grown * least.min(scale),
            _ => {
                let unsent = (grown - sent_grown).max(0.0);
                counted[0] + counted_grown.max(0.0) + unsent * least.min(scale)
            }
        };
        (came, least)
    }

    /// The bill, and what is remembered of the request.
    fn price(&mut self, turn: SettledRequest, usage: TokenUsage, rule: &Rule) -> (Settled, Before) {
        let prices = rule.cache;
        let [input, read, written] =
            [usage.input, usage.cache_read, usage.cache_written].map(|tokens| tokens as f64);
        let prompt = input + read + written;
        let scale = prompt / (turn.tokens[1].max(1) as f64);
        let (came, least) = self.came(&turn, prompt);
        let unaided = self.client.ask(came.round() as u64, rule.own.unwrap_or(ENDLESS));
        let raw = came.min(unaided.tokens as f64);

        let held = self.before.map_or(1.0, |before| {
            let pause = turn.started.duration_since(before.ended).unwrap_or_default();
            let by_scale = before.tokens[1] as f64 * scale;
            let sent_before = before.counted.map_or(by_scale, |[_, sent]| sent);
            match turn.rewritten {
                true if read == 0.0 && pause > rule.cold => 0.0,
                true => before.held,
                false if sent_before > 0.0 => (read / sent_before).min(1.0),
                false => before.held,
            }
        });
        let raw_read = match self.before {
            // The client has summed up by itself: what was read of our prompt is no part of its own.
            Some(_) if raw < came && unaided.compaction.is_none() => held * unaided.shared as f64,
            Some(_) => read.max(held * unaided.shared as f64),
            // Its profile changed, or a process starts in the middle of it: what was sent before may
            // well be in the cache, and the client would have gone on from there.
            None if turn.goes_on && turn.rewritten => raw,
            // Nothing is known of what was sent before, or this is the beginning of a conversation and
            // holds what others have in common.
            None => read * raw / prompt,
        };
        let raw_read = raw_read.min(raw);

        let not_read = input + written;
        let fresh = match (not_read > 0.0, self.before) {
            (true, _) => (input + written * prices.write) / not_read,
            (false, Some(before)) => before.fresh,
            (false, None) => 1.0,
        };
        let paid = input + written * prices.write + read * prices.read;
        let cost = |tokens: f64, read: f64| read * prices.read + (tokens - read) * fresh;
        // Others may have counted that by then.
        let summed_up = unaided
            .compaction
            .filter(|_| !turn.elsewhere)
            .map_or(0.0, |[tokens, shared]| cost(tokens as f64, held * shared as f64));
        let cost = cost(raw, raw_read) + summed_up;
        // What a rewind leaves unread says nothing of what the cache holds.
        let held = match self.before {
            Some(before) if turn.tokens[0] < before.tokens[0] => before.held,
            _ => held,
        };
        let prompts = [usage.prompt(), unaided.tokens];
        let SettledRequest { tokens, ended, .. } = turn;
        let before = Before { tokens, counted: Some([came, prompt]), least, ended, held, fresh };
        (Settled { bill: PromptCost { paid, raw: cost }, prompts }, before)
    }
}

#[cfg(test)]
mod tests;
