//! Sums over requests, and what is shown of one conversation.
//!
//! Invariant: plain data; every sum counts a request once. Tokens are counted where the provider
//! took the prompt, since what it refuses nobody pays for. Read by the page, the JSON and the
//! metrics.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use epitome::Price;
use epitome_types::{TokenBreakdown, TokenUsage};

use super::exchange::FinishedRequest;
use super::saving::{PromptCost, SettledAnswer};
use crate::api::UpstreamApi;

/// So many of the newest requests of a conversation are drawn.
const DRAWN: usize = 60;

/// The longest name that is kept of a session or a model, in bytes.
const LONGEST: usize = 200;

/// Bounds of the buckets of a [`LatencyHistogram`], in seconds.
pub const BOUNDS: [f64; 12] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Sums over requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestSums {
    /// Requests that held a conversation.
    pub requests: u64,
    /// Those among them that were none of its turns: titles, counts, summaries of the client's own.
    pub side: u64,
    /// What came, and what was sent for it.
    pub traffic: TrafficSums,
    /// Compressions.
    pub epochs: u64,
    /// Tool results that were made smaller on arrival.
    pub arrivals: u64,
    /// Answers for which the provider said what it counted.
    pub answers: u64,
    /// What it counted.
    pub usage: TokenUsage,
    /// What the prompts of those answers cost.
    pub cost: CostSums,
    /// What did not go as it should.
    pub troubles: TroubleSums,
}

/// What came, and what was sent for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrafficSums {
    /// Tokens of the prompts as they came, in our count.
    pub raw: TokenBreakdown,
    /// Tokens of the prompts as they were sent, in our count.
    pub sent: TokenBreakdown,
    /// Bytes of the bodies as they came.
    pub bytes_in: u64,
    /// Bytes of the bodies as they were sent.
    pub bytes_sent: u64,
}

/// What prompts cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostSums {
    /// In the price of a token that is not cached.
    pub bill: PromptCost,
    /// The same in US dollars, for the models whose price is known.
    pub dollars: PromptCost,
    /// What the raw history would have cost a client that compacts only when its window is full, in US
    /// dollars; `dollars` is of one that does so where it usually does.
    pub raw_at_window: f64,
    /// Answers of models whose price is known.
    pub priced: u64,
    /// Answers of models whose price is not known: they are in no sum of money.
    pub unpriced: u64,
}

/// What did not go as it should.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TroubleSums {
    /// Requests that were not sent as they should have been, by reason.
    pub skips: BTreeMap<&'static str, u64>,
    /// How often failures came in a run.
    pub alarms: u64,
    /// Prompts that the provider refused as too long and took when they were made smaller.
    pub overflows: u64,
    /// What of prompts providers say that they left out: reasoning that was bound to another one.
    pub transformations: u64,
    /// Answers that told of an error, by status; 0 where there was no answer.
    pub errors: BTreeMap<u16, u64>,
}

/// One conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationFigures {
    /// The name of its session.
    pub name: String,
    /// The API that it goes to.
    pub api: UpstreamApi,
    /// The model last asked for.
    pub model: Option<String>,
    /// When its first request arrived.
    pub first: SystemTime,
    /// When its newest answer ended.
    pub last: SystemTime,
    /// Its sums.
    pub figures: RequestSums,
    /// Tokens of its newest prompts, oldest first: as they came and as they were sent.
    pub recent: VecDeque<[u64; 2]>,
    /// How many of its newest requests in a row were skips because something went wrong.
    pub run: u64,
    /// The reason of the newest of those.
    pub reason: Option<&'static str>,
}

/// How long requests took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyTimes {
    /// How long prompts took to be made ready.
    pub prepared: LatencyHistogram,
    /// How long the providers took until the first byte.
    pub first_byte: LatencyHistogram,
}

/// The conversations that are no longer kept apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OlderConversations {
    /// How many there are.
    pub count: u64,
    /// Over those.
    pub sums: RequestSums,
}

/// A distribution of times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyHistogram {
    /// How many stand in each bucket of [`BOUNDS`], not cumulated; those above all bounds are in
    /// none.
    pub buckets: [u64; BOUNDS.len()],
    /// How many there are.
    pub count: u64,
    /// Their sum, in seconds.
    pub sum: f64,
}

impl RequestSums {
    /// Adds a request.
    pub(super) fn add(
        &mut self,
        exchange: &FinishedRequest,
        settled: Option<SettledAnswer>,
        price: Option<Price>,
    ) {
        let FinishedRequest { side, sizes, acts, answer, .. } = exchange;
        self.requests += 1;
        self.side += u64::from(*side);
        self.traffic.bytes_in += sizes.bytes_in;
        self.traffic.bytes_sent += sizes.bytes_sent;
        self.epochs += acts.compressions.len() as u64;
        self.arrivals += acts.arrivals;
        self.troubles.add(exchange);
        if !answer.was_taken() {
            return;
        }
        add(&mut self.traffic.raw, &sizes.raw);
        add(&mut self.traffic.sent, &sizes.sent);
        if let Some(usage) = answer.counted() {
            self.answers += 1;
            self.usage += usage;
        }
        if let Some(settled) = settled {
            self.cost.add(settled, price);
        }
    }

