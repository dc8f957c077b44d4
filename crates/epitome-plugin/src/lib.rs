//! Native plugins: what a program says and hears that digests tool results or answers hooks.
//!
//! An author implements [`Plugin`] and either hands it to a host that is written in Rust, or calls
//! [`serve`] in `main` and has a program that any host can start, or [`export_module`] and has a module
//! of WebAssembly that runs everywhere and reaches nothing. [`protocol`] is what both sides
//! say then, one JSON object per line; it has a version of its own. [`text`] is what digests are
//! made with, [`conformance`] tries their laws, [`check`] is what a host asks through, and `host`
//! runs programs, where the feature of that name is on.
//!
//! ```
//! use epitome_plugin::{PluginInfo, DigestInput, DigestOutput, PluginFailure, Plugin, serve_over};
//!
//! /// Keeps what a measurement comes to.
//! struct LastLine;
//!
//! impl Plugin for LastLine {
//!     fn about(&self) -> PluginInfo {
//!         PluginInfo::new("last-line", "1").with_digest()
//!     }
//!
//!     fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
//!         let Some((before, last)) = job.text.trim_end().rsplit_once('\n') else { return Ok(None) };
//!         let text = format!("[… {} lines]\n{last}", before.lines().count());
//!         let left = vec![0..before.len()];
//!         Ok(Some(DigestOutput { text, kind: "measurement".into(), left }))
//!     }
//! }
//!
//! // In a program of its own: fn main() -> std::io::Result<()> { epitome_plugin::serve(&LastLine) }
//! let call = r#"{"id":1,"digest":{"text":"a\nb\nsum 9","tokens":9,"most":9,"most_bytes":9}}"#;
//! let mut said = Vec::new();
//! serve_over(&LastLine, call.as_bytes(), &mut said)?;
//! let answer = r#"{"id":1,"ok":{"text":"[… 2 lines]\nsum 9","kind":"measurement","left":[[0,3]]}}"#;
//! assert_eq!(String::from_utf8_lossy(&said).trim_end(), answer);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Invariant: nothing here knows Epitome's nouns or its kernel. A plugin in another language needs
//! the protocol and nothing else.

pub mod check;
pub mod conformance;
#[cfg(feature = "host")]
pub mod host;
pub mod protocol;
pub mod text;

mod about;
mod digest;
mod export;
mod own_words;
mod serve;

pub use about::{PluginInfo, PluginOption};
pub use digest::{DigestInput, DigestOutput, PluginFailure};
pub use serve::{serve, serve_line, serve_over};

use serde_json::Value;

/// A plugin: what it is, and its answers.
///
/// Its answers depend on the job alone: the same job gives the same bytes, in every process.
pub trait Plugin: Send + Sync {
    /// What it is called and what it provides.
    fn about(&self) -> PluginInfo;

    /// A digest of a tool's result in the result's own words; `None` where the result is not of
    /// the plugin's kind, or where there is nothing to gain.
    ///
    /// # Errors
    ///
    /// What kept the plugin from an answer. The result then stays as it is, or another digests it.
    fn digest(&self, _job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        Ok(None)
    }

    /// The answer to a hook as a policy in Lua would give it, as JSON; `None` for no opinion.
    ///
    /// # Errors
    ///
    /// What kept the plugin from an answer. The next policy of the chain is asked then.
    fn hook(
        &self,
        _hook: &str,
        _job: &Value,
        _options: &Value,
    ) -> Result<Option<Value>, PluginFailure> {
        Ok(None)
    }
}
