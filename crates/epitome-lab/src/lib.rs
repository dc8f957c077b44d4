//! A strategy tried on recordings: what it would have saved, lost and cost, without a network and
//! without a model.
//!
//! [`Replay`] plays one recorded conversation through a live session as its client would have:
//! every turn sends the whole history again. [`scan`] does so for many, in parallel, and adds up.
//! [`ab`] puts several strategies beside each other and asks what their prompts still say.
//!
//! ```
//! use std::sync::Arc;
//!
//! use epitome::{MemoryStore, WindowSetting};
//! use epitome_lab::{Recording, Replay, ReplaySetup};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut messages = vec![r#"{"role":"user","content":"Never push to main."}"#.to_owned()];
//! for number in 0..40 {
//!     messages.push(format!(r#"{{"role":"assistant","content":"Step {number} is done."}}"#));
//!     messages.push(r#"{"role":"user","content":"Go on, one step at a time."}"#.to_owned());
//! }
//! let recording = Recording::read(format!("[{}]", messages.join(",")).as_bytes(), None, None)?;
//!
//! let setup = ReplaySetup { window: WindowSetting::Limit(600), ..ReplaySetup::default() };
//! let mut replay = Replay::new(&recording, &setup, Arc::new(MemoryStore::new()), None)?;
//! while let Some(turn) = replay.step().await? {
//!     assert!(turn.tokens_sent <= 600);
//! }
//! let figures = replay.finish()?;
//! let requests = &figures.requests;
//! assert!(requests.compressions > 0 && requests.oversized == 0);
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: a result depends on the recording, the setup and what the store held before; a scan
//! gives its results in the order of the files, whatever ran first. Called by the command line.

mod ab;
mod corpus;
mod cost;
mod facts;
mod figures;
mod files;
mod find;
mod recording;
mod replay;
mod scan;
mod sent;
mod setup;
mod shadow;
mod turn;
mod what_if;

pub use ab::{
    Comparison, ComparisonResult, EvalHost, EvalRow, EvalScore, MeanInterval, ReplayFigures,
    RowTokens, ScoreMeans, Strategy, StrategyMeans, StrategySummary, WorkKind, ab,
};
pub use corpus::at_share;
pub use cost::{CacheTotals, CacheTraffic};
pub use facts::lost;
pub use figures::{
    PromptMoney, RecordingFacts, ReplayRefusal, ReplaySummary, ReplayTotals, RequestCounts,
    SavingCount, SummaryCalls, TokenTotals,
};
pub use find::{ClientFolders, RecordingCandidates, SkippedFile, given, own};
pub use recording::Recording;
pub use replay::{Replay, ReplayError};
pub use scan::{
    MoneySums, PastScan, ScanOptions, ScanProgress, ScanTotals, ScannedSession, TokenSums,
    WorstCase, WorstSessions, scan,
};
pub use setup::{ReplaySetup, ReplayWriters};
pub use shadow::ProfileShadow;
pub use turn::ReplayTurn;
pub use what_if::{PromptMessage, TurnUnder, WhatIf};
