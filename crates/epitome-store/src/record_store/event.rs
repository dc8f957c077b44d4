//! What the records of a session say.
//!
//! Invariant: an event is written once and read back as it was; numbers of kinds never change. A
//! place is told only where it is not the one that the session has come to. Made by the drafts of
//! this folder, read by [`super::fold`].

use std::collections::BTreeMap;

use epitome_kernel::types::{
    ArrivalRewrite, Compaction, CompactionCause, CompactionId, CompactionOutcome, CompactionRange,
    ContentId, EntryKey, FactCounts, HistoryHash, HookAuthor, JournalMark, MeterReading, Plan,
    RecordedAction, RecordedCompaction, Role, Snapshot, SnapshotPurpose, SnapshotSize, TokenUsage,
};
use epitome_kernel::{MessageRecord, RequestRecord, StoreError};
use serde::{Deserialize, Serialize};

use super::spell::JsonObject;

/// Bytes that the body of most records fits.
const BODY: usize = 512;

/// One thing that happened to a session, or in its scope.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionEvent {
    /// It began.
    Begun(BegunBody),
    /// A message.
    Said(SaidBody),
    /// A tool result was made smaller before it was first sent.
    Rewritten(ArrivalRewrite),
    /// What the session is called, in the words of its first message.
    Titled(String),
    /// Messages were brought, maybe by a request.
    Brought(BroughtBody),
    /// What came back for a request.
    Answered(AnsweredBody),
    /// A compression.
    Compacted(Box<CompactedBody>),
    /// Something that was done by hand.
    Marked(MarkedBody),
    /// An act.
    Acted(ActedBody),
    /// What policies noted, in the place of all that they noted before.
    Noted(BTreeMap<String, String>),
    /// What its trigger goes by.
    Measured(MeterReading),
    /// Another message is its newest one.
    Moved(HistoryHash),
    /// It is in the trash, or out of it.
    Trashed(bool),
    /// A snapshot.
    Snapped(Box<SnappedBody>),
    /// Snapshots that are dropped, by their ids.
    Unsnapped(Vec<String>),
    /// Epochs that no snapshot names any longer.
    Unnamed(Vec<CompactionId>),
    /// Originals that it keeps from now on.
    Kept(Vec<KeptBody>),
    /// Messages and answers that the search knows.
    Indexed(Vec<HistoryHash>),
    /// The content of a message is gone, with what quoted it.
    Erased(ErasedBody),
    /// It was taken over from another store, where it had come so far.
    Taken(Box<TakenBody>),
    /// Of a scope: what was learned about something.
    Learned { about: String, lesson: String },
    /// Of a scope: no message that says this is kept again.
    Banned(EntryKey),
}

impl SessionEvent {
    /// The kind of the record that says which message is the newest.
    pub(super) const BROUGHT: u16 = 5;

    /// The number of its kind.
    pub(super) fn kind(&self) -> u16 {
        match self {
            Self::Begun(_) => 1,
            Self::Said(_) => 2,
            Self::Rewritten(_) => 3,
            Self::Titled(_) => 4,
            Self::Brought(_) => Self::BROUGHT,
            Self::Answered(_) => 6,
            Self::Compacted(_) => 7,
            Self::Marked(_) => 8,
            Self::Acted(_) => 9,
            Self::Noted(_) => 10,
            Self::Measured(_) => 11,
            Self::Moved(_) => 12,
            Self::Trashed(_) => 13,
            Self::Snapped(_) => 14,
            Self::Unsnapped(_) => 15,
            Self::Unnamed(_) => 16,
            Self::Kept(_) => 17,
            Self::Indexed(_) => 18,
            Self::Erased(_) => 19,
            Self::Taken(_) => 20,
            Self::Learned { .. } => 21,
            Self::Banned(_) => 22,
        }
    }

    /// What a record of a kind holds, for people.
    pub(super) fn kind_name(kind: u16) -> Option<&'static str> {
        Some(match kind {
            1 => "how the session began",
            2 => "a message",
            3 => "what a result was sent as",
            4 => "a title",
            5 | 11 | 12 | 20 => "where it had come to",
            6 => "an answer",
            7 => "a compression",
            8 => "a pin, or an undo",
            9 => "something that was done or decided",
            10 => "what policies noted",
            13 => "whether it is in the trash",
            14..=16 => "a snapshot",
            17 => "which originals it keeps",
            18 => "what the search knows",
            19 | 22 => "an erasure",
            21 => "something that was learned",
            _ => return None,
        })
    }

    /// Whether records of a kind change what prompts are made of, so that
    /// [`epitome_kernel::Journal::revision`] grows.
    pub(super) fn decides(kind: u16) -> bool {
        matches!(kind, 7 | 8 | 9 | 19 | 20)
    }

    /// The event as the body of a record.
    pub(super) fn written(&self) -> Result<Vec<u8>, StoreError> {
        let mut body = Vec::with_capacity(BODY);
        let written = match self {
            // Each turn records some of these.
            Self::Said(said) => said.spell(&mut body),
            other => serde_json::to_writer(&mut body, other),
        };
        written.map_err(|error| StoreError::Damaged { what: error.to_string() })?;
        Ok(body)
    }

    /// The event that a body holds.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }
}

