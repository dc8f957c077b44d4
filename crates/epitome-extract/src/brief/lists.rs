//! Closed lists of English words, and which of them a word is in.
//!
//! Invariant: the words of a list are told apart by one space. Called by `token`, `unit` and
//! `model`.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

/// The lists that a word is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordTraits(u16);

/// What the lists say of a word.
pub(crate) fn traits(word: &str) -> WordTraits {
    WORDS.get(word).copied().unwrap_or_default()
}

impl WordTraits {
    /// Whether the word is in a list.
    pub(crate) fn is(self, list: WordList) -> bool {
        self.0 & (1 << list as u16) != 0
    }
}

/// A list of words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WordList {
    /// Words that deny or exclude.
    Negation,
    /// Words that say what can, may, must or should be.
    Modal,
    /// Words that relate what follows them to something.
    Preposition,
    /// Words that begin clauses or join them.
    Link,
    /// Numbers in words.
    Number,
    /// Written with a capital, and no names.
    Myself,
    /// Short adverbs that only stress.
    Filler,
    /// Adjectives that only praise or stress.
    Valuer,
    /// Frequent words that few other languages have.
    English,
    /// Words that mean something else without an article.
    NeedsArticle,
    /// Nouns that say little without an adjective.
    NeedsValuer,
    /// Words that an article belongs to behind them.
    HoldsArticle,
    /// Forms of `to be`, and what stands for it.
    Be,
}

const LISTS: &[(WordList, &str)] = &[
    (WordList::Negation, NEGATIONS),
    (WordList::Modal, MODALS),
    (WordList::Preposition, PREPOSITIONS),
    (WordList::Link, LINKS),
    (WordList::Number, NUMBERS),
    (WordList::Myself, MYSELF),
    (WordList::Filler, FILLERS),
    (WordList::Valuer, VALUERS),
    (WordList::English, ENGLISH),
    (WordList::NeedsArticle, WITH_ARTICLES),
    (WordList::NeedsValuer, WITH_VALUERS),
    (WordList::HoldsArticle, BEFORE_ARTICLES),
    (WordList::Be, BE),
];

static WORDS: LazyLock<FxHashMap<&str, WordTraits>> = LazyLock::new(|| {
    let mut words: FxHashMap<&str, WordTraits> = FxHashMap::default();
    for (list, of_list) in LISTS {
        of_list.split(' ').for_each(|word| words.entry(word).or_default().0 |= 1 << *list as u16);
    }
    words
});

/// Words that mean something else without an article.
const WITH_ARTICLES: &str = "\
    bad best biggest bit bunch century couple day decade dozen earliest fastest few first \
    following former great hour hundred large largest last latest latter least little longest lot \
    lots million minute month more most newest next night number oldest one only other others \
    pair person piece quickest range rest right same second series set shortest smallest third \
    thousand time times top usual variety very way week weekend while worst wrong year";

/// Nouns that say little without an adjective.
const WITH_VALUERS: &str = "\
    bit choice day deal example fit fun idea job kind kinds lot luck news night number numbers \
    one ones option part place places plan point question reason role sense sort spot start step \
    stuff success thing things time times to trip way ways week work year years";

/// Words that an article belongs to behind them.
const BEFORE_ARTICLES: &str = "\
    even half just many only quite rather such times what";

/// Forms of `to be`, and what stands for it.
const BE: &str = "\
    am are be became become becomes been being feel feeling feels felt he's i'm is it's look \
    looked looks seem seemed seems she's sound sounded sounds stay stays that's there's they're \
    was we're were what's you're";

/// Words that deny or exclude.
const NEGATIONS: &str = "\
    ain't aren't barely can't cannot couldn't didn't doesn't don't except hadn't hardly hasn't \
    haven't isn't mustn't needn't neither never no nobody none nor not nothing nowhere rarely \
    scarcely seldom shouldn't unless wasn't weren't without won't wouldn't";

