//! What prompts cost a provider's cache (RULES 111 and 114).
//!
//! Invariant: the rule is one for all: what a prompt shares with the one before it, by whole
//! messages, is read; the rest is written, since a client marks its newest message every turn.

use epitome::{CachePrices, UnaidedPrompt};
use serde::Serialize;

/// The tokens of many prompts, by what the cache makes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheTraffic {
    /// Read from the cache.
    pub read: u64,
    /// Written to it.
    pub written: u64,
}

impl CacheTraffic {
    /// Adds a prompt of so many tokens, of which it shares so many with the prompt before it.
    pub fn prompt(&mut self, tokens: u64, shared: u64) {
        let shared = shared.min(tokens);
        self.read += shared;
        self.written += tokens - shared;
    }

    /// Adds what a client would have sent without us.
    pub fn unaided(&mut self, prompt: UnaidedPrompt) {
        if let Some([tokens, shared]) = prompt.compaction {
            self.prompt(tokens, shared);
        }
        self.prompt(prompt.tokens, prompt.shared);
    }

    /// How many there are.
    pub fn tokens(&self) -> u64 {
        self.read + self.written
    }

    /// What they cost, in tokens that are not cached.
    pub fn cost(&self, prices: CachePrices) -> f64 {
        self.read as f64 * prices.read + self.written as f64 * prices.write
    }

    /// Adds what others cost.
    pub fn add(&mut self, other: Self) {
        self.read += other.read;
        self.written += other.written;
    }
}

/// What prompts cost under a cache, beside what would have been sent without compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CacheTotals {
    /// What the prompts cost, in tokens that are not cached, as the profile takes caching to cost.
    #[serde(rename = "cache_cost")]
    pub cost: f64,
    /// What the client would have paid without compression, as far as its prompts could have been
    /// sent: it makes them smaller by itself where they reach its threshold.
    #[serde(rename = "cache_cost_uncompressed")]
    pub cost_uncompressed: f64,
    /// The tokens behind `cost`.
    pub traffic: CacheTraffic,
    /// The tokens behind `cost_uncompressed`.
    pub traffic_uncompressed: CacheTraffic,
}

impl CacheTotals {
    /// Works out the costs.
    pub(crate) fn work_out(&mut self, prices: CachePrices) {
        self.cost = self.traffic.cost(prices);
        self.cost_uncompressed = self.traffic_uncompressed.cost(prices);
    }

    /// Adds those of other prompts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.cost += other.cost;
        self.cost_uncompressed += other.cost_uncompressed;
        self.traffic.add(other.traffic);
        self.traffic_uncompressed.add(other.traffic_uncompressed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each prompt as `[tokens, shared]`.
    fn check(prompts: &[[u64; 2]], traffic: [u64; 2], cost: f64) {
        let mut found = CacheTraffic::default();
        prompts.iter().for_each(|&[tokens, shared]| found.prompt(tokens, shared));
        assert_eq!([found.read, found.written], traffic);
        let off = found.cost(CachePrices { read: 0.1, write: 1.25 }) - cost;
        assert!(off.abs() < 1e-9, "off by {off}");
    }

    #[test]
    fn what_was_sent_before_is_read_and_the_rest_written() {
        check(&[], [0, 0], 0.0);
        // 1.25 * 100; 0.1 * 100 + 1.25 * 50; 0.1 * 150 + 1.25 * 10
        check(&[[100, 0], [150, 100], [160, 150]], [250, 160], 125.0 + 72.5 + 27.5);
    }

    #[test]
    fn a_rewrite_is_written_again() {
        // Without: 0.1 * 1000 + 1.25 * 100. Cut to 400, of which 50 stand at the beginning.
        check(&[[1000, 0], [1100, 1000]], [1000, 1100], 1475.0);
        check(&[[1000, 0], [400, 50]], [50, 1350], 5.0 + 1687.5);
    }

    #[test]
    fn a_prompt_shares_no_more_than_it_is() {
        check(&[[40, 50]], [40, 0], 4.0);
    }
}
