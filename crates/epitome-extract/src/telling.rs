//! How likely a sentence of a conversation without tools is asked for later, by who says it and how.
//!
//! Invariant: depends on the sentences alone. What people ask of a conversation later is what happened,
//! when, how much, what something is called and what somebody has; seldom what might be, what was asked or
//! how nice that is. Called by [`crate::candidates`].

use epitome_kernel::types::Speaker;

use crate::tuning::{TalkWeights, TellingWeights};
use crate::unit::{TextUnit, UnitKind};
use crate::words;

/// Of the sentences of one who tells of themselves, no less than the fourth part says so.
const OWN_SHARE: usize = 4;
/// A quotation that is longer, in bytes, is no title.
const TITLE: usize = 60;
/// So many words behind "I" a verb still says what they did.
const PAST_WITHIN: usize = 4;

/// How the sentences of a conversation are weighed, by their speakers.
pub(crate) struct TellingFactors<'w> {
    /// By unit: what it shows, where a person or a model says it.
    cues: Vec<Option<TellingCues>>,
    /// By unit: the weights of whoever says it.
    weights: Vec<Option<&'w TellingWeights>>,
}

impl<'w> TellingFactors<'w> {
    /// Without weights every unit is worth what it mentions.
    pub(crate) fn for_units(units: &[TextUnit<'_>], weights: Option<&'w TalkWeights>) -> Self {
        let Some(weights) = weights else {
            return Self { cues: Vec::new(), weights: Vec::new() };
        };
        let cues: Vec<_> = units.iter().map(cues).collect();
        let tellers = tellers(units, &cues);
        let weights = units.iter().map(|unit| {
            let is_teller = tellers[usize::from(talker(unit.speaker)?)];
            Some(if is_teller { &weights.teller } else { &weights.adviser })
        });
        Self { weights: weights.collect(), cues }
    }

    /// By how much a unit weighs more or less than what it mentions.
    pub(crate) fn factor(&self, index: usize) -> f64 {
        let Some(weights) = self.weights(index) else { return 1.0 };
        let cues = self.cues.get(index).copied().flatten().unwrap_or_default();
        weights.unit * cues.factor(weights)
    }

    /// By how much a neighbour of it weighs more where it was chosen.
    pub(crate) fn near(&self, index: usize) -> f64 {
        self.weights(index).map_or(0.0, |weights| weights.near)
    }

    fn weights(&self, index: usize) -> Option<&TellingWeights> {
        self.weights.get(index).copied().flatten()
    }
}

/// Which of two who talk a speaker is.
pub(crate) fn talker(speaker: Speaker) -> Option<u8> {
    match speaker {
        Speaker::Human => Some(0),
        Speaker::Model => Some(1),
        _ => None,
    }
}

/// Which of two who talk tell of themselves: a person does, and so does the other where both speak of
/// themselves. One who does not is there to answer.
fn tellers(units: &[TextUnit<'_>], cues: &[Option<TellingCues>]) -> [bool; 2] {
    let (mut said, mut own) = ([0; 2], [0; 2]);
    for (unit, cues) in units.iter().zip(cues) {
        if let (Some(talker), Some(cues)) = (talker(unit.speaker), cues) {
            let talker = usize::from(talker);
            said[talker] += 1;
            own[talker] += usize::from(cues.own);
        }
    }
    let both = own.iter().zip(said).all(|(own, said)| own * OWN_SHARE > said);
    [true, both]
}

/// What a sentence that a person or a model says shows.
fn cues(unit: &TextUnit<'_>) -> Option<TellingCues> {
    let is_said = unit.kind == UnitKind::Sentence && talker(unit.speaker).is_some();
    is_said.then(|| {
        let cues = TellingCues::read(&unit.said());
        // What somebody answered is not of whoever asked.
        let own =
            if unit.answer().is_some() { TellingCues::read(&unit.text).own } else { cues.own };
        TellingCues { own, ..cues }
    })
}

/// What a sentence shows of whether it is asked for later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TellingCues {
    /// It speaks of whoever says it.
    own: bool,
    /// It speaks of what is theirs.
    mine: bool,
    /// It says what they did or how it was.
    past: bool,
    /// It says when.
    when: bool,
    /// It holds a digit.
    amount: bool,
    /// It says what something is called or known for, or what somebody likes best.
    named: bool,
    /// It holds a short quotation.
    title: bool,
    /// It asks.
    asks: bool,
    /// It is called out.
    exclaims: bool,
    /// It says what could, might or should be.
    guesses: bool,
    /// It speaks to whoever reads it.
    you: bool,
}

impl TellingCues {
    fn read(sentence: &str) -> Self {
        let mut out = Self {
            amount: sentence.bytes().any(|byte| byte.is_ascii_digit()),
            title: has_title(sentence),
            asks: sentence.contains(['?', '？']),
            exclaims: sentence.contains(['!', '！']),
            ..Self::default()
        };
        let mut word = String::new();
        // How many words ago they spoke of themselves.
        let mut since = usize::MAX;
        for range in words::words(sentence) {
            word.clear();
            // "I'm" and "you'd" are of those whom they begin with.
            let start = sentence[range].split('\'').next().unwrap_or_default();
            word.extend(start.chars().flat_map(char::to_lowercase));
            let is = |list: &[&str]| list.binary_search(&&*word).is_ok();
            since = since.saturating_add(1);
            if is(OWN) {
                (out.own, since) = (true, 0);
            }
            let is_past = || word.len() > 4 && word.ends_with("ed") || is(PAST);
            // No list is searched for what is known already.
            out.past = out.past || since <= PAST_WITHIN && is_past();
            out.mine = out.mine || is(MINE);
            out.when = out.when || is(WHEN);
            out.named = out.named || is(NAMED);
            out.guesses = out.guesses || is(GUESSES);
            out.you = out.you || is(YOU);
        }
        out.own |= out.mine;
        out
    }

