//! What the proxy did, in figures: per conversation, and in all.
//!
//! Invariant: memory is bounded however long it runs. The conversations used last are kept apart;
//! older ones are folded into one rest, so that the sums over all stay whole; so are those of the
//! proxies before this one on the same store. Each tenant has books of its own beside those of all, and
//! nothing of another is in them. The server tells it of each request once, when it has ended; the
//! page, the JSON and the metrics read a copy.

mod book;
mod exchange;
mod figures;
mod kept;
mod paid;
mod saver;
mod saving;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use epitome::{CachePrices, PaidArm, Price};
use epitome_types::TokenUsage;
use http::StatusCode;

use self::book::{AccountKey, Book, BookAccounts};
pub(crate) use self::exchange::{
    FinishedRequest, RequestAnswer, RequestEffects, RequestSizes, RequestTerms, RequestTimes,
};
pub use self::figures::{
    BOUNDS, ConversationFigures, CostSums, LatencyHistogram, OlderConversations, ReplyTimes,
    RequestSums, TrafficSums, TroubleSums,
};
pub(crate) use self::figures::{categories, clipped};
use self::kept::Earlier;
pub use self::kept::LedgerKeeper;
pub use self::paid::PaidPage;
use self::paid::PaidRows;
pub(crate) use self::saver::FigureSaver;
pub use self::saving::PromptCost;
use self::saving::SettledAnswer;
use crate::api::UpstreamApi;
use crate::skip::ProxySkip;

/// Stands for the conversations of requests that went out before anybody knew which they belong to.
const UNKNOWN: &str = "(unknown)";

/// A conversation that was not used for so long is over, or its client is.
const RESTS: Duration = Duration::from_secs(3_600);

/// On what terms figures are kept.
#[derive(Clone, Copy, Debug)]
pub struct LedgerOptions {
    /// What cached tokens cost against others, where nothing is known of a model.
    pub cache: CachePrices,
    /// What is known of a model: by its name, and whether what is written is kept for an hour.
    pub rates: fn(model: Option<&str>, api: UpstreamApi, hour: bool) -> Option<Rates>,
    /// What the models were asked for that write summaries, by model.
    pub own: fn() -> Vec<OwnModelCost>,
    /// So many conversations are kept apart.
    pub conversations: usize,
    /// So many failures in a row of one conversation are an alarm.
    pub run: u64,
    /// A cache that was not used for so long may be cold.
    pub cold: Duration,
    /// Whether all goes out as it came. Then `sent` is what would have been sent, and nothing was
    /// saved.
    pub shadow: bool,
    /// The window that the client was told to compact in, in tokens, where that is known.
    pub compacts_in: Option<u64>,
}

/// What the models of compressions were asked for, which is paid beside the prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCost {
    /// How many calls were answered.
    pub calls: u64,
    /// What they cost, in the price of one token of input that is not cached.
    pub tokens: f64,
    /// The same in US dollars, of the models whose price is known.
    pub dollars: f64,
    /// Calls of models whose price is not known.
    pub unpriced: u64,
}

/// What one of those models was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnModelCost {
    /// Its name.
    pub model: String,
    /// Whether it runs on a server that is paid nothing.
    pub unpaid: bool,
    /// The conversation that it was asked for: whose it is, and its name; none where that is not
    /// known.
    pub conversation: Option<[String; 2]>,
    /// The arm of an experiment whose conversations it was asked for, if any; without a unit.
    pub arm: Option<PaidArm>,
    /// What that cost.
    pub cost: OwnCost,
    /// What its provider counted.
    pub usage: TokenUsage,
}

impl OwnCost {
    /// The sum over models.
    fn sum(all: &[OwnModelCost]) -> Self {
        all.iter().fold(Self::default(), |sum, OwnModelCost { cost, .. }| Self {
            calls: sum.calls + cost.calls,
            tokens: sum.tokens + cost.tokens,
            dollars: sum.dollars + cost.dollars,
            unpriced: sum.unpriced + cost.unpriced,
        })
    }
}

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// What cached tokens cost against others.
    pub cache: CachePrices,
    /// What its tokens cost in US dollars; none where it is unpriced.
    pub price: Option<Price>,
    /// The largest prompt that it takes, in tokens.
    pub window: u64,
    /// What a token of an answer costs against one of a prompt that is not cached.
    pub output: f64,
}

