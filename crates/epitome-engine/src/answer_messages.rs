//! What a model answered, as the record of it.
//!
//! Invariant: an answer of several messages is known by its last one and by the history that ends
//! there, so that a request which sends all of them back goes on from it. Called by the session and
//! the router.

use epitome_admin::records::{MessageName, WireMessage, said};
use epitome_config::RedactionPatterns;
use epitome_kernel::ResponseRecord;
use epitome_types::{ContentId, Entry, EntryKey, HistoryHash, TokenUsage};
use epitome_wire::{Format, WireError};

/// The messages of an answer: some APIs have one for each call.
#[derive(Debug, Default)]
pub(crate) struct AnswerMessages<'a> {
    /// Those before the last one.
    ahead: Vec<EntryKey>,
    last: Option<(Entry, WireMessage<'a>)>,
}

impl<'a> AnswerMessages<'a> {
    /// Reads the messages of an answer.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read.
    pub(crate) fn of<B: AsRef<[u8]>>(messages: &'a [B], format: Format) -> Result<Self, WireError> {
        let Some((last, ahead)) = messages.split_last() else { return Ok(Self::default()) };
        let read = |bytes: &B| epitome_wire::message(bytes.as_ref(), format);
        let key = |bytes: &B| Ok(EntryKey::for_entry(&read(bytes)?));
        let ahead = ahead.iter().map(key).collect::<Result<_, WireError>>()?;
        let last = Some((read(last)?, WireMessage { format, bytes: last.as_ref() }));
        Ok(Self { ahead, last })
    }

    /// The last message; none where the answer broke off before it said anything.
    pub(crate) fn last(&self) -> Option<&Entry> {
        self.last.as_ref().map(|(entry, _)| entry)
    }

    /// The record of an answer to a history, without what came beside it.
    pub(crate) fn record(
        self,
        after: HistoryHash,
        redaction: &RedactionPatterns,
    ) -> ResponseRecord {
        let before = self.ahead.iter().fold(after, |chain, key| chain.append(*key));
        let said = self.last.map(|(entry, message)| {
            let key = EntryKey::for_entry(&entry);
            let name = MessageName { key, chain: before.append(key), text: None };
            said(message, &entry, name, 0, redaction)
        });
        ResponseRecord {
            after,
            ahead: u32::try_from(self.ahead.len()).unwrap_or(u32::MAX),
            key: said.as_ref().map(|said| said.key),
            chain: said.as_ref().map_or(after, |said| said.chain),
            text: said.as_ref().map_or_else(|| ContentId::for_text(""), |said| said.text),
            bytes: said.and_then(|said| said.bytes),
            usage: TokenUsage::default(),
            stop: None,
            at: String::new(),
            is_whole: false,
        }
    }
}
