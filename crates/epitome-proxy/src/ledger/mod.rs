//! What the proxy did, in figures: per conversation, and in all.
//!
//! Invariant: memory is bounded however long it runs. The conversations used last are kept apart;
//! older ones are folded into one rest, so that the sums over all stay whole. The server tells it of
//! each request once, when it has ended; the page, the JSON and the metrics read a copy.

mod exchange;
mod figures;
mod saving;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use epitome::CachePrices;

pub(crate) use self::exchange::{Acts, Exchange};
pub(crate) use self::figures::categories;
pub use self::figures::{BOUNDS, Conversation, Figures, Histogram};
pub use self::saving::Bill;
use self::saving::{Account, Turn};
use crate::route::Api;
use crate::skip::Skip;

/// Stands for the conversations of requests that went out before anybody knew which they belong to.
const UNKNOWN: &str = "(unknown)";

/// A conversation that was not used for so long is over, or its client is.
const RESTS: Duration = Duration::from_secs(3_600);

/// On what terms figures are kept.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// What cached tokens cost against others.
    pub cache: CachePrices,
    /// The price of a model in US dollars for a million tokens of input, where it is known.
    pub price: fn(model: &str) -> Option<f64>,
    /// So many conversations are kept apart.
    pub conversations: usize,
    /// So many failures in a row of one conversation are an alarm.
    pub run: u64,
    /// A cache that was not used for so long may be cold.
    pub cold: Duration,
    /// Whether all goes out as it came. Then `sent` is what would have been sent, and nothing was
    /// saved.
    pub shadow: bool,
}

impl Terms {
    /// The usual terms, at these prices.
    pub fn new(cache: CachePrices) -> Self {
        Self {
            cache,
            price: |_| None,
            conversations: 64,
            run: 3,
            cold: Duration::from_secs(300),
            shadow: false,
        }
    }
}

/// The figures of a proxy.
#[derive(Debug)]
pub struct Ledger {
    terms: Terms,
    books: Mutex<Books>,
}

/// A copy of all figures.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When the ledger was opened.
    pub started: SystemTime,
    /// Whether all goes out as it came.
    pub shadow: bool,
    /// So many failures in a row are an alarm.
    pub run: u64,
    /// Over all conversations.
    pub all: Figures,
    /// Requests by API and the status of their answers, those that passed through included.
    pub requests: BTreeMap<(Api, u16), u64>,
    /// Requests that passed through untouched.
    pub passed: u64,
    /// How long prompts took to be made ready.
    pub prepared: Histogram,
    /// How long the providers took until the first byte.
    pub first_byte: Histogram,
    /// The conversations, the one used last first.
    pub conversations: Vec<Conversation>,
    /// How many older ones there are.
    pub folded: u64,
    /// Over those.
    pub rest: Figures,
}

#[derive(Debug)]
struct Books {
    started: SystemTime,
    all: Figures,
    requests: BTreeMap<(Api, u16), u64>,
    passed: u64,
    prepared: Histogram,
    first_byte: Histogram,
    open: HashMap<String, Book>,
    folded: u64,
    rest: Figures,
}

/// A conversation that is kept apart.
#[derive(Debug)]
struct Book {
    shown: Conversation,
    account: Account,
    /// Whether its newest prompt was a skip: the next one may begin otherwise.
    skipped: bool,
}

impl Ledger {
    /// Opens a ledger at a time.
    pub(crate) fn new(terms: Terms, started: SystemTime) -> Self {
        let books = Books {
            started,
            all: Figures::default(),
            requests: BTreeMap::new(),
            passed: 0,
            prepared: Histogram::default(),
            first_byte: Histogram::default(),
            open: HashMap::new(),
            folded: 0,
            rest: Figures::default(),
        };
        Self { terms, books: Mutex::new(books) }
    }

    /// Adds a request that has ended.
    pub(crate) fn record(&self, exchange: &Exchange) {
        self.lock().record(exchange, &self.terms);
    }

