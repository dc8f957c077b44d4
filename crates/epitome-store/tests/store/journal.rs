//! What every journal must do, run against each of them.

use epitome_kernel::types::{ContentId, HistoryHash, JournalMark, SessionFigures, SessionInfo};
use epitome_kernel::{
    AppendBatch, CommitOutcome, CompactionChanges, Eviction, HistoryLookup, HistoryQuery, Journal,
    RequestRecord, StoreError,
};
use epitome_store::{SessionArchive, SqliteStore};

use crate::common::each_archive;
use crate::talk::{
    SCOPE, batch, chain, chains, departure, epoch, key, keys, memos, rent, rewrite, say,
};

#[track_caller]
fn check_known(store: &dyn SessionArchive, session: &str, texts: &[&str], expected: Option<usize>) {
    assert_eq!(store.find_deepest(SCOPE, session, &chains(texts)).unwrap(), expected, "{texts:?}");
}

#[track_caller]
fn check_history(store: &dyn SessionArchive, session: &str, texts: &[&str]) {
    let found = store.history(SCOPE, session, chain(texts), 0, usize::MAX).unwrap();
    assert_eq!(found, batch(&[], texts).said);
}

#[test]
fn a_history_comes_back_as_it_was_said() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c"]);
        say(store, "one", &["a", "b", "c"], &["d"]);
        check_history(store, "one", &["a", "b", "c", "d"]);
        check_history(store, "one", &["a", "b"]);
        let page = store.history(SCOPE, "one", chain(&["a", "b", "c", "d"]), 1, 2).unwrap();
        assert_eq!(page, batch(&["a"], &["b", "c"]).said);
        assert_eq!(store.history(SCOPE, "one", chain(&["a", "b"]), 2, 9).unwrap(), []);
        assert_eq!(store.history(SCOPE, "one", HistoryHash::default(), 0, 9).unwrap(), []);
        let error = store.history(SCOPE, "one", chain(&["x"]), 0, 9).unwrap_err();
        assert!(error.to_string().contains("is not recorded"), "{error}");
        say(store, "two", &[], &["x"]);
        let error = store.history(SCOPE, "one", chain(&["x"]), 0, 9).unwrap_err();
        assert!(error.to_string().contains("is not recorded"), "{error}");
        let error = store.history("elsewhere", "one", chain(&["a"]), 0, 9).unwrap_err();
        assert!(matches!(error, StoreError::NoSession { .. }), "{error}");
    });
}

#[test]
fn the_deepest_history_that_a_session_holds_is_found() {
    each_archive(|store| {
        check_known(store, "one", &["a"], None);
        say(store, "one", &[], &["a", "b", "c"]);
        check_known(store, "one", &["a", "b", "c", "d"], Some(2));
        check_known(store, "one", &["a", "x"], Some(0));
        check_known(store, "one", &["x", "b"], None);
        // What another session says is nothing of this one.
        say(store, "two", &[], &["a", "b", "e"]);
        check_known(store, "two", &["a", "b", "e"], Some(2));
        check_known(store, "one", &["a", "b", "e"], Some(1));
        check_known(store, "two", &["a", "b", "c"], Some(1));
        assert_eq!(store.find_deepest("elsewhere", "one", &chains(&["a"])).unwrap(), None);
        check_known(store, "one", &[], None);
        assert_eq!(store.find_deepest(SCOPE, "one", &[HistoryHash::default()]).unwrap(), None);
        let mut with_empty = chains(&["a", "b", "g", "h", "i", "j", "k", "l"]);
        with_empty.insert(0, HistoryHash::default());
        assert_eq!(store.find_deepest(SCOPE, "two", &with_empty).unwrap(), Some(2));
    });
}

