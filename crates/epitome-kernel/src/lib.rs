//! The pure core: plan, check, apply, view, their invariants, and the ports.
//!
//! Invariant: no I/O, no clock, no randomness; the kernel knows no format and no adapter. Read
//! from [`Thread`] (the snapshot) over [`Run`] (the decisions) to [`View`] (what is sent).

mod apply;
mod chain;
mod check;
mod gate;
pub mod goals;
mod journal;
mod live;
mod nearest;
mod notes;
mod policy;
mod port;
mod round;
mod size;
mod strip;
mod thread;
mod view;

pub use apply::{apply, identity};
pub use chain::{Chain, Rest};
pub use check::{Fault, PlanError, check};
pub use epitome_types as types;
pub use gate::{Bounded, kept_most};
pub use journal::{
    AnswerClue, Answered, Batch, Beginning, Clue, Commit, Epochs, Holder, Journal, Met, News,
    Onward, Said, Turn,
};
pub use live::{
    Claim, EpochGround, Evidence, Identity, InForce, Lineage, Reconciled, epoch_of, identify,
    is_drawn, reconcile,
};
pub use nearest::{nearest, nearest_words};
pub use notes::{Before, SystemBlock};
pub use policy::{
    Answer, Asked, HOOKS, Halt, HookShape, Job, ModelAsk, Opinion, Policy, PolicyError, Tracer,
    Underway,
};
pub use port::{
    Blob, Counter, Departure, DigestJob, Digested, Digester, Excerpt, Gauge, Lack, Measure,
    MissedWord, Model, ModelError, SessionOf, Store, StoreError, Summarizer, SummaryError,
    SummaryJob, Workspace, WorkspaceError,
};
pub use round::ChainRound;
pub use size::Sizes;
pub use strip::Stripped;
pub use thread::{Exchange, Frozen, Pin, Thread};
pub use view::{Inserted, Item, Kind, View, rewrite, strip};
