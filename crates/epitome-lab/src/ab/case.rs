//! A conversation to compare strategies on, with its questions.
//!
//! Invariant: what compresses is given the recording alone. A case that was prepared is taken as
//! it is; any other recording is cut, and its future asks.

use std::path::{Path, PathBuf};

use epitome::types::{Budget, BudgetUnit};
use epitome::{CompressionTarget, Error, TokenCounter};
use serde::de::IgnoredAny;

use super::derive::{cut, questions};
use super::plain_text::{said, tokens};
use super::questions::CaseQuestions;
use crate::{Recording, files};

/// How the two files of a prepared case end.
const MESSAGES: &str = ".messages.json";
const QUESTIONS: &str = ".probes.json";

/// A conversation, and what is asked about it.
pub(crate) struct EvalCase {
    pub(crate) recording: Recording,
    pub(crate) questions: CaseQuestions,
}

impl EvalCase {
    /// What a target allows; none where it asks for no size. A ratio is taken of the tokens as the
    /// score counts them, so that it means the same whatever is scored.
    pub(crate) fn budget(
        &self,
        target: CompressionTarget,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Budget>, Error> {
        let (unit, most) = match target {
            CompressionTarget::Trigger => return Ok(None),
            CompressionTarget::Tokens(most) => (BudgetUnit::Tokens, most),
            CompressionTarget::Chars(most) => (BudgetUnit::Chars, most),
            CompressionTarget::Bytes(most) => (BudgetUnit::Bytes, most),
            CompressionTarget::Ratio(ratio) => {
                let [all, pinned] = tokens(&said(&self.recording.document()?), counter);
                let rest = all.saturating_sub(pinned) as f64 / ratio;
                (BudgetUnit::Tokens, pinned + rest.ceil() as u64)
            }
        };
        Ok(Some(Budget { unit, most }))
    }
}

/// The file of questions beside a prepared conversation.
pub(crate) fn questions_of(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?.strip_suffix(MESSAGES)?;
    Some(file.with_file_name(format!("{name}{QUESTIONS}")))
}

/// Whether a file holds the questions of another one.
pub(crate) fn is_questions(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(QUESTIONS.as_bytes()))
}

/// The name of the case in a file: without its endings.
pub(crate) fn name(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.strip_suffix(MESSAGES) {
        Some(name) => name.to_owned(),
        None => file.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or(name),
    }
}

/// What is in the files of a case.
pub(crate) struct CaseFiles {
    pub(crate) messages: Vec<u8>,
    pub(crate) questions: Option<Vec<u8>>,
}

impl CaseFiles {
    /// # Errors
    ///
    /// One line that says why a file cannot be read.
    pub(crate) fn from(file: &Path, most: u64) -> Result<Self, String> {
        let messages = files::read(file, most)?;
        let beside = questions_of(file).filter(|beside| beside.exists());
        let questions = beside.map(|beside| files::read(&beside, most)).transpose()?;
        Ok(Self { messages, questions })
    }

    /// The case; a recording without questions is cut at this share of its tokens.
    ///
    /// # Errors
    ///
    /// One line that says why it is none.
    pub(crate) fn case(
        &self,
        id: &str,
        share: f64,
        counter: &dyn TokenCounter,
    ) -> Result<EvalCase, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let recording = Recording::read(&self.messages, None, None).map_err(|it| text(&it))?;
        if let Some(questions) = &self.questions {
            // A whole look first: the error names the place, whatever the shape.
            let questions = serde_json::from_slice::<IgnoredAny>(questions)
                .and_then(|_| serde_json::from_slice(questions));
            let questions = questions.map_err(|error| format!("its questions: {error}"))?;
            return Ok(EvalCase { recording, questions });
        }
        let whole = recording.document().map_err(|it| text(&it))?;
        let messages = cut(&whole, share, counter)
            .ok_or("is too short to be cut: nothing is left to ask for")?;
        let request = whole.prefix(messages);
        let first =
            Recording::read(&request, Some(whole.format()), None).map_err(|it| text(&it))?;
        let before = first.document().map_err(|it| text(&it))?;
        let source = recording.from().name();
        let questions = questions(id, source, &before, &whole, counter);
        match questions.count() {
            0 => Err("nothing of its first part is used in its second one".to_owned()),
            _ => Ok(EvalCase { recording: first, questions }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_case_belong_together() {
        let (messages, questions) =
            (Path::new("d/a.b.messages.json"), Path::new("d/a.b.probes.json"));
        assert_eq!(questions_of(messages).as_deref(), Some(questions));
        assert_eq!(questions_of(Path::new("d/a.jsonl")), None);
        assert!(is_questions(questions) && !is_questions(messages));
        assert_eq!(name(messages), "a.b");
        assert_eq!(name(Path::new("d/a.jsonl")), "a");
    }
}
