//! The pure core: plan, check, apply, view, their invariants, and the ports.
//!
//! Invariant: no I/O, no clock, no randomness; the kernel knows no format and no adapter. Read
//! from [`Thread`] (the snapshot) over [`Run`] (the decisions) to [`View`] (what is sent).

mod apply;
mod check;
pub mod goals;
mod journal;
mod live;
mod nearest;
mod policy;
mod port;
mod size;
mod strip;
mod thread;
mod view;

pub use apply::{apply, identity};
pub use check::{Fault, PlanError, check};
pub use epitome_types as types;
pub use journal::{Answered, Batch, Commit, Epochs, Journal, Met, News, Onward, Said, Turn};
pub use live::{InForce, Lineage, Reconciled, epoch_of, reconcile};
pub use nearest::nearest;
pub use policy::{
    Answer, Asked, Chain, HOOKS, Halt, HookShape, Job, ModelAsk, Opinion, Policy, PolicyError,
    Rest, Tracer, Underway,
};
pub use port::{
    Blob, Counter, Departure, DigestJob, Digested, Digester, Excerpt, Gauge, Lack, Measure, Model,
    ModelError, Store, StoreError, Summarizer, SummaryError, SummaryJob, Workspace, WorkspaceError,
};
pub use size::Sizes;
pub use strip::Stripped;
pub use thread::{Exchange, Frozen, Pin, Thread};
pub use view::{Inserted, Item, Kind, View, rewrite, strip};
