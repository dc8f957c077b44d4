//! What leaves in many passages is written a portion at a time: others get the file in between.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::{Chars, Conversation};
use crate::file::place;
use crate::talk::{SCOPE, epoch, key, say};
use epitome_kernel::{Eviction, Journal, OriginalStore, SessionOf};
use epitome_store::{SessionArchive, SqliteStore};

/// A message so long that what leaves with it comes in many portions.
fn long_log() -> (String, Eviction) {
    let lines: Vec<String> = (0..8_000).map(|line| format!("line {line} of the log")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    (lines.join("\\n"), Conversation::new().cut("user", &lines).departure())
}

/// Records a compression that takes the log out, while something else goes on until it is done.
fn committing(store: &SqliteStore, meanwhile: impl Fn()) -> (usize, Eviction) {
    let (log, departure) = long_log();
    say(store, "large", &[], &[&log]);
    let (epoch, seen) = (epoch(&[&log], "a log"), store.revision(SCOPE, "large").unwrap());
    let done = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        scope.spawn(|| {
            store.commit(SCOPE, "large", &epoch, &departure, seen).unwrap();
            done.store(true, Ordering::Release);
        });
        let mut times = 0;
        while !done.load(Ordering::Acquire) {
            meanwhile();
            times += 1;
        }
        times
    });
    (times, departure)
}

#[test]
fn others_write_between_the_portions_of_what_leaves() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let next = AtomicUsize::new(0);
    let (times, departure) = committing(&store, || {
        let text = format!("task {}", next.fetch_add(1, Ordering::Relaxed));
        say(&store, &text, &[], &[&text]);
    });
    assert!(times >= 8, "they wait for all of it: {times}");
    let of = SessionOf { scope: SCOPE, session: "large" };
    for line in [0, 511, 512, 4_321, 7_999] {
        let query = format!("\"line {line} of\"");
        let found = store.search_session(of, &query, 40, &Chars).unwrap();
        assert!(found.iter().any(|it| it.text.contains(&query[1..query.len() - 1])), "{query}");
    }
    assert_eq!(departure.passages.len(), 8_000);
    assert_eq!(store.verify(false).unwrap(), []);
}

#[test]
fn what_is_erased_between_two_portions_stays_erased() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let (log, _) = long_log();
    let any = || store.search(SCOPE, "line of the log", 40, &Chars).unwrap();
    committing(&store, || {
        if !any().is_empty() {
            drop(store.erase(SCOPE, key(&log)));
        }
    });
    assert_eq!(any(), []);
    assert_eq!(store.verify(false).unwrap(), []);
}
