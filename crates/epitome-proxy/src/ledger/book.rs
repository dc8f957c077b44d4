//! A conversation's own figures, and what its next request is settled by.
//!
//! Invariant: what is remembered for that goes with the conversation to the proxy that serves it next, so
//! that its savings do not depend on restarts. Called by [`super::UsageLedger`] for every request.

use std::time::SystemTime;

use epitome::OwnCompaction;
use epitome_types::ContentId;
use serde::{Deserialize, Serialize};

use super::exchange::FinishedRequest;
use super::figures::ConversationFigures;
use super::saving::{CacheAccount, Rule, SettledAnswer, SettledRequest};
use super::{LedgerOptions, Rates};

/// A conversation that is kept apart.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) shown: ConversationFigures,
    pub(super) accounts: BookAccounts,
}

/// What is remembered of a conversation from one request to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BookAccounts {
    account: CacheAccount,
    /// The same for a client that compacts only when its window is full.
    patient: CacheAccount,
    /// Whether its newest prompt was a skip: the next one may begin otherwise.
    skipped: bool,
}

impl BookAccounts {
    /// When the last request ended that it knows.
    pub(super) fn last(&self) -> Option<SystemTime> {
        self.account.last()
    }
}

/// What that is kept under: the conversation's name is not to be read in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct AccountKey(ContentId);

impl AccountKey {
    /// That of a conversation.
    pub(super) fn for_name(name: &str) -> Self {
        Self(ContentId::for_text(name))
    }
}

impl Book {
    /// Opens one with a request; `known` is what another proxy kept of the conversation.
    pub(super) fn new(
        name: &str,
        exchange: &FinishedRequest,
        known: Option<&BookAccounts>,
    ) -> Self {
        let accounts = known.cloned().unwrap_or_default();
        Self { shown: ConversationFigures::new(name, exchange), accounts }
    }

    /// What a request cost, and would have cost.
    pub(super) fn settle(
        &mut self,
        exchange: &FinishedRequest,
        rates: Option<Rates>,
        terms: &LedgerOptions,
    ) -> Option<SettledAnswer> {
        if !exchange.answer.was_taken() {
            return None;
        }
        let skipped = exchange.skip.is_some();
        let [raw, sent] = [&exchange.sizes.raw, &exchange.sizes.sent].map(|by| by.sum().max(1));
        let turn = SettledRequest {
            tokens: if terms.shadow { [raw, raw] } else { [raw, sent] },
            rewritten: !terms.shadow
                && (exchange.acts.rewritten || skipped != self.accounts.skipped),
            elsewhere: exchange.acts.overtaken,
            goes_on: exchange.sizes.raw.assistant + exchange.sizes.raw.tool_calls > 0,
            started: exchange.times.started,
            ended: exchange.times.ended,
        };
        let usage = exchange.answer.counted();
        let cache = rates.map_or(terms.cache, |rates| rates.cache);
        let rule = Rule { cache, cold: terms.cold, own: None };
        if terms.shadow {
            // It went out as it came, and the client did what it does without us.
            return CacheAccount::default().settle(turn, usage, &rule).map(SettledAnswer::sure);
        }
        let window = exchange.asks.window.or(rates.map(|rates| rates.window_of(&exchange.asks)));
        let told = terms.compacts_in;
        let rule_of = |client: Option<&str>| {
            let window = window.map(|window| told.map_or(window, |told| told.min(window)));
            let own = window.map(|window| OwnCompaction::of(client, window));
            Rule { own, ..rule }
        };
        let client = exchange.asks.client.as_deref();
        let own = rule_of(client);
        if exchange.side || exchange.session.is_none() {
            // What is remembered of the conversation says nothing of it.
            return CacheAccount::default().settle(turn, usage, &own).map(SettledAnswer::sure);
        }
        let BookAccounts { account, patient: waits, skipped: was_skipped } = &mut self.accounts;
        *was_skipped = skipped;
        let by_threshold = account.settle(turn, usage, &own);
        // Whoever was told where to compact does so there.
        let patient = rule_of(client.filter(|_| told.is_some()));
        let at_window = waits.settle(turn, usage, &patient);
        by_threshold
            .zip(at_window)
            .map(|(by_threshold, at_window)| SettledAnswer { by_threshold, at_window })
    }
}
