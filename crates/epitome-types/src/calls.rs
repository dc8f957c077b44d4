//! Which results answer which calls, and what came of those that failed.
//!
//! Invariant: each result answers at most one call, and each call has at most one result.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Entry, PartBody, PartId, ToolName, failing_lines};

/// The calls that have no result yet, each with its id, oldest first.
#[derive(Clone, Debug, Default)]
pub struct OpenCalls<'e>(Vec<(&'e str, PartId)>);

impl<'e> OpenCalls<'e> {
    /// Notes that a call of this id was made.
    pub fn add(&mut self, id: &'e str, call: PartId) {
        self.0.push((id, call));
    }

    /// Takes the call that a result of this id answers: of the latest entry that has an open one of
    /// it, the oldest. A result without an id answers any call.
    pub fn close(&mut self, id: &str) -> Option<PartId> {
        let fits = |call: &&(&str, PartId)| id.is_empty() || call.0 == id;
        let latest = self.0.iter().filter(fits).map(|call| call.1.entry).max();
        let found = self.0.iter().position(|call| fits(&call) && Some(call.1.entry) == latest)?;
        Some(self.0.remove(found).1)
    }

    /// The calls, oldest first.
    pub fn into_calls(self) -> impl Iterator<Item = PartId> {
        self.0.into_iter().map(|(_, call)| call)
    }
}

/// The call that each result among entries answers, where that is among them too. What servers ran
/// themselves is left out.
pub fn answers<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> BTreeMap<PartId, PartId> {
    let mut open = OpenCalls::default();
    let mut answers = BTreeMap::new();
    for entry in entries {
        for (part, body) in (0..).zip(&entry.parts) {
            let at = PartId { entry: entry.id, part };
            match &body.body {
                PartBody::Call(call) => open.add(&call.id, at),
                PartBody::Result(result) => {
                    open.close(&result.call).map(|call| answers.insert(at, call));
                }
                _ => {}
            }
        }
    }
    answers
}

/// What came of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFailure<'e> {
    /// The first line of its result that says so.
    pub line: &'e str,
    /// Whether its client says so too, not only its output.
    pub is_error: bool,
}

/// The calls among entries whose results among them report a failure.
pub fn failed_calls<'e>(
    entries: impl IntoIterator<Item = &'e Entry> + Clone,
) -> BTreeMap<PartId, CallFailure<'e>> {
    let answers = answers(entries.clone());
    let mut readers = BTreeSet::new();
    let mut failed = BTreeMap::new();
    for entry in entries {
        for (place, part) in (0..).zip(&entry.parts) {
            let at = PartId { entry: entry.id, part: place };
            let result = match &part.body {
                PartBody::Call(call) if ToolName::new(&call.tool).is_reader() => {
                    readers.insert(at);
                    continue;
                }
                PartBody::Result(result) => result,
                _ => continue,
            };
            let Some(call) = answers.get(&at) else { continue };
            let is_error = result.error;
            let inner = entry.parts.iter().filter(|it| it.within == Some(place));
            let mut texts = inner.filter_map(|it| it.text()).chain([&*result.text]);
            let of_reader = !is_error && readers.contains(call);
            let line = texts.find_map(|text| failure(text, is_error, of_reader));
            if let Some(line) = line {
                failed.insert(*call, CallFailure { line, is_error });
            }
        }
    }
    failed
}

/// The first line of an output that says that a tool failed: of any line where its result is an error,
/// else of those that report a failure. What a tool read may speak of errors behind its first line.
fn failure(text: &str, is_error: bool, of_reader: bool) -> Option<&str> {
    let text = if of_reader { text.trim_start().lines().next()? } else { text };
    failing_lines(text, is_error).into_iter().next()
}
