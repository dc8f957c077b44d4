//! A copy of the whole file, as the database makes it.
//!
//! Invariant: it is what the store held at one moment, whoever writes meanwhile; under its name it is
//! whole or not there. Called by the command.

use std::fs;
use std::path::Path;

use epitome_kernel::StoreError;
use rusqlite::OpenFlags;
use rusqlite::backup::{Backup, StepResult};

use super::fail::{Fail, broken};
use super::{SqliteStore, file, use_mark};

impl SqliteStore {
    /// Writes a copy of the store to a file that is not there, encrypted as the store is.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where there is one, or where it cannot be written.
    pub fn back_up(&self, path: &Path) -> Result<(), StoreError> {
        const WHAT: &str = "cannot be written";
        if path.exists() {
            return Err(broken(path, WHAT, &"there is such a file"));
        }
        // What another backup left that broke off.
        let part = file::beside(path, ".part");
        if part.exists() {
            fs::remove_file(&part).map_err(|error| broken(&part, WHAT, &error))?;
        }
        file::create_private(&part).map_err(|error| broken(&part, "cannot be created", &error))?;
        let whole = || -> rusqlite::Result<StepResult> {
            let mut copy = self.seal.connect(&part, OpenFlags::default())?;
            self.seal.begin(&copy);
            // All at one moment: in steps it would begin anew with every write of another process.
            Backup::new(&self.lock().connection, &mut copy)?.step(-1)
        };
        let done = whole().map_err(|error| Fail::Sql(error).at(&part, WHAT))?;
        if done != StepResult::Done {
            return Err(broken(&part, WHAT, &"the store is held by another process"));
        }
        use_mark::clear(&part, self.seal).map_err(|error| broken(&part, WHAT, &error))?;
        fs::rename(&part, path).map_err(|error| broken(path, WHAT, &error))
    }
}
