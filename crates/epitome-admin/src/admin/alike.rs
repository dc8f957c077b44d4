//! Which sessions cannot be told apart yet: all that was said in them is the same (RULES 13).
//!
//! Invariant: what is found is looked at, never joined. Called by the command, where somebody decides
//! something for one of them.

use epitome_kernel::{AnswerClue, Clue};
use epitome_types::HistoryHash;

use super::SessionAdmin;
use crate::error::AdminError;

impl SessionAdmin {
    /// The other sessions that hold all that was said and answered in one that nobody went on from,
    /// where no id of a client says which is which: what is said next may be a new session.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn alike(&self, name: &str) -> Result<Vec<String>, AdminError> {
        let history = self.history(Some(name))?;
        let answer = history.answer.as_ref().filter(|_| history.info.label.is_none());
        let Some(answer) = answer else { return Ok(Vec::new()) };
        let (messages, text) = (history.keys().len(), answer.text);
        let mut chain = HistoryHash::default();
        let keys = history.keys().iter().chain([&answer.key]);
        let chains: Vec<_> = keys
            .map(|key| {
                chain = chain.append(*key);
                chain
            })
            .collect();
        let answers =
            |place| (place == messages).then_some(AnswerClue { length: 1, text, drawn: None });
        let clue = Clue {
            chains: &chains,
            format: &history.info.format,
            label: None,
            least: messages.max(1),
            answers: &answers,
        };
        let holders = self.journal.holders(&self.scope, &clue)?.into_iter();
        let heard = holders.filter(|it| it.shared + it.answered > messages);
        Ok(heard.map(|it| it.session).filter(|session| session != name).collect())
    }
}
