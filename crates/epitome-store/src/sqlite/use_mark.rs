//! Whether a database was in use when it was copied: what was said last is then in a write-ahead file, and
//! nothing tells of one that was not copied along.
//!
//! The mark stands in the database itself, where its format has room that no version uses, so it goes with
//! every copy. Whoever writes first sets it, and whoever closes the store last takes it away. It is written
//! past the database, since a page of the database would go to the write-ahead file; and it waits for no
//! disk, since after a power cut nobody missed a file.
//!
//! Invariant: it is never there in a store that was closed, and a crash leaves a write-ahead file beside it.
//! Called by [`super::SqliteStore`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use super::file::{self, FileIdentity};
use super::raw::{RawFile, StoreInProcess};
use super::seal::{FileKind, FileSeal};

/// Where it stands, in the header of the database, and what stands there.
const AT: usize = 80;
const MARK: [u8; 4] = *b"used";
const NONE: [u8; 4] = [0; 4];

/// Another process may be closing the store: only what looks the same so often, this far apart, is a loss.
const LOOKS: usize = 4;
const APART: Duration = Duration::from_millis(25);

/// The mark of a store that is open.
#[derive(Debug)]
pub(crate) struct UseMark {
    path: PathBuf,
    seal: FileSeal,
    identity: Option<FileIdentity>,
    is_set: AtomicBool,
    /// Ends last.
    _open: StoreInProcess,
}

impl UseMark {
    /// The mark of a store that is about to be opened.
    pub(crate) fn at(path: &Path, seal: FileSeal) -> Self {
        let identity = std::fs::metadata(path).ok().as_ref().and_then(file::identity);
        let is_set = AtomicBool::new(false);
        Self { path: path.to_owned(), seal, identity, is_set, _open: StoreInProcess::at(path) }
    }

    /// That of a store which is in no file.
    pub(crate) fn without_file(seal: FileSeal) -> Self {
        Self::at(Path::new(""), seal)
    }

    /// Where the store is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What its files are read and written through.
    pub(crate) fn seal(&self) -> FileSeal {
        self.seal
    }

    /// Has it be there from now on.
    pub(crate) fn set(&self) {
        if !self.is_set.swap(true, Ordering::Relaxed) {
            self.renew();
        }
    }

    /// Writes it again, once pages were copied into the database: the first one among them may have been
    /// read before it was set.
    pub(crate) fn renew(&self) {
        // Where it cannot be written the store is as it was without it.
        drop(put(&self.path, self.seal, [NONE, MARK]));
    }
}

impl Drop for UseMark {
    fn drop(&mut self) {
        let found = std::fs::metadata(&self.path).ok();
        let is_own = found.as_ref().and_then(file::identity) == self.identity;
        // The database takes its write-ahead file away when the last one closes it.
        if is_own && !file::beside(&self.path, "-wal").exists() {
            drop(put(&self.path, self.seal, [MARK, NONE]));
        }
    }
}

/// What is missing of a store whose database says that it is in use, where nothing is beside it as while it
/// is, and after a crash.
pub(crate) fn loss(path: &Path, seal: FileSeal) -> Option<String> {
    for look in 0..LOOKS {
        if look > 0 {
            sleep(APART);
        }
        if !is_alone(path, seal) {
            return None;
        }
    }
    let what = "was copied while it was in use, without its `-wal` file: what was said last may be missing";
    Some(format!("`{}` {what}", path.display()))
}

/// Takes it from a copy that holds all that the store held.
///
/// # Errors
///
/// What the system says.
pub(crate) fn clear(path: &Path, seal: FileSeal) -> io::Result<()> {
    put(path, seal, [MARK, NONE])
}

fn is_alone(path: &Path, seal: FileSeal) -> bool {
    let is_marked = |found: RawFile| part(&found, seal) == MARK;
    ["-wal", "-shm"].iter().all(|ending| !file::beside(path, ending).exists())
        && RawFile::open(path, path).is_ok_and(is_marked)
}

fn part(found: &RawFile, seal: FileSeal) -> Vec<u8> {
    seal.part(found, FileKind::Database, AT..AT + MARK.len())
}

fn put(path: &Path, seal: FileSeal, [before, after]: [[u8; 4]; 2]) -> io::Result<()> {
    let found = RawFile::open(path, path)?;
    match part(&found, seal) == before {
        true => seal.change(&found, AT, &after),
        false => Ok(()),
    }
}
