//! The pure core: plan, check, apply, view, their invariants, and the ports.
//!
//! Invariant: no I/O, no clock, no randomness; the kernel knows no format and no adapter. Read
//! from [`Thread`] (the snapshot) over [`Run`] (the decisions) to [`View`] (what is sent).

mod apply;
mod ask;
mod budget;
mod check;
mod cut;
mod departure;
mod digest;
mod draft;
mod driver;
mod journal;
mod lines;
mod live;
mod nearest;
mod options;
mod outcome;
mod policy;
mod port;
mod pressure;
mod run;
mod size;
mod thread;
mod view;

pub use apply::{apply, identity};
pub use ask::{Ask, Step, Wanted};
pub use budget::{Floor, by_ratio, floor, stalled};
pub use check::{Fault, PlanError, check};
pub use departure::departure;
pub use driver::compress;
pub use epitome_types as types;
pub use journal::{Batch, Commit, Epochs, Journal, Said, Turn};
pub use live::{
    Arrival, ArriveOptions, CachePrices, InForce, Lineage, Meter, Reconciled, TriggerOptions,
    arrive, epoch_of, reconcile,
};
pub use nearest::nearest;
pub use options::{CompressOptions, Envelope, Rung, Texts};
pub use outcome::{Compressed, Outcome};
pub use policy::{
    Answer, Chain, HOOKS, Halt, HookShape, Job, ModelAsk, Opinion, Policy, PolicyError, Rest,
    Tracer,
};
pub use port::{
    Blob, Counter, Departure, DigestJob, Digested, Digester, Excerpt, Gauge, Measure, Store,
    StoreError, Summarizer, SummaryError, SummaryJob,
};
pub use run::Run;
pub use size::Sizes;
pub use thread::{Exchange, Frozen, Pin, Thread};
pub use view::{Inserted, Item, View};
