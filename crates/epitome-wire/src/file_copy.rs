//! Copies of files in what is said, found by how a text is built: a path and a body bound to it, or
//! source whose path nobody says (RULES 16).
//!
//! Invariant: no words of any client are known here. Where a tool opens what left, nothing is
//! sought. Called where a whole request is read.

mod body;
mod edit_request;
mod frame;
mod label;
mod map;
mod scanner;

use epitome_types::{Entry, FileCopy, OpaqueBlock, Part, PartBody, Role, Speaker};

use crate::opener::opens_what_left;
use body::LeastLines;
use scanner::{CopyScanner, unnamed};

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
        entry.parts.iter_mut().for_each(|part| part.files = of_part(part).into());
    }
}

/// Whether messages of a request that offers these tools hold a copy of a file.
pub fn holds_files(entries: &[Entry], tools: Option<&str>) -> bool {
    let mut said = entries.iter().filter(|entry| entry.role != Role::System);
    // The messages may be a few new ones, while the tools are all that there are.
    said.any(|entry| entry.parts.iter().any(|part| !of_part(part).is_empty()))
        && !opens_what_left(entries, tools)
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
        PartBody::Opaque(block) if part.speaker == Speaker::Human => {
            document(block).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The types of blocks that are documents.
const DOCUMENTS: [&str; 4] = ["document", "file", "input_file", "search_result"];

/// A document that a person attaches is a file, whatever it says.
fn document(block: &OpaqueBlock) -> Option<FileCopy> {
    let text = block.text.get(block.data.clone()).filter(|text| !text.trim().is_empty());
    let Some(text) = text else { return unread_document(block) };
    let (body, named) = (block.data.clone(), block.title.is_some());
    let path = block.title.clone().unwrap_or_else(|| unnamed(text));
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    Some(FileCopy { path, named, body, lines, partial: false, closed: true })
}

/// One whose words only its provider reads, as pages or under an id: nothing but its content tells it
/// from others of its name.
fn unread_document(block: &OpaqueBlock) -> Option<FileCopy> {
    let title = block.title.as_deref().unwrap_or("document");
    let path = format!("{title} ({})", block.content.short());
    let body = 0..block.text.len();
    DOCUMENTS.contains(&&*block.kind).then_some(FileCopy {
        path,
        named: true,
        body,
        lines: 1,
        partial: false,
        closed: true,
    })
}

#[cfg(test)]
mod tests;
