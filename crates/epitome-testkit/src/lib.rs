//! Test doubles and conversation builders for every crate's tests.
//!
//! Beside the library there are two programs: `hostile-plugin` does what no plugin should, and
//! `first-lines-plugin` is [`FirstLines`] for hosts that start it.
//!
//! Invariant: everything in the library is deterministic and needs neither disk, network nor
//! runtime, but for [`PostgresServer`], which starts a real one, and [`PostgresRelay`] before it.

mod chat;
mod count;
mod model;
pub mod module;
mod plugin;
#[cfg(unix)]
mod postgres;
mod random;
#[cfg(unix)]
mod relay;
mod summarize;

pub use chat::{Chat, chat};
pub use count::FixedCounter;
pub use model::ScriptedModel;
pub use plugin::FirstLines;
#[cfg(unix)]
pub use postgres::PostgresServer;
pub use random::{conversation, conversations, words};
#[cfg(unix)]
pub use relay::{PostgresRelay, SentStatements};
pub use summarize::{Script, ScriptedSummarizer, now};
