//! Test doubles and conversation builders for every crate's tests.
//!
//! Invariant: everything in here is deterministic and needs neither disk, network nor runtime.

mod chat;
mod count;
mod model;
mod random;
mod summarize;

pub use chat::{Chat, chat};
pub use count::FixedCounter;
pub use model::ScriptedModel;
pub use random::{conversation, words};
pub use summarize::{Script, ScriptedSummarizer, now};
