//! Messages and snapshots, as the journal keeps them.
//!
//! Invariant: a message is kept byte for byte but for what the profile redacts, and its text is
//! known by what a reader makes of the kept bytes. Called by live sessions and by imports.

use std::borrow::Cow;
use std::collections::BTreeMap;

use epitome_config::RedactionPatterns;
use epitome_kernel::{AnswerClue, Evidence, MessageRecord, is_drawn};
use epitome_types::{
    CompactionId, ContentId, Entry, EntryId, EntryKey, HistoryHash, RecordedAction,
    RecordedCompaction, Role, SessionAction, Snapshot, Speaker,
};
use epitome_wire::Format;

use crate::decode::{TOMBSTONE, decode};
use crate::names::opening;

/// The most characters of a title.
const TITLE: usize = 72;

/// A message as it came.
#[derive(Clone, Copy, Debug)]
pub struct WireMessage<'a> {
    /// The format that it is in.
    pub format: Format,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// What a message and the history up to it are known by.
#[derive(Clone, Copy, Debug)]
pub struct MessageName {
    /// What it says, whoever says it.
    pub key: EntryKey,
    /// The history up to it.
    pub chain: HistoryHash,
    /// The address of its readable text, where somebody has it.
    pub text: Option<ContentId>,
}

/// Returns a message for the journal; `tokens` is its size as it came.
pub fn said(
    message: WireMessage<'_>,
    entry: &Entry,
    name: MessageName,
    tokens: u64,
    redaction: &RedactionPatterns,
) -> MessageRecord {
    let WireMessage { format, bytes } = message;
    let MessageName { key, chain, text } = name;
    // What is text is told much sooner than what is not.
    let raw = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let kept = redaction.json(&raw);
    let is_whole = matches!(kept, Cow::Borrowed(_));
    let mut said = MessageRecord {
        chain,
        key,
        place: entry.id.0,
        role: entry.role,
        bytes: Some(kept.into_owned().into_bytes()),
        text: text.unwrap_or_else(|| ContentId::for_text(&entry.readable())),
        tokens,
        at: entry.at.clone(),
    };
    if !is_whole && let Ok([kept]) = decode(format.name(), &[said.clone()]).as_deref() {
        said.text = ContentId::for_text(&kept.readable());
    }
    said
}

/// Returns the beginning of the first text that a person typed; none where nobody typed anything.
pub fn title(entries: &[Entry], redaction: &RedactionPatterns) -> Option<String> {
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    let typed = parts
        .filter(|part| part.speaker == Speaker::Human)
        .filter_map(|part| part.text())
        .find(|text| *text != TOMBSTONE);
    Some(opening(&redaction.text(typed?), TITLE))
}

/// Returns a snapshot with its id: a hash of what it was made of.
pub fn addressed(snapshot: Snapshot) -> Snapshot {
    let Snapshot { session, name, at, head, epoch, purpose, .. } = &snapshot;
    let all = format!("{session}\n{name:?}\n{at}\n{head}\n{epoch:?}\n{purpose:?}");
    Snapshot { id: ContentId::for_text(&all).short(), ..snapshot }
}

/// Returns what is recorded among the acts of a session when a snapshot of it is `made`. What policies
/// had noted is said where it is not what was `noted` with the one before.
pub fn snapshot_acts(
    made: SessionAction,
    memos: &BTreeMap<String, String>,
    noted: &BTreeMap<String, String>,
) -> Vec<SessionAction> {
    let memos = (memos != noted).then(|| SessionAction::Noted { memos: memos.clone() });
    memos.into_iter().chain([made]).collect()
}

/// Returns the compressions of a session that are taken back.
pub fn undone(recorded: &[RecordedCompaction]) -> Vec<CompactionId> {
    recorded.iter().filter(|one| one.undone).map(|one| one.epoch.id).collect()
}

/// The place of the message that holds the watermark; `copy` says which of those that say the same it
/// is. Where that is not told, or there are no longer so many, it is the newest of them.
pub fn marked(keys: &[EntryKey], entry: EntryKey, copy: Option<u32>) -> Option<EntryId> {
    let places = keys.iter().zip(0..).filter(|(key, _)| **key == entry);
    let most = copy.map_or(usize::MAX, |before| before as usize + 1);
    places.map(|(_, place)| EntryId(place)).take(most).last()
}

/// Returns the names of the augments that were chosen in a session and not taken back, oldest first.
pub fn chosen(acts: &[RecordedAction]) -> Vec<String> {
    let mut chosen: Vec<String> = Vec::new();
    for acted in acts {
        if let SessionAction::Augment { name, active } = &acted.act {
            chosen.retain(|known| known != name);
            chosen.extend(active.then(|| name.clone()));
        }
    }
    chosen
}

/// Returns the mode that a session was set to, where that was not taken back.
pub fn mode_of(acts: &[RecordedAction]) -> Option<String> {
    let set = acts.iter().rev().find_map(|acted| match &acted.act {
        SessionAction::Mode { mode, .. } => Some(mode.clone()),
        _ => None,
    });
    set.flatten()
}

/// Returns how often a session was compressed where it came from, if it came with that figure.
pub fn imported_compressions(acts: &[RecordedAction]) -> Option<u32> {
    acts.iter().rev().find_map(|acted| match &acted.act {
        SessionAction::Imported { compressions, .. } => Some(*compressions),
        _ => None,
    })
}

/// Returns what a message can prove.
pub fn evidence(entry: &Entry) -> Evidence {
    let calls = entry.calls().map(|call| &call.id);
    let mut ids = calls.chain(entry.results().map(|result| &result.call));
    let (answer, system) = (entry.role == Role::Assistant, entry.role == Role::System);
    Evidence { answer, drawn: ids.any(|id| is_drawn(id)), system }
}

/// Returns what the answer that begins in a place of a history may be known by.
pub fn answer(said: &[Entry], place: usize) -> Option<AnswerClue> {
    let answer = said.get(place..)?.iter().take_while(|entry| entry.role == Role::Assistant);
    let (length, last) = (answer.clone().count(), answer.last()?);
    let text = Some(last.readable()).filter(|text| !text.is_empty())?;
    let text = ContentId::for_text(&text);
    let drawn = last.calls().find(|call| is_drawn(&call.id)).map(|call| call.id.to_string());
    Some(AnswerClue { length, text, drawn })
}
