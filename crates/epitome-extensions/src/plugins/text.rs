//! Digests of text without a shape: the lines and sentences that say most.
//!
//! Invariant: files that were read and code are left alone, since an edit may need every letter of
//! them (RULES 122), and logs, whose failures are wanted word for word. The last of the shipped
//! plugins, and the only one that needs the extractor, so it stands in the facade.

use std::collections::BTreeSet;
use std::ops::Range;

use epitome_extract::ExtractiveSummarizer;
use epitome_kernel::{SummaryJob, TextMeasure};
use epitome_plugin::text::{outline, shape};
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};
use epitome_types::{
    CheckpointLevel, Entry, EntryId, Part, PartBody, Role, Speaker, SummaryKind, SummaryStyle,
    ToolResult,
};

const KIND: &str = "text";
/// The option of the largest text, and its default in bytes.
const LARGEST: (&str, u64) = ("largest", 400_000);
/// From this share of the lines on that only code has, a text is code.
const CODE: f64 = 0.3;
/// The same for lines of logs and of test runs.
const LOG: f64 = 0.3;

/// Weighs the lines of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct TextPlugin(ExtractiveSummarizer);

impl Plugin for TextPlugin {
    fn about(&self) -> PluginInfo {
        PluginInfo::new(KIND, "1")
            .with_doc("text without a shape: the lines and sentences that say most")
            .with_digest()
            .with_option(LARGEST.0, LARGEST.1, "bytes of the largest text that is weighed")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        let largest = job.number(LARGEST.0, LARGEST.1);
        let is_left = job.text.len() as u64 > largest
            || shape::reads_file(job)
            || shape::is_source(job.text, CODE)
            || is_log(job.text);
        Ok(if is_left { None } else { self.weighed(job) })
    }
}

impl TextPlugin {
    fn weighed(&self, job: &DigestInput<'_>) -> Option<DigestOutput> {
        let lines: Vec<Range<usize>> = shape::lines(job.text).collect();
        let head = format!("[… extract of {}]\n", outline::counted(lines.len(), "lines"));
        let text = shape::plain(job.text).into_owned();
        let result = ToolResult { call: String::new(), text, error: false };
        let part = Part {
            body: PartBody::Result(result),
            speaker: Speaker::Tool,
            within: None,
            known_as: None,
            note: None,
            files: Box::default(),
        };
        let bytes = u32::try_from(job.text.len()).ok()?;
        let id = EntryId(0);
        let entry = Entry { id, role: Role::Tool, parts: vec![part], bytes, at: None };
        let summary = self.0.extract(&SummaryJob {
            kind: SummaryKind::Digest,
            entries: &[&entry],
            originals: &[&entry],
            kept: &[],
            level: CheckpointLevel::Detailed,
            most: job.most.checked_sub(job.size(&head))?,
            measure: &Sized(job),
            style: SummaryStyle::Verbatim,
            passages: false,
        });
        let said = summary.ok()?.text;
        let shown: BTreeSet<&str> = said.lines().collect();
        let hidden =
            |line: &Range<usize>| !shown.contains(shape::plain(&job.text[line.clone()]).trim());
        let left = outline::passages(job.text, lines.into_iter().filter(hidden));
        Some(DigestOutput { text: head + &said, kind: KIND.into(), left })
    }
}

/// Whether a text tells of what happened line by line, so that no line that fails may be lost.
fn is_log(text: &str) -> bool {
    let lines = || shape::lines(text).map(|line| shape::plain(&text[line]));
    let of_log = lines().filter(|line| shape::is_stamped(line) || shape::passes(line)).count();
    of_log as f64 >= lines().count().max(1) as f64 * LOG
}

/// Sizes texts as a job does.
struct Sized<'a>(&'a DigestInput<'a>);

impl TextMeasure for Sized<'_> {
    fn size(&self, text: &str) -> u64 {
        self.0.size(text)
    }
}
