//! When a live conversation is compressed.
//!
//! Invariant: before the hard bound a cached prefix is rewritten only once leaving it has cost as
//! much as rewriting it does (the ski-rental rule, hazard 14), and never twice without new weight.

use epitome_kernel::types::Cause;

/// The bounds of a prompt, in tokens, and what caching costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriggerOptions {
    /// From here on a compression is considered.
    pub soft: u64,
    /// More than this is never sent.
    pub hard: u64,
    /// What a compression shrinks to.
    pub target: u64,
    /// By what share a prompt must have grown before a compression that brought nothing is tried
    /// again, 0 to 1.
    pub cooldown: f64,
    /// What tokens cost.
    pub prices: CachePrices,
}

/// What a token of a prompt costs, in units of one that is not cached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePrices {
    /// Read from the cache.
    pub read: f64,
    /// Written to it.
    pub write: f64,
}

/// Follows one conversation from turn to turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Meter {
    /// What leaving the prefix as it is has cost since the last epoch.
    pub rent: f64,
    /// The size at which a compression brought too little.
    stalled: Option<u64>,
}

impl Meter {
    /// A meter that goes on from a rent.
    pub fn from_rent(rent: f64) -> Self {
        Self { rent, stalled: None }
    }

    /// Whether a prompt of so many tokens is compressed before it is sent. `cold` says that the
    /// provider has no prefix of it to read, so that nothing is lost by a rewrite.
    pub fn turn(&mut self, tokens: u64, cold: bool, options: &TriggerOptions) -> Option<Cause> {
        if tokens > options.hard {
            return Some(Cause::Hard);
        }
        if tokens < options.soft {
            self.rent = 0.0;
            return None;
        }
        let CachePrices { read, write } = options.prices;
        let (now, then) = (tokens as f64, options.target as f64);
        self.rent += read * (now - then).max(0.0);
        let price = if cold { 0.0 } else { write * then - read * now };
        (self.rent >= price && !self.rests(tokens, options)).then_some(Cause::Soft)
    }

    /// A compression was applied.
    pub fn compressed(&mut self) {
        *self = Self::default();
    }

    /// A compression of a prompt of so many tokens brought too little.
    pub fn stalled(&mut self, tokens: u64) {
        *self = Self { rent: 0.0, stalled: Some(tokens) };
    }

    fn rests(&self, tokens: u64, options: &TriggerOptions) -> bool {
        let grown = |since: u64| tokens as f64 >= since as f64 * (1.0 + options.cooldown);
        self.stalled.is_some_and(|since| !grown(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TriggerOptions = TriggerOptions {
        soft: 800,
        hard: 1000,
        target: 400,
        cooldown: 0.05,
        prices: CachePrices { read: 0.1, write: 1.25 },
    };

    /// The turn, counted from 1, at which a prompt of this size is compressed.
    fn check(tokens: u64, cold: bool, expected: Option<(u32, Cause)>) {
        let mut meter = Meter::default();
        let turn = (1..100).find_map(|turn| Some((turn, meter.turn(tokens, cold, &OPTIONS)?)));
        assert_eq!(turn, expected, "{tokens} {cold}");
    }

    #[test]
    fn a_warm_prefix_is_rewritten_when_leaving_it_has_cost_as_much() {
        check(799, false, None);
        // 0.1 (900 - 400) = 50 a turn, against 1.25 * 400 - 0.1 * 900 = 410.
        check(900, false, Some((9, Cause::Soft)));
        check(1001, false, Some((1, Cause::Hard)));
    }

    #[test]
    fn a_cold_prefix_is_rewritten_at_once() {
        check(800, true, Some((1, Cause::Soft)));
        check(799, true, None);
    }

    #[test]
    fn what_brought_nothing_waits_for_new_weight() {
        let mut meter = Meter::default();
        meter.stalled(900);
        assert_eq!(meter.turn(944, true, &OPTIONS), None);
        assert_eq!(meter.turn(945, true, &OPTIONS), Some(Cause::Soft));
        meter.stalled(990);
        assert_eq!(meter.turn(1001, true, &OPTIONS), Some(Cause::Hard));
    }

    #[test]
    fn an_epoch_settles_the_rent() {
        let mut meter = Meter::from_rent(400.0);
        assert_eq!(meter.turn(900, false, &OPTIONS), Some(Cause::Soft));
        meter.compressed();
        assert_eq!(meter, Meter::default());
        meter.rent = 300.0;
        assert_eq!(meter.turn(500, false, &OPTIONS), None);
        assert_eq!(meter.rent, 0.0);
    }
}
