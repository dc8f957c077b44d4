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

/// The share by which the requests may cost more than as they came, by what is known of them. It is
/// half of what they may in the end: nobody knows how they go on to grow.
const TOLERANCE: f64 = 0.025;

/// What a conversation may grow by from request to request, in tenths of what it grew by so far. A
/// rewrite must pay for itself with each of them: when the window forces the next one hangs on it.
const GROWTHS: [u64; 3] = [9, 10, 11];

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
    /// What a compression that it forces aims at.
    pub aimed: u64,
    /// The most that such a compression leaves.
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
    /// Whether lines that are kept, or a policy that aims higher, made it as large as it is: without them it
    /// would have come to what is aimed at.
    pub keeps: bool,
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
        let alone = match forced {
            // It can come to what this one came to.
            true if self.rewritten && !self.keeps => sent.min(self.window.left),
            true => sent.min(self.window.aimed),
            false => alone,
        };
        let other = Self { rewritten: forced, ..*self };
        let cost =
            [cost_came + other.cost(before, alone), cost_sent + self.cost(account.tokens[1], sent)];
        let outgrown = came.saturating_sub(alone);
        let first = if account.requests == 0 { came } else { account.first };
        Account { requests: account.requests + 1, first, tokens: self.tokens, outgrown, cost }
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

/// A rewrite of a prompt. Sizes are tokens.
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

/// How a conversation may go on. Sizes are tokens.
#[derive(Clone, Copy)]
struct Course {
    /// What the next request comes to.
    size: u64,
    /// Whether it is rewritten.
    rewritten: bool,
    /// What the rewrites aim at that the window forces later.
    aimed: u64,
    /// Whether that is for lines that are kept.
    keeps: bool,
    /// What each request brings.
    growth: u64,
    /// How many requests follow.
    left: u64,
}

impl Rewrite {
    /// The largest size that it may come to: then what the conversation costs up to the horizon, if it
    /// goes on to grow as it did, is within the tolerance of what it would cost without this rewrite,
    /// and without any but those that the window forces. What earlier ones have not brought in yet
    /// counts.
    pub(crate) fn most_worth(&self, account: &Account) -> u64 {
        self.most(account, false)
    }

    /// The same where the size is that of lines that are kept: without them all would come to what is
    /// aimed at.
    pub(crate) fn most_kept(&self, account: &Account) -> u64 {
        self.most(account, true)
    }

    fn most(&self, account: &Account, keeps: bool) -> u64 {
        let [came, size] = self.tokens;
        let left = HORIZON - account.requests % HORIZON;
        let alone = came.saturating_sub(account.outgrown).min(self.window.most);
        let read = left as f64 * self.prices.read * alone as f64;
        let tolerated = TOLERANCE * (account.cost[0] + read);
        let grown = came.saturating_sub(account.first);
        let growth = grown.checked_div(account.requests).unwrap_or(0);
        let is_worth = |to: u64| {
            GROWTHS.iter().all(|tenths| {
                let growth = growth * tenths / 10;
                // What can come to no less now can come to no less later.
                let aimed = self.window.aimed.max(to).min(self.window.left);
                let rewritten = Course { size: to, rewritten: true, aimed, keeps, growth, left };
                let as_it_is = Course { size, rewritten: false, ..rewritten };
                let [without, with] = self.played(rewritten, *account).cost;
                // What is larger than the window cannot stay as it is.
                let kept = match size > self.window.most {
                    true => f64::INFINITY,
                    false => self.played(as_it_is, *account).cost[1],
                };
                with <= without.min(kept) + tolerated
            })
        };
        if is_worth(size) {
            return size;
        }
        let (mut worth, mut too_large) = (0, size);
        while too_large - worth > 1 {
            let between = worth + (too_large - worth) / 2;
            match is_worth(between) {
                true => worth = between,
                false => too_large = between,
            }
        }
        worth
    }

