//! What compressions of a session took out that was fetched again.
//!
//! Invariant: the whole history is read for it, once; so it is for reports and the page of one
//! compression, not for lists.

use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::{Entry, RecordedAction, SessionAction};

use super::timeline::eviction_places;
use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::regret::{BroughtBack, CompactionRegret, regrets};

impl SessionAdmin {
    /// What left in each compression of a history, and what of it was fetched again; oldest first,
    /// without those of other branches.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn regret(&self, history: &SessionHistory) -> Result<Vec<CompactionRegret>, AdminError> {
        if history.epochs().is_empty() {
            return Ok(Vec::new());
        }
        let entries = history.entries(&*self.journal, &self.scope)?;
        Ok(of_history(&*self.journal, &self.scope, history, &entries)?)
    }
}

/// The same of a history whose messages were read.
pub(crate) fn of_history(
    journal: &dyn SessionArchive,
    scope: &str,
    history: &SessionHistory,
    entries: &[Entry],
) -> Result<Vec<CompactionRegret>, StoreError> {
    let acts = journal.acts_in_force(scope, &history.info.name)?;
    let brought: Vec<_> = acts.iter().filter_map(|acted| brought_back(history, acted)).collect();
    let sizes: Vec<_> = history.messages.iter().map(|message| message.tokens).collect();
    Ok(regrets(entries, &sizes, &eviction_places(history), &brought))
}

/// Excerpts that came back by a policy: with the first message that was said then.
fn brought_back<'h>(
    history: &SessionHistory,
    acted: &'h RecordedAction,
) -> Option<BroughtBack<'h>> {
    let SessionAction::Recall { text } = &acted.act else { return None };
    let is_behind = |at: &String| at.as_str() >= acted.at.as_str();
    let place = history.messages.iter().position(|it| it.at.as_ref().is_some_and(is_behind))?;
    Some(BroughtBack { place, text })
}
