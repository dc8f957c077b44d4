//! The key that the files of stores are encrypted with.
//!
//! Invariant: it is the one that the configuration names, the same for the whole program, and is read
//! when a store is opened: a verb that opens none needs none. Called by whatever opens a store.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use epitome::{Config, SEALED, StoreError, StoreFile, StoreKey};

/// The file that the configuration names.
static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();

/// The key in it.
static KEY: OnceLock<StoreKey> = OnceLock::new();

/// Has stores be encrypted as a configuration says. A verb has one.
pub(crate) fn configure(config: &Config) {
    FILE.get_or_init(|| config.store_key_file().map(Path::to_owned));
}

/// The file of a store, with the key where one is named.
///
/// # Errors
///
/// When the key cannot be read.
pub(crate) fn file(store: &Path) -> Result<StoreFile<'_>, StoreError> {
    let file = StoreFile::from(store);
    Ok(named(store)?.map_or(file, |key| file.sealed(key)))
}

/// The file of a store that is read as it is: with the key unless it is not encrypted.
///
/// # Errors
///
/// When the key cannot be read.
pub(crate) fn file_as_it_is(store: &Path) -> Result<StoreFile<'_>, StoreError> {
    let file = StoreFile::from(store);
    Ok(named(store)?.map_or(file, |key| file.sealed_unless_plain(key)))
}

/// The key in a file, which a store is to be opened with.
///
/// # Errors
///
/// When it cannot be read.
pub(crate) fn load(path: &Path, store: &Path) -> Result<StoreKey, StoreError> {
    StoreKey::load(path).map_err(|fault| StoreError::Broken {
        path: store.display().to_string(),
        what: SEALED,
        cause: fault.to_string(),
    })
}

fn named(store: &Path) -> Result<Option<&'static StoreKey>, StoreError> {
    let Some(path) = FILE.get().and_then(Option::as_ref) else { return Ok(None) };
    if KEY.get().is_none() {
        // Whoever was faster read the same file.
        drop(KEY.set(load(path, store)?));
    }
    Ok(KEY.get())
}
