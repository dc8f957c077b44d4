//! Policies in Lua: a sandbox, a loader, and what a policy may call.
//!
//! Invariant: a policy answers with data and can do nothing else; whatever it does, a call ends
//! within its limits, and a policy that was loaded goes on answering when its files break.
//! Used by the facade, which finds policies and puts them into chains.

mod api;
mod authored;
mod declared;
mod describe;
mod engine;
mod error;
mod fault;
mod files;
mod fixture;
mod generation;
mod job;
mod limits;
mod live;
mod misfit;
mod option;
mod read;
mod require;
mod sandbox;
mod source;
mod strict;
mod suite;
mod trust;
mod vm;
mod watch;
mod watchdog;
mod write;

pub use api::{API, ApiFunction};
pub use declared::{API_VERSION, Declared};
pub use describe::{example, reference, schema, stubs};
pub use engine::Engine;
pub use error::{LoadCause, LoadError};
pub use generation::Generation;
pub use limits::Limits;
pub use live::LuaPolicy;
pub use option::OptionShape;
pub use source::{Found, Source};
pub use suite::TestResult;
pub use trust::{Standing, Trust, folder_hash};
pub use watch::{Reloaded, Watch, WatchError};
