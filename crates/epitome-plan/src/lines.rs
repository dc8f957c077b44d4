//! One-line accounts of messages: what the kernel itself can say without a summariser.
//!
//! Invariant: an account is one line per entry and is never larger than allowed.

use std::collections::BTreeMap;

use epitome_kernel::types::{
    CallFailure, Entry, EntryId, PartBody, PartId, Summary, SummaryTurn, failed_calls,
};
use epitome_kernel::{TextMeasure, Thread};

use crate::cut::fill;
use crate::options::KernelTexts;

/// The calls that failed, each with what came of it.
pub(crate) type Failures<'t> = BTreeMap<PartId, CallFailure<'t>>;

/// The newest entries of `covers` that fit into `most`, one line each, oldest first; `None` where
/// not one fits.
pub(crate) fn account(
    thread: &Thread,
    covers: &[EntryId],
    chars: usize,
    most: u64,
    measure: &dyn TextMeasure,
) -> Option<Summary> {
    let mut left = most;
    let mut lines = Vec::new();
    let typed = thread.typed().filter(|typed| !covers.contains(typed));
    let mut behind = 0;
    let covered = || covers.iter().filter_map(|&id| thread.entry(id));
    let failed = failed_calls(covered());
    for entry in covered().rev() {
        let line = line(thread, entry, &failed, chars) + "\n";
        let size = measure.size(&line);
        if size > left {
            break;
        }
        left -= size;
        behind += if Some(entry.id) > typed { line.len() } else { 0 };
        lines.push(line);
    }
    lines.reverse();
    let text = lines.concat();
    let turn = typed.map(|entry| SummaryTurn { entry, at: text.len() - behind });
    (!text.trim().is_empty()).then(|| Summary { text, turn, ..Summary::default() })
}

/// The stub of an exchange: its calls in one line, and how to get it back.
pub(crate) fn stub(entries: &[Entry], texts: &KernelTexts, tokens: u64, id: &str) -> String {
    let failed = failed_calls(entries);
    let calls = entries.iter().flat_map(|entry| calls(entry, &failed, texts.line_chars));
    let calls: Vec<_> = calls.collect();
    let values =
        [("tokens", tokens.to_string()), ("id", id.to_owned()), ("call", calls.join(", "))];
    fill(&texts.stub, &values.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// Who, and what was said.
fn line(thread: &Thread, entry: &Entry, failed: &Failures<'_>, chars: usize) -> String {
    let name = thread.name(entry);
    let who = name.split_once(' ').map_or(&*name, |(_, who)| who);
    format!("{who}: {}", said(entry, failed, chars))
}

/// The first line of what was said; then the calls.
pub(crate) fn said(entry: &Entry, failed: &Failures<'_>, chars: usize) -> String {
    let first = entry.talk().flat_map(str::lines).find(|line| !line.trim().is_empty());
    let said = first.map(|line| clip(line, chars)).into_iter().chain(calls(entry, failed, chars));
    said.collect::<Vec<_>>().join("; ")
}

/// The calls of an entry; what came of one that failed is told with it.
fn calls(entry: &Entry, failed: &Failures<'_>, chars: usize) -> impl Iterator<Item = String> {
    (0..).zip(&entry.parts).filter_map(move |(part, body)| {
        let PartBody::Call(call) = &body.body else { return None };
        let failure = failed.get(&PartId { entry: entry.id, part });
        let failure = failure.map_or_else(String::new, |it| format!(": {}", clip(it.line, chars)));
        Some(format!("{}({}){failure}", call.tool, clip(&call.arguments, chars)))
    })
}

/// At most so many characters of one line.
fn clip(text: &str, chars: usize) -> String {
    let line = text.trim().replace('\n', " ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
