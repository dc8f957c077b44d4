//! What every store must do with the answers that came back, run against each of them.

use epitome_kernel::types::{ContentId, HistoryHash, Role, TokenUsage};
use epitome_kernel::{
    AnswerClue, Clue, Eviction, HistoryQuery, OriginalStore, ResponseRecord, StoreError,
};
use epitome_store::{MemoryStore, SessionArchive, SqliteStore};

use crate::common::{Chars, each_archive};
use crate::talk::{SCOPE, answer, answer_said, batch_of, chain, chains, departure, key, say};

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

/// The histories that the search is offered.
fn open(store: &dyn SessionArchive) -> Vec<HistoryHash> {
    store.unindexed(SCOPE, 99).unwrap().into_iter().map(|(_, said)| said.chain).collect()
}

#[test]
fn the_newest_answer_stands_behind_the_newest_message() {
    each_archive(|store| {
        say(store, "one", &[], &["a"]);
        assert_eq!(store.answer(SCOPE, "one").unwrap(), None);
        store.record_response(SCOPE, "one", &answer(&["a"], "b")).unwrap();
        assert_eq!(store.answer(SCOPE, "one").unwrap(), Some(answer_said(&["a"], "b")));
        store.record_response(SCOPE, "one", &answer(&["a"], "c")).unwrap();
        assert_eq!(store.answer(SCOPE, "one").unwrap(), Some(answer_said(&["a"], "c")));
        // It is no message: the history ends where it did, and no prompt is another one by it.
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.messages, 1);
        assert_eq!(store.find_deepest(SCOPE, "one", &chains(&["a", "c"])).unwrap(), Some(0));
        assert_eq!(store.revision(SCOPE, "one").unwrap(), 0);
        say(store, "one", &["a"], &["c", "d"]);
        assert_eq!(store.answer(SCOPE, "one").unwrap(), None);
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        assert_eq!(store.answer(SCOPE, "one").unwrap(), Some(answer_said(&["a"], "c")));
    });
}

#[test]
fn what_the_provider_counted_is_known_by_the_history_that_was_asked_with() {
    each_archive(|store| {
        say(store, "one", &[], &["a"]);
        let counted = |input, output| {
            let usage = TokenUsage { input, output, ..TokenUsage::default() };
            ResponseRecord { usage, ..answer(&["a"], "b") }
        };
        assert!(store.answer_usage(SCOPE, "one").unwrap().is_empty());
        store.record_response(SCOPE, "one", &counted(10, 2)).unwrap();
        store.record_response(SCOPE, "one", &counted(30, 4)).unwrap();
        say(store, "one", &["a"], &["b", "c"]);
        let by = store.answer_usage(SCOPE, "one").unwrap();
        let usage = by.iter().map(|(after, usage)| (*after, usage.input, usage.output));
        assert_eq!(usage.collect::<Vec<_>>(), [(chain(&["a"]), 40, 6)]);
        let unknown = store.answer_usage(SCOPE, "two");
        assert!(matches!(unknown, Err(StoreError::NoSession { .. })), "{unknown:?}");
    });
}

#[test]
fn an_answer_to_nothing_recorded_is_refused() {
    each_archive(|store| {
        let error = store.record_response(SCOPE, "one", &answer(&["a"], "b")).unwrap_err();
        assert!(matches!(error, StoreError::NoSession { .. }), "{error}");
        say(store, "one", &[], &["a"]);
        let error = store.record_response(SCOPE, "one", &answer(&["x"], "b")).unwrap_err();
        assert!(error.to_string().contains("is not recorded"), "{error}");
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.answers, 0);
        assert!(store.answer(SCOPE, "two").is_err());
        assert!(store.answer("elsewhere", "one").is_err());
    });
}

