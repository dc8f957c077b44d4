//! What a database keeps beside the records is made anew from them.

use epitome_kernel::types::{ContentId, EntryId, HistoryHash, ImagePart, Passage};
use epitome_kernel::{Clue, Eviction, Journal, OriginalStore, StoredText, TokenCounter};
use epitome_postgres::PostgresStore;
use epitome_store::SessionArchive;
use epitome_testkit::PostgresServer;

use crate::cuts::turn;
use crate::shared::{client, open};

const SCOPE: &str = "local/default";

struct Words;

impl TokenCounter for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    fn image(&self, _: &ImagePart) -> u64 {
        0
    }
}

/// What is found by what a message says, and by the history that it ends.
fn found(store: &PostgresStore, chain: HistoryHash) -> (Vec<String>, Vec<String>) {
    let excerpts = store.search(SCOPE, "lighthouse", 100, &Words).unwrap();
    let (chains, answers) = ([chain], |_| None);
    let clue =
        Clue { chains: &chains, format: "anthropic", label: None, least: 1, answers: &answers };
    let holders = store.holders(SCOPE, &clue).unwrap();
    (
        excerpts.into_iter().map(|it| it.text).collect(),
        holders.into_iter().map(|it| it.session).collect(),
    )
}

#[test]
fn what_was_damaged_of_it_is_right_again() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let store = PostgresStore::over(open(&server, "postgres"));
    let first = turn("talk", HistoryHash::default(), 0);
    store.append(SCOPE, "talk", &first).unwrap();
    let text = "The lighthouse is at the end of the road.".to_owned();
    let (entry, id, source) = (EntryId(0), ContentId::for_text(&text), "e0 user".to_owned());
    let departure = Eviction {
        passages: vec![Passage { entry, text: text.as_str().into() }],
        sources: vec![(entry, id, source.clone())],
        blobs: vec![StoredText { id, source, text }],
    };
    store.keep(SCOPE, &departure).unwrap();
    let chain = first.said[0].chain;
    let sound = found(&store, chain);
    assert_eq!((sound.0.len(), sound.1.len()), (1, 1));
    assert_eq!(store.rebuild().unwrap(), []);
    assert_eq!(found(&store, chain), sound);

    let damage = "DELETE FROM epitome_key; UPDATE epitome_piece SET terms = '{}';
        UPDATE epitome_line SET seq = seq + 7, sum = '\\x00'";
    client(&server, "postgres").batch_execute(damage).unwrap();
    let store = PostgresStore::over(open(&server, "postgres"));
    assert_eq!(found(&store, chain), (vec![], vec![]));
    store.rebuild().unwrap();
    assert_eq!(found(&store, chain), sound);
    store.append(SCOPE, "talk", &turn("talk", chain, 1)).unwrap();

    // What is added to a line has its end be right first.
    let damage = "UPDATE epitome_line SET seq = seq + 7, sum = '\\x00'";
    client(&server, "postgres").batch_execute(damage).unwrap();
    store.append(SCOPE, "talk", &turn("talk", chain, 1)).unwrap();
    let behind = turn("talk", chain, 1).said[0].chain;
    store.append(SCOPE, "talk", &turn("talk", behind, 2)).unwrap();
    assert_eq!(store.verify(false).unwrap(), []);
}
