//! What sessions that share an opening keep apart, and what one that left another one has of it.

use epitome_kernel::types::{ContentId, SnapshotPurpose};
use epitome_kernel::{Beginning, Clue, Journal};
use epitome_store::{SessionArchive, SqliteStore};
use rusqlite::Connection;

use crate::common::each_archive;
use crate::file::{place, take_back};
use crate::talk::{SCOPE, answer, batch, chain, chains, departure, epoch, key, say, snapshot};

#[test]
fn a_branch_finds_what_its_prompt_names_when_its_parent_is_gone() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c"]);
        let made = epoch(&["a", "b"], "summary");
        store.commit(SCOPE, "one", &made, &departure(&["a", "b"]), 0).unwrap();
        let from = Some(("one".to_owned(), chain(&["a", "b", "c"])));
        let beginning = Beginning { from, ..Beginning::default() };
        store.begin(SCOPE, "two", &beginning, "now").unwrap();
        say(store, "two", &["a", "b", "c"], &["d"]);
        assert_eq!(store.compactions_of_session(SCOPE, "two").unwrap()[0].epoch, made);
        store.delete(SCOPE, "one").unwrap();
        for text in ["a", "b", "list of a b"] {
            let found = store.original(SCOPE, &ContentId::for_text(text).to_string());
            assert_eq!(found.map(|blob| blob.text).ok().as_deref(), Some(text));
        }
    });
}

#[test]
fn a_session_that_goes_on_is_out_of_the_trash() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b"]);
        store.set_trashed(SCOPE, "one", true).unwrap();
        say(store, "one", &["a", "b"], &["c"]);
        assert!(!store.session(SCOPE, "one").unwrap().trashed);
    });
}

#[test]
fn of_many_that_open_alike_the_newest_are_looked_at() {
    each_archive(|store| {
        for at in 0..70 {
            say(store, &format!("s{at}"), &[], &["hello"]);
        }
        let chains = chains(&["hello", "hi"]);
        let clue = Clue {
            chains: &chains,
            format: "anthropic",
            label: None,
            least: 1,
            answers: &|_| None,
        };
        let holders = store.holders(SCOPE, &clue).unwrap();
        assert!(holders.iter().any(|holder| holder.session == "s69"), "{holders:?}");
    });
}

#[test]
fn an_erased_answer_leaves_those_of_others_to_the_same_opening() {
    each_archive(|store| {
        for session in ["one", "two"] {
            say(store, session, &[], &["hello"]);
            store
                .record_response(SCOPE, session, &answer(&["hello"], &format!("I am {session}")))
                .unwrap();
        }
        say(store, "two", &["hello"], &["I am two, really"]);
        store.erase(SCOPE, key("I am two, really")).unwrap();
        let kept = store.answer(SCOPE, "one").unwrap().and_then(|said| said.bytes);
        assert!(kept.is_some());
    });
}

#[test]
fn an_older_session_is_deleted_though_another_went_back_on_its_way() {
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
    store
        .save_snapshot(SCOPE, &snapshot("s", "two", SnapshotPurpose::Recovery, &["a", "b"]), 5)
        .unwrap();
    store.append(SCOPE, "two", &batch(&[], &["a", "x"])).unwrap();
    store.delete(SCOPE, "one").unwrap();
    let said = store.history(SCOPE, "two", chain(&["a", "b"]), 0, 9).unwrap();
    assert_eq!(said, batch(&[], &["a", "b"]).said);
    let said = store.history(SCOPE, "two", chain(&["a", "x"]), 0, 9).unwrap();
    assert_eq!(said, batch(&[], &["a", "x"]).said);
    store.delete(SCOPE, "two").unwrap();
    drop(store);
    let raw = Connection::open(&path).unwrap();
    let left: i64 = raw.query_row("SELECT count(*) FROM message", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}
