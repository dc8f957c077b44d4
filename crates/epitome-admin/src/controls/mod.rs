//! The levers of a session: what the user and the agent may do to it from outside, while it runs
//! anywhere.
//!
//! Each file is one lever. `augments` loads and unloads texts, `goals` says what the conversation
//! is for, `mark` asks for a compression, `status`, `recall`, `resources` and the rest look into
//! the journal.
//!
//! Invariant: everything goes through the journal. A lever is recorded as an act and looked at with
//! the session's next request, so it does not matter which process pulls it, and nothing that a
//! lever does is lost with a client. What it does to a session is done where that session is kept: in
//! the project, or where it began before there was one. Called by the MCP server, the command and hosts.

mod augments;
mod goals;
mod mark;
mod recall;
mod resources;
mod status;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use epitome_config::profile::Profile;
use epitome_config::scope::ScopeOwner;
use epitome_kernel::{OriginalStore, StoreError, StoredText};
use epitome_store::SessionArchive;
use epitome_types::{
    Actor, Entry, EntryKey, JournalMark, RecordedAction, SessionAction, SessionInfo, Snapshot,
    ToolCall,
};
use epitome_wire::Format;
use epitome_workspace::augments::AugmentFolders;
use serde_json::{Map, Value};

pub use augments::{AugmentChange, AugmentList, KeptAugment, ListedAugment, LoadedAugment};
pub use goals::{GoalView, GoalsView};
pub use mark::CompressionRequest;
pub use recall::{RecallAnswer, RecallHit, RecallRequest};
pub use status::{ContextStatus, WindowUse};

pub use crate::admin::WatermarkStatus;

use crate::admin::{PinList, SessionAdmin, SessionHistory};
use crate::clock::{Clock, system_time};
use crate::error::AdminError;

/// So many sessions are named where one is not there.
const NAMED: usize = 8;
/// So many sessions are searched for a call.
const NEAR: usize = 8;

/// What may be done to the sessions of one scope.
pub struct SessionControls {
    keeper: SessionAdmin,
    /// Where what left prompts is; the journal's own.
    store: Arc<dyn OriginalStore>,
    by: Actor,
    augments: AugmentFolders,
    clock: Clock,
    /// The profiles whose sessions are reached besides the keeper's own.
    profiles: Option<FindProfile>,
    elsewhere: Option<Elsewhere>,
    /// The flags that a command needs to mean the same store.
    store_flag: String,
}

/// Finds a profile by its name.
type FindProfile = Box<dyn Fn(&str) -> Option<Profile> + Send + Sync>;

/// Finds an original by its id where the journal does not know it.
type Elsewhere = Box<dyn Fn(&str) -> Option<StoredText> + Send + Sync>;

impl fmt::Debug for SessionControls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keeper, by, augments, .. } = self;
        f.debug_struct("SessionControls")
            .field("keeper", keeper)
            .field("by", by)
            .field("augments", augments)
            .finish_non_exhaustive()
    }
}

impl SessionControls {
    /// The levers over the sessions that somebody has with a profile, pulled by `by`: a tenant by
    /// its name, or in a project. There are no augments.
    pub fn new(
        journal: Arc<dyn SessionArchive>,
        profile: Profile,
        owner: impl Into<ScopeOwner>,
        by: Actor,
    ) -> Self {
        let keeper = SessionAdmin::of(journal.clone(), profile, owner.into());
        let (augments, clock) = (AugmentFolders::default(), Arc::new(system_time));
        let (profiles, elsewhere, store_flag) = (None, None, String::new());
        Self { keeper, store: journal, by, augments, clock, profiles, elsewhere, store_flag }
    }

    /// The same with the augments of these folders.
    #[must_use]
    pub fn with_augments(self, augments: AugmentFolders) -> Self {
        Self { augments, ..self }
    }

    /// The same over the sessions of every profile that the owner may read, its own first. Each goes
    /// by the profile that recorded it where `find` knows that, else by the one given.
    #[must_use]
    pub fn with_profiles(
        self,
        find: impl Fn(&str) -> Option<Profile> + Send + Sync + 'static,
    ) -> Self {
        Self { profiles: Some(Box::new(find)), ..self }
    }

