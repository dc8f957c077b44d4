//! What a conversation is known by before anything of it is recorded.
//!
//! Invariant: nothing is recorded, and no prompt is made. Called by hosts that have more than one
//! router, to choose between them.

use epitome_kernel::Clue;
use epitome_types::{EntryKey, Role};
use epitome_wire::{RequestDocument, message};

use super::{RoutedRequest, SessionRouter};
use crate::error::Error;
use crate::session::known_history::chains;

/// What a conversation is known by from its first request on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationOpening {
    /// The key of the first thing that its user said; none where nothing is said by one.
    pub first: Option<EntryKey>,
    /// Whether nothing was answered in it yet, as far as the request shows.
    pub is_new: bool,
}

impl SessionRouter {
    /// Returns what the conversation of a request opens with.
    ///
    /// # Errors
    ///
    /// When the request cannot be read.
    pub fn opening(&self, ask: &RoutedRequest) -> Result<ConversationOpening, Error> {
        let history = self.history(ask)?;
        let mut opening = ConversationOpening { first: None, is_new: true };
        for place in 0..history.scan.messages.len() {
            let said = message(history.scan.message(&ask.bytes, place), ask.format)?;
            match said.role {
                Role::System => {}
                Role::User => drop(opening.first.get_or_insert(EntryKey::for_entry(&said))),
                Role::Assistant | Role::Tool => {
                    opening.is_new = false;
                    break;
                }
            }
        }
        Ok(opening)
    }

    /// Returns the id of the client's conversation that a request goes on from under another id, as a
    /// fork or a resumed session does: one that is recorded here with an answer that the request holds.
    ///
    /// # Errors
    ///
    /// When the request or the journal cannot be read.
    pub fn origin(&self, ask: &RoutedRequest) -> Result<Option<String>, Error> {
        let document = RequestDocument::parse(&ask.bytes, ask.format)?;
        let said = document.entries();
        let Some(first) = said.iter().position(|entry| entry.role == Role::Assistant) else {
            return Ok(None);
        };
        let keys: Vec<_> = said.iter().map(EntryKey::for_entry).collect();
        let chains = chains(&keys);
        let clue = Clue {
            chains: &chains,
            format: ask.format.name(),
            label: None,
            least: first + 1,
            answers: &|_| None,
        };
        let holders = self.journal.holders(&self.scope(ask), &clue)?.into_iter();
        let longest = holders.filter(|it| it.shared > first).max_by_key(|it| it.shared);
        Ok(longest.and_then(|holder| holder.label))
    }

    /// Returns whether a session is recorded here of the client's conversation that a request names.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn has_recorded(&self, ask: &RoutedRequest) -> Result<bool, Error> {
        let Some(label) = ask.label.as_deref() else { return Ok(false) };
        let clue = Clue {
            chains: &[],
            format: ask.format.name(),
            label: Some(label),
            least: usize::MAX,
            answers: &|_| None,
        };
        let owner = self.owner.of_tenant(&ask.tenant);
        for scope in [self.scope(ask), owner.without_project(self.profile.name())] {
            let holders = self.journal.holders(&scope, &clue)?;
            if holders.iter().any(|holder| holder.label.as_deref() == Some(label)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
