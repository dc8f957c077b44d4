//! What a Rust program depends on: a conversation in, a smaller valid one out.
//!
//! A [`Compressor`] joins the kernel with its adapters: it reads a conversation in any format it
//! knows, compresses it to a [`Target`], and gives back the bytes to send with a report of what
//! was done. Every port can be the host's own: the counter, the summarisers, the store.
//!
//! ```
//! use epitome::{Compressor, Target};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut messages = vec![r#"{"role":"user","content":"Never push to main."}"#.to_owned()];
//! for number in 0..40 {
//!     messages.push(format!(r#"{{"role":"assistant","content":"Step {number} is done."}}"#));
//! }
//! messages.push(r#"{"role":"user","content":"Go on."}"#.to_owned());
//! let request = format!("[{}]", messages.join(","));
//!
//! let compressor = Compressor::builder().target(Target::Ratio(4.0)).build();
//! let compressed = compressor.compress(request.as_bytes()).await?;
//! assert!(compressed.bytes.len() < request.len() / 2);
//! assert!(compressed.report.fits);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! All of them are on by default. A host that needs less says `default-features = false` and names what
//! it needs; with none of them no C is compiled, and about 55 packages are. `examples/embed-minimal` is
//! such a host.
//!
//! | feature | what it brings | without it |
//! | --- | --- | --- |
//! | `cl100k` | the vocabulary `cl100k_base` | models with it are estimated |
//! | `config` | `Config`: `epitome.toml`, variables, profiles by name | `Profile::default` and what the builder takes |
//! | `lua` | policies in Lua, compiled from C++ | policies in Rust; one in Lua that is named is refused |
//! | `models` | `model::Http`, the network for model clients | a [`Model`] or a [`model::Transport`] of the host's own |
//! | `o200k` | the vocabulary `o200k_base` | models are estimated by what is there: `cl100k_base`, or bytes |
//! | `plugins` | the shipped digests by shape, plugins that are programs | the digest of plain text, plugins in Rust |
//! | `redact` | patterns of what is never recorded | a profile that states some is refused |
//! | `sqlite` | `Sqlite`, compiled from C, and `FallbackStore` | [`Memory`], or an [`Archive`] of the host's own ([`port`]) |
//! | `workspace` | `Folder`: what left as files for the client's own tools | a [`Workspace`] of the host's own |
//!
//! Invariant: nothing is printed, no file is opened but those of a configuration that the host asks
//! for, and no state is shared between compressors; what compression made of a request passed its
//! provider's rules, and what left the prompt was kept before.

mod background;
mod builder;
mod compressor;
#[cfg(feature = "config")]
mod config;
mod council;
mod error;
mod facts;
mod hub;
mod journal;
mod lessons;
pub mod levers;
mod locks;
mod models;
mod outgoing;
mod planning;
#[cfg_attr(not(feature = "config"), expect(dead_code, reason = "what a configuration finds"))]
mod plugins;
#[cfg_attr(not(feature = "config"), expect(dead_code, reason = "what a configuration finds"))]
mod policies;
pub mod port;
mod problem;
mod profile;
#[cfg_attr(not(feature = "config"), expect(dead_code, reason = "what a configuration finds"))]
mod rack;
mod recent;
mod recorded;
mod reported;
mod request;
mod scope;
mod session;
mod single;
mod talk;
mod target;
#[cfg_attr(not(feature = "config"), expect(dead_code, reason = "what a configuration finds"))]
mod trusted;
mod writer;

pub use builder::Builder;
pub use compressor::{Compressed, Compressor, tool_format};
#[cfg(feature = "config")]
pub use config::{Config, Effective, ProxyTable, Setting, Sources, known_store};
#[cfg(any(feature = "cl100k", feature = "o200k"))]
pub use epitome_count::VocabularyCounter;
pub use epitome_count::{Cached, ModelCounter, ToolFormat, for_model, tools};
pub use epitome_extract::{Extractive, Facts, kept_and_lost};
pub use epitome_kernel::{
    Answer, Blob, Chain, Counter, Departure, Digester, Excerpt, Gauge, HOOKS, Halt, Job, Lack,
    Measure, MissedWord, Model, ModelAsk, ModelError, Opinion, PlanError, Policy, PolicyError,
    Rest, SessionOf, Sizes, Store, StoreError, Summarizer, SummaryError, SummaryJob, Thread,
    Tracer, Underway, View, Workspace, WorkspaceError, apply, nearest,
};
#[cfg(feature = "lua")]
pub use epitome_lua as lua;
#[cfg(feature = "lua")]
pub use epitome_lua::{
    Declared, LuaPolicy, Reloaded, TestResult, Watch, WatchError, stubs as policy_stubs,
};
pub use epitome_lua::{OptionShape, Standing, Trust};
pub use epitome_model as model;
pub use epitome_model::ModelCalls;
pub use epitome_plan::{CachePrices, Floor, departure, markers};
pub use epitome_plugin as plugin;
pub use epitome_store::{Archive, Durability, Finding, Memory, StoreNews, StoreOutage};
#[cfg(feature = "sqlite")]
pub use epitome_store::{FallbackStore, Sqlite};
pub use epitome_types as types;
pub use epitome_types::{Budget, Report, Style, Unit};
pub use epitome_wire::{
    Document, Format, Scan, SignatureError, Signatures, TornLine, Transcript, Violation, WireError,
    detect, scan, transcribe, untorn, validate,
};
#[cfg(feature = "workspace")]
pub use epitome_workspace::Folder;
pub use epitome_workspace::augments;
pub use error::Error;
pub use hub::{Answered, Ask, Hub, Sent};
pub use journal::{
    Cut, CutEntry, Diff, History, Imported, Keeper, Level, Lines, Message, Past, Pinned, Recalled,
    Restored, Saved, SessionGoals, Status, ToolMarks, Watermark, Written, nothing_on,
};
pub use lessons::{Counted, Shortened, Taught};
pub use levers::{LeverCall, Levers};
pub use models::{
    ModelTable, ModelTableError, NotListed, OwnCompaction, Price, PriceError, Prices, Quote,
    Scribe, UnaidedClient, UnaidedPrompt,
};
pub use plugins::PluginRef;
pub use policies::{Link, Loaded, PolicyRef};
pub use problem::{ConfigError, Problem};
pub use profile::Profile;
pub use rack::Origin;
pub use scope::{LOCAL, ScopeOwner, scope, scope_of};
#[cfg(feature = "workspace")]
pub use session::remove_offloaded;
pub use session::{
    Clock, Compressions, PatternError, Prompt, Redaction, Session, calendar_time, keeps_an_hour,
    system_time,
};
pub use talk::{Heard, Said, Talk, TalkError};
pub use target::{KnownLimit, Target, Window, WindowSource};

/// The code on the pages of the manual compiles.
#[cfg(doctest)]
mod manual {
    #[doc = include_str!("../../../README.md")]
    struct FrontPage;

    #[doc = include_str!("../../../crates/epitome/README.md")]
    struct LibraryPage;
}
