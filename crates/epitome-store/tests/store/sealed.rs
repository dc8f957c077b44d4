//! A store that is encrypted: none of its files holds what people can read, and all that holds of others
//! holds of it.

#![expect(clippy::disallowed_methods, reason = "reads and damages the files themselves")]

use std::path::{Path, PathBuf};
use std::sync::Barrier;

use epitome_kernel::StoreError;
use epitome_store::{
    SEALED, SessionArchive, SqliteStore, StoreFile, StoreKey, TransferMode, transfer,
};
use tempfile::TempDir;

use crate::damage::{HISTORY, dice, file_beside, fill, portrait};
use crate::talk::say;

/// Damages that are tried of each kind.
const TRIED: u64 = 60;

/// What stands in every plain store.
const READABLE: [&str; 9] = [
    "alpha one",
    "a summary of two messages",
    "zeta, which nobody sent back",
    "another way",
    "SQLite format",
    "CREATE TABLE",
    "passage_terms",
    "Epit",
    "2026-",
];

fn key() -> StoreKey {
    StoreKey::from([42; 32])
}

/// Opens a store under the key of these tests.
pub(crate) fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(StoreFile::from(path).sealed(&key())).unwrap()
}

fn reopened(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_existing(StoreFile::from(path).sealed(&key()))
}

/// An encrypted store in which something of every kind is recorded, closed.
fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    fill(&open(&path));
    (folder, path)
}

/// What can be read in the files of a folder.
fn readable(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for words in READABLE {
            if bytes.windows(words.len()).any(|it| it == words.as_bytes()) {
                found.push(format!("{name}: {words}"));
            }
        }
    }
    found
}

#[test]
fn no_file_holds_what_people_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let plain = tempfile::tempdir().unwrap();
    fill(&SqliteStore::open(&plain.path().join("epitome.db")).unwrap());
    assert!(readable(plain.path()).len() > 5, "what is looked for is there without a key");

    let store = open(&path);
    fill(&store);
    assert!(file_beside(&path, "-wal").exists());
    assert_eq!(readable(folder.path()), [""; 0]);
    assert!(store.is_sealed());
    store.back_up(&folder.path().join("backup.db")).unwrap();
    let sound = portrait(&store).unwrap();
    drop(store);
    assert_eq!(readable(folder.path()), [""; 0]);
    for path in [path, folder.path().join("backup.db")] {
        let store = reopened(&path).unwrap();
        assert_eq!(portrait(&store).unwrap(), sound);
        assert_eq!(store.verify(false).unwrap(), []);
    }
    assert_eq!(readable(folder.path()), [""; 0]);
}

#[test]
fn a_store_is_as_long_as_it_would_be_without() {
    let (_folder, path) = filled();
    let plain = tempfile::tempdir().unwrap();
    let other = plain.path().join("epitome.db");
    fill(&SqliteStore::open(&other).unwrap());
    let length = |path: &Path| path.metadata().unwrap().len();
    assert_eq!(length(&path), length(&other));
}

#[track_caller]
fn check_refused(opened: Result<SqliteStore, StoreError>, words: [&str; 2]) {
    let error = opened.unwrap_err();
    assert!(matches!(error, StoreError::Broken { what: SEALED, .. }), "{error}");
    let said = error.to_string();
    assert!(words.iter().all(|words| said.contains(words)), "{said}");
    assert!(said.contains("epitome.db"), "{said}");
}

#[test]
fn a_store_and_a_key_that_do_not_fit_are_told() {
    let (_folder, path) = filled();
    let before = std::fs::read(&path).unwrap();
    let other = StoreKey::from([43; 32]);
    let words = ["does not open under the key", "store_key_file"];
    check_refused(SqliteStore::open(StoreFile::from(&path).sealed(&other)), words);
    let words = ["is encrypted", "`store_key_file`"];
    check_refused(SqliteStore::open(&path), words);
    check_refused(SqliteStore::open_existing(&path), words);
    assert_eq!(std::fs::read(&path).unwrap(), before, "nothing is written under a wrong key");

    let plain = tempfile::tempdir().unwrap();
    let path = plain.path().join("epitome.db");
    fill(&SqliteStore::open(&path).unwrap());
    let words = ["is not encrypted", "epitome store copy"];
    check_refused(reopened(&path), words);
    let as_it_is = StoreFile::from(&path).sealed_unless_plain(&other);
    assert!(SqliteStore::open_existing(as_it_is).is_ok());
}

#[test]
fn damage_is_told_from_a_wrong_key() {
    let (_folder, path) = filled();
    let whole = std::fs::read(&path).unwrap();
    for damage in [0..16, 64..80, 0..100, 0..4096, 4096..8192, 0..8192] {
        let mut bytes = whole.clone();
        bytes[damage.clone()].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(&path, &bytes).unwrap();
        let told = match reopened(&path) {
            Ok(store) => store.verify(false).map_or(true, |findings| !findings.is_empty()),
            Err(error) => {
                assert!(
                    !matches!(error, StoreError::Broken { what: SEALED, .. }),
                    "{damage:?}: {error}"
                );
                true
            }
        };
        assert!(told, "{damage:?}");
        for ending in ["-wal", "-shm"] {
            drop(std::fs::remove_file(file_beside(&path, ending)));
        }
    }
}

