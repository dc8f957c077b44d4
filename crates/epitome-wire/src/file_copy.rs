//! Copies of files in what is said, found by how a text is built: a path and a body bound to it, or
//! source whose path nobody says (RULES 16).
//!
//! Invariant: no words of any client are known here. Where a tool opens what left, nothing is
//! sought. Called where a whole request is read.

mod body;
mod frame;
mod label;
mod map;
mod scanner;

use epitome_types::{Entry, FileCopy, Part, PartBody, Role, Speaker};

use crate::opener::opens_what_left;
use body::LeastLines;
use scanner::CopyScanner;

/// What a person pastes.
const PASTED: LeastLines =
    LeastLines { labelled: 5, mentioned: 10, unnamed: Some(10), bare: Some(12) };

/// What a client puts in beside it.
const ATTACHED: LeastLines = LeastLines { unnamed: None, bare: None, ..PASTED };

/// What a model writes: it quotes more than others do.
const WRITTEN: LeastLines =
    LeastLines { labelled: 10, mentioned: 12, unnamed: Some(12), bare: None };

/// Finds the copies of files in the messages of a request that offers these tools.
pub(crate) fn find(entries: &mut [Entry], tools: Option<&str>) {
    if opens_what_left(entries, tools) {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| entry.role != Role::System) {
        entry.parts.iter_mut().for_each(|part| part.files = of_part(part));
    }
}

/// Whether messages of a request that offers these tools hold a copy of a file.
pub fn holds_files(entries: &[Entry], tools: Option<&str>) -> bool {
    let mut said = entries.iter().filter(|entry| entry.role != Role::System);
    !opens_what_left(entries, tools)
        && said.any(|entry| entry.parts.iter().any(|part| !of_part(part).is_empty()))
}

fn of_part(part: &Part) -> Vec<FileCopy> {
    let least = match part.speaker {
        Speaker::Human => PASTED,
        Speaker::Harness => ATTACHED,
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
