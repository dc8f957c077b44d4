//! A live conversation: the whole history goes in with every request, or one message after the
//! other, and the prompt to send comes out.
//!
//! Invariant: what was said is in the journal before anything made of it is handed out, and a
//! request that fails leaves the session as it was. The bytes of a prompt depend on the history
//! and the journal alone, so a restart goes on with the same prefix.

mod action_state;
mod actions;
mod arrival;
mod assembled;
mod batch;
mod belonging;
mod bring_back;
mod client_summary;
mod commands;
mod compress;
mod erased;
mod events;
mod export;
mod history_stats;
mod history_tail;
mod identity;
mod inputs;
pub(crate) mod known_history;
mod notes;
mod observe;
mod offload;
mod outage;
mod overruled;
mod parameters;
mod pause;
mod phases;
mod pinning;
mod policies;
mod prefix_cache;
mod prepared;
mod preview;
mod problems;
mod proposal;
mod proposing;
mod push;
mod pushed_history;
mod reading;
mod reasoning;
mod recall;
mod record;
#[cfg(feature = "lua")]
mod reload;
#[cfg(not(feature = "lua"))]
#[path = "no_reload.rs"]
mod reload;
mod response;
mod shared;
mod side_effect;
mod snapshot;
mod state;
mod system;
#[cfg(test)]
mod tests;
mod trigger;
mod turn;
mod turn_context;
mod watermark;
mod window_limit;
mod work_state;
mod written_prompt;

use std::sync::Arc;

use epitome_config::RedactionPatterns;
use epitome_store::SessionArchive;
use epitome_types::{EventKind, GoalAction, SessionInfo};

#[cfg(feature = "workspace")]
pub use offload::remove_offloaded;

use crate::background::BackgroundWorker;
use crate::builder::CompressorBuilder;
use crate::limits::PromptLimit;
pub(crate) use client_summary::{asks_for_summary, goes_on_from_summary};
use history_tail::RecordedHistory;
use notes::HostNotes;
use offload::Offload;
use problems::ToldProblems;
use pushed_history::Pushed;
use record::SessionRecord;
use reload::Reloads;
pub(crate) use shared::SharedSessions;
use state::ConversationState;

/// The session of a conversation that named none and is not known from before.
const UNNAMED: &str = "session";

/// One conversation and its journal.
pub struct Session {
    settings: CompressorBuilder,
    record: SessionRecord,
    shared: Arc<SharedSessions>,
    /// What the hub that it belongs to knows beside what the user said.
    pub(crate) told: RouterHints,
    next: NextPrompt,
    problems: ToldProblems,
    /// The watch over its policies, and how many of their changes it was told of.
    reloads: Option<(usize, Arc<Reloads>)>,
    /// Where what left is written as files.
    offload: Option<Offload>,
    /// In a box, since each turn takes it along.
    state: Box<ConversationState>,
    given: HistorySource,
    /// What a conversation that is pushed was told of its state.
    notes: HostNotes,
    /// What models write meanwhile, where they write in the background.
    background: Option<BackgroundWorker>,
}

/// What came up since the last prompt, for the next one.
#[derive(Default)]
pub(super) struct NextPrompt {
    /// Whether the user asked for a compression.
    asked: bool,
    /// The compressions that were taken back, as it is told of them.
    taken_back: Vec<EventKind>,
    /// What goals become with the first message.
    goals: Vec<GoalAction>,
    /// The mode that it is set to.
    mode: Option<String>,
    /// Whether a compression that was due in the pause waits for what models write.
    waits: bool,
    /// Whether one was made in the pause, so that no prompt was sent with it yet.
    unsent: bool,
    /// How often it was made anew since others acted meanwhile.
    remade: u32,
}

/// What a hub knows of a conversation beside what the user said.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouterHints {
    /// Whether it is a hub's: then no prompt is refused for its size (RULES 6).
    pub(crate) hub: bool,
    /// The program that sends the conversation.
    pub(crate) client: Option<String>,
    /// The label that a new conversation is named by.
    pub(crate) label: Option<String>,
    /// The limit that the request states, or the server told, where the user states none.
    pub(crate) window: Option<PromptLimit>,
    /// What the next prompt is held to, in tokens, since its provider refused the last one.
    pub(crate) refused: Option<u64>,
    /// The session of the same request, where it was made before.
    pub(crate) again: Option<String>,
    /// Whether its session was gone on with elsewhere since.
    pub(crate) strayed: bool,
    /// Whether all of it is sent as it came, so that it measures what others save.
    pub(crate) held_out: bool,
}

/// How a session is given its history.
#[derive(Debug, Default)]
enum HistorySource {
    /// Nobody has said yet.
    #[default]
    Nothing,
    /// Whole, with every request.
    Whole,
    /// Message by message.
    Pushed(Box<Pushed>),
}

impl CompressorBuilder {
    /// A live conversation over a journal; without a name it is known by what it says.
    pub fn session(self, journal: Arc<dyn SessionArchive>, name: Option<&str>) -> Session {
        Session::new(self.settled(), journal, name)
    }
}

impl Session {
    pub(crate) fn new(
        settings: CompressorBuilder,
        journal: Arc<dyn SessionArchive>,
        name: Option<&str>,
    ) -> Self {
        let scope = settings.owner.scope(settings.profile.name());
        let offload = settings.departures.workspace.clone().map(Offload::new);
        let background = settings.in_background().map(BackgroundWorker::new);
        Self {
            settings,
            record: SessionRecord::new(journal, scope, name),
            shared: Arc::default(),
            told: RouterHints::default(),
            next: NextPrompt::default(),
            problems: ToldProblems::default(),
            reloads: None,
            offload,
            state: Box::default(),
            given: HistorySource::default(),
            notes: HostNotes::default(),
            background,
        }
    }

    /// The same conversation in another scope, with what the sessions there share.
    pub(crate) fn within(mut self, scope: String, shared: Arc<SharedSessions>) -> Self {
        self.record.scope = scope;
        self.shared = shared;
        self.told = RouterHints { hub: true, ..RouterHints::default() };
        self
    }

    /// The same conversation, recorded in another scope.
    pub(crate) fn recorded_in(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.record.scope);
        self
    }

    /// The same, where its conversation may have begun before there were projects, in this scope.
    pub(crate) fn going_on(mut self, before: Option<String>) -> Self {
        self.record.before = before;
        self
    }

    /// The scope that it is recorded in.
    pub(crate) fn scope(&self) -> &str {
        &self.record.scope
    }

    /// Its name, once it has one.
    pub fn name(&self) -> Option<&str> {
        self.record.name.as_deref()
    }

    /// What must not be recorded as it was said.
    fn recorded<'a>(&'a self, state: &'a ConversationState) -> RecordedHistory<'a> {
        let rules = &self.settings.profile.rules;
        RecordedHistory { known: &state.history, redaction: self.redaction(), rules }
    }

    fn redaction(&self) -> &RedactionPatterns {
        &self.settings.profile.redaction
    }

    /// What time it is, ISO 8601.
    fn now(&self) -> String {
        (self.settings.clock)()
    }

    /// Compresses with the next request, whatever the trigger says.
    pub fn request_compression(&mut self) {
        self.next.asked = true;
    }

    /// What the journal knows of it.
    ///
    /// # Errors
    ///
    /// When nothing was sent yet, or the journal cannot be read.
    pub fn info(&self) -> Result<SessionInfo, crate::error::Error> {
        self.record.info()
    }
}