#[test]
fn what_a_request_asks_is_answered_as_it_is_one_by_one() {
    let check = |store: &dyn SessionArchive, texts: &[&str]| {
        let (keys, chains) = (keys(texts), chains(texts));
        let now = store.revision(SCOPE, "one").unwrap();
        for before in 0..=texts.len() {
            for seen in [None, Some(now), Some(now + 1)] {
                let session = "one";
                let epochs = |of| store.compactions(SCOPE, session, of).unwrap();
                let end = before.checked_sub(1).map_or(HistoryHash::default(), |last| chains[last]);
                // Where somebody else went on, all is told anew.
                let is_end = store.session(SCOPE, session).map_or(true, |info| info.head == end);
                let new = &keys[before..];
                let expected = HistoryLookup {
                    known: store.find_deepest(SCOPE, session, &chains[before..]).unwrap(),
                    rewrites: store.rewrites(SCOPE, session, new).unwrap(),
                    epochs: match seen == Some(now) && is_end {
                        true => CompactionChanges::Quiet(epochs(new).recorded),
                        false => CompactionChanges::Anew(epochs(&keys)),
                    },
                };
                let history = HistoryQuery {
                    session,
                    keys: &keys,
                    chains: &chains,
                    before,
                    seen,
                    is_recorded: false,
                };
                assert_eq!(store.lookup(SCOPE, &history).unwrap(), expected, "{history:?}");
            }
        }
    };
    each_archive(|store| {
        let history = ["a", "b", "c", "d", "e"];
        check(store, &history);
        say(store, "one", &[], &["a", "b", "c"]);
        check(store, &history);
        let made =
            AppendBatch { rewrites: vec![rewrite("d", "less")], ..batch(&["a", "b", "c"], &["d"]) };
        store.append(SCOPE, "one", &made).unwrap();
        check(store, &history);
        let (epoch, left) = (epoch(&["b", "c"], "sum"), departure(&["b", "c"]));
        store.commit(SCOPE, "one", &epoch, &left, 0).unwrap();
        store.record_mark(SCOPE, "one", &JournalMark::Pin(key("a")), "now").unwrap();
        check(store, &history);
        store.record_mark(SCOPE, "one", &JournalMark::Undo(epoch.id), "now").unwrap();
        check(store, &history);
    });
}

#[test]
fn branches_share_what_they_have_in_common() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c", "d"]);
        say(store, "one", &["a", "b"], &["x", "y"]);
        say(store, "one", &["a", "b", "c"], &["d", "e"]);
        say(store, "one", &["a", "b", "x"], &["z"]);
        for texts in [
            &["a", "b", "c", "d", "e"][..],
            &["a", "b", "x", "y"],
            &["a", "b", "x", "z"],
            &["a", "b", "c", "d"],
        ] {
            check_history(store, "one", texts);
        }
        let page = store.history(SCOPE, "one", chain(&["a", "b", "x", "z"]), 1, 2).unwrap();
        assert_eq!(page, batch(&["a"], &["b", "x"]).said);
        let session = store.session(SCOPE, "one").unwrap();
        assert_eq!((session.figures.messages, session.head), (4, chain(&["a", "b", "x", "z"])));
    });
}

#[test]
fn known_messages_are_passed_over() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b"]);
        let mut again = batch(&[], &["a", "b", "c"]);
        again.said[0].bytes = Some(b"other bytes of the same message".to_vec());
        store.append(SCOPE, "one", &again).unwrap();
        check_history(store, "one", &["a", "b", "c"]);
    });
}

#[test]
fn what_does_not_follow_is_refused_whole() {
    each_archive(|store| {
        say(store, "one", &[], &["a"]);
        let before = store.session(SCOPE, "one").unwrap();
        let mut gap = batch(&["a"], &["b", "c"]);
        gap.said.remove(0);
        let mut place = batch(&["a"], &["b"]);
        place.said[0].place = 7;
        let mut late = batch(&["a"], &["b", "c"]);
        late.said[1].place = 7;
        let unknown = batch(&["a", "nobody said this"], &["c"]);
        for wrong in [gap, place, late, unknown] {
            let error = store.append(SCOPE, "one", &wrong).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
            assert!(store.append(SCOPE, "new", &wrong).is_err());
        }
        assert_eq!(store.session(SCOPE, "one").unwrap(), before);
        assert_eq!(store.sessions(SCOPE, 0, 9, true).unwrap().len(), 1);
        check_known(store, "one", &["a", "b"], Some(0));
    });
}

#[test]
fn a_session_sums_up_its_requests() {
    each_archive(|store| {
        let mut first = batch(&[], &["a"]);
        first.title = String::new();
        store.append(SCOPE, "one", &first).unwrap();
        say(store, "one", &["a"], &["b"]);
        let mut last = batch(&["a", "b"], &["c"]);
        last.model = None;
        last.title = "another title".into();
        last.turn =
            Some(RequestRecord { tokens: [u64::MAX, 7], limit: u64::MAX, meter: rent(2.25) });
        store.append(SCOPE, "one", &last).unwrap();
        let info = store.session(SCOPE, "one").unwrap();
        assert_eq!(info.title, "a");
        assert_eq!(info.model.as_deref(), Some("model-1"));
        assert_eq!((info.figures.messages, info.figures.turns), (3, 3));
        assert_eq!((info.figures.tokens, info.figures.total), ([u64::MAX, 7], [u64::MAX, 127]));
        assert_eq!(info.figures.limit, u64::MAX);
        assert_eq!((info.started.as_str(), info.last.as_str()), (&*first.at, &*last.at));
        assert_eq!(store.meter(SCOPE, "one").unwrap(), rent(2.25));
        assert_eq!(store.meter(SCOPE, "none").unwrap(), rent(0.0));
        assert_eq!(store.meter("elsewhere", "one").unwrap(), rent(0.0));
    });
}

