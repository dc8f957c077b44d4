//! The port behind every live conversation: an append-only journal of what was said and done.
//!
//! Invariant: the histories of a session form a tree. A message is addressed by its session and the
//! chain of all messages up to it, so a rewind and an edited history are branches by construction.
//! Sessions share nothing: what one does is visible in no other (RULES 13). Scope comes first
//! everywhere; nothing crosses it (RULES 66).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use epitome_types::{
    ArrivalRewrite, Compaction, ContentId, EntryKey, HistoryHash, JournalMark, MeterReading,
    RecordedAction, RecordedCompaction, Role, TokenUsage, acts_in_force,
};

use crate::port::{Eviction, StoreError};

/// A message, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The history that ends with it: its address.
    pub chain: HistoryHash,
    /// What it says.
    pub key: EntryKey,
    /// Its place in that history, counted from 0.
    pub place: u32,
    /// Its role.
    pub role: Role,
    /// The encoded message, byte for byte; nothing after it was erased, and no byte where what is kept
    /// is damaged: of a history the rest is read.
    #[serde(with = "crate::utf8_bytes")]
    pub bytes: Option<Vec<u8>>,
    /// The address of its readable text.
    pub text: ContentId,
    /// Its size in tokens, as it came.
    pub tokens: u64,
    /// When it was said, ISO 8601.
    pub at: Option<String>,
}

/// What a request, or a message by itself, adds to a session. It is recorded whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AppendBatch {
    /// The history that the messages follow.
    pub after: HistoryHash,
    /// The messages, oldest first.
    pub said: Vec<MessageRecord>,
    /// What was made smaller before it is first sent.
    pub rewrites: Vec<ArrivalRewrite>,
    /// The originals of that.
    pub departure: Eviction,
    /// What the messages decide. Whoever knows them hears it no more, so it is recorded with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<RecordedAction>,
    /// The format of its messages.
    pub format: String,
    /// The model that the conversation is with, where that is known.
    pub model: Option<String>,
    /// The beginning of the first text that a person typed.
    pub title: String,
    /// The request itself; none where a message is recorded before anybody asks for a reply.
    pub turn: Option<RequestRecord>,
    /// The id that its client gives the session, where this begins one.
    pub label: Option<String>,
    /// When it was made, ISO 8601.
    pub at: String,
}

/// What is known of a session as it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Beginning {
    /// The id that its client gives it; not a name, since a client may have several conversations.
    pub label: Option<String>,
    /// How many of its first messages came without a record of who said them.
    pub opened: u32,
    /// The session that it leaves, and the history up to that place: it has what was decided there
    /// up to it.
    pub from: Option<(String, HistoryHash)>,
}

/// What to look for to find the conversation of a request.
#[derive(Clone, Copy)]
pub struct Clue<'a> {
    /// The histories that the request holds, shortest first.
    pub chains: &'a [HistoryHash],
    /// The API that it is for.
    pub format: &'a str,
    /// The id that its client gives the conversation.
    pub label: Option<&'a str>,
    /// How many messages a session of another client must have in common with it.
    pub least: usize,
    /// What the message in a place may be known by, where it is an answer. Few are asked for.
    pub answers: &'a (dyn Fn(usize) -> Option<AnswerClue> + Sync),
}

impl fmt::Debug for Clue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chains, format, label, least, .. } = self;
        let mut clue = f.debug_struct("Clue");
        clue.field("chains", chains).field("format", format).field("label", label);
        clue.field("least", least).finish_non_exhaustive()
    }
}

/// What a recorded answer may be known by when a client sends it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerClue {
    /// How many messages of the request it takes: some APIs have one for each call.
    pub length: usize,
    /// The address of the readable text of the last one.
    pub text: ContentId,
    /// An id in that one that a provider drew.
    pub drawn: Option<String>,
}

/// A session that holds the first messages of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its name.
    pub session: String,
    /// The id that its client gave it.
    pub label: Option<String>,
    /// How many messages of the request it holds.
    pub shared: usize,
    /// Whether these are all that it came to.
    pub ends: bool,
    /// Whether they lead to a way that was left for the one on which it goes on now.
    #[serde(default)]
    pub left: bool,
    /// How many messages of the request behind these are an answer that was recorded there.
    pub answered: usize,
    /// Whether that record holds the id that a provider drew; an answer may say the same with another.
    pub has_drawn: bool,
    /// How many of its first messages came without a record of who said them.
    pub opened: usize,
}

/// What is known of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RequestRecord {
    /// Tokens of the prompt: as it came, and as it is sent.
    pub tokens: [u64; 2],
    /// The limit it is held to, in tokens.
    pub limit: u64,
    /// What the session's trigger goes by from here on.
    pub meter: MeterReading,
}

