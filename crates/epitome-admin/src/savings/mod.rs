//! The ledger of a store: the cost of each answer, and the saving against the client alone, for ever.
//!
//! Invariant: each process has records of its own, so any number of them add up and nothing is
//! counted twice. Records outlive their sessions. A tenant reads its own alone. Proxies write it; the
//! command reads it for people.

mod report;
mod row;

use std::collections::BTreeMap;

use epitome_config::scope::ledger_scope;
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;

pub use self::report::{
    SavedRange, SavingsGroup, SavingsGroups, SavingsPeriod, SavingsReport, SavingsSums,
    SummaryCost, UnpricedModel,
};
pub use self::row::{
    PaidArm, PaidCost, PaidKey, PaidPurpose, PaidRecord, PaidRow, PaidService, PaidSums,
    session_hash,
};

/// Stands between the parts of a record's name.
const BETWEEN: char = '\t';

/// All records of a tenant that are in a store.
#[derive(Clone, Debug, Default)]
pub struct SavingsLedger {
    records: Vec<PaidRecord>,
    unreadable: u64,
}

/// Records what a process paid in an hour for a session, in the place of what it recorded of that
/// before. `writer` is a name that no other process has.
///
/// # Errors
///
/// When the store cannot be written.
pub fn record_paid(
    store: &dyn SessionArchive,
    tenant: &str,
    writer: &str,
    record: &PaidRecord,
) -> Result<(), StoreError> {
    let PaidRecord { hour, session, .. } = record;
    let about = format!("{session}{BETWEEN}{hour}{BETWEEN}{writer}");
    // Nothing in it can fail to be written; were it so, it counts nothing and is said.
    let text = serde_json::to_string(record).unwrap_or_default();
    store.learn(&ledger_scope(tenant), &about, &text)
}

impl SavingsLedger {
    /// Reads all records of a tenant.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn load(store: &dyn SessionArchive, tenant: &str) -> Result<Self, StoreError> {
        Ok(Self::from_texts(store.lessons(&ledger_scope(tenant))?))
    }

    /// Reads the records of the session with this [`session_hash`].
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn load_session(
        store: &dyn SessionArchive,
        tenant: &str,
        session: &str,
    ) -> Result<Self, StoreError> {
        let prefix = format!("{session}{BETWEEN}");
        Ok(Self::from_texts(store.lessons_about(&ledger_scope(tenant), &prefix)?))
    }

    fn from_texts(texts: BTreeMap<String, String>) -> Self {
        let mut ledger = Self::default();
        for (about, text) in texts {
            match serde_json::from_str(&text) {
                Ok(record) => ledger.records.push(record),
                Err(error) => {
                    ledger.unreadable += 1;
                    tracing::warn!(%error, about, "a record of the ledger cannot be read");
                }
            }
        }
        ledger
    }

    /// The records of sessions that belong to an experiment.
    pub fn of_experiment<'l>(&'l self, name: &'l str) -> impl Iterator<Item = &'l PaidRecord> {
        let is_of = move |record: &&PaidRecord| {
            record.arm.as_ref().is_some_and(|arm| arm.experiment == name)
        };
        self.records.iter().filter(is_of)
    }

    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.unreadable == 0
    }

    /// The sums of all records.
    #[must_use]
    pub fn sums(&self) -> SavingsSums {
        let mut sums = SavingsSums::default();
        self.records.iter().flat_map(|record| &record.rows).for_each(|row| sums.add(row));
        sums
    }

    /// The sums of each session, by [`session_hash`].
    #[must_use]
    pub fn by_session(&self) -> BTreeMap<String, SavingsSums> {
        let mut by = BTreeMap::<String, SavingsSums>::new();
        for record in self.records.iter().filter(|record| !record.session.is_empty()) {
            let sums = by.entry(record.session.clone()).or_default();
            record.rows.iter().for_each(|row| sums.add(row));
        }
        by
    }

    /// The arm of an experiment that each session belongs to, by [`session_hash`].
    #[must_use]
    pub fn arms(&self) -> BTreeMap<String, PaidArm> {
        let arm = |record: &PaidRecord| {
            let arm = record.arm.clone().filter(|arm| !arm.unit.is_empty())?;
            Some((record.session.clone(), arm))
        };
        self.records.iter().filter_map(arm).collect()
    }

    /// The newest client that the ledger knows of each session, by [`session_hash`].
    #[must_use]
    pub fn clients(&self) -> BTreeMap<String, String> {
        let mut records: Vec<_> = self.records.iter().collect();
        records.sort_by_key(|record| record.hour);
        let turns = |record: &PaidRecord| {
            let client = record.rows.iter().filter_map(|row| row.key.client.clone()).next_back();
            client.map(|client| (record.session.clone(), client))
        };
        records.into_iter().filter_map(turns).collect()
    }
}