#[test]
fn messages_without_a_request_change_none_of_its_sums() {
    each_archive(|store| {
        let alone = |before: &[&str], new| epitome_kernel::AppendBatch {
            turn: None,
            model: None,
            ..batch(before, new)
        };
        store.append(SCOPE, "one", &alone(&[], &["a"])).unwrap();
        let info = store.session(SCOPE, "one").unwrap();
        assert_eq!((info.title.as_str(), info.format.as_str()), ("a", "anthropic"));
        assert_eq!(
            (info.figures.messages, info.figures.turns, info.figures.tokens),
            (1, 0, [0, 0])
        );
        say(store, "one", &["a"], &["b"]);
        let asked = store.session(SCOPE, "one").unwrap();
        store.append(SCOPE, "one", &alone(&["a", "b"], &["c"])).unwrap();
        let info = store.session(SCOPE, "one").unwrap();
        assert_eq!((info.figures.messages, info.head), (3, chain(&["a", "b", "c"])));
        assert!(info.last > asked.last);
        let (head, last) = (info.head, info.last.clone());
        let figures = SessionFigures { messages: info.figures.messages, ..asked.figures };
        assert_eq!(info, SessionInfo { head, last, figures, ..asked });
        assert_eq!(store.meter(SCOPE, "one").unwrap(), rent(0.5));
        check_history(store, "one", &["a", "b", "c"]);
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

#[test]
fn a_rewrite_is_recorded_once() {
    each_archive(|store| {
        let mut first = batch(&[], &["long", "other"]);
        first.rewrites = vec![rewrite("long", "see there"), rewrite("other", "see here")];
        first.departure = departure(&["long"]);
        store.append(SCOPE, "one", &first).unwrap();
        let mut second = batch(&["long", "other"], &["c"]);
        second.rewrites = vec![rewrite("long", "something else")];
        store.append(SCOPE, "one", &second).unwrap();
        let found = store.rewrites(SCOPE, "one", &keys(&["c", "other", "long", "other"])).unwrap();
        assert_eq!(found, [rewrite("other", "see here"), rewrite("long", "see there")]);
        assert_eq!(store.rewrites("elsewhere", "one", &keys(&["long"])).unwrap(), []);
    });
}

#[test]
fn an_epoch_comes_back_as_it_was_committed() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c"]);
        let (first, second) = (epoch(&["a", "b"], "they spoke"), epoch(&["b", "c"], "and more"));
        let commit = store.commit(SCOPE, "one", &first, &departure(&["a", "b"]), 0).unwrap();
        assert_eq!(commit, CommitOutcome::Done(1));
        let late = store.commit(SCOPE, "one", &second, &Eviction::default(), 0).unwrap();
        assert_eq!(late, CommitOutcome::Behind);
        assert_eq!(store.compactions_of_session(SCOPE, "one").unwrap().len(), 1);
        store.commit(SCOPE, "one", &second, &Eviction::default(), 1).unwrap();
        let found = store.compactions(SCOPE, "one", &keys(&["c", "b", "a", "b"])).unwrap();
        let epochs: Vec<_> = found.recorded.iter().map(|recorded| &recorded.epoch).collect();
        assert_eq!((epochs, found.seen), (vec![&first, &second], 2));
        let found = store.compactions(SCOPE, "one", &keys(&["a", "c"])).unwrap();
        assert_eq!(found.recorded.len(), 1);
        assert_eq!(store.compactions("elsewhere", "one", &keys(&["a"])).unwrap(), <_>::default());
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.compressions, 2);
    });
}

#[test]
fn a_commit_is_refused_without_a_session_or_under_a_wrong_id() {
    each_archive(|store| {
        let right = epoch(&["a"], "s");
        let error = store.commit(SCOPE, "one", &right, &Eviction::default(), 0).unwrap_err();
        assert!(matches!(error, StoreError::NoSession { .. }), "{error}");
        say(store, "one", &[], &["a"]);
        let mut wrong = right;
        wrong.number += 1;
        let error = store.commit(SCOPE, "one", &wrong, &Eviction::default(), 0).unwrap_err();
        assert!(error.to_string().contains("is not what its id says"), "{error}");
        assert_eq!(store.revision(SCOPE, "one").unwrap(), 0);
    });
}

