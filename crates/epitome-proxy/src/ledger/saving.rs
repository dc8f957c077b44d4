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
use serde::Serialize;

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
    pub(crate) started: SystemTime,
    pub(crate) ended: SystemTime,
}

/// A client in a window that nobody knows.
const ENDLESS: OwnCompaction = OwnCompaction { most: u64::MAX, left: u64::MAX };

/// So many new tokens tell how the provider counts a kind of text.
const TELLING: f64 = 200.0;

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
#[derive(Clone, Debug, Default)]
pub(crate) struct CacheAccount {
    before: Option<Before>,
    /// The client as it would be without us.
    client: UnaidedClient,
    /// Whether a prompt was sent that was not as it came. Until then the client sends what it sends
    /// without us, whatever window it is taken for.
    is_aided: bool,
}

#[derive(Clone, Copy, Debug)]
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
                let least = f64::INFINITY;
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
        let least = self.before.map_or(f64::INFINITY, |before| before.least);
        let before = self.before.and_then(|before| Some((before.tokens, before.counted?)));
        let Some((tokens, counted)) = before else {
            let came = if came == sent { prompt } else { came * scale };
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
            _ if turn.rewritten => counted[0] + grown * scale,
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
        let summed_up = unaided
            .compaction
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
mod tests {
    use super::*;

    const PRICES: CachePrices = CachePrices { read: 0.1, write: 1.25 };
    const RULE: Rule = Rule { cache: PRICES, cold: Duration::from_secs(300), own: None };

    /// A conversation, with a request a minute unless it is said otherwise.
    #[derive(Default)]
    struct Talk {
        account: CacheAccount,
        own: Option<OwnCompaction>,
        now: u64,
        goes_on: bool,
    }

    impl Talk {
        /// A request: our counts as it came and as it was sent, the provider's input, read and
        /// written, then what was paid and what the raw history would have cost.
        #[track_caller]
        fn check(&mut self, tokens: [u64; 2], usage: [u64; 3], paid: f64, raw: f64) {
            self.turn(tokens, usage, false, paid, raw);
        }

        #[track_caller]
        fn turn(
            &mut self,
            tokens: [u64; 2],
            usage: [u64; 3],
            rewritten: bool,
            paid: f64,
            raw: f64,
        ) {
            self.now += 60;
            let started = SystemTime::UNIX_EPOCH + Duration::from_secs(self.now);
            let goes_on = self.goes_on;
            let turn = SettledRequest { tokens, rewritten, goes_on, started, ended: started };
            let [input, cache_read, cache_written] = usage;
            let usage = TokenUsage { input, cache_read, cache_written, output: 7 };
            let rule = Rule { own: self.own, ..RULE };
            let Settled { bill, .. } = self.account.settle(turn, Some(usage), &rule).unwrap();
            assert!((bill.paid - paid).abs() < 0.01, "paid {}, not {paid}", bill.paid);
            assert!((bill.raw - raw).abs() < 0.01, "raw {}, not {raw}", bill.raw);
        }

        fn pause(mut self, seconds: u64) -> Self {
            self.now += seconds;
            self
        }
    }

    /// One that goes on under another profile, by which it is compressed at once: the client alone would
    /// have read it from the cache.
    #[test]
    fn a_client_whose_bytes_went_as_they_came_saves_and_loses_nothing() {
        // It was taken for one with a smaller window than it has.
        let own = Some(OwnCompaction { most: 100, left: 20 });
        let mut talk = Talk { own, ..Talk::default() };
        talk.check([400, 400], [400, 0, 0], 400.0, 400.0);
        talk.check([600, 600], [200, 400, 0], 240.0, 240.0);
    }

    #[test]
    fn a_conversation_that_moves_saves_nothing_by_that() {
        let mut moved = Talk { goes_on: true, ..Talk::default() };
        moved.turn([24_000, 6_000], [0, 0, 6_000], true, 7_500.0, 2_400.0);
        let mut new = Talk::default();
        new.turn([24_000, 6_000], [0, 0, 6_000], true, 7_500.0, 30_000.0);
    }

    #[test]
    fn what_nothing_was_done_to_saves_exactly_nothing() {
        let mut talk = Talk::default();
        // The system prompt was cached by another conversation:
        // 100 × 1 + 3,900 × 1.25 + 20,000 × 0.1 = 100 + 4,875 + 2,000.
        talk.check([24_000; 2], [100, 20_000, 3_900], 6_975.0, 6_975.0);
        // Read to the last block only; the provider counts more than we do (26,000 for 25,000).
        talk.check([25_000; 2], [500, 23_000, 2_500], 5_925.0, 5_925.0);
        // The client rewound.
        talk.check([9_000; 2], [0, 8_000, 1_000], 2_050.0, 2_050.0);
        // The cache went cold.
        let mut talk = talk.pause(4_000);
        talk.check([10_000; 2], [0, 0, 10_000], 12_500.0, 12_500.0);
    }

    #[test]
    fn what_left_counts_by_what_the_provider_said_of_it() {
        let mut talk = Talk::default();
        // Code: 10,000 by our count, 15,000 by the provider's.
        talk.check([10_000; 2], [0, 0, 15_000], 18_750.0, 18_750.0);
        talk.check([11_000; 2], [0, 15_000, 1_000], 2_750.0, 2_750.0);
        // It leaves, and talk stays, of which both count alike: 2,000 written. Raw: 16,000 read and
        // 1,000 written.
        talk.turn([12_000, 2_000], [0, 0, 2_000], true, 2_500.0, 1_600.0 + 1_250.0);
        // 17,000 read and 1,000 written.
        talk.check([13_000, 3_000], [0, 2_000, 1_000], 1_450.0, 1_700.0 + 1_250.0);
        // More code: the provider counts 2,000 where we count 1,000.
        talk.check([14_000, 4_000], [0, 3_000, 2_000], 2_800.0, 1_800.0 + 2_500.0);
    }

    #[test]
    fn what_was_never_sent_counts_by_the_fewest_that_the_provider_counted() {
        let mut talk = Talk::default();
        talk.check([1_000; 2], [0, 0, 1_000], 1_250.0, 1_250.0);
        // 250 for 500.
        talk.check([1_500; 2], [0, 1_000, 250], 412.5, 412.5);
        // 1,000 of 4,000 are sent, and count as 1,000; 3,000 would have been 1,500:
        // 1,250 read and 2,500 written.
        talk.check([5_500, 2_500], [0, 1_250, 1_000], 1_375.0, 125.0 + 3_125.0);
    }

    #[test]
    fn a_result_made_smaller_on_arrival_saves_now_and_in_every_turn() {
        let mut talk = Talk::default();
        // 4,000 written = 5,000; raw 10,000 written = 12,500.
        talk.check([10_000, 4_000], [0, 0, 4_000], 5_000.0, 12_500.0);
        // 4,000 read + 1,000 written = 400 + 1,250; raw: 10,000 read + 2,000 written = 1,000 + 2,500.
        talk.check([12_000, 5_000], [0, 4_000, 1_000], 1_650.0, 3_500.0);
        // 5,000 read + 1,000 written = 500 + 1,250; raw: 12,000 read + 1,000 written = 1,200 + 1,250.
        talk.check([13_000, 6_000], [0, 5_000, 1_000], 1_750.0, 2_450.0);
    }

    #[test]
    fn a_compression_costs_first() {
        let mut talk = Talk::default();
        talk.check([100_000; 2], [0, 0, 100_000], 125_000.0, 125_000.0);
        // 5,000 read + 15,000 written = 500 + 18,750; raw: 100,000 read + 2,000 written =
        // 10,000 + 2,500. Net: -6,750.
        talk.turn([102_000, 20_000], [0, 5_000, 15_000], true, 19_250.0, 12_500.0);
        // 20,000 read + 1,000 written = 2,000 + 1,250; raw: 102,000 read + 1,000 written =
        // 10,200 + 1,250.
        talk.check([103_000, 21_000], [0, 20_000, 1_000], 3_250.0, 11_450.0);
    }

    #[test]
    fn a_cold_cache_is_cold_for_both() {
        let mut talk = Talk::default();
        talk.check([50_000, 10_000], [0, 0, 10_000], 12_500.0, 62_500.0);
        // All is written anew: 11,000 × 1.25, and 51,000 × 1.25 raw.
        let mut talk = talk.pause(4_000);
        talk.check([51_000, 11_000], [0, 0, 11_000], 13_750.0, 63_750.0);
        // A compression in a cold moment costs nothing more: 5,000 × 1.25, and 52,000 × 1.25 raw.
        let mut talk = talk.pause(4_000);
        talk.turn([52_000, 5_000], [0, 0, 5_000], true, 6_250.0, 65_000.0);
        // From then on the cache holds again: 52,000 read + 1,000 written. So it does for the raw
        // prompt where a compression in a warm moment reads nothing: 53,000 read + 1,000 written.
        talk.check([53_000, 6_000], [0, 5_000, 1_000], 1_750.0, 52_000.0 * 0.1 + 1_250.0);
        talk.turn([54_000, 4_000], [0, 0, 4_000], true, 5_000.0, 53_000.0 * 0.1 + 1_250.0);
    }

    #[test]
    fn the_provider_counts_for_both() {
        let mut talk = Talk::default();
        // It counts 6,000 for our 5,000, so 12,000 for our 10,000: 7,500 against 15,000.
        talk.check([10_000, 5_000], [0, 0, 6_000], 7_500.0, 15_000.0);
    }

    #[test]
    fn without_a_cache_every_token_is_paid_in_full() {
        let mut talk = Talk::default();
        talk.check([10_000, 4_000], [4_000, 0, 0], 4_000.0, 10_000.0);
        talk.check([12_000, 5_000], [5_000, 0, 0], 5_000.0, 12_000.0);
    }

    #[test]
    fn a_cache_that_takes_nothing_for_writing_is_priced_so() {
        let mut talk = Talk::default();
        talk.check([10_000, 4_000], [4_000, 0, 0], 4_000.0, 10_000.0);
        // It holds 3,840 of 4,000 (96 %): 3,840 × 0.1 + 1,160; raw: 9,600 × 0.1 + 2,400.
        talk.check([12_000, 5_000], [1_160, 3_840, 0], 1_544.0, 3_360.0);
    }

    #[test]
    fn a_conversation_met_in_the_middle_is_no_windfall() {
        // 19,000 of 20,000 read: so would 95 % of the raw prompt have been.
        // 1,900 + 1,250, and 95,000 × 0.1 + 5,000 × 1.25.
        Talk::default().check([100_000, 20_000], [0, 19_000, 1_000], 3_150.0, 15_750.0);
    }

    #[test]
    fn a_request_without_a_usage_is_remembered() {
        let mut talk = Talk::default();
        talk.check([10_000, 4_000], [0, 0, 4_000], 5_000.0, 12_500.0);
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(talk.now);
        let turn = SettledRequest {
            tokens: [12_000, 5_000],
            rewritten: false,
            goes_on: false,
            started: at,
            ended: at,
        };
        assert_eq!(talk.account.settle(turn, None, &RULE), None);
        // 5,000 read + 1,000 written; raw: 12,000 read + 1,000 written.
        talk.check([13_000, 6_000], [0, 5_000, 1_000], 1_750.0, 2_450.0);
    }

    /// By hand: the client sums up 100,000 tokens once, of which 90,000 are cached, and goes on with
    /// 20,000, however long the history is that it still sends us.
    #[test]
    fn nothing_is_claimed_beyond_what_the_client_would_have_sent() {
        let own = Some(OwnCompaction { most: 100_000, left: 20_000 });
        let mut talk = Talk { own, ..Talk::default() };
        talk.check([90_000, 10_000], [0, 0, 10_000], 12_500.0, 112_500.0);
        // 90,000 read + 10,000 written; then 10,000 read (as ours were) + 10,000 written.
        let summed_up = 9_000.0 + 12_500.0;
        talk.check([110_000, 12_000], [0, 10_000, 2_000], 3_500.0, summed_up + 1_000.0 + 12_500.0);
        // 25,000 of 115,000 are left: 20,000 read + 5,000 written.
        talk.check([115_000, 17_000], [0, 12_000, 5_000], 7_450.0, 2_000.0 + 6_250.0);
        // After an undo ours is larger than its prompt of 27,000, of which 25,000 are read and 2,000 written all the same.
        talk.turn([117_000, 49_000], [0, 17_000, 32_000], true, 41_700.0, 2_500.0 + 2_500.0);
        talk.check([118_000, 50_000], [0, 49_000, 1_000], 6_150.0, 2_700.0 + 1_250.0);
    }

    #[test]
    fn long_prompts_are_priced_as_such() {
        let price = Price { input: 1.0, cache: PRICES, long: Some((200_000, 2.0)) };
        let bill = PromptCost { paid: 1e6, raw: 1e6 };
        let settled = Settled { bill, prompts: [100_000, 200_001] };
        assert_eq!(settled.dollars(&price), PromptCost { paid: 1.0, raw: 2.0 });
    }

    #[test]
    fn shares_are_of_the_raw_cost() {
        assert_eq!(PromptCost { paid: 5.0, raw: 20.0 }.share(), 0.75);
        assert_eq!(PromptCost { paid: 30.0, raw: 20.0 }.share(), -0.5);
        assert_eq!(PromptCost::default().share(), 0.0);
    }
}
