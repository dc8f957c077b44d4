//! The figures of `serve` in the store, for the next one.
//!
//! Invariant: each process has a record of its own, which it alone writes. Nothing of a conversation
//! is in it. Called by the proxy.

use std::sync::Arc;

use epitome::SessionArchive;
use epitome_proxy::LedgerKeeper;

/// The scope of the records, which is nobody's sessions.
const SCOPE: &str = "figures of serve";

/// The figures of one process.
pub(super) struct KeptFigures {
    store: Arc<dyn SessionArchive>,
    /// The name of its record.
    name: String,
}

impl KeptFigures {
    /// Those of the process that is called so.
    pub(super) fn new(store: Arc<dyn SessionArchive>, name: String) -> Self {
        Self { store, name }
    }
}

impl LedgerKeeper for KeptFigures {
    fn earlier(&self) -> Vec<String> {
        let kept = self.store.lessons(SCOPE).unwrap_or_else(|error| {
            tracing::warn!(%error, "the figures of earlier proxies cannot be read");
            Default::default()
        });
        kept.into_values().collect()
    }

    fn keep(&self, sums: &str) {
        if let Err(error) = self.store.learn(SCOPE, &self.name, sums) {
            tracing::warn!(%error, "the figures cannot be kept for the next proxy");
        }
    }
}
