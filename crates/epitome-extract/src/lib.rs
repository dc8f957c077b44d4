//! The summariser that needs no model: keeps what later work will need, in the words it was said.
//!
//! Invariant: the same job gives the same bytes, and every line of a summary comes from the
//! entries it stands for (RULES 15). The kernel asks it through the same port as a model.

mod brief;
mod demands;
mod directive;
mod facts;
mod keys;
pub mod ledger;
mod must_keep;
mod offer;
mod passages;
mod reader;
mod refs;
mod render;
mod rows;
mod select;
mod slice;
mod split;
mod spoken;
mod statement;
mod summary;
mod supersede;
mod tuning;
mod unit;
mod value;
mod weigh;
mod words;

pub use demands::{Demand, demands};
pub use facts::Facts;
pub use ledger::Ledger;
pub use must_keep::{kept_and_lost, must_keep};
pub use summary::Extractive;
pub use tuning::Tuning;
