//! Digests of tool results: smaller, by the shape of the text, in its own words.
//!
//! Invariant: the same job gives the same bytes; what is not the result's own stands in `[… ]`;
//! errors, file reads and code are left alone (hazard 22). The kernel calls it through the port.

mod json;
mod kind;
mod log;
mod outline;
mod search;
mod shape;
mod table;
mod tape;

use std::ops::Range;

use epitome_kernel::types::ToolResult;
use epitome_kernel::types::{Body, Entry, EntryId, Level, Part, Role, Speaker, Style, SummaryKind};
use epitome_kernel::{DigestJob, Digested, Digester, SummaryJob};
use rustc_hash::FxHashSet;

use crate::Extractive;
use crate::tuning::Shapes;

/// Makes tool results smaller without a model: JSON, logs, searches, and other text.
#[derive(Clone, Debug, Default)]
pub struct Digests {
    /// Weighs the lines of text that has no other shape.
    pub text: Extractive,
    /// What decides about all other shapes.
    pub shapes: Shapes,
}

impl Digester for Digests {
    fn digest(&self, job: &DigestJob<'_>) -> Option<Digested> {
        if job.error {
            return None;
        }
        let size = job.measure.size(job.text);
        if size <= job.most {
            return None;
        }
        let enough = self.shapes.enough(size);
        let digested = self.shaped(&Task { job, shapes: &self.shapes, enough })?;
        let smaller = job.measure.size(&digested.text);
        (smaller < size && smaller <= job.most).then_some(digested)
    }
}

/// A result and what its digest goes by.
#[derive(Clone, Copy)]
struct Task<'a> {
    job: &'a DigestJob<'a>,
    shapes: &'a Shapes,
    /// From this size on a digest says no more of what is like what it said.
    enough: u64,
}

impl Digests {
    fn shaped(&self, task: &Task<'_>) -> Option<Digested> {
        let Task { job, shapes, .. } = *task;
        let log = || log::Log::read(job.text, shapes);
        if shape::reads_file(job) {
            return Some(log()).filter(|log| log.is_stamped(shapes))?.digest(task);
        }
        if job.text.trim_start().starts_with(['{', '['])
            && let Some(digested) = json::digest(task)
        {
            return Some(digested);
        }
        let search = search::Search::read(job.text);
        if search.is_one(shapes) {
            return search.digest(task);
        }
        let log = log();
        if log.is_stamped(shapes) {
            return log.digest(task);
        }
        if is_code(job.text, shapes) {
            return None;
        }
        if log.is_one(shapes) { log.digest(task) } else { self.weighed(job) }
    }

    /// The lines and sentences that say most.
    fn weighed(&self, job: &DigestJob<'_>) -> Option<Digested> {
        if job.text.len() > self.shapes.weighed_most {
            return None;
        }
        let lines: Vec<Range<usize>> = shape::lines(job.text).collect();
        let head = format!("[… extract of {}]\n", outline::counted(lines.len(), "lines"));
        let text = shape::plain(job.text).into_owned();
        let result = ToolResult { call: String::new(), text, error: false };
        let part = Part {
            body: Body::Result(result),
            speaker: Speaker::Tool,
            within: None,
            known_as: None,
        };
        let bytes = u32::try_from(job.text.len()).ok()?;
        let id = EntryId(0);
        let entry = Entry { id, role: Role::Tool, parts: vec![part], bytes, at: None };
        let summary = self.text.extract(&SummaryJob {
            level: Level::Detailed,
            kind: SummaryKind::Digest,
            entries: &[&entry],
            kept: &[],
            most: job.most.checked_sub(job.measure.size(&head))?,
            measure: job.measure,
            style: Style::Verbatim,
            passages: false,
        });
        let said = summary.ok()?.text;
        let shown: FxHashSet<&str> = said.lines().collect();
        let hidden =
            |line: &Range<usize>| !shown.contains(shape::plain(&job.text[line.clone()]).trim());
        let left = outline::passages(job.text, lines.into_iter().filter(hidden));
        Some(Digested { text: head + &said, kind: "text".into(), left })
    }
}

/// Whether the text is code, a patch or the listing of a file.
fn is_code(text: &str, shapes: &Shapes) -> bool {
    let (mut all, mut code, mut numbered) = (0, 0usize, 0usize);
    for line in shape::lines(text).map(|span| &text[span]).filter(|line| !line.trim().is_empty()) {
        all += 1;
        code += usize::from(shape::is_code(line));
        numbered += usize::from(shape::is_numbered(line));
    }
    code.max(numbered) as f64 >= f64::from(all.max(1)) * shapes.code_share
}
