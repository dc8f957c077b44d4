//! Where a conversation is recorded.
//!
//! Invariant: the name is drawn or found once; from then on all that is recorded of the
//! conversation stands under it, in one scope. Read by every step of a turn.

use std::sync::Arc;

use epitome_admin::admin::SessionAdmin;
use epitome_config::profile::Profile;
use epitome_store::SessionArchive;
use epitome_types::SessionInfo;

use super::UNNAMED;
use crate::error::Error;

/// The place of a conversation in a journal.
pub(super) struct SessionRecord {
    pub(super) journal: Arc<dyn SessionArchive>,
    pub(super) scope: String,
    /// The name of its session; where the host did not give it, it is found with each request.
    pub(super) name: Option<String>,
    /// Whether the host gave the name.
    pub(super) named: bool,
    /// The scope in which it may have begun, until its first request says.
    pub(super) before: Option<String>,
    /// Whether what is recorded of it is there for other processes; in memory it is not.
    pub(super) lasting: bool,
    /// The mode that it was set to, as its acts said with the last request.
    pub(super) mode: Option<String>,
    /// How often it was compressed where it came from.
    pub(super) imported: u32,
}

impl SessionRecord {
    pub(super) fn new(journal: Arc<dyn SessionArchive>, scope: String, name: Option<&str>) -> Self {
        let (name, named) = (name.map(str::to_owned), name.is_some());
        Self { journal, scope, name, named, before: None, lasting: true, mode: None, imported: 0 }
    }

    /// What the journal knows of it.
    pub(super) fn info(&self) -> Result<SessionInfo, Error> {
        Ok(self.journal.session(&self.scope, self.name.as_deref().unwrap_or(UNNAMED))?)
    }

    /// Whether a session is elsewhere than it was when its request was read.
    pub(super) fn has_moved(&self, name: &str) -> bool {
        self.journal.lasts(&self.scope, name) != self.lasting
    }

    /// What is done to the sessions of its scope by name.
    pub(super) fn keeper(&self, profile: &Profile) -> SessionAdmin {
        SessionAdmin::of_scope(self.journal.clone(), profile.clone(), &self.scope)
    }
}
