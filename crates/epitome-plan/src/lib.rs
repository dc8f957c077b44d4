//! How plans are made: what policies order, the built-in policy, and the emergency ladder.
//!
//! Invariant: no I/O, no clock, no randomness, and nothing is applied here but by the kernel, which
//! checks every plan. Read from [`FitRun`] (the decisions) over [`FitOutcome`] (what came of them).

mod account;
mod arrive;
mod ask;
mod assembly;
mod budget;
mod builtin;
mod checkpoint_role;
mod constraints;
mod cut;
mod digest;
mod draft;
mod driver;
mod eviction;
mod fit;
mod input;
mod lead;
mod lines;
mod markers;
mod options;
mod order;
mod outcome;
mod pressure;
mod stale;
mod state;
mod trigger;
mod unbind;

pub use account::{CachePrices, Rewrite, SentRequest};
pub use arrive::{ArrivalOutcome, ArrivalWording, NewTalk, arrive, arriving, fill_in};
pub use ask::{FitStep, SummaryRequest, SummarySubject};
pub use assembly::{PlanAssembly, PlanMeans};
pub use budget::{PromptFloor, budget_for_ratio, frees_too_little, prompt_floor};
pub use builtin::{ArriveOptions, BuiltinOptions, BuiltinPolicy, SummaryOptions};
pub use constraints::{ConstraintState, StatedConstraint};
pub use driver::{assemble, compress};
pub use eviction::{evicted, split_passages};
pub use fit::FitRun;
pub use markers::markers;
pub use options::{CompressOptions, KernelTexts, LadderRung, RequestEnvelope, newest_from};
pub use order::OrderError;
pub use outcome::{FitOutcome, PlannedCompression};
pub use trigger::CacheMeter;
