//! A live conversation: the whole history goes in with every request, or one message after the
//! other, and the prompt to send comes out.
//!
//! Invariant: what was said is in the journal before anything made of it is handed out, and a
//! request that fails leaves the session as it was. The bytes of a prompt depend on the history
//! and the journal alone, so a restart goes on with the same prefix.

mod acts;
mod ahead;
mod answered;
mod arrival;
mod batch;
mod clock;
mod compress;
mod doors;
mod due;
mod erased;
mod events;
mod export;
mod ground;
mod identity;
mod inputs;
mod known;
mod look;
mod mark;
mod memory;
mod notes;
mod observed;
mod offload;
mod outage;
mod parameters;
mod phases;
mod policies;
mod prompt;
mod proposing;
mod push;
mod pushed;
mod reading;
mod recalled;
mod redact;
#[cfg(feature = "lua")]
mod reload;
#[cfg(not(feature = "lua"))]
#[path = "no_reload.rs"]
mod reload;
mod shared;
mod snapshot;
mod source;
mod state;
mod system;
mod tail;
mod tally;
#[cfg(test)]
mod tests;
mod turn;
mod undo;
mod work;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;

use epitome_store::Archive;
use epitome_types::{Happened, SessionInfo};

pub use clock::{Clock, calendar_time, system_time};
pub(crate) use events::Listener;
pub(crate) use identity::{answer, evidence};
#[cfg(test)]
pub(crate) use offload::OFFLOADED;
#[cfg(feature = "workspace")]
pub use offload::remove_offloaded;
pub use prompt::Prompt;
pub use redact::{PatternError, Redaction};
pub use undo::Compressions;

use crate::background::Background;
use crate::builder::Builder;
use crate::target::KnownLimit;
use notes::Notes;
use offload::Offload;
use pushed::Pushed;
use reload::Reloads;
pub(crate) use shared::Shared;
pub(crate) use source::Source;
pub use source::keeps_an_hour;
use state::State;

/// The session of a conversation that named none and is not known from before.
const UNNAMED: &str = "session";

/// One conversation and its journal.
pub struct Session {
    settings: Builder,
    journal: Arc<dyn Archive>,
    scope: String,
    /// Its name, and whether the host gave it; otherwise it is found with each request.
    name: Option<String>,
    named: bool,
    /// Where it may have begun, until its first request says.
    before: Option<String>,
    clock: Clock,
    redaction: Redaction,
    shared: Arc<Shared>,
    /// What the hub that it belongs to knows beside what the user said.
    pub(crate) told: Told,
    /// Whether what is recorded of it is there for other processes; in memory it is not.
    lasting: bool,
    /// Whether the user asked for a compression.
    asked: bool,
    /// The errors of policies that were told already.
    said: BTreeSet<String>,
    /// The compressions that were taken back, as the next prompt is told of them.
    taken_back: Vec<Happened>,
    /// Whether it was told that the conversation can hardly be relied on.
    low: bool,
    /// The watch over its policies, and how many of their changes it was told of.
    reloads: Option<(usize, Arc<Reloads>)>,
    /// Where what left is written as files.
    offload: Option<Offload>,
    /// Why other files could not be written, as it was told.
    unwritten: BTreeSet<String>,
    state: State,
    given: Given,
    /// What a conversation that is pushed was told of its state.
    notes: Notes,
    /// What models write meanwhile, where they write in the background.
    background: Option<Background>,
}

/// What a hub knows of a conversation beside what the user said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Whether it is a hub's: then no prompt is refused for its size (RULES 6).
    pub(crate) hub: bool,
    /// The label that a new conversation is named by.
    pub(crate) label: Option<String>,
    /// The name of the session that the conversation goes on with, where nothing in the journal
    /// leads there.
    pub(crate) adopts: Option<String>,
    /// The limit that the request states, or the server told, where the user states none.
    pub(crate) window: Option<KnownLimit>,
    /// What the next prompt is held to, in tokens, since its provider refused the last one.
    pub(crate) refused: Option<u64>,
    /// The session of the same request, where it was made before.
    pub(crate) again: Option<String>,
}

/// How a session is given its history.
#[derive(Debug, Default)]
enum Given {
    /// Nobody has said yet.
    #[default]
    Nothing,
    /// Whole, with every request.
    Whole,
    /// Message by message.
    Pushed(Box<Pushed>),
}

impl Session {
    pub(crate) fn new(settings: Builder, journal: Arc<dyn Archive>, name: Option<&str>) -> Self {
        let scope = settings.owner.scope(settings.profile.name());
        let redaction = settings.profile.redaction.clone();
        let clock = settings.clock.clone();
        let offload = settings.workspace.clone().map(Offload::new);
        let background = settings.in_background().map(Background::new);
        let (name, named) = (name.map(str::to_owned), name.is_some());
        Self {
            settings,
            journal,
            scope,
            name,
            named,
            before: None,
            clock,
            redaction,
            shared: Arc::default(),
            told: Told::default(),
            lasting: true,
            asked: false,
            said: BTreeSet::new(),
            taken_back: Vec::new(),
            low: false,
            reloads: None,
            offload,
            unwritten: BTreeSet::new(),
            state: State::default(),
            given: Given::default(),
            notes: Notes::default(),
            background,
        }
    }

    /// The same conversation in another scope, with what the sessions there share.
    pub(crate) fn within(self, scope: String, shared: Arc<Shared>) -> Self {
        let told = Told { hub: true, ..Told::default() };
        Self { scope, shared, told, ..self }
    }

    /// The same, where its conversation may have begun before there were projects, in this scope.
    pub(crate) fn going_on(self, before: Option<String>) -> Self {
        Self { before, ..self }
    }

    /// The scope that it is recorded in.
    pub(crate) fn scope(&self) -> &str {
        &self.scope
    }

    /// Its name, once it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Compresses with the next request, whatever the trigger says.
    pub fn ask_to_compress(&mut self) {
        self.asked = true;
    }

    /// What the journal knows of it.
    ///
    /// # Errors
    ///
    /// When nothing was sent yet, or the journal cannot be read.
    pub fn info(&self) -> Result<SessionInfo, crate::Error> {
        Ok(self.journal.session(&self.scope, self.name.as_deref().unwrap_or(UNNAMED))?)
    }
}
