//! Sentences in which a person orders, forbids or asks for something.
//!
//! Invariant: only text a person typed is ever taken for a directive; pasted material is not.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// How plainly a sentence tells what to do or not to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DirectiveStrength {
    /// Not at all.
    No,
    /// It holds words that often change what was said before.
    Change,
    /// It holds a word that orders often hold.
    Faint,
    /// It holds a word that orders, forbids or wishes.
    Plain,
    /// It is addressed to whoever reads it: "Never …", "When you …", "… in your replies".
    Direct,
}

/// How plainly a sentence orders, forbids or wishes something.
pub(crate) fn order(sentence: &str) -> DirectiveStrength {
    if !(12..=600).contains(&sentence.len()) {
        return DirectiveStrength::No;
    }
    let text = spaced(sentence);
    if is_direct(&text) {
        return DirectiveStrength::Direct;
    }
    let mut found = DirectiveStrength::No;
    let mut past = [0; ORDERS.len()];
    for (space, _) in text.match_indices(' ') {
        let word = text[space + 1..].split(' ').next().unwrap_or_default();
        for (mark, kind) in MARKS.get(word).into_iter().flatten() {
            if !text[space..].starts_with(mark) {
                continue;
            }
            found = found.max(match *kind {
                DirectiveCue::Wish => DirectiveStrength::Plain,
                DirectiveCue::Faint => DirectiveStrength::Faint,
                DirectiveCue::Change => DirectiveStrength::Change,
                // One that begins with the end of another is none.
                DirectiveCue::Order(number) if space < past[number] => DirectiveStrength::No,
                DirectiveCue::Order(number) => {
                    past[number] = space + mark.len();
                    let before = text[..space].rsplit(' ').next().unwrap_or_default();
                    if TELLERS.contains(&before) {
                        DirectiveStrength::Faint
                    } else {
                        DirectiveStrength::Plain
                    }
                }
            });
        }
    }
    found
}

/// What a mark makes of a sentence.
#[derive(Clone, Copy, Debug)]
enum DirectiveCue {
    Wish,
    Faint,
    Change,
    /// An order, by its number, other than in somebody's account of what they do.
    Order(usize),
}

/// The marks by their first word.
static MARKS: LazyLock<FxHashMap<&str, Vec<(&str, DirectiveCue)>>> = LazyLock::new(|| {
    let mut marks: FxHashMap<&str, Vec<(&str, DirectiveCue)>> = FxHashMap::default();
    let wishes = WISHES.iter().map(|mark| (*mark, DirectiveCue::Wish));
    let orders = ORDERS.iter().zip(0..).map(|(mark, number)| (*mark, DirectiveCue::Order(number)));
    let faint = FAINT.iter().map(|mark| (*mark, DirectiveCue::Faint));
    let changes = CHANGES.iter().map(|mark| (*mark, DirectiveCue::Change));
    for (mark, kind) in wishes.chain(orders).chain(faint).chain(changes) {
        let word = mark.split_whitespace().next().unwrap_or_default();
        marks.entry(word).or_default().push((mark, kind));
    }
    marks
});

/// Whether a text, spelled as by [`spaced`], is addressed to whoever reads it.
pub(crate) fn is_direct(text: &str) -> bool {
    OPENINGS.iter().any(|opening| text.starts_with(opening))
        || ADDRESSES.iter().any(|mark| text.contains(mark))
}

/// Lower case, straight apostrophes, single spaces instead of signs.
pub(crate) fn normal(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for c in sentence.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
            continue;
        }
        let c = match c {
            '’' | '\'' => continue,
            c if c.is_alphanumeric() => c,
            _ => ' ',
        };
        if c != ' ' || !out.ends_with(' ') {
            out.extend(c.to_lowercase());
        }
    }
    out
}

/// The words of a text between single spaces, one before and one behind too.
pub(crate) fn spaced(text: &str) -> String {
    format!(" {} ", normal(text).trim())
}

