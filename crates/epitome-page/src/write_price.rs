//! What a prompt costs that its provider reads anew.
//!
//! Invariant: list prices of the very model, as the ledger takes them: longer prompts cost more where the
//! table says so, and a cache of an hour costs more to write. Tokens are the provider's, as far as its
//! answers have told how many it counts for one of ours.

use epitome::types::Role;
use epitome::{CachePrices, Price, keeps_an_hour};

use crate::view::SessionView;

/// The prices of a session's next prompt.
pub(crate) struct WritePrice {
    price: Price,
    cache: CachePrices,
    /// Tokens that the provider counts for one of ours.
    factor: f64,
}

impl WritePrice {
    /// Those of a session; none where its model has no price.
    pub(crate) fn for_session(view: &SessionView<'_>) -> Option<Self> {
        let info = &view.timeline.history.info;
        let (model, profile) = (info.model.as_deref(), view.admin.profile());
        let price = profile.prices().of(model)?.price;
        let cache = profile.cache_prices(model, asks_for_an_hour(view));
        let status = view.admin.status_of(info).ok();
        let counted = status.and_then(|status| status.window.counted);
        Some(Self { price, cache, factor: counted.map_or(1.0, |it| it.factor) })
    }

    /// US dollars for a prompt of so many of our tokens that is written to the cache as a whole.
    pub(crate) fn dollars(&self, tokens: u64) -> f64 {
        self.of_units(tokens, tokens as f64 * self.cache.write)
    }

    /// US dollars beyond those for reading the same prompt from the cache.
    pub(crate) fn beyond_reading(&self, tokens: u64) -> f64 {
        self.of_units(tokens, tokens as f64 * (self.cache.write - self.cache.read))
    }

    /// After how many turns the rewrite of a prompt is paid back that became so much smaller; none where
    /// reading costs nothing.
    pub(crate) fn turns_to_pay_back(&self, tokens: u64, less: u64) -> Option<u64> {
        let each = less as f64 * self.cache.read;
        let rewrite = tokens as f64 * (self.cache.write - self.cache.read);
        (each > 0.0).then(|| (rewrite / each).ceil().max(1.0) as u64)
    }

    fn of_units(&self, tokens: u64, units: f64) -> f64 {
        self.price.of((tokens as f64 * self.factor) as u64, units * self.factor)
    }
}

/// Whether its client asks for a cache of an hour, as its first message was recorded.
fn asks_for_an_hour(view: &SessionView<'_>) -> bool {
    let (admin, info) = (&view.admin, &view.timeline.history.info);
    let first = admin.journal().history(admin.scope(), &info.name, info.head, 0, 1);
    let Some(first) = first.ok().and_then(|found| found.into_iter().next()) else { return false };
    let text = String::from_utf8_lossy(first.bytes.as_deref().unwrap_or_default()).into_owned();
    let body = match first.role {
        Role::System => format!(r#"{{"system":{text},"messages":[]}}"#),
        _ => format!(r#"{{"messages":[{text}]}}"#),
    };
    keeps_an_hour(body.as_bytes())
}
