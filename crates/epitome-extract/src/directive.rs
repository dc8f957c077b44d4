//! Sentences in which a person orders, forbids or asks for something.
//!
//! Invariant: only text a person typed is ever taken for a directive; pasted material is not.

/// Text longer than this (in bytes) is pasted material rather than an instruction.
const PASTED: usize = 4000;

/// How plainly a sentence tells what to do or not to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// Not at all.
    No,
    /// It holds a word that orders often hold.
    Faint,
    /// It holds a word that orders, forbids or wishes.
    Plain,
    /// It is addressed to whoever reads it: "Never …", "When you …", "… in your replies".
    Direct,
}

/// How plainly a sentence orders, forbids or wishes something.
pub(crate) fn order(sentence: &str) -> Order {
    if !(12..=600).contains(&sentence.len()) {
        return Order::No;
    }
    let text = format!(" {} ", normal(sentence).trim());
    let holds = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    if is_direct(&text) {
        Order::Direct
    } else if holds(WISHES) || ORDERS.iter().any(|mark| orders(&text, mark)) {
        Order::Plain
    } else if holds(ORDERS) || holds(FAINT) {
        Order::Faint
    } else {
        Order::No
    }
}

/// Whether a text, spelled as by [`normal`] and with a space at both ends, is addressed to whoever
/// reads it.
pub(crate) fn is_direct(text: &str) -> bool {
    OPENINGS.iter().any(|opening| text.starts_with(opening))
        || ADDRESSES.iter().any(|mark| text.contains(mark))
}

/// Whether the mark stands in the text other than as somebody's account of what they do.
fn orders(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let before = text[..at].rsplit(' ').next().unwrap_or_default();
        !TELLERS.contains(&before)
    })
}

/// Whether a person's text is short enough to have been typed.
pub(crate) fn is_typed(text: &str) -> bool {
    let fenced: usize = text.split("```").skip(1).step_by(2).map(str::len).sum();
    text.len() - fenced <= PASTED
}

/// Lower case, straight apostrophes, single spaces instead of signs.
pub(crate) fn normal(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for c in sentence.chars() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_prohibitions_are_found() {
        let check = |text: &str, expected: Order| assert_eq!(order(text), expected, "{text}");
        check("Don’t touch the lock file.", Order::Direct);
        check("Keep every answer under 80 words", Order::Direct);
        check("- No new dependencies.", Order::Direct);
        check("When you cite something, use the primary source.", Order::Direct);
        check("End every reply with a question.", Order::Direct);
        check("The lock file must stay as it is.", Order::Plain);
        check("Bitte nie ohne Tests pushen.", Order::Plain);
        check("I want the tests to pass.", Order::Plain);
        check("I never saw that film.", Order::Faint);
        check("You have to see this film.", Order::Faint);
        check("The build took four minutes.", Order::No);
        check("never", Order::No);
    }
}