/// What came back for a request. It is no message of the history yet: it becomes one when the
/// client sends it back, in the words that the client uses for it then.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResponseRecord {
    /// The history that was asked with.
    pub after: HistoryHash,
    /// How many messages of the answer stand before the one that is recorded, its last one.
    pub ahead: u32,
    /// What that one says; none where the answer broke off before it said anything.
    pub key: Option<EntryKey>,
    /// The history that ends with it; [`Self::after`] where it says nothing.
    pub chain: HistoryHash,
    /// The answer as a message of the session's format, byte for byte; nothing after it was erased.
    #[serde(with = "crate::utf8_bytes")]
    pub bytes: Option<Vec<u8>>,
    /// The address of its readable text.
    pub text: ContentId,
    /// What the provider counted.
    pub usage: TokenUsage,
    /// Why it ended, in the provider's word; none where it broke off.
    pub stop: Option<String>,
    /// When it ended, ISO 8601.
    pub at: String,
    /// Whether the request went out as it came: its provider had refused the prompt that was made of it.
    pub is_whole: bool,
}

/// The epochs that may apply to a history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactionSet {
    /// Those whose run begins with one of its entries, oldest first, those taken back included.
    pub recorded: Vec<RecordedCompaction>,
    /// Entries of the session that are pinned by hand.
    pub pins: Vec<EntryKey>,
    /// What [`revision`] said when they were read.
    pub seen: u64,
}

/// A history that somebody goes on with, who has asked about the beginning of it before.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HistoryQuery<'a> {
    /// The session that it is of.
    pub session: &'a str,
    /// Its entries.
    pub keys: &'a [EntryKey],
    /// The history up to each of them.
    pub chains: &'a [HistoryHash],
    /// How many of them were asked about before.
    pub before: usize,
    /// What [`revision`] said then; none where epochs are to be read anew in any case.
    pub seen: Option<u64>,
    /// Whether what is new is recorded behind it: what a store remembers will do then, and where others
    /// went on meanwhile that is refused as [`StoreError::Overtaken`].
    pub is_recorded: bool,
}

/// What a journal says of a history that somebody goes on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryLookup {
    /// The deepest history that is recorded of those that end with a new entry, as
    /// [`find_deepest`] says it.
    pub known: Option<usize>,
    /// The rewrites of the new entries.
    pub rewrites: Vec<ArrivalRewrite>,
    /// The epochs.
    pub epochs: CompactionChanges,
}

/// What a journal says of epochs to somebody who knows some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionChanges {
    /// [`revision`] says what it did, and nobody else went on: these begin with a new entry.
    Quiet(Vec<RecordedCompaction>),
    /// All that concerns the history.
    Anew(CompactionSet),
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitOutcome {
    /// The epoch is recorded; [`revision`] says this from now on.
    Done(u64),
    /// Somebody else recorded an epoch or a mark meanwhile. Nothing was recorded.
    Behind,
}

/// Records live conversations. A store of a host's own fills a smaller port, of which this is made.
pub trait Journal: Send + Sync {
    /// The index of the deepest of these histories that a session recorded. `chains` are the
    /// prefixes of one history, shortest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn find_deepest(
        &self,
        scope: &str,
        session: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError>;

    /// The sessions that may be the one that a request goes on from, in the order in which they
    /// began: all of its label, and of the others of its API the ones that hold most of it, and those
    /// that hold a few messages less.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn holders(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError>;

    /// Begins a session that holds no message yet. One that leaves another has its rewrites up to that
    /// place, and of its acts, epochs, pins and marks those that were recorded there or before.
    ///
    /// # Errors
    ///
    /// [`StoreError::Taken`] where there is one by this name; [`StoreError::NoSession`] for one that it
    /// cannot leave; or when the store cannot be written.
    fn begin(
        &self,
        scope: &str,
        session: &str,
        beginning: &Beginning,
        at: &str,
    ) -> Result<(), StoreError>;

    /// Records a request, or messages without one: on return they survive a crash of the process.
    /// Messages that are known are passed over, and the session's newest message becomes the last one
    /// of the batch, or `after` where it brings none. The session is created if there is none. What
    /// says the same as an erased message is recorded without its content.
    ///
    /// # Errors
    ///
    /// When it could not be recorded; then nothing of it was. [`StoreError::Overtaken`];
    /// [`StoreError::Damaged`] where `after` is neither empty nor recorded, or a message does not follow the one before it.
    fn append(&self, scope: &str, session: &str, batch: &AppendBatch) -> Result<(), StoreError>;

