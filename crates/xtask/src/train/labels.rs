//! Whether a part of a parsed sentence may go: whether what is left still hangs together.
//!
//! Invariant: only the parse decides. Called by `train`.

use epitome_extract::{DeletionCandidate, DeletionKind};

use super::parsed::{ParsedSentence, ParsedWord};

/// Whether a sentence stays one without this part; `None` where nothing is learned of such parts, or
/// its words are others in the parse.
pub(crate) fn goes(sentence: &ParsedSentence, candidate: &DeletionCandidate) -> Option<bool> {
    let within = |it: &ParsedWord| {
        candidate.range.start <= it.range.start && it.range.end <= candidate.range.end
    };
    let places = || (0..sentence.words.len()).filter(|at| within(&sentence.words[*at]));
    let words: Vec<usize> = places().filter(|at| !is_mark(&sentence.words[*at])).collect();
    let next = || Some(&*sentence.words.get(words.last()? + 1)?.tag);
    match candidate.kind {
        DeletionKind::Aside => return Some(is_aside(sentence, &words)),
        DeletionKind::Edge => return Some(is_edge(sentence, &words, next()?)),
        DeletionKind::Relative => {
            let first = &sentence.words[*words.first()?];
            let hangs = first.relation.starts_with("nsubj")
                && sentence.words[first.head?].relation.ends_with("cl");
            return Some(hangs && PREDICATES.contains(&next()?));
        }
        _ => {}
    }
    let [at] = words[..] else { return None };
    let word = &sentence.words[at];
    let head = &sentence.words[word.head?];
    let is_leaf = sentence.words.iter().all(|it| it.head != Some(at));
    let is_before = word.head > Some(at);
    let relation = |names: &[&str]| names.contains(&&*word.relation);
    Some(match candidate.kind {
        DeletionKind::Article => is_before && is_noun(head) && relation(&["det"]),
        DeletionKind::That => is_before && relation(&["mark"]) && head.relation == "ccomp",
        DeletionKind::Adverb => is_leaf && relation(&["advmod"]) && !is_noun(head),
        DeletionKind::Valuer => is_leaf && is_before && relation(&["amod"]) && is_noun(head),
        _ => return None,
    })
}

/// What is said of something, by its first word.
const PREDICATES: &[&str] = &["VBG", "VBN", "JJ", "JJR", "IN", "ADJ", "ADP"];
/// What something is, by its first word.
const NAMED: &[&str] = &["DT", "DET", "NN", "NNS", "NNP", "NOUN", "PROPN", "CD", "NUM"];
/// What one feels, knows or has: nobody is ordered to.
const STATES: &[&str] = &[
    "agree",
    "believe",
    "enjoy",
    "feel",
    "guess",
    "hate",
    "have",
    "hope",
    "know",
    "like",
    "live",
    "love",
    "miss",
    "own",
    "remember",
    "see",
    "think",
    "understand",
    "wish",
    "wonder",
];

/// Whether speech leaves away the subject, and the verb, that a sentence begins with.
fn is_edge(sentence: &ParsedSentence, words: &[usize], next: &str) -> bool {
    let spelled: String =
        words.iter().map(|at| sentence.words[*at].form.to_lowercase() + " ").collect();
    let following = words.last().and_then(|at| sentence.words.get(at + 1));
    let following = following.map_or("", |it| &*it.form);
    match spelled.trim_end() {
        "i" => next == "VBD" || STATES.contains(&following),
        "i 've" | "i ’ve" | "have you" => next == "VBN",
        "do you" => next == "VB",
        "are you" => PREDICATES.contains(&next),
        "there is" | "there are" | "there 's" | "there ’s" => NAMED.contains(&next),
        _ => PREDICATES.contains(&next) || NAMED.contains(&next) && next != "NNP",
    }
}

fn is_noun(word: &ParsedWord) -> bool {
    ["NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"].contains(&&*word.tag)
}

fn is_mark(word: &ParsedWord) -> bool {
    word.form.chars().all(|it| !it.is_alphanumeric())
}

/// How a part hangs on its sentence that may go.
const LOOSE: &[&str] = &["appos", "relcl", "acl", "advcl", "parataxis", "discourse"];

/// Whether words are all that hangs below one of them, and that one hangs loosely on the rest.
fn is_aside(sentence: &ParsedSentence, words: &[usize]) -> bool {
    let outside = |at: &usize| sentence.words[*at].head.is_none_or(|it| !words.contains(&it));
    let tops: Vec<usize> = words.iter().copied().filter(outside).collect();
    let [top] = tops[..] else { return false };
    let of_rest = |at: usize| !words.contains(&at) && !is_mark(&sentence.words[at]);
    let is_whole = (0..sentence.words.len()).all(|at| !of_rest(at) || !sentence.is_below(at, top));
    is_whole && LOOSE.contains(&&*sentence.words[top].relation)
}

#[cfg(test)]
mod tests {
    use epitome_extract::deletion_candidates;

    use super::super::parsed::sentences;
    use super::*;

    #[test]
    fn a_whole_clause_may_go() {
        let rows = [
            ("Ana", "NNP", 6, "nsubj"),
            (",", ",", 1, "punct"),
            ("who", "WP", 4, "nsubj"),
            ("sings", "VBZ", 1, "relcl"),
            (",", ",", 1, "punct"),
            ("saw", "VBD", 0, "ROOT"),
            ("the", "DT", 8, "det"),
            ("house", "NN", 6, "dobj"),
            (".", ".", 6, "punct"),
        ];
        let line = |(at, (form, tag, head, relation)): (usize, &(&str, &str, usize, &str))| {
            format!("{}\t{form}\t_\t_\t{tag}\t_\t{head}\t{relation}\t_\t_\n", at + 1)
        };
        let text: String = rows.iter().enumerate().map(line).collect();
        let sentence = &sentences(&text)[0];
        let found: Vec<_> = deletion_candidates(&sentence.text)
            .iter()
            .map(|it| (sentence.text[it.range.clone()].to_owned(), goes(sentence, it)))
            .collect();
        assert!(found.contains(&("the".to_owned(), Some(true))), "{found:?}");
    }
}
