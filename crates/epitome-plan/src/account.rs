//! What the requests of a conversation cost, and which rewrites of its prompt pay for themselves.
//!
//! Invariant: over a hundred requests a conversation that is rewritten only where a rewrite pays
//! costs no more than a small share above what it would have cost as it came, whatever the policies
//! ask for (RULES 17). Nothing comes larger than the window: where it would, it is made to fit, and
//! that costs, too. Called through [`super::CacheMeter`].

use epitome_kernel::types::Account;

/// The requests over which a rewrite must pay for itself: what it saves is counted up to the next
/// multiple.
const HORIZON: u64 = 100;

/// The share by which the requests may cost more than as they came.
const TOLERANCE: f64 = 0.05;

/// What a token of a prompt costs, in units of one that is not cached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePrices {
    /// Read from the cache.
    pub read: f64,
    /// Written to it.
    pub write: f64,
}

/// The window of a model, in tokens.
#[derive(Clone, Copy, Debug)]
pub struct ForcingWindow {
    /// The largest prompt that it takes.
    pub most: u64,
    /// What a compression leaves that it forces.
    pub left: u64,
}

/// A request that was sent. Sizes are tokens.
#[derive(Clone, Copy, Debug)]
pub struct SentRequest {
    /// As it came, and as it was sent.
    pub tokens: [u64; 2],
    /// Its system prompt and its tools, which no compression changes.
    pub head: u64,
    /// What forces it to be made smaller.
    pub window: ForcingWindow,
    /// Whether the provider had nothing of it to read.
    pub cold: bool,
    /// Whether what was sent before it was rewritten.
    pub rewritten: bool,
    /// What its tokens cost.
    pub prices: CachePrices,
}

impl SentRequest {
    /// The account with this request entered.
    pub(crate) fn entered(&self, account: Account) -> Account {
        let [came, sent] = self.tokens;
        let [cost_came, cost_sent] = account.cost;
        let before = account.tokens[0].saturating_sub(account.outgrown);
        let alone = came.saturating_sub(account.outgrown);
        // Without a compression it would be made to fit here.
        let forced = alone > self.window.most;
        let alone = if forced { sent.min(self.window.left) } else { alone };
        let other = Self { rewritten: forced, ..*self };
        let cost =
            [cost_came + other.cost(before, alone), cost_sent + self.cost(account.tokens[1], sent)];
        let outgrown = came.saturating_sub(alone);
        Account { requests: account.requests + 1, tokens: self.tokens, outgrown, cost }
    }

    /// What a prompt costs behind one of another size.
    fn cost(&self, before: u64, now: u64) -> f64 {
        let cached = match () {
            () if self.cold => 0,
            () if self.rewritten || now < before => self.head.min(before).min(now),
            () => before,
        };
        self.prices.read * cached as f64 + self.prices.write * (now - cached) as f64
    }
}

/// A rewrite of a prompt that nothing forces. Sizes are tokens.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// The request without it: as it came, and as it would be sent.
    pub tokens: [u64; 2],
    /// Its system prompt and its tools, which the rewrite leaves alone.
    pub head: u64,
    /// What forces the conversation to be made smaller.
    pub window: ForcingWindow,
    /// Whether the provider has nothing of it to read.
    pub cold: bool,
    /// What its tokens cost.
    pub prices: CachePrices,
}

