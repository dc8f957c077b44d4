//! Copies from one store into another: nothing is lost on the way, and nothing is copied twice.

use epitome_kernel::types::{GoalChange, JournalMark, SnapshotPurpose};
use epitome_kernel::{AppendBatch, Journal};
use epitome_store::{
    MemoryStore, SessionArchive, SqliteStore, TransferMode, TransferReport, TransferStore, transfer,
};
use tempfile::TempDir;

use crate::common::{Chars, Conversation};
use crate::talk::{
    LONG, SCOPE, acts, answer, batch, chains, departure, departure_of, epoch, goal, key, keys,
    memos, rewrite, say, say_findably, snapshot,
};

const HISTORY: [&str; 5] = ["alpha one", "beta two", LONG, "delta four", "epsilon five"];

fn on_disk() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
    (folder, store)
}

/// Records something of every kind.
fn fill(store: &dyn SessionArchive) {
    let mut first = batch(&[], &HISTORY[..3]);
    first.rewrites = vec![rewrite(HISTORY[1], "see there")];
    first.departure = departure(&HISTORY[1..2]);
    first.label = Some("ses_client".into());
    store.append(SCOPE, "one", &first).unwrap();
    say(store, "one", &HISTORY[..3], &HISTORY[3..]);
    say(store, "two", &HISTORY[..2], &["another way"]);
    say(store, "one", &HISTORY[..2], &["a rewind"]);
    say(store, "one", &HISTORY, &[]);
    let first = epoch(&HISTORY[..2], "a summary of two messages");
    let second = epoch(&HISTORY[..3], "a summary of three messages");
    for made in [&first, &second] {
        let seen = store.revision(SCOPE, "one").unwrap();
        store.commit(SCOPE, "one", made, &departure_of("one", &HISTORY[..2]), seen).unwrap();
    }
    store.record_mark(SCOPE, "one", &JournalMark::Undo(first.id), "now").unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Undo(second.id), "now").unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Redo(first.id), "now").unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Pin(key(HISTORY[0])), "now").unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Pin(key(HISTORY[1])), "now").unwrap();
    store.record_mark(SCOPE, "one", &JournalMark::Unpin(key(HISTORY[0])), "now").unwrap();
    for (id, session) in [("s1", "one"), ("s2", "two"), ("s3", "one")] {
        let made = snapshot(id, session, SnapshotPurpose::Recovery, &HISTORY[..2]);
        store.save_snapshot(SCOPE, &made, 5).unwrap();
    }
    say_findably(store, "three", &["where is the harbour", "the harbour is in the south"]);
    say_findably(store, "four", &["where is the harbour", "in the north"]);
    store.act(SCOPE, "one", &acts()).unwrap();
    store.act(SCOPE, "two", &acts()[..1]).unwrap();
    store.record_response(SCOPE, "one", &answer(&HISTORY[..2], LONG)).unwrap();
    store.record_response(SCOPE, "one", &answer(&HISTORY, "zeta, which nobody sent back")).unwrap();
    store.record_response(SCOPE, "two", &answer(&HISTORY[..2], "another way")).unwrap();
    store.erase(SCOPE, key("another way")).unwrap();
    store.note(SCOPE, "one", &memos(&[("default", r#"{"turns":2}"#), ("other", "{}")])).unwrap();
    store.set_trashed(SCOPE, "two", true).unwrap();
    store.learn(SCOPE, "a model", r#"{"limit":7}"#).unwrap();
    store.begin(SCOPE, "empty", &epitome_kernel::Beginning::default(), "2026-01-01").unwrap();
    let outside = Conversation::new().entry("read_file", "fn main() {}").departure();
    store.keep("another scope", &outside).unwrap();
}

/// All that people and prompts get from a store.
fn portrait(store: &dyn SessionArchive) -> Vec<String> {
    let mut told = vec![format!("{:?}", store.snapshots(SCOPE, None).unwrap())];
    let sessions = store.sessions(SCOPE, 0, 99, true).unwrap();
    told.push(format!("{sessions:#?}"));
    for name in sessions.iter().map(|session| session.name.as_str()) {
        for branch in store.branches(SCOPE, name).unwrap() {
            let said = store.history(SCOPE, name, branch.head, 0, 99).unwrap();
            let answer = store.answer_to(SCOPE, name, branch.head).unwrap();
            told.push(format!("{name}: {branch:?} {said:?} {answer:?}"));
        }
        let set = store.compactions(SCOPE, name, &keys(&HISTORY)).unwrap();
        told.push(format!("{name}: {:?} {:?}", set.recorded, set.pins));
        told.push(format!("{:?}", store.compactions_of_session(SCOPE, name).unwrap()));
        told.push(format!("{:?}", store.acts(SCOPE, name).unwrap()));
        told.push(format!("{:?}", store.rewrites(SCOPE, name, &keys(&HISTORY)).unwrap()));
        told.push(format!("{:?}", store.memos(SCOPE, name).unwrap()));
        told.push(format!("{:?}", store.meter(SCOPE, name).unwrap()));
        told.push(format!("{:?}", store.find_deepest(SCOPE, name, &chains(&HISTORY)).unwrap()));
    }
    // Which session the search learns first is nobody's concern.
    let mut open = store.unindexed(SCOPE, 99).unwrap();
    open.sort_by(|one, other| one.0.cmp(&other.0));
    told.push(format!("{open:?}"));
    told.push(format!("{:?}", store.lessons(SCOPE).unwrap()));
    told.push(format!("{:?}", store.erased(SCOPE).unwrap()));
    for (scope, query) in [(SCOPE, "harbour"), (SCOPE, "alpha"), ("another scope", "main")] {
        told.push(format!("{:?}", store.search(scope, query, 999, &Chars).unwrap()));
    }
    told
}

fn copy(from: &dyn TransferStore, to: &dyn TransferStore) -> TransferReport {
    transfer(from, to, TransferMode::Add, &mut |_| {}).unwrap()
}

#[track_caller]
fn check_equal(one: &dyn SessionArchive, other: &dyn SessionArchive) {
    for (one, other) in portrait(one).into_iter().zip(portrait(other)) {
        assert_eq!(one, other);
    }
}

#[test]
fn a_copy_there_and_back_says_the_same() {
    let (_folder, disk) = on_disk();
    fill(&disk);
    let (log, (_other, back)) = (MemoryStore::new(), on_disk());
    let there = copy(&disk, &log);
    assert_eq!((there.sessions, there.copied, &there.differ), (5, 5, &Vec::new()));
    check_equal(&disk, &log);
    let returned = copy(&log, &back);
    assert_eq!(returned.differ, Vec::<String>::new());
    check_equal(&disk, &back);
    assert_eq!(back.verify(false).unwrap(), []);
}

#[test]
fn a_log_is_copied_into_a_log_and_onto_a_disk() {
    let (first, second) = (MemoryStore::new(), MemoryStore::new());
    fill(&first);
    assert_eq!(copy(&first, &second).differ, Vec::<String>::new());
    check_equal(&first, &second);
    let (_folder, disk) = on_disk();
    assert_eq!(copy(&first, &disk).differ, Vec::<String>::new());
    check_equal(&first, &disk);
    assert_eq!(disk.verify(false).unwrap(), []);
}

#[test]
fn a_second_copy_brings_what_is_new() {
    let (_folder, disk) = on_disk();
    let (_other, log) = (on_disk(), MemoryStore::new());
    fill(&disk);
    copy(&disk, &log);
    let again = copy(&disk, &log);
    assert_eq!((again.same, again.messages, again.bytes), (5, 0, 0));
    say(&disk, "one", &HISTORY, &["zeta", "eta"]);
    say(&disk, "five", &[], &["a new session"]);
    let third = epoch(&HISTORY[..4], "a summary of four messages");
    let seen = disk.revision(SCOPE, "one").unwrap();
    disk.commit(SCOPE, "one", &third, &departure(&HISTORY[2..4]), seen).unwrap();
    let undone = disk.compactions_of_session(SCOPE, "one").unwrap()[1].epoch.id;
    disk.record_mark(SCOPE, "one", &JournalMark::Redo(undone), "now").unwrap();
    disk.act(SCOPE, "three", &[goal(GoalChange::Pause)]).unwrap();
    disk.erase(SCOPE, key("in the north")).unwrap();
    disk.learn(SCOPE, "a model", r#"{"limit":9}"#).unwrap();
    let new = copy(&disk, &log);
    assert_eq!((new.copied, new.completed, new.messages), (1, 2, 3));
    assert_eq!(new.differ, Vec::<String>::new());
    check_equal(&disk, &log);
}

/// What one session sends in the place of a result may be an original of another one from then on.
#[test]
fn a_copy_of_a_store_in_use_is_the_same_in_both() {
    let (_folder, from) = on_disk();
    let (_other, to) = on_disk();
    let smaller = AppendBatch { rewrites: vec![rewrite("b", "less")], ..batch(&[], &["a", "b"]) };
    from.append(SCOPE, "one", &smaller).unwrap();
    say(&from, "two", &[], &["c", "d"]);
    let mut came = false;
    let report = transfer(&from, &to, TransferMode::Add, &mut |progress| {
        if progress.session == "two" && !std::mem::replace(&mut came, true) {
            let mut left = batch(&["c", "d"], &["e"]);
            left.departure = departure(&["less"]);
            from.append(SCOPE, "two", &left).unwrap();
        }
    });
    let report = report.unwrap();
    assert_eq!((report.differ, report.copied, came), (Vec::new(), 2, true));
    check_equal(&from, &to);
}

#[test]
fn a_session_that_went_on_in_both_is_left_and_named() {
    let (_folder, disk) = on_disk();
    let log = MemoryStore::new();
    fill(&disk);
    copy(&disk, &log);
    say(&disk, "three", &["where is the harbour"], &["said here"]);
    say(&log, "three", &["where is the harbour"], &["said there"]);
    say(&log, "of its own", &[], &["only there"]);
    let before = log.history(SCOPE, "three", log.session(SCOPE, "three").unwrap().head, 0, 9);
    let report = copy(&disk, &log);
    assert_eq!(report.differ, [format!("{SCOPE}: the session `three`")]);
    let after = log.history(SCOPE, "three", log.session(SCOPE, "three").unwrap().head, 0, 9);
    assert_eq!(before.unwrap(), after.unwrap());
    let mirrored = transfer(&disk, &log, TransferMode::Mirror, &mut |_| {}).unwrap();
    assert_eq!((mirrored.removed, &mirrored.differ), (1, &Vec::new()));
    let names = |store: &dyn TransferStore| {
        let begun = store.beginnings(SCOPE).unwrap().into_iter().map(|it| it.name);
        begun.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(&disk), names(&log));
}

#[test]
fn a_large_session_comes_in_portions_and_a_broken_copy_is_taken_up() {
    let (_folder, disk) = on_disk();
    let texts: Vec<String> = (0..5_000).map(|at| format!("message {at}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    say(&disk, "long", &[], &texts);
    let log = MemoryStore::new();
    let whole = disk.session_copy(SCOPE, "long").unwrap();
    // As a copy leaves it that broke off in the middle.
    let started = disk.session(SCOPE, "long").unwrap().started;
    log.begin(SCOPE, "long", &epitome_kernel::Beginning::default(), &started).unwrap();
    let part = epitome_store::SessionCopy {
        said: whole.said[..1_234].to_vec(),
        ..epitome_store::SessionCopy::default()
    };
    log.take(SCOPE, "long", &part).unwrap();
    let mut told = 0;
    let report = transfer(&disk, &log, TransferMode::Mirror, &mut |_| told += 1).unwrap();
    assert_eq!((report.completed, report.messages), (1, 5_000 - 1_234));
    assert!(told > 3, "{told}");
    let sessions = |store: &dyn SessionArchive| store.sessions(SCOPE, 0, 9, true).unwrap();
    assert_eq!(sessions(&disk), sessions(&log));
}