impl Rates {
    /// The window of the model that a request asks for. Of a model without a known price it is guessed,
    /// and what its provider took no more of tells better: without that the prompts would seem to have
    /// cost what nobody would have been served.
    fn window_of(&self, asks: &RequestTerms) -> u64 {
        let limit = Some(asks.limit).filter(|limit| *limit > 0 && self.price.is_none());
        limit.map_or(self.window, |limit| limit.min(self.window))
    }
}

impl LedgerOptions {
    /// The usual terms, at these prices.
    pub fn new(cache: CachePrices) -> Self {
        Self {
            cache,
            rates: |_, _, _| None,
            own: Vec::new,
            conversations: 64,
            run: 3,
            cold: Duration::from_secs(300),
            shadow: false,
            compacts_in: None,
        }
    }

    /// What is known of the model that a request asks for. A request may have markers of both kinds;
    /// where its provider says how much it wrote for an hour, that goes.
    fn rates_of(&self, FinishedRequest { asks, answer, .. }: &FinishedRequest) -> Option<Rates> {
        let rates = |hour| (self.rates)(asks.model.as_deref(), asks.api, hour);
        let written = answer.usage.map_or(0, |usage| usage.cache_written);
        let Some(long) = answer.written_for_hour.filter(|_| written > 0) else {
            return rates(asks.hour);
        };
        let [mut usual, for_hour] = [rates(false)?, rates(true)?];
        let share = (long as f64 / written as f64).min(1.0);
        usual.cache.write += (for_hour.cache.write - usual.cache.write) * share;
        Some(usual)
    }
}

/// The figures of a proxy.
#[derive(Debug)]
pub struct UsageLedger {
    terms: LedgerOptions,
    /// What the proxies before this one did.
    earlier: Earlier,
    books: Mutex<LedgerBooks>,
}

/// The books of all requests, and those of each tenant.
#[derive(Debug)]
struct LedgerBooks {
    all: Books,
    tenants: BTreeMap<String, Books>,
    paid: PaidRows,
    /// Those of the proxies before this one, of conversations that did not go on here yet.
    accounts: BTreeMap<AccountKey, BookAccounts>,
}

/// A copy of all figures.
#[derive(Clone, Debug)]
pub struct LedgerSnapshot {
    /// When the ledger was opened.
    pub started: SystemTime,
    /// Since when its figures count: since the first proxy on the same store, where they are kept.
    pub since: SystemTime,
    /// Whether all goes out as it came.
    pub shadow: bool,
    /// So many failures in a row are an alarm.
    pub run: u64,
    /// Over all conversations; what was paid for own calls of models is in its bills.
    pub all: RequestSums,
    /// Those calls.
    pub own: OwnCost,
    /// Requests by API and the status of their answers, those that passed through included.
    pub requests: BTreeMap<(UpstreamApi, u16), u64>,
    /// Requests that passed through untouched, and that their provider took.
    pub passed: u64,
    /// Requests of no conversation that nobody took, by the status of what answered them: those that
    /// were refused here or by their provider, or that reached nobody. Of this proxy alone.
    pub untaken: BTreeMap<u16, u64>,
    /// How long requests took.
    pub times: ReplyTimes,
    /// The conversations, the one used last first.
    pub conversations: Vec<ConversationFigures>,
    /// The older ones.
    pub older: OlderConversations,
}

#[derive(Debug)]
struct Books {
    started: SystemTime,
    all: RequestSums,
    requests: BTreeMap<(UpstreamApi, u16), u64>,
    passed: u64,
    untaken: BTreeMap<u16, u64>,
    times: ReplyTimes,
    open: HashMap<String, Book>,
    older: OlderConversations,
}