#[test]
fn what_the_provider_counted_is_summed_up() {
    each_archive(|store| {
        say(store, "one", &[], &["a"]);
        say(store, "two", &["a"], &["x"]);
        let mut broken_off = answer(&["a"], "");
        (broken_off.key, broken_off.bytes, broken_off.stop) = (None, None, None);
        broken_off.usage = TokenUsage { output: u64::MAX - 3, ..TokenUsage::default() };
        for answer in [answer(&["a"], "bcd"), broken_off] {
            store.record_response(SCOPE, "one", &answer).unwrap();
        }
        let one = store.session(SCOPE, "one").unwrap();
        let usage = TokenUsage { input: 1, cache_read: 10, cache_written: 100, output: u64::MAX };
        assert_eq!((one.figures.answers, one.figures.usage), (2, usage));
        assert_eq!(store.answer(SCOPE, "one").unwrap(), Some(answer_said(&["a"], "bcd")));
        let all = store.sessions(SCOPE, 0, 9, false).unwrap();
        assert_eq!(all.iter().map(|info| info.figures.answers).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(all[1], one);
    });
}

#[test]
fn the_search_learns_answers_that_nobody_sent_back() {
    each_store(|store| {
        say(store, "one", &[], &["a"]);
        store.record_response(SCOPE, "one", &answer(&["a"], "left behind")).unwrap();
        store.record_response(SCOPE, "one", &answer(&["a"], "taken up")).unwrap();
        say(store, "one", &["a"], &["taken up"]);
        let expected = [&["a"][..], &["a", "taken up"], &["a", "left behind"]].map(chain);
        assert_eq!(open(store), expected);
        store.index(SCOPE, "one", &expected[2..], &departure(&["left behind"])).unwrap();
        assert_eq!(open(store), expected[..2]);
        let found = store.search(SCOPE, "behind", 100, &Chars).unwrap();
        assert_eq!(found[0].text, "left behind");
        // An answer that was sent back is learned as the message that it became.
        store.index(SCOPE, "one", &expected[..2], &departure(&["a", "taken up"])).unwrap();
        assert_eq!(open(store), []);
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        assert_eq!(open(store), []);
    });
}

#[test]
fn an_answer_goes_with_the_message_that_it_became() {
    each_store(|store| {
        say(store, "one", &[], &["a", "hunter2"]);
        store.record_response(SCOPE, "one", &answer(&["a"], "hunter2 in other bytes")).unwrap();
        store.record_response(SCOPE, "one", &answer(&["a", "hunter2"], "on")).unwrap();
        let chains = [chain(&["a", "hunter2 in other bytes"]), chain(&["a", "hunter2", "on"])];
        let texts = departure(&["hunter2 in other bytes", "on"]);
        store.index(SCOPE, "one", &chains, &texts).unwrap();
        store.erase(SCOPE, key("hunter2")).unwrap();
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        let left = store.answer(SCOPE, "one").unwrap().unwrap();
        assert_eq!((left.bytes, left.place), (None, 1));
        assert_eq!(original(store, "hunter2 in other bytes"), None);
        assert_eq!(original(store, "on").as_deref(), Some("on"));
        assert_eq!(
            store.session(SCOPE, "one").unwrap().figures.answers,
            2,
            "it was paid all the same"
        );
    });
}

/// The answer that says these, one message each, after these texts.
fn answer_of_several(after: &[&str], said: &[&str]) -> ResponseRecord {
    let (last, ahead) = said.split_last().unwrap();
    let before = [after, ahead].concat();
    let ahead = u32::try_from(ahead.len()).unwrap();
    ResponseRecord { after: chain(after), ahead, ..answer(&before, last) }
}

/// Sends an answer back that is several messages.
fn send_back(store: &dyn Both, before: &[&str], said: &[&str]) {
    let mut batch = batch_of(store, "one", before, said);
    batch.said.iter_mut().for_each(|said| said.role = Role::Assistant);
    store.append(SCOPE, "one", &batch).unwrap();
}

#[test]
fn an_answer_of_several_messages_is_known_by_all_of_them() {
    each_store(|store| {
        say(store, "one", &[], &["a"]);
        let said = ["let me see", "i look", "call"];
        store.record_response(SCOPE, "one", &answer_of_several(&["a"], &said)).unwrap();
        let newest = store.answer(SCOPE, "one").unwrap().unwrap();
        assert_eq!(
            (newest.place, newest.chain),
            (3, chain(&["a", "let me see", "i look", "call"]))
        );

        let chains = chains(&["a", "let me see", "i look", "call", "result"]);
        let holder = |answers: &(dyn Fn(usize) -> Option<AnswerClue> + Sync)| {
            let clue =
                Clue { chains: &chains, format: "anthropic", label: None, least: 1, answers };
            let mut holders = store.holders(SCOPE, &clue).unwrap();
            (holders[0].shared, holders.remove(0).answered)
        };
        let text = ContentId::for_text("other");
        let clue = |length| Some(AnswerClue { length, text, drawn: None });
        assert_eq!(holder(&|_| clue(3)), (1, 3));
        assert_eq!(holder(&|_| clue(2)), (1, 0));
        let text = ContentId::for_text("call");
        assert_eq!(holder(&|_| Some(AnswerClue { length: 2, text, drawn: None })), (1, 2));

        send_back(store, &["a"], &said);
        assert_eq!(store.answer(SCOPE, "one").unwrap(), None);
        assert_eq!(open(store).len(), 4, "none of them is offered twice");
    });
}

#[test]
fn an_answer_of_several_messages_goes_with_what_its_client_made_of_it() {
    each_store(|store| {
        say(store, "one", &[], &["a"]);
        let said = ["i look", "hunter2 in other bytes"];
        store.record_response(SCOPE, "one", &answer_of_several(&["a"], &said)).unwrap();
        let elsewhere = answer_of_several(&["a"], &["i look", "i look again", "nothing"]);
        store.record_response(SCOPE, "one", &elsewhere).unwrap();
        send_back(store, &["a"], &["i look", "hunter2"]);
        store.erase(SCOPE, key("hunter2")).unwrap();
        store.set_head(SCOPE, "one", chain(&["a"]), None).unwrap();
        let kept = store.answer(SCOPE, "one").unwrap().unwrap();
        assert_eq!(kept.bytes, elsewhere.bytes);
        let left = open(store);
        let erased = chain(&["a", "i look", "hunter2 in other bytes"]);
        assert!(!left.contains(&erased), "its bytes are gone");
    });
}

#[test]
fn an_answer_that_is_no_message_can_be_erased_too() {
    each_store(|store| {
        say(store, "one", &[], &["a"]);
        store.record_response(SCOPE, "one", &answer(&["a"], "secret")).unwrap();
        store.index(SCOPE, "one", &[chain(&["a", "secret"])], &departure(&["secret"])).unwrap();
        assert_eq!(store.erase(SCOPE, key("secret")).unwrap(), 0);
        assert_eq!(original(store, "secret"), None);
        assert_eq!(store.answer(SCOPE, "one").unwrap().unwrap().bytes, None);
        // Nor does it come back, as an answer or as a message.
        store.record_response(SCOPE, "one", &answer(&["a"], "secret")).unwrap();
        assert_eq!(store.answer(SCOPE, "one").unwrap().unwrap().bytes, None);
        say(store, "one", &["a"], &["secret"]);
        assert_eq!(
            store.history(SCOPE, "one", chain(&["a", "secret"]), 1, 1).unwrap()[0].bytes,
            None
        );
        assert_eq!(open(store), [chain(&["a"])]);
    });
}

#[test]
fn answers_go_with_their_session() {
    each_store(|store| {
        say(store, "one", &[], &["a"]);
        say(store, "two", &["a"], &["x"]);
        store.record_response(SCOPE, "one", &answer(&["a"], "mine")).unwrap();
        store.record_response(SCOPE, "two", &answer(&["a"], "yours")).unwrap();
        let chains = ["mine", "yours"].map(|text| chain(&["a", text]));
        for ((chain, text), session) in chains.iter().zip(["mine", "yours"]).zip(["one", "two"]) {
            store.index(SCOPE, session, &[*chain], &departure(&[text])).unwrap();
        }
        store.delete(SCOPE, "one").unwrap();
        assert_eq!(
            (original(store, "mine"), original(store, "yours")),
            (None, Some("yours".into()))
        );
        assert_eq!(store.session(SCOPE, "two").unwrap().figures.answers, 1);
        say(store, "one", &[], &["b"]);
        assert_eq!(store.session(SCOPE, "one").unwrap().figures.answers, 0);
        store.index(SCOPE, "one", &[chain(&["a", "mine"])], &Eviction::default()).unwrap();
    });
}

/// The empty name is nobody's, whatever a store keeps under it.
#[test]
fn there_is_no_session_without_a_name() {
    each_store(|store| {
        say(store, "a", &[], &["red"]);
        let found = store.record_response(SCOPE, "", &answer(&["red"], "green"));
        assert!(matches!(found, Err(StoreError::NoSession { .. })), "{found:?}");
        let history = HistoryQuery {
            session: "",
            keys: &[key("red")],
            chains: &chains(&["red"]),
            before: 0,
            seen: None,
            is_recorded: true,
        };
        assert_eq!(store.lookup(SCOPE, &history).unwrap().known, None);
    });
}