#[test]
fn what_is_taken_back_can_be_done_again() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b"]);
        let epoch = epoch(&["a", "b"], "s");
        store.commit(SCOPE, "one", &epoch, &Eviction::default(), 0).unwrap();
        let undone = || store.compactions_of_session(SCOPE, "one").unwrap()[0].undone;
        for (mark, expected) in
            [(JournalMark::Undo(epoch.id), true), (JournalMark::Redo(epoch.id), false)]
        {
            let before = store.revision(SCOPE, "one").unwrap();
            store.record_mark(SCOPE, "one", &mark, "now").unwrap();
            assert_eq!(undone(), expected);
            assert_eq!(store.revision(SCOPE, "one").unwrap(), before + 1);
            let compressions = store.session(SCOPE, "one").unwrap().figures.compressions;
            assert_eq!(compressions, u32::from(!expected));
            let error = store.record_mark(SCOPE, "one", &mark, "now").unwrap_err();
            assert!(matches!(error, StoreError::NothingToMark { .. }), "{error}");
        }
        let unknown = JournalMark::Undo(ContentId([9; 16]));
        let error = store.record_mark(SCOPE, "one", &unknown, "now").unwrap_err();
        assert!(error.to_string().contains("there is no epoch 09090909"), "{error}");
        let error =
            store.record_mark(SCOPE, "on", &JournalMark::Undo(epoch.id), "now").unwrap_err();
        assert!(error.to_string().contains("no session `on`; did you mean `one`?"), "{error}");
        assert_eq!(store.revision(SCOPE, "one").unwrap(), 3);
    });
}

#[test]
fn pins_hold_in_their_session() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b"]);
        say(store, "two", &[], &["c"]);
        for text in ["a", "b", "a"] {
            store.record_mark(SCOPE, "one", &JournalMark::Pin(key(text)), "now").unwrap();
        }
        assert_eq!(store.compactions(SCOPE, "one", &[]).unwrap().pins, keys(&["b", "a"]));
        assert_eq!(store.compactions(SCOPE, "two", &[]).unwrap().pins, []);
        assert!(store.record_mark(SCOPE, "two", &JournalMark::Unpin(key("b")), "now").is_err());
        store.record_mark(SCOPE, "one", &JournalMark::Unpin(key("b")), "now").unwrap();
        assert_eq!(store.compactions(SCOPE, "one", &[]).unwrap().pins, keys(&["a"]));
        let error =
            store.record_mark(SCOPE, "one", &JournalMark::Unpin(key("b")), "now").unwrap_err();
        assert!(error.to_string().contains("is not pinned"), "{error}");
        assert_eq!(store.compactions("elsewhere", "one", &[]).unwrap().pins, []);
    });
}