impl UsageLedger {
    /// Opens a ledger at a time.
    pub(crate) fn new(terms: LedgerOptions, started: SystemTime) -> Self {
        let (all, tenants) = (Books::new(started), BTreeMap::new());
        let (paid, accounts) = (PaidRows::default(), BTreeMap::new());
        let books = LedgerBooks { all, tenants, paid, accounts };
        Self { terms, earlier: Earlier::default(), books: Mutex::new(books) }
    }

    /// The same with what proxies before it kept.
    pub(crate) fn after(self, kept: &[String]) -> Self {
        let mut earlier = Earlier::of(kept);
        self.lock().accounts = std::mem::take(&mut earlier.accounts);
        Self { earlier, ..self }
    }

    /// Its own sums, to be kept for those that come after it.
    pub(crate) fn kept(&self) -> String {
        let books = self.lock();
        let own = OwnCost::sum(&(self.terms.own)());
        kept::written(&books.all, &net(&books.all.all, &own), &books.tenants)
    }

    /// Takes the rows of the store's ledger that are not in the store yet.
    pub(crate) fn take_unkept(&self, now: SystemTime) -> Vec<PaidPage> {
        let own = (self.terms.own)();
        self.lock().paid.take_unkept(own, now)
    }

    /// Hears that those are in the store, but for these.
    pub(crate) fn paid_kept(&self, failed: Vec<PaidPage>, now: SystemTime) {
        self.lock().paid.kept(failed, now);
    }

    /// Adds a request that has ended.
    pub(crate) fn record(&self, exchange: &FinishedRequest) {
        let mut books = self.lock();
        let LedgerBooks { all, tenants, paid, accounts } = &mut *books;
        let name = exchange.session.as_deref().map(figures::clipped);
        let known = name.and_then(|name| accounts.remove(&AccountKey::for_name(name)));
        let settled = all.record(exchange, known.as_ref(), &self.terms);
        let is_of_a_conversation = exchange.session.is_some() || exchange.skip.is_some();
        let FinishedRequest { answer, arm, .. } = exchange;
        let is_kept = answer.was_taken() || answer.too_long || arm.is_some();
        if is_of_a_conversation && is_kept {
            paid.add(exchange, settled, self.terms.rates_of(exchange));
        }
        if let Some(tenant) = &exchange.tenant {
            let own = tenants.entry(tenant.clone()).or_insert_with(|| Books::new(all.started));
            own.record(exchange, known.as_ref(), &self.terms);
        }
    }

    /// Counts a request that belongs to no upstream.
    pub(crate) fn turned_away(&self, status: StatusCode) {
        *self.lock().all.untaken.entry(status.as_u16()).or_default() += 1;
    }

    /// All figures as they stand.
    pub fn snapshot(&self) -> LedgerSnapshot {
        // Whoever shows what was saved shows it net of what was spent for it.
        let own = OwnCost::sum(&(self.terms.own)());
        self.copy(&self.lock().all, &self.earlier, own)
    }

    /// The figures of one tenant alone.
    pub(crate) fn snapshot_of(&self, tenant: &str) -> LedgerSnapshot {
        let is_its = |call: &OwnModelCost| {
            call.conversation.as_ref().is_some_and(|[whose, _]| whose == tenant)
        };
        let own: Vec<_> = (self.terms.own)().into_iter().filter(is_its).collect();
        let own = OwnCost::sum(&own);
        let books = self.lock();
        let earlier = self.earlier.tenants.get(tenant).cloned().unwrap_or_default();
        match books.tenants.get(tenant) {
            Some(books) => self.copy(books, &earlier, own),
            None => self.copy(&Books::new(books.all.started), &earlier, own),
        }
    }

