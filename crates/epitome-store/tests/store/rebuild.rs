//! What is derived from records is made anew from them alone.

use std::path::{Path, PathBuf};

use epitome_store::{SessionArchive, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::damage::{fill, portrait};

fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    fill(&SqliteStore::open(&path).unwrap());
    (folder, path)
}

/// Every byte of every table, those of the full-text index too.
fn bytes(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'damage'
        AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name";
    let names: Vec<String> = {
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    };
    let mut all = Vec::new();
    for name in names {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let cells: Vec<_> =
                (0..columns).map(|at| format!("{:?}", row.get_ref(at).unwrap())).collect();
            all.push(format!("{name}: {}", cells.join(", ")));
        }
    }
    all
}

#[test]
fn a_sound_store_says_the_same_afterwards_byte_for_byte() {
    let (_folder, path) = filled();
    let store = SqliteStore::open(&path).unwrap();
    let sound = portrait(&store).unwrap();
    assert_eq!(store.rebuild().unwrap(), []);
    assert_eq!(portrait(&store).unwrap(), sound);
    assert_eq!(store.verify(false).unwrap(), []);
    drop(store);
    let first = bytes(&path);
    assert_eq!(SqliteStore::rebuild_file(&path).unwrap(), []);
    assert_eq!(bytes(&path), first);
}

/// Damages by hand what is derived, and has it made anew: each is named, and all is as it was.
#[track_caller]
fn check(damage: &str, named: &str) {
    let (_folder, path) = filled();
    let store = SqliteStore::open(&path).unwrap();
    let sound = portrait(&store).unwrap();
    store.rebuild().unwrap();
    drop(store);
    let whole = bytes(&path);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(damage).unwrap();
    drop(connection);

    let found = SqliteStore::rebuild_file(&path).unwrap();
    assert!(found.iter().any(|it| it.repaired && it.what.contains(named)), "{damage}: {found:?}");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.verify(false).unwrap(), [], "{damage}");
    assert_eq!(portrait(&store).unwrap(), sound, "{damage}");
    drop(store);
    assert_eq!(bytes(&path), whole, "{damage}");
}

#[test]
fn what_was_damaged_of_it_is_right_again() {
    check("UPDATE session SET messages = messages + 7", "counts");
    check("UPDATE epoch SET undone = 1 - undone", "is not marked as it stands");
    check("INSERT INTO passage_terms (passage_terms) VALUES ('delete-all')", "full-text index");
    check("INSERT INTO passage_terms (rowid, terms) VALUES (900, '1xghost ')", "full-text index");
    check(
        "DROP INDEX session_name; DROP INDEX message_chain",
        "the index `session_name` is missing",
    );
    // An index that lacks its rows.
    check(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = sql || ' WHERE id < 0' WHERE name = 'passage_order';
         PRAGMA writable_schema = RESET; REINDEX passage_order; PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, ' WHERE id < 0', '')
             WHERE name = 'passage_order';
         PRAGMA writable_schema = RESET",
        "passage_order",
    );
}

/// What was recorded cannot be made of anything else: it is found as before.
#[test]
fn a_record_that_is_lost_stays_found() {
    let (_folder, path) = filled();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("DELETE FROM message WHERE place = 1").unwrap();
    drop(connection);
    SqliteStore::rebuild_file(&path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert!(!store.verify(false).unwrap().is_empty());
}
