//! What a ledger leaves for the proxies that come after it on the same store.
//!
//! Invariant: each proxy keeps its own sums under a name of its own and changes nobody else's, so
//! that any number of them add up. One that is killed loses the requests that ended while its last
//! record was written: what ends meanwhile is kept together. What cannot be read counts nothing and is said. Called by [`super::UsageLedger`].

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use epitome::SavingsSums;
use epitome_types::{TokenBreakdown, TokenUsage};
use serde::{Deserialize, Serialize};

use super::book::{AccountKey, Book, BookAccounts};
use super::figures::{
    CostSums, LatencyHistogram, ReplyTimes, RequestSums, TrafficSums, TroubleSums, categories,
};
use super::paid::PaidPage;
use super::saving::PromptCost;
use super::{BOUNDS, Books, RESTS};
use crate::api::UpstreamApi;
use crate::skip::ProxySkip;

/// Where the sums of proxies are kept.
pub trait LedgerKeeper: Send + Sync {
    /// What all proxies before kept.
    fn earlier(&self) -> Vec<String>;
    /// Keeps the sums of this one in the place of what it kept before.
    fn keep(&self, sums: &str);
    /// Keeps a page of the store's ledger, in the place of the one with the same session, hour and
    /// part; gives whether it is there for other processes.
    fn keep_paid(&self, page: &PaidPage) -> bool;
    /// The sums of the store's ledger, of all processes; of a tenant's where one is named. None where
    /// it cannot be read.
    fn savings(&self, tenant: Option<&str>) -> Option<SavingsSums>;
}

/// The sums of all proxies before.
#[derive(Clone, Debug, Default)]
pub(super) struct Earlier {
    /// When the first of them was started; none where there is none.
    pub(super) since: Option<SystemTime>,
    pub(super) all: RequestSums,
    pub(super) requests: BTreeMap<(UpstreamApi, u16), u64>,
    pub(super) passed: u64,
    pub(super) times: ReplyTimes,
    pub(super) conversations: u64,
    /// What each tenant had of it.
    pub(super) tenants: BTreeMap<String, Earlier>,
    /// What requests of their conversations are settled by.
    pub(super) accounts: BTreeMap<AccountKey, BookAccounts>,
}

/// The sums of one proxy, as they are written down.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    started: u64,
    figures: WrittenFigures,
    /// By the name of the API and the status.
    requests: Vec<(String, u16, u64)>,
    passed: u64,
    prepared: WrittenTimes,
    first_byte: WrittenTimes,
    conversations: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tenants: BTreeMap<String, Written>,
    /// Those of conversations that may still go on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    accounts: BTreeMap<AccountKey, BookAccounts>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct WrittenFigures {
    counts: BTreeMap<String, u64>,
    /// Tokens by category: as they came, as they were sent.
    raw: BTreeMap<String, u64>,
    sent: BTreeMap<String, u64>,
    usage: TokenUsage,
    /// Paid, and what the raw history would have cost.
    bill: [f64; 2],
    dollars: [f64; 2],
    /// What the raw history would have cost a client that waits until its window is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_at_window: Option<f64>,
    skips: BTreeMap<String, u64>,
    errors: BTreeMap<u16, u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct WrittenTimes {
    buckets: Vec<u64>,
    count: u64,
    sum: f64,
}

/// The sums of a proxy, to be kept; `all` are those over all conversations.
pub(super) fn written(
    books: &Books,
    all: &RequestSums,
    tenants: &BTreeMap<String, Books>,
) -> String {
    let tenants = tenants.iter().map(|(name, own)| (name.clone(), Written::new(own, &own.all)));
    let newest = books.open.values().map(|book| book.shown.last).max();
    let goes_on = |book: &&Book| {
        newest.is_some_and(|at| at.duration_since(book.shown.last).is_ok_and(|rest| rest < RESTS))
    };
    let accounts = books.open.values().filter(goes_on);
    let accounts = accounts
        .map(|book| (AccountKey::for_name(&book.shown.name), book.accounts.clone()))
        .collect();
    let tenants = tenants.collect();
    let written = Written { tenants, accounts, ..Written::new(books, all) };
    // Nothing in it can fail to be written; were it so, it counts nothing.
    serde_json::to_string(&written).unwrap_or_default()
}

impl Written {
    fn new(books: &Books, all: &RequestSums) -> Self {
        let since = books.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let requests = books.requests.iter();
        let requests = requests.map(|((api, status), n)| (api.name().to_owned(), *status, *n));
        Self {
            started: since.as_secs(),
            figures: WrittenFigures::of(all),
            requests: requests.collect(),
            passed: books.passed,
            prepared: WrittenTimes::of(&books.times.prepared),
            first_byte: WrittenTimes::of(&books.times.first_byte),
            conversations: books.open.len() as u64 + books.older.count,
            tenants: BTreeMap::new(),
            accounts: BTreeMap::new(),
        }
    }
}

