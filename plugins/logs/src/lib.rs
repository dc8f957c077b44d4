//! Digests of logs, builds and test runs: failures word for word with what was printed about them,
//! lines of one kind folded, sums kept.
//!
//! Invariant: a failure is never folded away while there is room for it. Hosts register [`LogDigester`] by
//! name.

mod log;
mod reports;

use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

use log::ParsedLog;

/// From this share of the lines on that only code has, a text is code.
const SOURCE: f64 = 0.3;

/// Digests logs, builds and test runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogDigester;

impl Plugin for LogDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("logs", "1")
            .with_doc("logs, builds and test runs: failures word for word, repeats folded")
            .with_digest()
            .with_option("failures", 20, "failing lines of one kind that are shown")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        let log = ParsedLog::read(job.text);
        // No file that is edited looks like a log whose lines say when or how bad.
        let is_one = log.is_stamped()
            || !shape::reads_file(job) && !shape::is_source(job.text, SOURCE) && log.is_one();
        Ok(if is_one { log.digest(job) } else { None })
    }
}
