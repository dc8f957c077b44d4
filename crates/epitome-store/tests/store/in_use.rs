//! A store that is copied while it is in use, and one that several open at once.

#![expect(clippy::disallowed_methods, reason = "copies the files themselves")]

use std::path::{Path, PathBuf};
use std::process::Command;

use epitome_store::{SessionArchive, SqliteStore};
use tempfile::TempDir;

use crate::damage::{HISTORY, file_beside, fill, portrait};
use crate::talk::{SCOPE, say};

/// How a store is opened.
type Opens = fn(&Path) -> Result<SqliteStore, epitome_kernel::StoreError>;

fn plain(path: &Path) -> Result<SqliteStore, epitome_kernel::StoreError> {
    SqliteStore::open(path)
}

#[cfg(feature = "seal")]
fn sealed(path: &Path) -> Result<SqliteStore, epitome_kernel::StoreError> {
    let key = epitome_store::StoreKey::from([42; 32]);
    SqliteStore::open(epitome_store::StoreFile::from(path).sealed(&key))
}

fn each(check: impl Fn(Opens)) {
    check(plain);
    #[cfg(feature = "seal")]
    check(sealed);
}

/// A store that was closed, and one of a process that goes on with it.
fn opened(opens: Opens) -> (TempDir, PathBuf, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    fill(&opens(&path).unwrap());
    let store = opens(&path).unwrap();
    say(&store, "three", &[], &["what only the write-ahead file holds"]);
    (folder, path, store)
}

fn copied(path: &Path, endings: &[&str]) -> PathBuf {
    let copy = path.with_file_name("copy.db");
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(file_beside(&copy, ending)).ok();
    }
    for ending in endings {
        std::fs::copy(file_beside(path, ending), file_beside(&copy, ending)).unwrap();
    }
    copy
}

/// A copy that lacks what was said last says so once, and then to whoever verifies it.
#[track_caller]
fn check_told(opens: Opens, copy: &Path) {
    let error = opens(copy).unwrap_err().to_string();
    assert!(error.contains("without its `-wal` file"), "{error}");
    let store = opens(copy).unwrap();
    let findings = store.verify(false).unwrap();
    assert!(findings.len() == 1 && findings[0].what.contains("without its `-wal`"), "{findings:?}");
    store.verify(true).unwrap();
    assert_eq!(store.verify(false).unwrap(), []);
    say(&store, "four", &[], &["it goes on"]);
    drop(store);
    assert_eq!(opens(copy).unwrap().verify(false).unwrap(), []);
}

/// A copy that lacks nothing is a store like any other.
#[track_caller]
fn check_quiet(opens: Opens, copy: &Path) {
    for _ in 0..2 {
        let store = opens(copy).unwrap();
        assert_eq!(store.verify(false).unwrap(), []);
        assert!(portrait(&store).unwrap()[0].contains("three"));
    }
}

#[test]
fn a_copy_without_the_write_ahead_file_says_so() {
    each(|opens| {
        let (_folder, path, store) = opened(opens);
        check_told(opens, &copied(&path, &[""]));
        check_quiet(opens, &copied(&path, &["", "-wal"]));
        check_quiet(opens, &copied(&path, &["", "-wal", "-shm"]));
        drop(store);
        check_quiet(opens, &copied(&path, &[""]));
    });
}

/// One that was just made, and one whose write-ahead file was copied back into it meanwhile.
#[test]
fn a_store_that_is_new_or_large_says_so_too() {
    each(|opens| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("epitome.db");
        let store = opens(&path).unwrap();
        let mut said: Vec<String> = Vec::new();
        let mut is_told = [false; 2];
        for round in 0..40 {
            let before: Vec<&str> = said.iter().map(String::as_str).collect();
            let new = format!("{round} {}", "many words ".repeat(20_000));
            say(&store, "long", &before, &[&new]);
            said.push(new);
            // It has no page of its own yet where nothing was copied back.
            let copy = copied(&path, &[""]);
            let is_empty = std::fs::metadata(&copy).unwrap().len() == 0;
            is_told[usize::from(round > 30)] |= opens(&copy).is_err() || is_empty;
        }
        assert_eq!(is_told, [true; 2]);
        drop(store);
        assert_eq!(opens(&copied(&path, &[""])).unwrap().verify(false).unwrap(), []);
    });
}

