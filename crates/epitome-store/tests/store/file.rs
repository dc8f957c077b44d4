//! What holds for the store on disk alone: its file, its neighbours, its crashes.

#![expect(clippy::disallowed_methods, reason = "looks at the files themselves")]

use std::path::{Path, PathBuf};
use std::sync::Barrier;

use crate::common::{Chars, Conversation};
use crate::talk::{
    SCOPE, acts, answer, answer_said, batch, chain, departure_of, epoch, key, memos, say,
    say_findably,
};
use epitome_kernel::types::{Compaction, FactCounts, JournalMark};
use epitome_kernel::{CommitOutcome, Eviction, Journal, OriginalStore, SessionOf, StoreError};
use epitome_store::SessionArchive;
use epitome_store::{Durability, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    (folder, path)
}

fn one(text: &str) -> epitome_kernel::Eviction {
    Conversation::new().entry("user", text).departure()
}

fn found(store: &SqliteStore, query: &str) -> Vec<String> {
    let excerpts = store.search("a", query, 10_000, &Chars).unwrap();
    excerpts.into_iter().map(|excerpt| excerpt.text).collect()
}

#[cfg(unix)]
#[track_caller]
fn check_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let found = path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(format!("{found:o}"), format!("{mode:o}"), "{}", path.display());
}

#[cfg(unix)]
#[test]
fn files_are_private_from_creation() {
    let (folder, _) = place();
    let path = folder.path().join("deep/er/epitome.db");
    let store = SqliteStore::open(&path).unwrap();
    store.keep("a", &one("a secret")).unwrap();
    check_mode(&folder.path().join("deep"), 0o700);
    check_mode(&folder.path().join("deep/er"), 0o700);
    check_mode(&path, 0o600);
    check_mode(&path.with_extension("db-wal"), 0o600);
    check_mode(&path.with_extension("db-shm"), 0o600);
}

#[test]
fn what_was_kept_is_there_after_reopening() {
    let (_folder, path) = place();
    SqliteStore::open(&path).unwrap().keep("a", &one("the lighthouse")).unwrap();
    let store = SqliteStore::open_existing(&path).unwrap();
    assert_eq!(found(&store, "lighthouse"), ["the lighthouse"]);
    // All of it is in the one file by then.
    drop(store);
    assert!(!path.with_extension("db-wal").exists());
}

#[test]
fn reading_never_creates_a_store() {
    let (_folder, path) = place();
    let error = SqliteStore::open_existing(&path).unwrap_err();
    assert!(error.to_string().contains("epitome.db"), "{error}");
    assert!(error.to_string().contains("no such file"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_store_that_cannot_be_created_says_where() {
    let (folder, path) = place();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = SqliteStore::open(&folder.path().join("file/epitome.db")).unwrap_err();
    assert!(error.to_string().contains("file/epitome.db` cannot be created"), "{error}");
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Broken { .. })));
}

#[test]
fn a_newer_store_is_refused_untouched() {
    let (_folder, path) = place();
    drop(SqliteStore::open(&path).unwrap());
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 999).unwrap();
    drop(raw);
    let before = std::fs::read(&path).unwrap();
    for open in [SqliteStore::open, SqliteStore::open_existing] {
        let error = open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 999, known: 10 }), "{error}");
    }
    assert!(std::fs::read(&path).unwrap() == before, "the file changed");
}

#[test]
fn a_file_that_is_no_store_is_refused_untouched() {
    let (_folder, path) = place();
    let text = "this is a letter, not a database. ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    for open in [SqliteStore::open, SqliteStore::open_existing] {
        let error = open(&path).unwrap_err();
        assert!(error.to_string().contains("epitome.db"), "{error}");
        assert!(error.to_string().contains("not a database"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_database_of_another_program_is_refused_untouched() {
    let (_folder, path) = place();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert!(std::fs::read(&path).unwrap() == before, "the file changed");
}

#[test]
fn a_failing_keep_leaves_nothing() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.keep("a", &one("kept before")).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(
        "CREATE TRIGGER full BEFORE INSERT ON passage WHEN NEW.source LIKE 'e2 %'
         BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    .unwrap();
    let departure = Conversation::new()
        .entry("user", "first novelty")
        .entry("user", "second novelty")
        .entry("user", "third novelty")
        .departure();
    let error = store.keep("a", &departure).unwrap_err();
    assert!(error.to_string().contains("cannot be written: disk full"), "{error}");
    assert_eq!(found(&store, "novelty"), [""; 0]);
    assert_eq!(found(&store, "kept"), ["kept before"]);
    let id = departure.blobs[0].id.to_string();
    assert!(matches!(store.original("a", &id), Err(StoreError::Unknown { .. })));
    // Nothing of it hinders a second attempt.
    raw.execute_batch("DROP TRIGGER full").unwrap();
    store.keep("a", &departure).unwrap();
    assert_eq!(found(&store, "novelty").len(), 3);
}

#[test]
fn two_connections_write_and_read_at_once() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let store = SqliteStore::open(path).unwrap();
                for round in 0..10 {
                    let text = format!("writer {writer} in round {round}");
                    store.keep("a", &one(&text)).unwrap();
                    assert!(found(&store, &text).concat().contains(&text));
                }
            });
        }
    });
    let store = SqliteStore::open_existing(&path).unwrap();
    assert_eq!(found(&store, "writer").len(), 40);
}

