//! Policies in Lua: a sandbox, a loader, and what a policy may call.
//!
//! Invariant: a policy answers with data and can do nothing else; whatever it does, a call ends
//! within its limits, and a policy that was loaded goes on answering when its files break.
//! Used by the facade, which finds policies and puts them into chains.
//!
//! Without the feature `vm` no policy runs. What is left finds the folders of policies, tells which
//! of them are trusted, and describes options.

#[cfg(feature = "vm")]
mod alias;
#[cfg(feature = "vm")]
mod api;
mod authored;
#[cfg(feature = "vm")]
mod call_timer;
#[cfg(feature = "vm")]
mod declared;
#[cfg(feature = "vm")]
mod describe;
#[cfg(feature = "vm")]
mod dialect;
#[cfg(feature = "vm")]
mod engine;
#[cfg(feature = "vm")]
mod error;
#[cfg(feature = "vm")]
mod fault;
#[cfg(feature = "vm")]
mod files;
#[cfg(feature = "vm")]
mod fixture;
mod folder;
#[cfg(feature = "vm")]
mod generation;
#[cfg(feature = "vm")]
mod job;
#[cfg(feature = "vm")]
mod limits;
#[cfg(feature = "check")]
mod lint;
#[cfg(feature = "vm")]
mod live;
#[cfg(feature = "vm")]
mod misfit;
#[cfg(feature = "vm")]
mod old_names;
#[cfg(feature = "vm")]
mod option;
mod option_shape;
#[cfg(feature = "vm")]
mod place;
#[cfg(feature = "vm")]
mod player;
#[cfg(feature = "vm")]
mod read;
mod record_file;
#[cfg(feature = "vm")]
mod require;
#[cfg(feature = "vm")]
mod sandbox;
mod source;
#[cfg(feature = "vm")]
mod strict;
#[cfg(feature = "vm")]
mod suite;
mod trust;
#[cfg(feature = "vm")]
mod vm;
#[cfg(feature = "vm")]
mod watch;
#[cfg(feature = "vm")]
mod watchdog;
#[cfg(feature = "vm")]
mod write;

#[cfg(feature = "vm")]
pub use api::{API, ApiFunction};
#[cfg(feature = "vm")]
pub use declared::{API_VERSION, PolicyDeclaration};
#[cfg(feature = "vm")]
pub use describe::{example, reference, schema, stubs};
#[cfg(feature = "vm")]
pub use engine::PolicyEngine;
#[cfg(feature = "vm")]
pub use error::{LoadCause, LoadError};
pub use folder::folder_hash;
#[cfg(feature = "vm")]
pub use generation::Generation;
#[cfg(feature = "vm")]
pub use limits::LuaLimits;
#[cfg(feature = "check")]
pub use lint::{PolicyMistake, examine};
#[cfg(feature = "vm")]
pub use live::{LuaPolicy, PolicyGate};
pub use option_shape::OptionShape;
#[cfg(feature = "vm")]
pub use player::{ConversationPlayer, ModelReplies, NO_SUMMARY};
pub use record_file::RecordFile;
pub use source::{FoundPolicy, PolicySource};
#[cfg(feature = "vm")]
pub use suite::TestResult;
pub use trust::{TrustStatus, TrustStore};
#[cfg(feature = "vm")]
pub use watch::{PolicyReload, PolicyWatch, SETTLE, WatchError};
