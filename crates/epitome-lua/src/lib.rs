//! Policies in Lua.

mod limits;
mod misfit;
mod read;
mod sandbox;
mod source;
mod watchdog;

pub use limits::Limits;
pub use source::{Found, Source};
