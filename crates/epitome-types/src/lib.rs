//! The nouns of Epitome: what a conversation, a plan and a report are made of.
//!
//! Invariant: no logic beyond constructors, accessors, what an output says of itself and what the name
//! of a tool says, no I/O, nothing that depends on a provider. Every other crate speaks in these types.

mod act;
mod acts_in_force;
mod budget;
mod calls;
mod checkpoint;
mod drift;
mod entry;
mod event;
mod failure;
mod fault;
mod found;
mod goal;
pub mod hook;
mod id;
mod journal;
mod key;
mod meter;
mod overflow;
mod plan;
mod report;
mod sentence_end;
mod session;
mod shape;
mod skip_reason;
mod summary;
mod tool_name;
mod usage;

pub use act::{Actor, GoalAction, GoalChange, HeldMessages, RecordedAction, SessionAction};
pub use acts_in_force::acts_in_force;
pub use budget::{Budget, BudgetUnit};
pub use calls::{CallFailure, OpenCalls, answers, failed_calls};
pub use checkpoint::{Checkpoint, CheckpointLevel, CheckpointPlacement};
pub use entry::{
    Entry, FileCopy, ImagePart, OpaqueBlock, Part, PartBody, Role, Speaker, StateNote, Stays,
    TOMBSTONE, ToolCall, ToolResult,
};
pub use event::{Event, EventKind, Stage, TierCompression};
pub use failure::failing_lines;
pub use fault::PolicyFault;
pub use found::{
    Excerpt, MissedWord, RankedPassage, SearchAnswer, SearchRange, SessionOf, WordMentions,
};
pub use goal::{
    Artifact, ArtifactChange, ArtifactKind, Decision, DecisionKind, Goal, GoalStatus, Goals,
    Milestone, MilestoneState, Priority, Revision,
};
pub use id::{ContentId, EntryId, PartId};
pub use journal::{
    ArrivalRewrite, Compaction, CompactionCause, CompactionId, CompactionOutcome, CompactionRange,
    HookAuthor, JournalMark, PlacedMark, RecordedCompaction,
};
pub use key::{EntryKey, HistoryHash};
pub use meter::{Account, MeterReading};
pub use overflow::ContextOverflow;
pub use plan::{BoundReply, Edit, Op, Plan, ReplaceMethod};
pub use report::{
    CheckpointReport, CompressionReport, FactCounts, FactReport, LostFact, OffloadReport, OpReport,
    PromptSize, SCHEMA, TokenBreakdown,
};
pub use sentence_end::{sentence_ends, time_stamp};
pub use session::{
    SessionBranch, SessionFigures, SessionInfo, Snapshot, SnapshotPurpose, SnapshotSize,
};
pub use skip_reason::SkipReason;
pub use summary::{Passage, Summary, SummaryKind, SummaryStyle, SummaryTurn};
pub use tool_name::ToolName;
pub use usage::TokenUsage;
