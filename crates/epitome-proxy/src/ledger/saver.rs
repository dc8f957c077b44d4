//! Writes the figures to the store, off the threads that relay.
//!
//! Invariant: newer figures are never followed by older ones, and what ends while some are written is
//! written behind them. Called when a request has ended, and once when the proxy has stopped.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::{LedgerKeeper, UsageLedger};

/// Writes the figures of a ledger.
pub(crate) struct FigureSaver {
    ledger: Arc<UsageLedger>,
    keeper: Option<Arc<dyn LedgerKeeper>>,
    /// Whether the figures are about to be written as they then stand.
    waiting: AtomicBool,
    /// Held while they are.
    writing: Mutex<()>,
}

impl fmt::Debug for FigureSaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FigureSaver").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl FigureSaver {
    /// One that writes nothing where there is no keeper.
    pub(crate) fn new(ledger: Arc<UsageLedger>, keeper: Option<Arc<dyn LedgerKeeper>>) -> Self {
        Self { ledger, keeper, waiting: AtomicBool::new(false), writing: Mutex::new(()) }
    }

    /// Whether the caller has to save: somebody else is about to where it is not.
    pub(crate) fn begins(&self) -> bool {
        self.keeper.is_some() && !self.waiting.swap(true, Ordering::AcqRel)
    }

    /// Writes the figures as they stand.
    pub(crate) fn save(&self, now: SystemTime) {
        let Some(keeper) = &self.keeper else { return };
        // What comes from here on is kept by whoever brings it.
        self.waiting.store(false, Ordering::Release);
        let turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.keep(&self.ledger.kept());
        let mut pages = self.ledger.take_unkept(now);
        pages.retain(|page| !keeper.keep_paid(page));
        self.ledger.paid_kept(pages, now);
        drop(turn);
    }
}
