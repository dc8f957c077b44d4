//! The levers of a session: what the user and the agent may do to it from outside, while it runs
//! anywhere.
//!
//! Each file is one lever. `augments` loads and unloads texts, `goals` says what the conversation
//! is for, `mark` asks for a compression, `status`, `recall`, `resources` and the rest look into
//! the journal.
//!
//! Invariant: everything goes through the journal. A lever is recorded as an act and looked at with
//! the session's next request, so it does not matter which process pulls it, and nothing that a
//! lever does is lost with a client. Called by the MCP server, the command and hosts.

mod augments;
mod goals;
mod mark;
mod recall;
mod resources;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use epitome_kernel::{Store, StoreError};
use epitome_store::Archive;
use epitome_types::{Act, Acted, By, EntryKey, Mark, SessionInfo, Snapshot};
use epitome_workspace::augments::Folders;

pub use augments::{Kept, Listed, Loaded, Shelf, Switched, chosen};
pub use goals::{GoalView, GoalsView};
pub use mark::Asked;
pub use recall::{Excerpts, Found, Wanted};
pub use status::Standing;

pub use crate::journal::Watermark;

use crate::journal::{Keeper, Pinned};
use crate::session::{Clock, system_time};
use crate::{Error, Profile, ScopeOwner};

/// So many sessions are named where one is not there.
const NAMED: usize = 8;
/// So many sessions are searched for a call.
const NEAR: usize = 8;

/// What may be done to the sessions of one scope.
pub struct Levers {
    keeper: Keeper,
    /// Where what left prompts is; the journal's own.
    store: Arc<dyn Store>,
    by: By,
    augments: Folders,
    clock: Clock,
}

impl Levers {
    /// The levers over the sessions that somebody has with a profile, pulled by `by`: a tenant by
    /// its name, or in a project. There are no augments.
    pub fn new<J>(journal: Arc<J>, profile: Profile, owner: impl Into<ScopeOwner>, by: By) -> Self
    where
        J: Archive + Store + 'static,
    {
        let keeper = Keeper::of(journal.clone(), profile, owner.into());
        let (augments, clock) = (Folders::default(), Arc::new(system_time));
        Self { keeper, store: journal, by, augments, clock }
    }

    /// The same with the augments of these folders.
    #[must_use]
    pub fn with_augments(self, augments: Folders) -> Self {
        Self { augments, ..self }
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Looks after the same sessions.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// The session that is meant: the one of this name, else the one used last.
    ///
    /// # Errors
    ///
    /// Where there is none; the error names those that there are. Or when the journal cannot be
    /// read.
    pub fn session(&self, named: Option<&str>) -> Result<SessionInfo, Error> {
        let Some(name) = named else { return self.keeper.session(None) };
        match self.keeper.session(Some(name)) {
            Err(Error::Store(StoreError::NoSession { .. })) => {
                let all = self.keeper.journal().sessions(self.keeper.scope(), 0, NAMED, false)?;
                let known = all.into_iter().map(|info| info.name).collect();
                Err(Error::UnknownSession { name: name.to_owned(), known })
            }
            found => found,
        }
    }

    /// The session whose newest answer holds a call with this id, where it is one of those used
    /// last. Answers are recorded when they have ended, which may be after their calls were made.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn session_of_call(&self, id: &str) -> Result<Option<String>, Error> {
        let (journal, scope) = (self.keeper.journal(), self.keeper.scope());
        let holds =
            |bytes: &[u8]| !id.is_empty() && memchr::memmem::find(bytes, id.as_bytes()).is_some();
        for info in journal.sessions(scope, 0, NEAR, false)? {
            let answer = journal.answer(scope, &info.name)?.and_then(|answer| answer.bytes);
            if answer.is_some_and(|bytes| holds(&bytes)) {
                return Ok(Some(info.name));
            }
        }
        Ok(None)
    }

    /// Pins entries, or takes pins out.
    ///
    /// # Errors
    ///
    /// As [`Keeper::pin`].
    pub fn pin(&self, session: Option<&str>, names: &[String], pin: bool) -> Result<Pinned, Error> {
        let session = self.session(session)?.name;
        let mark: fn(EntryKey) -> Mark = if pin { Mark::Pin } else { Mark::Unpin };
        self.keeper.pin(Some(&session), names, mark, &(self.clock)())
    }

    /// Makes a snapshot of a session as it stands.
    ///
    /// # Errors
    ///
    /// As [`Keeper::snapshot`].
    pub fn snapshot(&self, session: Option<&str>, name: Option<&str>) -> Result<Snapshot, Error> {
        let session = self.session(session)?.name;
        self.keeper.snapshot(Some(&session), name, &(self.clock)())
    }

    fn acts(&self, session: &str) -> Result<Vec<Acted>, Error> {
        Ok(self.keeper.journal().acts(self.keeper.scope(), session)?)
    }

    /// Records what is done now: all of it or nothing.
    fn act(&self, session: &str, acts: Vec<Act>) -> Result<(), Error> {
        let at = (self.clock)();
        let acted = |act| Acted { act, by: self.by.clone(), at: at.clone() };
        let acts: Vec<_> = acts.into_iter().map(acted).collect();
        Ok(self.keeper.journal().act(self.keeper.scope(), session, &acts)?)
    }
}
