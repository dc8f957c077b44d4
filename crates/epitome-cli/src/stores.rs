//! The stores that were named by their paths, so that what a prompt names is found as it is printed.
//!
//! A prompt says `epitome recall ID` in the same words wherever its store is, since texts that
//! change are paid for again. So the user's data folder remembers where this user's other stores
//! are, and an id that the usual store does not know is looked for there (RULES 14).
//!
//! Invariant: only what this user ran is remembered, never what a repository says; nothing fails
//! where the list cannot be read or written. Called by the verbs that make prompts, and by `recall`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{
    Config, RecordFile, ScopeOwner, SessionAdmin, SessionArchive, SqliteStore, StoredText,
};

use crate::{store, store_key};

/// So many digits of an id stand in prompts.
const SHORT: usize = 8;

/// The list, in the user's data folder: one path a line, the newest first.
const LIST: &str = "stores";

/// So many are remembered.
const MOST: usize = 64;

/// Remembers the store that the configuration or a flag in it names, unless it is the usual one or
/// the file of a project names it.
pub(crate) fn remember_configured(config: &Config) {
    if let Some(store) = config.store().filter(|_| !config.is_store_of_project()) {
        remember(config, store);
    }
}

/// Remembers a store that the user named, unless it is the usual one.
pub(crate) fn remember(config: &Config, store: &Path) {
    let Some(list) = list(config) else { return };
    let Some(store) = lasting(store) else { return };
    let usual = config.usual_store().and_then(|usual| usual.canonicalize().ok());
    let Some(line) = store.to_str().filter(|line| !line.contains('\n')) else { return };
    if usual.is_some_and(|usual| usual == store) {
        return;
    }
    if stores(&list).first().is_some_and(|first| *first == store) {
        return;
    }
    let changed = list.change(|text| {
        let known = paths(text);
        let others = known.iter().filter(|other| **other != store && store::is_there(other));
        let others = others.filter_map(|other| other.to_str());
        let lines: Vec<_> = [line].into_iter().chain(others).take(MOST).collect();
        Some(lines.join("\n") + "\n")
    });
    if let Err(error) = changed {
        tracing::debug!("the list of stores is not written: {error}");
    }
}

/// A store by a name that holds wherever it is read. The address of a database whose password would be
/// written down is none.
fn lasting(store: &Path) -> Option<PathBuf> {
    match store::is_database(store) {
        true => {
            Some(store.to_owned()).filter(|store| store.to_str() == Some(&*store::shown(store)))
        }
        false => store.canonicalize().ok(),
    }
}

/// The stores of this user that are there: the usual one, then those that were remembered, the
/// newest first.
pub(crate) fn known(config: &Config) -> Vec<PathBuf> {
    let known = list(config).map(|list| stores(&list)).unwrap_or_default();
    let usual = config.usual_store().map(Path::to_owned);
    let is_there = |store: &PathBuf| store.is_file() || store::is_database(store);
    usual.into_iter().chain(known).filter(is_there).collect()
}

/// The original with an id, as prompts say it, in another store of this user's.
pub(crate) fn elsewhere(config: &Config, owner: &ScopeOwner, id: &str) -> Option<StoredText> {
    if !is_id(id) {
        return None;
    }
    let profile = config.profile_in_use().ok()?;
    known(config).iter().find_map(|path| {
        let store: Arc<dyn SessionArchive> = match store::open_database(path) {
            Some(opened) => Arc::new(opened.ok()?),
            None => {
                let file = store_key::file_as_it_is(path).ok()?;
                Arc::new(SqliteStore::open_existing(file).ok()?)
            }
        };
        let keeper = SessionAdmin::of(store.clone(), profile.clone(), owner.clone());
        keeper.original(&*store, id, |_| {}).ok()
    })
}

/// Whether a text has the form of an id, as prompts say it.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() >= SHORT && text.bytes().all(|it| it.is_ascii_hexdigit())
}

fn list(config: &Config) -> Option<RecordFile> {
    Some(RecordFile::at(config.data()?.join(LIST)))
}

/// The stores of the list; none where it cannot be read.
fn stores(list: &RecordFile) -> Vec<PathBuf> {
    paths(&list.read().unwrap_or_default())
}

fn paths(text: &str) -> Vec<PathBuf> {
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}