#[test]
fn what_policies_noted_is_replaced_whole() {
    each_archive(|store| {
        let first = memos(&[("default", r#"{"turns":1}"#), ("watermark", r#"{"at":"e7"}"#)]);
        let error = store.note(SCOPE, "one", &first).unwrap_err();
        assert!(matches!(error, StoreError::NoSession { .. }), "{error}");
        say(store, "one", &[], &["a"]);
        say(store, "two", &["a"], &["b"]);
        assert_eq!(store.memos(SCOPE, "one").unwrap(), memos(&[]));
        let second = memos(&[("watermark", r#"{"at":"e9"}"#), ("tiered", "{}")]);
        for (told, expected) in [(&first, 2), (&first, 2), (&second, 2), (&memos(&[]), 0)] {
            store.note(SCOPE, "one", told).unwrap();
            let found = store.memos(SCOPE, "one").unwrap();
            assert_eq!((found.len(), &found), (expected, told));
        }
        store.note(SCOPE, "one", &second).unwrap();
        assert_eq!(store.memos(SCOPE, "two").unwrap(), memos(&[]));
        assert_eq!(store.memos(SCOPE, "none").unwrap(), memos(&[]));
        assert_eq!(store.memos("elsewhere", "one").unwrap(), memos(&[]));
        assert_eq!(store.revision(SCOPE, "one").unwrap(), 0, "no prompt is another one by that");
        let error = store.note(SCOPE, "on", &first).unwrap_err();
        assert!(error.to_string().contains("did you mean `one`?"), "{error}");
    });
}

#[test]
fn scopes_share_nothing() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b"]);
        store.append("other", "one", &batch(&[], &["a"])).unwrap();
        assert_eq!(store.find_deepest("other", "one", &chains(&["a", "b"])).unwrap(), Some(0));
        assert_eq!(store.session("other", "one").unwrap().figures.messages, 1);
        assert!(store.append("other", "one", &batch(&["a", "b"], &["c"])).is_err());
        store.record_mark(SCOPE, "one", &JournalMark::Pin(key("a")), "now").unwrap();
        assert_eq!(store.revision("other", "one").unwrap(), 0);
    });
}

/// What a session says of a history of which so much was asked about before, and which will be recorded.
fn looked_up(
    store: &dyn SessionArchive,
    session: &str,
    texts: &[&str],
    before: usize,
) -> HistoryLookup {
    let (keys, chains) = (&keys(texts)[..], &chains(texts)[..]);
    let (seen, is_recorded) = (Some(store.revision(SCOPE, session).unwrap()), true);
    let query = HistoryQuery { session, keys, chains, before, seen, is_recorded };
    store.lookup(SCOPE, &query).unwrap()
}

/// A turn of a session: what is looked up is what the store says, and then it is recorded.
fn turn(store: &dyn SessionArchive, session: &str, before: &[&str], new: &[&str]) {
    let texts = [before, new].concat();
    let found = looked_up(store, session, &texts, before.len());
    let new_chains = &chains(&texts)[before.len()..];
    assert_eq!(found.known, store.find_deepest(SCOPE, session, new_chains).unwrap(), "{texts:?}");
    assert_eq!(found.rewrites, store.rewrites(SCOPE, session, &keys(new)).unwrap(), "{texts:?}");
    store.append(SCOPE, session, &batch(before, new)).unwrap();
}

/// What is looked up may be lent from memory; where somebody else went on meanwhile, what is recorded
/// behind it is refused, and nothing of it is there.
#[test]
fn whoever_goes_on_from_what_others_changed_is_overtaken() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other] =
        [(); 2].map(|()| SqliteStore::open(&folder.path().join("epitome.db")).unwrap());
    let all = ["a", "b", "c", "d", "e"];
    let begin = |name: &str| {
        for at in 0..3 {
            turn(&own, name, &all[..at], &all[at..=at]);
        }
        assert_eq!(looked_up(&own, name, &all[..4], 3).known, None);
    };
    let more = |name: &str| say(&other, name, &all[..3], &["x"]);
    let again = |name: &str| say(&other, name, &all[..2], &["c"]);
    let pin = JournalMark::Pin(key("a"));
    let pinned = |name: &str| other.record_mark(SCOPE, name, &pin, "now").unwrap();
    let deleted = |name: &str| _ = other.delete(SCOPE, name).unwrap();
    for name in ["more", "again", "pinned", "deleted"] {
        begin(name);
        match name {
            "more" => more(name),
            "again" => again(name),
            "pinned" => pinned(name),
            _ => deleted(name),
        }
        let refused = own.append(SCOPE, name, &batch(&all[..3], &["d"]));
        let is_so = matches!(refused, Err(StoreError::Overtaken { .. }));
        assert!(is_so || name == "deleted" && refused.is_err(), "{name}: {refused:?}");
        let found = own.find_deepest(SCOPE, name, &chains(&all[..4])).unwrap();
        assert_eq!(found, (name != "deleted").then_some(2), "{name}");
    }
    // Once it is looked up anew it goes on.
    turn(&own, "pinned", &all[..3], &["d"]);
    assert_eq!(own.verify(false).unwrap(), []);
}

#[test]
fn what_is_lent_of_a_session_is_what_the_store_says_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
    for at in 0..4 {
        turn(&store, "one", &["a", "b", "c", "d"][..at], &["a", "b", "c", "d"][at..=at]);
    }
    // Back to an earlier place, and on from there over what is recorded.
    turn(&store, "one", &["a", "b"], &["x"]);
    turn(&store, "one", &["a", "b", "x"], &["y"]);
    turn(&store, "one", &["a", "b"], &["c"]);
    turn(&store, "one", &["a", "b", "c"], &["d", "e"]);
    // What was made smaller once is so again.
    let before = ["a", "b", "c", "d", "e"];
    let smaller = AppendBatch { rewrites: vec![rewrite("g", "less")], ..batch(&before, &["g"]) };
    store.append(SCOPE, "one", &smaller).unwrap();
    turn(&store, "one", &["a", "b", "c", "d", "e", "g"], &["h"]);
    turn(&store, "one", &["a", "b", "c", "d", "e", "g", "h"], &["g", "i"]);
    assert_eq!(store.verify(false).unwrap(), []);
}
