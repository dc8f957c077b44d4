//! The files of a store as they can be read: plain, or under the key that they are encrypted with.
//!
//! Invariant: the only place that knows whether a store is encrypted. A store and a key that do not fit
//! are told before anything is read as if they did. Called by whatever opens or reads a file of a store.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use epitome_kernel::StoreError;
#[cfg(feature = "seal")]
use epitome_seal::{SealedKind, StoreKey, StoreSeal};
use rusqlite::{Connection, OpenFlags};

use super::fail::broken;
use super::file;
use super::raw::RawFile;
use crate::outage::SEALED;

/// What the file of a database begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A part of its first page that is the same in every store, from this place on.
const KNOWN: &[u8; 16] = b"\0\0\0\0Epit\0\0\0\0\0\0\0\0";
const KNOWN_AT: usize = 64;

/// Bytes of a page.
const PAGE: usize = 4096;

/// So many pages are looked at, to tell what a file is whose first page is damaged.
const LOOKED_AT: usize = 256;

/// So many different bytes are in a page that is encrypted, and not in one that people can read.
const MIXED: usize = 230;

/// The file that a store is in, with its key where it is encrypted.
#[derive(Clone, Copy, Debug)]
pub struct StoreFile<'a> {
    pub(super) path: &'a Path,
    #[cfg(feature = "seal")]
    key: Option<&'a StoreKey>,
}

impl<'a> From<&'a Path> for StoreFile<'a> {
    fn from(path: &'a Path) -> Self {
        Self {
            path,
            #[cfg(feature = "seal")]
            key: None,
        }
    }
}

impl<'a> From<&'a PathBuf> for StoreFile<'a> {
    fn from(path: &'a PathBuf) -> Self {
        Self::from(path.as_path())
    }
}

#[cfg(feature = "seal")]
impl<'a> StoreFile<'a> {
    /// The same, encrypted with a key.
    #[must_use]
    pub fn sealed(self, key: &'a StoreKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Whether it is encrypted with a key.
    pub fn is_sealed(&self) -> bool {
        self.key.is_some()
    }

    /// The same, encrypted with a key unless it is there and is not.
    #[must_use]
    pub fn sealed_unless_plain(self, key: &'a StoreKey) -> Self {
        match RawFile::open(self.path, self.path) {
            Ok(found) if is_store(&|at| found.part(at.start, at.len()), pages(&found)) => self,
            _ => self.sealed(key),
        }
    }
}

impl StoreFile<'_> {
    /// What its files are read and written through.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where the store and its key do not fit.
    pub(super) fn seal(self) -> Result<FileSeal, StoreError> {
        let seal = FileSeal {
            #[cfg(feature = "seal")]
            key: self
                .key
                .map(StoreSeal::new)
                .transpose()
                .map_err(|error| super::Fail::Sql(error).at(self.path, "cannot be opened"))?,
        };
        seal.check(self.path)?;
        Ok(seal)
    }
}

/// A file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// The database.
    Database,
    /// Its write-ahead file.
    Log,
}

/// What the files of a store are read and written through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileSeal {
    #[cfg(feature = "seal")]
    key: Option<StoreSeal>,
}

#[cfg(feature = "seal")]
impl FileSeal {
    /// Whether they are encrypted.
    pub(crate) fn is_sealed(self) -> bool {
        self.key.is_some()
    }

    fn opened(self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        match self.key {
            Some(seal) => Connection::open_with_flags_and_vfs(path, flags, seal.vfs()),
            None => Connection::open_with_flags(path, flags),
        }
    }

    /// A part of a file, as far as it is there.
    pub(crate) fn part(self, found: &RawFile, kind: FileKind, range: Range<usize>) -> Vec<u8> {
        let Some(seal) = self.key else { return found.part(range.start, range.len()) };
        let kind = match kind {
            FileKind::Database => SealedKind::Database,
            FileKind::Log => SealedKind::Log,
        };
        seal.read(kind, range.start as u64, range.len(), |raw| raw_part(found, &raw))
    }

