//! Sentences in which a person orders, forbids or asks for something.
//!
//! Invariant: only text a person typed is ever taken for a directive; pasted material is not.

/// Text longer than this (in bytes) is pasted material rather than an instruction.
const PASTED: usize = 4000;

/// How strongly a sentence orders or forbids something: 0 not at all, 1 plainly.
pub(crate) fn strength(sentence: &str) -> f64 {
    if !(12..=600).contains(&sentence.len()) {
        return 0.0;
    }
    let text = format!(" {} ", normal(sentence).trim());
    if text.starts_with(" no ")
        || WISHES.iter().any(|mark| text.contains(mark))
        || ORDERS.iter().any(|mark| orders(&text, mark))
    {
        1.0
    } else if ORDERS.iter().chain(FAINT).any(|mark| text.contains(mark)) {
        0.25
    } else {
        0.0
    }
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
fn normal(sentence: &str) -> String {
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
        let check =
            |text: &str, expected: f64| assert!((strength(text) - expected).abs() < 1e-9, "{text}");
        check("Don’t touch the lock file.", 1.0);
        check("Keep every answer under 80 words", 1.0);
        check("- No new dependencies.", 1.0);
        check("Bitte nie ohne Tests pushen.", 1.0);
        check("I never saw that film.", 0.25);
        check("You have to see this film.", 0.25);
        check("The build took four minutes.", 0.0);
        check("never", 0.0);
    }
}
