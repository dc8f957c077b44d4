//! What a Rust program depends on: a conversation in, a smaller valid one out.
//!
//! A [`Compressor`] reads a conversation in any format it knows, compresses it to a
//! [`CompressionTarget`], and gives back the bytes to send with a report of what was done. Every port can be the host's own: the counter, the summarisers, the store.
//!
//! ```
//! use epitome::{Compressor, CompressionTarget};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut messages = vec![r#"{"role":"user","content":"Never push to main."}"#.to_owned()];
//! for number in 0..40 {
//!     messages.push(format!(r#"{{"role":"assistant","content":"Step {number} is done."}}"#));
//! }
//! messages.push(r#"{"role":"user","content":"Go on."}"#.to_owned());
//! let request = format!("[{}]", messages.join(","));
//!
//! let compressor = Compressor::builder().target(CompressionTarget::Ratio(4.0)).build();
//! let compressed = compressor.compress(request.as_bytes()).await?;
//! assert!(compressed.bytes.len() < request.len() / 2);
//! assert!(compressed.report.fits);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! All of them but `check` and `postgres` are on by default. A host that needs less says `default-features = false` and names what
//! it needs; with none of them no C is compiled, and about 55 packages are. `examples/embed-minimal` is
//! such a host.
//!
//! | feature | what it brings | without it |
//! | --- | --- | --- |
//! | `check` | `lua::examine`: what is wrong with a policy in Lua by its text alone | what loading one finds |
//! | `cl100k` | the vocabulary `cl100k_base` | models with it are estimated |
//! | `config` | `Config`: `epitome.toml`, variables, profiles by name | `Profile::default` and what the builder takes |
//! | `lua` | policies in Lua, compiled from C++ | policies in Rust; one in Lua that is named is refused |
//! | `models` | `model::Http`, the network for model clients | a [`LanguageModel`] or a [`model::Transport`] of the host's own |
//! | `o200k` | the vocabulary `o200k_base` | models are estimated by what is there: `cl100k_base`, or bytes |
//! | `plugins` | the shipped digests by shape, plugins that are programs | the digest of plain text, plugins in Rust |
//! | `postgres` | `PostgresStore`, for any number of processes and machines | stores of one machine |
//! | `redact` | patterns of what is never recorded | a profile that states some is refused |
//! | `seal` | `StoreKey`: a store on disk that is encrypted | files that their user alone may read |
//! | `sqlite` | `SqliteStore`, compiled from C | [`MemoryStore`], or a [`RecordStore`] over a log of the host's own ([`port`]) |
//! | `workspace` | `WorkspaceFolder`: what left as files for the client's own tools | a [`Workspace`] of the host's own |
//!
//! Invariant: nothing is printed, no file is opened but those of a configuration that the host asks
//! for, and no state is shared between compressors; what compression made of a request passed its
//! provider's rules, and what left the prompt was kept before.

pub mod conformance;
pub mod port;