/// How a sentence begins that tells its reader what to do from now on.
const OPENINGS: &[&str] = &[
    " no ",
    " never ",
    " always ",
    " dont ",
    " do not ",
    " only ",
    " please dont ",
    " please never ",
    " please always ",
    " make sure ",
    " from now on ",
    " for the rest of ",
    " this is an important ",
    " when you ",
    " whenever you ",
    " before you ",
    " every time you ",
    " you must ",
    " you should ",
    " you may not ",
    " keep ",
    " avoid ",
];

/// What speaks of how its reader should answer.
const ADDRESSES: &[&str] = &[
    " your reply ",
    " your replies ",
    " your answer ",
    " your answers ",
    " your responses ",
    " every reply ",
    " every answer ",
    " every response ",
    " reply in ",
    " answer in ",
    " respond in ",
];

/// Words that order or forbid; apostrophes are left out.
const ORDERS: &[&str] = &[
    " must ",
    " mustnt ",
    " never ",
    " always ",
    " dont ",
    " do not ",
    " should ",
    " shouldnt ",
    " only ",
    " make sure ",
    " instead ",
    " not allowed ",
    " no need ",
    " keep ",
    " avoid ",
    " without ",
    " at least ",
    " at most ",
    " no more than ",
    " please use ",
    " please keep ",
    " please avoid ",
    " please dont ",
    " ensure ",
    " forbidden ",
    " forget ",
    " rather than ",
    " nicht ",
    " nie ",
    " muss ",
    " immer ",
    " kein ",
    " bitte ",
    " nunca ",
    " siempre ",
    " debe ",
    " jamais ",
    " toujours ",
    " doit ",
];

/// Words that state a wish.
const WISHES: &[&str] = &[
    " i want ",
    " i need ",
    " id like ",
    " i would like ",
    " wants ",
    " prefer ",
    " prefers ",
    " preferred ",
    " we need ",
    " we want ",
];

/// Before a word that orders, these make an account of it: "I never saw that".
const TELLERS: &[&str] =
    &["i", "we", "he", "she", "they", "it", "im", "ive", "which", "who", "was", "were", "had"];

/// Words that often go with an order, and as often do not.
const FAINT: &[&str] = &[
    " please ",
    " cannot ",
    " cant ",
    " required ",
    " have to ",
    " has to ",
    " need to ",
    " needs to ",
    " remember ",
    " no longer ",
    " stick to ",
    " limit ",
    " wont ",
    " nothing ",
    " no one ",
    " until ",
    " unless ",
    " before you ",
    " stop ",
];

/// Words that often say that something is other than was said before.
const CHANGES: &[&str] = &[
    " now ",
    " from now on ",
    " any more ",
    " anymore ",
    " after all ",
    " actually ",
    " scrap ",
    " scratch ",
    " never mind ",
    " on second thought ",
    " changed ",
    " change the ",
    " renamed ",
    " moved to ",
    " switch to ",
    " switched to ",
    " feel free ",
    " are ok ",
    " is ok ",
    " are okay ",
    " is okay ",
    " are fine ",
    " is fine ",
    " its fine ",
    " allowed ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_prohibitions_are_found() {
        let check =
            |text: &str, expected: DirectiveStrength| assert_eq!(order(text), expected, "{text}");
        check("Don’t touch the lock file.", DirectiveStrength::Direct);
        check("Keep every answer under 80 words", DirectiveStrength::Direct);
        check("- No new dependencies.", DirectiveStrength::Direct);
        check("When you cite something, use the primary source.", DirectiveStrength::Direct);
        check("End every reply with a question.", DirectiveStrength::Direct);
        check("The lock file must stay as it is.", DirectiveStrength::Plain);
        check("Bitte nie ohne Tests pushen.", DirectiveStrength::Plain);
        check("I want the tests to pass.", DirectiveStrength::Plain);
        check("I never saw that film.", DirectiveStrength::Faint);
        check("I must must go there, he said.", DirectiveStrength::Faint);
        check("I must must must go there, he said.", DirectiveStrength::Plain);
        check("You have to see this film.", DirectiveStrength::Faint);
        check("The build took four minutes.", DirectiveStrength::No);
        check("never", DirectiveStrength::No);
    }
}
