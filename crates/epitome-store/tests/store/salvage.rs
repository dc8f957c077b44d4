//! What is salvaged of damaged files: all but the record that was damaged.

#![expect(clippy::disallowed_methods, reason = "damages the files themselves")]
#![expect(clippy::print_stdout, reason = "tells what was lost of how many files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use epitome_kernel::types::{HistoryHash, JournalMark, SnapshotPurpose};
use epitome_kernel::{Journal, OriginalStore};
use epitome_store::{
    MemoryStore, SessionArchive, SqliteStore, TransferMode, TransferStore, transfer,
};
use tempfile::TempDir;

use crate::talk::{
    LONG, SCOPE, acts, answer, batch_of, departure, departure_of, epoch, key, memos, rewrite, say,
    say_findably, snapshot,
};

/// Names how many files are damaged; as many as are quickly read unless that is set.
const FILES: &str = "EPITOME_DAMAGED_FILES";
const FEW: u64 = 40;

/// Messages of the longest session.
const SAID: usize = 200;

const PAGE: usize = 4096;

/// The files of a store, as they are on disk: the newest messages are in the log.
#[derive(Clone)]
struct Files {
    main: Vec<u8>,
    log: Vec<u8>,
    /// What a killed process leaves beside them: it knows how long the log was.
    index: Vec<u8>,
}

/// A message with what it says, by its session and history.
type Told = BTreeMap<(String, HistoryHash), Option<Vec<u8>>>;

fn texts() -> Vec<String> {
    let text = |at: usize| match at % 20 {
        3 => format!("{at} {LONG}"),
        _ => format!("message {at} {}", "of the march ".repeat(at % 37)),
    };
    (0..SAID).map(text).collect()
}

