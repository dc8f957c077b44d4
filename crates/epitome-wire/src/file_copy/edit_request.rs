//! Whether a line asks for a text to be worked on, or to be given back whole.
//!
//! Invariant: a line asks only with a verb and what it is about, so that a question about a log, or the
//! wish to have an error fixed, asks for no text. Called by the scanner of file copies, for what a person
//! says.

/// What is done to a text that comes back.
const EDITS: [&str; 13] = [
    "edit",
    "correct",
    "proofread",
    "improve",
    "revise",
    "rewrite",
    "reword",
    "rephrase",
    "polish",
    "translate",
    "refactor",
    "reformat",
    "copyedit",
];

/// What stands before the text that is meant.
const THIS: [&str; 8] = ["this", "these", "my", "our", "the", "it", "following", "below"];

/// What gives a text back.
const GIVES: [&str; 13] = [
    "give", "return", "send", "write", "print", "output", "show", "post", "want", "need", "ask",
    "paste", "hand",
];

/// All of a text.
const WHOLE: [&str; 6] = ["whole", "entire", "full", "complete", "completely", "verbatim"];

/// What it is called.
const TEXTS: [&str; 24] = [
    "file", "text", "document", "letter", "table", "list", "csv", "log", "thing", "version",
    "content", "contents", "paper", "article", "essay", "code", "script", "data", "message",
    "draft", "mail", "email", "story", "back",
];

/// The longest line that somebody types to ask for something, in bytes.
const LONGEST: usize = 600;

/// How many words may stand between what belongs together.
const NEAR: usize = 8;

/// Whether a line asks for a text to be given back whole, or for work on one that it introduces.
pub(super) fn asks(line: &str) -> bool {
    let line = line.trim();
    line.len() <= LONGEST
        && line.split(['.', '!', '?', ';']).any(|sentence| {
            let words: Vec<String> = words(sentence);
            asks_whole(&words) || asks_edit(&words)
        })
}

/// The words of a sentence, in lower case.
fn words(sentence: &str) -> Vec<String> {
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// "give the whole file back", "return it in full".
fn asks_whole(words: &[String]) -> bool {
    let is_one = |of: &[&str], word: &String| of.contains(&&**word);
    words.iter().enumerate().filter(|(_, word)| is_one(&GIVES, word)).any(|(at, _)| {
        let after = &words[at + 1..words.len().min(at + 1 + NEAR)];
        let whole = after.iter().position(|word| is_one(&WHOLE, word));
        whole.is_some_and(|whole| {
            let is_named = after.get(whole + 1).is_none_or(|word| is_one(&TEXTS, word));
            is_named || after[..whole].iter().any(|word| word == "back")
        })
    })
}

/// "edit this letter", "I want to edit it".
fn asks_edit(words: &[String]) -> bool {
    let is_edit = |word: &String| EDITS.contains(&&**word);
    // Who asks why something was not done edits nothing.
    let is_question = words.first().is_some_and(|word| ["why", "how", "what"].contains(&&**word));
    let edits = |pair: &[String]| is_edit(&pair[0]) && THIS.contains(&&*pair[1]);
    !is_question && words.windows(2).any(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_asks_for_a_text_with_a_verb_and_what_it_is_about() {
        for line in [
            "Please edit this file.",
            "Correct my paper:",
            "Please improve this letter and give it back whole:",
            "Here is users.csv. I want to edit it; give it back whole at the end.",
            "change the regions as I say, and give the whole file back at the end.",
            "Edit the text below. I will ask for the whole text at the end.",
            "Double each number and return the complete table.",
            "Send me the full version",
        ] {
            assert!(asks(line), "{line}");
        }
        for line in [
            "Why does this fail?",
            "Here is the log of the full run. What went wrong?",
            "Fix this:",
            "Can you show me the full error?",
            "Why did nobody edit the file?",
            "This is the correct answer to my question.",
            "The whole test takes a minute.",
        ] {
            assert!(!asks(line), "{line}");
        }
    }
}
