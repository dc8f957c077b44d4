//! Whether the file that is open is still the one at its path, whole.
//!
//! Invariant: what is written to a file that was taken away is lost with the process, and one that was
//! cut is damaged further by every page: so whoever writes asks first. It costs two looks at paths
//! and waits for nobody. Called by [`super::SqliteStore`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use epitome_kernel::StoreError;

use super::fail::broken;
use super::file::{self, FileIdentity};
use super::seal::FileSeal;
use super::use_mark::UseMark;
use crate::outage::GONE;

/// What was known of the file when it was opened, and since.
#[derive(Debug)]
pub(crate) struct FilePresence {
    identity: Option<FileIdentity>,
    /// Where its write-ahead file is, and which one, which stays as long as anybody has the store open.
    log: (PathBuf, Option<FileIdentity>),
    seal: FileSeal,
    /// Set before anything is written.
    mark: Arc<UseMark>,
    /// Its length when it was last looked at, in bytes.
    length: AtomicU64,
}

/// What became of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileLoss {
    /// None is at its path.
    Removed,
    /// Another one is.
    Replaced,
    /// It is shorter than what was written to it.
    Cut,
    /// Another write-ahead file is beside it, or none.
    Log,
}

impl FilePresence {
    /// The file that stands at a path now.
    pub(crate) fn at(path: &Path, seal: FileSeal, mark: Arc<UseMark>) -> Self {
        let found = std::fs::metadata(path).ok();
        let length = found.as_ref().map_or(0, std::fs::Metadata::len);
        let identity = found.as_ref().and_then(file::identity);
        let log = file::beside(path, "-wal");
        let log = (log.clone(), log_identity(&log));
        Self { identity, log, seal, mark, length: AtomicU64::new(length) }
    }

    /// Fails where another file, or none, is at the path by now, or where it was cut. One that is as it was
    /// says from then on that it is in use.
    pub(crate) fn check(&self, path: &Path) -> Result<(), FileLoss> {
        let Ok(found) = std::fs::metadata(path) else { return Err(FileLoss::Removed) };
        if self.identity.is_some() && file::identity(&found) != self.identity {
            return Err(FileLoss::Replaced);
        }
        // It becomes shorter where what was deleted leaves it, too; its first page says so then.
        let length = self.length.swap(found.len(), Ordering::Relaxed);
        if found.len() < length && self.seal.is_cut(path) {
            self.length.store(length, Ordering::Relaxed);
            return Err(FileLoss::Cut);
        }
        let (log, known) = &self.log;
        if known.is_some() && log_identity(log) != *known {
            return Err(FileLoss::Log);
        }
        self.mark.set();
        Ok(())
    }
}

impl FileLoss {
    /// The port's error.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Removed => broken(path, GONE, &"it was removed while it was in use"),
            Self::Replaced => broken(path, GONE, &"another file was put in its place"),
            Self::Log => {
                broken(path, GONE, &"the `-wal` file beside it was removed while it was in use")
            }
            Self::Cut => StoreError::Damaged {
                what: format!("`{}` was cut while it was in use", path.display()),
            },
        }
    }
}

/// Which write-ahead file is there.
fn log_identity(log: &Path) -> Option<FileIdentity> {
    file::identity(&std::fs::metadata(log).ok()?)
}

/// Fails for a file without a byte that something was written to: others have their logs beside it.
pub(crate) fn check_begun(path: &Path, seal: FileSeal) -> Result<(), StoreError> {
    let is_empty = std::fs::metadata(path).is_ok_and(|found| found.len() == 0);
    let was_used = ["-wal", "-shm"].iter().any(|ending| file::beside(path, ending).exists());
    // Whoever makes a store writes its first page before there is a log.
    if is_empty && was_used && seal.is_cut(path) { Err(FileLoss::Cut.at(path)) } else { Ok(()) }
}
