//! What the model said it did, does, will do and will not do.
//!
//! Invariant: only text that the model wrote is read, and only its newest clear statements count.
//! Called by [`super::WorkLedger::of`].

use epitome_kernel::types::{Entry, Part, PartBody, Role, Speaker};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::phrases::{self, Phrases, UNSURE};
use super::{Language, typed};
use crate::directive::spaced;
use crate::{split, words};

/// So many of the newest statements of finished work are kept.
const DONE: usize = 10;
/// So many of the newest decisions against something are kept.
const REJECTED: usize = 12;
/// What the model does and will do is read in so many of its newest texts.
const LAST: usize = 3;
/// Fewer words (`Reverted!`) do not say what was done.
const WORDS: usize = 3;
/// A longer sentence (in bytes) is no statement but an explanation.
const LONG: usize = 240;

/// Something that was decided against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RejectedOption {
    /// What, in the model's words.
    pub what: String,
    /// Why, where the model said so.
    pub reason: Option<String>,
}

/// The model's own account, oldest first.
#[derive(Default)]
pub(super) struct ModelAccount {
    pub(super) done: Vec<String>,
    pub(super) in_progress: Vec<String>,
    pub(super) next: Vec<String>,
    pub(super) rejected: Vec<RejectedOption>,
}

/// Reads what the model wrote, the newest first.
pub(super) fn said(entries: &[&Entry], language: Language) -> ModelAccount {
    let mut reader = AccountReader::new(language);
    let texts = entries.iter().rev().filter(|entry| entry.role == Role::Assistant);
    for (age, part) in texts.flat_map(|entry| written(entry).rev()).enumerate() {
        if reader.is_full() {
            break;
        }
        let sentences: Vec<&str> =
            typed::lines(part).flat_map(|line| split::whole_sentences(line.point)).collect();
        sentences.into_iter().rev().for_each(|sentence| reader.take(sentence, age));
    }
    reader.finish()
}

/// The texts that the model wrote in an entry.
pub(super) fn written(entry: &Entry) -> impl DoubleEndedIterator<Item = &Part> {
    let is_own = |part: &&Part| part.speaker == Speaker::Model;
    entry.parts.iter().filter(|part| matches!(part.body, PartBody::Text(_))).filter(is_own)
}

struct AccountReader {
    own: Phrases,
    out: ModelAccount,
    seen: FxHashSet<String>,
    /// The age of the text that the newest announcement stands in: older ones are stale.
    announced: Option<usize>,
}

impl AccountReader {
    fn new(language: Language) -> Self {
        let own = phrases::of(language);
        Self { own, out: ModelAccount::default(), seen: FxHashSet::default(), announced: None }
    }

    fn is_full(&self) -> bool {
        self.out.done.len() >= DONE && self.out.rejected.len() >= REJECTED
    }

    fn take(&mut self, sentence: &str, age: usize) {
        let sentence = sentence.trim_start_matches(['✅', '✓', '✔', '*', ' ', '\u{FE0F}']);
        if !(8..=LONG).contains(&sentence.len()) || sentence.ends_with(['?', '？', ':', '：']) {
            return;
        }
        let text = spaced(sentence);
        let fresh = age < LAST && self.announced.is_none_or(|newest| newest == age);
        if let Some(rejected) = self.rejected(sentence, &text) {
            if self.out.rejected.len() < REJECTED && self.seen.insert(text) {
                self.out.rejected.push(rejected);
            }
        } else if fresh && self.begins(&text, |it| it.next) {
            self.announced = Some(age);
            self.out.next.push(folded(sentence));
        } else if fresh && self.out.in_progress.is_empty() && self.begins(&text, |it| it.doing) {
            self.out.in_progress.push(folded(sentence));
        } else if self.out.done.len() < DONE && self.is_done(&text) && self.seen.insert(text) {
            self.out.done.push(folded(sentence));
        }
    }

    fn is_done(&self, text: &str) -> bool {
        (self.begins(text, |it| it.done) || self.holds(text, |it| it.passed))
            && words::word_count(text) >= WORDS
            && !UNSURE.iter().any(|mark| text.contains(mark))
    }

    fn rejected(&self, sentence: &str, text: &str) -> Option<RejectedOption> {
        if !self.holds(text, |it| it.rejected) {
            return None;
        }
        let marks = [self.own.because, phrases::EN.because].concat();
        let cut = marks.iter().filter_map(|mark| Some((sentence.find(mark)?, mark.len()))).min();
        let clean = |text: &str| folded(text.trim().trim_end_matches(['.', ',', '。', '、']));
        Some(match cut {
            Some((at, length)) => RejectedOption {
                what: clean(&sentence[..at]),
                reason: Some(clean(&sentence[at + length..])),
            },
            None => RejectedOption { what: clean(sentence), reason: None },
        })
    }

    fn begins(&self, text: &str, of: fn(&Phrases) -> &'static [&'static str]) -> bool {
        [&self.own, &phrases::EN].iter().any(|it| of(it).iter().any(|mark| text.starts_with(mark)))
    }

    fn holds(&self, text: &str, of: fn(&Phrases) -> &'static [&'static str]) -> bool {
        [&self.own, &phrases::EN].iter().any(|it| of(it).iter().any(|mark| text.contains(mark)))
    }

    fn finish(mut self) -> ModelAccount {
        self.out.done.reverse();
        self.out.next.reverse();
        self.out.rejected.reverse();
        self.out
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use epitome_testkit::{Chat, chat};

    use super::*;

    fn check(chat: Chat, language: Language, done: &[&str], next: &[&str], rejected: &[[&str; 2]]) {
        let entries = chat.entries();
        let said = said(&entries.iter().collect::<Vec<_>>(), language);
        assert_eq!((&said.done[..], &said.next[..]), (&owned(done)[..], &owned(next)[..]));
        let found: Vec<[&str; 2]> = said
            .rejected
            .iter()
            .map(|it| [it.what.as_str(), it.reason.as_deref().unwrap_or_default()])
            .collect();
        assert_eq!(found, rejected);
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn clear_statements_count() {
        check(
            chat()
                .assistant("I decided against regular expressions because they are slow.")
                .assistant("Fixed the parser. All tests pass now. Next, I'll port the lexer."),
            Language::En,
            &["Fixed the parser.", "All tests pass now."],
            &["Next, I'll port the lexer."],
            &[["I decided against regular expressions", "they are slow"]],
        );
        check(
            chat().assistant("Ich habe den Parser repariert. Als Nächstes kommt der Lexer."),
            Language::De,
            &["Ich habe den Parser repariert."],
            &["Als Nächstes kommt der Lexer."],
            &[],
        );
        check(
            chat().assistant("已修复解析器。接下来移植词法分析器。"),
            Language::Zh,
            &["已修复解析器。"],
            &["接下来移植词法分析器。"],
            &[],
        );
    }

    #[test]
    fn guesses_plans_code_and_tools_say_nothing() {
        check(
            chat()
                .user("I fixed the parser. All tests pass.")
                .assistant("If I fixed the parser, all tests pass. I have not fixed it.")
                .assistant("```\nFixed the parser.\n```\nAre all tests passing now?")
                .call("Bash", "{}")
                .result("All tests pass. Fixed the parser. Next, I'll do more."),
            Language::En,
            &[],
            &[],
            &[],
        );
    }

    #[test]
    fn only_the_newest_announcement_counts() {
        check(
            chat().assistant("Next, I'll port the lexer.").assistant("Next, I'll port the parser."),
            Language::En,
            &[],
            &["Next, I'll port the parser."],
            &[],
        );
    }
}
