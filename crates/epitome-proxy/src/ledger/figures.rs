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
use super::saving::{PromptCost, Settled};
use crate::route::UpstreamApi;

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
    /// Tokens of the prompts as they came, in our count.
    pub raw: TokenBreakdown,
    /// Tokens of the prompts as they were sent, in our count.
    pub sent: TokenBreakdown,
    /// Compressions.
    pub epochs: u64,
    /// Tool results that were made smaller on arrival.
    pub arrivals: u64,
    /// Answers for which the provider said what it counted.
    pub answers: u64,
    /// What it counted.
    pub usage: TokenUsage,
    /// What the prompts of those answers cost, in the price of a token that is not cached.
    pub bill: PromptCost,
    /// The same in US dollars, for the models whose price is known.
    pub dollars: PromptCost,
    /// Answers of models whose price is known.
    pub priced: u64,
    /// Answers of models whose price is not known: they are in no sum of money.
    pub unpriced: u64,
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
    /// Bytes of the bodies as they came.
    pub bytes_in: u64,
    /// Bytes of the bodies as they were sent.
    pub bytes_sent: u64,
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
        settled: Option<Settled>,
        price: Option<Price>,
    ) {
        self.requests += 1;
        self.side += u64::from(exchange.side);
        self.bytes_in += exchange.bytes_in;
        self.bytes_sent += exchange.bytes_sent;
        self.epochs += exchange.acts.epochs;
        self.arrivals += exchange.acts.arrivals;
        self.overflows += u64::from(exchange.overflowed);
        self.transformations += exchange.transformed;
        if let Some(reason) = exchange.skip {
            *self.skips.entry(reason.word()).or_default() += 1;
        }
        if !exchange.was_taken() {
            *self.errors.entry(exchange.status).or_default() += 1;
            return;
        }
        add(&mut self.raw, &exchange.raw);
        add(&mut self.sent, &exchange.sent);
        if let Some(usage) = exchange.counted() {
            self.answers += 1;
            self.usage += usage;
        }
        if let Some(settled) = settled {
            plus(&mut self.bill, settled.bill);
            match price {
                Some(price) => {
                    plus(&mut self.dollars, settled.dollars(&price));
                    self.priced += 1;
                }
                None => self.unpriced += 1,
            }
        }
    }

    /// Adds the sums of other requests.
    pub(super) fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.requests, other.requests),
            (&mut self.side, other.side),
            (&mut self.epochs, other.epochs),
            (&mut self.arrivals, other.arrivals),
            (&mut self.answers, other.answers),
            (&mut self.priced, other.priced),
            (&mut self.unpriced, other.unpriced),
            (&mut self.alarms, other.alarms),
            (&mut self.overflows, other.overflows),
            (&mut self.transformations, other.transformations),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.bytes_sent, other.bytes_sent),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
        add(&mut self.raw, &other.raw);
        add(&mut self.sent, &other.sent);
        self.usage += other.usage;
        plus(&mut self.bill, other.bill);
        plus(&mut self.dollars, other.dollars);
        for (reason, count) in &other.skips {
            *self.skips.entry(reason).or_default() += count;
        }
        for (status, count) in &other.errors {
            *self.errors.entry(*status).or_default() += count;
        }
    }

    /// Tokens of all prompts: as they came, and as they were sent.
    pub fn tokens(&self) -> [u64; 2] {
        [self.raw.sum(), self.sent.sum()]
    }
}

impl ConversationFigures {
    pub(super) fn new(name: &str, exchange: &FinishedRequest) -> Self {
        Self {
            name: name.to_owned(),
            api: exchange.api,
            model: None,
            first: exchange.started,
            last: exchange.ended,
            figures: RequestSums::default(),
            recent: VecDeque::new(),
            run: 0,
            reason: None,
        }
    }

    /// Takes over what a request says of the conversation itself.
    pub(super) fn advance(&mut self, exchange: &FinishedRequest) {
        self.api = exchange.api;
        self.last = self.last.max(exchange.ended);
        if exchange.side {
            return;
        }
        if let Some(model) = &exchange.model {
            self.model = Some(clipped(model).to_owned());
        }
        if exchange.was_taken() {
            if self.recent.len() == DRAWN {
                self.recent.pop_front();
            }
            self.recent.push_back([exchange.raw.sum(), exchange.sent.sum()]);
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
