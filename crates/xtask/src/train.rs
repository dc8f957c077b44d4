//! `cargo xtask train-brief DATA`: the weights by which the brief style deletes parts of sentences.
//!
//! Invariant: the same data gives the same table. DATA is a file of parsed English sentences in the
//! format CoNLL-U, of a treebank or of a parser; labels of Universal Dependencies and of ClearNLP are
//! known. Called by `main`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use epitome_extract::{DeletionCandidate, deletion_candidates};

mod fit;
mod labels;
mod parsed;

use fit::LabelledUnit;

const TABLE: &str = "crates/epitome-extract/src/brief/weights.txt";
/// How many words count as frequent.
const FREQUENT: usize = 1500;
/// A word is frequent only where it stands so often.
const LEAST: usize = 3;

/// Trains, says how the model does on every tenth sentence without those, and writes the table.
///
/// # Errors
///
/// When the data cannot be read or holds no sentence.
#[expect(clippy::disallowed_methods, reason = "this tool writes into the tree it is for")]
pub(crate) fn run(data: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(data).with_context(|| data.to_owned())?;
    let sentences = parsed::sentences(&text);
    ensure!(!sentences.is_empty(), "{data}: holds no parsed sentence");
    let mut labelled = Vec::new();
    for (number, sentence) in sentences.iter().enumerate() {
        for candidate in deletion_candidates(&sentence.text) {
            let Some(goes) = labels::goes(sentence, &candidate) else { continue };
            let DeletionCandidate { kind, features, .. } = candidate;
            labelled.push(LabelledUnit { kind, features, goes, held_out: number % 10 == 0 });
        }
    }
    let tested = fit::weights(&labelled, |unit| !unit.held_out);
    let report = fit::report(&labelled, &tested);
    let mut table: String = fit::weights(&labelled, |_| true)
        .iter()
        .map(|(feature, weight)| format!("{feature}\t{weight}\n"))
        .collect();
    table.push_str(&format!("frequent\t{}\n", frequent(&sentences).join(" ")));
    fs::write(TABLE, table).context(TABLE)?;
    Ok(report)
}

/// The most frequent words, in the order of the alphabet.
fn frequent(sentences: &[parsed::ParsedSentence]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let words = sentences.iter().flat_map(|it| &it.words).map(|it| it.form.to_lowercase());
    let plain = |word: &String| word.bytes().all(|it| it.is_ascii_lowercase() || it == b'\'');
    words.filter(plain).for_each(|word| *counts.entry(word).or_default() += 1);
    let mut words: Vec<(usize, String)> =
        counts.into_iter().filter(|(_, it)| *it >= LEAST).map(|(word, it)| (it, word)).collect();
    words.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.cmp(b)));
    words.truncate(FREQUENT);
    let mut words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    words.sort();
    words
}