    /// Adds the sums of other requests.
    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.side += other.side;
        self.traffic.merge(&other.traffic);
        self.epochs += other.epochs;
        self.arrivals += other.arrivals;
        self.answers += other.answers;
        self.usage += other.usage;
        self.cost.merge(&other.cost);
        self.troubles.merge(&other.troubles);
    }

    /// Tokens of all prompts: as they came, and as they were sent.
    pub fn tokens(&self) -> [u64; 2] {
        [self.traffic.raw.sum(), self.traffic.sent.sum()]
    }
}

impl TrafficSums {
    fn merge(&mut self, other: &Self) {
        add(&mut self.raw, &other.raw);
        add(&mut self.sent, &other.sent);
        self.bytes_in += other.bytes_in;
        self.bytes_sent += other.bytes_sent;
    }
}

impl CostSums {
    /// What was saved in US dollars, between the two clients that we may have before us.
    pub fn saved(&self) -> [f64; 2] {
        let (one, other) = (self.dollars.saved(), self.raw_at_window - self.dollars.paid);
        [one.min(other), one.max(other)]
    }

    /// Adds a prompt whose answer came.
    fn add(&mut self, settled: SettledAnswer, price: Option<Price>) {
        plus(&mut self.bill, settled.by_threshold.bill);
        match price {
            Some(price) => {
                plus(&mut self.dollars, settled.by_threshold.dollars(&price));
                self.raw_at_window += settled.at_window.dollars(&price).raw;
                self.priced += 1;
            }
            None => self.unpriced += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        plus(&mut self.bill, other.bill);
        plus(&mut self.dollars, other.dollars);
        self.raw_at_window += other.raw_at_window;
        self.priced += other.priced;
        self.unpriced += other.unpriced;
    }
}

impl TroubleSums {
    /// Adds what did not go well with a request.
    fn add(&mut self, exchange: &FinishedRequest) {
        let FinishedRequest { skip, answer, .. } = exchange;
        self.overflows += u64::from(answer.overflowed);
        self.transformations += answer.transformed;
        if let Some(reason) = skip {
            *self.skips.entry(reason.word()).or_default() += 1;
        }
        if !answer.was_taken() {
            *self.errors.entry(answer.status).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.alarms += other.alarms;
        self.overflows += other.overflows;
        self.transformations += other.transformations;
        for (reason, count) in &other.skips {
            *self.skips.entry(reason).or_default() += count;
        }
        for (status, count) in &other.errors {
            *self.errors.entry(*status).or_default() += count;
        }
    }
}

impl ConversationFigures {
    pub(super) fn new(name: &str, exchange: &FinishedRequest) -> Self {
        Self {
            name: name.to_owned(),
            api: exchange.asks.api,
            model: None,
            first: exchange.times.started,
            last: exchange.times.ended,
            figures: RequestSums::default(),
            recent: VecDeque::new(),
            run: 0,
            reason: None,
        }
    }

    /// Takes over what a request says of the conversation itself.
    pub(super) fn advance(&mut self, exchange: &FinishedRequest) {
        self.api = exchange.asks.api;
        self.last = self.last.max(exchange.times.ended);
        if exchange.side {
            return;
        }
        if let Some(model) = &exchange.asks.model {
            self.model = Some(clipped(model).to_owned());
        }
        if exchange.answer.was_taken() {
            if self.recent.len() == DRAWN {
                self.recent.pop_front();
            }
            self.recent.push_back([exchange.sizes.raw.sum(), exchange.sizes.sent.sum()]);
        }
        match exchange.skip {
            Some(skip) if skip.is_failure() => {
                self.run += 1;
                self.reason = Some(skip.word());
            }
            // As the request wants it: it tells nothing of how we fare.
            Some(_) => {}
            None => self.run = 0,
        }
    }
}

impl ReplyTimes {
    /// Adds the times of others.
    pub(super) fn merge(&mut self, other: &Self) {
        self.prepared.merge(&other.prepared);
        self.first_byte.merge(&other.first_byte);
    }
}

impl LatencyHistogram {
    /// Adds a time.
    pub(super) fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }

    /// Adds the times of others.
    pub(super) fn merge(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(bucket, more)| *bucket += more);
        self.count += other.count;
        self.sum += other.sum;
    }
}

/// A name as a request gives it, which may be of any length, bounded.
pub(crate) fn clipped(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST)]
}

/// The tokens of a prompt by the names of their categories.
pub(crate) fn categories(by: &TokenBreakdown) -> [(&'static str, u64); 8] {
    [
        ("system", by.system),
        ("tools", by.tools),
        ("user", by.user),
        ("assistant", by.assistant),
        ("tool_calls", by.tool_calls),
        ("tool_results", by.tool_results),
        ("images", by.images),
        ("checkpoints", by.checkpoints),
    ]
}

fn add(sum: &mut TokenBreakdown, more: &TokenBreakdown) {
    let TokenBreakdown {
        system,
        tools,
        user,
        assistant,
        tool_calls,
        tool_results,
        images,
        checkpoints,
    } = sum;
    let sums = [system, tools, user, assistant, tool_calls, tool_results, images, checkpoints];
    for (sum, (_, more)) in sums.into_iter().zip(categories(more)) {
        *sum += more;
    }
}

fn plus(sum: &mut PromptCost, more: PromptCost) {
    sum.paid += more.paid;
    sum.raw += more.raw;
}
