//! Whether what a model wrote can be a summary at all, before any policy is asked.
//!
//! Invariant: pure; what is found wrong says what was found, in the model's own words where that
//! helps. Called by the writer.

use std::collections::HashSet;

use epitome_extract::GroundedText;
use epitome_extract::ledger::Language;
use epitome_types::{Entry, PartBody, Speaker};

use super::phrases::{ERRORS, REFUSALS};

/// From so many words on a text can be found to go round in circles.
const CIRCLE_FROM: usize = 80;
/// So many words of such a text, for each that is new, are too many.
const CIRCLE: usize = 12;
/// An error that somebody handed on has no more words.
const MOST_ERROR: usize = 80;
/// An answer of which more than one in so many sentences names what nobody said is not relied on.
const INVENTED: usize = 3;
/// The most characters that are quoted of an answer.
const QUOTED: usize = 80;

/// What a summary is held to.
pub(super) struct Expected<'a> {
    /// Headings that it must have.
    pub(super) sections: &'a [String],
    /// The languages that the conversation is clearly in; none where that is not clear.
    pub(super) languages: &'a [Language],
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    #[error("wrote nothing")]
    Empty,
    #[error("refused: “{0}”")]
    Refusal(String),
    #[error("answered with an error: “{0}”")]
    Error(String),
    #[error("goes round in circles: “{0}”")]
    Circle(String),
    #[error("writes another language than the conversation ({0})")]
    Language(&'static str),
    #[error("left out `{0}`")]
    Section(String),
    #[error("names what nobody said, in {dropped} of {sentences} sentences: `{name}`")]
    Invented { name: String, dropped: usize, sentences: usize },
}

/// What is wrong with a text of which sentences were dropped, because they name what nobody said: too many
/// were, so that the rest is not to be relied on either.
pub(super) fn flaw(found: &GroundedText) -> Option<Flaw> {
    let (dropped, sentences) = (found.dropped.len(), found.sentences);
    let first = found.dropped.first().filter(|_| dropped * INVENTED > sentences)?;
    Some(Flaw::Invented { name: first.name.clone(), dropped, sentences })
}

/// What is wrong with a text as a summary, if anything.
pub(super) fn check(text: &str, expected: &Expected<'_>) -> Result<(), Flaw> {
    let says = |line: &str| !is_none(line) && !is_heading(line, expected.sections);
    if !text.lines().any(|line| line.contains(char::is_alphanumeric) && says(line)) {
        return Err(Flaw::Empty);
    }
    let opening = opening(text);
    let words = || text.split_whitespace();
    let begins = |with: &[&str]| with.iter().any(|phrase| opening.starts_with(phrase));
    if begins(ERRORS) && words().nth(MOST_ERROR).is_none() {
        return Err(Flaw::Error(quoted(text)));
    }
    if begins(REFUSALS) {
        return Err(Flaw::Refusal(quoted(text)));
    }
    let (all, new) = (words().count(), words().collect::<HashSet<_>>().len());
    if all >= CIRCLE_FROM && all > new * CIRCLE {
        return Err(Flaw::Circle(quoted(text)));
    }
    if let Some(heading) = expected.sections.iter().find(|heading| !text.contains(heading.as_str()))
    {
        return Err(Flaw::Section(heading.clone()));
    }
    match Language::clearly([text]) {
        Some(found) if !expected.languages.is_empty() && !expected.languages.contains(&found) => {
            Err(Flaw::Language(found.name()))
        }
        _ => Ok(()),
    }
}

/// Whether a line says that there is nothing.
pub(super) fn is_none(line: &str) -> bool {
    let word = line.trim_matches(|c: char| !c.is_alphanumeric());
    ["none", "n/a", "nothing"].iter().any(|none| word.eq_ignore_ascii_case(none))
}

/// Whether a line is one of these headings, or would be one in Markdown.
fn is_heading(line: &str, headings: &[String]) -> bool {
    line.starts_with('#') || headings.iter().any(|heading| line.trim() == heading.trim())
}

/// The languages that a conversation is clearly in: that of people, and that of models.
pub(super) fn languages(entries: &[&Entry]) -> Vec<Language> {
    let texts = |speaker: Speaker| {
        let parts = entries.iter().flat_map(|entry| &entry.parts);
        parts.filter(move |part| part.speaker == speaker).filter_map(|part| match &part.body {
            PartBody::Text(text) => Some(&**text),
            _ => None,
        })
    };
    let spoken = [Speaker::Human, Speaker::Model].map(|one| Language::clearly(texts(one)));
    spoken.into_iter().flatten().collect()
}