#[test]
fn a_flipped_bit_is_never_silent() {
    let (folder, path) = filled();
    let whole = std::fs::read(&path).unwrap();
    let sound = portrait(&reopened(&path).unwrap()).unwrap();
    // The same without a key tells which bytes hold something.
    let plain = folder.path().join("plain.db");
    fill(&SqliteStore::open(&plain).unwrap());
    let plain = std::fs::read(plain).unwrap();
    let mut noticed = 0;
    for round in 0..TRIED {
        let copy = folder.path().join(format!("{round}.db"));
        let mut bytes = whole.clone();
        let at = (0..50)
            .map(|attempt| dice(round * 64 + attempt) as usize % bytes.len())
            .find(|&at| plain[at] != 0)
            .unwrap_or_default();
        bytes[at] ^= 1 << (round % 8);
        std::fs::write(&copy, bytes).unwrap();
        let Ok(store) = reopened(&copy) else {
            noticed += 1;
            continue;
        };
        match store.verify(false) {
            Ok(findings) if findings.is_empty() => {
                assert_eq!(portrait(&store).unwrap(), sound, "a bit of byte {at}");
            }
            _ => noticed += 1,
        }
    }
    assert!(noticed > TRIED / 2, "{noticed} of {TRIED}");
}

/// A store whose process was killed, with the two files beside it.
fn killed() -> (TempDir, PathBuf, Vec<String>) {
    let (folder, path) = filled();
    let store = reopened(&path).unwrap();
    say(&store, "three", &HISTORY, &["zeta six", "eta seven"]);
    say(&store, "three", &[&HISTORY[..], &["zeta six", "eta seven"]].concat(), &["theta eight"]);
    let copy = folder.path().join("killed.db");
    for ending in ["", "-wal", "-shm"] {
        std::fs::copy(file_beside(&path, ending), file_beside(&copy, ending)).unwrap();
    }
    let sound = portrait(&store).unwrap();
    (folder, copy, sound)
}

#[test]
fn what_a_killed_process_wrote_is_there() {
    for with_index in [true, false] {
        let (_folder, path, sound) = killed();
        if !with_index {
            std::fs::remove_file(file_beside(&path, "-shm")).unwrap();
        }
        let store = reopened(&path).unwrap();
        assert_eq!(portrait(&store).unwrap(), sound);
        assert_eq!(store.verify(false).unwrap(), []);
    }
}

#[test]
fn a_torn_end_is_never_silent() {
    for round in 0..16 {
        let (folder, path, _) = killed();
        let log = file_beside(&path, "-wal");
        let mut bytes = std::fs::read(&log).unwrap();
        let at = dice(round) as usize % bytes.len();
        match round % 2 {
            0 => bytes.truncate(at),
            _ => bytes[at] ^= 1 << (round % 8),
        }
        std::fs::write(&log, bytes).unwrap();
        let error = reopened(&path).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{round}: {error}");
        let store = reopened(&path).unwrap();
        assert!(store.verify(false).unwrap()[0].what.contains("is torn"), "{round}");
        // What was set aside is as it was on disk.
        assert_eq!(readable(folder.path()), [""; 0]);
    }
}

#[test]
fn many_make_the_same_store_at_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("epitome.db");
        let together = Barrier::new(8);
        std::thread::scope(|scope| {
            let opened = || {
                together.wait();
                SqliteStore::open(StoreFile::from(&path).sealed(&key())).map(drop)
            };
            let hands = [(); 8].map(|()| scope.spawn(opened));
            for hand in hands {
                hand.join().unwrap().unwrap();
            }
        });
        assert!(reopened(&path).is_ok());
    }
}

#[test]
fn damage_costs_what_it_is_in_and_what_is_saved_goes_where_it_shall() {
    let (folder, path) = filled();
    let sound = portrait(&reopened(&path).unwrap()).unwrap();
    let salvage = |to: StoreFile<'_>| {
        let found = SqliteStore::salvage(StoreFile::from(&path).sealed(&key())).unwrap();
        let store = SqliteStore::open(to).unwrap();
        let report = transfer(&found.store, &store, TransferMode::Add, &mut |_| ()).unwrap();
        assert_eq!(report.differ, [""; 0]);
        (found.missing, store)
    };
    let to = folder.path().join("new.db");
    let (missing, store) = salvage(StoreFile::from(&to).sealed(&key()));
    assert_eq!((missing, portrait(&store).unwrap().len()), (vec![], sound.len()));
    drop(store);
    assert_eq!(readable(folder.path()), [""; 0]);

    // Its first page says nothing any more.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let plain = tempfile::tempdir().unwrap();
    let (_, store) = salvage(StoreFile::from(&plain.path().join("plain.db")));
    assert!(!store.is_sealed());
    assert!(!store.sessions(crate::talk::SCOPE, 0, 9, false).unwrap().is_empty());
    let wrong = StoreKey::from([43; 32]);
    let refused = SqliteStore::salvage(StoreFile::from(&path).sealed(&wrong)).map(drop);
    assert!(matches!(refused, Err(StoreError::Broken { what: SEALED, .. })), "{refused:?}");
}
