//! Looking after what was recorded: what hosts and the command do for people, never on the way of a
//! request.
//!
//! Invariant: nothing here changes what was said, but for [`SessionArchive::erase`] and
//! [`SessionArchive::delete`], which the user asks for. Each file is one errand of the [`SessionAdmin`].

mod alike;
mod branches;
mod checkpoint_items;
mod checkpoints;
mod compaction_detail;
mod diff;
mod export;
mod goals;
mod history;
mod holding;
mod hop;
mod import;
mod index;
mod lines;
mod listed;
mod listing;
mod marks;
mod masked;
mod mode;
mod notes;
mod origin;
mod overview;
mod pins;
mod policy_faults;
mod ranking;
mod reached;
mod recall;
mod recall_order;
pub(crate) mod regret;
mod report;
pub(crate) mod request;
mod restore;
mod several;
mod snapshot_diff;
mod snapshots;
mod status;
mod switch;
pub(crate) mod timeline;

use std::fmt;
use std::sync::Arc;

use epitome_config::profile::Profile;
use epitome_config::scope::{LOCAL, ScopeOwner};
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::SessionInfo;

pub use branches::BranchInfo;
pub use checkpoint_items::{CheckpointField, CheckpointItem, ItemOrigin};
pub use checkpoints::{CheckpointInfo, CheckpointStep, CheckpointTokens, CoveredEntries};
pub use compaction_detail::{CompactionDetail, CompactionEdit, EditSource};
pub use diff::{DiffEdit, DiffEntry, SessionDiff};
pub use export::ExportFormat;
pub use goals::SessionGoals;
pub use history::{MessageInfo, SessionHistory, pages};
pub use import::ImportReport;
pub use lines::LineRange;
pub use listing::ListedEntry;
pub use marks::{ToolMarks, UnmetWish, WatermarkStatus, pending};
pub use masked::mask_results;
pub use mode::SessionMode;
pub use notes::{QueryNote, search_note};
pub use origin::PassageOrigin;
pub use overview::{OverviewFilter, OverviewPage, OverviewRow, project_of};
pub use pins::PinList;
pub use policy_faults::SeenFault;
pub use ranking::{RankedSearch, parted};
pub use recall::{RecallResult, RecalledAnswer, RecalledPassage};
pub use restore::RestoreReport;
pub use snapshot_diff::{ListDiff, MessageDiff, SnapshotDiff};
pub use status::{
    ArrivalSavings, PastCompression, SessionStatus, StatusFigures, StatusSavings, StatusWishes,
    WindowLevel, WindowStatus,
};
pub use switch::SwitchReport;
pub use timeline::{EntryState, SessionTimeline, TimelineCompaction, TimelineTurn, TokenBands};

pub use crate::decode::{TOMBSTONE, decode, wire_bytes};
use crate::error::AdminError;
use crate::learned::{self, ModelKnowledge};
use crate::undo::CompactionUndo;

/// Looks after the sessions that one profile recorded in a journal.
#[derive(Clone)]
pub struct SessionAdmin {
    journal: Arc<dyn SessionArchive>,
    profile: Profile,
    /// Whose sessions it may read.
    owner: ScopeOwner,
    /// Where those are that it is about.
    scope: String,
}

impl fmt::Debug for SessionAdmin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, owner, scope, .. } = self;
        f.debug_struct("SessionAdmin")
            .field("profile", &profile.name())
            .field("owner", owner)
            .field("scope", scope)
            .finish_non_exhaustive()
    }
}

impl SessionAdmin {
    /// The keeper of a profile's sessions that belong to no project.
    pub fn new(journal: Arc<dyn SessionArchive>, profile: Profile) -> Self {
        Self::of(journal, profile, ScopeOwner::from(LOCAL))
    }

    /// The keeper of the sessions that somebody has with a profile.
    pub fn of(journal: Arc<dyn SessionArchive>, profile: Profile, owner: ScopeOwner) -> Self {
        let scope = owner.scope(profile.name());
        Self { journal, profile, owner, scope }
    }

    /// The keeper of the sessions in a scope.
    pub fn of_scope(journal: Arc<dyn SessionArchive>, profile: Profile, scope: &str) -> Self {
        let owner = ScopeOwner::from(LOCAL);
        Self { journal, profile, owner, scope: scope.to_owned() }
    }