pub use epitome_admin::admin::{
    ArrivalSavings, BranchInfo, CheckpointField, CheckpointInfo, CheckpointItem, CheckpointStep,
    CheckpointTokens, CompactionDetail, CompactionEdit, CoveredEntries, DiffEdit, DiffEntry,
    EditSource, EntryState, ExportFormat, ImportReport, LineRange, ListDiff, ListedEntry,
    MessageDiff, MessageInfo, OverviewFilter, OverviewPage, OverviewRow, PassageOrigin,
    PastCompression, PinList, QueryNote, RankedSearch, RecallResult, RecalledAnswer,
    RecalledPassage, RestoreReport, SeenFault, SessionAdmin, SessionDiff, SessionGoals,
    SessionHistory, SessionMode, SessionStatus, SessionTimeline, SnapshotDiff, StatusWishes,
    SwitchReport, TimelineCompaction, TimelineTurn, TokenBands, ToolMarks, UnmetWish,
    WatermarkStatus, WindowLevel, mask_results, parted, project_of, search_note,
};
pub use epitome_admin::clock::{Clock, calendar_time, system_time};
pub use epitome_admin::controls::{self, LeverCall, SessionControls};
#[cfg(feature = "config")]
pub use epitome_admin::experiments::{
    ArmFigures, ArmMetric, ArmReport, ExperimentBook, ExperimentReport, ExperimentVerdict,
    HeldOutSession, MetricEffect, MetricUnit, ShadowReplay, ShadowSession, SplitCheck, StopRecord,
    TableOrigin, TrippedGuardrail, UnitFigures, UnitRecord, collect_histories, collect_units,
    experiment_unit, shadow_profile, tripped_guardrails,
};
pub use epitome_admin::learned::{CountCalibration, ModelKnowledge, SilentTruncation};
pub use epitome_admin::regret::{CompactionRegret, FetchedText, REGRET_TURNS, RegretCounts};
pub use epitome_admin::savings::{
    PaidArm, PaidCost, PaidKey, PaidPurpose, PaidRecord, PaidRow, PaidService, PaidSums,
    SavedRange, SavingsGroup, SavingsGroups, SavingsLedger, SavingsPeriod, SavingsReport,
    SavingsSums, SummaryCost, UnpricedModel, record_paid, session_hash,
};
pub use epitome_admin::{AdminError, CompactionUndo};
pub use epitome_config::limits::{CompressionTarget, LimitSource, PromptLimit, WindowSetting};
pub use epitome_config::models::{
    ModelTable, ModelTableError, Price, PriceError, Prices, Quote, SummarizerSpec, UnknownModel,
};
pub use epitome_config::profile::Profile;
pub use epitome_config::scope::{LOCAL, ScopeOwner, scope, scope_of, tenant_of};
#[cfg(feature = "config")]
pub use epitome_config::{
    Config, ConfigSources, EffectiveValue, ExperimentConfig, ExperimentUnit, FlagSetting,
    GuardrailMargins, MetricName, ProxyConfig, known_store,
};
pub use epitome_config::{PatternError, RedactionPatterns, tool_format};
#[cfg(any(feature = "cl100k", feature = "o200k"))]
pub use epitome_count::VocabularyCounter;
pub use epitome_count::{CachedCounter, ModelCounter, ToolFormat, for_model, tools};
#[cfg(feature = "workspace")]
pub use epitome_engine::remove_offloaded;
pub use epitome_engine::{
    ChatError, ChatReply, ChatSession, ChatUpdate, CompressedPrompt, Compressor, CompressorBuilder,
    ConversationOpening, EffectAnswer, Error, HookDecision, ModelResponse, NO_MODEL, OwnCompaction,
    Prompt, RecordedStep, RoutedPrompt, RoutedRequest, Session, SessionRouter, SteppedTurn,
    TapeFault, TurnEffect, TurnError, TurnRecord, TurnStep, UnaidedClient, UnaidedPrompt,
    keeps_an_hour,
};
pub use epitome_extensions::ExtensionOrigin;
#[cfg(feature = "config")]
pub use epitome_extensions::lock;
pub use epitome_extensions::plugins::{PluginForm, PluginRef};
pub use epitome_extensions::policies::{ChainLink, LoadedPolicies, PolicyRef};
pub use epitome_extensions::problem::{ConfigError, ConfigProblem};
pub use epitome_extract::{ExtractiveSummarizer, KeepRules, MustKeepFacts, kept_and_lost};
pub use epitome_kernel::goals::GoalError;
pub use epitome_kernel::{
    Answer, Eviction, Excerpt, HOOKS, HookInterrupt, HookNotes, HookReply, HookResult, Job,
    LanguageModel, LiveRequest, MissedWord, ModelError, ModelLimitHit, ModelQuestion, NextPolicies,
    OriginalStore, PlanError, Policy, PolicyChain, PolicyError, PolicyTracer, RankedPassage,
    SearchAnswer, SearchRange, SessionOf, SizeGauge, StoreError, StoredText, Summarizer,
    SummaryError, SummaryJob, TextMeasure, Thread, ThreadSizes, TokenCounter, ToolDigester, View,
    Workspace, WorkspaceError, apply, nearest,
};
#[cfg(feature = "lua")]
pub use epitome_lua as lua;
#[cfg(feature = "lua")]
pub use epitome_lua::{
    LuaPolicy, PolicyDeclaration, PolicyReload, PolicyWatch, TestResult, WatchError,
    stubs as policy_stubs,
};
pub use epitome_lua::{OptionShape, RecordFile, TrustStatus, TrustStore};
pub use epitome_model as model;
pub use epitome_model::ModelCalls;
pub use epitome_plan::{CachePrices, MarkerWords, PromptFloor, evicted, markers};
pub use epitome_plugin as plugin;
#[cfg(feature = "postgres")]
pub use epitome_postgres::{AddressError, PostgresAddress, PostgresLog, PostgresStore};
pub use epitome_store::{
    Durability, FallbackStore, MemoryLog, MemoryStore, RecordStore, SEALED, SessionArchive,
    StoreFinding, StoreNews, StoreOutage, TransferMode, TransferProgress, TransferReport,
    TransferStore, transfer,
};
#[cfg(feature = "seal")]
pub use epitome_store::{KeyFault, StoreKey};
#[cfg(feature = "sqlite")]
pub use epitome_store::{SalvagedStore, SqliteStore, StoreFile};
pub use epitome_types as types;
pub use epitome_types::{Budget, BudgetUnit, CompressionReport, SummaryStyle};
pub use epitome_wire::{
    Format, OverflowSignatures, RequestDocument, RequestScan, RuleViolation, SignatureError,
    TornLine, Transcript, WireError, detect, nearest_format, scan, transcribe, untorn, validate,
};
#[cfg(feature = "workspace")]
pub use epitome_workspace::WorkspaceFolder;
pub use epitome_workspace::augments;

/// The code on the pages of the manual compiles.
#[cfg(doctest)]
mod manual {
    #[doc = include_str!("../../../README.md")]
    struct FrontPage;

    #[doc = include_str!("../../../crates/epitome/README.md")]
    struct LibraryPage;

    #[cfg(feature = "postgres")]
    #[doc = include_str!("../../../crates/epitome-postgres/README.md")]
    struct PostgresPage;
}
