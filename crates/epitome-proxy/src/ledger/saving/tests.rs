//! What requests cost beside the same ones as they came.

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
    elsewhere: bool,
}

impl Talk {
    /// A request: our counts as it came and as it was sent, the provider's input, read and
    /// written, then what was paid and what the raw history would have cost.
    #[track_caller]
    fn check(&mut self, tokens: [u64; 2], usage: [u64; 3], paid: f64, raw: f64) {
        self.turn(tokens, usage, false, paid, raw);
    }

    #[track_caller]
    fn turn(&mut self, tokens: [u64; 2], usage: [u64; 3], rewritten: bool, paid: f64, raw: f64) {
        self.now += 60;
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(self.now);
        let (goes_on, elsewhere) = (self.goes_on, self.elsewhere);
        let turn =
            SettledRequest { tokens, rewritten, goes_on, elsewhere, started, ended: started };
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
        elsewhere: false,
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

/// 6,000 are counted for 4,000 of talk and digests: what left is not known to be as dense.
#[test]
fn of_a_history_that_others_sent_no_more_is_claimed_than_was_counted_here() {
    let mut met = Talk { goes_on: true, ..Talk::default() };
    met.check([10_000, 4_000], [6_000, 0, 0], 6_000.0, 10_000.0);
    let mut new = Talk::default();
    new.check([10_000, 4_000], [6_000, 0, 0], 6_000.0, 15_000.0);
    // One that compressed what others said meanwhile: 1,000 each time for 1,000 new ones, then 5,000 more.
    let mut hops = Talk::default();
    hops.check([1_000; 2], [1_000, 0, 0], 1_000.0, 1_000.0);
    hops.check([2_000; 2], [2_000, 0, 0], 2_000.0, 2_000.0);
    hops.turn([7_000, 1_000], [2_000, 0, 0], true, 2_000.0, 7_000.0);
}

/// By hand: 90,000 were sent last, so the client has 100,000 summed up and goes on with 20,000; whoever
/// served it meanwhile counted that.
#[test]
fn a_summary_of_the_clients_own_is_counted_by_one_of_those_who_serve_it() {
    let own = Some(OwnCompaction { most: 100_000, left: 20_000 });
    for (elsewhere, summed_up) in [(false, 100_000.0), (true, 0.0)] {
        let mut talk = Talk { own, ..Talk::default() };
        talk.check([90_000, 10_000], [10_000, 0, 0], 10_000.0, 90_000.0);
        talk.elsewhere = elsewhere;
        talk.check([110_000, 12_000], [12_000, 0, 0], 12_000.0, summed_up + 20_000.0);
    }
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