    /// The same for the sessions in another scope.
    fn at(&self, scope: String) -> Self {
        let (journal, profile) = (self.journal.clone(), self.profile.clone());
        Self { journal, profile, owner: self.owner.clone(), scope }
    }

    /// Whose sessions it keeps.
    pub fn tenant(&self) -> &str {
        self.owner.tenant()
    }

    /// The keepers of what its profile records for its owner: in the project, then what was recorded
    /// for no project and goes on there.
    pub(crate) fn own(&self) -> Vec<Self> {
        let mut scopes = vec![self.scope.clone(), self.owner.without_project(self.profile.name())];
        scopes.dedup();
        scopes.into_iter().map(|scope| self.at(scope)).collect()
    }

    /// Those who keep what it may read, itself first; see [`ScopeOwner::reads`].
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn readers(&self) -> Result<Vec<Self>, StoreError> {
        let mut scopes = self.owner.reads(&*self.journal, self.profile.name())?;
        scopes.retain(|scope| *scope != self.scope);
        scopes.insert(0, self.scope.clone());
        Ok(scopes.into_iter().map(|scope| self.at(scope)).collect())
    }

    /// The keeper of the scope that the session of this name is in, the nearest one where there are
    /// several; without a name, of the session that was used last. Itself where there is none.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn of_session(self, name: Option<&str>) -> Result<Self, StoreError> {
        let mut last: Option<(String, Self)> = None;
        for reader in self.readers()? {
            match name {
                Some(name) => match reader.journal.session(&reader.scope, name) {
                    Ok(_) => return Ok(reader),
                    Err(StoreError::NoSession { .. }) => {}
                    Err(error) => return Err(error),
                },
                None => {
                    let newest = reader.journal.sessions(&reader.scope, 0, 1, false)?;
                    let Some(newest) = newest.into_iter().next() else { continue };
                    // Of one moment the nearest.
                    if last.as_ref().is_none_or(|(at, _)| *at < newest.last) {
                        last = Some((newest.last, reader));
                    }
                }
            }
        }
        Ok(last.map_or(self, |(_, reader)| reader))
    }

    /// The journal.
    pub fn journal(&self) -> &dyn SessionArchive {
        &*self.journal
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The scope in the journal.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// What answers and refusals taught of the models that its sessions speak to.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn learned_limits(&self) -> Result<Vec<ModelKnowledge>, StoreError> {
        learned::taught(&*self.journal, &self.scope)
    }

    /// The session of this name; without one, the session that was used last.
    ///
    /// # Errors
    ///
    /// [`AdminError::NoSessions`] where there is none at all, [`StoreError::NoSession`] where there is
    /// none of this name, or when the journal cannot be read.
    pub fn session(&self, name: Option<&str>) -> Result<SessionInfo, AdminError> {
        match name {
            Some(name) => Ok(self.journal.session(&self.scope, name)?),
            None => {
                let newest = self.journal.sessions(&self.scope, 0, 1, false)?;
                newest.into_iter().next().ok_or(AdminError::NoSessions)
            }
        }
    }

    /// A session with its messages in short.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn history(&self, name: Option<&str>) -> Result<SessionHistory, AdminError> {
        let info = self.session(name)?;
        Ok(SessionHistory::read(&*self.journal, &self.scope, info)?)
    }

    /// The compressions of a session, to take back and to do again.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn compressions(&self, name: &str) -> Result<CompactionUndo, AdminError> {
        CompactionUndo::of(self.journal.clone(), &self.scope, name)
    }

    /// Deletes every session in the trash for good; gives how many sessions and messages went.
    ///
    /// # Errors
    ///
    /// When the journal cannot be written.
    pub fn empty_trash(&self) -> Result<(u32, u32), StoreError> {
        let (mut sessions, mut messages) = (0, 0);
        let mut skip = 0;
        loop {
            let page = self.journal.sessions(&self.scope, skip, PAGE, true)?;
            let full = page.len() == PAGE;
            for session in page {
                if session.trashed {
                    messages += self.journal.delete(&self.scope, &session.name)?;
                    sessions += 1;
                } else {
                    skip += 1;
                }
            }
            if !full {
                return Ok((sessions, messages));
            }
        }
    }
}

/// So many sessions or messages are read at a time.
const PAGE: usize = 1024;
