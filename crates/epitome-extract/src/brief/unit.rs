//! What of a sentence could go, and how it looks to the model.
//!
//! Invariant: a unit holds nothing that never goes, and a preposition only with all that it governs.
//! Called by `shorten`, and by whoever trains the model.

use std::ops::RangeInclusive;

use super::lists::{self, WordList};
use super::token::{BriefToken, TokenClass};

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletionKind {
    /// What opens a sentence and says nothing of it, with its comma; what is only polite.
    Opener,
    /// An article.
    Article,
    /// `that` before what is thought or said.
    That,
    /// An adverb that only stresses.
    Adverb,
    /// An adjective that only praises or stresses.
    Valuer,
    /// A subject, and its verb where that is `to be`, which speech leaves away where a sentence begins.
    Edge,
    /// A pronoun and its verb before what could follow the noun without them.
    Relative,
    /// What stands in parentheses, between dashes or behind a comma.
    Aside,
}

impl DeletionKind {
    /// Its name in the table of weights.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DeletionKind::Opener => "opener",
            DeletionKind::Article => "article",
            DeletionKind::That => "that",
            DeletionKind::Adverb => "adverb",
            DeletionKind::Valuer => "valuer",
            DeletionKind::Edge => "edge",
            DeletionKind::Relative => "relative",
            DeletionKind::Aside => "aside",
        }
    }
}

/// A part of a sentence that could go: tokens, by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemovableUnit {
    pub(crate) tokens: RangeInclusive<usize>,
    pub(crate) kind: DeletionKind,
}

/// The most marks inside of an aside.
const INNER_MARKS: usize = 2;
/// An aside is longer than so many words, or it is one of a list.
const LEAST_ASIDE: usize = 3;

