//! Looking after recorded sessions: listed, shown, searched, compared, changed, taken back.
//!
//! One API for the command, for the tools of an agent and for the page: [`SessionAdmin`](admin::SessionAdmin)
//! does what people ask for, [`SessionControls`](controls::SessionControls) what an agent may do to the
//! sessions of one scope. A live session records and reads by the same words.
//!
//! Invariant: nothing here stands on the way of a request, and nothing changes what was said but what the
//! user erases or deletes.

pub mod admin;
pub mod clock;
pub mod controls;
mod decode;
mod error;
#[cfg(feature = "experiments")]
pub mod experiments;
pub mod learned;
mod names;
pub mod records;
pub mod regret;
mod same_call;
pub mod savings;
mod undo;

pub use self::error::AdminError;
pub use self::undo::CompactionUndo;