impl Earlier {
    /// What these add up to.
    pub(super) fn of(all: &[String]) -> Self {
        let mut earlier = Self::default();
        for text in all {
            match serde_json::from_str(text) {
                Ok(written) => earlier.add(written),
                Err(error) => {
                    tracing::warn!(%error, "what a proxy before this one kept cannot be read");
                }
            }
        }
        earlier
    }

    fn add(&mut self, written: Written) {
        let started = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(written.started));
        self.since = match (self.since, started) {
            (Some(since), Some(started)) => Some(since.min(started)),
            (since, started) => since.or(started),
        };
        self.all.merge(&written.figures.read());
        let apis = [UpstreamApi::Anthropic, UpstreamApi::OpenAi, UpstreamApi::Ollama];
        for (name, status, count) in written.requests {
            if let Some(api) = apis.into_iter().find(|api| api.name() == name) {
                *self.requests.entry((api, status)).or_default() += count;
            }
        }
        self.passed += written.passed;
        self.times.prepared.merge(&written.prepared.read());
        self.times.first_byte.merge(&written.first_byte.read());
        self.conversations += written.conversations;
        for (tenant, own) in written.tenants {
            self.tenants.entry(tenant).or_default().add(own);
        }
        for (name, own) in written.accounts {
            let is_newer = |known: &BookAccounts| known.last() < own.last();
            if self.accounts.get(&name).is_none_or(is_newer) {
                self.accounts.insert(name, own);
            }
        }
    }
}

/// The sums that are plain counts, by name.
fn counts(figures: &mut RequestSums) -> [(&'static str, &mut u64); 12] {
    [
        ("requests", &mut figures.requests),
        ("side", &mut figures.side),
        ("epochs", &mut figures.epochs),
        ("arrivals", &mut figures.arrivals),
        ("answers", &mut figures.answers),
        ("priced", &mut figures.cost.priced),
        ("unpriced", &mut figures.cost.unpriced),
        ("alarms", &mut figures.troubles.alarms),
        ("overflows", &mut figures.troubles.overflows),
        ("transformations", &mut figures.troubles.transformations),
        ("bytes_in", &mut figures.traffic.bytes_in),
        ("bytes_sent", &mut figures.traffic.bytes_sent),
    ]
}

fn by_name(by: &TokenBreakdown) -> BTreeMap<String, u64> {
    categories(by).into_iter().map(|(name, tokens)| (name.to_owned(), tokens)).collect()
}

fn breakdown(by: &BTreeMap<String, u64>) -> TokenBreakdown {
    let of = |name| by.get(name).copied().unwrap_or_default();
    TokenBreakdown {
        system: of("system"),
        tools: of("tools"),
        user: of("user"),
        assistant: of("assistant"),
        tool_calls: of("tool_calls"),
        tool_results: of("tool_results"),
        images: of("images"),
        checkpoints: of("checkpoints"),
    }
}

impl WrittenFigures {
    fn of(figures: &RequestSums) -> Self {
        let mut copy = figures.clone();
        let counts = counts(&mut copy).map(|(name, count)| (name.to_owned(), *count));
        let skips = figures.troubles.skips.iter();
        Self {
            counts: counts.into_iter().collect(),
            raw: by_name(&figures.traffic.raw),
            sent: by_name(&figures.traffic.sent),
            usage: figures.usage,
            bill: [figures.cost.bill.paid, figures.cost.bill.raw],
            dollars: [figures.cost.dollars.paid, figures.cost.dollars.raw],
            raw_at_window: Some(figures.cost.raw_at_window),
            skips: skips.map(|(word, count)| ((*word).to_owned(), *count)).collect(),
            errors: figures.troubles.errors.clone(),
        }
    }

    fn read(self) -> RequestSums {
        let bill = |[paid, raw]: [f64; 2]| PromptCost { paid, raw };
        let skips = self.skips.iter();
        let mut figures = RequestSums {
            traffic: TrafficSums {
                raw: breakdown(&self.raw),
                sent: breakdown(&self.sent),
                ..TrafficSums::default()
            },
            usage: self.usage,
            cost: CostSums {
                bill: bill(self.bill),
                dollars: bill(self.dollars),
                raw_at_window: self.raw_at_window.unwrap_or(self.dollars[1]),
                ..CostSums::default()
            },
            troubles: TroubleSums {
                skips: skips.filter_map(|(word, n)| Some((ProxySkip::known(word)?, *n))).collect(),
                errors: self.errors,
                ..TroubleSums::default()
            },
            ..RequestSums::default()
        };
        for (name, count) in counts(&mut figures) {
            *count = self.counts.get(name).copied().unwrap_or_default();
        }
        figures
    }
}

impl WrittenTimes {
    fn of(times: &LatencyHistogram) -> Self {
        Self { buckets: times.buckets.to_vec(), count: times.count, sum: times.sum }
    }

    fn read(self) -> LatencyHistogram {
        let mut buckets = [0; BOUNDS.len()];
        buckets.iter_mut().zip(self.buckets).for_each(|(bucket, count)| *bucket = count);
        LatencyHistogram { buckets, count: self.count, sum: self.sum }
    }
}