/// A store in which something of every kind is recorded, at work.
fn filled() -> (TempDir, PathBuf, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let store = SqliteStore::open(&path).unwrap();
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let say_from = |from: usize, to: usize| {
        for at in (from..to).step_by(5) {
            say(&store, "one", &texts[..at], &texts[at..at + 5]);
            store.record_response(SCOPE, "one", &answer(&texts[..at], texts[at])).unwrap();
        }
    };
    let mut first = batch_of(&store, "two", &[], &texts[..20]);
    first.rewrites = vec![rewrite(texts[1], "see there")];
    first.departure = departure(&texts[1..2]);
    store.append(SCOPE, "two", &first).unwrap();
    say(&store, "two", &texts[..20], &["another way"]);
    say(&store, "two", &texts[..9], &["a rewind", "and on"]);
    say_from(0, SAID - 10);
    say_findably(&store, "three", &["where is the harbour", "in the south"]);
    for run in [&texts[..2], &texts[..8]] {
        let made = epoch(run, &format!("a summary of {} messages", run.len()));
        let seen = store.revision(SCOPE, "one").unwrap();
        store.commit(SCOPE, "one", &made, &departure_of("one", run), seen).unwrap();
    }
    store.record_mark(SCOPE, "one", &JournalMark::Pin(key(texts[0])), "now").unwrap();
    let made = snapshot("s1", "one", SnapshotPurpose::Recovery, &texts[..40]);
    store.save_snapshot(SCOPE, &made, 5).unwrap();
    store.note(SCOPE, "one", &memos(&[("default", r#"{"turns":2}"#)])).unwrap();
    store.act(SCOPE, "one", &acts()).unwrap();
    store.learn(SCOPE, "a model", r#"{"limit":7}"#).unwrap();
    store.keep("another scope", &departure(&["fn main() {}"])).unwrap();
    // What was said so far is in the file itself.
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    for at in (SAID - 10..SAID).step_by(5) {
        say(&store, "one", &texts[..at], &texts[at..at + 5]);
    }
    (folder, path, store)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn files(path: &Path) -> Files {
    let [main, log, index] =
        ["", "-wal", "-shm"].map(|end| std::fs::read(beside(path, end)).unwrap());
    Files { main, log, index }
}

/// What a store tells.
fn told(store: &dyn TransferStore) -> Told {
    let sessions = store.beginnings(SCOPE).unwrap().into_iter().map(|begun| begun.name);
    let said = sessions.flat_map(|name| {
        let copy = store.session_copy(SCOPE, &name).unwrap();
        copy.said.into_iter().map(move |it| ((name.clone(), it.said.chain), it.said.bytes))
    });
    said.collect()
}

/// Numbers as if thrown by dice, the same every time.
fn dice(seed: u64, most: usize) -> usize {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 32)) as usize % most
}

/// What is given of damaged files, into a store that anybody may have.
struct Trial {
    folder: TempDir,
    whole: Told,
}

impl Trial {
    /// How many messages are missing, and how many records held them; none is another one than was said.
    fn missing(&self, files: &Files, what: &str) -> [usize; 2] {
        let path = self.folder.path().join("bad.db");
        std::fs::write(&path, &files.main).unwrap();
        std::fs::write(beside(&path, "-shm"), &files.index).unwrap();
        match files.log.is_empty() {
            true => drop(std::fs::remove_file(beside(&path, "-wal"))),
            false => std::fs::write(beside(&path, "-wal"), &files.log).unwrap(),
        }
        let Ok(found) = SqliteStore::salvage(&path) else { return [self.whole.len(); 2] };
        let new = MemoryStore::new();
        let report = transfer(&found.store, &new, TransferMode::Add, &mut |_| {});
        assert_eq!(report.unwrap().differ, Vec::<String>::new(), "{what}");
        let given = told(&new);
        for (at, bytes) in given.iter().filter(|(_, bytes)| bytes.is_some()) {
            if at.0.starts_with("salvaged-") {
                continue;
            }
            assert_eq!(self.whole.get(at), Some(bytes), "{what}: {at:?}");
        }
        if given.values().any(Option::is_none) {
            let path = self.folder.path().join("new.db");
            let new = SqliteStore::open(&path).unwrap();
            transfer(&found.store, &new, TransferMode::Add, &mut |_| {}).unwrap();
            assert_eq!(new.verify(false).unwrap(), [], "{what}");
            drop(new);
            std::fs::remove_file(path).unwrap();
        }
        let lost = || self.whole.iter().filter(|(at, said)| given.get(*at) != Some(*said));
        // What is long stands once for all sessions that say it.
        let records: BTreeSet<_> = lost().map(|(at, _)| at.1).collect();
        assert!(records.is_empty() || !found.missing.is_empty(), "{what}: nothing is said");
        [lost().count(), records.len()]
    }
}

#[test]
fn nothing_is_lost_of_a_sound_file() {
    let (folder, path, store) = filled();
    let found = SqliteStore::salvage(&path).unwrap();
    assert_eq!(found.missing, Vec::<String>::new());
    let new = SqliteStore::open(&folder.path().join("new.db")).unwrap();
    let report = transfer(&found.store, &new, TransferMode::Add, &mut |_| {}).unwrap();
    assert_eq!((report.sessions, report.copied, report.differ), (3, 3, Vec::new()));
    let again = transfer(&store, &new, TransferMode::Mirror, &mut |_| {}).unwrap();
    assert_eq!((again.same, again.bytes, again.removed, again.differ), (3, 0, 0, Vec::new()));
    assert_eq!(new.verify(false).unwrap(), []);
}

#[test]
fn damage_costs_the_record_that_it_is_in() {
    let (folder, path, store) = filled();
    let (sound, trial) = (files(&path), Trial { folder, whole: told(&store) });
    drop(store);
    let count = std::env::var(FILES).map_or(FEW, |count| count.parse().unwrap());
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for round in 0..count {
        let Files { mut main, mut log, index } = sound.clone();
        let (at, bit) = (dice(round * 3, main.len()), 1 << dice(round * 3 + 1, 8));
        let within = dice(round * 3 + 2, log.len());
        let kind = match round % 8 {
            0..=2 => {
                main[at] ^= bit;
                "a bit of the file"
            }
            3 => {
                log[within] ^= bit;
                "a bit of the log"
            }
            4 => {
                let from = at / PAGE * PAGE;
                main[from + at % PAGE / 512 * 512..from + PAGE].fill(0);
                "a torn page"
            }
            5 => {
                main.truncate(main.len() - dice(round, main.len() / 5));
                "a cut file"
            }
            6 => {
                log.truncate(within);
                "a cut log"
            }
            _ => {
                log.clear();
                "no log"
            }
        };
        let [missing, records] =
            trial.missing(&Files { main, log, index }, &format!("{kind}, {round}"));
        let [files, lost, worst] = kinds.entry(kind).or_default();
        (*files, *lost, *worst) = (*files + 1, *lost + missing, (*worst).max(missing));
        assert!(!kind.starts_with("a bit") || records <= 1, "{kind}, {round}: {records} are lost");
    }
    println!("{} messages; damage: files, lost, most in one: {kinds:?}", trial.whole.len());
    let lost = kinds.values().map(|[_, lost, _]| lost).sum::<usize>();
    assert!(lost * 20 <= trial.whole.len() * count as usize, "{kinds:?}");
}

#[test]
fn what_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.db");
    for bytes in [&b""[..], b"this is no store", &[13; 9_000]] {
        std::fs::write(&bad, bytes).unwrap();
        let error = SqliteStore::salvage(&bad).unwrap_err().to_string();
        assert!(error.contains("nothing of a store"), "{error}");
    }
}