/// Words that say what can, may, must or should be.
const MODALS: &str = "\
    can could he'd he'll i'd i'll it'd it'll may might must need needs ought shall she'd she'll \
    should that'll they'd they'll we'd we'll will would you'd you'll";

/// Words that relate what follows them to something.
const PREPOSITIONS: &str = "\
    about above across after against along among around as at before behind below beneath beside \
    besides between beyond by despite down during for from in inside into like near of off on \
    onto out outside over past per since than through throughout till to toward towards under \
    until up upon via with within";

/// Words that begin clauses or join them.
const LINKS: &str = "\
    although and because but how if lest once or provided so that though what when whenever where \
    whereas wherever whether which while who whom whose why yet";

/// Numbers in words.
const NUMBERS: &str = "\
    billion both dozen eight eighteen eighty eleven fifteen fifth fifty first five forty four \
    fourteen fourth half hundred million nine nineteen ninety once one second seven seventeen \
    seventy six sixteen sixty ten third thirteen thirty thousand three twelve twenty twice two \
    zero";

/// Written with a capital, and no names.
const MYSELF: &str = "\
    i i'd i'll i'm i've";

/// Short adverbs that only stress.
const FILLERS: &str = "\
    absolutely actually also basically certainly definitely extremely frankly honestly hopefully \
    incredibly indeed just literally naturally obviously please pretty quite really simply so \
    super surely terribly totally truly utterly very wholeheartedly";

/// Adjectives that only praise or stress.
const VALUERS: &str = "\
    absolute actual amazing awesome beautiful breathtaking brilliant excellent extraordinary \
    fabulous fantastic fascinating gorgeous heartfelt incredible lovely magical magnificent \
    marvelous outstanding overall own remarkable sheer spectacular splendid stunning superb \
    terrific tremendous unwavering utter vibrant wonderful";

/// Frequent words that few other languages have.
const ENGLISH: &str = "\
    a about all also and any are as at be because been but by can could did do does don't for \
    from get had has have he her his how i i'm if in is it it's its just like me more my not of \
    on one or our out she so some than that that's the their them then there they this to up us \
    very was we were what when which who will with would you your";

/// What opens a sentence and says nothing of it.
const OPENERS: &str = "\
    actually | ah | all in all | anyway | as a matter of fact | as always | as i said | \
    as mentioned | as you can see | as you know | as you may know | as you might know | \
    at the end of the day | basically | believe it or not | by the way | frankly | \
    funnily enough | generally speaking | haha | hello | hello there | hey | hey there | hi | \
    hi there | hmm | honestly | i guess | i have to say | i mean | i must say | i see | \
    in a way | in any case | in fact | in my opinion | interestingly | \
    it goes without saying that | it is important to note that | it is worth mentioning that | \
    it is worth noting that | it turns out | it turns out that | it's important to note that | \
    it's interesting to note that | it's worth mentioning that | it's worth noting that | \
    keep in mind that | let me tell you | let's see | look | naturally | needless to say | \
    note that | obviously | of course | oh | oh my | ok | okay | on top of that | \
    please note that | right | seriously | so | sure | sure thing | surely | thankfully | \
    thanks | that being said | that said | the fact is | the thing is | the truth is | \
    to be fair | to be honest | truth be told | ultimately | well | wow | yeah | you know | \
    you see";

/// Whether words open a sentence and say nothing of it.
pub(crate) fn is_opener(words: &str) -> bool {
    static ALL: LazyLock<FxHashSet<&str>> = LazyLock::new(|| OPENERS.split(" | ").collect());
    ALL.contains(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_in_its_lists() {
        assert!(traits("never").is(WordList::Negation) && !traits("never").is(WordList::Filler));
        assert!(traits("without").is(WordList::Negation) && traits("really").is(WordList::Filler));
        assert_eq!(traits("kettle"), WordTraits::default());
        assert!(is_opener("by the way") && is_opener("you see") && !is_opener("by"));
        assert!(LISTS.iter().all(|(_, list)| list.split(' ').all(|word| !word.is_empty())));
    }
}
