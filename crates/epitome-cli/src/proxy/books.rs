//! The figures of a proxy in the store: its sums for the next `serve`, and its rows of the ledger.
//!
//! Invariant: each process has records of its own, which it alone writes. No word of a conversation
//! is in them. Called by the proxy.

use std::sync::Arc;

use epitome::{
    PaidRecord, SavingsLedger, SavingsSums, ScopeOwner, SessionArchive, record_paid, session_hash,
};
use epitome_proxy::{LedgerKeeper, PaidPage};

/// The scope of the sums, which is nobody's sessions.
const SCOPE: &str = "figures of serve";

/// The figures of one process.
pub(super) struct KeptFigures {
    pub(super) store: Arc<dyn SessionArchive>,
    /// A name that no other process has.
    pub(super) name: String,
    /// Whether it goes on from the sums of those before it, and leaves its own.
    pub(super) goes_on: bool,
    /// Whose its requests are that come without a token, and the project that they belong to.
    pub(super) owner: ScopeOwner,
    /// The name of the profile of those that are in no experiment.
    pub(super) profile: String,
}

impl LedgerKeeper for KeptFigures {
    fn earlier(&self) -> Vec<String> {
        if !self.goes_on {
            return Vec::new();
        }
        let kept = self.store.lessons(SCOPE).unwrap_or_else(|error| {
            tracing::warn!(%error, "the figures of earlier proxies cannot be read");
            Default::default()
        });
        kept.into_values().collect()
    }

    fn keep(&self, sums: &str) {
        if !self.goes_on {
            return;
        }
        if let Err(error) = self.store.learn(SCOPE, &self.name, sums) {
            tracing::warn!(%error, "the figures cannot be kept for the next proxy");
        }
    }

    fn keep_paid(&self, page: &PaidPage) -> bool {
        let PaidPage { tenant, part, hour, session, arm, is_of_summaries, rows } = page;
        let profile = arm.as_ref().map_or(&self.profile, |arm| &arm.arm);
        let owner = match tenant {
            Some(tenant) => &self.owner.of_tenant(tenant),
            None => &self.owner,
        };
        let hash = |name: &String| session_hash(&owner.scope(profile), name);
        let record = PaidRecord {
            hour: *hour,
            session: session.as_ref().map(hash).unwrap_or_default(),
            project: self.owner.project().map(str::to_owned),
            profile: profile.clone(),
            arm: arm.clone(),
            rows: rows.clone(),
        };
        // What no session asked for is told apart by its arm alone.
        let writer = match (session, arm) {
            (None, Some(arm)) => format!("{}.{part}.{}.{}", self.name, arm.experiment, arm.arm),
            _ if *is_of_summaries => format!("{}.{part}.summaries", self.name),
            _ => format!("{}.{part}", self.name),
        };
        match record_paid(&*self.store, owner.tenant(), &writer, &record) {
            // What went to memory is written again once the store is back.
            Ok(()) => self.store.outage().is_none(),
            Err(error) => {
                tracing::warn!(%error, "the ledger cannot be written; what was paid is kept for later");
                false
            }
        }
    }

    fn savings(&self, tenant: Option<&str>) -> Option<SavingsSums> {
        let owner = tenant.map(|tenant| self.owner.of_tenant(tenant));
        let tenant = owner.as_ref().unwrap_or(&self.owner).tenant();
        match SavingsLedger::load(&*self.store, tenant) {
            Ok(ledger) => Some(ledger.sums()),
            Err(error) => {
                tracing::warn!(%error, "the ledger cannot be read");
                None
            }
        }
    }
}