    /// Writes some bytes to a database, from a place on.
    pub(crate) fn change(self, found: &RawFile, at: usize, bytes: &[u8]) -> io::Result<()> {
        let Some(seal) = self.key else { return found.write(at, bytes) };
        let kind = SealedKind::Database;
        match seal.change(kind, at as u64, bytes, |raw| raw_part(found, &raw)) {
            Some((at, blocks)) => found.write(usize::try_from(at).unwrap_or(0), &blocks),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// A part of a file as it is on the disk.
#[cfg(feature = "seal")]
fn raw_part(found: &RawFile, range: &Range<u64>) -> Vec<u8> {
    let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(0));
    found.part(start, end.saturating_sub(start))
}

#[cfg(not(feature = "seal"))]
impl FileSeal {
    /// Whether they are encrypted.
    pub(crate) fn is_sealed(self) -> bool {
        false
    }

    fn opened(self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        Connection::open_with_flags(path, flags)
    }

    /// A part of a file, as far as it is there.
    pub(crate) fn part(self, found: &RawFile, _: FileKind, range: Range<usize>) -> Vec<u8> {
        found.part(range.start, range.len())
    }

    /// Writes some bytes to a database, from a place on.
    pub(crate) fn change(self, found: &RawFile, at: usize, bytes: &[u8]) -> io::Result<()> {
        found.write(at, bytes)
    }
}

impl FileSeal {
    /// Opens a connection.
    pub(crate) fn connect(self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let connection = self.opened(path, flags)?;
        if self.is_sealed() {
            // What is sorted is as readable as what is kept.
            connection.pragma_update(None, "temp_store", "MEMORY")?;
        }
        Ok(connection)
    }

    /// Has a connection begin a database: what would be written beside it until it has a write-ahead
    /// file stays in memory. Where another process was faster it has one.
    pub(crate) fn begin(self, connection: &Connection) {
        if self.is_sealed() {
            drop(connection.pragma_update(None, "journal_mode", "MEMORY"));
        }
    }

    /// A database of which nothing is left at the end: in a file without a name, or in memory where that
    /// would hold what is encrypted.
    pub(crate) fn scratch(self) -> rusqlite::Result<Connection> {
        if self.is_sealed() { Connection::open_in_memory() } else { Connection::open("") }
    }

    /// The write-ahead file of a store; empty where there is none.
    pub(crate) fn log(self, path: &Path) -> Vec<u8> {
        let Ok(found) = RawFile::open(&file::beside(path, "-wal"), path) else {
            return Vec::new();
        };
        self.part(&found, FileKind::Log, 0..found.length())
    }

    /// Whether a database is shorter than its first page says, or has none.
    pub(crate) fn is_cut(self, path: &Path) -> bool {
        let Ok(found) = RawFile::open(path, path) else { return true };
        let head = self.part(&found, FileKind::Database, 0..32);
        let number = |at: Range<usize>| {
            head.get(at)
                .map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
        };
        let (Some(page), Some(pages)) = (number(16..18), number(28..32)) else { return true };
        let page = if page == 1 { 1 << 16 } else { page };
        found.length() < page.saturating_mul(pages)
    }

    /// Fails where a store and its key do not fit.
    fn check(self, path: &Path) -> Result<(), StoreError> {
        let Ok(found) = RawFile::open(path, path) else { return Ok(()) };
        let (raw, own) = (
            |at: Range<usize>| found.part(at.start, at.len()),
            |at: Range<usize>| self.part(&found, FileKind::Database, at),
        );
        let all = pages(&found);
        if all == 0 || own(0..16) == *MAGIC || is_store(&own, all) {
            return Ok(());
        }
        let fault = match self.is_sealed() {
            true if is_store(&raw, all) => SealFault::Plain,
            true => SealFault::WrongKey,
            false if found.length().is_multiple_of(PAGE) && is_mixed(&raw(0..PAGE)) => {
                SealFault::NoKey
            }
            false => return Ok(()),
        };
        Err(fault.at(path))
    }
}

/// How a store and its key do not fit.
#[derive(Clone, Copy)]
enum SealFault {
    Plain,
    NoKey,
    WrongKey,
}

impl SealFault {
    fn at(self, path: &Path) -> StoreError {
        let (what, remedy) = match self {
            Self::Plain => (
                "it is not encrypted, and a key is named for it",
                "`epitome store copy PATH NEW` makes an encrypted copy; or name another store, or no \
                 key",
            ),
            Self::NoKey => (
                "it is encrypted, or no store at all, and no key is named for it",
                "name its key file: `store_key_file` in your own epitome.toml, or `--store-key-file`",
            ),
            Self::WrongKey => (
                "it does not open under the key that is named for it",
                "name the key file that it was made with: `store_key_file` in your own epitome.toml, \
                 or `--store-key-file`",
            ),
        };
        broken(path, SEALED, &format!("{what}; {remedy}"))
    }
}

fn pages(found: &RawFile) -> usize {
    found.length().div_ceil(PAGE)
}

/// Whether what is read there is a store, be it a damaged one: what its first page says in two places, or
/// that any page is one of a database. Noise says neither.
fn is_store(read: &dyn Fn(Range<usize>) -> Vec<u8>, all: usize) -> bool {
    let head = read(0..KNOWN_AT + KNOWN.len());
    head.starts_with(MAGIC)
        || head.get(KNOWN_AT..) == Some(&KNOWN[..])
        || (1..all.min(LOOKED_AT)).any(|page| is_page(&read(page * PAGE..page * PAGE + 12)))
}

/// Whether a page begins as one of a table or an index does.
fn is_page(head: &[u8]) -> bool {
    let &[kind, free, free_low, _, count_low, content, content_low, gaps, ..] = head else {
        return false;
    };
    let within = |high, low| usize::from(u16::from_be_bytes([high, low])) <= PAGE;
    // Each of its cells has an address of two bytes in front of the content.
    matches!(kind, 0x02 | 0x05 | 0x0a | 0x0d)
        && head[3] < 8
        && within(free, free_low)
        && within(content, content_low)
        && usize::from(u16::from_be_bytes([content, content_low])) >= 8 + 2 * usize::from(count_low)
        && gaps <= 60
}

/// Whether a page looks like noise.
fn is_mixed(page: &[u8]) -> bool {
    let mut seen = [false; 256];
    page.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|it| **it).count() >= MIXED
}