    /// The same where an id that the journal does not know is looked for elsewhere, too.
    #[must_use]
    pub fn with_elsewhere(
        self,
        find: impl Fn(&str) -> Option<StoredText> + Send + Sync + 'static,
    ) -> Self {
        Self { elsewhere: Some(Box::new(find)), ..self }
    }

    /// The same where commands that people are told of need these flags to mean the same store.
    #[must_use]
    pub fn with_store_flag(self, store_flag: String) -> Self {
        Self { store_flag, ..self }
    }

    /// The flags that a command needs to mean the same store, with a space before each.
    pub fn store_flag(&self) -> &str {
        &self.store_flag
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Looks after the same sessions.
    pub fn keeper(&self) -> &SessionAdmin {
        &self.keeper
    }

    /// The session that is meant: the one of this name, else the one used last.
    ///
    /// # Errors
    ///
    /// Where there is none; the error names those that there are. Or when the journal cannot be
    /// read.
    pub fn session(&self, named: Option<&str>) -> Result<SessionInfo, AdminError> {
        Ok(self.addressed(named)?.info)
    }

    /// The same, with whoever keeps it: everything that a lever does is done there.
    fn addressed(&self, named: Option<&str>) -> Result<Addressed, AdminError> {
        match named {
            None => self.newest(1)?.into_iter().next().ok_or(AdminError::NoSessions),
            Some(name) => self.of_name(name),
        }
    }

    /// The keepers of all sessions that are reached, the nearest first.
    fn keepers(&self) -> Result<Vec<SessionAdmin>, AdminError> {
        let Some(find) = &self.profiles else { return Ok(self.keeper.own()) };
        let readers = self.keeper.readers()?.into_iter();
        Ok(readers.map(|keeper| keeper.as_recorded(find)).collect())
    }

    fn of_name(&self, name: &str) -> Result<Addressed, AdminError> {
        for keeper in self.keepers()? {
            match keeper.session(Some(name)) {
                Ok(info) if !info.trashed => return Ok(Addressed { keeper, info }),
                // What a person threw away is gone for models.
                Ok(_) => {}
                Err(AdminError::Store(StoreError::NoSession { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let known = self.newest(NAMED)?.into_iter().map(|one| one.info.name).collect();
        Err(AdminError::UnknownSession { name: name.to_owned(), known })
    }

    /// So many of the sessions used last, the last one first; of one moment, the project's own.
    fn newest(&self, most: usize) -> Result<Vec<Addressed>, AdminError> {
        let mut all = Vec::new();
        for keeper in self.keepers()? {
            for info in keeper.journal().sessions(keeper.scope(), 0, most, false)? {
                all.push(Addressed { keeper: keeper.clone(), info });
            }
        }
        all.sort_by(|one, other| other.info.last.cmp(&one.info.last));
        all.truncate(most);
        Ok(all)
    }

    /// The session that a call of a lever came from, where its newest answer holds that call and it
    /// is one of those used last: the call of this id, or where its client tells none, the call of
    /// this tool with these arguments. Answers are recorded when they have ended, which may be after
    /// their calls were made.
    ///
    /// # Errors
    ///
    /// [`AdminError::AmbiguousCall`] where several sessions made the same call; or when the journal cannot
    /// be read.
    pub fn session_of_call(&self, call: &LeverCall<'_>) -> Result<Option<String>, AdminError> {
        let mut found = Vec::new();
        for Addressed { keeper, info } in self.newest(NEAR)? {
            let answer = keeper.journal().answer(keeper.scope(), &info.name)?;
            let bytes = answer.and_then(|answer| answer.bytes).unwrap_or_default();
            let Ok(format) = info.format.parse::<Format>() else { continue };
            let Ok(answer) = epitome_wire::message(&bytes, format.nearest()) else { continue };
            if !answer.calls().any(|made| call.is(made)) {
                continue;
            }
            // A nearer session of the same name hides this one: its name would mean that.
            if self.of_name(&info.name)?.keeper.scope() != keeper.scope() {
                found.push(info.name.clone());
            }
            found.push(info.name);
        }
        match &found[..] {
            [_, _, ..] => {
                Err(AdminError::AmbiguousCall { tool: call.tool.to_owned(), sessions: found })
            }
            _ => Ok(found.pop()),
        }
    }

    /// That nobody knows whose call of a lever this is, where its client tells its id and there are
    /// several sessions that it may be of.
    ///
    /// # Errors
    ///
    /// [`AdminError::UnknownCall`]; or when the journal cannot be read.
    pub fn refuse_unknown(&self, call: &LeverCall<'_>) -> Result<(), AdminError> {
        let Some(id) = call.id else { return Ok(()) };
        let known: Vec<_> = self.newest(NAMED)?.into_iter().map(|one| one.info.name).collect();
        match known.len() {
            0 | 1 => Ok(()),
            _ => {
                let (tool, id) = (call.tool.to_owned(), id.to_owned());
                Err(AdminError::UnknownCall { tool, id, known })
            }
        }
    }

    /// Pins entries, or takes pins out.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::pin`].
    pub fn pin(
        &self,
        session: Option<&str>,
        names: &[String],
        pin: bool,
    ) -> Result<PinList, AdminError> {
        let Addressed { keeper, info } = self.addressed(session)?;
        let mark: fn(EntryKey) -> JournalMark =
            if pin { JournalMark::Pin } else { JournalMark::Unpin };
        keeper.pin(Some(&info.name), names, mark, &(self.clock)())
    }

    /// Makes a snapshot of a session as it stands.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::snapshot`].
    pub fn snapshot(
        &self,
        session: Option<&str>,
        name: Option<&str>,
    ) -> Result<Snapshot, AdminError> {
        let Addressed { keeper, info } = self.addressed(session)?;
        keeper.snapshot(Some(&info.name), name, &(self.clock)())
    }

    /// Records what is done now to a session: all of it or nothing.
    fn act(&self, session: &Addressed, acts: Vec<SessionAction>) -> Result<(), AdminError> {
        let at = (self.clock)();
        let acted = |act| RecordedAction { act, by: self.by.clone(), at: at.clone() };
        let acts: Vec<_> = acts.into_iter().map(acted).collect();
        let Addressed { keeper, info } = session;
        Ok(keeper.journal().act(keeper.scope(), &info.name, &acts)?)
    }
}

/// A call of a lever, as an agent's client hands it on.
#[derive(Clone, Copy, Debug)]
pub struct LeverCall<'a> {
    /// Its id in the answer that it stands in, where the client tells that.
    pub id: Option<&'a str>,
    /// The lever. Clients let models call it by a longer name, such as `mcp__epitome__goal`.
    pub tool: &'a str,
    /// What it is called with.
    pub arguments: &'a Map<String, Value>,
}

impl LeverCall<'_> {
    /// Whether a call of an answer is this one.
    fn is(&self, made: &ToolCall) -> bool {
        if let Some(id) = self.id {
            return !id.is_empty() && made.id == id;
        }
        let named = made.tool.strip_suffix(self.tool).map(|before| before.chars().next_back());
        let is_named = named.is_some_and(|last| !last.is_some_and(char::is_alphanumeric));
        let arguments = serde_json::from_str::<Value>(&made.arguments).ok();
        let is_empty = made.arguments.trim().is_empty() && self.arguments.is_empty();
        let as_object = arguments.as_ref().and_then(Value::as_object);
        is_named && (is_empty || as_object == Some(self.arguments))
    }
}

/// A session, and who keeps it.
struct Addressed {
    keeper: SessionAdmin,
    info: SessionInfo,
}

impl Addressed {
    /// What was done to it, as far as it concerns where it stands.
    fn acts(&self) -> Result<Vec<RecordedAction>, AdminError> {
        self.keeper.acts_in_force(&self.info.name)
    }

    /// It with its messages in short.
    fn history(&self) -> Result<SessionHistory, AdminError> {
        self.keeper.history(Some(&self.info.name))
    }

    /// Its messages, with the answer that was not sent back yet; models read them.
    fn entries(&self, history: &SessionHistory) -> Result<Vec<Entry>, AdminError> {
        Ok(self.keeper.for_models(history)?)
    }
}
