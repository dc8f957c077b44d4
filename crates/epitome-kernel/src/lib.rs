//! The pure core: plan, check, apply, view, their invariants, and the ports.
//!
//! Invariant: no I/O, no clock, no randomness; the kernel knows no format and no adapter. Read
//! from [`Thread`] (the conversation) over [`apply`](fn@apply) (a checked plan) to [`View`] (what is sent).

mod apply;
mod check;
mod compacted;
mod failure;
mod file_state;
mod files;
mod gate;
pub mod goals;
mod hook;
mod journal;
mod links;
mod live;
mod nearest;
mod notes;
mod old_names;
mod policy;
mod port;
mod read_copy;
mod round;
mod shown;
mod size;
mod strip;
mod thread;
mod utf8_bytes;
mod view;
mod workspace;

pub use apply::{apply, identity};
pub use check::{PlanError, PlanFault, check};
pub use compacted::is_compacted;
pub use epitome_types as types;
pub use epitome_types::{Excerpt, MissedWord, RankedPassage, SearchAnswer, SearchRange, SessionOf};
pub use gate::kept_most;
pub use hook::{
    Answer, Bounded, HOOKS, HookInterrupt, HookJob, HookResult, HookShape, Job, LiveRequest,
    ModelQuestion, PolicyError,
};
pub use journal::{
    AnswerClue, AppendBatch, Beginning, Clue, CommitOutcome, CompactionChanges, CompactionSet,
    HistoryLookup, HistoryQuery, Holder, Journal, MessageRecord, RequestRecord, ResponseRecord,
};
pub use links::Exchange;
pub use live::{
    ActiveCompaction, Claim, CompactionLineage, EpochGround, Evidence, HistoryMatch, Identity,
    epoch_of, identify, is_drawn, reconcile, touched,
};
pub use nearest::{nearest, nearest_words};
pub use notes::{Before, SystemBlock};
pub use old_names::{ApiNames, new_name, renamed_key};
pub use policy::{HookReply, NextPolicies, Policy, PolicyChain, PolicyTracer};
pub use port::{
    DigestJob, Eviction, LanguageModel, ModelError, ModelLimitHit, OriginalStore, SizeGauge,
    StoreError, StoredText, Summarizer, SummaryError, SummaryJob, TextMeasure, TokenCounter,
    ToolDigest, ToolDigester,
};
pub use round::{ChainRound, HookNotes, WantedFile};
pub use size::ThreadSizes;
pub use strip::{ShortenedText, StrippedExchange};
pub use thread::{FreezeReason, PinReason, Thread};
pub use view::{InsertedKind, InsertedMessage, View, ViewItem, rewrite, strip};
pub use workspace::{Workspace, WorkspaceError};
