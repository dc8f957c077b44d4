//! What can be read of a damaged file, as a store that is handed over to another.
//!
//! Invariant: the damaged file is only read, and nothing that is found in it is taken as true: what is
//! not as it was written is left out and named, and takes nothing along that can stand without it.
//! Called by the command.

mod mend;
mod messages;
mod page;
mod rows;

use std::sync::Arc;

use epitome_kernel::StoreError;
use rusqlite::Connection;

use self::page::PageFile;
use super::fail::{Fail, broken};
use super::schema::{SchemaRefusal, Sync};
use super::use_mark::UseMark;
use super::{SqliteStore, StoreFile, StorePlace, schema, use_mark, wal};

/// What could be read of a damaged store.
#[derive(Debug)]
pub struct SalvagedStore {
    /// It, on its way to another store: it goes with this program.
    pub store: SqliteStore,
    /// What is missing.
    pub missing: Vec<String>,
}

impl SqliteStore {
    /// Reads what can be read of a damaged file, page by page and row by row.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where the file cannot be read, or holds nothing of a store.
    pub fn salvage<'a>(damaged: impl Into<StoreFile<'a>>) -> Result<SalvagedStore, StoreError> {
        const WHAT: &str = "cannot be salvaged";
        let damaged: StoreFile<'_> = damaged.into();
        let (seal, damaged) = (damaged.seal()?, damaged.path);
        let file = PageFile::open(damaged, seal).map_err(|error| broken(damaged, WHAT, &error))?;
        let whole = || -> Result<(Connection, Vec<String>), Fail> {
            let mut store = seal.scratch()?;
            schema::prepare(&mut store, Sync::Off, seal).map_err(|refusal| match refusal {
                SchemaRefusal::Sql(error) => Fail::Sql(error),
                SchemaRefusal::Newer(error) => Fail::Port(error),
                SchemaRefusal::Foreign => Fail::damaged("a new store is not empty"),
            })?;
            let work = store.transaction()?;
            let Some(indexes) = rows::fill(&file, &work)? else {
                let none = broken(damaged, WHAT, &"nothing of a store is left in it");
                return Err(Fail::Port(none));
            };
            let mut missing = mend::mend(&file, &indexes, &work)?;
            missing.extend(
                wal::loss(damaged, seal)
                    .map(|loss| format!("a part of the write-ahead file: {loss}")),
            );
            missing.extend(use_mark::loss(damaged, seal));
            work.commit()?;
            Ok((store, missing))
        };
        let (store, missing) = whole().map_err(|fail| fail.at(damaged, WHAT))?;
        let (place, mark) = (StorePlace { path: damaged, seal }, UseMark::without_file(seal));
        let store = Self::over(store, Arc::new(mark), place, [Sync::Off; 2])?;
        Ok(SalvagedStore { store, missing })
    }
}
