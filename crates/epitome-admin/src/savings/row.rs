//! The rows of the ledger: who paid how much for which answers, hour by hour.
//!
//! Invariant: plain data, and nothing of a conversation: a session stands in it as the hash of its
//! name. A record belongs to the process that wrote it, which alone writes it again, and only within
//! its hour. Written by proxies, read by [`super::SavingsLedger`].

use std::ops::AddAssign;

use epitome_types::{ContentId, TokenUsage};
use serde::{Deserialize, Serialize};

/// The purpose of a call that somebody paid for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum PaidPurpose {
    /// A turn of a conversation.
    #[default]
    Turn,
    /// A request of the client beside its turns: a title, a count, its own summary.
    Side,
    /// A summary that the proxy asked a model for.
    Summary,
}

/// The answers that a row adds up.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PaidKey {
    /// The program that asked, as it calls itself, without its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The purpose.
    pub purpose: PaidPurpose,
    /// Whether the price of the model was known; dollars are 0 where it was not.
    pub priced: bool,
}

/// Sums over answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaidSums {
    /// Answers with the provider's own count.
    pub answers: u64,
    /// Answers without one: they are in no sum of money.
    pub uncounted: u64,
    /// The provider's count.
    pub usage: TokenUsage,
    /// Tokens of the prompts as they came, in our count.
    pub raw: u64,
    /// Tokens of the prompts as they were sent, in our count.
    pub sent: u64,
    /// Cost in the price of one token of input that is not cached.
    pub full_price: PaidCost,
    /// Cost in US dollars.
    pub dollars: PaidCost,
    /// Requests that went out otherwise than they should have: most of them as they came.
    #[serde(skip_serializing_if = "is_none")]
    pub skips: u64,
    /// Requests that the provider refused as too long, whatever came of that.
    #[serde(skip_serializing_if = "is_none")]
    pub overflows: u64,
    /// How requests were served, where an experiment asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<PaidService>,
}

/// How requests of an experiment were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaidService {
    /// Requests, answered or not.
    pub requests: u64,
    /// Those of them that were not answered.
    pub refused: u64,
    /// Prompts that the provider refused as too long.
    pub overflows: u64,
    /// Seconds until the requests were ready to be sent.
    pub prepared: f64,
    /// Answers whose first byte was timed.
    pub first_bytes: u64,
    /// Seconds until those bytes.
    pub first_byte: f64,
}

/// The arm of an experiment that a session belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PaidArm {
    /// The name of the experiment.
    pub experiment: String,
    /// The arm, which is the name of its profile.
    pub arm: String,
    /// The unit that was assigned, as a hash.
    pub unit: String,
}

/// Cost of answers and of the prompts behind them, beside two estimates for the client alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaidCost {
    /// Cost of the prompts that were sent.
    pub prompts: f64,
    /// Cost of the answers, which is the same without Epitome.
    pub output: f64,
    /// Estimated cost of the prompts of the client alone, which compacts at its own threshold.
    pub by_threshold: f64,
    /// The same for a client that compacts only when its window is full.
    pub at_window: f64,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PaidRow {
    /// The answers that it adds up.
    #[serde(flatten)]
    pub key: PaidKey,
    /// Their sums.
    #[serde(flatten)]
    pub sums: PaidSums,
}

/// The rows of one process, hour and session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaidRecord {
    /// The hour in which the answers ended, in hours since 1970.
    pub hour: u64,
    /// The session, as [`session_hash`] gives it; empty for answers of none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The folder of the project; none where the process serves no project in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The name of the profile.
    pub profile: String,
    /// The arm of an experiment that the session belongs to, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<PaidArm>,
    /// The rows.
    pub rows: Vec<PaidRow>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Returns the hash that stands in the ledger for the session with this name in this scope.
#[must_use]
pub fn session_hash(scope: &str, name: &str) -> String {
    ContentId::for_text(&format!("{scope}\n{name}")).to_string()
}

impl PaidCost {
    /// The total that was paid.
    #[must_use]
    pub fn paid(&self) -> f64 {
        self.prompts + self.output
    }

    /// The least that was saved by these estimates; below 0 where more was paid.
    #[must_use]
    pub fn least_saved(&self) -> f64 {
        self.by_threshold.min(self.at_window) - self.prompts
    }

    /// The most that was saved by these estimates.
    #[must_use]
    pub fn most_saved(&self) -> f64 {
        self.by_threshold.max(self.at_window) - self.prompts
    }
}

impl AddAssign for PaidCost {
    fn add_assign(&mut self, other: Self) {
        self.prompts += other.prompts;
        self.output += other.output;
        self.by_threshold += other.by_threshold;
        self.at_window += other.at_window;
    }
}

impl AddAssign for PaidSums {
    fn add_assign(&mut self, other: Self) {
        self.answers += other.answers;
        self.uncounted += other.uncounted;
        self.usage += other.usage;
        self.raw += other.raw;
        self.sent += other.sent;
        self.full_price += other.full_price;
        self.dollars += other.dollars;
        self.skips += other.skips;
        self.overflows += other.overflows;
        if let Some(service) = other.service {
            *self.service.get_or_insert_default() += service;
        }
    }
}

impl AddAssign for PaidService {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.overflows += other.overflows;
        self.prepared += other.prepared;
        self.first_bytes += other.first_bytes;
        self.first_byte += other.first_byte;
    }
}
