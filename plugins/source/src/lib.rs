//! Digests source code: its outline, and the spans that matter.
//!
//! Signatures, imports, the first line of what documents them, what is unfinished or fails, and
//! what the call asked for stay, each line as it is written; bodies become counts of their lines.
//! An edit that has to match a text exactly needs it word for word, so code that may be edited is
//! left alone: what a file is read with, what a command prints of the files at hand, and results of
//! tools that were given a path.
//!
//! Invariant: a shown line is the code's own; lines that are not shown are counted where they stood.

mod outline;
mod purpose;

use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

/// What the digest calls itself.
const KIND: &str = "source";
/// At least this share of the lines looks like nothing but code.
const CODE: f64 = 0.3;

/// Digests source code.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceDigester;

impl Plugin for SourceDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("source", "1")
            .with_doc("source code that nobody edits: its outline and the lines that matter")
            .with_digest()
            .with_option("whole", outline::WHOLE, "tokens up to which bodies are shown too")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if purpose::may_be_edited(job) || !shape::is_source(job.text, CODE) {
            return Ok(None);
        }
        Ok(outline::digest(job))
    }
}
