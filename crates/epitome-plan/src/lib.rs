//! How plans are made: what policies order, the built-in policy, and the emergency ladder.
//!
//! Invariant: no I/O, no clock, no randomness, and nothing is applied here but by the kernel, which
//! checks every plan. Read from [`PlanAssembly`] (the decisions) to [`FitOutcome`]
//! (what came of them).

mod account;
mod arrive;
mod ask;
mod assembly;
mod budget;
mod builtin;
mod chain;
mod checkpoint_role;
mod composed;
mod constraints;
mod cut;
mod digest;
mod draft;
mod driver;
mod eviction;
mod files;
mod ground;
mod input;
mod kept;
mod ladder;
mod lead;
mod leaving;
mod lines;
mod markers;
mod ops;
mod options;
mod order;
mod orders;
mod outcome;
mod parts;
mod pressure;
mod rules;
mod stale;
mod state;
mod told;
mod trigger;
mod unbind;
mod whole_pieces;
mod wording;

pub use account::{CachePrices, ForcingWindow, Rewrite, SentRequest};
pub use arrive::{ArrivalOutcome, ArrivalWording, NewTalk, arrive, arriving, fill_in};
pub use ask::{PlanStep, SummaryRequest, SummarySubject};
pub use assembly::PlanAssembly;
pub use budget::{PromptFloor, budget_for_ratio, frees_too_little, prompt_floor};
pub use builtin::{ArriveOptions, BuiltinOptions, BuiltinPolicy, SummaryOptions};
pub use composed::ComposedFit;
pub use driver::{assemble, compress};
pub use eviction::{evicted, leaving, split_passages};
pub use files::{LeftFile, PASTE_AGAIN, freed_little, let_go};
pub use ground::PlanMeans;
pub use kept::{KEEP, PROFILE};
pub use leaving::{LeavingText, taken};
pub use markers::{MarkerWords, markers};
pub use options::{
    CompressOptions, ConstraintState, KeptStatement, KernelTexts, LadderRung, RequestEnvelope,
    StatedConstraint, StatedLine, newest_from,
};
pub use order::OrderError;
pub use outcome::{FitOutcome, PlannedCompression, states_lines};
pub use told::{SpokenTexts, covered, line_count, speaker};
pub use trigger::CacheMeter;
