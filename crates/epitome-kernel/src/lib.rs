//! The pure core: plan, check, apply, view, their invariants, and the ports.

mod port;

pub use epitome_types as types;
pub use port::{
    Blob, Counter, Departure, Excerpt, Gauge, Measure, Store, StoreError, Summarizer, SummaryError,
    SummaryJob,
};
