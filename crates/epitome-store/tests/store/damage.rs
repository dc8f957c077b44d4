//! A damaged file is told from a sound one: what is read is what was written, or it is said that
//! it is not.

#![expect(clippy::disallowed_methods, reason = "damages the files themselves")]

use std::path::{Path, PathBuf};

use epitome_kernel::types::{ContentId, GoalChange, JournalMark, SnapshotPurpose};
use epitome_kernel::{Journal, OriginalStore, StoreError};
use epitome_store::SessionArchive;
use epitome_store::SqliteStore;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::common::Chars;
use crate::talk::{
    LONG, SCOPE, acts, answer, batch, chain, chains, departure, epoch, goal, key, keys, memos,
    rewrite, say, snapshot,
};

/// Damages that are tried of each kind.
const TRIED: u64 = 400;

pub(crate) const HISTORY: [&str; 5] = ["alpha one", "beta two", LONG, "delta four", "epsilon five"];

/// A store in which something of every kind is recorded, closed.
fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    fill(&SqliteStore::open(&path).unwrap());
    assert!(!path.with_extension("db-wal").exists());
    (folder, path)
}

/// Records something of every kind.
pub(crate) fn fill(store: &SqliteStore) {
    let mut first = batch(&[], &HISTORY[..3]);
    first.rewrites = vec![rewrite(HISTORY[1], "see there")];
    first.departure = departure(&HISTORY[1..2]);
    store.append(SCOPE, "one", &first).unwrap();
    say(store, "one", &HISTORY[..3], &HISTORY[3..]);
    say(store, "two", &HISTORY[..2], &["another way"]);
    let epoch = epoch(&HISTORY[..2], "a summary of two messages");
    store.commit(SCOPE, "one", &epoch, &departure(&HISTORY[..2]), 0).unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Undo(epoch.id), "now").unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Pin(key(HISTORY[0])), "now").unwrap();
    store
        .save_snapshot(SCOPE, &snapshot("s1", "one", SnapshotPurpose::Recovery, &HISTORY), 5)
        .unwrap();
    store.index(SCOPE, "one", &chains(&HISTORY[..2]), &departure(&HISTORY[..2])).unwrap();
    store.erase(SCOPE, key("another way")).unwrap();
    store.set_trashed(SCOPE, "two", true).unwrap();
    store.note(SCOPE, "one", &memos(&[("default", r#"{"turns":2}"#), ("other", "{}")])).unwrap();
    store.act(SCOPE, "one", &acts()).unwrap();
    store.act(SCOPE, "two", &acts()[..1]).unwrap();
    store.learn(SCOPE, "a model", r#"{"limit":7}"#).unwrap();
    store.record_response(SCOPE, "one", &answer(&HISTORY, "zeta, which nobody sent back")).unwrap();
    store.record_response(SCOPE, "two", &answer(&HISTORY[..2], "another way")).unwrap();
}

/// All that a store says.
pub(crate) fn portrait(store: &SqliteStore) -> Result<Vec<String>, StoreError> {
    let mut texts = vec![
        format!("{:?}", store.sessions(SCOPE, 0, 99, true)?),
        format!("{:?}", store.history(SCOPE, "one", chain(&HISTORY), 0, 99)?),
        format!(
            "{:?}",
            store.history(SCOPE, "two", chain(&["alpha one", "beta two", "another way"]), 0, 99)?
        ),
        format!("{:?}", store.find_deepest(SCOPE, "one", &chains(&HISTORY))?),
        format!("{:?}", store.rewrites(SCOPE, "one", &keys(&HISTORY))?),
        format!("{:?}", store.compactions(SCOPE, "one", &keys(&HISTORY))?),
        format!("{:?}", store.compactions_of_session(SCOPE, "one")?),
        format!("{:?}", store.snapshots(SCOPE, None)?),
        format!("{:?}", store.unindexed(SCOPE, 99)?),
        format!("{:?}", store.meter(SCOPE, "one")?),
        format!("{:?}", store.memos(SCOPE, "one")?),
        format!("{:?}", store.lessons(SCOPE)?),
        format!("{:?}", store.acts(SCOPE, "one")?),
        format!("{:?}", store.acts(SCOPE, "two")?),
        format!("{:?}", store.answer(SCOPE, "one")?),
    ];
    for text in HISTORY {
        let id = ContentId::for_text(text).to_string();
        match store.original(SCOPE, &id) {
            Err(StoreError::Unknown { .. }) => texts.push("unknown".to_owned()),
            other => texts.push(format!("{:?}", other?)),
        }
        texts.push(format!("{:?}", store.search(SCOPE, text, 100, &Chars)?));
    }
    Ok(texts)
}

/// Opens a damaged copy: it is as it was, or it is said that it is not.
#[track_caller]
fn check(path: &Path, sound: &[String], damage: &str) -> bool {
    let Ok(store) = SqliteStore::open_existing(path) else { return true };
    match store.verify(false) {
        Ok(findings) if findings.is_empty() => {
            let found = portrait(&store);
            assert!(
                found.as_ref().is_ok_and(|found| found == sound),
                "{damage}: nothing was found, but it reads {found:?}"
            );
            false
        }
        Ok(findings) => {
            assert!(findings.iter().all(|finding| !finding.what.is_empty()));
            assert!(findings.iter().all(|finding| !finding.remedy.is_empty()), "{findings:?}");
            true
        }
        Err(_) => true,
    }
}

/// Numbers as if thrown by dice, the same every time.
pub(crate) fn dice(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 32)
}

/// A file in which these bytes stand in the place of others, at the first place that has those.
fn altered(path: &Path, from: &str, to: &str) -> PathBuf {
    let (copy, mut bytes) = (path.with_file_name("altered.db"), std::fs::read(path).unwrap());
    let is_it = |found: &[u8]| found == from.as_bytes();
    let at = bytes.windows(from.len()).position(is_it).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    std::fs::write(&copy, &bytes).unwrap();
    copy
}

/// What was decided is told to the model: in other words than it was decided in it is worse than gone.
#[test]
fn what_was_done_is_not_believed_in_other_words() {
    let (_folder, path) = filled();
    let sound = SqliteStore::open_existing(&path).unwrap();
    let lessons = sound.lessons(SCOPE).unwrap();
    drop(sound);
    let check = |copy: &Path, acts_left: usize, lessons_left: usize, told: &str| {
        let store = SqliteStore::open_existing(copy).unwrap();
        assert_eq!(store.acts(SCOPE, "two").unwrap().len(), acts_left);
        assert_eq!(store.lessons(SCOPE).unwrap().len(), lessons_left);
        let found = store.verify(false).unwrap();
        assert!(found.iter().any(|it| it.what.starts_with(told)), "{found:?}");
        drop(store);
        // What is salvaged of it does not make it true.
        let salvaged = SqliteStore::salvage(copy).unwrap();
        assert_eq!(salvaged.store.acts(SCOPE, "two").unwrap().len(), acts_left);
        assert_eq!(salvaged.store.lessons(SCOPE).unwrap().len(), lessons_left);
        assert_eq!(salvaged.missing.len(), 1, "{:?}", salvaged.missing);
    };
    // The newest row stands first in its page: the goal of the second session.
    let copy = altered(&path, "Ship", "Skip");
    check(&copy, 0, lessons.len(), "something that was done or decided in two");
    let store = SqliteStore::open_existing(&copy).unwrap();
    assert_eq!(store.acts(SCOPE, "one").unwrap(), acts());
    assert_eq!(store.damage(SCOPE, "two").unwrap().len(), 1);
    assert_eq!(store.damage(SCOPE, "one").unwrap(), [""; 0]);
    // What is done from then on is as it is written.
    store.act(SCOPE, "two", &acts()[..1]).unwrap();
    assert_eq!(store.acts(SCOPE, "two").unwrap(), acts()[..1]);
    drop(store);
    remove_beside(&copy);
    let copy = altered(&path, r#"{"limit":7}"#, r#"{"limit":9}"#);
    check(&copy, 1, lessons.len() - 1, "something that was learned");
}

/// The rest of a history is read where a message of it is damaged.
#[test]
fn a_damaged_message_costs_itself() {
    let (_folder, path) = filled();
    let copy = altered(&path, "delta four", "delta five");
    let store = SqliteStore::open_existing(&copy).unwrap();
    let history = store.history(SCOPE, "one", chain(&HISTORY), 0, 99).unwrap();
    let damaged: Vec<_> =
        history.iter().map(|said| said.bytes.as_ref().is_some_and(Vec::is_empty)).collect();
    assert_eq!(damaged, [false, false, false, true, false]);
    store.unindexed(SCOPE, 99).unwrap();
}

#[test]
fn a_flipped_bit_is_never_silent() {
    let (folder, path) = filled();
    let bytes = std::fs::read(&path).unwrap();
    let sound = portrait(&SqliteStore::open_existing(&path).unwrap()).unwrap();
    let copy = folder.path().join("copy.db");
    let mut noticed = 0;
    for round in 0..TRIED {
        let mut damaged = bytes.clone();
        // Unused room between rows is most of a small file: look for bytes that hold something.
        let at = (0..50)
            .map(|attempt| dice(round * 64 + attempt) as usize % bytes.len())
            .find(|&at| bytes[at] != 0)
            .unwrap_or_default();
        damaged[at] ^= 1 << (dice(round) % 8);
        std::fs::write(&copy, &damaged).unwrap();
        noticed += u64::from(check(&copy, &sound, &format!("a bit of byte {at}")));
        remove_beside(&copy);
    }
    assert!(noticed > TRIED / 2, "{noticed} of {TRIED} were noticed");
}

#[test]
fn a_torn_file_is_never_silent() {
    let (folder, path) = filled();
    let bytes = std::fs::read(&path).unwrap();
    let sound = portrait(&SqliteStore::open_existing(&path).unwrap()).unwrap();
    let copy = folder.path().join("copy.db");
    for round in 0..TRIED / 4 {
        let length = 1 + dice(round) as usize % (bytes.len() - 1);
        std::fs::write(&copy, &bytes[..length]).unwrap();
        assert!(check(&copy, &sound, &format!("{length} bytes")), "{length} bytes left");
        remove_beside(&copy);
    }
    for page in 1..bytes.len() / 4096 {
        let mut damaged = bytes.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0);
        std::fs::write(&copy, &damaged).unwrap();
        check(&copy, &sound, &format!("page {page}"));
        remove_beside(&copy);
    }
}

fn remove_beside(path: &Path) {
    for extension in ["db-wal", "db-shm"] {
        drop(std::fs::remove_file(path.with_extension(extension)));
    }
}

/// Changes a store behind its back.
fn tamper(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[track_caller]
fn check_found(sql: &str, what: &str, mended: bool) {
    let (_folder, path) = filled();
    let sound = portrait(&SqliteStore::open_existing(&path).unwrap()).unwrap();
    tamper(&path, sql);
    let store = SqliteStore::open_existing(&path).unwrap();
    let findings = store.verify(false).unwrap();
    assert!(findings.iter().any(|finding| finding.what.contains(what)), "{sql}: {findings:?}");
    assert!(findings.iter().all(|finding| !finding.repaired));
    let repaired = store.verify(true).unwrap();
    let after = store.verify(false).unwrap();
    if mended {
        assert!(repaired.iter().any(|finding| finding.repaired), "{sql}: {repaired:?}");
        assert_eq!(after, [], "{sql}");
        assert_eq!(portrait(&store).unwrap(), sound, "{sql}");
    } else {
        assert_ne!(after, [], "{sql}: a loss is no longer told");
    }
}

#[test]
fn losses_are_named() {
    for (sql, what) in [
        ("DELETE FROM message WHERE place = 4", "newest message of the session `one` is missing"),
        ("DELETE FROM message WHERE place = 2", "does not follow"),
        ("UPDATE message SET bytes = NULL WHERE place = 1", "are missing"),
        ("UPDATE message SET bytes = x'00' WHERE place = 1", "is not what its address says"),
        ("DELETE FROM raw", "are missing"),
        ("UPDATE raw SET bytes = x'00'", "is not what its address says"),
        ("UPDATE blob SET text = 'x' WHERE rowid = 1", "is not what its address says"),
        ("DELETE FROM epoch", "the records are not those that were written"),
        ("UPDATE epoch SET number = 7", "is not what its id says"),
        ("UPDATE session SET title = 'x' WHERE name = 'one'", "the records are not those"),
        ("UPDATE scope SET seen = 77", "the records are not those that were written"),
        ("DELETE FROM snapshot", "the records are not those that were written"),
        ("DELETE FROM memo WHERE policy = 'other'", "the records are not those that were written"),
        ("UPDATE lesson SET lesson = '{}'", "the records are not those that were written"),
        ("DELETE FROM lesson", "the records are not those that were written"),
        ("UPDATE memo SET memo = '{}'", "the records are not those that were written"),
        ("DELETE FROM answer WHERE session = 2", "the records are not those that were written"),
        ("UPDATE answer SET output = 7", "the records are not those that were written"),
        ("UPDATE answer SET bytes = NULL", "the bytes of the answer 1 are missing"),
        ("UPDATE answer SET bytes = x'00' WHERE id = 1", "is not what its address says"),
        ("UPDATE answer SET after = zeroblob(16)", "the records are not those that were written"),
        ("UPDATE answer SET chain = zeroblob(16)", "the answer 1 does not follow the history"),
        ("UPDATE answer SET session = 77", "the session of the answer 1 is missing"),
        ("DELETE FROM act WHERE id = 2", "the records are not those that were written"),
        ("UPDATE act SET act = replace(act, 'Ship', 'Sink')", "the records are not those"),
        ("UPDATE act SET act = '{}' WHERE id = 1", "the act 1 cannot be read"),
        ("UPDATE act SET session = 77 WHERE id = 3", "the session of the act 3 is missing"),
        ("UPDATE epoch SET must_keep = NULL", "is not what its id says"),
        ("UPDATE epoch SET must_keep = replace(must_keep, '3', '4')", "is not what its id says"),
        ("UPDATE passage SET start = 3", "does not stand in its original"),
        ("UPDATE rewrite SET text = zeroblob(16)", "is sent as is missing"),
        ("UPDATE session SET label = 'x'", "the records are not those that were written"),
        ("UPDATE session SET opened = 9", "the records are not those that were written"),
        ("UPDATE rewrite SET session = 2", "the records are not those that were written"),
        ("UPDATE message SET shared = 1", "the records are not those that were written"),
        ("UPDATE act SET place = zeroblob(16)", "the records are not those that were written"),
        ("UPDATE epoch SET place = zeroblob(16)", "the records are not those that were written"),
        ("UPDATE mark SET place = NULL", "the records are not those that were written"),
        ("UPDATE scope SET whole = zeroblob(16)", "the records are not those that were written"),
        ("DROP INDEX message_place", "the tables are not as"),
    ] {
        check_found(sql, what, false);
    }
}

#[test]
fn what_can_be_derived_is_mended() {
    for (sql, what) in [
        ("UPDATE session SET messages = 99 WHERE name = 'one'", "counts 99 messages, not 5"),
        ("UPDATE scope SET indexed = 99", "5 messages are not offered to the index"),
        ("UPDATE epoch SET undone = 0", "is not marked as it stands"),
        ("DELETE FROM passage_terms WHERE rowid = 1", "full-text index"),
        ("INSERT INTO passage_terms (rowid, terms) VALUES (999, '1xghost')", "full-text index"),
    ] {
        check_found(sql, what, true);
    }
}

#[track_caller]
fn check_erased(secret: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let store = SqliteStore::open(&path).unwrap();
    let mut first = batch(&[], &["before", secret, "after"]);
    first.title = "my password is hunt…".into();
    first.rewrites = vec![rewrite(secret, "a digest with hunter2")];
    first.departure = departure(&[secret]);
    first.departure.blobs.remove(0);
    store.append(SCOPE, "one", &first).unwrap();
    let with = epoch(&["before", secret], "he told hunter2");
    store.commit(SCOPE, "one", &with, &departure(&["before", secret]), 0).unwrap();
    let (first, second) = (r#"{"said":"he told hunter2"}"#, r#"{"said":"my password"}"#);
    store.note(SCOPE, "one", &memos(&[("default", first)])).unwrap();
    store.note(SCOPE, "one", &memos(&[("default", second)])).unwrap();
    let quoting = goal(GoalChange::Next { text: "my password is hunter2".into() });
    store.act(SCOPE, "one", &[quoting]).unwrap();
    store
        .record_response(SCOPE, "one", &answer(&["before"], &format!("{secret}, said otherwise")))
        .unwrap();
    store.record_response(SCOPE, "one", &answer(&["before", secret, "after"], secret)).unwrap();
    for number in 0..50 {
        let name = format!("filler {number}");
        say(&store, &name, &[], &[&name]);
    }
    let holds = |wanted: &str| {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
        bytes.any(|bytes| bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes()))
    };
    assert!(holds("hunter2"));
    assert_eq!(store.erase(SCOPE, key(secret)).unwrap(), 1);
    for trace in ["hunter2", "hunt", "password"] {
        assert!(!holds(trace), "{trace} is still there");
    }
    assert!(holds("before") && holds("after"));
    assert_eq!(store.verify(false).unwrap(), []);
}

#[test]
fn an_erased_message_is_in_no_file() {
    check_erased("my password is hunter2");
    check_erased(&format!("my password is hunter2 {LONG}"));
}

/// A store whose process was killed: its file with the two beside it.
fn killed() -> (TempDir, PathBuf, Vec<String>) {
    let (folder, path) = filled();
    let store = SqliteStore::open_existing(&path).unwrap();
    say(&store, "three", &HISTORY, &["zeta six", "eta seven"]);
    say(&store, "three", &[&HISTORY[..], &["zeta six", "eta seven"]].concat(), &["theta eight"]);
    let copy = folder.path().join("killed.db");
    for extension in ["db", "db-wal", "db-shm"] {
        std::fs::copy(path.with_extension(extension), copy.with_extension(extension)).unwrap();
    }
    let sound = portrait(&store).unwrap();
    (folder, copy, sound)
}

/// Damages the write-ahead file of a killed process's store.
#[track_caller]
fn check_torn(damage: impl Fn(&mut Vec<u8>), with_index: bool, what: &str) -> bool {
    let (_folder, path, sound) = killed();
    let log = path.with_extension("db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    damage(&mut bytes);
    std::fs::write(&log, &bytes).unwrap();
    if !with_index {
        std::fs::remove_file(path.with_extension("db-shm")).unwrap();
    }
    if !check(&path, &sound, what) {
        return false;
    }
    // It was said aloud once; what is left opens, and the verification goes on telling.
    let store = SqliteStore::open_existing(&path).unwrap();
    let findings = store.verify(false).unwrap();
    assert!(findings[0].what.contains("is torn"), "{what}: {findings:?}");
    assert!(file_beside(&path, "-wal.torn").exists());
    store.verify(true).unwrap();
    assert_eq!(store.verify(false).unwrap(), [], "{what}");
    true
}

pub(crate) fn file_beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

#[test]
fn a_killed_process_leaves_nothing_to_find() {
    assert!(!check_torn(|_| (), true, "nothing"));
    assert!(!check_torn(|_| (), false, "nothing, no index"));
    // A request that was cut off: pages without an end, or with half a page.
    let begun = |bytes: &mut Vec<u8>| {
        let mut frame = bytes[32..32 + 24 + 4096].to_vec();
        frame[4..8].fill(0);
        bytes.extend(&frame);
        bytes.extend(&frame[..1000]);
    };
    assert!(!check_torn(begun, true, "a request cut off"));
    assert!(!check_torn(begun, false, "a request cut off, no index"));
}

#[test]
fn a_torn_end_is_never_silent() {
    let length = |bytes: &Vec<u8>| bytes.len();
    for round in 0..24 {
        let cut = |bytes: &mut Vec<u8>| bytes.truncate(dice(round) as usize % length(bytes));
        assert!(check_torn(cut, true, &format!("cut {round}")));
        let flip = |bytes: &mut Vec<u8>| {
            let at = dice(round) as usize % length(bytes);
            bytes[at] ^= 1 << (round % 8);
        };
        assert!(check_torn(flip, true, &format!("flip {round}")));
    }
    assert!(check_torn(|bytes| bytes[40] ^= 1, false, "the first page, no index"));
    assert!(check_torn(|bytes| bytes[17] ^= 1, false, "the header, no index"));
}

/// What a process wrote is there, though the write-ahead file was taken away under it.
#[test]
fn a_log_that_is_removed_in_use_is_told_and_costs_nothing() {
    for (other, ending) in [(false, "none"), (true, "another")] {
        let (_folder, path) = filled();
        let store = SqliteStore::open_existing(&path).unwrap();
        say(&store, "three", &HISTORY, &["zeta six", "eta seven"]);
        let sound = portrait(&store).unwrap();
        let log = file_beside(&path, "-wal");
        std::fs::remove_file(&log).unwrap();
        if other {
            std::fs::write(&log, "").unwrap();
        }
        let said = [&HISTORY[..], &["zeta six", "eta seven"]].concat();
        let refused = store.append(SCOPE, "three", &batch(&said, &["theta eight"]));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("is no longer there") && error.contains("`-wal`"), "{error}");
        drop(store);
        let store = SqliteStore::open_existing(&path).unwrap();
        assert_eq!(portrait(&store).unwrap(), sound, "{ending}");
        assert_eq!(store.verify(false).unwrap(), [], "{ending}");
        say(&store, "three", &said, &["theta eight"]);
    }
}

/// What was set aside of a torn file holds what was said, too.
#[test]
fn what_is_erased_is_not_left_in_what_was_set_aside() {
    let (folder, path, _) = killed();
    let log = path.with_extension("db-wal");
    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&log, &bytes[..bytes.len() - 5000]).unwrap();
    assert!(SqliteStore::open_existing(&path).is_err());
    let aside = |nth: &str| file_beside(&path, &format!("-wal.torn{nth}"));
    assert!(aside("").exists());
    // Another one beside the first.
    drop(SqliteStore::open_existing(&path).unwrap());
    let mut other = bytes.clone();
    other[17] ^= 1;
    std::fs::write(&log, &other).unwrap();
    assert!(SqliteStore::open_existing(&path).is_err());
    assert_eq!(std::fs::read(aside(".2")).unwrap(), other);
    let store = SqliteStore::open_existing(&path).unwrap();
    store.erase(SCOPE, key("beta two")).unwrap();
    assert!(!aside("").exists() && !aside(".2").exists(), "{folder:?}");
}
