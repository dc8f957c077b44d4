//! What was paid and saved, added up behind the page.
//!
//! Invariant: a page waits for it only for a moment. Where a store has many records the figures of a
//! moment ago are shown, and at first none; they are never made up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use epitome::{SavingsLedger, SavingsReport, SessionArchive};

use crate::parts;

/// So many seconds a report is taken for new.
const FRESH: u64 = 1;
/// A page waits so long for a new one.
const PATIENCE: Duration = Duration::from_millis(150);

/// The last report of each tenant.
#[derive(Debug, Default)]
pub(crate) struct MoneyMemo {
    known: Mutex<BTreeMap<String, Arc<SavingsReport>>>,
    /// The tenants whose records are being added up.
    loading: Mutex<BTreeSet<String>>,
}

impl MoneyMemo {
    /// The figures of a tenant at a time, ISO 8601; none where they are not there yet.
    pub(crate) fn report(
        self: &Arc<Self>,
        store: &Arc<dyn SessionArchive>,
        tenant: &str,
        now: &str,
    ) -> Option<Arc<SavingsReport>> {
        let (tenant, now) = (tenant.to_owned(), now.to_owned());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&tenant).cloned();
        if known.as_ref().is_some_and(|it| parts::is_within(&it.at, &now, FRESH)) {
            return known;
        }
        if !self.loading.lock().unwrap_or_else(PoisonError::into_inner).insert(tenant.clone()) {
            return known;
        }
        let (tell, ended) = channel();
        let (memo, store) = (Arc::clone(self), Arc::clone(store));
        std::thread::spawn(move || {
            match SavingsLedger::load(&*store, &tenant) {
                Ok(ledger) => {
                    let report = Arc::new(ledger.report(&now, None));
                    let mut known = memo.known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.insert(tenant.clone(), Arc::clone(&report));
                    // Nobody may wait any more.
                    tell.send(report).unwrap_or_default();
                }
                Err(error) => tracing::warn!(%error, "the ledger cannot be read"),
            }
            memo.loading.lock().unwrap_or_else(PoisonError::into_inner).remove(&tenant);
        });
        ended.recv_timeout(PATIENCE).ok().or(known)
    }
}
