//! What every archive must do, run against each of them.

use epitome_kernel::types::{
    ContentId, EntryId, HistoryHash, JournalMark, MeterReading, Passage, SnapshotPurpose,
};
use epitome_kernel::{Eviction, MessageRecord, OriginalStore, SessionOf, StoreError, StoredText};
use epitome_store::SessionArchive;
use epitome_store::{MemoryStore, SqliteStore};

use crate::common::{Chars, each_archive};
use crate::talk::{
    SCOPE, batch, chain, chains, departure, epoch, key, keys, memos, rewrite, say, say_findably,
    snapshot,
};

fn names(store: &dyn SessionArchive, skip: usize, most: usize, trashed: bool) -> Vec<String> {
    let sessions = store.sessions(SCOPE, skip, most, trashed).unwrap();
    sessions.into_iter().map(|session| session.name).collect()
}

/// Both ports of one store.
trait Both: SessionArchive + OriginalStore {}
impl<T: SessionArchive + OriginalStore> Both for T {}

fn each_store(check: impl Fn(&dyn Both)) {
    check(&MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
    check(&store);
    assert_eq!(store.verify(false).unwrap(), []);
}

fn original(store: &dyn Both, text: &str) -> Option<String> {
    store.original(SCOPE, &ContentId::for_text(text).to_string()).ok().map(|blob| blob.text)
}

fn found(store: &dyn Both, query: &str) -> Vec<String> {
    let excerpts = store.search(SCOPE, query, 10_000, &Chars).unwrap();
    let mut texts: Vec<String> = excerpts.into_iter().map(|excerpt| excerpt.text).collect();
    texts.sort();
    texts
}

#[test]
fn sessions_are_listed_as_they_were_used() {
    each_archive(|store| {
        for name in ["one", "two", "three"] {
            say(store, name, &[], &[name]);
        }
        say(store, "one", &["one"], &["more"]);
        assert_eq!(names(store, 0, 9, false), ["one", "three", "two"]);
        assert_eq!(names(store, 1, 1, false), ["three"]);
        assert_eq!(names(store, 3, 1, false), [""; 0]);
        store.set_trashed(SCOPE, "three", true).unwrap();
        assert_eq!(names(store, 0, 9, false), ["one", "two"]);
        assert_eq!(names(store, 0, 9, true), ["one", "three", "two"]);
        assert!(store.session(SCOPE, "three").unwrap().trashed);
        store.set_trashed(SCOPE, "three", false).unwrap();
        assert_eq!(names(store, 0, 9, false), ["one", "three", "two"]);
        assert_eq!(store.sessions("elsewhere", 0, 9, true).unwrap(), []);
    });
}

#[test]
fn a_session_that_is_not_there_is_named_with_its_neighbour() {
    each_archive(|store| {
        say(store, "refactor", &[], &["a"]);
        let errors = [
            store.session(SCOPE, "refactr").unwrap_err(),
            store.compactions_of_session(SCOPE, "refactr").unwrap_err(),
            store.set_head(SCOPE, "refactr", HistoryHash::default(), None).unwrap_err(),
            store.set_trashed(SCOPE, "refactr", true).unwrap_err(),
            store.delete(SCOPE, "refactr").unwrap_err(),
            store
                .save_snapshot(SCOPE, &snapshot("s", "refactr", SnapshotPurpose::Recovery, &[]), 5)
                .unwrap_err(),
        ];
        for error in errors {
            let told = error.to_string();
            assert_eq!(told, "no session `refactr`; did you mean `refactor`?");
        }
        let error = store.session("elsewhere", "refactor").unwrap_err();
        assert_eq!(error.to_string(), "no session `refactor`");
    });
}

#[test]
fn a_rewound_session_goes_on_from_there() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c"]);
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        let info = store.session(SCOPE, "one").unwrap();
        assert_eq!((info.figures.messages, info.head), (1, chain(&["a"])));
        say(store, "one", &["a"], &["x"]);
        store.set_head(SCOPE, "one", chain(&["a", "b", "c"]), None).unwrap();
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.messages, 3);
        store.set_head(SCOPE, "one", HistoryHash::default(), None).unwrap();
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.messages, 0);
        let before = store.meter(SCOPE, "one").unwrap();
        let then = MeterReading { rent: 2.5, ..MeterReading::default() };
        let error = store.set_head(SCOPE, "one", chain(&["z"]), Some(&then)).unwrap_err();
        assert!(error.to_string().contains("is not recorded"), "{error}");
        assert_eq!(store.meter(SCOPE, "one").unwrap(), before);
        store.set_head(SCOPE, "one", chain(&["a"]), Some(&then)).unwrap();
        assert_eq!(store.meter(SCOPE, "one").unwrap(), then);
    });
}