/// How a text begins: in small letters, without what frames it.
fn opening(text: &str) -> String {
    let frame = |c: char| !c.is_alphanumeric() && !matches!(c, '{' | '<');
    let text = text.trim_start_matches(frame);
    let letters = text.chars().take(QUOTED).flat_map(char::to_lowercase);
    letters.map(|c| if c == '’' { '\'' } else { c }).collect()
}

fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    fn found(text: &str, sections: &[&str], languages: &[Language]) -> Result<(), String> {
        let sections: Vec<_> = sections.iter().map(|one| (*one).to_owned()).collect();
        let expected = Expected { sections: &sections, languages };
        check(text, &expected).map_err(|flaw| flaw.to_string())
    }

    #[track_caller]
    fn check_flaw(text: &str, expected: &str) {
        let flaw = found(text, &[], &[]).expect_err(text);
        assert!(flaw.starts_with(expected), "{flaw}");
    }

    const GOOD: &str = "The person wants the parser mended and forbids changes to src/main.rs. It \
                        is not done yet: what is open is the error of the lexer, and that is it.";

    #[test]
    fn a_summary_is_no_flaw() {
        assert_eq!(found(GOOD, &[], &[Language::En]), Ok(()));
        assert_eq!(found("src/main.rs", &[], &[Language::De]), Ok(()));
        let rows = "- sorry is said in notes.md\n- ERROR: 3 tests failed in src/lib.rs, see above";
        assert_eq!(found(rows, &[], &[]), Ok(()));
        let numbers: Vec<_> = (0..300).map(|at| format!("step {at} of the plan is done")).collect();
        assert_eq!(found(&numbers.join("\n"), &[], &[]), Ok(()));
    }

    #[test]
    fn what_says_nothing_is_empty() {
        for text in ["", " \n", "```\n```", "—", "…", "- None.\nN/A", "## Done\nnone"] {
            check_flaw(text, "wrote nothing");
        }
    }

    #[test]
    fn refusals_are_known_in_many_languages() {
        for text in [
            "I'm sorry, but I can't help with that.",
            "**I’m sorry, but I can’t summarise this.**",
            "\"As an AI language model, I do not keep records.\"",
            "Hello! How can I assist you today?",
            "Es tut mir leid, aber dabei kann ich nicht helfen.",
            "Je ne peux pas résumer cette conversation.",
            "Lo siento, no puedo ayudar con eso.",
            "Mi dispiace, non posso aiutarti.",
            "Não posso ajudar com isso.",
            "Het spijt me, dat kan ik niet doen.",
            "Извините, я не могу этого сделать.",
            "抱歉，我无法协助处理这个请求。",
            "申し訳ありませんが、お手伝いできません。",
            "죄송하지만 도와드릴 수 없습니다.",
        ] {
            check_flaw(text, "refused: “");
        }
    }

    #[test]
    fn errors_are_no_summaries() {
        for text in [
            "{\"error\": {\"message\": \"model overloaded\"}}",
            "<html><body>502 Bad Gateway</body></html>",
            "Error: connect ECONNREFUSED 127.0.0.1:11434",
            "Rate limit reached for requests",
        ] {
            check_flaw(text, "answered with an error: “");
        }
        // A long text that begins with one tells of it.
        assert_eq!(found(&format!("Error: it failed. {}", GOOD.repeat(4)), &[], &[]), Ok(()));
    }

    #[test]
    fn what_never_ends_goes_round_in_circles() {
        check_flaw(&"and then it was done ".repeat(60), "goes round in circles: “and then");
    }

    #[test]
    fn headings_are_asked_for_word_for_word() {
        let flaw = found(&format!("## Done\n{GOOD}"), &["## Done", "## Open"], &[]);
        assert_eq!(flaw, Err("left out `## Open`".to_owned()));
        assert_eq!(found(&format!("## Done\n{GOOD}"), &["## Done"], &[]), Ok(()));
    }

    #[test]
    fn a_summary_speaks_the_language_of_the_conversation() {
        let german = "Der Mensch will, dass der Parser repariert wird, und die Datei ist nicht zu \
                      ändern; es ist auch noch nicht alles mit dem Lexer fertig.";
        let flaw = found(german, &[], &[Language::En]);
        assert_eq!(flaw, Err("writes another language than the conversation (de)".to_owned()));
        assert_eq!(found(german, &[], &[Language::En, Language::De]), Ok(()));
        assert_eq!(found(german, &[], &[]), Ok(()));
        let chinese = "用户要求修复解析器，并且禁止修改主文件。还没有完成。";
        assert!(found(chinese, &[], &[Language::En]).is_err());
        let talk = chat().user(GOOD).assistant(german).entries();
        let spoken = languages(&talk.iter().collect::<Vec<_>>());
        assert_eq!(spoken, [Language::En, Language::De]);
    }
}