impl Rewrite {
    /// The largest size that it may come to: then what it costs, with what earlier ones have not
    /// brought in yet, is no more than what it saves up to the horizon and the tolerance.
    pub(crate) fn most_worth(&self, account: &Account) -> u64 {
        let [came, size] = self.tokens;
        let CachePrices { read, write } = self.prices;
        let left = (HORIZON - account.requests % HORIZON) as f64;
        let without = SentRequest {
            tokens: self.tokens,
            head: self.head,
            window: self.window,
            cold: self.cold,
            rewritten: false,
            prices: self.prices,
        };
        let alone = came.saturating_sub(account.outgrown).min(self.window.most);
        let before = account.tokens[1];
        let head = if self.cold { 0 } else { self.head.min(before).min(size) };
        let debt = account.cost[1] - account.cost[0];
        let tolerated = TOLERANCE * (account.cost[0] + left * read * alone as f64);
        let worth = without.cost(before, size) - debt + tolerated;
        let worth = worth + left * read * size as f64 + (write - read) * head as f64;
        match write + left * read {
            // What costs nothing is always worth it.
            0.0 => u64::MAX,
            for_each => (worth / for_each).max(0.0) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICES: CachePrices = CachePrices { read: 0.1, write: 1.25 };
    const FREE: CachePrices = CachePrices { read: 0.0, write: 0.0 };

    const NONE: ForcingWindow = ForcingWindow { most: u64::MAX, left: u64::MAX };

    fn rewrite(came: u64, size: u64, prices: CachePrices) -> Rewrite {
        Rewrite { tokens: [came, size], head: 0, window: NONE, cold: false, prices }
    }

    #[test]
    fn requests_are_entered_by_what_is_read_and_written() {
        let sent = |tokens, rewritten, cold| SentRequest {
            tokens,
            head: 100,
            window: ForcingWindow { most: 2_000, left: 700 },
            cold,
            rewritten,
            prices: PRICES,
        };
        let first = sent([1_000, 1_000], false, true).entered(Account::default());
        assert_eq!(
            first,
            Account { requests: 1, tokens: [1_000; 2], outgrown: 0, cost: [1_250.0; 2] }
        );
        // 1,000 read and 200 written, against 100 read and 500 written.
        let second = sent([1_200, 600], true, false).entered(first);
        assert_eq!(second.cost, [1_250.0 + 100.0 + 250.0, 1_250.0 + 10.0 + 625.0]);
        // What does not fit would have been made to fit: 100 read and 600 written, not 700.
        let third = sent([2_001, 800], true, false).entered(second);
        assert_eq!(third.outgrown, 1_301);
        let costs = [0, 1].map(|at| third.cost[at] - second.cost[at]);
        assert_eq!(costs, [10.0 + 750.0, 10.0 + 875.0]);
        // From there on both grow alike.
        let fourth = sent([2_101, 900], false, false).entered(third);
        let costs = [0, 1].map(|at| fourth.cost[at] - third.cost[at]);
        assert_eq!(costs, [70.0 + 125.0, 80.0 + 125.0]);
    }

    #[test]
    fn a_rewrite_must_bring_in_what_it_costs() {
        let account = |requests, cost| Account { requests, tokens: [10_000; 2], outgrown: 0, cost };
        let none = [0.0; 2];
        // By hand: 1,000 read before, 100 requests to go: (1,000 + 500 + 100,000) / 11.25.
        assert_eq!(rewrite(10_000, 10_000, PRICES).most_worth(&account(0, none)), 9_422);
        // One to go: (1,000 + 50 + 1,000) / 1.35.
        assert_eq!(rewrite(10_000, 10_000, PRICES).most_worth(&account(99, none)), 1_518);
        // What earlier ones have not brought in yet counts.
        let debt = rewrite(10_000, 10_000, PRICES).most_worth(&account(99, [0.0, 2_050.0]));
        assert_eq!(debt, 0);
        assert_eq!(rewrite(1, 1, FREE).most_worth(&account(99, [0.0, 9.0])), u64::MAX);
    }

    proptest! {
        /// Whoever rewrites whenever it is worth it, however little it frees, stays within the
        /// tolerance after a hundred requests. Where the window forces rewrites, too, one of them
        /// may come before it brought in what the last one cost.
        #[test]
        fn a_hundred_requests_cost_little_more(
            turns in proptest::collection::vec((1u64..2_000, 0.0f64..1.0, any::<bool>()), 100),
            head in 0u64..3_000,
            window in prop_oneof![Just(NONE), (6_000u64..40_000).prop_map(|most| ForcingWindow { most, left: most / 2 })],
        ) {
            let (mut account, mut came, mut sent) = (Account::default(), head, head);
            for (new, share, wants) in turns {
                (came, sent) = (came + new, sent + new);
                let cold = account.requests == 0;
                let rewrite = Rewrite { tokens: [came, sent], head, window, cold, prices: PRICES };
                let after = head + ((sent - head) as f64 * share) as u64;
                let forced = sent > window.most;
                let worth = wants && after < sent && after <= rewrite.most_worth(&account);
                let rewritten = forced || worth;
                if rewritten {
                    sent = after.min(if forced { window.left } else { sent });
                }
                let tokens = [came, sent];
                let request = SentRequest { tokens, head, window, cold, rewritten, prices: PRICES };
                account = request.entered(account);
            }
            let one = if window.most == u64::MAX { 0.0 } else { PRICES.write * window.most as f64 };
            prop_assert!(account.cost[1] <= account.cost[0] * (1.0 + TOLERANCE) + one, "{account:?}");
        }
    }
}
