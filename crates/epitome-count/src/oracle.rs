//! Equality with the reference implementation, in ids and in counts.

use std::path::Path;

use proptest::prelude::*;
use tiktoken_rs::CoreBPE;

use crate::class::{bits, class_at};
use crate::{Tokenizer, Vocabulary};

const BOTH: [Vocabulary; 2] = [Vocabulary::O200k, Vocabulary::Cl100k];

fn reference(vocabulary: Vocabulary) -> &'static CoreBPE {
    match vocabulary {
        Vocabulary::O200k => tiktoken_rs::o200k_base_singleton(),
        Vocabulary::Cl100k => tiktoken_rs::cl100k_base_singleton(),
    }
}

fn check(text: &str) {
    for vocabulary in BOTH {
        let tokenizer = Tokenizer::new(vocabulary);
        let expected = reference(vocabulary).encode_ordinary(text);
        let found = tokenizer.encode(text);
        if expected != found {
            let at = expected.iter().zip(&found).take_while(|(one, other)| one == other).count();
            let near = |ids: &[u32]| {
                let row = &ids[at.saturating_sub(2)..ids.len().min(at + 4)];
                row.iter()
                    .map(|&id| reference(vocabulary).decode_bytes(&[id]).unwrap())
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                    .collect::<Vec<_>>()
            };
            panic!(
                "{vocabulary:?}: token {at}: expected {:?}, found {:?}",
                near(&expected),
                near(&found)
            );
        }
        assert_eq!(tokenizer.count(text), expected.len() as u64, "{vocabulary:?}: {text:.200?}");
    }
}

#[test]
fn plain_texts() {
    for text in [
        "",
        "a",
        "Hello, world! It's a fine day, isn't it? WE'LL SEE; THEY'RE HERE, I'D SAY.",
        "fn main() {\n    let x: Vec<u8> = vec![0; 1 << 20];\n\t\tprintln!(\"{x:?}\");\n}\n",
        "{\"a\": [1, 22, 333, 4444, 55555.5e-10], \"b\": null,\r\n  \"c\": {\"d\\\\\": \"\\u00e9\"}}",
        "getElementsByClassName HTTPServerError snake_case_name SCREAMING_CASE kebab-case x1y2z3",
        "https://example.org/a/b/c?d=e&f=g#h //// /*/ \\\\ --- === ... !!!\n/\n//\r\n",
        "中文分词很有意思，今天天气不错。日本語のテキストも混ぜる。한국어도 있습니다.",
        "Съешь ещё этих мягких французских булок, да выпей чаю. ПРИВЕТ Мир",
        "مرحبا بالعالم، كيف حالك؟ العَرَبِيَّة مُشَكَّلة",
        "नमस्ते दुनिया, यह एक परीक्षण है। क्‍षत्रिय",
        "emoji: 😀👩‍👩‍👧‍👦🏳️‍🌈🇩🇪 1️⃣ ☃️ ™ © ½ Ⅷ ²³ ٣٤٥٦ 1234567",
        "naïve café Ångström ŐŰ ǅ ǆ Ǆ ªº ſ 'ſ it'ſ IT'S don'T 've''re 'LLama",
        "combining: e\u{301} \u{301}a !\u{301}b !!\u{301}c \u{301}\u{302}A \u{301}\u{302}Ab",
        "中A 中Ab 中ABC ABC中 ABC中d ABC中D ʰA ʰa Aʰ",
        "<|im_start|>user<|endoftext|><|fim_prefix|> <|endofprompt|>",
        "zero\u{0}byte \u{feff}bom \u{200b}zwsp \u{85}nel \u{2028}ls \u{3000}ideographic\u{a0}nbsp",
    ] {
        check(text);
    }
}