#[test]
fn automatic_snapshots_are_pruned_and_others_stay() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b"]);
        say(store, "two", &[], &["c"]);
        let mut made = Vec::new();
        for (id, session, purpose) in [
            ("s1", "one", SnapshotPurpose::Rollback),
            ("s2", "one", SnapshotPurpose::Recovery),
            ("s3", "two", SnapshotPurpose::Emergency),
            ("s4", "one", SnapshotPurpose::Emergency),
            ("s5", "one", SnapshotPurpose::Rollback),
        ] {
            let mut snapshot = snapshot(id, session, purpose, &["a", "b"]);
            snapshot.epoch = Some(ContentId([7; 16]));
            store.save_snapshot(SCOPE, &snapshot, 2).unwrap();
            made.insert(0, snapshot);
        }
        made.retain(|snapshot| snapshot.id != "s1");
        assert_eq!(store.snapshots(SCOPE, None).unwrap(), made);
        let of_one: Vec<_> = made.iter().filter(|made| made.session == "one").cloned().collect();
        assert_eq!(store.snapshots(SCOPE, Some("one")).unwrap(), of_one);
        store.save_snapshot(SCOPE, &made[0], 2).unwrap();
        assert_eq!(store.snapshots(SCOPE, None).unwrap(), made, "the same one again");
        store.delete_snapshot(SCOPE, "s2").unwrap();
        let error = store.delete_snapshot(SCOPE, "s2").unwrap_err();
        assert!(error.to_string().contains("no snapshot `s2`"), "{error}");
        assert_eq!(store.snapshots(SCOPE, Some("one")).unwrap().len(), 2);
        assert_eq!(store.snapshots("elsewhere", None).unwrap(), []);
    });
}

#[test]
fn the_index_catches_up() {
    each_store(|store| {
        store.append(SCOPE, "one", &batch(&[], &["red apples", "green pears"])).unwrap();
        store.append(SCOPE, "two", &batch(&[], &["blue plums"])).unwrap();
        let open = store.unindexed(SCOPE, 9).unwrap();
        let open: Vec<(&str, u32)> =
            open.iter().map(|(session, said)| (session.as_str(), said.place)).collect();
        assert_eq!(open, [("one", 0), ("one", 1), ("two", 0)]);
        assert_eq!(store.unindexed(SCOPE, 1).unwrap().len(), 1);
        assert_eq!(found(store, "apples"), [""; 0]);
        let first = chains(&["red apples", "green pears"]);
        store.index(SCOPE, "one", &first, &departure(&["red apples", "green pears"])).unwrap();
        assert_eq!(found(store, "apples"), ["red apples"]);
        assert_eq!(found(store, "pears"), ["green pears"]);
        assert_eq!(found(store, "plums"), [""; 0]);
        assert_eq!(store.unindexed(SCOPE, 9).unwrap().len(), 1);
        assert_eq!(store.unindexed("elsewhere", 9).unwrap(), []);
    });
}

