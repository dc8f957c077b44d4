//! The proxy before a scripted provider that refuses what real ones refuse.

mod addresses;
pub(crate) mod agent;
mod alike;
mod back;
mod compacted;
mod database;
mod deleted;
mod edits;
mod encodings;
mod erased;
pub(crate) mod faults;
mod files;
mod http;
mod identity;
mod limits;
pub(crate) mod load;
mod locked;
mod log;
mod marks;
mod masked;
mod notes;
mod outage;
mod page;
mod policies;
mod private;
mod restored;
mod routes;
mod sealed;
mod serving;
mod sessions;
mod shapes;
mod summaries;
mod thinking;
mod vanished;

pub(crate) use http::{Answer, Ask};
pub(crate) use serving::Serving;