/// How a session began.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BegunBody {
    pub(super) at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    pub(super) opened: u32,
}

/// A message, without its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SaidBody {
    /// The history that it follows.
    pub(super) after: HistoryHash,
    pub(super) chain: HistoryHash,
    pub(super) key: EntryKey,
    pub(super) place: u32,
    pub(super) role: Role,
    /// The address of its bytes; none where they were erased before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<ContentId>,
    pub(super) text: ContentId,
    pub(super) tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<String>,
    /// Whether another store's search knows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) indexed: bool,
}

impl SaidBody {
    /// A message behind a history, with the address of its bytes.
    pub(super) fn of(said: &MessageRecord, after: HistoryHash, bytes: Option<ContentId>) -> Self {
        let MessageRecord { chain, key, place, role, text, tokens, .. } = *said;
        let at = said.at.clone();
        Self { after, chain, key, place, role, bytes, text, tokens, at, indexed: false }
    }

    /// Writes it as the event of a message.
    fn spell(&self, body: &mut Vec<u8>) -> serde_json::Result<()> {
        let Self { after, chain, key, place, role, bytes, text, tokens, at, indexed } = self;
        let mut event = JsonObject::new(body);
        let mut said = JsonObject::new(event.named("said"));
        said.field("after", after)?;
        said.field("chain", chain)?;
        said.field("key", key)?;
        said.field("place", place)?;
        said.field("role", role)?;
        said.some("bytes", bytes.as_ref())?;
        said.field("text", text)?;
        said.field("tokens", tokens)?;
        said.some("at", at.as_ref())?;
        said.some("indexed", indexed.then_some(indexed))?;
        said.end();
        event.end();
        Ok(())
    }

    /// The message, with its bytes.
    pub(super) fn with_bytes(&self, bytes: Option<Vec<u8>>) -> MessageRecord {
        let Self { chain, key, place, role, text, tokens, .. } = *self;
        MessageRecord { chain, key, place, role, bytes, text, tokens, at: self.at.clone() }
    }
}

/// What a batch of messages says of its session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BroughtBody {
    /// Its newest message from now on.
    pub(super) head: HistoryHash,
    pub(super) messages: u32,
    pub(super) format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    pub(super) at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<TurnBody>,
}

/// A request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TurnBody {
    pub(super) tokens: [u64; 2],
    pub(super) limit: u64,
    pub(super) meter: MeterReading,
}

impl From<RequestRecord> for TurnBody {
    fn from(RequestRecord { tokens, limit, meter }: RequestRecord) -> Self {
        Self { tokens, limit, meter }
    }
}

/// An answer, without its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AnsweredBody {
    pub(super) after: HistoryHash,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) ahead: u32,
    /// The history that ends with it, where more than one message is behind `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) chain: Option<HistoryHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<EntryKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<ContentId>,
    pub(super) text: ContentId,
    pub(super) usage: TokenUsage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<String>,
    pub(super) at: String,
    /// Whether the request went out as it came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_whole: bool,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// An epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CompactedBody {
    id: CompactionId,
    parent: Option<CompactionId>,
    covered: CompactionRange,
    plan: Plan,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    credits: Vec<HookAuthor>,
    facts: CompactedFacts,
    /// Where it was recorded, if not at the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<HistoryHash>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undone_at: Option<HistoryHash>,
}

/// What is known of an epoch beside what it does.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CompactedFacts {
    cause: CompactionCause,
    number: u32,
    tokens: [u64; 2],
    /// By its bits: it may be no number, and the id of the epoch is a hash over them.
    confidence: u64,
    must_keep: FactCounts,
    profile: String,
    config: String,
    at: String,
}