#[test]
fn what_was_erased_does_not_come_back() {
    each_store(|store| {
        let secret = "my password is hunter2";
        let mut first = batch(&[], &["a", secret, "c"]);
        first.title = secret.into();
        first.rewrites = vec![rewrite(secret, "hunter2 is in it")];
        first.departure = departure(&[secret]);
        store.append(SCOPE, "one", &first).unwrap();
        let (with, without) = (epoch(&["a", secret], "hunter2 again"), epoch(&["c"], "nothing"));
        let done = store.commit(SCOPE, "one", &with, &departure(&["a", secret]), 0).unwrap();
        assert_eq!(done, epitome_kernel::CommitOutcome::Done(1));
        store.commit(SCOPE, "one", &without, &Eviction::default(), 1).unwrap();
        let mut quoted = snapshot("s", "one", SnapshotPurpose::Rollback, &["a", secret]);
        quoted.epoch = Some(with.id);
        store.save_snapshot(SCOPE, &quoted, 5).unwrap();
        let quoting = memos(&[("default", r#"{"last":"hunter2"}"#)]);
        store.append(SCOPE, "two", &batch(&[], &["a", "b"])).unwrap();
        store.append(SCOPE, "three", &batch(&[], &["x"])).unwrap();
        for session in ["one", "two", "three"] {
            store.note(SCOPE, session, &quoting).unwrap();
        }

        assert_eq!(store.erase(SCOPE, key(secret)).unwrap(), 1);

        let history = store.history(SCOPE, "one", chain(&["a", secret, "c"]), 0, 9).unwrap();
        let kept: Vec<bool> = history.iter().map(|said| said.bytes.is_some()).collect();
        assert_eq!(kept, [true, false, true]);
        assert_eq!(store.session(SCOPE, "one").unwrap().title, "");
        assert_eq!(store.rewrites(SCOPE, "one", &[key(secret)]).unwrap(), []);
        assert_eq!(store.snapshots(SCOPE, None).unwrap()[0].epoch, None);
        // Nobody said it in the others, be it that one of them began alike.
        for (session, noted) in [("one", &memos(&[])), ("two", &quoting), ("three", &quoting)] {
            assert_eq!(&store.memos(SCOPE, session).unwrap(), noted, "{session}");
        }
        assert_eq!(store.revision(SCOPE, "one").unwrap(), 3);
        assert_eq!(found(store, "hunter2 password"), [""; 0]);
        assert_eq!(found(store, "\"a\""), ["a"]);
        assert_eq!(original(store, secret), None);
        assert_eq!(original(store, &format!("list of a {secret}")), None);
        assert_eq!(original(store, "a").as_deref(), Some("a"));
        let left = store.compactions_of_session(SCOPE, "one").unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].epoch, without);

        // Nor in a branch that says it again, nor by an index that read it before.
        let mut again = batch(&["a"], &["b", secret]);
        again.rewrites = vec![rewrite(secret, "hunter2 is in it")];
        again.departure = departure(&[secret]);
        store.append(SCOPE, "one", &again).unwrap();
        let chains = chains(&["a", secret]);
        store.index(SCOPE, "one", &chains, &departure(&["a", secret])).unwrap();
        let history = store.history(SCOPE, "one", chain(&["a", "b", secret]), 2, 1).unwrap();
        assert_eq!(history[0].bytes, None);
        assert_eq!((original(store, secret), found(store, "hunter2")), (None, vec![]));
        assert_eq!(store.rewrites(SCOPE, "one", &[key(secret)]).unwrap(), []);
        let open: Vec<MessageRecord> =
            store.unindexed(SCOPE, 9).unwrap().into_iter().map(|(_, said)| said).collect();
        assert!(open.iter().all(|said| said.bytes.is_some()));

        let error = store.erase(SCOPE, key("never said")).unwrap_err();
        assert!(matches!(error, StoreError::Unknown { .. }), "{error}");
        assert!(store.erase("elsewhere", key("a")).is_err());
    });
}

#[test]
fn a_deleted_session_takes_all_that_is_its_own() {
    each_store(|store| {
        let shared = ["a", "b"];
        store.append(SCOPE, "one", &batch(&[], &["a", "b", "c", "d"])).unwrap();
        let (common, own) = (epoch(&shared, "common"), epoch(&["b", "c"], "own"));
        store.commit(SCOPE, "one", &common, &departure(&shared), 0).unwrap();
        store.commit(SCOPE, "one", &own, &departure(&["b", "c"]), 1).unwrap();
        store.append(SCOPE, "two", &batch(&[], &["a", "b", "x"])).unwrap();
        store.record_mark(SCOPE, "one", &JournalMark::Pin(key("a")), "now").unwrap();
        store
            .save_snapshot(SCOPE, &snapshot("s1", "one", SnapshotPurpose::Recovery, &["a"]), 5)
            .unwrap();
        store
            .save_snapshot(SCOPE, &snapshot("s2", "two", SnapshotPurpose::Recovery, &["a", "b"]), 5)
            .unwrap();
        store.keep(SCOPE, &departure(&["d"])).unwrap();
        let (ones, twos) = (memos(&[("default", "1")]), memos(&[("default", "2")]));
        store.note(SCOPE, "one", &ones).unwrap();
        store.note(SCOPE, "two", &twos).unwrap();

        assert_eq!(store.delete(SCOPE, "one").unwrap(), 4);

        assert_eq!(names_of(store), ["two"]);
        let history = store.history(SCOPE, "two", chain(&["a", "b", "x"]), 0, 9).unwrap();
        assert_eq!(history, batch(&[], &["a", "b", "x"]).said);
        assert_eq!(store.find_deepest(SCOPE, "two", &chains(&["a", "b", "c"])).unwrap(), Some(1));
        assert_eq!(store.compactions_of_session(SCOPE, "two").unwrap(), []);
        assert_eq!(store.compactions(SCOPE, "one", &keys(&["b"])).unwrap().recorded, []);
        assert_eq!(original(store, "c"), None);
        assert_eq!(original(store, "a"), None);
        assert_eq!(original(store, "d").as_deref(), Some("d"), "kept by somebody else");
        assert_eq!(found(store, "d"), ["d"]);
        let snapshots = store.snapshots(SCOPE, None).unwrap();
        assert_eq!(snapshots.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["s2"]);
        // The name is free again, and the history too.
        store.append(SCOPE, "one", &batch(&[], &["a", "b", "c"])).unwrap();
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.turns, 1);
        assert_eq!(store.memos(SCOPE, "one").unwrap(), memos(&[]));
        assert_eq!(store.memos(SCOPE, "two").unwrap(), twos);
        assert_eq!(store.delete(SCOPE, "two").unwrap(), 3);
        assert_eq!(store.delete(SCOPE, "one").unwrap(), 3);
        assert_eq!(store.find_deepest(SCOPE, "one", &chains(&["a"])).unwrap(), None);
    });
}