/// The units of a sentence, those that begin first before others.
pub(crate) fn units(tokens: &[BriefToken<'_>]) -> Vec<RemovableUnit> {
    let mut out = Vec::new();
    if let Some(last) = opener(tokens) {
        out.push(RemovableUnit { tokens: 0..=last, kind: DeletionKind::Opener });
    }
    for at in 0..tokens.len() {
        if let Some(last) = edge(tokens, at) {
            out.push(RemovableUnit { tokens: at..=last, kind: DeletionKind::Edge });
        }
        if let Some(kind) = of_one_word(tokens, at) {
            out.push(RemovableUnit { tokens: at..=last_of(tokens, at, kind), kind });
        }
        if let Some(kind) = of_two_words(tokens, at) {
            out.push(RemovableUnit { tokens: at..=at + 1, kind });
        }
        out.extend(asides(tokens, at));
    }
    out
}

/// Where an opener ends, its comma among it.
fn opener(tokens: &[BriefToken<'_>]) -> Option<usize> {
    let most = tokens.iter().take(9).position(BriefToken::is_mark)?;
    let is_comma = matches!(&*tokens[most].word, "," | "!");
    let words: Vec<&str> = tokens[..most].iter().map(|it| &*it.word).collect();
    let is_opener = lists::is_opener(&words.join(" "));
    let goes_on = tokens[most + 1..].iter().filter(|it| !it.is_mark()).count() > 2;
    (is_comma && is_opener && goes_on).then_some(most)
}

/// Where the subject ends that a sentence begins with here, its verb among it.
fn edge(tokens: &[BriefToken<'_>], at: usize) -> Option<usize> {
    let begins = at == 0 || matches!(&*tokens[at - 1].word, "." | "!" | "?" | "-" | "•");
    let [first, second, third, fourth, ..] = &tokens[at..] else { return None };
    let ends = |it: &&BriefToken<'_>| matches!(&*it.word, "." | "!" | "?");
    let is_asked = || tokens[at..].iter().find(ends).is_some_and(|it| it.word == "?");
    let last = match (&*first.word, &*second.word) {
        ("i", "am") | ("it" | "that" | "this" | "there", "is") | ("there", "are") => 1,
        ("are" | "do" | "have", "you") if is_asked() => 1,
        ("i" | "i'm" | "i've" | "it's" | "that's" | "there's", _) => 0,
        _ => return None,
    };
    let next = [second, third, fourth].into_iter().take(last + 2).skip(last);
    (begins && next.clone().count() == 2 && next.into_iter().all(|it| !ends(&it) && it.word != ","))
        .then_some(at + last)
}

/// The last token that goes with a word: an adverb that stands apart takes its comma along.
fn last_of(tokens: &[BriefToken<'_>], at: usize, kind: DeletionKind) -> usize {
    let apart = at == 0 || tokens[at - 1].is_mark();
    let comma = tokens.get(at + 1).is_some_and(|it| it.word == ",");
    at + usize::from(kind == DeletionKind::Adverb && apart && comma)
}

/// What two words could be.
fn of_two_words(tokens: &[BriefToken<'_>], at: usize) -> Option<DeletionKind> {
    let [one, other, next, ..] = &tokens[at..] else { return None };
    match (&*one.word, &*other.word, &*next.word) {
        ("in", "order", "to") => Some(DeletionKind::Opener),
        ("which" | "that" | "who", "is" | "are", _) if at > 0 && !next.is_mark() => {
            let follows = !tokens[at - 1].is_mark() && next.class <= TokenClass::Preposition;
            follows.then_some(DeletionKind::Relative)
        }
        _ => None,
    }
}

/// What a single word could be.
fn of_one_word(tokens: &[BriefToken<'_>], at: usize) -> Option<DeletionKind> {
    let token = &tokens[at];
    let next = tokens.get(at + 1).filter(|it| !it.is_mark());
    let before = at.checked_sub(1).map(|at| &tokens[at]);
    let word = &*token.word;
    if matches!(token.class, TokenClass::Mark | TokenClass::Kept | TokenClass::Preposition) {
        return None;
    }
    match word {
        "a" | "an" | "the" => {
            let goes = |it: &&BriefToken<'_>| !it.is(WordList::NeedsArticle);
            let held = before.is_some_and(|it| it.is(WordList::HoldsArticle));
            return next.filter(goes).filter(|_| !held).map(|_| DeletionKind::Article);
        }
        "please" => return next.map(|_| DeletionKind::Opener),
        "that" => return next.filter(|_| at > 0).map(|_| DeletionKind::That),
        _ => {}
    }
    if token.class != TokenClass::Plain || token.negated {
        return None;
    }
    if token.is(WordList::Filler) {
        // Before these it says how much, or of what alone.
        let weighs = |it: &BriefToken<'_>| {
            it.is_figure()
                || matches!(it.class, TokenClass::Link | TokenClass::Preposition)
                || matches!(&*it.word, "a" | "an" | "the")
        };
        return (!next.is_some_and(weighs)).then_some(DeletionKind::Adverb);
    }
    let is_valued = next.is_some_and(|it| {
        let is_noun = it.class == TokenClass::Plain && !it.word.ends_with("ing");
        is_noun && !it.is(WordList::NeedsValuer) || it.class == TokenClass::Kept && !it.is_figure()
    });
    let hangs = before.is_some_and(|it| {
        !it.is_mark() && !it.is(WordList::Be) && !matches!(&*it.word, "a" | "an")
    });
    (token.is(WordList::Valuer) && is_valued && hangs).then_some(DeletionKind::Valuer)
}

/// The asides that a mark opens: up to its counterpart, or to a mark behind it.
fn asides(tokens: &[BriefToken<'_>], at: usize) -> Vec<RemovableUnit> {
    let closing: &[&str] = match &*tokens[at].word {
        "," => &[",", ".", "!", "?", ";", "—", "–"],
        "—" | "–" => &["—", "–", ".", "!", "?"],
        "(" => &[")"],
        _ => return Vec::new(),
    };
    let mut out = Vec::new();
    let mut marks = 0;
    for (end, token) in tokens.iter().enumerate().skip(at + 1) {
        match token.class {
            TokenClass::Kept => break,
            TokenClass::Mark if closing.contains(&&*token.word) => {
                let is_long = end - at > LEAST_ASIDE || tokens[at].word == "(";
                if is_long && at > 0 {
                    let pair = tokens[at].word == "("
                        || tokens[at].word == token.word && goes_on(tokens, end);
                    let last = if pair { end } else { end - 1 };
                    out.push(RemovableUnit { tokens: at..=last, kind: DeletionKind::Aside });
                }
                marks += 1;
                if marks > INNER_MARKS {
                    break;
                }
            }
            TokenClass::Mark if token.word != "," => break,
            _ => {}
        }
    }
    out
}

/// Whether a sentence goes on behind a mark with what needs no comma before it.
fn goes_on(tokens: &[BriefToken<'_>], mark: usize) -> bool {
    tokens.get(mark + 1).is_some_and(|it| !it.is_mark() && it.class != TokenClass::Link)
}

/// Tells what the model sees of a unit, a name and a value in one or two parts: the words in it and
/// around it, its length and where it stands.
pub(crate) fn features(
    tokens: &[BriefToken<'_>],
    unit: &RemovableUnit,
    tell: &mut dyn FnMut(&str, [&str; 2]),
) {
    let (first, last) = (*unit.tokens.start(), *unit.tokens.end());
    let before = |far: usize| first.checked_sub(far).map_or("^", |at| shown(&tokens[at]));
    let behind = |far: usize| tokens.get(last + far).map_or("$", shown);
    let [p1, p2, n1, n2] = [before(1), before(2), behind(1), behind(2)];
    for (name, word) in [("bias", ""), ("p1", p1), ("p2", p2), ("n1", n1), ("n2", n2)] {
        tell(name, [word, ""]);
    }
    for (name, word) in [("p1s", p1), ("n1s", n1), ("n2s", n2)] {
        tell(name, [ending(word), ""]);
    }
    if unit.kind == DeletionKind::Aside {
        return of_aside(&tokens[first..=last], first < 3, tell);
    }
    let word = shown(&tokens[first]);
    tell("w", [word, ""]);
    tell("wn", [word, n1]);
    tell("wp", [p1, word]);
    tell("pn", [p1, ending(n1)]);
    tell("nn", [ending(n1), ending(n2)]);
}

/// What the model sees inside of an aside.
fn of_aside(tokens: &[BriefToken<'_>], early: bool, tell: &mut dyn FnMut(&str, [&str; 2])) {
    let inner = &tokens[1..];
    let [first, second] = [0, 1].map(|at| inner.get(at).map_or("$", shown));
    let words = inner.iter().filter(|it| !it.is_mark());
    let length = match words.clone().count() {
        count @ 0..=6 => ["0", "1", "2", "3", "4", "5", "6"][count],
        7..=8 => "8",
        9..=12 => "12",
        _ => "more",
    };
    let marks = if inner.iter().filter(|it| it.is_mark()).count() > 1 { "more" } else { "few" };
    let start = if early { "early" } else { "late" };
    for (name, value) in [
        ("mark", shown(&tokens[0])),
        ("first", first),
        ("second", second),
        ("firsts", ending(first)),
        ("seconds", ending(second)),
        ("length", length),
        ("marks", marks),
        ("start", start),
    ] {
        tell(name, [value, ""]);
    }
    for word in words {
        if word.class == TokenClass::Link || word.is(WordList::English) {
            tell("has", [&word.word, ""]);
        }
    }
}

/// A word as the model sees it: names and numbers by what they are.
fn shown<'t>(token: &'t BriefToken<'_>) -> &'t str {
    match token.class {
        TokenClass::Kept if token.is_figure() => "#",
        TokenClass::Kept if !token.is(WordList::Negation) && !token.is(WordList::Modal) => "@",
        _ => &token.word,
    }
}

/// The last letters of a word.
fn ending(word: &str) -> &str {
    word.char_indices().rev().nth(2).map_or(word, |(at, _)| &word[at..])
}
