//! What every journal must do with lessons: keep the newest of each thing, apart from sessions.

use std::collections::BTreeMap;

use epitome_kernel::Journal;
use epitome_store::{SessionArchive, SqliteStore};

use crate::common::each_archive;
use crate::talk::{SCOPE, say};

fn lessons(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(about, lesson)| ((*about).to_owned(), (*lesson).to_owned())).collect()
}

#[test]
fn the_newest_lesson_about_a_thing_is_kept() {
    each_archive(|store| {
        assert_eq!(store.lessons(SCOPE).unwrap(), lessons(&[]));
        for (about, lesson) in [("one", "1"), ("two", "2"), ("one", "3"), ("one", "3")] {
            store.learn(SCOPE, about, lesson).unwrap();
        }
        assert_eq!(store.lessons(SCOPE).unwrap(), lessons(&[("one", "3"), ("two", "2")]));
        assert_eq!(store.lessons("elsewhere").unwrap(), lessons(&[]));
        assert_eq!(
            store.revision(SCOPE, "one").unwrap(),
            0,
            "no prompt that was made changes by it"
        );
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

#[test]
fn lessons_are_found_by_their_beginning() {
    each_archive(|store| {
        for about in ["a\t1", "a\t2", "ab\t1", "b", "ä\t1", "%\t1", "A\t1"] {
            store.learn(SCOPE, about, about).unwrap();
        }
        let check = |prefix: &str, expected: &[&str]| {
            let found = store.lessons_about(SCOPE, prefix).unwrap();
            assert_eq!(found.keys().collect::<Vec<_>>(), expected, "{prefix:?}");
            assert!(found.iter().all(|(about, lesson)| about == lesson));
        };
        check("a\t", &["a\t1", "a\t2"]);
        check("a", &["a\t1", "a\t2", "ab\t1"]);
        check("ä\t", &["ä\t1"]);
        check("%", &["%\t1"]);
        check("c", &[]);
        check("", &["%\t1", "A\t1", "a\t1", "a\t2", "ab\t1", "b", "ä\t1"]);
        assert!(store.lessons_about("elsewhere", "a").unwrap().is_empty());
    });
}

#[test]
fn the_first_lesson_that_is_learned_once_is_kept() {
    each_archive(|store| {
        let once = |lesson| store.learn_once(SCOPE, "one", lesson).unwrap();
        assert_eq!([once("1"), once("2"), once("1")], ["1", "1", "1"]);
        assert_eq!(store.lessons(SCOPE).unwrap(), lessons(&[("one", "1")]));
        store.learn(SCOPE, "one", "3").unwrap();
        assert_eq!(once("4"), "3");
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

/// Two processes that learn at the same time are told the same.
#[test]
fn whoever_learns_once_is_told_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let told = |own: &'static str| {
        let store = SqliteStore::open(&path).unwrap();
        move || -> Vec<_> {
            let abouts = (0..40).map(|about| about.to_string());
            abouts.map(|about| store.learn_once(SCOPE, &about, own).unwrap()).collect()
        }
    };
    let all: Vec<Vec<String>> = std::thread::scope(|scope| {
        let running = ["a", "b", "c"].map(|own| scope.spawn(told(own)));
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
}

#[test]
fn lessons_are_no_sessions() {
    each_archive(|store| {
        store.learn(SCOPE, "one", "1").unwrap();
        say(store, "a session", &[], &["a"]);
        store.delete(SCOPE, "a session").unwrap();
        assert_eq!(store.lessons(SCOPE).unwrap(), lessons(&[("one", "1")]));
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

#[test]
fn lessons_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    SqliteStore::open(&path).unwrap().learn(SCOPE, "one", "1").unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.lessons(SCOPE).unwrap(), lessons(&[("one", "1")]));
}
