//! The proxy before a scripted provider that refuses what real ones refuse.

mod agent;
mod back;
mod edits;
mod encodings;
mod faults;
mod http;
mod limits;
mod load;
mod log;
mod marks;
mod private;
mod serving;
mod sessions;
mod shapes;

pub(crate) use http::{Answer, Ask};
pub(crate) use serving::Serving;
