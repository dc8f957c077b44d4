//! One-line accounts of messages: what the kernel itself can say without a summariser.
//!
//! Invariant: an account is one line per entry and is never larger than allowed.

use epitome_kernel::types::{Entry, EntryId, ToolCall};

use crate::cut::fill;
use crate::options::KernelTexts;
use epitome_kernel::TextMeasure;
use epitome_kernel::Thread;

/// The newest entries of `covers` that fit into `most`, one line each, oldest first; `None` where
/// not one fits.
pub(crate) fn account(
    thread: &Thread,
    covers: &[EntryId],
    chars: usize,
    most: u64,
    measure: &dyn TextMeasure,
) -> Option<String> {
    let mut left = most;
    let mut lines = Vec::new();
    for entry in covers.iter().rev().filter_map(|&id| thread.entry(id)) {
        let line = line(thread, entry, chars) + "\n";
        let size = measure.size(&line);
        if size > left {
            break;
        }
        left -= size;
        lines.push(line);
    }
    lines.reverse();
    let text = lines.concat().trim_end().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The stub of an exchange: its calls in one line, and how to get it back.
pub(crate) fn stub(entries: &[Entry], texts: &KernelTexts, tokens: u64, id: &str) -> String {
    let calls: Vec<_> =
        entries.iter().flat_map(Entry::calls).map(|call| quote(call, texts.line_chars)).collect();
    let values =
        [("tokens", tokens.to_string()), ("id", id.to_owned()), ("call", calls.join(", "))];
    fill(&texts.stub, &values.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// Who, and what was said.
fn line(thread: &Thread, entry: &Entry, chars: usize) -> String {
    let name = thread.name(entry);
    let who = name.split_once(' ').map_or(&*name, |(_, who)| who);
    format!("{who}: {}", said(entry, chars))
}

/// The first line of what was said; then the calls.
pub(crate) fn said(entry: &Entry, chars: usize) -> String {
    let first = entry.talk().flat_map(str::lines).find(|line| !line.trim().is_empty());
    let calls = entry.calls().map(|call| quote(call, chars));
    let said: Vec<_> = first.map(|line| clip(line, chars)).into_iter().chain(calls).collect();
    said.join("; ")
}

fn quote(call: &ToolCall, chars: usize) -> String {
    format!("{}({})", call.tool, clip(&call.arguments, chars))
}

/// At most so many characters of one line.
fn clip(text: &str, chars: usize) -> String {
    let line = text.trim().replace('\n', " ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