fn names_of(store: &dyn Both) -> Vec<String> {
    let sessions = store.sessions(SCOPE, 0, 9, true).unwrap();
    sessions.into_iter().map(|session| session.name).collect()
}

#[test]
fn a_reworded_passage_stays_with_its_original() {
    each_store(|store| {
        let reworded = |text: &str| Eviction {
            blobs: vec![StoredText {
                id: ContentId::for_text("the whole"),
                source: "e0 tool".into(),
                text: "the whole".into(),
            }],
            passages: vec![Passage { entry: EntryId(0), text: text.into() }],
            sources: vec![(EntryId(0), ContentId::for_text("the whole"), "e0 tool".into())],
        };
        for name in ["one", "two"] {
            let mut first = batch(&[], &[name]);
            first.departure = reworded("the hole");
            store.append(SCOPE, name, &first).unwrap();
        }
        store.delete(SCOPE, "one").unwrap();
        assert_eq!(found(store, "hole"), ["the hole"]);
        store.delete(SCOPE, "two").unwrap();
        assert_eq!(found(store, "hole"), [""; 0]);
    });
}

#[test]
fn what_is_in_the_trash_is_not_found_until_it_is_taken_out() {
    each_store(|store| {
        for (session, text) in [("one", "red apples"), ("two", "blue plums")] {
            store.append(SCOPE, session, &batch(&[], &[text])).unwrap();
            store.index(SCOPE, session, &chains(&[text]), &departure(&[text])).unwrap();
        }
        let shown = |store: &dyn Both| {
            let known = ["red apples", "blue plums"].map(|text| original(store, text).is_some());
            let scopes = [SCOPE.to_owned()];
            let all = store.search_in(&scopes, "apples plums", 99, &Chars).unwrap().found.len();
            (known, found(store, "apples plums").len(), all)
        };
        assert_eq!(shown(store), ([true, true], 2, 2));
        store.set_trashed(SCOPE, "one", true).unwrap();
        assert_eq!(shown(store), ([false, true], 1, 1));
        // Kept outside of any session, it is nobody's to put into the trash.
        store.keep(SCOPE, &departure(&["red apples"])).unwrap();
        assert_eq!(shown(store), ([true, true], 2, 2));
        store.set_trashed(SCOPE, "two", true).unwrap();
        assert_eq!(shown(store), ([true, false], 1, 1));
        store.set_trashed(SCOPE, "two", false).unwrap();
        assert_eq!(shown(store), ([true, true], 2, 2));
    });
}