    fn copy(&self, books: &Books, earlier: &Earlier, own: OwnCost) -> LedgerSnapshot {
        let mut open: Vec<_> = books.open.values().map(|book| book.shown.clone()).collect();
        open.sort_by(|one, other| (other.last, &one.name).cmp(&(one.last, &other.name)));
        let Earlier { since, all, requests, passed, times, conversations, .. } = earlier.clone();
        let mut snapshot = LedgerSnapshot {
            started: books.started,
            since: since.map_or(books.started, |since| since.min(books.started)),
            shadow: self.terms.shadow,
            run: self.terms.run,
            older: OlderConversations {
                count: conversations + books.older.count,
                sums: all.clone(),
            },
            all,
            own,
            requests,
            passed: passed + books.passed,
            untaken: books.untaken.clone(),
            times,
            conversations: open,
        };
        snapshot.all.merge(&net(&books.all, &own));
        snapshot.older.sums.merge(&books.older.sums);
        for (key, count) in &books.requests {
            *snapshot.requests.entry(*key).or_default() += count;
        }
        snapshot.times.merge(&books.times);
        snapshot
    }

    /// The books. Sums are all that a panic could leave half done.
    fn lock(&self) -> MutexGuard<'_, LedgerBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Figures with what was spent on own calls of models among what was paid.
fn net(figures: &RequestSums, own: &OwnCost) -> RequestSums {
    let mut net = figures.clone();
    net.cost.bill.paid += own.tokens;
    net.cost.dollars.paid += own.dollars;
    net
}

impl LedgerSnapshot {
    /// The conversations whose newest requests failed open, one after the other, and that are still
    /// going on.
    pub fn alarms(&self, now: SystemTime) -> impl Iterator<Item = &ConversationFigures> {
        let rests = move |shown: &ConversationFigures| {
            now.duration_since(shown.last).is_ok_and(|pause| pause > RESTS)
        };
        let failing = self.conversations.iter().filter(|shown| shown.run >= self.run);
        failing.filter(move |shown| !rests(shown))
    }
}

impl Books {
    fn new(started: SystemTime) -> Self {
        Self {
            started,
            all: RequestSums::default(),
            requests: BTreeMap::new(),
            passed: 0,
            untaken: BTreeMap::new(),
            times: ReplyTimes::default(),
            open: HashMap::new(),
            older: OlderConversations::default(),
        }
    }

    /// Adds a request; gives what it cost, where the provider said what it counted. `known` is what
    /// another proxy kept of its conversation.
    fn record(
        &mut self,
        exchange: &FinishedRequest,
        known: Option<&BookAccounts>,
        terms: &LedgerOptions,
    ) -> Option<SettledAnswer> {
        *self.requests.entry((exchange.asks.api, exchange.answer.status)).or_default() += 1;
        if let Some(time) = exchange.times.first_byte {
            self.times.first_byte.add(time);
        }
        let name = match (&exchange.session, exchange.skip) {
            (Some(name), _) => figures::clipped(name),
            (None, Some(_)) => UNKNOWN,
            (None, None) => {
                match exchange.answer.was_taken() {
                    true => self.passed += 1,
                    false => *self.untaken.entry(exchange.answer.status).or_default() += 1,
                }
                return None;
            }
        };
        self.times.prepared.add(exchange.times.prepared);
        self.make_room(name, terms.conversations);
        let book =
            self.open.entry(name.to_owned()).or_insert_with(|| Book::new(name, exchange, known));
        let rates = terms.rates_of(exchange);
        let settled = book.settle(exchange, rates, terms);
        let price = rates.and_then(|rates| rates.price);
        book.shown.advance(exchange);
        let failed = !exchange.side && exchange.skip.is_some_and(ProxySkip::is_failure);
        let rises = failed && book.shown.run == terms.run;
        for figures in [&mut book.shown.figures, &mut self.all] {
            figures.add(exchange, settled, price);
            figures.troubles.alarms += u64::from(rises);
        }
        settled
    }

    /// Folds the conversation that was not used for longest where a new one has no place.
    fn make_room(&mut self, name: &str, most: usize) {
        if self.open.contains_key(name) || self.open.len() < most.max(1) {
            return;
        }
        let oldest = self.open.values().min_by_key(|book| (book.shown.last, &book.shown.name));
        let Some(oldest) = oldest.map(|book| book.shown.name.clone()) else { return };
        if let Some(book) = self.open.remove(&oldest) {
            self.older.sums.merge(&book.shown.figures);
            self.older.count += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
