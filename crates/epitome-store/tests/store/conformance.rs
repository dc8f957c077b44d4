//! What every store must do, run against each of them.

use crate::common::{Chars, Conversation, each_store};
use epitome_kernel::types::{ContentId, EntryId, Passage};
use epitome_kernel::{Eviction, StoreError, StoredText, TokenCounter};
use proptest::prelude::*;

#[test]
fn a_kept_original_comes_back_by_id_and_by_beginning() {
    each_store(|store| {
        store
            .keep("a", &Conversation::new().entry("read_file", "fn main() {}").departure())
            .unwrap();
        let id = ContentId::for_text("fn main() {}").to_string();
        for beginning in [&id[..4], &id[..8], &id, &id.to_uppercase()] {
            let blob = store.original("a", beginning).unwrap();
            assert_eq!(blob.text, "fn main() {}");
            assert_eq!(blob.source, "e0 read_file");
            assert_eq!(blob.id.to_string(), id);
        }
        for other in ["", &id[..3], "zzzz", "0000000000000000"] {
            let error = store.original("a", other).unwrap_err();
            assert!(matches!(error, StoreError::Unknown { .. }), "{other}: {error}");
        }
    });
}

#[test]
fn a_beginning_of_two_ids_is_ambiguous() {
    each_store(|store| {
        let blob = |id: u8, text: &str| {
            let mut bytes = [0xab; 16];
            bytes[15] = id;
            StoredText { id: ContentId(bytes), source: format!("e{id}"), text: text.into() }
        };
        let departure = Eviction { blobs: vec![blob(1, "one"), blob(2, "two")], ..<_>::default() };
        store.keep("a", &departure).unwrap();
        let error = store.original("a", "abab").unwrap_err();
        assert!(matches!(error, StoreError::Ambiguous { count: 2, .. }), "{error}");
        assert_eq!(store.original("a", &format!("{}02", "ab".repeat(15))).unwrap().text, "two");
    });
}

#[test]
fn keeping_twice_changes_nothing() {
    each_store(|store| {
        let departure = Conversation::new()
            .entry("user", "the harbour opens at nine")
            .entry("user", "the ferry leaves at noon")
            .departure();
        store.keep("a", &departure).unwrap();
        let once = store.search("a", "ferry harbour", 100, &Chars).unwrap();
        store.keep("a", &departure).unwrap();
        assert_eq!(store.search("a", "ferry harbour", 100, &Chars).unwrap(), once);
        assert_eq!(once.len(), 2);
    });
}

#[test]
fn scopes_do_not_see_each_other() {
    each_store(|store| {
        let first = Conversation::new().entry("user", "alpha secret apples").departure();
        let second = Conversation::new().entry("user", "beta pears").departure();
        store.keep("a", &first).unwrap();
        store.keep("b", &second).unwrap();
        let id = ContentId::for_text("alpha secret apples").to_string();
        assert!(matches!(store.original("b", &id), Err(StoreError::Unknown { .. })));
        assert!(matches!(store.original("", &id), Err(StoreError::Unknown { .. })));
        let found = store.search("b", "alpha secret apples", 1000, &Chars).unwrap();
        assert!(found.iter().all(|excerpt| excerpt.text == "beta pears"), "{found:?}");
        assert!(store.search("c", "alpha", 1000, &Chars).unwrap().is_empty());
        // The same text may be kept by both.
        store.keep("b", &first).unwrap();
        assert_eq!(store.original("b", &id).unwrap().text, "alpha secret apples");
    });
}

#[test]
fn a_search_finds_what_it_names_first() {
    each_store(|store| {
        let mut conversation = Conversation::new();
        for number in 0..40 {
            conversation =
                conversation.entry("user", &format!("We spoke of garden number {number}."));
        }
        let departure = conversation
            .entry("read_file", "the theme is in src/theme/dark.json")
            .entry("user", "We spoke of the weather.")
            .departure();
        store.keep("a", &departure).unwrap();
        for query in ["where is the dark theme?", "src/theme/dark.json", "DARK.json", "themes"] {
            let found = store.search("a", query, 200, &Chars).unwrap();
            assert_eq!(found[0].text, "the theme is in src/theme/dark.json", "{query}");
            assert_eq!(found[0].source, "e40 read_file");
            assert_eq!(found[0].id, ContentId::for_text("the theme is in src/theme/dark.json"));
        }
    });
}

#[test]
fn neighbours_come_back_as_one_excerpt() {
    each_store(|store| {
        let departure = Conversation::new()
            .cut("read_file", &["the red barn", "stands by the red river"])
            .entry("user", "nothing else")
            .departure();
        store.keep("a", &departure).unwrap();
        let found = store.search("a", "red", 1000, &Chars).unwrap();
        assert_eq!(found[0].text, "the red barn\nstands by the red river");
    });
}

