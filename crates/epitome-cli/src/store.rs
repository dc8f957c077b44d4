//! A store by the name that its user gives it: the path of a file, or the address of a database.
//!
//! Invariant: the only place where the two are told apart. A password is never shown. Called by every
//! verb that has a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{
    Durability, FallbackStore, PostgresAddress, PostgresLog, PostgresStore, SessionArchive,
    SqliteStore, StoreError, StoreFile, TransferStore,
};

use crate::fault::{self, CliError};
use crate::store_key;

/// The address of a database, where a store is one.
fn database(store: &Path) -> Option<Result<PostgresAddress, StoreError>> {
    let url = store.to_str().filter(|name| PostgresAddress::is_one(name))?;
    Some(PostgresAddress::parse(url).map_err(|error| StoreError::Broken {
        path: error.shown.clone(),
        what: "cannot be opened",
        cause: error.to_string(),
    }))
}

/// Whether a store is a database, and no file.
pub(crate) fn is_database(store: &Path) -> bool {
    database(store).is_some()
}

/// Whether there is such a store, as far as can be told without opening it.
pub(crate) fn is_there(store: &Path) -> bool {
    is_database(store) || store.exists()
}

/// Its name as it may be shown.
pub(crate) fn shown(store: &Path) -> String {
    match database(store) {
        Some(Ok(address)) => address.to_string(),
        Some(Err(StoreError::Broken { path, .. })) => path,
        _ => store.display().to_string(),
    }
}

/// Opens the database at an address.
pub(crate) fn open_database(store: &Path) -> Option<Result<PostgresStore, StoreError>> {
    let address = database(store)?;
    Some(address.and_then(PostgresLog::open).map(PostgresStore::over))
}

/// Opens a store, and makes it where it is a file that is not there.
///
/// # Errors
///
/// When it cannot be opened.
pub(crate) fn open(
    store: &Path,
    durability: Durability,
) -> Result<Arc<dyn SessionArchive>, StoreError> {
    match open_database(store) {
        Some(opened) => Ok(Arc::new(opened?)),
        None => Ok(Arc::new(SqliteStore::open_with(store_key::file(store)?, durability)?)),
    }
}

/// Opens a store that is there.
///
/// # Errors
///
/// When it is not, or cannot be opened.
pub(crate) fn open_existing(store: &Path) -> Result<Arc<dyn SessionArchive>, StoreError> {
    match open_database(store) {
        Some(opened) => Ok(Arc::new(opened?)),
        None => Ok(Arc::new(SqliteStore::open_existing(store_key::file(store)?)?)),
    }
}

/// The file of a store that is named by its folder, and every other name as it is.
pub(crate) fn file_of(store: &Path) -> PathBuf {
    match !is_database(store) && store.is_dir() {
        true => store.join("epitome.db"),
        false => store.to_owned(),
    }
}

/// Whether two names are those of one store, as far as names tell.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    match (is_database(one), is_database(other)) {
        (true, true) => shown(one) == shown(other),
        (false, false) => {
            one == other
                || one.canonicalize().is_ok_and(|one| Ok(one) == other.canonicalize().map_err(drop))
        }
        _ => false,
    }
}

/// Opens a store that is there, to hand over what it holds: with the key in `own_key`, or else with the
/// one that is configured unless it is not encrypted.
///
/// # Errors
///
/// When it is not, or cannot be opened.
pub(crate) fn open_source(
    store: &Path,
    own_key: Option<&Path>,
) -> Result<Box<dyn TransferStore>, CliError> {
    if !is_there(store) {
        return Err(CliError::unreadable(format!("no store at {}", store.display())));
    }
    let opened: Result<Box<dyn TransferStore>, StoreError> = match open_database(store) {
        Some(opened) => opened.map(|store| Box::new(store) as _),
        None => with_key(store, own_key, |file| {
            SqliteStore::open_existing(file).map(|store| Box::new(store) as _)
        }),
    };
    opened.map_err(|error| CliError::of_store(&error))
}