#[test]
fn a_backup_of_a_store_in_use_lacks_nothing() {
    each(|opens| {
        let (_folder, path, store) = opened(opens);
        let backup = path.with_file_name("backup.db");
        store.back_up(&backup).unwrap();
        check_quiet(opens, &backup);
        drop(store);
        check_quiet(opens, &path);
    });
}

/// Whoever reads alone leaves the store as it was, byte for byte.
#[test]
fn reading_changes_nothing_in_the_file() {
    each(|opens| {
        let (_folder, path, store) = opened(opens);
        drop(store);
        let before = std::fs::read(&path).unwrap();
        let store = opens(&path).unwrap();
        portrait(&store).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let copy = copied(&path, &[""]);
        check_quiet(opens, &copy);
    });
}

/// What the other process of these tests does: it writes, and closes the store.
#[test]
fn the_other_process() {
    let Some(path) = std::env::var_os("EPITOME_OTHER_PROCESS") else { return };
    say(&plain(Path::new(&path)).unwrap(), "other", &[], &["from another process"]);
}

fn in_another_process(path: &Path) {
    let own = std::env::current_exe().unwrap();
    let mut other = Command::new(own);
    other.args(["--exact", "in_use::the_other_process"]).env("EPITOME_OTHER_PROCESS", path);
    assert!(other.output().unwrap().status.success());
}

#[test]
fn another_process_that_ends_first_leaves_the_store_in_use() {
    let (_folder, path, store) = opened(plain);
    in_another_process(&path);
    check_told(plain, &copied(&path, &[""]));
    say(&store, "three", &["what only the write-ahead file holds"], &["and more"]);
    drop(store);
    check_quiet(plain, &copied(&path, &[""]));
    // And the other way round: whoever ends last has only read.
    let reader = plain(&path).unwrap();
    portrait(&reader).unwrap();
    in_another_process(&path);
    check_told(plain, &copied(&path, &[""]));
    drop(reader);
    check_quiet(plain, &copied(&path, &[""]));
}

/// A process that opens a store twice keeps what tells others that it has it open.
#[test]
fn a_store_that_is_opened_twice_is_not_closed_under_whoever_goes_on() {
    let (_folder, path, store) = opened(plain);
    drop(plain(&path).unwrap());
    in_another_process(&path);
    say(&store, "three", &["what only the write-ahead file holds"], &["and more"]);
    assert!(store.session(SCOPE, "other").is_ok());
    drop(store);
    let store = plain(&path).unwrap();
    assert_eq!(store.verify(false).unwrap(), []);
    assert!(!portrait(&store).unwrap().is_empty() && HISTORY.len() == 5);
}

/// A copy that may only be read cannot keep in mind that it was said once: its verification tells it.
#[cfg(unix)]
#[test]
fn a_copy_that_may_only_be_read_opens() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path, _store) = opened(plain);
    let copy = copied(&path, &[""]);
    let alone = folder.path().join("alone");
    std::fs::create_dir(&alone).unwrap();
    let fixed = alone.join("copy.db");
    std::fs::copy(&copy, &fixed).unwrap();
    for (path, mode) in [(&fixed, 0o400), (&alone, 0o500)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    // Whoever may do anything may write there too.
    if std::fs::write(alone.join("probe"), "").is_ok() {
        return;
    }
    for _ in 0..2 {
        let store = SqliteStore::open_existing(&fixed).unwrap();
        assert!(store.verify(false).unwrap()[0].what.contains("without its `-wal`"));
    }
    std::fs::set_permissions(&alone, PermissionsExt::from_mode(0o700)).unwrap();
}
