//! Rules of what sessions need: that several processes may keep them in one store.
//!
//! Invariant: each rule has two stores of sessions over one log, as two processes have. Called by
//! [`super::run_all`].

use epitome_kernel::types::{
    ContentId, EntryId, EntryKey, HistoryHash, JournalMark, Passage, Role,
};
use epitome_kernel::{AppendBatch, Eviction, Journal, MessageRecord, OriginalStore, StoredText};

use super::sample::SCOPE;
use super::{RuleBreach, TriedStore, holds, same};
use crate::{RecordStore, SessionArchive};

super::rule_list! {
    a_session_is_the_same_to_whoever_reads_it
    what_others_decide_is_seen_at_once
    a_deleted_session_is_gone_for_all
    what_was_erased_is_gone_for_all
}

fn key(text: &str) -> EntryKey {
    EntryKey(ContentId::for_text(text).0)
}

/// The request that brings these messages.
fn request(texts: &[&str]) -> AppendBatch {
    let mut chain = HistoryHash::default();
    let said = (0..).zip(texts).map(|(place, text)| {
        chain = chain.append(key(text));
        let bytes = format!(r#"{{"role":"user","content":"{text}"}}"#).into_bytes();
        MessageRecord {
            chain,
            key: key(text),
            place,
            role: Role::User,
            bytes: Some(bytes),
            text: ContentId::for_text(text),
            tokens: 7,
            at: None,
        }
    });
    let said: Vec<_> = said.collect();
    let blobs = texts.iter().zip(0..).map(|(text, at)| StoredText {
        id: ContentId::for_text(text),
        source: format!("one: e{at}"),
        text: (*text).to_owned(),
    });
    let blobs: Vec<_> = blobs.collect();
    let sources = blobs.iter().zip(0..).map(|(it, at)| (EntryId(at), it.id, it.source.clone()));
    let sources = sources.collect();
    let passage = |(text, at): (&&str, u32)| Passage { entry: EntryId(at), text: (*text).into() };
    let passages = texts.iter().zip(0..).map(passage).collect();
    let departure = Eviction { blobs, passages, sources };
    AppendBatch { said, departure, format: "anthropic".into(), ..AppendBatch::default() }
}

fn two(store: &TriedStore) -> [RecordStore<TriedStore>; 2] {
    [RecordStore::over(store.clone()), RecordStore::over(store.clone())]
}

fn a_session_is_the_same_to_whoever_reads_it(store: &TriedStore) -> Result<(), RuleBreach> {
    let [first, second] = two(store);
    let batch = request(&["red apples", "green pears"]);
    first.append(SCOPE, "one", &batch)?;
    let info = second.session(SCOPE, "one")?;
    same("what is known of it", &info, &first.session(SCOPE, "one")?)?;
    same("its messages", second.history(SCOPE, "one", info.head, 0, 9)?, batch.said)?;
    let found = second.original(SCOPE, &ContentId::for_text("red apples").to_string())?;
    same("an original", found.text.as_str(), "red apples")?;
    same("what is wrong with the store", second.verify(false)?, Vec::new())
}

fn what_others_decide_is_seen_at_once(store: &TriedStore) -> Result<(), RuleBreach> {
    let [first, second] = two(store);
    first.append(SCOPE, "one", &request(&["a", "b"]))?;
    for round in 0..3 {
        let before = second.revision(SCOPE, "one")?;
        first.record_mark(SCOPE, "one", &JournalMark::Pin(key("a")), "now")?;
        let after = second.revision(SCOPE, "one")?;
        holds(&format!("{after} is not above {before} in round {round}"), after > before)?;
        second.append(SCOPE, "one", &request(&["a", "b", &format!("c{round}")]))?;
        same("the pins", second.compactions(SCOPE, "one", &[])?.pins, vec![key("a")])?;
    }
    let infos = [first.session(SCOPE, "one")?, second.session(SCOPE, "one")?];
    same("what both know", &infos[0], &infos[1])
}

fn a_deleted_session_is_gone_for_all(store: &TriedStore) -> Result<(), RuleBreach> {
    let [first, second] = two(store);
    first.append(SCOPE, "one", &request(&["a", "b"]))?;
    second.append(SCOPE, "two", &request(&["c"]))?;
    same("how many messages went", second.delete(SCOPE, "one")?, 2)?;
    holds("it is still there", first.session(SCOPE, "one").is_err())?;
    first.append(SCOPE, "one", &request(&["x"]))?;
    same("its messages", second.session(SCOPE, "one")?.figures.messages, 1)?;
    same("those of the other one", first.session(SCOPE, "two")?.figures.messages, 1)
}

fn what_was_erased_is_gone_for_all(store: &TriedStore) -> Result<(), RuleBreach> {
    let [first, second] = two(store);
    let batch = request(&["a", "the secret"]);
    first.append(SCOPE, "one", &batch)?;
    second.erase(SCOPE, key("the secret"))?;
    let head = first.session(SCOPE, "one")?.head;
    let told = first.history(SCOPE, "one", head, 0, 9)?;
    let kept: Vec<bool> = told.iter().map(|said| said.bytes.is_some()).collect();
    same("which messages have their bytes", kept, vec![true, false])?;
    first.append(SCOPE, "two", &batch)?;
    let id = ContentId::for_text("the secret").to_string();
    holds("its text is still there", second.original(SCOPE, &id).is_err())?;
    let found = store.pieces(SCOPE, &crate::log::PieceQuery { line: None, text: "secret" })?;
    holds("a piece of it is still there", found.iter().all(|it| !it.text.contains("secret")))
}
