//! Copies of files in what is said, found by how a text is built: a path and a body bound to it
//! (RULES 16).
//!
//! Invariant: no words of any client are known here. Where a tool opens what left, nothing is
//! sought. Called where a whole request is read.

mod body;
mod frame;
mod label;
mod map;
mod scanner;

use epitome_types::{Entry, FileCopy, Part, PartBody, Role, Speaker};

use crate::json::{self, JsonValue};
use crate::note::{offers_tools, opens_files};
use body::LeastLines;
use scanner::CopyScanner;

/// What a person or a client pastes.
const PASTED: LeastLines = LeastLines { labelled: 5, mentioned: 10 };

/// What a model writes: it quotes more than others do.
const WRITTEN: LeastLines = LeastLines { labelled: 10, mentioned: 12 };

/// Finds the copies of files in the messages of a request that offers these tools.
pub(crate) fn find(entries: &mut [Entry], tools: Option<&str>) {
    if has_tools(entries, tools) {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| entry.role != Role::System) {
        entry.parts.iter_mut().for_each(|part| part.files = of_part(part));
    }
}

/// Whether messages of a request that offers these tools hold a copy of a file.
pub fn holds_files(entries: &[Entry], tools: Option<&str>) -> bool {
    let mut said = entries.iter().filter(|entry| entry.role != Role::System);
    !has_tools(entries, tools)
        && said.any(|entry| entry.parts.iter().any(|part| !of_part(part).is_empty()))
}

/// Whether something opens what left: tools that are offered, were called, or are described to be
/// called in the text of an answer.
fn has_tools(entries: &[Entry], tools: Option<&str>) -> bool {
    let offered = tools.and_then(|tools| json::parse(tools).ok()?.items().ok());
    let is_described =
        |entry: &Entry| entry.texts().any(|text| offers_tools(text) || opens_files(text));
    offered.is_some_and(|tools: Vec<JsonValue<'_>>| !tools.is_empty())
        || entries.iter().any(|entry| entry.parts.iter().any(|part| part.body.is_tool()))
        || entries.iter().filter(|entry| entry.role == Role::System).any(is_described)
}

fn of_part(part: &Part) -> Vec<FileCopy> {
    let least = match part.speaker {
        Speaker::Human | Speaker::Harness => PASTED,
        Speaker::Model => WRITTEN,
        Speaker::Tool => return Vec::new(),
    };
    match &part.body {
        PartBody::Text(text) if part.within.is_none() => CopyScanner::new(text, least).found(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
