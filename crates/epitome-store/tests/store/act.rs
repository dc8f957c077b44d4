//! What every journal must do with acts: keep them as they were done, in their order, and let go of
//! them with their session and with the message that they quote.

use epitome_kernel::types::{Actor, GoalAction, GoalChange, RecordedAction, SessionAction};
use epitome_kernel::{AppendBatch, Beginning, Journal, StoreError};
use epitome_store::SqliteStore;

use crate::common::each_archive;
use crate::talk::{SCOPE, acts, answer, batch, chain, goal, key, say};

#[test]
fn acts_come_back_in_their_order() {
    each_archive(|store| {
        let error = store.act(SCOPE, "one", &acts()).unwrap_err();
        assert!(matches!(error, StoreError::NoSession { .. }), "{error}");
        say(store, "one", &[], &["a"]);
        say(store, "two", &["a"], &["b"]);
        assert_eq!(store.acts(SCOPE, "one").unwrap(), []);
        store.act(SCOPE, "one", &acts()).unwrap();
        store.act(SCOPE, "two", &acts()[..1]).unwrap();
        let seen = || store.revision(SCOPE, "one").unwrap();
        let before = seen();
        store.act(SCOPE, "one", &[]).unwrap();
        assert_eq!(seen(), before, "nothing was done");
        store.act(SCOPE, "one", &acts()[1..2]).unwrap();
        assert_eq!(seen(), before + 1, "each call is seen");
        let expected = [&acts()[..], &acts()[1..2]].concat();
        assert_eq!(store.acts(SCOPE, "one").unwrap(), expected);
        assert_eq!(store.acts(SCOPE, "two").unwrap(), acts()[..1]);
        assert_eq!(store.acts(SCOPE, "none").unwrap(), []);
        assert_eq!(store.acts("elsewhere", "one").unwrap(), []);
        let error = store.act(SCOPE, "on", &acts()).unwrap_err();
        assert!(error.to_string().contains("did you mean `one`?"), "{error}");
        assert!(store.act("elsewhere", "one", &acts()).is_err());
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

#[test]
fn acts_of_a_batch_are_recorded_with_it_where_it_ends() {
    each_archive(|store| {
        say(store, "one", &[], &["a"]);
        let before = store.revision(SCOPE, "one").unwrap();
        let decided = AppendBatch { acts: acts(), ..batch(&["a"], &["b", "c"]) };
        store.append(SCOPE, "one", &decided).unwrap();
        assert_eq!(store.revision(SCOPE, "one").unwrap(), before + 1, "others are to see it");
        assert_eq!(store.acts(SCOPE, "one").unwrap(), acts());
        for (name, from, inherited) in
            [("at", chain(&["a", "b", "c"]), acts().len()), ("before", chain(&["a"]), 0)]
        {
            let from = Some(("one".to_owned(), from));
            let beginning = Beginning { from, ..Beginning::default() };
            store.begin(SCOPE, name, &beginning, "now").unwrap();
            assert_eq!(store.acts(SCOPE, name).unwrap(), acts()[..inherited], "{name}");
        }
        // One that cannot be recorded brings nothing.
        let astray = AppendBatch { acts: acts(), ..batch(&["x"], &["y"]) };
        store.append(SCOPE, "one", &astray).unwrap_err();
        assert_eq!(store.acts(SCOPE, "one").unwrap(), acts());
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

#[test]
fn acts_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let store = SqliteStore::open(&path).unwrap();
    say(&store, "one", &[], &["a"]);
    store.act(SCOPE, "one", &acts()).unwrap();
    drop(store);
    let store = SqliteStore::open_existing(&path).unwrap();
    assert_eq!(store.acts(SCOPE, "one").unwrap(), acts());
}

#[test]
fn acts_go_with_their_session() {
    each_archive(|store| {
        say(store, "one", &[], &["a"]);
        say(store, "two", &["a"], &["b"]);
        store.act(SCOPE, "one", &acts()).unwrap();
        store.act(SCOPE, "two", &acts()[..1]).unwrap();
        store.set_trashed(SCOPE, "one", true).unwrap();
        assert_eq!(store.acts(SCOPE, "one").unwrap(), acts(), "it may come back from there");
        store.delete(SCOPE, "one").unwrap();
        say(store, "one", &["a"], &["c"]);
        assert_eq!(store.acts(SCOPE, "one").unwrap(), []);
        assert_eq!(store.acts(SCOPE, "two").unwrap(), acts()[..1]);
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

#[test]
fn acts_go_with_the_message_that_they_quote() {
    each_archive(|store| {
        let secret = "the password  is hunter2, keep it";
        let decided = |by| RecordedAction {
            by,
            ..goal(GoalChange::Next { text: "password is  hunter2".into() })
        };
        let other = goal(GoalChange::Next { text: "password is hunter3".into() });
        let ask =
            RecordedAction { act: SessionAction::Ask { tool: "hunter2".into() }, ..other.clone() };
        let named = RecordedAction {
            act: SessionAction::Augment { name: "a/b".into(), active: true },
            ..other.clone()
        };
        let reason = goal(GoalChange::Decide {
            text: "Say nothing".into(),
            rationale: Some("the password is hunter2".into()),
            locked: true,
            kind: epitome_kernel::types::DecisionKind::Plain,
        });
        let all = [
            decided(Actor::Model),
            other.clone(),
            reason,
            decided(Actor::User),
            ask.clone(),
            decided(Actor::Policy("team".into())),
            named.clone(),
        ];
        say(store, "one", &[], &["a", secret]);
        say(store, "two", &[], &["x"]);
        store.act(SCOPE, "one", &all).unwrap();
        store.act(SCOPE, "two", &all).unwrap();
        store.erase(SCOPE, key(secret)).unwrap();
        // What the user did by hand was not taken from the message.
        let left = [other, decided(Actor::User), ask, named];
        for session in ["one", "two"] {
            assert_eq!(store.acts(SCOPE, session).unwrap(), left, "{session}");
        }
        assert_eq!(store.verify(false).unwrap(), []);
    });
}

/// A marker stands in an answer, which may not have come back as a message yet.
#[test]
fn acts_go_with_the_answer_that_they_quote() {
    each_archive(|store| {
        store.append(SCOPE, "one", &batch(&[], &["a"])).unwrap();
        store.record_response(SCOPE, "one", &answer(&["a"], "[NEXT] buy milk")).unwrap();
        let change = GoalChange::Next { text: "buy milk".into() };
        let act = SessionAction::Goal(GoalAction::new(Some("g1".into()), change));
        store
            .act(SCOPE, "one", &[RecordedAction { act, by: Actor::Model, at: "now".into() }])
            .unwrap();
        store.erase(SCOPE, key("[NEXT] buy milk")).unwrap();
        assert_eq!(store.acts(SCOPE, "one").unwrap(), []);
    });
}
