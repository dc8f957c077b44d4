//! Messages and snapshots, as the journal keeps them.
//!
//! Invariant: a message is kept byte for byte but for what the profile redacts, and its text is
//! known by what a reader makes of the kept bytes. Called by live sessions and by imports.

use std::borrow::Cow;

use epitome_config::RedactionPatterns;
use epitome_kernel::MessageRecord;
use epitome_types::{ContentId, Entry, EntryKey, HistoryHash, Snapshot, Speaker};
use epitome_wire::Format;

use crate::admin::{TOMBSTONE, decode, opening};

/// The most characters of a title.
const TITLE: usize = 72;

/// A message as it came.
#[derive(Clone, Copy)]
pub(crate) struct WireMessage<'a> {
    pub(crate) format: Format,
    pub(crate) bytes: &'a [u8],
}

/// What a message and the history up to it are known by.
#[derive(Clone, Copy)]
pub(crate) struct MessageName {
    pub(crate) key: EntryKey,
    pub(crate) chain: HistoryHash,
}

/// A message for the journal; `tokens` is its size as it came.
pub(crate) fn said(
    message: WireMessage<'_>,
    entry: &Entry,
    name: MessageName,
    tokens: u64,
    redaction: &RedactionPatterns,
) -> MessageRecord {
    let WireMessage { format, bytes } = message;
    let MessageName { key, chain } = name;
    let raw = String::from_utf8_lossy(bytes);
    let kept = redaction.json(&raw);
    let is_whole = matches!(kept, Cow::Borrowed(_));
    let mut said = MessageRecord {
        chain,
        key,
        place: entry.id.0,
        role: entry.role,
        bytes: Some(kept.into_owned().into_bytes()),
        text: ContentId::for_text(&entry.readable()),
        tokens,
        at: entry.at.clone(),
    };
    if !is_whole && let Ok([kept]) = decode(format.name(), &[said.clone()]).as_deref() {
        said.text = ContentId::for_text(&kept.readable());
    }
    said
}

/// The beginning of the first text that a person typed; none where nobody typed anything.
pub(crate) fn title(entries: &[Entry], redaction: &RedactionPatterns) -> Option<String> {
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    let typed = parts
        .filter(|part| part.speaker == Speaker::Human)
        .filter_map(|part| part.text())
        .find(|text| *text != TOMBSTONE);
    Some(opening(&redaction.text(typed?), TITLE))
}

/// A snapshot with its id: a hash of what it was made of.
pub(crate) fn addressed(snapshot: Snapshot) -> Snapshot {
    let Snapshot { session, name, at, head, epoch, purpose, .. } = &snapshot;
    let all = format!("{session}\n{name:?}\n{at}\n{head}\n{epoch:?}\n{purpose:?}");
    Snapshot { id: ContentId::for_text(&all).short(), ..snapshot }
}