    /// Records what came back for a request, beside the history that was asked with. It leaves
    /// [`revision`] as it is: an answer changes no prompt. What says the same as an erased
    /// message is recorded without its content.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] for a session that recorded no message; [`StoreError::Damaged`]
    /// where the history is not recorded; or when the store cannot be written.
    fn record_response(
        &self,
        scope: &str,
        session: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError>;

    /// The rewrites of these entries in a session.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError>;

    /// The epochs of a session whose run begins with one of these entries, and its pins.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn compactions(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError>;

    /// What a request needs to know of its history, all at once: [`find_deepest`] and
    /// [`Journal::rewrites`] of what is new, and [`compactions`] as far as they may differ from
    /// what is known of them.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn lookup(&self, scope: &str, history: &HistoryQuery<'_>) -> Result<HistoryLookup, StoreError> {
        let HistoryQuery { session, keys, chains, before, seen, .. } = *history;
        let known = self.find_deepest(scope, session, &chains[before..])?;
        let rewrites = self.rewrites(scope, session, &keys[before..])?;
        let epochs = match seen {
            Some(seen) if self.revision(scope, session)? == seen => CompactionChanges::Quiet(
                self.compactions(scope, session, &keys[before..])?.recorded,
            ),
            _ => CompactionChanges::Anew(self.compactions(scope, session, keys)?),
        };
        Ok(HistoryLookup { known, rewrites, epochs })
    }

    /// A number that grows with every epoch, mark, act and erasure that changes a session, whoever
    /// made it. It may grow with what other sessions do, too.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn revision(&self, scope: &str, session: &str) -> Result<u64, StoreError>;

    /// Records an epoch with what leaves the prompt, unless [`revision`] has moved on from
    /// `seen` (compare and swap).
    ///
    /// # Errors
    ///
    /// When it could not be recorded; then nothing of it was. [`StoreError::NoSession`] for a
    /// session that recorded no message; [`StoreError::Damaged`] for an epoch whose id is not its
    /// hash.
    fn commit(
        &self,
        scope: &str,
        session: &str,
        epoch: &Compaction,
        departure: &Eviction,
        seen: u64,
    ) -> Result<CommitOutcome, StoreError>;

    /// Records a mark of a session.
    ///
    /// # Errors
    ///
    /// [`StoreError::NothingToMark`] for an epoch that is unknown, or already as the mark wants
    /// it, and for taking out a pin that is not there; [`StoreError::NoSession`]; or when the store
    /// cannot be written.
    fn record_mark(
        &self,
        scope: &str,
        session: &str,
        mark: &JournalMark,
        at: &str,
    ) -> Result<(), StoreError>;

    /// What a session's trigger goes by, as its newest request said; a new meter's reading where
    /// nothing is recorded.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn meter(&self, scope: &str, session: &str) -> Result<MeterReading, StoreError>;

    /// What policies noted of a session, as JSON by the policy's name; empty where nothing was.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn memos(&self, scope: &str, session: &str) -> Result<BTreeMap<String, String>, StoreError>;

    /// Records what policies noted of a session, in the place of all that they noted before. It
    /// leaves [`revision`] as it is: a note changes no prompt.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] for a session that recorded no message, or when the store cannot
    /// be written.
    fn note(
        &self,
        scope: &str,
        session: &str,
        memos: &BTreeMap<String, String>,
    ) -> Result<(), StoreError>;

    /// What was learned in a scope of models and their providers, as JSON by what it is about.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn lessons(&self, scope: &str) -> Result<BTreeMap<String, String>, StoreError>;

    /// Records what was learned about something, in the place of what was learned of it before. No
    /// session is needed, and none takes it along when it goes. It leaves [`revision`] as it
    /// is: a lesson changes what prompts are held to, and none that was made.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn learn(&self, scope: &str, about: &str, lesson: &str) -> Result<(), StoreError>;

    /// Records acts of a session behind those that it has: all of them or none.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] for a session that recorded no message, or when the store cannot
    /// be written.
    fn act(&self, scope: &str, session: &str, acts: &[RecordedAction]) -> Result<(), StoreError>;

    /// The acts of a session, oldest first; none of one that is not there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn acts(&self, scope: &str, session: &str) -> Result<Vec<RecordedAction>, StoreError>;

    /// Those of them that hold: a snapshot that was gone back to leaves behind what was done since
    /// it was made.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn acts_in_force(&self, scope: &str, session: &str) -> Result<Vec<RecordedAction>, StoreError> {
        Ok(acts_in_force(self.acts(scope, session)?))
    }
}