#[test]
fn a_reworded_passage_is_found_and_leads_to_its_original() {
    each_store(|store| {
        let mut departure =
            Conversation::new().entry("get_user", r#"{"name": "Mia", "age": 41}"#).departure();
        departure.passages = vec![Passage { entry: EntryId(0), text: "name Mia, age 41".into() }];
        store.keep("a", &departure).unwrap();
        let found = store.search("a", "Mia", 100, &Chars).unwrap();
        assert_eq!(found[0].text, "name Mia, age 41");
        let original = store.original("a", &found[0].id.to_string()).unwrap();
        assert_eq!(original.text, r#"{"name": "Mia", "age": 41}"#);
        let own = ContentId::for_text("name Mia, age 41").to_string();
        assert!(matches!(store.original("a", &own), Err(StoreError::Unknown { .. })));
    });
}

#[test]
fn a_passage_without_source_is_its_own_original() {
    each_store(|store| {
        let departure = Eviction {
            passages: vec![Passage { entry: EntryId(3), text: "lonely words".into() }],
            ..Eviction::default()
        };
        store.keep("a", &departure).unwrap();
        let found = store.search("a", "lonely", 100, &Chars).unwrap();
        assert_eq!(store.original("a", &found[0].id.to_string()).unwrap().source, "e3");
    });
}

#[test]
fn without_a_hit_nothing_comes_back() {
    each_store(|store| {
        let mut conversation = Conversation::new();
        for number in 0..20 {
            let text = match number {
                18 => "reservation ZFA04Y for mia_li_3668 paid with gift_card_7091239".to_owned(),
                _ => format!("hello there, how do you do on evening {number}"),
            };
            conversation = conversation.entry("user", &text);
        }
        store.keep("a", &conversation.departure()).unwrap();
        for query in ["", "xylophone", "the and of", "???"] {
            let found = store.search("a", query, 1000, &Chars).unwrap();
            assert_eq!(found, [], "{query}");
        }
        let found = store.search("a", "reservation", 1000, &Chars).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    });
}

#[test]
fn every_script_is_kept_and_found() {
    each_store(|store| {
        let texts =
            ["Die Größe ändert sich", "東京タワーは高い", "мост через реку", "a\u{0}b 🦀 crab"];
        let mut conversation = Conversation::new();
        for text in texts {
            conversation = conversation.entry("user", text);
        }
        store.keep("ä/б", &conversation.departure()).unwrap();
        for (query, expected) in ["GRÖSSE Größe", "高い", "РЕКУ", "🦀 crab"].into_iter().zip(texts)
        {
            let found = store.search("ä/б", query, 1000, &Chars).unwrap();
            assert_eq!(found[0].text, expected, "{query}");
        }
    });
}

#[test]
fn ten_thousand_passages() {
    each_store(|store| {
        let mut conversation = Conversation::new();
        for number in 0..10_000 {
            let text = if number == 1_234 {
                "the vault code is QX-7781 and nobody else knows the vault".to_owned()
            } else {
                format!("step {number} of the long march through the files of part {}", number % 97)
            };
            conversation = conversation.entry("tool", &text);
        }
        store.keep("a", &conversation.departure()).unwrap();
        store.keep("b", &Conversation::new().entry("tool", "the vault of b").departure()).unwrap();
        for query in ["what was the code of the vault?", "QX-7781", "vault march files step code"] {
            let found = store.search("a", query, 250, &Chars).unwrap();
            assert!(found[0].text.contains("QX-7781"), "{query}: {found:?}");
            assert!(found.iter().all(|excerpt| !excerpt.text.contains("of b")), "{query}");
        }
        for query in ["", "xylophone"] {
            assert_eq!(store.search("a", query, 250, &Chars).unwrap(), [], "{query}");
        }
        let large = store.search("a", "march", 12_000, &Chars).unwrap();
        let used: u64 = large.iter().map(|excerpt| Chars.count(&excerpt.text)).sum();
        assert!((11_900..=12_000).contains(&used), "a large budget is used too: {used}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_query_exceeds_the_budget_or_fails(
        texts in prop::collection::vec("[a-z_/.0-9 \n]{0,60}|\\PC{0,20}", 0..12),
        query in "\\PC{0,40}|[\"'()*^:+ANDORNOT{}-]{0,20}|[a-z_/. ]{0,30}",
        budget in 0_u64..60,
    ) {
        let mut conversation = Conversation::new();
        for text in &texts {
            conversation = conversation.entry("user", text);
        }
        let departure = conversation.departure();
        each_store(|store| {
            store.keep("a", &departure).unwrap();
            let found = store.search("a", &query, budget, &Chars).unwrap();
            let used: u64 = found.iter().map(|e| Chars.count(&e.text)).sum();
            assert!(used <= budget, "{used} > {budget}");
            assert_eq!(store.search("a", &query, budget, &Chars).unwrap(), found);
            assert!(found.iter().all(|excerpt| !excerpt.text.is_empty()));
        });
    }
}
