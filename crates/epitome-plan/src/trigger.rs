//! What leaving a cached prefix as it is costs, from request to request.
//!
//! Invariant: the meter measures and never decides: when a rewrite pays is a policy's to say
//! (the ski-rental rule of the built-in one, RULES 114).

use epitome_kernel::types::MeterReading;
use epitome_kernel::types::hook::{Budgets, Cache};

use crate::account::{CachePrices, Rewrite, SentRequest};

/// Follows one conversation from turn to turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheMeter(MeterReading);

impl CacheMeter {
    /// A meter that goes on from a reading.
    pub fn from_reading(reading: MeterReading) -> Self {
        Self(reading)
    }

    /// What it reads, to go on from.
    pub fn reading(&self) -> MeterReading {
        self.0
    }

    /// The same, once a request was sent.
    #[must_use]
    pub fn sent(mut self, request: &SentRequest) -> Self {
        self.0.account = request.entered(self.0.account);
        self
    }

    /// The largest size that a rewrite of a prompt must come to so as to pay for itself.
    pub fn most_worth(&self, rewrite: &Rewrite) -> u64 {
        rewrite.most_worth(&self.0.account)
    }

    /// The largest size that a rewrite may come to for lines that are kept: then a conversation costs no
    /// more than it may.
    pub fn most_kept(&self, rewrite: &Rewrite) -> u64 {
        rewrite.most_kept(&self.0.account)
    }

    /// Looks at a prompt of so many tokens. `cold` says that the provider has no prefix of it to
    /// read, so that nothing is lost by a rewrite.
    pub fn look(
        &mut self,
        tokens: u64,
        cold: bool,
        bounds: &Budgets,
        prices: CachePrices,
    ) -> Cache {
        let (now, then) = (tokens as f64, bounds.target.unwrap_or(tokens) as f64);
        let saving = prices.read * (now - then).max(0.0);
        let fills = bounds.soft.is_some_and(|soft| tokens >= soft);
        self.0.rent = if fills { self.0.rent + saving } else { 0.0 };
        let cost = if cold { 0.0 } else { prices.write * then - prices.read * now };
        let CachePrices { read, write } = prices;
        let (warm, forgone_cost) = (!cold, self.0.rent);
        Cache { warm, read, write, rewrite_cost: cost, saving_per_turn: saving, forgone_cost }
    }

    /// The size at which a compression brought too little, since one last brought enough.
    pub fn stalled_at(&self) -> Option<u64> {
        self.0.stalled
    }

    /// What the compression came to that last brought too little, in tokens: who asks for it again asks
    /// in vain until that is worth it.
    pub fn came_to(&self) -> Option<u64> {
        self.0.came_to
    }

    /// A compression was applied.
    pub fn compressed(&mut self) {
        (self.0.rent, self.0.stalled, self.0.came_to) = (0.0, None, None);
    }

    /// A compression of a prompt of so many tokens brought too little; where it was made, it came to
    /// `came_to`.
    pub fn stalled(&mut self, tokens: u64, came_to: Option<u64>) {
        (self.0.rent, self.0.stalled, self.0.came_to) = (0.0, Some(tokens), came_to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns until a rewrite of a full prompt to the target pays, the one that rewrites included.
    fn payback(prices: CachePrices) -> u32 {
        let bounds = Budgets { soft: Some(1), target: Some(100_000), ..Budgets::default() };
        let mut meter = CacheMeter::default();
        (1..)
            .find(|_| {
                let cache = meter.look(200_000, false, &bounds, prices);
                cache.forgone_cost >= cache.rewrite_cost
            })
            .unwrap_or_default()
    }

    /// By hand: a rewrite of P tokens to p pays after (write - read) / read * p / (P - p) turns; with
    /// p = P / 2 these are 11.5, 24 and 49, of which one is the turn that rewrites.
    #[test]
    fn a_rewrite_pays_by_the_factors_of_the_model() {
        let check = |read, turns| assert_eq!(payback(CachePrices { read, write: 1.25 }), turns);
        check(0.1, 11);
        check(0.05, 23);
        check(0.025, 48);
        assert_eq!(payback(CachePrices { read: 0.1, write: 2.0 }), 18);
        assert_eq!(payback(CachePrices { read: 0.0, write: 0.0 }), 1);
    }

    #[test]
    fn an_epoch_settles_the_rent_and_so_does_a_small_prompt() {
        let bounds = Budgets { soft: Some(800), target: Some(400), ..Budgets::default() };
        let prices = CachePrices { read: 0.1, write: 1.25 };
        let mut meter = CacheMeter::from_reading(MeterReading { rent: 300.0, ..<_>::default() });
        meter.look(900, false, &bounds, prices);
        assert_eq!(meter.reading().rent, 350.0);
        meter.compressed();
        assert_eq!(meter, CacheMeter::default());
        let mut meter = CacheMeter::from_reading(MeterReading { rent: 300.0, ..<_>::default() });
        meter.look(500, false, &bounds, prices);
        assert_eq!(meter.reading().rent, 0.0);
    }
}
