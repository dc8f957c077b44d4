//! Looks at the files of a store beside the database that has them open.
//!
//! Invariant: the system takes the locks of a process on a file away when the process closes *any*
//! descriptor of it, and the database relies on its locks. So a descriptor of a file that is a store of this
//! process is kept until no store of the process is open there. Called by whatever reads a database or its
//! shared index as bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::file::{self, FileIdentity};

/// The stores that this process has open.
static OPEN: Mutex<Vec<OpenFiles>> = Mutex::new(Vec::new());

/// The descriptors of a store that must not be closed yet.
struct OpenFiles {
    of: FileIdentity,
    /// How often the store is open.
    count: usize,
    spare: Vec<(FileIdentity, File)>,
}

fn open_stores() -> MutexGuard<'static, Vec<OpenFiles>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(path: &Path) -> Option<FileIdentity> {
    file::identity(&std::fs::metadata(path).ok()?)
}

/// A store that is open, from before the database opens it until that has closed it.
#[derive(Debug)]
pub(crate) struct StoreInProcess(Option<FileIdentity>);

impl StoreInProcess {
    /// The store whose database is at a path.
    pub(crate) fn at(path: &Path) -> Self {
        let identity = identity(path);
        if let Some(of) = identity {
            let mut stores = open_stores();
            match stores.iter_mut().find(|store| store.of == of) {
                Some(store) => store.count += 1,
                None => stores.push(OpenFiles { of, count: 1, spare: Vec::new() }),
            }
        }
        Self(identity)
    }
}

impl Drop for StoreInProcess {
    fn drop(&mut self) {
        let mut stores = open_stores();
        let Some(at) = stores.iter().position(|store| Some(store.of) == self.0) else { return };
        stores[at].count -= 1;
        if stores[at].count == 0 {
            stores.swap_remove(at);
        }
    }
}

/// A file of a store, read and written as bytes.
#[derive(Debug)]
pub(crate) struct RawFile {
    /// None once it was given back.
    file: Option<File>,
    of: Option<FileIdentity>,
}

impl RawFile {
    /// Opens a file of the store whose database is at a path.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn open(path: &Path, database: &Path) -> io::Result<Self> {
        let of = identity(database);
        let mut stores = open_stores();
        let store = stores.iter_mut().find(|store| Some(store.of) == of);
        let own = identity(path);
        let spare = store.and_then(|store| {
            let at = store.spare.iter().position(|(known, _)| Some(*known) == own)?;
            Some(store.spare.swap_remove(at).1)
        });
        let file = match spare {
            Some(file) => file,
            // Whoever may not write it may read it.
            None => OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .or_else(|_| OpenOptions::new().read(true).open(path))?,
        };
        Ok(Self { file: Some(file), of })
    }

    /// So many bytes from a place on, as far as they can be read.
    pub(crate) fn part(&self, at: usize, most: usize) -> Vec<u8> {
        self.file.as_ref().map(|file| file::part(file, at, most)).unwrap_or_default()
    }

    /// Writes bytes from a place on.
    ///
    /// # Errors
    ///
    /// What the system says: where it may only be read, for one.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(at as u64))?;
        file.write_all(bytes)
    }

    /// All of its bytes.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let mut file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// How many bytes it has.
    pub(crate) fn length(&self) -> usize {
        let about = self.file.as_ref().and_then(|file| file.metadata().ok());
        about.map_or(0, |about| usize::try_from(about.len()).unwrap_or(usize::MAX))
    }
}

impl Drop for RawFile {
    fn drop(&mut self) {
        let mut stores = open_stores();
        let store = stores.iter_mut().find(|store| Some(store.of) == self.of);
        let own = self.file.as_ref().and_then(|file| file::identity(&file.metadata().ok()?));
        if let (Some(store), Some(own), Some(file)) = (store, own, self.file.take()) {
            store.spare.push((own, file));
        }
    }
}