    /// All figures as they stand.
    pub fn snapshot(&self) -> Snapshot {
        let books = self.lock();
        let mut conversations: Vec<_> =
            books.open.values().map(|book| book.shown.clone()).collect();
        conversations.sort_by(|one, other| (other.last, &one.name).cmp(&(one.last, &other.name)));
        Snapshot {
            started: books.started,
            shadow: self.terms.shadow,
            run: self.terms.run,
            all: books.all.clone(),
            requests: books.requests.clone(),
            passed: books.passed,
            prepared: books.prepared.clone(),
            first_byte: books.first_byte.clone(),
            conversations,
            folded: books.folded,
            rest: books.rest.clone(),
        }
    }

    /// The books. Sums are all that a panic could leave half done.
    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// The conversations whose newest requests failed open, one after the other, and that are still
    /// going on.
    pub fn alarms(&self, now: SystemTime) -> impl Iterator<Item = &Conversation> {
        let rests = move |shown: &Conversation| {
            now.duration_since(shown.last).is_ok_and(|pause| pause > RESTS)
        };
        let failing = self.conversations.iter().filter(|shown| shown.run >= self.run);
        failing.filter(move |shown| !rests(shown))
    }
}

impl Books {
    fn record(&mut self, exchange: &Exchange, terms: &Terms) {
        *self.requests.entry((exchange.api, exchange.status)).or_default() += 1;
        if let Some(time) = exchange.first_byte {
            self.first_byte.add(time);
        }
        let name = match (&exchange.session, exchange.skip) {
            (Some(name), _) => figures::clipped(name),
            (None, Some(_)) => UNKNOWN,
            (None, None) => {
                self.passed += 1;
                return;
            }
        };
        self.prepared.add(exchange.prepared);
        self.make_room(name, terms.conversations);
        let book = self.open.entry(name.to_owned()).or_insert_with(|| Book::new(name, exchange));
        let bill = book.settle(exchange, terms);
        let price = exchange.model.as_deref().and_then(terms.price);
        book.shown.advance(exchange);
        let failed = !exchange.side && exchange.skip.is_some_and(Skip::is_failure);
        let rises = failed && book.shown.run == terms.run;
        for figures in [&mut book.shown.figures, &mut self.all] {
            figures.add(exchange, bill, price);
            figures.alarms += u64::from(rises);
        }
    }

    /// Folds the conversation that was not used for longest where a new one has no place.
    fn make_room(&mut self, name: &str, most: usize) {
        if self.open.contains_key(name) || self.open.len() < most.max(1) {
            return;
        }
        let oldest = self.open.values().min_by_key(|book| (book.shown.last, &book.shown.name));
        let Some(oldest) = oldest.map(|book| book.shown.name.clone()) else { return };
        if let Some(book) = self.open.remove(&oldest) {
            self.rest.merge(&book.shown.figures);
            self.folded += 1;
        }
    }
}

impl Book {
    fn new(name: &str, exchange: &Exchange) -> Self {
        Self {
            shown: Conversation::new(name, exchange),
            account: Account::default(),
            skipped: false,
        }
    }

    /// What a request cost, and would have cost.
    fn settle(&mut self, exchange: &Exchange, terms: &Terms) -> Option<Bill> {
        if !exchange.was_taken() || terms.shadow {
            return None;
        }
        let skipped = exchange.skip.is_some();
        let turn = Turn {
            tokens: [&exchange.raw, &exchange.sent].map(|by| by.sum().max(1)),
            rewritten: exchange.acts.rewritten || skipped != self.skipped,
            started: exchange.started,
            ended: exchange.ended,
        };
        let usage = exchange.counted();
        if exchange.side || exchange.session.is_none() {
            // What is remembered of the conversation says nothing of it.
            return Account::default().settle(turn, usage, terms.cache, terms.cold);
        }
        self.skipped = skipped;
        self.account.settle(turn, usage, terms.cache, terms.cold)
    }
}

#[cfg(test)]
pub(crate) mod tests;
