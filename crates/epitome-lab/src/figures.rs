//! What a replay comes to.
//!
//! Invariant: plain data; the keys are those that the command line promises.

use epitome::types::{EventKind, FactReport};
use epitome::{CachePrices, Format, Price, Quote, UnaidedPrompt};
use serde::{Serialize, Serializer};

use crate::{CacheTotals, CacheTraffic, ReplayTurn};

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
    /// What was replayed.
    #[serde(flatten)]
    pub recording: RecordingFacts,
    /// The limit that the last request was held to, in tokens.
    pub limit: u64,
    /// What became of the requests.
    #[serde(flatten)]
    pub requests: RequestCounts,
    /// How large they were.
    #[serde(flatten)]
    pub tokens: TokenTotals,
    /// The least share of a previous prompt that was kept where no compression was applied; it
    /// must be 1.
    pub prefix_kept: f64,
    /// What the prompts cost under a cache.
    #[serde(flatten)]
    pub cache: CacheTotals,
    /// What models were asked that wrote summaries.
    #[serde(flatten)]
    pub own: SummaryCalls,
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

/// What a replay is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingFacts {
    /// The session it is recorded as.
    pub session: String,
    /// The beginning of the first text that a person typed.
    pub title: String,
    /// Which client's recording it is, or the provider's format.
    #[serde(serialize_with = "name")]
    pub format: Format,
    /// The model whose counts and prices hold.
    pub model: Option<String>,
}

/// What became of the requests of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestCounts {
    /// Requests, those that were refused included.
    pub turns: usize,
    /// Requests that could not be sent, since what cannot shrink exceeds the limit. They count in
    /// no figure but this one.
    pub refused: Vec<ReplayRefusal>,
    /// Prompts that were sent although they exceed the limit.
    pub oversized: usize,
    /// Compressions.
    pub compressions: usize,
}

/// How large the requests of a replay were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenTotals {
    /// Tokens of all requests together, as they came.
    #[serde(rename = "tokens_raw")]
    pub raw: u64,
    /// Tokens of all prompts together, as they were sent.
    #[serde(rename = "tokens_sent")]
    pub sent: u64,
    /// Tokens of the largest request.
    #[serde(rename = "max_tokens_raw")]
    pub max_raw: u64,
    /// Tokens of the largest prompt.
    #[serde(rename = "max_tokens_sent")]
    pub max_sent: u64,
    /// Tokens that the last prompt is smaller than its request.
    pub cut: u64,
}

/// Calls of models that wrote summaries; what they cost is part of what the prompts cost and of what
/// was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SummaryCalls {
    /// How many there were.
    #[serde(rename = "own_calls")]
    pub calls: u64,
    /// Those of them that no sum of money holds, since no price of their model is known.
    #[serde(rename = "own_unpriced", skip_serializing_if = "is_none")]
    pub unpriced: u64,
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

impl TokenTotals {
    /// Adds a request, as it came and as it was sent.
    fn add(&mut self, raw: u64, sent: u64) {
        self.raw += raw;
        self.sent += sent;
        self.max_raw = self.max_raw.max(raw);
        self.max_sent = self.max_sent.max(sent);
        self.cut = raw.saturating_sub(sent);
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
            recording: RecordingFacts {
                session: String::new(),
                title: String::new(),
                format,
                model: model.map(str::to_owned),
            },
            limit: 0,
            requests: RequestCounts::default(),
            tokens: TokenTotals::default(),
            prefix_kept: 1.0,
            cache: CacheTotals::default(),
            own: SummaryCalls::default(),
            money: PromptMoney::at(quote),
            offloaded: SavingCount::default(),
            digested: SavingCount::default(),
            must_keep: FactReport::default(),
        }
    }

    /// Adds a turn.
    pub(crate) fn add(&mut self, turn: &ReplayTurn) {
        self.requests.turns += 1;
        self.limit = turn.limit;
        if let Some(reason) = turn.refused.clone() {
            self.requests.refused.push(ReplayRefusal { turn: turn.turn, reason });
            return;
        }
        self.requests.oversized += usize::from(turn.tokens_sent > turn.limit);
        self.tokens.add(turn.tokens_raw, turn.tokens_sent);
        if !turn.has_new_epoch() {
            self.prefix_kept = self.prefix_kept.min(turn.prefix_kept);
        }
        for event in &turn.events {
            match event.what {
                EventKind::Compressed { .. } => self.requests.compressions += 1,
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
        self.cache.traffic.add(sent);
        self.cache.traffic_uncompressed.add(raw);
        if let Some(price) = price {
            self.money.add(price, raw, sent);
        }
    }

    /// Adds own calls of models that cost so much, in tokens that are not cached and in dollars,
    /// where their price is known.
    pub(crate) fn add_calls(&mut self, calls: u64, tokens: f64, dollars: Option<f64>) {
        self.own.calls += calls;
        self.cache.cost += tokens;
        let Some(dollars) = dollars else {
            self.own.unpriced += calls;
            return;
        };
        self.money.sent = self.money.sent.map(|sent| sent + dollars);
        self.money.saved = self.money.saved.map(|saved| saved - dollars);
    }

    /// Works out the costs.
    pub(crate) fn cost(&mut self, cache: CachePrices) {
        self.cache.work_out(cache);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn name<S: Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(format.name())
}