/// Does something with the file of a store: with the key in `own_key`, or else with the one that is
/// configured unless it is not encrypted.
///
/// # Errors
///
/// When the key cannot be read, and those of `work`.
pub(crate) fn with_key<T>(
    store: &Path,
    own_key: Option<&Path>,
    work: impl FnOnce(StoreFile<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    match own_key {
        Some(key) => work(StoreFile::from(store).sealed(&store_key::load(key, store)?)),
        None => work(store_key::file_as_it_is(store)?),
    }
}

/// Whether the file of a store is encrypted, as far as a key is configured that it may be encrypted with.
///
/// # Errors
///
/// When the key cannot be read.
pub(crate) fn is_sealed(store: &Path) -> Result<bool, StoreError> {
    with_key(store, None, |file| Ok(file.is_sealed()))
}

/// Opens a store to take up what another holds, and makes it where it is a file that is not there;
/// `is_plain` has it not be encrypted, whatever is configured.
///
/// # Errors
///
/// When it cannot be opened.
pub(crate) fn open_target(
    store: &Path,
    is_plain: bool,
) -> Result<Box<dyn TransferStore>, CliError> {
    let opened: Result<Box<dyn TransferStore>, StoreError> = match open_database(store) {
        Some(opened) => opened.map(|store| Box::new(store) as _),
        None => match is_plain {
            true => Ok(StoreFile::from(store)),
            false => store_key::file(store),
        }
        .and_then(SqliteStore::open)
        .map(|store| Box::new(store) as _),
    };
    opened.map_err(CliError::of_output)
}

/// Opens a store for whoever changes what it holds by hand; one that is read-only is named at once.
///
/// # Errors
///
/// When it cannot be opened.
pub(crate) fn open_for_levers(
    store: &Path,
    durability: Durability,
) -> Result<Arc<dyn SessionArchive>, StoreError> {
    match open_database(store) {
        Some(opened) => Ok(Arc::new(opened?)),
        None => {
            let opened = SqliteStore::open_with(store_key::file(store)?, durability)?;
            name_read_only(&opened);
            Ok(Arc::new(opened))
        }
    }
}

/// Opens the file of a store. One whose newest records are torn says so once; what is left of it is
/// sound, so conversations go on in it.
fn open_torn(store: &Path, durability: Durability) -> Result<SqliteStore, StoreError> {
    let open = || SqliteStore::open_with(store_key::file(store)?, durability);
    match open() {
        Err(error @ StoreError::Damaged { .. }) => {
            let Ok(opened) = open() else { return Err(error) };
            fault::warn(&format!(
                "{error}; what is left is used, and clients that go on send the rest again; `epitome \
                 session verify` tells more"
            ));
            Ok(opened)
        }
        opened => opened,
    }
}

/// Opens a store for conversations that go on while it fails, and where its file cannot be opened.
///
/// # Errors
///
/// When a database cannot be opened, or a newer version made the file.
pub(crate) fn open_live(
    store: &Path,
    durability: Durability,
) -> Result<Arc<FallbackStore>, StoreError> {
    let opened = match open_database(store) {
        Some(opened) => FallbackStore::over(opened?),
        None => match open_torn(store, durability) {
            Ok(opened) => {
                name_read_only(&opened);
                FallbackStore::new(opened)
            }
            Err(error) => match FallbackStore::unopened(&error) {
                Some(memory) => {
                    fault::warn(&format!(
                        "{error}: conversations go on in memory, and nothing of them is kept; mend \
                         that and start again, or name another store with `--store`"
                    ));
                    memory
                }
                None => return Err(error),
            },
        },
    };
    Ok(Arc::new(opened))
}

/// Names a store that is read-only, as soon as something is to live on it.
pub(crate) fn name_read_only(store: &SqliteStore) {
    if store.is_read_only() {
        fault::warn(&format!(
            "the store `{}` is read-only: what it holds is found, and nothing new is kept in it; \
             make the file and its folder writable and start again, or name another with `--store`",
            store.path().display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_databases_are_told_apart() {
        let check = |store: &str, is_one: bool, expected: &str| {
            assert_eq!(
                (is_database(Path::new(store)), shown(Path::new(store))),
                (is_one, expected.to_owned())
            );
        };
        check("a.db", false, "a.db");
        check("./postgres://db", false, "./postgres://db");
        check("postgres://team:secret@db/notes", true, "postgres://team@db/notes");
        check("postgresql://team:secret@db:port", true, "postgresql://team@db:port");
    }
}
