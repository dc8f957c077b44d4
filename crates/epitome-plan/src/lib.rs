//! How plans are made: what policies order, the built-in policy, and the emergency ladder.
//!
//! Invariant: no I/O, no clock, no randomness, and nothing is applied here but by the kernel, which
//! checks every plan. Read from [`Run`] (the decisions) over [`Outcome`] (what came of them).

mod account;
mod arrive;
mod ask;
mod assembly;
mod budget;
mod builtin;
mod cut;
mod demands;
mod departure;
mod digest;
mod draft;
mod driver;
mod input;
mod lead;
mod lines;
mod markers;
mod options;
mod order;
mod outcome;
mod pressure;
mod run;
mod stale;
mod stand;
mod state;
mod trigger;
mod unbind;

pub use account::{CachePrices, Rewrite, SentRequest};
pub use arrive::{Arrival, DoorOptions, NewTalk, arrive, arriving, fill_in};
pub use ask::{Ask, Step, Wanted};
pub use assembly::{Assembly, PlanMeans};
pub use budget::{Floor, by_ratio, floor, stalled};
pub use builtin::{ArriveOptions, Builtin, BuiltinOptions, SummaryOptions};
pub use demands::{Demand, Demands};
pub use departure::{departure, pieces};
pub use driver::{assemble, compress};
pub use markers::markers;
pub use options::{CompressOptions, Envelope, Rung, Texts, newest_from};
pub use order::OrderError;
pub use outcome::{Compressed, Outcome};
pub use run::Run;
pub use trigger::Meter;