/// What is found, each with all who said it.
fn attributed(store: &dyn Both, query: &str) -> Vec<(String, Vec<String>)> {
    let excerpts = store.search(SCOPE, query, 10_000, &Chars).unwrap();
    let named = |it: epitome_kernel::Excerpt| {
        (it.text, [it.source].into_iter().chain(it.also).collect::<Vec<_>>())
    };
    let mut found: Vec<_> = excerpts.into_iter().map(named).collect();
    found.sort();
    found
}

fn found_in(store: &dyn Both, session: &str, query: &str) -> Vec<String> {
    let of = SessionOf { scope: SCOPE, session };
    let excerpts = store.search_session(of, query, 10_000, &Chars).unwrap();
    let named = |it: epitome_kernel::Excerpt| {
        assert_eq!(it.also, [""; 0]);
        format!("{}: {}", it.source, it.text)
    };
    excerpts.into_iter().map(named).collect()
}

#[track_caller]
fn check_attributed(store: &dyn Both, query: &str, expected: &[(&str, &[&str])]) {
    let found = attributed(store, query);
    let found: Vec<(&str, Vec<&str>)> = found
        .iter()
        .map(|(text, by)| (text.as_str(), by.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<_> = expected.iter().map(|(text, by)| (*text, by.to_vec())).collect();
    assert_eq!(found, expected);
}

/// What two sessions say is found under both, and stays with each as long as that one does.
#[test]
fn what_two_sessions_say_is_attributed_to_each() {
    each_store(|store| {
        say_findably(store, "one", &["red apples", "blue plums"]);
        say_findably(store, "two", &["green pears", "red apples"]);
        let both: &[(&str, &[&str])] = &[("red apples", &["one: e0 user", "two: e1 user"])];
        check_attributed(store, "apples", both);
        check_attributed(store, "plums", &[("blue plums", &["one: e1 user"])]);
        assert_eq!(found_in(store, "one", "apples"), ["one: e0 user: red apples"]);
        assert_eq!(found_in(store, "two", "apples"), ["two: e1 user: red apples"]);
        assert_eq!(found_in(store, "two", "plums"), [""; 0]);
        assert_eq!(found_in(store, "three", "apples"), [""; 0]);
        store.set_trashed(SCOPE, "one", true).unwrap();
        check_attributed(store, "apples", &[("red apples", &["two: e1 user"])]);
        assert_eq!(found_in(store, "one", "apples"), [""; 0]);
        store.set_trashed(SCOPE, "one", false).unwrap();
        store.delete(SCOPE, "one").unwrap();
        check_attributed(store, "apples plums", &[("red apples", &["two: e1 user"])]);
        let id = ContentId::for_text("red apples").to_string();
        assert_eq!(store.original(SCOPE, &id).unwrap().source, "two: e1 user");
        // Erased it is gone wherever it was said.
        say_findably(store, "three", &["red apples"]);
        store.erase(SCOPE, key("red apples")).unwrap();
        check_attributed(store, "apples", &[]);
        assert_eq!(found_in(store, "two", "pears"), ["two: e0 user: green pears"]);
    });
}

/// Messages that differ may have a piece in common.
#[test]
fn a_piece_that_two_sessions_share_outlives_each_of_them() {
    for gone in ["one", "two"] {
        each_store(|store| {
            let left = if gone == "one" { "two" } else { "one" };
            for name in ["one", "two"] {
                say(store, name, &[], &[name]);
                let text = format!("{name} begins\nred apples");
                let (id, source) = (ContentId::for_text(&text), format!("{name}: e0 user"));
                let passages = text.lines().map(str::to_owned);
                let departure = Eviction {
                    passages: passages.map(|text| Passage { entry: EntryId(0), text }).collect(),
                    sources: vec![(EntryId(0), id, source.clone())],
                    blobs: vec![StoredText { id, source, text }],
                };
                store.index(SCOPE, name, &chains(&[name]), &departure).unwrap();
            }
            let both: &[(&str, &[&str])] = &[("red apples", &["one: e0 user", "two: e0 user"])];
            check_attributed(store, "\"red apples\"", both);
            store.delete(SCOPE, gone).unwrap();
            let source = format!("{left}: e0 user");
            check_attributed(store, "\"red apples\"", &[("red apples", &[&source])]);
        });
    }
}

/// A piece that another session brings meanwhile changes nothing of what is found in this one.
#[test]
fn neighbours_stay_neighbours_whoever_comes_between() {
    each_store(|store| {
        let text = "red apples\nred pears";
        let (id, source) = (ContentId::for_text(text), "one: e0 user".to_owned());
        let piece = |text: &str| Eviction {
            passages: vec![Passage { entry: EntryId(0), text: text.to_owned() }],
            sources: vec![(EntryId(0), id, source.clone())],
            blobs: vec![StoredText {
                id,
                source: source.clone(),
                text: "red apples\nred pears".into(),
            }],
        };
        say(store, "one", &[], &["one"]);
        store.index(SCOPE, "one", &chains(&["one"]), &piece("red apples")).unwrap();
        say_findably(store, "two", &["green"]);
        store.index(SCOPE, "one", &chains(&["one"]), &piece("red pears")).unwrap();
        assert_eq!(found_in(store, "one", "red"), [format!("one: e0 user: {text}")]);
    });
}

/// Of a session that is too large to be ranked whole its own passages are proposed, and those that
/// say a phrase which was cut in two.
#[test]
fn a_large_session_is_searched_by_itself() {
    each_store(|store| {
        let said = |name: &str| -> Vec<String> {
            let line = |at: usize| format!("step {at} of the march of {name}");
            (0..6_000).map(line).collect()
        };
        for name in ["one", "two"] {
            say(store, name, &[], &[name]);
            let text = said(name).join("\n");
            let (id, source) = (ContentId::for_text(&text), format!("{name}: e0 user"));
            let passage = |text| Passage { entry: EntryId(0), text };
            let departure = Eviction {
                passages: said(name).into_iter().map(passage).collect(),
                sources: vec![(EntryId(0), id, source.clone())],
                blobs: vec![StoredText { id, source, text }],
            };
            store.index(SCOPE, name, &chains(&[name]), &departure).unwrap();
        }
        let of = |session| SessionOf { scope: SCOPE, session };
        let first = |session, query: &str| {
            let found = store.search_session(of(session), query, 40, &Chars).unwrap();
            found.into_iter().next().map(|excerpt| excerpt.text).unwrap_or_default()
        };
        assert!(first("one", "step 77").contains("step 77 of the march of one"));
        assert!(first("two", "step 77").contains("step 77 of the march of two"));
        assert_eq!(first("one", "two"), "");
        let cut = "step 77 of the march of two\nstep 78 of the march of two";
        assert_eq!(first("two", "\"march of two step 78\""), cut);
    });
}
