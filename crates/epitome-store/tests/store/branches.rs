//! The ways through the history of a session, and which of them one goes on from.

use epitome_kernel::Clue;
use epitome_kernel::types::{HistoryHash, SessionBranch};
use epitome_store::SessionArchive;

use crate::common::each_archive;
use crate::talk::{SCOPE, answer, answer_said, chain, chains, say};

/// The ways, each by what is said on it and by how much of that the session holds where it stands.
#[track_caller]
fn check(store: &dyn SessionArchive, expected: &[(&[&str], u32)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(said, shared)| {
            let (head, messages) = (chain(said), said.len() as u32);
            SessionBranch { head, messages, shared: *shared }
        })
        .collect();
    assert_eq!(store.branches(SCOPE, "one").unwrap(), expected);
}

#[test]
fn each_way_is_listed_and_can_be_read() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c"]);
        check(store, &[(&["a", "b", "c"], 3)]);
        say(store, "one", &["a"], &["d"]);
        say(store, "two", &[], &["a", "x"]);
        check(store, &[(&["a", "b", "c"], 1), (&["a", "d"], 2)]);
        say(store, "one", &["a", "b"], &["e"]);
        say(store, "one", &["a", "d"], &["f"]);
        let ways: [(&[&str], u32); 3] =
            [(&["a", "b", "c"], 1), (&["a", "b", "e"], 1), (&["a", "d", "f"], 3)];
        check(store, &ways);
        let said = store.history(SCOPE, "one", chain(&["a", "b", "e"]), 1, 9).unwrap();
        let keys: Vec<_> = said.iter().map(|said| said.chain).collect();
        assert_eq!(keys, chains(&["a", "b", "e"])[1..]);
        store.record_response(SCOPE, "one", &answer(&["a", "b", "c"], "g")).unwrap();
        let told = store.answer_to(SCOPE, "one", chain(&["a", "b", "c"])).unwrap();
        assert_eq!(told, Some(answer_said(&["a", "b", "c"], "g")));
        assert_eq!(store.answer(SCOPE, "one").unwrap(), None);
        // Where it was led back, what came later is a way.
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        let back: [(&[&str], u32); 4] =
            [(&["a", "b", "c"], 1), (&["a", "b", "e"], 1), (&["a", "d", "f"], 1), (&["a"], 1)];
        check(store, &back);
        store.set_head(SCOPE, "one", HistoryHash::default(), None).unwrap();
        let ways: Vec<_> = ways.iter().map(|(said, _)| (*said, 0)).collect();
        check(store, &ways);
        assert!(store.branches(SCOPE, "three").is_err());
    });
}

#[test]
fn a_way_that_was_left_is_told_from_the_one_that_is_gone_on_with() {
    each_archive(|store| {
        say(store, "one", &[], &["a", "b", "c"]);
        say(store, "one", &["a"], &["d", "e"]);
        let left = |said: &[&str]| {
            let chains = chains(said);
            let clue = Clue {
                chains: &chains,
                format: "anthropic",
                label: None,
                least: 1,
                answers: &|_| None,
            };
            let holders = store.holders(SCOPE, &clue).unwrap();
            holders.into_iter().map(|holder| (holder.shared, holder.left)).collect::<Vec<_>>()
        };
        assert_eq!(left(&["a", "x"]), [(1, false)]);
        assert_eq!(left(&["a", "d", "e", "x"]), [(3, false)]);
        assert_eq!(left(&["a", "b", "x"]), [(2, true)]);
        assert_eq!(left(&["a", "b", "c", "x"]), [(3, true)]);
        // It was led back, and goes on as it came.
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        assert_eq!(left(&["a", "b", "c", "x"]), [(3, false)]);
    });
}
