//! What is derived from the records, made anew from them alone: indexes, the full-text index, and what is
//! counted and marked beside the records.
//!
//! Invariant: no record is changed, so what was damaged of one is found afterwards as it was before; what is
//! made is the same whatever stood there. Called by [`super::archive`].

use epitome_kernel::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use super::fail::Fail;
use super::verify::Check;
use super::{SqliteStore, StoreFile, checksum, fulltext, schema};
use crate::StoreFinding;

impl SqliteStore {
    /// Makes anew what the store in a file derives from its records, as [`crate::SessionArchive::rebuild`]
    /// does; of one whose end is torn too.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where it does not open any more; [`StoreError::Broken`] where it cannot be read
    /// or written at all, or is no store.
    pub fn rebuild_file<'a>(
        file: impl Into<StoreFile<'a>>,
    ) -> Result<Vec<StoreFinding>, StoreError> {
        let file = file.into();
        let whole = || Self::open_existing(file)?.derive_anew();
        // An end that is torn is said once; then the store opens, and its records tell it.
        match whole() {
            Err(StoreError::Damaged { .. }) => whole(),
            made => made,
        }
    }

    /// Makes all anew that is derived from records; gives what was not as they say.
    pub(super) fn derive_anew(&self) -> Result<Vec<StoreFinding>, StoreError> {
        let mut link = self.lock();
        let whole = |connection: &mut Connection| -> Result<Vec<StoreFinding>, Fail> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut check = Check::repairing(&transaction);
            check.attempt("the indexes", indexes);
            check.attempt("the full-text index", terms);
            let scopes =
                check.attempt("the scopes", |check| Ok(checksum::scopes(check.connection)?));
            for name in scopes.unwrap_or_default() {
                check.derived_of(&name);
            }
            let mut findings = check.findings;
            // What is left is found by whoever verifies the store.
            findings.retain(|finding| finding.repaired);
            transaction.commit()?;
            Ok(findings)
        };
        let presence = self.presence.check(&self.path);
        presence.map_err(|loss| loss.at(&self.path))?;
        whole(&mut link.connection).map_err(|fail| fail.at(&self.path, "cannot be written"))
    }
}

/// Every index, those that are missing too.
fn indexes(check: &mut Check<'_>) -> Result<(), Fail> {
    let before = check.integrity()?;
    let there: Vec<String> =
        schema::tables(check.connection)?.into_iter().map(|(name, _)| name).collect();
    for (name, sql) in schema::expected()? {
        let is_missing = name.starts_with("index ") && !there.contains(&name);
        if let Some(sql) = sql.filter(|_| is_missing) {
            let index = name.split(' ').nth(1).unwrap_or_default().to_owned();
            check.derived(format!("the index `{index}` is missing"), |connection| {
                connection.execute_batch(&sql)
            })?;
        }
    }
    check.connection.execute_batch("REINDEX")?;
    let after = check.integrity()?;
    for line in before.into_iter().filter(|line| !after.contains(line)) {
        check.derived(format!("the file: {line}"), |_| Ok(()))?;
    }
    Ok(())
}

/// The full-text index, be it as it should or not: two that know the same are the same.
fn terms(check: &mut Check<'_>) -> Result<(), Fail> {
    if !fulltext::is_sound(check.connection).unwrap_or(false) {
        let what = "the full-text index does not agree with the passages".to_owned();
        check.derived(what, |_| Ok(()))?;
    }
    Ok(fulltext::rebuild(check.connection)?)
}
