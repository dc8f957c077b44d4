//! Test doubles and conversation builders for every crate's tests.
//!
//! Beside the library there is a program, `hostile-plugin`, that does what no plugin should.
//!
//! Invariant: everything in the library is deterministic and needs neither disk, network nor
//! runtime.

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
