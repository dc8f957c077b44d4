//! A file of the user's that several programs change at once, each a line of it.
//!
//! Invariant: a change is made of what the file holds then, and of nothing that was read before: no
//! program takes out what another wrote. Readers see the old file or the new one, whole. Used by
//! the record of trust, and by hosts for lists beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

/// A text file that its owner alone reads, in a folder that is made where there is none.
#[derive(Clone, Debug)]
pub struct RecordFile {
    path: PathBuf,
}

impl RecordFile {
    /// The file at this path, which need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file of this name beside it.
    pub fn beside(&self, name: &str) -> Self {
        Self::at(self.path.with_file_name(name))
    }

    /// What it holds; nothing where it is not there. Bytes that are no text are replaced.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn read(&self) -> Result<String> {
        let mut bytes = Vec::new();
        match OpenOptions::new().read(true).open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            file => drop(file?.read_to_end(&mut bytes)?),
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Changes what it holds while no other program does: `change` gets the text as it is now, and
    /// gives the new one, or none where nothing is to change.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written; the old file is still there then.
    pub fn change(&self, change: impl FnOnce(&str) -> Option<String>) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut folders = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.recursive(true).create(folder)?;
        // Closing it, whatever happens, gives it back.
        let _lock = self.lock()?;
        match change(&self.read()?) {
            Some(text) => self.replace(&text),
            None => Ok(()),
        }
    }

    /// Waits until no other program changes the file. The lock is a file of its own, since the other
    /// one is replaced: whoever waited for that would hold what nobody sees any more.
    fn lock(&self) -> Result<File> {
        let lock = private().open(self.ending("lock"))?;
        match lock.lock() {
            // Some network drives know no locks; what is recorded there is better than nothing.
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            _ => Ok(lock),
        }
    }

    /// Puts a new file in the place of the old one.
    fn replace(&self, text: &str) -> Result<()> {
        let new = self.ending(&format!("{}.new", std::process::id()));
        let mut written = private().truncate(true).open(&new)?;
        written.write_all(text.as_bytes())?;
        written.sync_all()?;
        fs::rename(&new, &self.path)
    }

    fn ending(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".");
        path.push(ending);
        path.into()
    }
}

/// How a file that its owner alone reads is opened to be written, and made.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
