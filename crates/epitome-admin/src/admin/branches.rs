//! The ways through the history of a session: the one on which it stands, and those that were left by a
//! rewind, an edit, a compaction of the client, or another agent of it.
//!
//! Invariant: nothing is changed, and what was said on a way can be read whole. Called by the command.

use epitome_types::{SessionBranch, SessionInfo};
use serde::Serialize;

use super::{SessionAdmin, SessionHistory};
use crate::decode::decode;
use crate::error::AdminError;
use crate::records::title;

/// The digits that a way goes by.
const DIGITS: usize = 8;
/// The least that is taken for the beginning of them.
const LEAST: usize = 4;
/// So many messages are looked at for what is told of a way.
const LOOKED_AT: usize = 16;

/// A way through the history of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BranchInfo {
    /// Its number among those of its session, counted from 1 in the order of their ends.
    pub number: usize,
    /// What it goes by as long as nobody goes on from it.
    pub id: String,
    /// How many messages it has.
    pub messages: u32,
    /// How many of these, the first ones, are those of the way on which the session stands.
    pub shared: u32,
    /// When it was last answered, ISO 8601.
    pub last: Option<String>,
    /// Whether the session stands on it.
    pub current: bool,
    /// The beginning of the first text that a person typed behind what is shared.
    pub title: String,
}

impl SessionAdmin {
    /// The ways through the history of a session; the last one is where it stands.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn branches(&self, name: Option<&str>) -> Result<Vec<BranchInfo>, AdminError> {
        let info = self.session(name)?;
        let branches = self.journal.branches(&self.scope, &info.name)?;
        let told =
            branches.iter().zip(1..).map(|(branch, number)| self.told(&info, branch, number));
        told.collect()
    }

    /// A session on one of its ways, by the number or the id of that.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`]; [`AdminError::NoBranch`] where none goes by that.
    pub fn branch(&self, name: &str, branch: &str) -> Result<SessionHistory, AdminError> {
        let mut info = self.session(Some(name))?;
        let branches = self.journal.branches(&self.scope, name)?;
        let number = branch.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let is_it = |one: &&SessionBranch| {
            branch.len() >= LEAST && one.head.to_string().starts_with(&branch.to_ascii_lowercase())
        };
        let mut found = branches.iter().filter(is_it);
        let found = match (found.next(), found.next()) {
            (Some(one), None) => Some(one),
            _ => number.and_then(|number| branches.get(number)),
        };
        let Some(found) = found else {
            let (named, session) = (branch.to_owned(), name.to_owned());
            return Err(AdminError::NoBranch { named, session, branches: branches.len() });
        };
        (info.head, info.figures.messages) = (found.head, found.messages);
        Ok(SessionHistory::read(&*self.journal, &self.scope, info)?)
    }

    fn told(
        &self,
        info: &SessionInfo,
        branch: &SessionBranch,
        number: usize,
    ) -> Result<BranchInfo, AdminError> {
        let SessionBranch { head, messages, shared } = *branch;
        let current = head == info.head;
        // Of the way on which it stands all is shared: its own beginning tells of it.
        let from = if shared < messages { shared } else { 0 };
        let page = self.journal.history(&self.scope, &info.name, head, from, LOOKED_AT)?;
        let entries = decode(&info.format, &page)?;
        let answer = self.journal.answer_to(&self.scope, &info.name, head)?;
        let said = || page.last().and_then(|said| said.at.clone());
        let last = match current {
            true => Some(info.last.clone()),
            false => answer.and_then(|answer| answer.at).or_else(said),
        };
        let id = head.to_string()[..DIGITS].to_owned();
        let title = title(&entries, &self.profile.redaction).unwrap_or_default();
        Ok(BranchInfo { number, id, messages, shared, last, current, title })
    }
}