#[test]
fn many_make_the_same_store_at_once() {
    for _ in 0..40 {
        let (_folder, path) = place();
        let together = Barrier::new(8);
        std::thread::scope(|scope| {
            let opened = || {
                together.wait();
                SqliteStore::open(&path).map(drop)
            };
            let hands = [(); 8].map(|()| scope.spawn(opened));
            for hand in hands {
                hand.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn text_is_stored_once() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let departure = Conversation::new().cut("read", &["marker one", "marker two"]).departure();
    store.keep("a", &departure).unwrap();
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    let copies = bytes.windows(6).filter(|window| window == b"marker").count();
    // Once in the original for each passage; the index holds it as one term.
    assert_eq!(copies, 2 + 1);
}

/// Takes a store back to the schema of an earlier version.
pub(crate) fn take_back(path: &Path, version: u32) {
    let raw = Connection::open(path).unwrap();
    let drop_tables = |tables: &[&str]| {
        for table in tables {
            raw.execute_batch(&format!("DROP TABLE {table}")).unwrap();
        }
    };
    raw.execute_batch(
        "ALTER TABLE act DROP COLUMN sum;
        ALTER TABLE mark DROP COLUMN sum;
        ALTER TABLE memo DROP COLUMN sum;
        ALTER TABLE lesson DROP COLUMN sum;
        ALTER TABLE session DROP COLUMN meter;
        DROP INDEX passage_session;
        DROP INDEX passage_text;
        DELETE FROM passage_terms WHERE rowid IN (SELECT id FROM passage AS later WHERE EXISTS
            (SELECT 1 FROM passage WHERE passage.scope = later.scope
             AND passage.text_id = later.text_id AND passage.id < later.id));
        DELETE FROM passage WHERE EXISTS (SELECT 1 FROM passage AS first
            WHERE first.scope = passage.scope AND first.text_id = passage.text_id
            AND first.id < passage.id);
        CREATE UNIQUE INDEX passage_text ON passage (scope, text_id);
        ALTER TABLE passage DROP COLUMN session;",
    )
    .unwrap();
    if version < 7 {
        take_back_sessions(&raw);
    }
    if version < 6 {
        drop_tables(&["lesson"]);
    }
    if version < 5 {
        drop_tables(&["act"]);
        raw.execute_batch("ALTER TABLE epoch DROP COLUMN must_keep").unwrap();
    }
    if version < 4 {
        drop_tables(&["answer"]);
    }
    if version < 3 {
        drop_tables(&["memo"]);
    }
    if version == 1 {
        drop_tables(&[
            "held", "raw", "branch", "message", "session", "rewrite", "epoch", "mark", "snapshot",
            "erased", "damage",
        ]);
        raw.execute_batch("DROP INDEX passage_original").unwrap();
        for column in ["seen", "used", "indexed", "records", "sum"] {
            raw.execute_batch(&format!("ALTER TABLE scope DROP COLUMN {column}")).unwrap();
        }
    }
    raw.pragma_update(None, "user_version", version).unwrap();
}

/// Takes a store back to a schema in which sessions shared what they said.
fn take_back_sessions(raw: &Connection) {
    raw.execute_batch(
        "DROP INDEX session_label;
        DROP INDEX message_chain;
        CREATE UNIQUE INDEX message_chain ON message (scope, chain);
        DROP INDEX epoch_id;
        CREATE UNIQUE INDEX epoch_id ON epoch (scope, epoch);
        DROP INDEX rewrite_key;
        CREATE UNIQUE INDEX rewrite_key ON rewrite (scope, key, part);
        ALTER TABLE session DROP COLUMN label;
        ALTER TABLE session DROP COLUMN opened;
        ALTER TABLE scope DROP COLUMN whole;
        ALTER TABLE act DROP COLUMN place;
        ALTER TABLE epoch DROP COLUMN place;
        ALTER TABLE mark DROP COLUMN place;
        ALTER TABLE message DROP COLUMN shared;
        ALTER TABLE rewrite DROP COLUMN session;",
    )
    .unwrap();
}

#[test]
fn an_older_store_becomes_a_journal() {
    for version in [1, 2, 3, 4, 5, 6] {
        let (_folder, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        store.keep("a", &one("the lighthouse")).unwrap();
        drop(store);
        take_back(&path, version);
        let store = SqliteStore::open_existing(&path).unwrap();
        assert_eq!(found(&store, "lighthouse"), ["the lighthouse"], "{version}");
        say(&store, "one", &[], &["a", "b"]);
        store.note(SCOPE, "one", &memos(&[("default", "{}")])).unwrap();
        store.record_response(SCOPE, "one", &answer(&["a", "b"], "c")).unwrap();
        store.act(SCOPE, "one", &acts()).unwrap();
        store.learn(SCOPE, "a model", "{}").unwrap();
        assert_eq!(store.verify(false).unwrap(), [], "{version}");
        assert_eq!(store.delete(SCOPE, "one").unwrap(), 2, "{version}");
        assert_eq!(store.verify(false).unwrap(), [], "{version}");
    }
}

#[test]
fn an_older_journal_keeps_all_that_it_holds() {
    for version in [2, 3, 4] {
        check_kept(version);
    }
}

#[test]
fn what_an_older_journal_recorded_once_for_two_sessions_is_read_by_both() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    say(&store, "one", &[], &["a", "b", "c"]);
    say(&store, "two", &[], &["a", "b"]);
    drop(store);
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("DELETE FROM message WHERE session = 2").unwrap();
    drop(raw);
    take_back(&path, 6);
    let store = SqliteStore::open_existing(&path).unwrap();
    let said = || store.history(SCOPE, "two", chain(&["a", "b"]), 0, 9).unwrap();
    assert_eq!(said(), batch(&[], &["a", "b"]).said);
    store.append(SCOPE, "two", &batch(&["a", "b"], &["x"])).unwrap();
    let all = store.history(SCOPE, "two", chain(&["a", "b", "x"]), 0, 9).unwrap();
    assert_eq!(all, batch(&[], &["a", "b", "x"]).said);
    store.delete(SCOPE, "one").unwrap();
    assert_eq!(said(), batch(&[], &["a", "b"]).said);
}

/// In an older store the first session that said something had its passages alone.
#[test]
fn what_an_older_journal_found_in_one_session_is_found_in_all_that_said_it() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    for (name, other) in [("one", "blue plums"), ("two", "green pears")] {
        say_findably(&store, name, &["red apples", other]);
    }
    drop(store);
    take_back(&path, 7);
    let store = SqliteStore::open_existing(&path).unwrap();
    let found = |session: &str, query: &str| -> Vec<String> {
        let of = SessionOf { scope: SCOPE, session };
        let excerpts = store.search_session(of, query, 999, &Chars).unwrap();
        excerpts.into_iter().map(|excerpt| excerpt.source).collect()
    };
    assert_eq!(found("one", "apples"), ["one: e0 user"]);
    assert_eq!(found("two", "pears"), ["two: e1 user"]);
    // What both hold is offered again.
    let open = store.unindexed(SCOPE, 99).unwrap();
    let open: Vec<_> = open.iter().map(|(name, said)| (name.as_str(), said.place)).collect();
    assert_eq!(open, [("one", 0), ("two", 0)]);
    for name in ["one", "two"] {
        let departure = departure_of(name, &["red apples"]);
        store.index(SCOPE, name, &[chain(&["red apples"])], &departure).unwrap();
    }
    assert_eq!(found("one", "apples"), ["one: e0 user"]);
    assert_eq!(found("two", "apples"), ["two: e0 user"]);
}

#[track_caller]
fn check_kept(version: u32) {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    say(&store, "one", &[], &["a", "b"]);
    // As it was made before there was a score, and before it was said who ordered what.
    let mut old = Compaction { credits: Vec::new(), ..epoch(&["a", "b"], "s") };
    old.outcome.must_keep = FactCounts::default();
    old.id = old.hash();
    store.commit(SCOPE, "one", &old, &Eviction::default(), 0).unwrap();
    let before = store.session(SCOPE, "one").unwrap();
    drop(store);
    take_back(&path, version);
    let store = SqliteStore::open_existing(&path).unwrap();
    assert_eq!(store.verify(false).unwrap(), []);
    assert_eq!(store.session(SCOPE, "one").unwrap(), before);
    assert_eq!(
        store.history(SCOPE, "one", chain(&["a", "b"]), 0, 9).unwrap(),
        batch(&[], &["a", "b"]).said
    );
    assert_eq!(store.compactions_of_session(SCOPE, "one").unwrap()[0].epoch, old);
    assert_eq!(store.revision(SCOPE, "one").unwrap(), 1);
    let new = epoch(&["a", "b"], "anew");
    store.commit(SCOPE, "one", &new, &Eviction::default(), 1).unwrap();
    store.act(SCOPE, "one", &acts()).unwrap();
    store.note(SCOPE, "one", &memos(&[("default", "{}")])).unwrap();
    store.record_response(SCOPE, "one", &answer(&["a", "b"], "c")).unwrap();
    drop(store);
    let store = SqliteStore::open_existing(&path).unwrap();
    assert_eq!(store.answer(SCOPE, "one").unwrap(), Some(answer_said(&["a", "b"], "c")));
    assert_eq!(store.memos(SCOPE, "one").unwrap(), memos(&[("default", "{}")]));
    assert_eq!(store.acts(SCOPE, "one").unwrap(), acts());
    assert_eq!(store.compactions_of_session(SCOPE, "one").unwrap()[1].epoch, new);
    assert_eq!(store.verify(false).unwrap(), []);
}

#[test]
fn two_connections_record_one_session() {
    let (_folder, path) = place();
    let (first, second) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    say(&first, "one", &[], &["a"]);
    say(&second, "one", &["a"], &["b"]);
    let run = epoch(&["a", "b"], "s");
    let seen = first.revision(SCOPE, "one").unwrap();
    second.record_mark(SCOPE, "one", &JournalMark::Pin(key("a")), "now").unwrap();
    let late = first.commit(SCOPE, "one", &run, &Eviction::default(), seen).unwrap();
    assert_eq!(late, CommitOutcome::Behind);
    let done = first.commit(SCOPE, "one", &run, &Eviction::default(), seen + 1).unwrap();
    assert_eq!(done, CommitOutcome::Done(seen + 2));
    second.record_mark(SCOPE, "one", &JournalMark::Undo(run.id), "now").unwrap();
    assert!(first.compactions_of_session(SCOPE, "one").unwrap()[0].undone);
    assert_eq!(first.session(SCOPE, "one").unwrap(), second.session(SCOPE, "one").unwrap());
}

#[test]
fn a_failing_request_leaves_nothing() {
    let (_folder, path) = place();
    let store = SqliteStore::open_with(&path, Durability::Full).unwrap();
    say(&store, "one", &[], &["a"]);
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(
        "CREATE TRIGGER full BEFORE INSERT ON message WHEN NEW.place = 2
         BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    .unwrap();
    let error = store.append(SCOPE, "one", &batch(&["a"], &["b", "c"])).unwrap_err();
    assert!(error.to_string().contains("cannot be written: disk full"), "{error}");
    raw.execute_batch("DROP TRIGGER full").unwrap();
    assert_eq!(store.session(SCOPE, "one").unwrap().figures.messages, 1);
    assert!(store.history(SCOPE, "one", chain(&["a", "b"]), 0, 9).is_err());
    say(&store, "one", &["a"], &["b", "c"]);
    assert_eq!(store.verify(false).unwrap(), []);
}

#[test]
fn an_erasure_that_another_process_holds_up_says_so() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    say(&store, "one", &[], &["a"]);
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM message").unwrap();
    let error = store.erase(SCOPE, key("a")).unwrap_err();
    assert!(error.to_string().contains("cannot be cleared of old pages"), "{error}");
    assert_eq!(store.history(SCOPE, "one", chain(&["a"]), 0, 9).unwrap()[0].bytes, None);
    reader.execute_batch("COMMIT").unwrap();
    store.erase(SCOPE, key("a")).unwrap();
}