#[test]
fn white_space_everywhere() {
    let blanks =
        ["", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", " \n \n ", "\u{a0}"];
    let solids = ["", "a", "A", "1", "!", "/", "'s", "中", "\u{301}"];
    for first in blanks {
        for second in blanks {
            for solid in solids {
                check(&format!("{first}{solid}{second}"));
                check(&format!("{solid}{first}{second}{solid}"));
            }
        }
    }
}

/// Every assigned character between letters, where the classes of both implementations must agree.
#[test]
fn every_character() {
    let mut text = String::new();
    for c in ('\0'..='\u{3FFFF}').chain('\u{E0000}'..='\u{E0FFF}') {
        text.extend(['a', c, 'B']);
        if text.len() > 1 << 16 {
            check(&text);
            text.clear();
        }
    }
    check(&text);
    let unassigned = ('\u{40000}'..'\u{E0000}').chain('\u{E1000}'..=char::MAX);
    for c in unassigned {
        assert_eq!(class(c), bits::OTHER, "{c:?}");
    }
}

fn class(c: char) -> u8 {
    class_at(c.encode_utf8(&mut [0; 4]), 0).0
}

#[test]
fn every_class_border() {
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    let borders: Vec<char> = all
        .windows(2)
        .filter(|two| class(two[0]) != class(two[1]))
        .flat_map(|two| [two[0], two[1]])
        .collect();
    assert!(borders.len() > 1000, "{} borders", borders.len());
    for frame in [" {}x", "A{}'s", "\n{}", "{}{}{}1", "!{}A", "{} ", "中{}"] {
        let text: String = borders.iter().map(|c| frame.replace("{}", &c.to_string())).collect();
        check(&text);
    }
    assert_eq!(class('\u{1C5}'), bits::UPPER, "title case counts as upper");
}

#[test]
fn long_runs() {
    for unit in [
        "a", "A", "e", " ", "\t", "-", "=", "_", "\n", "\r\n", "0", "中", "ab", "aab", "é", "😀",
        "/", "*", "the", " \n", "中文", "\u{301}", "ha", "=-", "xX",
    ] {
        for len in [63, 64, 65, 100, 127, 128, 129, 255, 300, 1000, 5000] {
            check(&unit.repeat(len / unit.len() + 1));
            check(&format!("x{}y", unit.repeat(len / unit.len() + 1)));
        }
    }
}

fn noise() -> impl Strategy<Value = String> {
    let letters = "[ab]{0,400}|[a-z]{0,400}|[A-Za-z]{0,300}|[-=*#_]{0,300}|[ \t]{0,200}|[\\x{4E00}-\\x{9FFF}]{0,300}|[\\x{0900}-\\x{097F}]{0,200}";
    let mixed = "[a-zA-Z0-9 '.,/\n\r\t!中éЖ\\x{301}]{0,80}|(\\PC| |\n){0,60}|\\p{Lu}{0,9}\\p{L}{0,9}\\p{M}{0,3}";
    proptest::collection::vec(
        prop_oneof![
            proptest::string::string_regex(letters).unwrap(),
            proptest::string::string_regex(mixed).unwrap(),
            any::<String>()
        ],
        0..5,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn random_texts(text in noise()) {
        check(&text);
    }
}

/// Pathological megabytes; the reference panics on some of them, so only sanity is asserted.
#[test]
fn megabytes() {
    let megabyte = 1 << 20;
    for unit in ["a", "A", " ", "\t", "-", "\n", "中", "0", "\u{301}", "\u{a0}", " \n", "a\u{301}"]
    {
        let text = unit.repeat(megabyte / unit.len());
        for vocabulary in BOTH {
            let count = Tokenizer::new(vocabulary).count(&text);
            assert!((megabyte as u64 / 128..megabyte as u64).contains(&count), "{unit:?}: {count}");
        }
    }
}

/// The conversations under `$EPITOME_SHARED/data`, if that is set.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
#[expect(clippy::disallowed_methods, reason = "the texts are not part of the repository")]
fn shared_conversations() {
    let Some(root) = std::env::var_os("EPITOME_SHARED") else {
        eprintln!("skipped: EPITOME_SHARED names no folder");
        return;
    };
    let mut seen = 0;
    let mut folders = vec![Path::new(&root).join("data")];
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                check(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "{root:?} holds no conversations");
}
