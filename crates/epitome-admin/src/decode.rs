//! Recorded messages, read again.
//!
//! Invariant: one entry for each message, at its own place, with the time it was recorded with; what
//! was erased is a tombstone, and what is damaged says so.

use std::borrow::Cow;

use epitome_kernel::{MessageRecord, StoreError};
pub use epitome_types::TOMBSTONE;
use epitome_types::{Entry, EntryId, Part, PartBody, Role, Speaker};
use epitome_wire::{Format, RequestDocument, assemble};

/// The formats that messages are recorded in.
const RECORDED: [Format; 4] =
    [Format::OpenAi, Format::Anthropic, Format::Responses, Format::Ollama];

/// Stands for a message of which the store keeps other bytes than it was given.
pub(crate) const DAMAGED: &str = "[damaged in the store]";

/// The entries of messages that a session of this format recorded.
///
/// # Errors
///
/// [`StoreError::Damaged`] for a message that no reader understands.
pub fn decode(format: &str, said: &[MessageRecord]) -> Result<Vec<Entry>, StoreError> {
    let format = format.parse().map_or(Format::OpenAi, Format::nearest);
    let there: Vec<&[u8]> = said.iter().filter_map(kept).collect();
    let together = read(format, &there);
    let mut entries = match together {
        Some(entries) => entries,
        // Sessions of two formats may share messages that say the same in both.
        None => {
            let one = |said: &MessageRecord| {
                let bytes = kept(said)?;
                let formats = [format].into_iter().chain(RECORDED);
                let read = formats.filter_map(|format| read(format, &[bytes])?.pop()).next();
                Some(read.ok_or_else(|| StoreError::Damaged {
                    what: format!("the message {} is in no format known here", said.key.short()),
                }))
            };
            said.iter().filter_map(one).collect::<Result<_, _>>()?
        }
    }
    .into_iter();
    let placed = |said: &MessageRecord| {
        let entry = kept(said).and_then(|_| entries.next());
        let mut entry = entry.unwrap_or_else(|| tombstone(said));
        entry.id = EntryId(said.place);
        entry.at.clone_from(&said.at);
        entry
    };
    Ok(said.iter().map(placed).collect())
}

/// The bytes of a message that are those that were recorded.
fn kept(said: &MessageRecord) -> Option<&[u8]> {
    said.bytes.as_deref().filter(|bytes| !bytes.is_empty())
}

/// What stands for a message of which nothing is kept.
fn substitute(said: &MessageRecord) -> &'static str {
    if said.bytes.is_none() { TOMBSTONE } else { DAMAGED }
}

fn read(format: Format, messages: &[&[u8]]) -> Option<Vec<Entry>> {
    let request = assemble(format, None, None, messages);
    let document = RequestDocument::parse(&request, format).ok()?;
    (document.entries().len() == messages.len()).then(|| document.entries().to_vec())
}

/// The bytes of a recorded message; what was erased or is damaged says so in the words of its format.
pub fn wire_bytes(format: Format, said: &MessageRecord) -> Cow<'_, [u8]> {
    let instead = substitute(said);
    match kept(said) {
        Some(bytes) => bytes.into(),
        None if format == Format::Anthropic && said.role == Role::System => {
            format!("{instead:?}").into_bytes().into()
        }
        None => {
            let role = if said.role == Role::Tool { Role::User } else { said.role };
            let message = format!("{{\"role\":\"{}\",\"content\":\"{instead}\"}}", role.name());
            message.into_bytes().into()
        }
    }
}

fn tombstone(said: &MessageRecord) -> Entry {
    let body = PartBody::Text(substitute(said).to_owned());
    let part = Part {
        body,
        speaker: Speaker::Harness,
        within: None,
        known_as: None,
        note: None,
        files: Box::default(),
    };
    Entry { id: EntryId(said.place), role: said.role, parts: vec![part], bytes: 0, at: None }
}

#[cfg(test)]
mod tests {
    use epitome_types::{ContentId, EntryKey, HistoryHash};

    use super::*;

    fn said(place: u32, role: Role, bytes: Option<&str>) -> MessageRecord {
        MessageRecord {
            chain: HistoryHash::default(),
            key: EntryKey([7; 16]),
            place,
            role,
            bytes: bytes.map(|bytes| bytes.as_bytes().to_vec()),
            text: ContentId::for_text(""),
            tokens: 1,
            at: Some(format!("t{place}")),
        }
    }

    #[track_caller]
    fn check(format: &str, said: &[MessageRecord], texts: &[&str]) {
        let entries = decode(format, said).unwrap();
        let found: Vec<_> = entries.iter().map(Entry::readable).collect();
        assert_eq!(found, texts);
        for (entry, said) in entries.iter().zip(said) {
            assert_eq!((entry.id, entry.role), (EntryId(said.place), said.role));
            assert_eq!(entry.at, said.at);
        }
    }

    #[test]
    fn entries_stand_at_their_places_and_the_erased_are_tombstones() {
        let user = said(5, Role::User, Some(r#"{"role":"user","content":"hi"}"#));
        let gone = said(6, Role::Assistant, None);
        let last = said(7, Role::User, Some(r#"{"role":"user","content":"on"}"#));
        let damaged = said(8, Role::User, Some(""));
        check("openai", &[user, gone, last, damaged], &["hi", "[erased]", "on", DAMAGED]);
    }

    #[test]
    fn formats_may_share_messages() {
        let system = said(0, Role::System, Some(r#""be brief""#));
        let call = r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]}"#;
        let call = said(1, Role::Assistant, Some(call));
        check("anthropic", std::slice::from_ref(&system), &["be brief"]);
        check("openai", &[system, call], &["be brief", "t({})"]);
    }

    #[test]
    fn what_no_reader_understands_is_damage() {
        let error = decode("openai", &[said(0, Role::User, Some("{"))]).unwrap_err().to_string();
        assert!(error.contains("the message 07070707 is in no format"), "{error}");
    }
}