    /// The account at the end of a course.
    fn played(&self, course: Course, account: Account) -> Account {
        let keeps = course.keeps;
        let aimed = if keeps { self.window.aimed } else { course.aimed };
        let window = ForcingWindow { aimed, ..self.window };
        let request = |tokens, cold, rewritten| {
            let Self { head, prices, .. } = *self;
            SentRequest { tokens, head, window, cold, rewritten, keeps, prices }
        };
        let mut tokens = [self.tokens[0], course.size];
        let mut account = request(tokens, self.cold, course.rewritten).entered(account);
        for _ in 0..course.left {
            tokens = tokens.map(|size| size.saturating_add(course.growth));
            let forced = tokens[1] > window.most;
            if forced {
                tokens[1] = course.aimed;
            }
            account = request(tokens, false, forced).entered(account);
        }
        account
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICES: CachePrices = CachePrices { read: 0.1, write: 1.25 };
    const FREE: CachePrices = CachePrices { read: 0.0, write: 0.0 };

    const NONE: ForcingWindow = ForcingWindow { most: u64::MAX, aimed: u64::MAX, left: u64::MAX };

    fn rewrite(came: u64, size: u64, prices: CachePrices) -> Rewrite {
        Rewrite { tokens: [came, size], head: 0, window: NONE, cold: false, prices }
    }

    #[test]
    fn requests_are_entered_by_what_is_read_and_written() {
        let sent = |tokens, rewritten, cold| SentRequest {
            tokens,
            head: 100,
            window: ForcingWindow { most: 2_000, aimed: 700, left: 700 },
            cold,
            rewritten,
            keeps: false,
            prices: PRICES,
        };
        let first = sent([1_000, 1_000], false, true).entered(Account::default());
        assert_eq!(
            first,
            Account {
                requests: 1,
                first: 1_000,
                tokens: [1_000; 2],
                outgrown: 0,
                cost: [1_250.0; 2]
            }
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
    fn lines_are_kept_as_far_as_that_costs_no_more() {
        let window = ForcingWindow { most: 5_000, aimed: 2_500, left: 3_125 };
        let forced = Rewrite { window, ..rewrite(5_100, 5_100, PRICES) };
        let account = |cost| Account {
            requests: 10,
            first: 1_000,
            tokens: [4_700, 4_700],
            outgrown: 0,
            cost,
        };
        let [even, saved, lost] = [[20_000.0; 2], [90_000.0, 20_000.0], [20_000.0, 90_000.0]];
        let most = |cost| forced.most_kept(&account(cost));
        // Somewhat more than what is aimed at is within what is tolerated; what was saved may be spent.
        assert!((2_500..3_000).contains(&most(even)), "{}", most(even));
        assert!(most(saved) > 4_000, "{}", most(saved));
        assert!(most(lost) < 2_500, "{}", most(lost));
        // Where it could come to no less, no other would.
        assert!(forced.most_worth(&account(even)) >= most(even));
    }

    #[test]
    fn a_rewrite_must_bring_in_what_it_costs() {
        let account = |requests, cost| Account {
            requests,
            first: 1_000,
            tokens: [10_000; 2],
            outgrown: 0,
            cost,
        };
        let none = [0.0; 2];
        // By hand: 1,000 read before, 100 requests to go: (1,000 + 2,500 + 100,000) / 11.25.
        assert_eq!(rewrite(10_000, 10_000, PRICES).most_worth(&account(0, none)), 9_200);
        // One to go: (1,000 + 25 + 1,000) / 1.35.
        assert_eq!(rewrite(10_000, 10_000, PRICES).most_worth(&account(99, none)), 1_500);
        // A window that comes soon takes the rest of what it saves.
        let window = ForcingWindow { most: 20_000, aimed: 10_000, left: 12_500 };
        let soon = Rewrite { window, ..rewrite(10_000, 10_000, PRICES) };
        let far = ForcingWindow { most: 2_000_000, ..window };
        let late = Rewrite { window: far, ..soon };
        let [soon, late] = [soon, late].map(|it| it.most_worth(&account(9, none)));
        assert!(soon < late, "{soon} {late}");
        // What earlier ones have not brought in yet counts.
        let debt = rewrite(10_000, 10_000, PRICES).most_worth(&account(99, [0.0, 2_050.0]));
        assert_eq!(debt, 0);
        assert_eq!(rewrite(1, 1, FREE).most_worth(&account(99, [9.0; 2])), 1);
    }

    proptest! {
        /// Whoever rewrites whenever it is worth it, however little it frees, stays within the
        /// tolerance after a hundred requests. Where the window forces rewrites, too, one of them
        /// may come before it brought in what the last one cost.
        #[test]
        fn a_hundred_requests_cost_little_more(
            turns in proptest::collection::vec((1u64..2_000, 0.0f64..1.0, any::<bool>()), 100),
            head in 0u64..3_000,
            window in prop_oneof![Just(NONE), (6_000u64..40_000).prop_map(|most| ForcingWindow { most, aimed: most / 2, left: most / 2 })],
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
                let keeps = false;
                let request = SentRequest { tokens, head, window, cold, rewritten, keeps, prices: PRICES };
                account = request.entered(account);
            }
            let one = if window.most == u64::MAX { 0.0 } else { PRICES.write * window.most as f64 };
            prop_assert!(account.cost[1] <= account.cost[0] * (1.0 + TOLERANCE) + one, "{account:?}");
        }
    }
}
