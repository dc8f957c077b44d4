//! What a replay comes to.
//!
//! Invariant: plain data; the keys are those that the command line promises.

use epitome::types::{EventKind, FactReport};
use epitome::{CachePrices, Format, Price, Quote, UnaidedPrompt};
use serde::{Serialize, Serializer};

use crate::{CacheTraffic, ReplayTurn};

/// The last line of `replay --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplaySummary {
    /// Always true.
    pub summary: bool,
    /// The figures.
    #[serde(flatten)]
    pub figures: ReplayTotals,
    /// Time from the first request to the last prompt, in milliseconds.
    pub elapsed_ms: f64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What a replay comes to, beside what it would have been without compression.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayTotals {
    /// The session it is recorded as.
    pub session: String,
    /// The beginning of the first text that a person typed.
    pub title: String,
    /// Which client's recording it is, or the provider's format.
    #[serde(serialize_with = "name")]
    pub format: Format,
    /// The model whose counts and prices hold.
    pub model: Option<String>,
    /// The limit that the last request was held to, in tokens.
    pub limit: u64,
    /// Requests, those that were refused included.
    pub turns: usize,
    /// Requests that could not be sent, since what cannot shrink exceeds the limit. They count in
    /// no figure but this one.
    pub refused: Vec<ReplayRefusal>,
    /// Prompts that were sent although they exceed the limit.
    pub oversized: usize,
    /// Compressions.
    pub compressions: usize,
    /// Tokens of all requests together, as they came.
    pub tokens_raw: u64,
    /// Tokens of all prompts together, as they were sent.
    pub tokens_sent: u64,
    /// Tokens of the largest request.
    pub max_tokens_raw: u64,
    /// Tokens of the largest prompt.
    pub max_tokens_sent: u64,
    /// Tokens that the last prompt is smaller than its request.
    pub cut: u64,
    /// The least share of a previous prompt that was kept where no compression was applied; it
    /// must be 1.
    pub prefix_kept: f64,
    /// What the prompts cost, in tokens that are not cached, as the profile takes caching to cost.
    pub cache_cost: f64,
    /// What the client would have paid without compression, as far as its prompts could have been
    /// sent: it makes them smaller by itself where they reach its threshold.
    pub cache_cost_uncompressed: f64,
    /// The tokens behind `cache_cost`.
    pub traffic: CacheTraffic,
    /// The tokens behind `cache_cost_uncompressed`.
    pub traffic_uncompressed: CacheTraffic,
    /// Calls of models that wrote summaries; what they cost is part of `cache_cost` and of what was
    /// sent.
    pub own_calls: u64,
    /// Those of them that no sum of `money` holds, since no price of their model is known.
    #[serde(skip_serializing_if = "is_none")]
    pub own_unpriced: u64,
    /// What would have been paid.
    pub money: PromptMoney,
    /// Tool results that left for the store before they were first sent.
    pub offloaded: SavingCount,
    /// Tool results that were made smaller before they were first sent.
    pub digested: SavingCount,
    /// Which must-keep facts the last prompt still holds, how many of the others a search in the
    /// store finds, and those others themselves.
    pub must_keep: FactReport,
}

/// A request that could not be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayRefusal {
    /// The turn, counted from 1.
    pub turn: usize,
    /// What cannot shrink, and by how much it is too large.
    pub reason: String,
}

/// How many, and how many tokens they saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SavingCount {
    /// How many.
    pub count: u64,
    /// Tokens saved.
    pub tokens: u64,
}

/// What prompts cost at a model's prices, replies not counted; nothing is said of a model whose price
/// is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PromptMoney {
    /// US dollars for what the client would have sent without compression.
    pub raw: Option<f64>,
    /// US dollars for the prompts as they were sent.
    pub sent: Option<f64>,
    /// What is left of the one after the other.
    pub saved: Option<f64>,
    /// The entry of the price table that was used; none where the model is unpriced, or a table of
    /// the user's own has a default price.
    pub priced_as: Option<String>,
}

impl PromptMoney {
    /// Nothing as yet, at a price.
    fn at(quote: Option<Quote<'_>>) -> Self {
        let nothing = quote.map(|_| 0.0);
        let priced_as = quote.and_then(|quote| quote.entry).map(str::to_owned);
        Self { raw: nothing, sent: nothing, saved: nothing, priced_as }
    }

