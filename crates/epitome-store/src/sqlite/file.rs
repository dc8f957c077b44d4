//! Files of a store: readable by their owner only, from the moment they exist (RULES 67).
//!
//! Invariant: the only platform code of the crate. The database gives its `-wal` and `-shm` files
//! the mode of the main file, so creating that one privately is enough. Called by
//! [`crate::SqliteStore`].

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Creates the file, and its missing folders, unless it exists; says whether it did. An existing
/// file keeps its mode.
pub(crate) fn create_private(path: &Path) -> io::Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folders().recursive(true).create(folder)?;
    }
    match private_file().write(true).create_new(true).open(path) {
        Ok(_) => Ok(true),
        // Another process was faster; that is as good.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// The file that stands beside another one under a longer name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Whether all that was written is in the file itself: whoever writes it has a log beside it.
pub(crate) fn is_settled(path: &Path) -> bool {
    let log = std::fs::metadata(beside(path, "-wal"));
    path.is_file() && log.map_or(true, |log| log.len() == 0)
}

/// A path as a part of an address.
pub(crate) fn escaped(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let each = |&byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    bytes.map(each).collect()
}

/// What tells a file from every other one, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    number: u64,
}

/// The identity of a file; `None` where the platform tells none.
#[cfg(unix)]
pub(crate) fn identity(found: &Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    Some(FileIdentity { device: found.dev(), number: found.ino() })
}

#[cfg(not(unix))]
pub(crate) fn identity(_: &Metadata) -> Option<FileIdentity> {
    None
}

/// How many bytes a file has.
pub(crate) fn length(path: &Path) -> io::Result<u64> {
    std::fs::metadata(path).map(|found| found.len())
}

/// Writes so many bytes to a file of one's own, and takes it away again.
pub(crate) fn has_room(path: &Path, bytes: usize) -> io::Result<()> {
    let mut file = private_file().write(true).create(true).truncate(true).open(path)?;
    let written = file.write_all(&vec![0x5a; bytes]).and_then(|()| file.sync_data());
    drop(file);
    std::fs::remove_file(path)?;
    written
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    OpenOptions::new().read(true).open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// So many bytes of a file from a place on, as far as they can be read.
pub(crate) fn part(mut file: &File, at: usize, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(at as u64)).is_ok() {
        // What a disk does not give any more is as good as cut off.
        drop(file.take(most as u64).read_to_end(&mut bytes));
    }
    bytes
}

/// So many torn write-ahead files are kept.
const TORN: usize = 9;

/// Where torn write-ahead files of a store are kept.
fn torn(path: &Path) -> impl Iterator<Item = PathBuf> {
    let ending = |nth| if nth == 1 { "-wal.torn".to_owned() } else { format!("-wal.torn.{nth}") };
    (1..=TORN).map(move |nth| beside(path, &ending(nth)))
}

/// Copies the write-ahead file of a store, where there is one, to where only its owner reads it; those
/// that are there already stay.
pub(crate) fn set_aside(path: &Path) -> io::Result<()> {
    let log = beside(path, "-wal");
    if !log.exists() {
        return Ok(());
    }
    let bytes = read(&log)?;
    for aside in torn(path) {
        match private_file().write(true).create_new(true).open(aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened?.write_all(&bytes),
        }
    }
    Ok(())
}

/// Removes the torn write-ahead files of a store: what is erased may be in them.
pub(crate) fn forget_torn(path: &Path) -> io::Result<()> {
    torn(path).try_for_each(|aside| match std::fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}

#[cfg(unix)]
fn private_folders() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(unix)]
fn private_file() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_folders() -> DirBuilder {
    DirBuilder::new()
}

#[cfg(not(unix))]
fn private_file() -> OpenOptions {
    OpenOptions::new()
}