    fn factor(self, weights: &TellingWeights) -> f64 {
        let factors = [
            (self.mine, weights.mine),
            (self.past, weights.past),
            (self.when, weights.when),
            (self.amount, weights.amount),
            (self.named, weights.named),
            (self.title, weights.title),
            (self.asks, weights.asks),
            (self.exclaims, weights.exclaims),
            (self.guesses, weights.guesses),
            (self.you, weights.you),
        ];
        factors.iter().filter(|(shows, _)| *shows).map(|(_, factor)| factor).product()
    }
}

/// Whether a text holds a quotation of a few words.
fn has_title(text: &str) -> bool {
    let mut open = None;
    for (place, mark) in text.match_indices(['"', '“', '”', '„', '«', '»', '「', '」', '《', '》'])
    {
        if open.is_some_and(|start| (2..=TITLE).contains(&(place - start))) {
            return true;
        }
        open = Some(place + mark.len());
    }
    false
}

// All lists are sorted, so that they can be searched.

const OWN: &[&str] = &[
    "eu", "i", "ich", "ik", "im", "ive", "j", "je", "me", "mi", "moi", "my", "myself", "our", "us",
    "we", "wir", "yo", "мы", "я", "我", "私",
];
const MINE: &[&str] =
    &["ma", "mein", "meine", "mes", "meu", "mi", "mijn", "minha", "mis", "mon", "my", "our"];
const PAST: &[&str] = &[
    "ate", "became", "been", "began", "bought", "built", "came", "did", "drove", "fell", "felt",
    "flew", "found", "gave", "got", "grew", "had", "heard", "kept", "knew", "learnt", "left",
    "lost", "made", "met", "paid", "put", "ran", "read", "said", "sang", "sat", "saw", "sent",
    "slept", "sold", "spent", "spoke", "swam", "taught", "thought", "told", "took", "used", "was",
    "went", "were", "woke", "won", "wore", "wrote",
];
const WHEN: &[&str] = &[
    "ago",
    "april",
    "august",
    "autumn",
    "birthday",
    "christmas",
    "december",
    "easter",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "monday",
    "month",
    "months",
    "next",
    "november",
    "october",
    "recently",
    "saturday",
    "september",
    "since",
    "spring",
    "summer",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "winter",
    "year",
    "years",
    "yesterday",
];
const NAMED: &[&str] = &[
    "called",
    "famous",
    "favorite",
    "favorites",
    "favourite",
    "favourites",
    "known",
    "named",
    "specialty",
];
const GUESSES: &[&str] =
    &["can", "could", "may", "maybe", "might", "must", "perhaps", "should", "would"];
const YOU: &[&str] = &["you", "your", "yours", "yourself"];

#[cfg(test)]
mod tests {
    use epitome_kernel::types::Entry;
    use epitome_testkit::{Chat, chat};

    use super::*;
    use crate::cut;

    #[track_caller]
    fn check(sentence: &str, expected: TellingCues) {
        assert_eq!(TellingCues::read(sentence), expected, "{sentence}");
    }

    #[test]
    fn a_sentence_shows_whether_it_tells() {
        let none = TellingCues::default();
        let own = TellingCues { own: true, ..none };
        check(
            "My brother moved to Oslo 3 years ago.",
            TellingCues { mine: true, past: true, when: true, amount: true, ..own },
        );
        check("I'm fond of chess.", own);
        check("They moved to Oslo.", none);
        check(
            "I think that everything about this was decided.",
            TellingCues { past: false, ..own },
        );
        check("It's called \"Blue Train\".", TellingCues { named: true, title: true, ..none });
        check(
            "Could you tell me more?",
            TellingCues { own: true, asks: true, guesses: true, you: true, ..none },
        );
        check("How wonderful!", TellingCues { exclaims: true, ..none });
        check("我住在大阪。", own);
    }

    #[test]
    fn lists_are_sorted() {
        for list in [OWN, MINE, PAST, WHEN, NAMED, GUESSES, YOU] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }

    #[track_caller]
    fn check_tellers(chat: Chat, expected: [bool; 2]) {
        let entries = chat.entries();
        let units = cut::units(&entries.iter().collect::<Vec<&Entry>>());
        let cues: Vec<_> = units.iter().map(super::cues).collect();
        assert_eq!(tellers(&units, &cues), expected);
    }

    #[test]
    fn who_speaks_of_themselves_tells() {
        let person = "I went to see my sister in Bergen.";
        let two = chat()
            .user(person)
            .assistant("We spent our summer at the lake.")
            .user("I like that lake.");
        check_tellers(two, [true, true]);
        let answers =
            "Bergen is a city on the west coast. It rains there more than half of the year.";
        check_tellers(
            chat().user(person).assistant(answers).user("I took an umbrella."),
            [true, false],
        );
        // Whoever only asks is still the person whom it is about.
        check_tellers(
            chat().user("What is a fjord?").assistant("I can tell: it is a long inlet."),
            [true, false],
        );
    }
}