    /// Adds a prompt, and what would have been sent without us.
    fn add(&mut self, price: Price, raw: CacheTraffic, sent: CacheTraffic) {
        let dollars = |traffic: CacheTraffic| price.of(traffic.tokens(), traffic.cost(price.cache));
        let (raw, sent) = (dollars(raw), dollars(sent));
        let plus = |sum: &mut Option<f64>, more: f64| *sum = sum.map(|sum| sum + more);
        plus(&mut self.raw, raw);
        plus(&mut self.sent, sent);
        plus(&mut self.saved, raw - sent);
    }
}

impl SavingCount {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.tokens += other.tokens;
    }

    fn one(&mut self, tokens: u64) {
        self.add(Self { count: 1, tokens });
    }
}

impl ReplayTotals {
    /// The summary of a replay that took so many milliseconds.
    pub fn summary(self, elapsed_ms: f64) -> ReplaySummary {
        ReplaySummary { summary: true, figures: self, elapsed_ms, warnings: Vec::new() }
    }

    /// The figures before the first request.
    pub(crate) fn new(format: Format, model: Option<&str>, quote: Option<Quote<'_>>) -> Self {
        Self {
            session: String::new(),
            title: String::new(),
            format,
            model: model.map(str::to_owned),
            limit: 0,
            turns: 0,
            refused: Vec::new(),
            oversized: 0,
            compressions: 0,
            tokens_raw: 0,
            tokens_sent: 0,
            max_tokens_raw: 0,
            max_tokens_sent: 0,
            cut: 0,
            prefix_kept: 1.0,
            cache_cost: 0.0,
            cache_cost_uncompressed: 0.0,
            traffic: CacheTraffic::default(),
            traffic_uncompressed: CacheTraffic::default(),
            own_calls: 0,
            own_unpriced: 0,
            money: PromptMoney::at(quote),
            offloaded: SavingCount::default(),
            digested: SavingCount::default(),
            must_keep: FactReport::default(),
        }
    }

    /// Adds a turn.
    pub(crate) fn add(&mut self, turn: &ReplayTurn) {
        self.turns += 1;
        self.limit = turn.limit;
        if let Some(reason) = turn.refused.clone() {
            self.refused.push(ReplayRefusal { turn: turn.turn, reason });
            return;
        }
        self.oversized += usize::from(turn.tokens_sent > turn.limit);
        self.tokens_raw += turn.tokens_raw;
        self.tokens_sent += turn.tokens_sent;
        self.max_tokens_raw = self.max_tokens_raw.max(turn.tokens_raw);
        self.max_tokens_sent = self.max_tokens_sent.max(turn.tokens_sent);
        self.cut = turn.tokens_raw.saturating_sub(turn.tokens_sent);
        if !turn.has_new_epoch() {
            self.prefix_kept = self.prefix_kept.min(turn.prefix_kept);
        }
        for event in &turn.events {
            match event.what {
                EventKind::Compressed { .. } => self.compressions += 1,
                EventKind::ToolResultOffloaded { saved, .. } => self.offloaded.one(saved),
                EventKind::ToolResultDigested { saved, .. } => self.digested.one(saved),
                _ => {}
            }
        }
    }

    /// Adds a prompt of so many tokens that shares so many with the one before it, and what would
    /// have been sent without us.
    pub(crate) fn add_prompt(
        &mut self,
        [tokens, shared]: [u64; 2],
        unaided: UnaidedPrompt,
        price: Option<Price>,
    ) {
        let (mut raw, mut sent) = (CacheTraffic::default(), CacheTraffic::default());
        sent.prompt(tokens, shared);
        raw.unaided(unaided);
        self.traffic.add(sent);
        self.traffic_uncompressed.add(raw);
        if let Some(price) = price {
            self.money.add(price, raw, sent);
        }
    }

    /// Adds own calls of models that cost so much, in tokens that are not cached and in dollars,
    /// where their price is known.
    pub(crate) fn add_calls(&mut self, calls: u64, tokens: f64, dollars: Option<f64>) {
        self.own_calls += calls;
        self.cache_cost += tokens;
        let Some(dollars) = dollars else {
            self.own_unpriced += calls;
            return;
        };
        self.money.sent = self.money.sent.map(|sent| sent + dollars);
        self.money.saved = self.money.saved.map(|saved| saved - dollars);
    }

    /// Works out the costs.
    pub(crate) fn cost(&mut self, cache: CachePrices) {
        self.cache_cost = self.traffic.cost(cache);
        self.cache_cost_uncompressed = self.traffic_uncompressed.cost(cache);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn name<S: Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(format.name())
}
