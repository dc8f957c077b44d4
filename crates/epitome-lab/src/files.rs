//! The files that a scan reads: recordings that the user names or that clients keep.
//!
//! Invariant: nothing is written, no link to a folder is followed, and no file larger than allowed
//! is held in memory. All file access of this crate is here.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The whole of a file, at most `most` bytes.
///
/// # Errors
///
/// One line that says why it cannot be read.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let too_large = || format!("is larger than {most} bytes");
    let file = open(path).map_err(|error| cause(&error))?;
    let size = file.metadata().map_err(|error| cause(&error))?.len();
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| cause(&error))?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

#[expect(clippy::disallowed_methods, reason = "a scan reads the recordings that the user names")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Adds the files under a folder that `wanted` takes, in the order of their names; hidden ones are
/// passed over. A folder that cannot be read is told to `failed`.
pub(crate) fn walk(
    folder: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
    failed: &mut dyn FnMut(&Path, String),
) {
    let mut entries = match fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(entries) => entries,
        Err(error) => return failed(folder, cause(&error)),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if path.file_name().is_some_and(is_hidden) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, wanted, files, failed),
            Ok(_) if path.is_file() && wanted(&path) => files.push(path),
            Ok(_) => {}
            Err(error) => failed(&path, cause(&error)),
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The bytes of a file; 0 where that cannot be told.
pub(crate) fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |about| about.len())
}

/// One name for a file that is reached by several roads.
pub(crate) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What went wrong, without the number that some errors carry.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = match error.kind() {
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
