//! Sentences in the format CoNLL-U.
//!
//! Invariant: a word's range is its place in the sentence's text. Called by `train`.

use std::ops::Range;

/// A word of a parsed sentence.
pub(crate) struct ParsedWord {
    pub(crate) form: String,
    /// Its part of speech in Penn's tags, or the universal one.
    pub(crate) tag: String,
    /// The place of its head; nothing for the root.
    pub(crate) head: Option<usize>,
    pub(crate) relation: String,
    pub(crate) range: Range<usize>,
}

/// A sentence, with the text that its words are in.
pub(crate) struct ParsedSentence {
    pub(crate) text: String,
    pub(crate) words: Vec<ParsedWord>,
}

impl ParsedSentence {
    /// Whether a word hangs below another, or is it.
    pub(crate) fn is_below(&self, mut word: usize, top: usize) -> bool {
        for _ in 0..=self.words.len() {
            match self.words[word].head {
                _ if word == top => return true,
                Some(head) => word = head,
                None => return false,
            }
        }
        false
    }
}

/// The sentences of a file; lines that are none are passed over.
pub(crate) fn sentences(text: &str) -> Vec<ParsedSentence> {
    text.split("\n\n").filter_map(sentence).collect()
}

fn sentence(block: &str) -> Option<ParsedSentence> {
    let mut out = ParsedSentence { text: String::new(), words: Vec::new() };
    for line in block.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, form, _, universal, penn, _, head, relation, _, more] = cells[..] else {
            continue;
        };
        if id.parse::<usize>().is_err() {
            continue;
        }
        let start = out.text.len();
        out.text.push_str(form);
        out.words.push(ParsedWord {
            form: form.to_owned(),
            tag: if penn == "_" { universal } else { penn }.to_owned(),
            head: head.parse::<usize>().ok()?.checked_sub(1),
            relation: relation.split(':').next()?.to_owned(),
            range: start..out.text.len(),
        });
        if !more.contains("SpaceAfter=No") {
            out.text.push(' ');
        }
    }
    let count = out.words.len();
    let is_whole = out.words.iter().all(|it| it.head.is_none_or(|head| head < count));
    (is_whole && count > 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_place() {
        let text = "# text = We go.\n1\tWe\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n\
                    2\tgo\t_\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No\n\
                    3\t.\t_\tPUNCT\t.\t_\t2\tpunct\t_\t_\n\nnothing\n";
        let found = sentences(text);
        assert_eq!(found.len(), 1);
        let sentence = &found[0];
        assert_eq!(sentence.text, "We go. ");
        assert_eq!(&sentence.text[sentence.words[1].range.clone()], "go");
        assert!(sentence.is_below(0, 1) && !sentence.is_below(1, 0));
    }
}