impl CompactedBody {
    /// An epoch that was recorded at a place, or at the head.
    pub(super) fn of(recorded: &RecordedCompaction, place: Option<HistoryHash>) -> Self {
        let RecordedCompaction { epoch, undone, undone_at } = recorded;
        let Compaction { id, parent, covered, cause, number, outcome, .. } = *epoch;
        let CompactionOutcome { tokens, confidence, must_keep } = outcome;
        let confidence = confidence.to_bits();
        let (profile, config) = (epoch.profile.clone(), epoch.config.clone());
        let at = epoch.at.clone();
        let facts =
            CompactedFacts { cause, number, tokens, confidence, must_keep, profile, config, at };
        let (plan, credits) = (epoch.plan.clone(), epoch.credits.clone());
        let (undone, undone_at) = (*undone, *undone_at);
        Self { id, parent, covered, plan, credits, facts, place, undone, undone_at }
    }

    /// The epoch.
    pub(super) fn recorded(self) -> RecordedCompaction {
        let Self { id, parent, covered, plan, credits, facts, place: _, undone, undone_at } = self;
        let CompactedFacts { cause, number, tokens, confidence, must_keep, .. } = facts;
        let CompactedFacts { profile, config, at, .. } = facts;
        let epoch = Compaction {
            id,
            parent,
            covered,
            plan,
            credits,
            cause,
            number,
            outcome: CompactionOutcome {
                tokens,
                confidence: f64::from_bits(confidence),
                must_keep,
            },
            profile,
            config,
            at,
        };
        RecordedCompaction { epoch, undone, undone_at }
    }
}

/// A mark.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct MarkedBody {
    pub(super) mark: JournalMark,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<HistoryHash>,
}

/// An act.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ActedBody {
    pub(super) act: RecordedAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<HistoryHash>,
}

/// A snapshot of the session that it stands in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SnappedBody {
    pub(super) id: String,
    name: Option<String>,
    pub(super) purpose: SnapshotPurpose,
    at: String,
    messages: u32,
    checkpoints: u32,
    tokens: [u64; 2],
    limit: u64,
    model: Option<String>,
    profile: String,
    head: HistoryHash,
    epoch: Option<CompactionId>,
}

impl SnappedBody {
    /// What a snapshot says beside its session.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let Snapshot { purpose, size, head, epoch, .. } = *snapshot;
        let SnapshotSize { messages, checkpoints, tokens, limit } = size;
        let Snapshot { id, session: _, name, at, model, profile, .. } = snapshot.clone();
        Self {
            id,
            name,
            purpose,
            at,
            messages,
            checkpoints,
            tokens,
            limit,
            model,
            profile,
            head,
            epoch,
        }
    }

    /// The snapshot of a session.
    pub(super) fn snapshot(self, session: &str) -> Snapshot {
        let Self { id, name, purpose, at, messages, checkpoints, tokens, limit, .. } = self;
        let Self { model, profile, head, epoch, .. } = self;
        let session = session.to_owned();
        let size = SnapshotSize { messages, checkpoints, tokens, limit };
        Snapshot { id, session, name, purpose, at, size, model, profile, head, epoch }
    }
}

/// An original that a session keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptBody {
    pub(super) id: ContentId,
    pub(super) source: String,
}

/// What went with the content of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ErasedBody {
    /// What the message said.
    pub(super) key: EntryKey,
    /// The records that quoted it, by their numbers: their bodies are gone.
    pub(super) records: Vec<u64>,
    /// The answers that it may have been, by their numbers: their bytes are gone.
    pub(super) answers: Vec<u64>,
    /// The originals that are gone.
    pub(super) originals: Vec<ContentId>,
    /// The epochs that no snapshot names any longer.
    pub(super) epochs: Vec<CompactionId>,
}

/// What another store knew of a session beside its records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TakenBody {
    pub(super) last: String,
    pub(super) turns: u64,
    pub(super) answers: u64,
    pub(super) tokens: [u64; 2],
    pub(super) total: [u64; 2],
    pub(super) limit: u64,
    pub(super) usage: TokenUsage,
    pub(super) trashed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_as_a_serializer_writes_it() {
        let id = ContentId::for_text;
        let all = [None, Some(id("bytes"))].into_iter().flat_map(|bytes| {
            let at = [None, Some("2026-01-01T00:00:00Z"), Some("\"a\u{1}\\ é")];
            at.into_iter().flat_map(move |at| [(bytes, at, false), (bytes, at, true)])
        });
        for (bytes, at, indexed) in all {
            let said = SaidBody {
                after: HistoryHash(id("after").0),
                chain: HistoryHash(id("chain").0),
                key: EntryKey(id("key").0),
                place: 7,
                role: Role::Assistant,
                bytes,
                text: id("text"),
                tokens: u64::MAX,
                at: at.map(str::to_owned),
                indexed,
            };
            let event = SessionEvent::Said(said);
            let written = String::from_utf8(event.written().unwrap()).unwrap();
            assert_eq!(written, serde_json::to_string(&event).unwrap());
        }
    }
}
