//! What the brief style makes of sentences, and what it never does.

use proptest::prelude::*;

use super::lists::WordList;
use super::shorten;
use super::token::{BriefToken, TokenClass, tokens};

fn check(sentence: &str, expected: &str) {
    assert_eq!(shorten(sentence), expected);
}

/// Sentences as people, models and agents write them.
const SAMPLE: &[&str] = &[
    "I started as an analyst at Harrow Bank in 2001, and the market crashed within a month.",
    "Well, I really think that the second option is better.",
    "The tests are not run before the build.",
    "I don't really like the new kettle, to be honest.",
    "Please do not send it to the 3 users, it was a test!",
    "Could you please look at `the old parser` in src/lex.rs?",
    "It is great to hear from you, Marta.",
    "Are you planning a trip to Oslo?",
    "She said that 'the very best day' was a Monday.",
    "In order to build it, you actually need the nightly compiler.",
    "He runs three times a week, and a bit more in the summer.",
    "That's such a lovely place for a walk by the river.",
    "I just finished the report, so the draft is absolutely ready for Jonas.",
    "The invoice (as you can see) was paid on 2024-05-01.",
    "We sold the boat, which was a good thing, and moved to Bergen.",
    "You may only touch the files that are listed in the plan.",
    "By the way, the port must stay at 8080 unless the proxy is off.",
    "Of course, I'll update the file with the corrected function.",
    "Der Bericht ist noch nicht fertig, aber die Tabelle steht.",
    "她昨天没有去上海。",
    "let total = a + the_rest;",
];

/// Read this as an editor would: `UPDATE`d lines say what the style does to prose.
#[test]
fn a_sample_reads_well() {
    let pairs = SAMPLE.iter().map(|it| format!("- {it}\n+ {}\n", shorten(it)));
    insta::assert_snapshot!(pairs.collect::<String>());
}

#[test]
fn meaning_survives() {
    check("The tests are not run before the build.", "Tests are not run before build.");
    check("Call `is the one` for the list.", "Call `is the one` for list.");
    check("I don't really like the new kettle.", "I don't really like new kettle.");
    check("He runs three times a week.", "He runs three times a week.");
    check("It uses just the first line of it.", "It uses just the first line of it.");
}

#[test]
fn other_languages_stay_whole() {
    for sentence in [
        "Der Bericht ist noch nicht fertig, aber die Tabelle steht.",
        "Le rapport est a peine fini, mais la table tient the.",
        "她昨天没有去上海。",
        "let total = a + the_rest;",
    ] {
        check(sentence, sentence);
    }
}

/// What may never go of a sentence, in order.
fn kept(sentence: &str) -> Vec<String> {
    let kept = |it: &&BriefToken<'_>| it.class == TokenClass::Kept;
    tokens(sentence).iter().filter(kept).map(|it| it.word.to_string()).collect()
}

/// What must hold of every sentence and what is made of it.
fn laws(sentence: &str) -> Result<(), TestCaseError> {
    let short = shorten(sentence);
    prop_assert_eq!(&shorten(&short), &short, "shortened twice: {:?}", sentence);
    prop_assert!(short.len() <= sentence.len());
    let words = |text: &str| -> Vec<String> {
        tokens(text).iter().filter(|it| !it.is_mark()).map(|it| it.word.to_string()).collect()
    };
    let (all, left) = (words(sentence), words(&short));
    let mut rest = all.iter();
    let in_order = left.iter().all(|word| rest.any(|it| it == word));
    prop_assert!(in_order, "{:?} became {:?}", sentence, short);
    // A name that begins the shorter sentence looks like any word there: what is compared is spelled.
    let mut left = left.iter();
    let stays = kept(sentence).iter().all(|word| left.any(|it| it == word));
    prop_assert!(stays, "{:?} became {:?}", sentence, short);
    prop_assert!(!short.contains("()") && !short.contains(" ,") || sentence.contains(" ,"));
    let found = tokens(&short);
    let dangles = |it: &[BriefToken<'_>]| {
        it[0].is(WordList::Preposition) && matches!(&*it[1].word, "." | "!" | "?")
    };
    let dangled = tokens(sentence).windows(2).any(dangles);
    prop_assert!(dangled || !found.windows(2).any(dangles), "{:?} became {:?}", sentence, short);
    prop_assert!(sentence.trim().ends_with(',') || !short.ends_with(','), "{:?}", short);
    Ok(())
}

#[test]
fn the_sample_keeps_the_laws() {
    SAMPLE.iter().for_each(|it| laws(it).unwrap());
}

/// Words and marks of which sentences are made up.
const WORDS: &[&str] = &[
    "the",
    "a",
    "an",
    "I",
    "I'm",
    "it's",
    "is",
    "are",
    "not",
    "never",
    "must",
    "can",
    "of",
    "in",
    "to",
    "from",
    "and",
    "but",
    "that",
    "which",
    "really",
    "just",
    "very",
    "please",
    "well,",
    "Ana",
    "Oslo",
    "42",
    "$8.6B",
    "`the code`",
    "\"a quote\"",
    "(a note)",
    "kettle",
    "kettles",
    "runs",
    "started",
    "lovely",
    "wonderful",
    "sheer",
    "because",
    "who",
    "you",
    "do",
    "have",
    "there",
    "friend,",
    "so,",
    "—",
    "in order",
    "quite",
    "such",
    "week.",
    "good",
    "tests",
    "went,",
    "they",
    "saw",
    "no",
    "without",
];

proptest! {
    #[test]
    fn whatever_is_said_keeps_the_laws(
        at in prop::collection::vec(0..WORDS.len(), 1..24),
        end in prop::sample::select(vec![".", "?", "!", ""]),
    ) {
        let words: Vec<&str> = at.into_iter().map(|it| WORDS[it]).collect();
        laws(&format!("{}{end}", words.join(" ")))?;
    }

    #[test]
    fn any_text_is_taken(text in "\\PC{0,60}") {
        let short = shorten(&text);
        prop_assert_eq!(shorten(&short), short);
    }
}
