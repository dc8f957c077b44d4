//! What a host is told while a conversation goes on (RULES 59).
//!
//! Invariant: an event says what has already been recorded; nothing depends on its being read.

use serde::{Serialize, Serializer};

use crate::drift::{Drift, Stop};
use crate::shape::words;
use crate::{
    Actor, CompactionCause, FactCounts, GoalAction, OpReport, SkipReason, SnapshotPurpose,
};

/// Something that happened to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The session.
    pub session: String,
    /// When, ISO 8601.
    pub at: String,
    /// Tokens of the prompt before and after.
    pub tokens: [u64; 2],
    /// What happened.
    pub what: EventKind,
}

/// The written form of an event. Until 0.2 it has the old names beside the new ones.
#[derive(Serialize)]
struct WrittenEvent<'a> {
    session: &'a str,
    at: &'a str,
    tokens_before: u64,
    tokens_after: u64,
    /// Both sizes, under their old name.
    tokens: [u64; 2],
    #[serde(flatten)]
    what: &'a EventKind,
    /// The old name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<&'static str>,
    /// The id of the compaction, under its old name.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<Option<&'a str>>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { session, at, tokens, what } = self;
        let [tokens_before, tokens_after] = *tokens;
        let (was, epoch) = (what.was(), what.compaction());
        let tokens = *tokens;
        let written =
            WrittenEvent { session, at, tokens_before, tokens_after, tokens, what, was, epoch };
        written.serialize(serializer)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// A compression was applied.
    Compressed {
        /// The compaction's id.
        compaction: String,
        /// Which compression of its history it is.
        number: u32,
        /// Why it was made.
        cause: CompactionCause,
        /// What was done.
        ops: Vec<OpReport>,
        /// How many of the facts that should survive are still in the prompt.
        must_keep: FactCounts,
    },
    /// No compression was applied, though one was considered.
    CompressionSkipped {
        /// Why not.
        reason: SkipReason,
    },
    /// A compression failed; the conversation goes on as it was.
    CompressionError {
        /// Where it failed.
        stage: Stage,
        /// Why.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// A compression came through a stage.
    CheckpointProgress {
        /// The stage that is done.
        stage: Stage,
        /// How much of the compression is done, 0 to 1.
        fraction: f64,
    },
    /// A compression was applied in a window of size class 1.
    #[serde(rename = "tier1-compressed")]
    Tier1Compressed(TierCompression),
    /// A compression was applied in a window of size class 2.
    #[serde(rename = "tier2-compressed")]
    Tier2Compressed(TierCompression),
    /// A compression was applied in a window of size class 3.
    #[serde(rename = "tier3-compressed")]
    Tier3Compressed(TierCompression),
    /// A compression was applied in a window of size class 4.
    #[serde(rename = "tier4-compressed")]
    Tier4Compressed(TierCompression),
    /// A compression was applied in a window of size class 5.
    #[serde(rename = "tier5-compressed")]
    Tier5Compressed(TierCompression),
    /// A compression was applied that nobody asked for by hand.
    AutoSummaryCreated {
        /// The compaction's id.
        compaction: String,
        /// Why it was made.
        cause: CompactionCause,
    },
    /// The conversation started over: one checkpoint stands for all that was said.
    RolloverComplete {
        /// The compaction's id.
        compaction: String,
    },
    /// An answer that is under way exceeds the window together with its prompt. It is kept whole,
    /// and the next prompt is made smaller.
    StreamOverflowEmergency {
        /// Tokens of the answer so far.
        in_flight: u64,
        /// Those of the prompt with it.
        total: u64,
        /// The provider's limit.
        limit: u64,
    },
    /// The conversation can hardly be relied on any longer. Said once, until it can again.
    LowReliability {
        /// How far, 0 to 1.
        score: Option<f64>,
        /// The model.
        model: Option<String>,
        /// What to do.
        advice: Option<String>,
    },
    /// A checkpoint was written anew, smaller.
    CheckpointAged {
        /// Its id.
        checkpoint: String,
        /// Its level before and after.
        levels: [u8; 2],
        /// Tokens saved.
        saved: u64,
    },
    /// A model wrote a summary while the conversation went on. It stands in a prompt from the next
    /// compression on, or where the provider has nothing cached that it would cost.
    SummaryWrittenInBackground {
        /// The id of the checkpoint that it is for.
        checkpoint: String,
        /// The model.
        model: String,
        /// Tokens of the summary, and those of the text that stands there without it.
        size: [u64; 2],
    },
    /// Models wrote no summary in the background, again and again: they are left alone for a while, and what
    /// was written without them stays.
    SummariesPaused {
        /// The models.
        models: String,
        /// How often in a row.
        failures: u32,
        /// So many chances to ask them are let pass.
        passed: u32,
        /// Why the last summary came to nothing.
        cause: String,
    },
    /// Several checkpoints became one.
    CheckpointMerged {
        /// The new one's id.
        checkpoint: String,
        /// The ids of those that it stands for.
        merged: Vec<String>,
        /// Tokens saved.
        saved: u64,
    },
    /// A policy's files changed, and what they say now is in force.
    PolicyReloaded {
        /// The policy.
        policy: String,
        /// The number of the generation, counted from 1.
        generation: u64,
    },
    /// A policy failed and another one answered, or its files changed and cannot be used.
    PolicyError {
        /// What went wrong, where, and what was expected.
        cause: String,
    },
    /// A policy or a plugin asked for more than it may, and got the bound (RULES 17). It is told
    /// once.
    AnswerBounded {
        /// The policy.
        policy: String,
        /// The hook.
        hook: String,
        /// The part of its answer.
        what: String,
        /// What it asked for, in tokens.
        asked: u64,
        /// What it got, in tokens.
        given: u64,
    },
    /// A model that a policy asked did not answer, and the next one was asked.
    ModelFallback {
        /// The policy.
        policy: String,
        /// The hook that asks.
        hook: String,
        /// The name of the question.
        ask: String,
        /// The model.
        model: String,
        /// Why it did not.
        cause: String,
        /// The model that was asked in its place.
        next: String,
    },
    /// A policy has something to say.
    PolicyWarning {
        /// The policy.
        policy: String,
        /// What.
        text: String,
        /// How far it stops the conversation, where the policy says so.
        #[serde(skip_serializing_if = "Option::is_none")]
        level: Option<Stop>,
    },
    /// The agent does something else than it is there for, a policy says (RULES 51).
    DriftDetected {
        /// The policy.
        policy: String,
        /// What shows it.
        #[serde(flatten)]
        drift: Drift,
        /// How far it stops the conversation, where the policy says so.
        #[serde(skip_serializing_if = "Option::is_none")]
        level: Option<Stop>,
    },
    /// What was said before is brought back into the conversation, as a policy asked (RULES 52).
    Recalled {
        /// What was searched for.
        query: String,
        /// What the originals of the excerpts are called.
        sources: Vec<String>,
        /// Tokens of the excerpts.
        tokens: u64,
    },
    /// A fresh session is recommended (RULES 49).
    Handover {
        /// The file in the client's folder that it starts from.
        file: Option<String>,
        /// What it starts from.
        text: String,
    },
    /// A server read but a part of a prompt, and said nothing of it: its context size is too small.
    /// Said once, until it reads a whole one again (RULES 153).
    PromptTruncated {
        /// Tokens of the prompt.
        sent: u64,
        /// Those of them that were read.
        evaluated: u64,
        /// What to do.
        remedy: String,
    },
    /// The newest copies of files left a prompt of a client without tools: what cannot shrink did not
    /// fit with them (RULES 16).
    FilesLeft {
        /// Their paths, as they were written.
        files: Vec<String>,
        /// Tokens of the messages that held them.
        tokens: u64,
        /// What to do.
        remedy: String,
    },
    /// Something was said of a goal, or done to one.
    GoalUpdated {
        /// What.
        #[serde(flatten)]
        act: GoalAction,
        /// By whom.
        by: Actor,
    },
    /// A policy pinned a message.
    Pinned {
        /// The message.
        entry: String,
        /// The policy.
        policy: String,
    },
    /// A snapshot was made by hand.
    SnapshotCreated {
        /// Its id.
        id: String,
        /// What it is for.
        purpose: SnapshotPurpose,
    },
    /// A snapshot was made before a compression.
    AutoSnapshotCreated {
        /// Its id.
        id: String,
        /// What it is for.
        purpose: SnapshotPurpose,
    },
    /// A session went back to a snapshot.
    SnapshotRestored {
        /// Its id.
        id: String,
        /// What it is for.
        purpose: SnapshotPurpose,
    },
    /// A snapshot could not be made.
    SnapshotError {
        /// Why.
        cause: String,
    },
    /// The prompt is filling up.
    ContextWarning {
        /// The share of the limit in use, in percent.
        percent: u64,
    },
    /// A tool result was put into the store before it was first sent.
    ToolResultOffloaded {
        /// The entry.
        entry: String,
        /// The tool.
        tool: String,
        /// Tokens saved.
        saved: u64,
    },
    /// A tool result was digested before it was first sent.
    ToolResultDigested {
        /// The entry.
        entry: String,
        /// The tool.
        tool: String,
        /// Tokens saved.
        saved: u64,
    },
    /// The arguments of a call were truncated: what they write is on disk as written.
    ToolInputTruncated {
        /// The entry.
        entry: String,
        /// The tool.
        tool: String,
        /// Tokens saved.
        saved: u64,
    },
    /// The watermark moved: tool calls and results before it are no longer sent (RULES 35 to 41).
    WatermarkMoved {
        /// The message that holds it.
        entry: String,
        /// The tool that was called there.
        tool: String,
        /// Calls and results that left.
        blocks: u32,
        /// Tokens saved.
        saved: u64,
    },
    /// A plugin failed, and whoever is asked next answered.
    PluginError {
        /// The plugin.
        plugin: String,
        /// What went wrong: in which call, and what was expected.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// A file could not be written in the client's folder; what left is named in another way.
    WorkspaceError {
        /// Which, and why.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// The store cannot be written, or read: conversations are compressed from memory meanwhile, and
    /// nothing of that is kept over a restart. Told once for each outage.
    StoreLost {
        /// Which store, and why.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// The store can be written again: conversations that begin are recorded.
    StoreBack,
    /// The client edited, rewound or compacted its history.
    Branched {
        /// The first entry that differs.
        at: String,
    },
    /// Another process undid a compaction or put another one in force.
    CompactionChanged {
        /// The compaction now in force.
        compaction: Option<String>,
    },
}

/// A compression, by the size class of its window (RULES 25).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierCompression {
    /// The compaction's id.
    pub compaction: String,
    /// What the class is called, where a policy says so.
    pub strategy: Option<String>,
}

impl EventKind {
    /// Returns the name that the event had before 0.2, if it was renamed.
    pub fn was(&self) -> Option<&'static str> {
        match self {
            Self::CompactionChanged { .. } => Some("epoch-changed"),
            Self::PromptTruncated { .. } => Some("prompt-cut"),
            Self::ModelFallback { .. } => Some("model-passed-over"),
            _ => None,
        }
    }

    /// Returns the id of the compaction that the event names; the inner `None` says that none is in
    /// force.
    fn compaction(&self) -> Option<Option<&str>> {
        match self {
            Self::Compressed { compaction, .. }
            | Self::AutoSummaryCreated { compaction, .. }
            | Self::RolloverComplete { compaction }
            | Self::Tier1Compressed(TierCompression { compaction, .. })
            | Self::Tier2Compressed(TierCompression { compaction, .. })
            | Self::Tier3Compressed(TierCompression { compaction, .. })
            | Self::Tier4Compressed(TierCompression { compaction, .. })
            | Self::Tier5Compressed(TierCompression { compaction, .. }) => {
                Some(Some(compaction.as_str()))
            }
            Self::CompactionChanged { compaction } => Some(compaction.as_deref()),
            _ => None,
        }
    }

    /// The compression of a class; `None` for a class that there is not.
    pub fn for_tier(class: u32, compression: TierCompression) -> Option<Self> {
        Some(match class {
            1 => Self::Tier1Compressed(compression),
            2 => Self::Tier2Compressed(compression),
            3 => Self::Tier3Compressed(compression),
            4 => Self::Tier4Compressed(compression),
            5 => Self::Tier5Compressed(compression),
            _ => return None,
        })
    }
}

words! {
    /// A stage of a compression (RULES 26).
    pub enum Stage {
        /// What is to leave is found.
        Identification = "identification",
        /// What that needs is made ready.
        Preparation = "preparation",
        /// What leaves is summed up.
        Summarisation = "summarisation",
        /// What stands for it is made and checked.
        CheckpointCreation = "checkpoint_creation",
        /// The records say what is sent from now on.
        ContextUpdate = "context_update",
        /// The prompt is made of them and checked.
        Validation = "validation",
    }
}

impl Stage {
    /// How much of a compression is done with it, 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self as u8 + 1) / f64::from(Self::Validation as u8 + 1)
    }
}
